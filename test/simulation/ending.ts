// What must be so when all faults are healed: everything that was accepted has come to its end, nothing is owed, and
// all that know of something agree about it.

import { stateOfBuild } from '../../actors/builds.ts';
import { toldHost } from '../../actors/cell/hosts.ts';
import type { PlacementState } from '../../actors/placement/state.ts';
import { isSame } from '../../actors/same.ts';
import type { SchedulerState } from '../../actors/scheduler/state.ts';
import { providersOf } from '../../runtime/drivers/naming.ts';
import type { SimulatedHost } from './host.ts';
import type { Looked } from './invariants.ts';
import type { Seat } from './lives.ts';
import { faultsOfNames } from './names.ts';
import { isPool } from './together.ts';

/** What is still missing, nothing at the end. */
export function unfinished(looked: Looked): string[] {
  return [
    ...[...looked.truth.accepted].flatMap((one) => notEnded(looked, one)),
    ...notClear(looked),
    ...notTold(looked),
    ...missingFaults(looked),
    ...looked.truth.changes.atTheEnd(),
    ...faultsOfNames(looked.truth.placements),
  ];
}

function notEnded({ truth }: Looked, instance: string): string[] {
  const say = (what: string) => [`an end: '${instance}' ${what}`];
  const entry = truth.conductorOf(instance).instances.get(instance);
  const cell = [...truth.cells].find(([, { instances }]) => instances.has(instance));
  // What is deleted is forgotten after a while.
  if (entry === undefined || entry.phase === 'deleted') {
    return cell === undefined ? [] : say(`is deleted, and cell '${cell[0]}' has it`);
  }
  if (entry.phase === 'here' || entry.phase === 'deleting') return say(`is ${entry.phase} at its conductor`);
  if (entry.phase === 'failed') {
    if (entry.releaseOwed) return say('is failed, and its release is owed');
    if (cell !== undefined) return say(`is failed, and cell '${cell[0]}' has it`);
    const failure = entry.build?.snapshot.context.failure?.message ?? '';
    return failure === '' ? say('failed without a reason') : [];
  }
  if (cell === undefined || cell[0] !== entry.cell) return say(`is in cell '${entry.cell}', which does not have it`);
  const { build, deleting, lost } = cell[1].instances.get(instance) as NonNullable<
    ReturnType<(typeof cell)[1]['instances']['get']>
  >;
  const state = stateOfBuild(build);
  if (deleting || (state !== 'active' && state !== 'failed'))
    return say(`is ${deleting ? 'deleting' : state} in its cell`);
  if (state === 'failed' && (build.snapshot.context.failure?.message ?? '') === '')
    return say('failed without a reason');
  const stands = lost === null ? state : 'lost';
  if (entry.told?.state !== stands) return say(`is ${stands}, and its conductor was told '${entry.told?.state}'`);
  return [];
}

/** Nothing is owed, nothing is held by nobody, and the hosts run exactly what is active. */
function notClear({ truth, hosts }: Looked): string[] {
  const faults: string[] = [];
  const active = new Map<string, { attempt: number; host: string; isLost: boolean }>();
  for (const { instances, removals } of truth.cells.values()) {
    for (const key of removals.keys()) faults.push(`an end: removal '${key}' is not over`);
    for (const [instance, { build, lost }] of instances) {
      const { selection, attempt } = build.snapshot.context;
      const isLost = lost !== null;
      if (stateOfBuild(build) === 'active') active.set(instance, { attempt, host: selection?.host ?? '', isLost });
    }
  }
  for (const consumer of new Set(truth.placements.flatMap(({ consumers }) => [...consumers.holding.keys()]))) {
    if (isPool(consumer)) continue;
    const attempts = truth
      .heldBy(consumer)
      .map(({ attempt }) => attempt)
      .join(' and ');
    const expected = String(active.get(consumer)?.attempt ?? 'nothing');
    if (attempts !== expected) faults.push(`no orphan: '${consumer}' holds '${attempts}' and should hold ${expected}`);
  }
  const running = new Set<string>();
  for (const { plan, present } of hosts.values()) {
    for (const [key, { instance, attempt, state }] of present) {
      const should = active.get(instance);
      const isRight = should?.attempt === attempt && should.host === plan.host && !should.isLost;
      if (isRight && state === 'running') running.add(instance);
      else faults.push(`hosts: '${key}' is ${state} on ${plan.host} and should not be`);
    }
  }
  for (const [instance, { attempt, host, isLost }] of active) {
    if (!isLost && !running.has(instance) && hosts.get(host)?.vanished.has(`${instance}/${attempt}`) !== true)
      faults.push(`hosts: '${instance}/${attempt}' is active and does not run on ${host}`);
  }
  return [...faults, ...truth.placements.flatMap(sumFaults)];
}

/** Whether an instance is active on a host in an attempt, as its cell has recorded. */
export function isActiveOn({ truth }: Looked, { plan }: SimulatedHost, instance: string, attempt: number): boolean {
  const entry = truth.cells.get(plan.cell)?.instances.get(instance);
  if (entry === undefined || entry.lost !== null || stateOfBuild(entry.build) !== 'active') return false;
  const { selection, attempt: current } = entry.build.snapshot.context;
  return selection?.host === plan.host && current === attempt;
}

