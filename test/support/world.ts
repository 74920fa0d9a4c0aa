// A small deployment of real nodes, each role on a node of its own, all of it in one process: on the bus in memory
// with a virtual clock, or on a NATS server with the system's. Its hosts do what the test says, its wire can be held
// and cut, and its journals are followed record by record and held against the invariants.

import pino from 'pino';
import { stateOfBuild } from '../../actors/builds.ts';
import type { CellRecord } from '../../actors/cell/apply.ts';
import { type CellOptions, cell } from '../../actors/cell/cell.ts';
import { emptyCell } from '../../actors/cell/state.ts';
import type { ConductorRecord } from '../../actors/conductor/apply.ts';
import { conductor } from '../../actors/conductor/conductor.ts';
import type { AnyMessage } from '../../actors/messages/any.ts';
import { DEFAULT_ALTERNATES } from '../../actors/messages/limits.ts';
import { placement } from '../../actors/placement/placement.ts';
import type { PlacementRecord } from '../../actors/placement/records.ts';
import { cellAddress, conductorAddress, placementAddress } from '../../actors/routing.ts';
import type { Selection } from '../../machines/instance-build.ts';
import type { Bus } from '../../runtime/bus/bus.ts';
import { type Client, clientOf } from '../../runtime/client.ts';
import type { Clock } from '../../runtime/clock.ts';
import { encode } from '../../runtime/codec.ts';
import { HEADERS } from '../../runtime/frames.ts';
import type { BuildRequest } from '../../runtime/gateway/requests.ts';
import type { Journals } from '../../runtime/journal/journal.ts';
import { memoryJournals } from '../../runtime/journal/memory.ts';
import { type Node, startNode } from '../../runtime/node.ts';
import type { NodeOptions } from '../../runtime/node-options.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { type Deployment, faultsIn } from './invariants.ts';
import { type MachineRoom, machineRoom } from './machine-room.ts';
import { journaled } from './turn.ts';
import { type Wire, wire } from './wire.ts';

/** Who sends what a test says in an actor's place. */
const OPERATOR = 'gateway/operator';

/** Where a deployment runs, and how its time passes. */
export interface Stage {
  readonly clock: Clock;
  readonly prefix: string;
  connect(name: string): Promise<Bus>;
  /** Waits for work, letting time pass as far as it needs. */
  run<T>(work: Promise<T>): Promise<T>;
  /** Waits for a condition, letting time pass. @throws Error naming `what`. */
  until(what: string, holds: () => boolean): Promise<void>;
  /** Lets everything that is under way arrive. */
  settle(): Promise<void>;
}

export interface Paces {
  readonly conductor: NonNullable<NodeOptions['conductor']>;
  readonly cell: Omit<CellOptions, 'cell' | 'conductorShards'>;
  readonly compute: NonNullable<NodeOptions['compute']>;
  readonly scheduler: NonNullable<NodeOptions['scheduler']>;
}

/** VCPU by host, by cell. */
export type Fleet = Readonly<Record<string, Readonly<Record<string, number>>>>;

export interface World extends Stage {
  readonly wire: Wire;
  readonly client: Client;
  readonly deployment: Deployment;
  /** What was wrong, at any moment, and what an actor failed of. */
  readonly faults: readonly string[];
  room(host: string): MachineRoom;
  /** Asks for an instance and waits for the answer. */
  build(request: BuildRequest): Promise<void>;
  /** The state of an instance's build as the one who hosts it has recorded it; undefined when nobody does. */
  stateOf(instance: string): string | undefined;
  /** How a host stands as its cell has recorded it. */
  serviceOf(host: string): string | undefined;
  /** What placement holds for a consumer, by attempt. */
  heldBy(consumer: string): number[];
  /** Takes everything that is free on a host, in the name of somebody else. */
  fill(host: string): Promise<void>;
  /** Says something to an actor, in the name of somebody else. */
  say(to: string, ...messages: AnyMessage[]): void;
  /** Ends a node and starts it anew: `placement`, `api`, a cell or a host by its name, as for `wire.cut`. */
  restart(node: string): Promise<void>;
  stop(): Promise<void>;
}

