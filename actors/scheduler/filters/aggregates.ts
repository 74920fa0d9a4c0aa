// Aggregates that the host must be in, or must not: those of the zones that a request names, those that it names itself,
// and those that are kept for the projects of others. The claim carries the same conditions, and placement has the last
// word on them.

import type { Provider } from '../../placement/providers.ts';
import { type OnAggregates, onAggregates, unmetOn } from '../aggregate-wishes.ts';
import type { Filter } from './filter.ts';

/** Of how many conditions that a host does not meet it is told which. */
const MAX_NAMED = 4;

export const aggregates: Filter<OnAggregates> = {
  name: 'aggregates',
  ignoresStats: true,
  goesBy: onAggregates,
  refusal({ host, tree }, asked) {
    const unmet = unmetOn(asked, (tree[0] as Provider).aggregates);
    const [first] = unmet;
    if (first === undefined) return null;
    const { code, about } = first;
    const named = unmet.slice(0, MAX_NAMED).map(({ words }) => words);
    const left = unmet.length - named.length;
    const more = left === 0 ? '' : `; ${left} more ${left === 1 ? 'condition is' : 'conditions are'} not met`;
    return {
      code,
      message: `host '${host}' ${named.join(', and ')}${more}`,
      ...(about === undefined ? {} : { about }),
    };
  },
};
