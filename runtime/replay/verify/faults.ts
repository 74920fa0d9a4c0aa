// Finds all that is wrong with the final state of a replay, in a census. Pure.
// What an audit compares is compared here too, with accounts as they are when nothing is under way any more; what was
// asked for is known besides. The rules are not taken from the actors: a check that shares their code shares their errors.

import type { InstanceView } from '../../../actors/messages/gateway.ts';
import { capacityDifferences } from '../../audit/capacity.ts';
import type { Account, Difference, DifferenceKind } from '../../audit/differences.ts';
import { holdingDifferences } from '../../audit/holding.ts';
import { runningDifferences } from '../../audit/running.ts';
import { type Arrival, type BuildSpec, instanceIds } from '../../workload/workload.ts';
import type { Census } from '../census.ts';
import type { Fault, FaultKind } from './fault.ts';
import { placingFaults } from './placing.ts';

const KINDS: Readonly<Record<DifferenceKind, FaultKind>> = {
  'over-capacity': 'overcommitted',
  'usage-differs': 'overcommitted',
  'leaked-allocation': 'leaked',
  'unheld-instance': 'leaked',
  'held-elsewhere': 'two-homes',
  'two-homes': 'two-homes',
  'running-without-record': 'leaked',
  'not-running': 'not-running',
};

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
  const { providers, consumers, computing, driven } = census;
  const accounts = new Map([...live].map(([instance, view]) => [instance, accountOf(view)]));
  const differences: Difference[] = [
    ...capacityDifferences(providers, consumers),
    ...holdingDifferences(providers, consumers, accounts),
    ...runningDifferences('compute', computing, accounts),
    ...runningDifferences('driver', driven, accounts),
  ];
  for (const { kind, what } of differences) faults.push({ kind: KINDS[kind], what });
  faults.push(...placingFaults(census, live, specs));
  return faults;
}

export function countOf(faults: readonly Fault[], kind: FaultKind): number {
  return faults.filter((fault) => fault.kind === kind).length;
}

/** Instances that may hold resources: all but those that failed; a deleted one is not listed any more. */
function isLive({ state }: InstanceView): boolean {
  return state !== 'failed' && state !== 'deleting';
}

/** A live instance is in one place, and nothing is owed for it. */
function accountOf({ instance, state, cell, host, attempt }: InstanceView): Account {
  return {
    instance,
    state,
    cell,
    host,
    attempt,
    mustHold: state === 'active',
    mustRun: state === 'active',
    mayHold: (held) => held === attempt,
    isOwed: () => false,
    mayRun: (inCell, onHost, running) => inCell === cell && onHost === host && running === attempt,
  };
}
