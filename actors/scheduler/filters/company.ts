// Same host and different host: a request wants to be where one of some instances is, or where none of them is. Where
// they are is asked of placement when the request comes, and checked by it again at the claim, since they may move.

import { someOf } from '../../messages/advice.ts';
import type { Provider } from '../../placement/providers.ts';
import type { Company } from '../request.ts';
import type { NamingFilter } from './filter.ts';

export const company: NamingFilter<Company> = {
  name: 'company',
  late: true,
  ignoresStats: true,
  goesBy: (request) => request.company,
  named: ({ near = [], far }) => [...near, ...far],
  refusal({ host, tree }, { near, far, nearTo = [], farFrom }) {
    const root = (tree[0] as Provider).spec.id;
    if (near !== undefined && !near.has(root)) {
      const nowhere = near.size === 0 ? '; no host has any' : '';
      const message = `host '${host}' has none of the instances to be with${whichOf(nearTo)}${nowhere}`;
      return { code: 'consumer-missing', message, ...(nearTo.length === 0 ? {} : { about: nearTo.join(', ') }) };
    }
    if (!far.has(root)) return null;
    // Hosts are counted together whichever of the instances they have.
    const there = whichOf(farFrom?.get(root) ?? []);
    return { code: 'consumer-present', message: `host '${host}' has an instance to be kept apart from${there}` };
  },
};

const whichOf = (instances: readonly string[]) => (instances.length === 0 ? '' : `: ${someOf(instances)}`);
