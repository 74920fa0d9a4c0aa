// What can be wrong with the final state of a replay, and the one function that finds all of it in a census. Pure.
// The rules are written anew here rather than taken from the actors: a check that shares their code shares their errors.

import type { InstanceView } from '../../../actors/messages/gateway.ts';
import { type Arrival, type BuildSpec, instanceIds } from '../../workload/workload.ts';
import type { Census } from '../census.ts';
import { capacityFaults } from './capacity.ts';
import { holdingFaults } from './holding.ts';
import { placingFaults } from './placing.ts';
import { runningFaults } from './running.ts';

/**
 * - `overcommitted`: more is used of a class of a provider than fits, or its use is not the sum of its allocations.
 * - `leaked`: resources without a live instance, a live instance without resources, or something that runs on a host
 *   and that no cell knows.
 * - `two-homes`: an instance that is in two places.
 * - `misplaced`: a live instance whose allocations are not what it asked for.
 * - `not-running`: an active instance that is not on its host.
 */
export type FaultKind = 'overcommitted' | 'leaked' | 'two-homes' | 'misplaced' | 'not-running';

export interface Fault {
  readonly kind: FaultKind;
  /** What is wrong, with the ids, for people. */
  readonly what: string;
}

export function faultsOf(census: Census, arrivals: Iterable<Arrival>): Fault[] {
  const live = new Map<string, InstanceView>();
  const faults: Fault[] = [];
  for (const view of census.inCells) {
    if (!isLive(view)) continue;
    const other = live.get(view.instance);
    if (other !== undefined) {
      const what = `'${view.instance}' lives in cell '${other.cell}' and in cell '${view.cell}'`;
      faults.push({ kind: 'two-homes', what });
    }
    live.set(view.instance, view);
  }
  const specs = new Map<string, BuildSpec>();
  for (const arrival of arrivals) {
    for (const instance of instanceIds(arrival)) if (live.has(instance)) specs.set(instance, arrival.spec);
  }
  faults.push(
    ...capacityFaults(census),
    ...holdingFaults(census, live),
    ...runningFaults('compute', census.computing, live),
    ...runningFaults('driver', census.driven, live),
    ...placingFaults(census, live, specs),
  );
  return faults;
}

export function countOf(faults: readonly Fault[], kind: FaultKind): number {
  return faults.filter((fault) => fault.kind === kind).length;
}

/** Instances that may hold resources: all but those that failed; a deleted one is not listed any more. */
function isLive({ state }: InstanceView): boolean {
  return state !== 'failed' && state !== 'deleting';
}
