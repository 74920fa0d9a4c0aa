// One run of a packing experiment: requests arrive one by one at an empty fleet, none ever ends, and each is placed by
// the scheduler's own ranking and claimed from placement's own actor, in memory. One that fits nowhere is dropped.

import type { Turn } from '../../actors/actor.ts';
import type { AnyMessage } from '../../actors/messages/any.ts';
import type { RequestSpec } from '../../actors/messages/common.ts';
import type { ClaimGranted, ProviderSpec, ProvidersChanged } from '../../actors/messages/placement.ts';
import { placement } from '../../actors/placement/placement.ts';
import type { PlacementRecord } from '../../actors/placement/records.ts';
import { best } from '../../actors/scheduler/picking.ts';
import { emptyRankings, statsMatter } from '../../actors/scheduler/ranking/ranking.ts';
import { emptyView, learnChanges, learnUsage } from '../../actors/scheduler/view/view.ts';
import { learnHost } from '../../actors/scheduler/view/view-hosts.ts';
import { deviceRequestOf, typicalRequests } from '../../actors/scheduler/weighers/packing/fragmentation.ts';
import { MILLI_SCALE } from '../../actors/scheduler/weighers/packing/load.ts';
import { type PackingPolicyName, packingPolicy } from '../../actors/scheduler/weighers/packing/policies.ts';
import { tellGranted } from '../../actors/scheduler/weighers/weigher.ts';
import type { Allocation } from '../../machines/instance-build.ts';
import { CellwrightError } from '../errors.ts';
import { seededRandom } from '../random.ts';
import { arrivalsOf } from './arrivals.ts';
import { type Curve, curveMaker } from './curve.ts';
import type { PackingTrace } from './trace.ts';

/** What decides a run. */
export interface Experiment {
  readonly policy: PackingPolicyName;
  readonly seed: number;
  /** What the requests are to ask for in the end, as a multiple of all GPUs; 0: as they are in the trace. */
  readonly tune: number;
}

export interface Outcome {
  readonly curve: Curve;
  /** What has arrived in the end, placed or not, as a multiple of all GPUs. */
  readonly asked: number;
  readonly placed: number;
  /** Requests that fitted nowhere. */
  readonly refused: number;
}

const CELL = 'fleet';
/** One of more shapes seldom comes again before most hosts have changed: nothing is won by keeping how they ranked. */
const MAX_SHAPES = 1_024;
/** After so many requests it is told how far the run is. */
const TELL_EVERY = 250;

/** @param onProgress Told which part of the requests has arrived, 0 to 1. */
export function perform(
  trace: PackingTrace,
  { policy: name, seed, tune }: Experiment,
  onProgress: (part: number) => void = () => {},
): Outcome {
  const random = seededRandom(seed);
  const policy = packingPolicy(name, {
    typical: typicalRequests(trace.requests.map(({ spec }) => deviceRequestOf(spec, MILLI_SCALE))),
    seed: `packing ${seed}`,
  });
  const arrivals = arrivalsOf(trace, tune, random.fork('arrivals'));
  const fleet = fleetOf(trace.hosts);
  const { view } = fleet;
  // Hosts of equal weight are taken in an order that is drawn once: the salt draws it.
  const rankings = emptyRankings(policy.weighers, `packing ${seed}`, {
    pickAmong: policy.pickAmong,
    maxShapes: Math.min(trace.shapes, MAX_SHAPES),
    onlyFills: true,
  });
  view.statsMatter = statsMatter(rankings);
  const known = { rankings, view };
  const curve = curveMaker(trace.gpuMilli);
  let arrived = 0;
  let used = 0;
  let placed = 0;

  /** Answers whether it fits anywhere. */
  function place(instance: string, spec: RequestSpec): boolean {
    // To ask for nothing is no claim, and fits everywhere.
    if (spec.groups.length === 0) return true;
    const chosen = best(known, { spec }, () => false, instance);
    if (chosen === null) return false;
    const { allocations, usages } = fleet.claim(instance, spec, chosen.allocations);
    tellGranted(policy.weighers, allocations);
    for (const usage of usages) learnUsage(view, usage);
    return true;
  }

  for (const [position, { spec, gpuMilli }] of arrivals.entries()) {
    if (position % TELL_EVERY === 0) onProgress(position / arrivals.length);
    arrived += gpuMilli;
    if (place(`request-${position}`, spec)) {
      used += gpuMilli;
      placed += 1;
    }
    curve.add(arrived, used);
  }
  return { curve: curve.curve(), asked: arrived / trace.gpuMilli, placed, refused: arrivals.length - placed };
}

/** A placement shard with these hosts, and a scheduler's view of them, fed by what the shard tells. */
function fleetOf(hosts: PackingTrace['hosts']) {
  const authority = placement({ shard: 0 });
  const state = authority.init();
  const view = emptyView();
  let said: AnyMessage[] = [];
  const turn: Turn<PlacementRecord> = {
    now: 0,
    steady: 0,
    record() {},
    send: (_to, message) => said.push(message),
    publish() {},
    wakeAfter() {},
    cancelWake() {},
  };
  const tell = (message: Parameters<typeof authority.receive>[1]) =>
    authority.receive(state, message, 'scheduler', turn);
  for (const providers of hosts) {
    const [root] = providers as [ProviderSpec];
    tell({ type: 'put-tree', ask: 0, providers: [...providers] });
    learnHost(view, CELL, { host: root.name, provider: root.id, state: 'up' });
  }
  endTurn();

  function endTurn(): void {
    authority.endTurn?.(state, turn);
    for (const message of said) {
      if (message.type === 'providers-changed') learnChanges(view, message as ProvidersChanged);
    }
  }

  return {
    view,
    /** @throws CellwrightError `packing-refused`: the ranking named a host on which there is no room. */
    claim(consumer: string, spec: RequestSpec, allocations: readonly Allocation[]): ClaimGranted {
      said = [];
      tell({ type: 'claim', consumer, attempt: 1, spec, allocations: allocations as never, keep: [], expiresAt: 0 });
      const [answer] = said;
      if (answer?.type === 'claim-granted') return answer as ClaimGranted;
      throw new CellwrightError('packing-refused', `placement refused '${consumer}': ${JSON.stringify(answer)}`);
    },
  };
}
