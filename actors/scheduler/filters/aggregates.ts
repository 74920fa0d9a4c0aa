// Aggregates that the host must be in, or must not: those of the zones that a request names, those that it names itself,
// and those that are kept for the projects of others. The claim carries the same conditions, and placement has the last
// word on them.

import type { Provider } from '../../placement/providers.ts';
import { type OnAggregates, onAggregates, unmetOn } from '../aggregate-wishes.ts';
import type { Filter } from './filter.ts';

export const aggregates: Filter<OnAggregates> = {
  name: 'aggregates',
  ignoresStats: true,
  goesBy: onAggregates,
  refusal({ host, tree }, asked) {
    const unmet = unmetOn(asked, (tree[0] as Provider).aggregates);
    if (unmet === undefined) return null;
    const { code, about, words } = unmet;
    return { code, message: `host '${host}' ${words}`, ...(about === undefined ? {} : { about }) };
  },
};
