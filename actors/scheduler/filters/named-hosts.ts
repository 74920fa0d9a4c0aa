// Hosts that a request names: it wants one of them, or none of them. Placement checks it again at the claim.

import type { TreeConditions } from '../../messages/common.ts';
import type { Provider } from '../../placement/providers.ts';
import { notTheRoot } from '../../placement/tree-conditions.ts';
import type { NamingFilter } from './filter.ts';

export const namedHosts: NamingFilter<TreeConditions> = {
  name: 'named-hosts',
  late: true,
  ignoresStats: true,
  goesBy({ spec: { tree } }) {
    return tree?.oneOf === undefined && tree?.noneOf === undefined ? undefined : tree;
  },
  named: ({ oneOf = [], noneOf = [] }) => [...oneOf, ...noneOf],
  refusal({ cell, host, tree: [root] }, conditions) {
    const refusal = notTheRoot(conditions, root as Provider);
    if (refusal === null) return null;
    const is =
      refusal.code === 'avoided-provider' ? 'one that the request avoids' : 'none of those that the request names';
    return { ...refusal, message: `host '${cell}/${host}' is ${is}` };
  },
};
