// What must hold after every step, looked at where something was touched: the invariants of the design, by name, over
// what is stored and what is on the hosts.

import { allocationsOf } from '../../actors/allocations.ts';
import { stateOfBuild } from '../../actors/builds.ts';
import type { CellRecord } from '../../actors/cell/apply.ts';
import { finalKey, removalKey, removalsOf } from '../../actors/cell/removals.ts';
import type { TreeConditions } from '../../actors/messages/common.ts';
import type { PlacementRecord } from '../../actors/placement/records.ts';
import { homesOf, rootsOf } from '../../actors/placement/tree-conditions.ts';
import { instanceNames } from '../../actors/routing.ts';
import type { Allocation } from '../../machines/instance-build.ts';
import { alternateFaultsOf, isAccountedFor } from '../support/instance-invariants.ts';
import type { SimulatedHost } from './host.ts';
import type { Truth } from './truth.ts';

export interface Looked {
  readonly truth: Truth;
  readonly hosts: ReadonlyMap<string, SimulatedHost>;
}

/** What does not hold of an instance; nothing when all is well. */
export function faultsOfInstance(looked: Looked, instance: string): string[] {
  return [
    ...homeFaults(looked, instance),
    ...orphanFaults(looked, instance),
    ...alternateFaults(looked, instance),
    ...groupFaults(looked, instance),
    ...hostFaults(looked, instance),
    ...toldFaults(looked, instance),
  ];
}

/** missing: what a cell records as missing is gone, and as nothing comes back, none is found again. */
export function missingFaultsOf({ truth, hosts }: Looked, cell: string, records: readonly CellRecord[]): string[] {
  return records.flatMap((record) => {
    if (record.type === 'found') return [`missing: '${record.instance}' was found again, and never came back`];
    if (record.type !== 'missing') return [];
    const { selection, attempt } = truth.cells.get(cell)?.instances.get(record.instance)?.build.snapshot.context ?? {};
    const isGone = hosts.get(selection?.host ?? '')?.vanished.has(`${record.instance}/${attempt}`);
    return isGone === true ? [] : [`missing: '${record.instance}/${attempt}' is there, and was recorded as missing`];
  });
}

function heldBy({ truth }: Looked, instance: string): readonly number[] {
  return truth.heldBy(instance).map(({ attempt }) => attempt);
}

function isLeftBehind({ truth }: Looked, instance: string, attempt: number): boolean {
  const key = removalKey({ instance, attempt, final: false });
  for (const { removals } of truth.cells.values()) if (removals.has(key)) return true;
  return false;
}

/** capacity, and that a claim gives what was asked for: looked at when the claim is stored. */
export function claimFaults(truth: Truth, claim: Extract<PlacementRecord, { type: 'claimed' }>): string[] {
  const faults: string[] = [];
  const given = new Map<string, number>();
  let root = '';
  for (const { provider: id, group, resources } of claim.allocations) {
    const provider = truth.providerOf(id);
    if (provider === undefined) {
      faults.push(`capacity: '${claim.consumer}' is given something of '${id}', which is no provider`);
      continue;
    }
    root = provider.root;
    for (const [resourceClass, amount] of Object.entries(resources)) {
      given.set(`${group} ${resourceClass}`, (given.get(`${group} ${resourceClass}`) ?? 0) + amount);
      const stock = provider.stocks.get(resourceClass);
      if (stock !== undefined && stock.used <= stock.capacity) continue;
      const { used = 0, capacity = 0 } = stock ?? {};
      const what = `${used} of ${capacity} ${resourceClass} in use on ${provider.spec.name}`;
      faults.push(`capacity: ${what} after attempt ${claim.attempt} of '${claim.consumer}'`);
    }
  }
  const request = [...truth.asked].find(([name]) => isOf(claim.consumer, name));
  for (const { name, resources, required } of request?.[1].spec.groups ?? []) {
    for (const [resourceClass, amount] of Object.entries(resources)) {
      const got = given.get(`${name} ${resourceClass}`) ?? 0;
      if (got !== amount) faults.push(`claim: '${claim.consumer}' asked ${amount} ${resourceClass} and holds ${got}`);
    }
    const traits = truth.providerOf(root)?.traits;
    for (const trait of required ?? []) {
      if (traits?.has(trait) !== true) faults.push(`claim: '${claim.consumer}' is on a host without ${trait}`);
    }
  }
  return [...faults, ...companyFaults(truth, claim.consumer, root, request?.[1].spec.tree)];
}

