// Members of instance groups whose allocations a caller of the Placement API changes: a move of one, or of several at
// once, must keep to the rule of the group as a claim must.

import { OF_NO_BUILD } from '../../messages/placement.ts';
import type { ApiRefusalCode, ConsumerChange } from '../../messages/placement-api.ts';
import { identityOf } from '../consumers.ts';
import { isOwn } from '../group-keeping.ts';
import { hardRuleOf, nameOf, type Place, placeOf } from '../groups.ts';
import type { ConsumerRecord } from '../records.ts';
import type { PlacementState } from '../state.ts';
import { type Refused, refused } from './refusals.ts';

/** Why the changes would break the rule of a group, or null. All named consumers are where they shall be, then looked at. */
export function refusalOfMoves(state: PlacementState, records: readonly ConsumerRecord[]): Refused | null {
  const { groups, consumers, providers } = state;
  if (groups.places.size === 0 && records.every(({ group }) => group === undefined)) return null;
  const after = new Map<string, Place & { readonly record: ConsumerRecord }>();
  for (const record of records) {
    const { consumer: id, allocations } = record;
    const identity = identityOf(consumers.holding.get(id), record);
    if (identity.group === undefined || hardRuleOf(identity.group) === null) continue;
    const place = placeOf({ ...identity, held: [{ attempt: identity.latest, allocations }] }, providers);
    if (place !== null) after.set(id, { ...place, record });
  }
  const named = new Set(records.map(({ consumer }) => consumer));
  const staying = new Map<string, [string, Place][]>();
  /** The members of a group that are not named, and those that are, where they shall be. */
  const membersOf = (group: string): [string, Place][] => {
    let unnamed = staying.get(group);
    if (unnamed === undefined) {
      const members = [...(groups.known.get(group)?.members ?? [])].filter((one) => !named.has(one));
      unnamed = members.map((one) => [one, groups.places.get(one) as Place]);
      staying.set(group, unnamed);
    }
    return [...unnamed, ...[...after].filter(([, other]) => other.group === group)];
  };
  for (const [id, place] of after) {
    const { group, home, roots, record } = place;
    const rule = identityOf(consumers.holding.get(id), record).group;
    if (rule === undefined) continue;
    const others = membersOf(group).filter(([one]) => one !== id);
    const before = groups.places.get(id);
    const about = { consumer: id };
    const which = `instance group '${nameOf(rule)}'`;
    if (rule.policy === 'affinity') {
      // Where the others of the group are, another shard would have to say.
      if (record.group !== undefined && home !== null && !isOwn(state, group)) {
        const message = `${which} keeps together, and is not with the placement shard of '${home}': '${id}' cannot go there`;
        return refused('group-affinity', message, { ...about, provider: home });
      }
      const away = others.find(([, other]) => other.home !== null && other.home !== home);
      if (away === undefined || home === before?.home) continue;
      const message = `${which} keeps together: '${id}' cannot go to provider '${home}' without '${away[0]}'`;
      return refused('group-affinity', message, { ...about, provider: home ?? '' });
    }
    const most = rule.maxPerHost ?? 1;
    for (const root of roots) {
      const there = others.filter(([, other]) => other.roots.includes(root)).length;
      if (there < most || before?.roots.includes(root) === true) continue;
      const message = `${which} may have ${most} on each host: '${id}' cannot go to provider '${root}' too`;
      return refused('group-anti-affinity', message, { ...about, provider: root });
    }
  }
  return null;
}

/**
 * Why consumers may not hold something with other shards by a change that does not say what they are, or null: those
 * shards would neither count the instance nor know that it is a member of its group.
 */
export function refusalOfStrangers({ consumers }: PlacementState, changes: readonly ConsumerChange[]): Refused | null {
  for (const { consumer: id, elsewhere, latest, group: said } of changes) {
    if (elsewhere !== true || latest !== undefined || said !== undefined) continue;
    const known = consumers.holding.get(id);
    if (known === undefined || known.held.length === 0) continue;
    const { group } = known;
    const rule = group === undefined ? null : hardRuleOf(group);
    if (known.latest === OF_NO_BUILD && rule === null) continue;
    const code: ApiRefusalCode = rule === null ? 'other-shard' : `group-${rule}`;
    const what = group === undefined ? 'an instance' : `a member of instance group '${nameOf(group)}'`;
    const message = `'${id}' is ${what}: it cannot go to another placement shard by a change that does not say so`;
    return refused(code, message, { consumer: id });
  }
  return null;
}
