// A group that keeps together, and is on a host that takes no more: all that join it have no host until that host is back,
// or the members are gone. What is said of it names them.

import { howMany, listed } from '../../count-words.ts';
import { timeOfDay } from '../../host-words.ts';
import type { Advice } from '../../messages/advice.ts';
import type { RequestSpec } from '../../messages/common.ts';
import type { GroupHeld } from '../../messages/decision.ts';
import type { Located } from '../../messages/placement.ts';
import { keepsTogether, nameOf } from '../../placement/groups.ts';
import { present } from '../../present.ts';
import { placementAddress, placementShardOf } from '../../routing.ts';
import { wakeId } from '../../wakes.ts';
import type { Work } from '../state.ts';
import { rootsOf, toldOn } from '../view/groups-view.ts';
import type { View } from '../view/view.ts';
import { restOf } from '../view/view-hosts.ts';

/** How long the names of members are waited for, ms: without them it is said how many they are. */
const MEMBERS_MS = 500;

export const MEMBERS_WAKE = 'members';

/**
 * Where the group of a request is held, by how many members.
 * @param advice What would let it fit.
 * @param holdsNew Whether another host would hold all instances.
 */
export function groupHeld(
  view: View,
  spec: RequestSpec,
  advice: readonly Advice[],
  holdsNew: boolean,
): GroupHeld | undefined {
  const { instanceGroup: group } = spec;
  // Where neither is enough, more is in the way.
  const freedBy: GroupHeld['freedBy'] = [
    ...(advice.some(({ code }) => code === 'host-state' || code === 'cell-state') ? ['host' as const] : []),
    ...(holdsNew ? ['members' as const] : []),
  ];
  if (group === undefined || !keepsTogether(spec) || freedBy.length === 0) return undefined;
  const [root = '', ...others] = rootsOf(view.groups, group.id);
  const host = view.hosts.get(root);
  const members = toldOn(view.groups, group.id, root);
  if (host === undefined || host.state === 'up' || members === 0 || others.length > 0) return undefined;
  const { cell, state, disabled, withCell } = host;
  const asideUntil = restOf(view, host);
  const place = { cell, host: host.host, state, ...present({ disabled, withCell, asideUntil }) };
  return { group: nameOf(group), ...place, members, named: [], freedBy };
}

/** Finds out who the members are that hold a group, and goes on without where that is not told. */
export function nameMembers(
  { state, turn }: Work,
  { instanceGroup }: RequestSpec,
  held: GroupHeld,
  then: (work: Work, held: GroupHeld) => void,
): void {
  const { id = '' } = instanceGroup ?? {};
  const [root = ''] = rootsOf(state.view.groups, id);
  state.asks += 1;
  const ask = state.asks;
  state.naming.set(ask, (now, named) => then(now, { ...held, named: [...named] }));
  turn.wakeAfter(wakeId(MEMBERS_WAKE, ask), MEMBERS_MS);
  const shard = placementShardOf(root, state.view.shards);
  turn.send(placementAddress(shard), { type: 'locate', ask, consumers: [root], group: id });
}

/** Placement has told the members of a group; true when they were asked for. */
export function membersTold(work: Work, { ask, members = [] }: Pick<Located, 'ask' | 'members'>): boolean {
  const then = work.state.naming.get(ask);
  if (then === undefined) return false;
  work.state.naming.delete(ask);
  work.turn.cancelWake(wakeId(MEMBERS_WAKE, ask));
  then(work, members);
  return true;
}

/** `instance group 'db' is held on c1/h1, which is down, by db-0 and db-1, until that host is back, or is fenced and they are deleted`. */
export function heldWords(held: GroupHeld): string {
  const { group, cell, host, state, disabled, withCell, members: told, named, freedBy = ['host', 'members'] } = held;
  const { asideUntil } = held;
  // Those that are named are told later than how many there are.
  const members = Math.max(told, named.length);
  const where = `instance group '${group}' is held on ${cell}/${host}, which is ${state.replace('-', ' ')}${disabled === true && state !== 'disabled' ? ' and disabled' : ''}`;
  const rested = asideUntil === undefined ? '' : ` (not before ${timeOfDay(asideUntil)}: it is set aside, too)`;
  const back = state === 'disabled' ? 'enabled' : disabled === true ? 'back and enabled' : `back${rested}`;
  const gone = members === 1 ? 'it is deleted' : 'they are deleted';
  const until = [
    ...(freedBy.includes('host')
      ? [withCell === true ? `cell ${cell} is back in service` : `that host is ${back}`]
      : []),
    ...(freedBy.includes('members') ? [goneWords(state, freedBy.length === 1, gone)] : []),
  ];
  return `${where}, by ${membersWords(members, named)}, until ${until.join(', or ')}`;
}

/** Of a host that is down nobody knows whether its instances are gone, until it is fenced. */
function goneWords(state: string, isAll: boolean, gone: string): string {
  if (state !== 'down') return gone;
  return `${isAll ? 'that host ' : ''}is fenced and ${gone}`;
}

function membersWords(members: number, named: readonly string[]): string {
  if (named.length === 0) return howMany(members, 'instance');
  const more = members - named.length;
  return listed(more > 0 ? [...named, `${more} more`] : named);
}