/** company: who wants to be with others is, and who wants to be apart from others is, at the moment of the claim. */
function companyFaults({ placements }: Truth, consumer: string, root: string, tree: TreeConditions = {}): string[] {
  const anyIn = (where: typeof rootsOf) => (other: string) =>
    other !== consumer && placements.some(({ consumers, providers }) => where(other, consumers, providers).has(root));
  const isThere = anyIn(rootsOf);
  const { heldBy, notHeldBy = [] } = tree;
  const faults = notHeldBy.filter(isThere).map((other) => `company: '${consumer}' is given a host that has '${other}'`);
  if (heldBy !== undefined && !heldBy.some(anyIn(homesOf)))
    faults.push(`company: '${consumer}' is with none of ${heldBy}`);
  return faults;
}

function isOf(instance: string, request: string): boolean {
  return instance === request || (instance.startsWith(`${request}-`) && instanceNames(request, 4).includes(instance));
}

/** one home: whatever is held beside one attempt waits to be cleared away; and one cell has the instance. */
function homeFaults(looked: Looked, instance: string): string[] {
  const faults: string[] = [];
  const homes = heldBy(looked, instance).filter((attempt) => !isLeftBehind(looked, instance, attempt));
  if (homes.length > 1) faults.push(`one home: '${instance}' holds attempts ${homes.join(' and ')}`);
  const cells = [...looked.truth.cells].filter(([, { instances }]) => instances.has(instance)).map(([name]) => name);
  if (cells.length > 1) faults.push(`one home: '${instance}' is in the cells ${cells.join(' and ')}`);
  return faults;
}

/** no orphan: held if and only if somebody accounts for it, or owes its release. */
function orphanFaults(looked: Looked, instance: string): string[] {
  const { truth } = looked;
  const held = heldBy(looked, instance);
  const faults = held
    .filter((attempt) => !isHeldRightly(looked, instance, attempt))
    .map((attempt) => `no orphan: nobody accounts for attempt ${attempt} of '${instance}'`);
  for (const { instances, removals } of truth.cells.values()) {
    const { build, deleting = false } = instances.get(instance) ?? {};
    if (build === undefined) continue;
    const { selection, attempt } = build.snapshot.context;
    // What is deleted may be cleared away but for earlier attempts.
    if (deleting && removalsOf({ removals }, instance, attempt).length > 0) continue;
    if (selection === null || removals.has(finalKey(instance)) || held.includes(attempt)) continue;
    faults.push(`no orphan: '${instance}' is ${stateOfBuild(build)} and attempt ${attempt} holds nothing`);
  }
  return faults;
}

function isHeldRightly(looked: Looked, instance: string, attempt: number): boolean {
  if (isLeftBehind(looked, instance, attempt)) return true;
  const { truth } = looked;
  return isAccountedFor(truth.conductorOf(instance).instances.get(instance), truth.cells.values(), instance, attempt);
}

function alternateFaults({ truth }: Looked, instance: string): string[] {
  const chosen = truth.chosen.get(instance) ?? [];
  return [...truth.cells].flatMap(([cell, { instances }]) => {
    const build = instances.get(instance)?.build;
    if (build === undefined) return [];
    const wanted = truth.asked.get(build.facts.request)?.alternates ?? 0;
    return alternateFaultsOf(instance, { build, cell, chosen, wanted });
  });
}

