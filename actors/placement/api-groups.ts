// Members of instance groups whose allocations a caller of the Placement API changes: a move of one, or of several at
// once, must keep to the rule of the group as a claim must.

import type { ConsumerRecord } from './api-apply.ts';
import { refused } from './api-refusals.ts';
import { hardRuleOf, nameOf, type Place, placeOf } from './groups.ts';
import type { PlacementState } from './state.ts';

/** Why the changes would break the rule of a group, or null. All named consumers are where they shall be, then looked at. */
export function refusalOfMoves(
  state: PlacementState,
  records: readonly ConsumerRecord[],
): ReturnType<typeof refused> | null {
  const { groups, consumers, providers } = state;
  if (groups.places.size === 0) return null;
  const after = new Map<string, Place>();
  for (const { consumer: id, allocations } of records) {
    const consumer = consumers.holding.get(id);
    if (consumer?.group === undefined || hardRuleOf(consumer.group) === null) continue;
    const place = placeOf({ ...consumer, held: [{ attempt: consumer.latest, allocations }] }, providers);
    if (place !== null) after.set(id, place);
  }
  const named = new Set(records.map(({ consumer }) => consumer));
  for (const [id, { group, home, roots }] of after) {
    const rule = consumers.holding.get(id)?.group;
    if (rule === undefined) continue;
    const others = [...groups.places, ...after].filter(
      ([one, place]) => one !== id && place.group === group && (after.get(one) === place || !named.has(one)),
    );
    const before = groups.places.get(id);
    const about = { consumer: id };
    const which = `instance group '${nameOf(rule)}'`;
    if (rule.policy === 'affinity') {
      const away = others.find(([, place]) => place.home !== null && place.home !== home);
      if (away === undefined || home === before?.home) continue;
      const message = `${which} keeps together: '${id}' cannot go to provider '${home}' without '${away[0]}'`;
      return refused('group-affinity', message, { ...about, provider: home ?? '' });
    }
    const most = rule.maxPerHost ?? 1;
    for (const root of roots) {
      const there = others.filter(([, place]) => place.roots.includes(root)).length;
      if (there < most || before?.roots.includes(root) === true) continue;
      const message = `${which} may have ${most} on each host: '${id}' cannot go to provider '${root}' too`;
      return refused('group-anti-affinity', message, { ...about, provider: root });
    }
  }
  return null;
}
