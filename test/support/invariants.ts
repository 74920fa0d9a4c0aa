// What must always hold of a deployment, by the names that the design gives it. It is checked over the states to which
// the owners' journals lead, after every record, so that nothing wrong can pass between two looks.

import { stateOfBuild } from '../../actors/builds.ts';
import { finalKey, removalKey } from '../../actors/cell/removals.ts';
import type { CellState } from '../../actors/cell/state.ts';
import type { ConductorState } from '../../actors/conductor/state.ts';
import type { PlacementState } from '../../actors/placement/state.ts';
import type { Selection } from '../../machines/instance-build.ts';
import { alternateFaultsOf, isAccountedFor } from './instance-invariants.ts';
import type { MachineRoom } from './machine-room.ts';

/** Everything that is known of a deployment, as its journals and its hosts tell it. */
export interface Deployment {
  readonly placement: PlacementState;
  readonly conductor: ConductorState;
  readonly cells: ReadonlyMap<string, CellState>;
  readonly rooms: ReadonlyMap<string, MachineRoom>;
  /** The hosts of each instance as its cell was given them: the one that was claimed, then the alternates. */
  readonly chosen: ReadonlyMap<string, readonly Selection[]>;
  /** How many alternates were asked for, by request. */
  readonly asked: ReadonlyMap<string, number>;
  /** Consumers that the test made up, for which nobody accounts. */
  readonly rivals: ReadonlySet<string>;
}

/** What does not hold; nothing when all is well. */
export function faultsIn(deployment: Deployment): string[] {
  return [
    ...capacityFaults(deployment),
    ...homeFaults(deployment),
    ...orphanFaults(deployment),
    ...alternateFaults(deployment),
    ...hostFaults(deployment),
  ];
}

interface Hold {
  readonly consumer: string;
  readonly attempt: number;
}

function holds({ placement, rivals }: Deployment): Hold[] {
  return [...placement.consumers.holding]
    .filter(([consumer]) => !rivals.has(consumer))
    .flatMap(([consumer, { held }]) => held.map(({ attempt }) => ({ consumer, attempt })));
}

/** capacity: what is held adds up to what is in use, and fits. */
function capacityFaults({ placement }: Deployment): string[] {
  const sums = new Map<string, number>();
  for (const { held } of placement.consumers.holding.values()) {
    for (const { provider, resources } of held.flatMap(({ allocations }) => allocations)) {
      for (const [resourceClass, amount] of Object.entries(resources)) {
        const key = `${provider} ${resourceClass}`;
        sums.set(key, (sums.get(key) ?? 0) + amount);
      }
    }
  }
  const faults: string[] = [];
  for (const [id, { stocks, spec }] of placement.providers) {
    for (const [resourceClass, { used, capacity }] of stocks) {
      const sum = sums.get(`${id} ${resourceClass}`) ?? 0;
      if (used !== sum) faults.push(`capacity: ${used} ${resourceClass} in use on ${spec.name}, ${sum} held`);
      if (used > capacity) faults.push(`capacity: ${used} of ${capacity} ${resourceClass} in use on ${spec.name}`);
    }
  }
  return faults;
}

/** one home: whatever is held beside one attempt waits to be cleared away, because it may still run. */
function homeFaults(deployment: Deployment): string[] {
  const homes = new Map<string, number[]>();
  for (const { consumer, attempt } of holds(deployment)) {
    if (isLeftBehind(deployment, consumer, attempt)) continue;
    homes.set(consumer, [...(homes.get(consumer) ?? []), attempt]);
  }
  return [...homes]
    .filter(([, attempts]) => attempts.length > 1)
    .map(([consumer, attempts]) => `one home: '${consumer}' holds attempts ${attempts.join(' and ')}`);
}

function isLeftBehind({ cells }: Deployment, instance: string, attempt: number): boolean {
  return [...cells.values()].some(({ removals }) => removals.has(removalKey({ instance, attempt, final: false })));
}

/** no orphan: held if and only if somebody accounts for it, or owes its release. */
function orphanFaults(deployment: Deployment): string[] {
  const held = holds(deployment);
  const faults = held
    .filter(({ consumer, attempt }) => !isHeldRightly(deployment, consumer, attempt))
    .map(({ consumer, attempt }) => `no orphan: nobody accounts for attempt ${attempt} of '${consumer}'`);
  for (const { instances, removals } of deployment.cells.values()) {
    for (const [instance, { build }] of instances) {
      const { selection, attempt } = build.snapshot.context;
      if (selection === null || removals.has(finalKey(instance))) continue;
      if (held.some((one) => one.consumer === instance && one.attempt === attempt)) continue;
      faults.push(`no orphan: '${instance}' is ${stateOfBuild(build)} and attempt ${attempt} holds nothing`);
    }
  }
  return faults;
}

function isHeldRightly(deployment: Deployment, instance: string, attempt: number): boolean {
  if (isLeftBehind(deployment, instance, attempt)) return true;
  return isAccountedFor(deployment.conductor.instances.get(instance), deployment.cells.values(), instance, attempt);
}

function alternateFaults({ cells, chosen, asked }: Deployment): string[] {
  return [...cells].flatMap(([cell, { instances }]) =>
    [...instances].flatMap(([instance, { build }]) => {
      const wanted = asked.get(build.facts.request) ?? 0;
      return alternateFaultsOf(instance, { build, cell, chosen: chosen.get(instance) ?? [], wanted });
    }),
  );
}

/** Nothing is begun twice, and nothing is on a host whose resources are not held for it there. */
function hostFaults(deployment: Deployment): string[] {
  const faults: string[] = [];
  const held = new Set(holds(deployment).map(({ consumer, attempt }) => `${consumer}/${attempt}`));
  for (const [host, { present, begun }] of deployment.rooms) {
    for (const key of present) if (!held.has(key)) faults.push(`no orphan: '${key}' is on ${host} and holds nothing`);
    for (const [key, times] of begun) if (times > 1) faults.push(`built once: '${key}' was begun ${times} times`);
  }
  return faults;
}