/** groups: no host has more members than it may, and those that keep together have one home. */
function groupFaults({ truth }: Looked, instance: string): string[] {
  const group = truth.groupOf.get(instance);
  if (group === undefined || group.policy.startsWith('soft-')) return [];
  const homes = new Set<string>();
  const onRoot = new Map<string, string[]>();
  for (const member of truth.groups.get(group.id) ?? []) {
    // One that said another rule is a member only if it came when there was no other.
    if (truth.groupOf.get(member)?.policy !== group.policy) continue;
    const roots = new Set<string>();
    for (const { consumers } of truth.placements) {
      const { held = [], latest = 0, away = false } = consumers.holding.get(member) ?? {};
      for (const { attempt, allocations } of held) {
        const root = truth.providerOf(allocations[0]?.provider ?? '')?.root ?? '';
        roots.add(root);
        if (attempt === latest && !away) homes.add(root);
      }
    }
    for (const root of roots) onRoot.set(root, [...(onRoot.get(root) ?? []), member]);
  }
  if (group.policy === 'affinity') {
    return homes.size > 1 ? [`groups: '${group.id}' keeps together, and is on ${homes.size} hosts`] : [];
  }
  return [...onRoot]
    .filter(([, members]) => members.length > (group.maxPerHost ?? 1))
    .map(
      ([root, members]) =>
        `groups: ${members.join(' and ')} of '${group.id}' are on ${truth.providerOf(root)?.spec.name}`,
    );
}

/** Nothing is begun twice, and nothing is on a host whose resources are not held for it there. */
function hostFaults(looked: Looked, instance: string): string[] {
  const { truth, hosts } = looked;
  const faults: string[] = [];
  const holding = truth.heldBy(instance);
  for (const { plan, provider, present, begun } of hosts.values()) {
    for (const [key, presence] of present) {
      if (presence.instance !== instance) continue;
      const held = holding.find(({ attempt }) => attempt === presence.attempt);
      if (held === undefined) {
        faults.push(`no orphan: '${key}' is on ${plan.host} and holds nothing`);
      } else {
        const root = truth.providerOf(held.allocations[0]?.provider ?? '')?.root;
        if (root !== provider) faults.push(`one home: '${key}' is on ${plan.host} and holds elsewhere`);
      }
      if ((begun.get(key) ?? 0) > 1) faults.push(`built once: '${key}' was begun ${begun.get(key)} times`);
    }
  }
  return faults;
}

/**
 * told: what a conductor and a cell have recorded of an attempt, and what its compute was told to build with, is what
 * placement holds for it. That is so at every moment, since what is granted is recorded before anybody is told of it; what
 * was given back is held for no attempt any more.
 */
function toldFaults({ truth, hosts }: Looked, instance: string): string[] {
  const faults: string[] = [];
  const holding = truth.heldBy(instance);
  const compare = (who: string, attempt: number, allocations: readonly Allocation[]) => {
    const held = holding.find((one) => one.attempt === attempt);
    if (held === undefined || inWords(held.allocations) === inWords(allocations)) return;
    const what = `${inWords(allocations)}, and it holds ${inWords(held.allocations)}`;
    faults.push(`told: ${who} has '${instance}/${attempt}' with ${what}`);
  };
  const conductors = [...truth.conductors].map(
    ({ instances }) => ['a conductor', instances.get(instance)?.build] as const,
  );
  const cells = [...truth.cells].map(
    ([name, { instances }]) => [`cell '${name}'`, instances.get(instance)?.build] as const,
  );
  for (const [who, build] of [...conductors, ...cells]) {
    const { selection, attempt } = build?.snapshot.context ?? { selection: null, attempt: 0 };
    if (build === null || build === undefined || selection === null) continue;
    compare(who, attempt, allocationsOf(build.facts.spec, selection));
  }
  for (const { plan, present } of hosts.values()) {
    for (const one of present.values()) {
      if (one.instance === instance) compare(`host '${plan.host}'`, one.attempt, one.allocations);
    }
  }
  return faults;
}

/** Allocations in words that do not depend on their order. */
function inWords(allocations: readonly Allocation[]): string {
  const each = allocations.flatMap(({ provider, group, resources }) =>
    Object.entries(resources).map(
      ([resourceClass, amount]) => `${amount} ${resourceClass} of ${provider} for '${group}'`,
    ),
  );
  return each.sort().join(', ');
}
