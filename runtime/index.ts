// What users of the package import.

export { recalled } from '../actors/failure-memory.ts';
export type { Decision } from '../actors/messages/decision.ts';
export type { FailedInstances, InstanceView } from '../actors/messages/gateway.ts';
export type { HostState } from '../actors/messages/scheduler.ts';
export type { Filter, FilterRefusal } from '../actors/scheduler/filters/filter.ts';
export type { Request } from '../actors/scheduler/request.ts';
export { type HostFacts, stockOf } from '../actors/scheduler/view/host-facts.ts';
export type { Candidate, Weigher } from '../actors/scheduler/weighers/weigher.ts';
export type { AggregateOptions } from './aggregates.ts';
export type { Bus } from './bus/bus.ts';
export { type MemoryBus, memoryBus } from './bus/memory.ts';
export type { NatsOptions, NatsStatus } from './bus/nats-options.ts';
export type { Client } from './client.ts';
export type { Clock } from './clock.ts';
export { type Connection, type ConnectOptions, connect } from './connect.ts';
export type { BuildOrder, BuildOutcome, Driver, InventoryReport, ProviderReport } from './drivers/driver.ts';
export { type FakeDriverOptions, type FakeFailure, fakeDriver, type TimeRange } from './drivers/fake.ts';
export { type NumaHost, numaHost } from './drivers/numa.ts';
export { CellwrightError, MalformedError, NoRespondersError, OverloadedError, TimeoutError } from './errors.ts';
export type { Asked } from './gateway/asked.ts';
export { ADVICE_CODES, ATTEMPT_OUTCOMES, FAILURE_CODES, REFUSAL_CODES } from './gateway/codes.ts';
export type { Explanation } from './gateway/explaining.ts';
export type { BuildAnswer, CellAnswer, HostAnswer } from './gateway/gateway.ts';
export type { CellsAnswer, HostsAnswer, ListAnswer } from './gateway/looking.ts';
export type { PlacementRequest } from './gateway/placing.ts';
export type { FitAnswer, WhyNot } from './gateway/question-answers.ts';
export type {
  BuildRequest,
  CellRequest,
  FitRequest,
  HostRequest,
  HostsRequest,
  ListRequest,
  WhyNotRequest,
} from './gateway/requests.ts';
export type { Journal, Journals } from './journal/journal.ts';
export type { NatsServerOptions } from './nats-server/options.ts';
export { type NatsServer, startNatsServer } from './nats-server/server.ts';
export { type Node, startNode } from './node.ts';
export type { NodeOptions } from './node-options.ts';
export type { Standing } from './ownership/keeper.ts';
export type { Leases } from './ownership/leases.ts';
export { memoryLeases } from './ownership/memory.ts';
export { connectPlacement, type Held, type Holding, type PlacementClient } from './placement-client.ts';
export { type Random, seededRandom } from './random.ts';
export type {
  FilterChoice,
  FilterFunction,
  SchedulerSettings,
  WeigherChoice,
  WeigherFunction,
} from './scheduler-settings.ts';
export { systemClock } from './system-clock.ts';
export { VERSION } from './version.ts';
export { type VirtualClock, virtualClock } from './virtual-clock.ts';
