// Groups that keep together, where there are several shards: two first members could be claimed in two shards at once,
// neither of which knows of the other. So a shard in which no member has its home grants nothing to the group until it was
// told that the group is its own, by the keeper: the shard that the group's id leads to. (Of groups that only wish to keep
// together, nothing but a first member.) The keeper gives a group to another shard only when the one that it was with has
// left it; who leaves it forgets that it was ever told. Nothing waits for its own sake: a claim that is not answered is sent
// again, and with it whatever was lost.

import type { Address } from '../actor.ts';
import type { AnyMessage } from '../messages/any.ts';
import type { InstanceGroup } from '../messages/common.ts';
import type { GroupHomeMessage, GroupHomeMessageOf } from '../messages/group-homes.ts';
import type { Claim, Refusal } from '../messages/placement.ts';
import { placementAddress, placementOf, shardOf } from '../routing.ts';
import { nameOf } from './groups.ts';
import type { PlacementState } from './state.ts';
import { commit, type ShardWork } from './work.ts';

/** How many groups are asked after in one turn of a sweep, and how many are looked at for that. */
const MAX_SWEPT = 1_000;
const MAX_LOOKED_AT = 20_000;

// --- the shard that a claim is for

/** Whether the keeper must be asked before a claim is granted. */
export function mustAsk(state: PlacementState, { spec: { instanceGroup }, groupKnown }: Claim): boolean {
  if (instanceGroup === undefined) return false;
  const { id, policy } = instanceGroup;
  const isFirst = policy === 'soft-affinity' && groupKnown?.isFirst === true;
  return (isFirst || policy === 'affinity') && !isOwn(state, id);
}

/** Whether a group that keeps together is known to be with this shard, so that members may have their home here. */
export function isOwn({ groups, groupHomes }: PlacementState, group: string): boolean {
  return homeOf(groups, group) !== undefined || groupHomes.own.has(group);
}

function homeOf({ known }: PlacementState['groups'], group: string): string | undefined {
  return known.get(group)?.homes.keys().next().value;
}

/** Has a claim wait for the keeper's word. Said again, it asks again. */
export function askKeeper(work: ShardWork, claim: Claim, from: Address): void {
  const group = claim.spec.instanceGroup?.id as string;
  const { asking } = work.state.groupHomes;
  const standing = asking.get(group);
  if (standing !== undefined) {
    standing.claims.set(claim.consumer, { claim, from });
    return say(work, placementOf(group, work.shards), { type: 'group-ask', group, token: standing.token });
  }
  asking.set(group, { token: newToken(work, group), claims: new Map([[claim.consumer, { claim, from }]]) });
}

/** A claim that is granted waits for no keeper: said again without its wish, it may have. */
export function waitsNoLonger({ groupHomes: { asking } }: PlacementState, { consumer, spec }: Claim): void {
  const group = spec.instanceGroup?.id;
  if (group !== undefined) asking.get(group)?.claims.delete(consumer);
}

function newToken(work: ShardWork, group: string): number {
  commit(work, { type: 'group-asked', group });
  const token = work.state.groupHomes.count;
  say(work, placementOf(group, work.shards), { type: 'group-ask', group, token });
  return token;
}

/**
 * Takes what shards say to each other of groups.
 * @param claim Decides a claim that has waited: granted only if the group may be here, otherwise `elsewhere` says why not.
 */
export function takeGroupHome(
  work: ShardWork,
  message: GroupHomeMessage,
  from: Address,
  claim: (asked: Claim, from: Address, elsewhere: Refusal | null) => void,
): void {
  switch (message.type) {
    case 'group-yours':
    case 'group-elsewhere':
      return heard(work, message, claim);
    case 'group-leave':
      return leave(work, message, from);
    case 'group-ask':
      return asked(work, message.group, message.token, from);
    case 'group-left':
      return left(work, message);
    case 'group-stays':
      return stays(work, message, from);
  }
}

function heard(
  { state: { groupHomes } }: ShardWork,
  message: GroupHomeMessageOf<'group-yours' | 'group-elsewhere'>,
  claim: (asked: Claim, from: Address, elsewhere: Refusal | null) => void,
): void {
  const { group, token } = message;
  const standing = groupHomes.asking.get(group);
  // What answers a question of before the shard has left the group, or of another life, is void.
  if (standing?.token !== token) return;
  groupHomes.asking.delete(group);
  if (message.type === 'group-yours') groupHomes.own.add(group);
  for (const { claim: one, from } of standing.claims.values()) {
    claim(one, from, message.type === 'group-yours' ? null : refusalOf(one, message));
  }
}