export async function startWorld(stage: Stage, fleet: Fleet, paces: Paces): Promise<World> {
  const { clock, prefix } = stage;
  const subjects = subjectsOf(prefix);
  const lines = wire();
  const faults: string[] = [];
  const nodes = new Map<string, Node>();
  const plans = new Map<string, () => Promise<Node>>();
  const rivals = new Set<string>();
  const asked = new Map<string, number>();
  const rooms = new Map<string, MachineRoom>();
  const chosen = new Map<string, readonly Selection[]>();
  const cellOf = new Map<string, string>();

  // --- the journals, followed

  const placementActor = placement({ shard: 0 });
  const conductorActor = conductor({ shard: 0, ...paces.conductor });
  const cells = new Map(Object.keys(fleet).map((name) => [name, emptyCell()]));
  const cellActors = new Map(
    Object.keys(fleet).map((name) => [name, cell({ cell: name, conductorShards: 1, ...paces.cell })]),
  );
  const deployment: Deployment = {
    placement: placementActor.init(),
    conductor: conductorActor.init(),
    cells,
    rooms,
    chosen,
    asked,
    rivals,
  };

  function follow(owner: string, record: object): void {
    if (owner === placementAddress(0)) {
      placementActor.apply(deployment.placement, record as PlacementRecord);
    } else if (owner === conductorAddress(0)) {
      conductorActor.apply(deployment.conductor, record as ConductorRecord);
    } else {
      const name = owner.slice(cellAddress('').length);
      const told = record as CellRecord;
      if (told.type === 'started') {
        const { selection, alternates } = told.snapshot.context;
        chosen.set(told.facts.instance, selection === null ? alternates : [selection, ...alternates]);
      }
      const state = cells.get(name);
      if (state === undefined) throw new Error(`a journal of '${owner}', which is not of this world`);
      cellActors.get(name)?.apply(state, told);
    }
  }

  const kept = memoryJournals({ clock });
  const journals: Journals = (owner) => {
    const journal = kept<never>(owner);
    return {
      ...journal,
      append(records, done) {
        for (const record of journaled([...records] as object[])) follow(owner, record);
        for (const fault of faultsIn(deployment)) if (!faults.includes(fault)) faults.push(fault);
        journal.append(records as never, done);
      },
    };
  };

  // --- the nodes

  const logger = pino(
    { level: 'error' },
    { write: (line) => void faults.push(`an actor failed: ${(JSON.parse(line) as { msg: string }).msg}`) },
  );

  async function start(name: string): Promise<void> {
    const plan = plans.get(name);
    if (plan === undefined) throw new Error(`there is no node '${name}'`);
    nodes.set(name, await stage.run(plan()));
  }

  function planNode(name: string, roles: readonly string[], room?: MachineRoom): void {
    plans.set(name, async () => {
      const bus = lines.tap(name, await stage.connect(name));
      const driver = room === undefined ? {} : { driver: () => room.driver() };
      return startNode({ name, roles, prefix, bus, clock, logger, journals, ...driver, ...paces });
    });
  }

  planNode('placement', ['placement']);
  planNode('api', ['conductor', 'scheduler']);
  for (const [name, hosts] of Object.entries(fleet)) {
    planNode(name, [`cell:${name}`]);
    for (const [host, vcpu] of Object.entries(hosts)) {
      const room = machineRoom({ name: host, inventories: { VCPU: { total: vcpu } } });
      rooms.set(host, room);
      cellOf.set(host, name);
      planNode(host, [`compute:${name}/${host}`], room);
    }
  }
  for (const name of plans.keys()) await start(name);

  const outside = await stage.connect('outside');
  const client = clientOf({ bus: outside, clock, subjects });

  // --- looking and meddling

  function room(host: string): MachineRoom {
    const found = rooms.get(host);
    if (found === undefined) throw new Error(`there is no host '${host}'`);
    return found;
  }

  function stateOf(instance: string): string | undefined {
    for (const { instances } of cells.values()) {
      const entry = instances.get(instance);
      if (entry !== undefined) return stateOfBuild(entry.build);
    }
    const entry = deployment.conductor.instances.get(instance);
    if (entry === undefined || entry.phase === 'in-cell') return undefined;
    return entry.phase === 'here' && entry.build !== null ? stateOfBuild(entry.build) : entry.phase;
  }

  function serviceOf(host: string): string | undefined {
    return cells.get(cellOf.get(host) ?? '')?.hosts.get(host)?.service.value;
  }

  const heldBy = (consumer: string) =>
    (deployment.placement.consumers.holding.get(consumer)?.held ?? []).map(({ attempt }) => attempt);

  function say(to: string, ...messages: AnyMessage[]): void {
    const headers = { [HEADERS.type]: messages.map(({ type }) => type).join(' '), [HEADERS.from]: OPERATOR };
    outside.publish(subjects.of(to), encode([{ from: OPERATOR, messages }]), { headers });
  }

  async function fill(host: string): Promise<void> {
    const provider = [...deployment.placement.providers.values()].find(({ spec }) => spec.name === host);
    const stock = provider?.stocks.get('VCPU');
    const free = stock === undefined ? 0 : stock.capacity - stock.used;
    if (provider === undefined || free === 0) return;
    const consumer = `rival-${rivals.size}-on-${host}`;
    rivals.add(consumer);
    const allocation = { provider: provider.spec.id, group: '', resources: { VCPU: free } };
    say(placementAddress(0), {
      type: 'claim',
      consumer,
      attempt: 1,
      spec: { groups: [{ name: '', resources: { VCPU: free } }], groupPolicy: 'none' },
      allocations: [allocation],
      keep: [],
      expiresAt: clock.now() + 600_000,
    });
    await stage.until(`'${host}' is full`, () => heldBy(consumer).length > 0);
  }

  const everyHost = [...rooms.keys()];
  await stage.until('every host is up', () => everyHost.every((host) => serviceOf(host) === 'up'));
  await stage.until('the scheduler has heard of every host', () => {
    const told = JSON.stringify(lines.heard('api').filter(({ message }) => message.type === 'hosts-changed'));
    return everyHost.every((host) => told.includes(`"host":"${host}"`) && told.includes('"state":"up"'));
  });
  await stage.settle();

  return {
    ...stage,
    wire: lines,
    client,
    deployment,
    faults,
    room,
    stateOf,
    serviceOf,
    heldBy,
    fill,
    say,
    async build(request) {
      asked.set(request.id ?? '', request.alternates ?? DEFAULT_ALTERNATES);
      await stage.run(client.build(request));
    },
    async restart(name) {
      await stage.run((nodes.get(name) as Node).stop());
      lines.mend(name);
      await start(name);
    },
    async stop() {
      for (const node of [...nodes.values()].reverse()) await stage.run(node.stop());
      await stage.run(outside.close());
    },
  };
}
