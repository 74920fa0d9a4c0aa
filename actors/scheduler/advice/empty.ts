// Hosts with nothing on them, as advice supposes them: one that is only too full, of resources or of instances, would fit if
// it were empty. It is something else if it is too small.

import type { Provider } from '../../placement/providers.ts';
import { company } from '../filters/company.ts';
import { refusedBy } from '../filters/filter.ts';
import { INSTANCE_GROUP, membersAllowedAtMost, toldMisfitOfGroup } from '../group-rules.ts';
import { instancesLeft } from '../instance-room.ts';
import { allFiltersFor } from '../ranking/judging.ts';
import type { Rankings } from '../ranking/ranking.ts';
import type { Request } from '../request.ts';
import type { HostFacts } from '../view/host-facts.ts';
import type { View } from '../view/view.ts';

/** How many of the hosts that would have to be empty are named. */
const MAX_EMPTIED_NAMED = 3;

/** A host with nothing on it. */
export interface Emptied {
  readonly facts: HostFacts;
  /** How many instances of a request limits and the rule of its group would let it have. */
  readonly allowed: number;
  /** How many it has. */
  readonly instances: number;
}

export interface ToEmpty {
  /** `<cell>/<host>`. */
  readonly host: string;
  /** How many instances of the request it would hold. */
  readonly times: number;
  /** How many would have to go. */
  readonly instances: number;
}

export function emptied(rankings: Rankings, request: Request, facts: HostFacts): Emptied {
  const { instances } = facts.stats;
  const empty = { ...facts, tree: emptiedTree(facts.tree), stats: { ...facts.stats, instances: 0, builds: 0 } };
  const allowed = Math.min(membersAllowedAtMost(request.spec), instancesLeft(rankings, request, empty));
  return { facts: empty, allowed, instances };
}

/** A host on which all is built that is being built. */
export function allBuilt(facts: HostFacts): HostFacts {
  return { ...facts, stats: { ...facts.stats, builds: 0 } };
}

/** Whether limits refuse a host, all of which are named, only for what is being built there. */
export function mayServeWhenBuilt(
  { filters, limits }: Rankings,
  request: Request,
  facts: HostFacts,
  refusing: readonly string[],
): boolean {
  const built = allBuilt(facts);
  const asked = allFiltersFor(filters, request).filter(({ filter }) => refusing.includes(filter.name));
  return refusing.every((name) => limits.some((limit) => limit.name === name)) && refusedBy(asked, built) === null;
}

function emptiedTree(tree: readonly Provider[]): Provider[] {
  return tree.map((provider) => ({
    ...provider,
    stocks: new Map([...provider.stocks].map(([resourceClass, stock]) => [resourceClass, { ...stock, used: 0 }])),
  }));
}

/**
 * Whether what refuses a host, all of which is named, would let it serve with nothing on it: limits, the rule of the
 * instance group, and the instances to be kept apart from.
 */
export function mayServeIfEmpty(
  { filters, limits }: Rankings,
  view: View,
  request: Request,
  { facts }: Emptied,
  root: string,
  refusing: readonly string[],
): boolean {
  return refusing.every((name) => {
    if (name === INSTANCE_GROUP) return toldMisfitOfGroup(view, request.spec, root)?.code === 'group-anti-affinity';
    if (name === company.name) return request.company?.near?.has(root) !== false;
    if (!limits.some((limit) => limit.name === name)) return false;
    // One of a deployment's own may refuse for something else as well.
    const asked = allFiltersFor(filters, request).filter(({ filter }) => filter.name === name);
    return refusedBy(asked, facts) === null;
  });
}

/** Keeps the few that would hold most, of those the ones that are to lose fewest instances. */
export function noteEmptiest(some: ToEmpty[], one: ToEmpty): void {
  const last = some[MAX_EMPTIED_NAMED - 1];
  if (last !== undefined && inOrder(last, one) < 0) return;
  some.push(one);
  some.sort(inOrder);
  some.length = Math.min(some.length, MAX_EMPTIED_NAMED);
}

const inOrder = (one: ToEmpty, other: ToEmpty): number =>
  other.times - one.times || one.instances - other.instances || (one.host < other.host ? -1 : 1);
