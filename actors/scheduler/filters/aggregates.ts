// Aggregates that the host must be in, or must not: those of the zones that a request names, those that it names itself,
// and those that are kept for the projects of others. The claim carries the same conditions, and placement has the last
// word on them.

import type { TreeConditions } from '../../messages/common.ts';
import type { Provider } from '../../placement/providers.ts';
import { outsideAggregates } from '../../placement/tree-conditions.ts';
import { rankedPart } from '../request.ts';
import type { Filter } from './filter.ts';

/**
 * Of no more avoided aggregates than these it is said which a host is in: hosts are counted by it, and where many
 * aggregates are kept for others, all of them would come before what else stands in the way.
 */
const MAX_TOLD_APART = 8;

export const aggregates: Filter<TreeConditions> = {
  name: 'aggregates',
  ignoresStats: true,
  goesBy: (request) => rankedPart(request).tree,
  refusal({ tree }, conditions) {
    const refusal = outsideAggregates(conditions, tree[0] as Provider);
    if (refusal === null) return null;
    const { code, message, condition: about } = refusal;
    const isOneOfMany = code === 'in-avoided-aggregate' && (conditions.notMemberOf?.length ?? 0) > MAX_TOLD_APART;
    return { code, message, ...(about === undefined || isOneOfMany ? {} : { about }) };
  },
};
