// Aggregates that the host must be in, or must not: those of the zones that a request names, those that it names itself,
// and those that are kept for the projects of others. The claim carries the same conditions, and placement has the last
// word on them.

import type { TreeConditions } from '../../messages/common.ts';
import type { Provider } from '../../placement/providers.ts';
import { outsideAggregates } from '../../placement/tree-conditions.ts';
import { rankedPart } from '../request.ts';
import type { Filter } from './filter.ts';

export const aggregates: Filter<TreeConditions> = {
  name: 'aggregates',
  ignoresStats: true,
  goesBy: (request) => rankedPart(request).tree,
  refusal({ tree }, conditions) {
    const refusal = outsideAggregates(conditions, tree[0] as Provider);
    if (refusal === null) return null;
    const { code, message, condition: about } = refusal;
    return { code, message, ...(about === undefined ? {} : { about }) };
  },
};