/** Cells know exactly what is active and has gone by itself. */
function missingFaults(looked: Looked): string[] {
  const { truth, hosts } = looked;
  return [...truth.cells].flatMap(([cell, { instances }]) =>
    [...instances].flatMap(([instance, { build, missingSince }]) => {
      const { selection, attempt } = build.snapshot.context;
      const host = hosts.get(selection?.host ?? '');
      const isGone =
        host?.vanished.has(`${instance}/${attempt}`) === true && isActiveOn(looked, host, instance, attempt);
      if (isGone === (missingSince !== null)) return [];
      return [`missing: cell '${cell}' ${isGone ? 'does not know' : 'says'} that '${instance}/${attempt}' is gone`];
    }),
  );
}

/** What was put into a host while it was up, or taken from it, is known where it is claimed. */
function notTold({ truth, hosts }: Looked): string[] {
  return [...hosts.values()].flatMap(({ plan, provider, tree }) => {
    const isUp = truth.cells.get(plan.cell)?.hosts.get(plan.host)?.service.value === 'up';
    if (!isUp) return [];
    return providersOf(plan.cell, plan.host, tree(), [])
      .filter(({ id, inventories }) => !isSame(truth.providerOf(id)?.told?.inventories, inventories))
      .map(({ name }) => `inventory: placement was not told what ${name} below '${provider}' has now`);
  });
}

/** capacity: what is held adds up to what is in use. */
export function sumFaults({ consumers, providers, holds }: PlacementState): string[] {
  const sums = new Map<string, number>();
  const held = [...consumers.holding.values()].flatMap((one) => one.held.flatMap(({ allocations }) => allocations));
  const inDoubt = [...holds.open.values()].flatMap(({ extra }) => extra);
  for (const { provider, resources } of [...held, ...inDoubt]) {
    for (const [resourceClass, amount] of Object.entries(resources)) {
      const key = `${provider} ${resourceClass}`;
      sums.set(key, (sums.get(key) ?? 0) + amount);
    }
  }
  return [...providers].flatMap(([id, { stocks, spec }]) =>
    [...stocks]
      .filter(([resourceClass, { used }]) => used !== (sums.get(`${id} ${resourceClass}`) ?? 0))
      .map(([resourceClass, { used }]) => `capacity: ${used} ${resourceClass} in use on ${spec.name}, and other held`),
  );
}

/**
 * What each live actor believes is what is stored, and what schedulers see is what placement and cells have. Whole states
 * are compared only where nothing else is amiss: this is asked many times before all have come to rest.
 */
export function disagreements(
  { truth }: Looked,
  seats: Iterable<Seat>,
  isAsRecorded: (owner: string, state: unknown) => boolean,
) {
  const faults: string[] = [];
  const believed = new Map<string, unknown>();
  for (const { address, last, isOwner, lives, isWanted } of seats) {
    if (!isWanted) continue;
    if (last?.state === undefined || lives.length !== 1) {
      faults.push(`an end: '${address}' has ${lives.length} lives`);
    } else if (isOwner) {
      believed.set(address, last.state);
    } else if (address.startsWith('scheduler/')) {
      const { view, open } = last.state as SchedulerState;
      if (open.size > 0) faults.push(`an end: '${address}' has ${open.size} selections under way`);
      for (const [id, { spec, stocks }] of truth.placements.flatMap(({ providers }) => [...providers])) {
        for (const [resourceClass, { used, capacity }] of stocks) {
          const seen = view.providers.get(id)?.stocks.get(resourceClass);
          // A class that was taken off a provider while it was in use: schedulers know it as one that is not there.
          if (seen === undefined && capacity === 0) continue;
          if (seen?.used === used && seen.capacity === capacity) continue;
          faults.push(
            `view: '${address}' sees ${seen?.used} of ${seen?.capacity} ${resourceClass} on ${spec.name}, ${used} of ${capacity} are in use`,
          );
        }
      }
      for (const { cell, host, root } of view.hosts.values()) {
        if (truth.cells.get(cell)?.hosts.get(host)?.provider === root) continue;
        faults.push(`view: '${address}' sees ${cell}/${host}, which is not there`);
      }
      for (const id of view.providers.keys()) {
        if (truth.providerOf(id) === undefined)
          faults.push(`view: '${address}' sees provider '${id}', which is not there`);
      }
      for (const { hosts, service } of truth.cells.values()) {
        for (const host of hosts.values()) {
          const seen = view.hosts.get(host.provider)?.state;
          const { state } = toldHost(host, service);
          if (seen !== state) faults.push(`view: '${address}' sees ${host.host} ${seen}, it is ${state}`);
        }
      }
    }
  }
  if (faults.length > 0) return faults;
  return [...believed]
    .filter(([address, state]) => !isAsRecorded(address, state))
    .map(([address]) => `replay: '${address}' is in another state than its records lead to`);
}

/** What the cells, and unless they are away the conductors, can bring to its end by themselves and have not. */
export function stillBusy({ truth }: Looked, withoutConductors: boolean): string[] {
  const faults: string[] = [];
  for (const [name, { instances, removals }] of truth.cells) {
    for (const [instance, { build }] of instances) {
      if (build.snapshot.status === 'active') faults.push(`islands: '${instance}' is not over in cell '${name}'`);
    }
    for (const key of removals.keys()) faults.push(`islands: removal '${key}' is not over in cell '${name}'`);
  }
  if (withoutConductors) return faults;
  for (const instance of truth.accepted) {
    const entry = truth.conductorOf(instance).instances.get(instance);
    if (entry?.phase === 'here' || entry?.phase === 'deleting')
      faults.push(`an end: '${instance}' waits at its conductor`);
  }
  return faults;
}
