// Members of instance groups whose allocations a caller of the Placement API changes: a move of one, or of several at
// once, must keep to the rule of the group as a claim must.

import { adjust } from '../../amounts.ts';
import type { InstanceGroup } from '../../messages/common.ts';
import { OF_NO_BUILD } from '../../messages/placement.ts';
import type { ApiRefusalCode, ConsumerChange } from '../../messages/placement-api.ts';
import { identityOf } from '../consumers.ts';
import { isOwn } from '../group-keeping.ts';
import { hardRuleOf, nameOf, type Place, placeOf, ruleOf } from '../groups.ts';
import type { ConsumerRecord } from '../records.ts';
import type { PlacementState } from '../state.ts';
import { type Refused, refused } from './refusals.ts';

/** Why the changes would break the rule of a group, or null. All named consumers are where they shall be, then looked at. */
export function refusalOfMoves(state: PlacementState, records: readonly ConsumerRecord[]): Refused | null {
  const { groups, consumers, providers } = state;
  if (records.every(({ consumer, group = consumers.holding.get(consumer)?.group }) => group === undefined)) return null;
  const after = new Map<string, Place & { readonly record: ConsumerRecord }>();
  const rules = new Map<string, InstanceGroup>();
  const ending = new Set(records.filter(({ allocations }) => allocations.length === 0).map(({ consumer }) => consumer));
  /** By group, whether all its members are to hold nothing any more: a group may have thousands, all of whom are named. */
  const ends = new Map<string, boolean>();
  /** The group as it is, unless it ends: then whoever comes begins it anew. */
  const standing = (id: string) => {
    const known = groups.known.get(id);
    if (known === undefined || known.members.size > ending.size) return known;
    const doesEnd = ends.get(id) ?? [...known.members].every((one) => ending.has(one));
    ends.set(id, doesEnd);
    return doesEnd ? undefined : known;
  };
  for (const record of records) {
    const { consumer: id, allocations } = record;
    const identity = identityOf(consumers.holding.get(id), record);
    if (identity.group === undefined) continue;
    const { id: group } = identity.group;
    const known = standing(group);
    // One that held nothing is of the group as it was when it did.
    if (allocations.length > 0 && known?.members.has(id) !== true) {
      const rule = known?.rule ?? rules.get(group) ?? identity.group;
      rules.set(group, rule);
      const fault = otherRule(id, identity.group, rule);
      if (fault !== null) return fault;
    }
    if (hardRuleOf(identity.group) === null) continue;
    const { several } = record;
    const held = [{ attempt: identity.latest, allocations, ...(several === true ? { several } : {}) }];
    const place = placeOf({ ...identity, held }, providers);
    if (place !== null && place.roots.length > 0) after.set(id, { ...place, record });
  }
  const named = new Set(records.map(({ consumer }) => consumer));
  const shifts = shiftsOf(
    [...named].flatMap((id) => groups.places.get(id) ?? []).filter(({ group }) => standing(group) !== undefined),
    [...after.values()],
  );
  /** Another member that shall have its home elsewhere. A group may have thousands: they are looked at where there is one. */
  const memberAway = (group: string, home: string | null): string | undefined => {
    const { homes = NOWHERE } = standing(group) ?? {};
    const shift = shifts.get(group)?.homes ?? NOWHERE;
    const isHome = (root: string) => root !== home && (homes.get(root) ?? 0) + (shift.get(root) ?? 0) > 0;
    if (![...homes.keys(), ...shift.keys()].some(isHome)) return undefined;
    const isAway = (place: Place | undefined) => (place?.home ?? home) !== home;
    const staying = [...(standing(group)?.members ?? [])].find(
      (one) => !named.has(one) && isAway(groups.places.get(one)),
    );
    return staying ?? [...after].find(([, other]) => other.group === group && isAway(other))?.[0];
  };
  /** Where a group had its members by another rule, others by its own may be anywhere. */
  const isWithUs = (group: string): boolean => {
    const rule = groups.known.get(group)?.rule;
    const hadOther = rule !== undefined && standing(group) === undefined && rule.policy !== 'affinity';
    return hadOther ? state.groupHomes.own.has(group) : isOwn(state, group);
  };
  for (const [id, place] of after) {
    const { group, home, roots, record } = place;
    const rule = identityOf(consumers.holding.get(id), record).group;
    if (rule === undefined) continue;
    const before = groups.places.get(id);
    const about = { consumer: id };
    const which = `instance group '${nameOf(rule)}'`;
    if (rule.policy === 'affinity') {
      // Where the others of the group are, another shard would have to say.
      if (record.group !== undefined && home !== null && !isWithUs(group)) {
        const message = `${which} keeps together, and is not with the placement shard of '${home}': '${id}' cannot go there`;
        return refused('group-affinity', message, { ...about, provider: home });
      }
      const away = home === before?.home ? undefined : memberAway(group, home);
      if (away === undefined) continue;
      const message = `${which} keeps together: '${id}' cannot go to provider '${home}' without '${away}'`;
      return refused('group-affinity', message, { ...about, provider: home ?? '' });
    }
    const most = rule.maxPerHost ?? 1;
    for (const root of roots) {
      if (before?.roots.includes(root) === true) continue;
      // It is itself among those that come there.
      const counted = standing(group) === undefined ? 0 : (providers.get(root)?.groups.get(group) ?? 0);
      const others = counted + (shifts.get(group)?.roots.get(root) ?? 0) - 1;
      if (others < most) continue;
      const message = `${which} may have ${most} on each host: '${id}' cannot go to provider '${root}' too`;
      return refused('group-anti-affinity', message, { ...about, provider: root });
    }
  }
  return null;
}

function otherRule(consumer: string, said: InstanceGroup, rule: InstanceGroup): Refused | null {
  if (ruleOf(said) === ruleOf(rule)) return null;
  const message = `instance group '${nameOf(rule)}' has the rule '${ruleOf(rule)}', not '${ruleOf(said)}' as '${consumer}' has it`;
  const doesKeepTogether = rule.policy === 'affinity' || rule.policy === 'soft-affinity';
  return refused(doesKeepTogether ? 'group-affinity' : 'group-anti-affinity', message, { consumer });
}

/** By how many members of a group there are more, or fewer, on each root. */
type Shift = Readonly<Record<'homes' | 'roots', Map<string, number>>>;
const NOWHERE: ReadonlyMap<string, number> = new Map();

/** By group: what members change who are named, from where they are to where they shall be. */
function shiftsOf(before: readonly (Place | undefined)[], after: readonly Place[]): ReadonlyMap<string, Shift> {
  const shifts = new Map<string, Shift>();
  const count = ({ group, home, roots }: Place, by: 1 | -1) => {
    const shift = shifts.get(group) ?? { homes: new Map(), roots: new Map() };
    shifts.set(group, shift);
    if (home !== null) adjust(shift.homes, home, by);
    for (const root of roots) adjust(shift.roots, root, by);
  };
  for (const place of before) if (place !== undefined) count(place, -1);
  for (const place of after) count(place, 1);
  return shifts;
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