function refusalOf({ spec }: Claim, { root, name }: GroupHomeMessageOf<'group-elsewhere'>): Refusal {
  const group = spec.instanceGroup as InstanceGroup;
  const which = `instance group '${nameOf(group)}'`;
  if (group.policy === 'affinity') {
    return { code: 'group-affinity', message: `${which} keeps together, and it is on host '${name}'`, provider: root };
  }
  const message = `${which} keeps together if it can, and it has come to host '${name}'`;
  return { code: 'group-changed', message, provider: root };
}

function leave(work: ShardWork, { group, number }: GroupHomeMessageOf<'group-leave'>, from: Address): void {
  const { groups, groupHomes, providers } = work.state;
  // Nothing changes; but a shard that was superseded, which may know too little, cannot record it, and its word is lost.
  commit(work, { type: 'read' });
  const root = homeOf(groups, group);
  if (root !== undefined) {
    const name = providers.get(root)?.spec.name ?? root;
    return say(work, from, { type: 'group-stays', group, number, root, name });
  }
  groupHomes.own.delete(group);
  say(work, from, { type: 'group-left', group, number });
  const standing = groupHomes.asking.get(group);
  if (standing !== undefined) standing.token = newToken(work, group);
}

// --- the keeper

function asked(work: ShardWork, group: string, token: number, from: Address): void {
  const { kept, leaving } = work.state.groupHomes;
  const home = kept.get(group);
  if (home === undefined || (placementAddress(home.shard) === from && !leaving.has(group))) {
    return give(work, group, token, from);
  }
  const standing = leaving.get(group) ?? { number: home.number, wanted: new Map<Address, number>() };
  leaving.set(group, standing);
  standing.wanted.set(from, token);
  say(work, placementAddress(home.shard), { type: 'group-leave', group, number: standing.number });
}

/** Even to the shard that has it already: what it said before, that it has left it, says nothing from now on. */
function give(work: ShardWork, group: string, token: number, to: Address): void {
  commit(work, { type: 'group-given', group, shard: shardOf(to), at: work.turn.now });
  say(work, to, { type: 'group-yours', group, token });
}

function left(work: ShardWork, { group, number }: GroupHomeMessageOf<'group-left'>): void {
  const { leaving } = work.state.groupHomes;
  const standing = leaving.get(group);
  if (standing?.number !== number) return;
  leaving.delete(group);
  const [first, ...others] = standing.wanted;
  if (first === undefined) return commit(work, { type: 'group-dropped', group });
  give(work, group, first[1], first[0]);
  for (const [from, token] of others) asked(work, group, token, from);
}

function stays(work: ShardWork, { group, number, root, name }: GroupHomeMessageOf<'group-stays'>, from: Address): void {
  const { leaving } = work.state.groupHomes;
  const standing = leaving.get(group);
  if (standing?.number !== number) return;
  leaving.delete(group);
  for (const [to, token] of standing.wanted) {
    if (to === from) give(work, group, token, to);
    else say(work, to, { type: 'group-elsewhere', group, token, root, name });
  }
}

/**
 * Asks after groups that may have no member any more, as they were given before `before`, and forgets claims whose claimants
 * have given up. Of many groups it is some at a time: false when some are left for another turn.
 */
export function sweepGroupHomes(work: ShardWork, before: number): boolean {
  const { groupHomes } = work.state;
  if (groupHomes.unswept === null) {
    forgetGivenUp(work);
    groupHomes.unswept = groupHomes.kept.entries();
  }
  let asked = 0;
  for (let looks = 0; looks < MAX_LOOKED_AT && asked < MAX_SWEPT; looks += 1) {
    const next = groupHomes.unswept.next();
    if (next.done === true) {
      groupHomes.unswept = null;
      return true;
    }
    const [group, { shard, number, at }] = next.value;
    if (at >= before) continue;
    if (!groupHomes.leaving.has(group)) groupHomes.leaving.set(group, { number, wanted: new Map() });
    say(work, placementAddress(shard), { type: 'group-leave', group, number });
    asked += 1;
  }
  return false;
}

function forgetGivenUp({ state: { groups, groupHomes }, turn }: ShardWork): void {
  const { own, asking } = groupHomes;
  for (const group of [...own]) if (!groups.known.has(group)) own.delete(group);
  for (const [group, { claims }] of [...asking]) {
    for (const [consumer, { claim }] of [...claims]) if (claim.expiresAt < turn.now) claims.delete(consumer);
    if (claims.size === 0) asking.delete(group);
  }
}

function say({ turn }: ShardWork, to: Address, message: AnyMessage): void {
  turn.send(to, message);
}
