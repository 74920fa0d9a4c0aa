// What this scheduler has claimed and has no answer for yet: it counts as used in its picture, over what placement tells.

import type { Allocation } from '../../../machines/instance-build.ts';
import { adjust, adjustAll } from '../../amounts.ts';
import type { ProviderUsage } from '../../messages/placement.ts';
import { adjustUse, type Provider } from '../../placement/providers.ts';
import { learnUsage, noteChange, type View } from './view.ts';

/** Counts what an instance takes of a tree while its claim is under way (sign 1), and no longer when it is answered (-1). */
export function promise(view: View, root: string, allocations: readonly Allocation[], sign: 1 | -1): void {
  adjust(view.promisedTenants, root, sign);
  const provider = view.providers.get(root);
  if (provider !== undefined) {
    provider.tenants += sign;
    // Whatever is left of what it takes.
    if (view.statsMatter) noteChange(view, root);
  }
  promiseUse(view, allocations, sign);
}

function promiseUse(view: View, allocations: readonly Allocation[], sign: 1 | -1): void {
  for (const { provider: id, resources } of allocations) {
    notePromised(view, id, resources, sign);
    const provider = view.providers.get(id);
    if (provider === undefined) continue;
    adjustUse(provider, resources, sign);
    if (sign === -1) view.freed?.add(provider.root);
    noteChange(view, provider.root);
  }
}

function notePromised(view: View, id: string, resources: Allocation['resources'], sign: 1 | -1): void {
  const promised = view.promised.get(id) ?? new Map<string, number>();
  adjustAll(promised, resources, sign);
  if (promised.size === 0) view.promised.delete(id);
  else view.promised.set(id, promised);
}

/**
 * What was promised to a claim is promised no longer: it is used, as the answer tells, or free. As a rule as much is used
 * as was promised, which is no reason to weigh the host anew.
 */
export function endPromise(
  view: View,
  root: string,
  allocations: readonly Allocation[],
  usages: readonly ProviderUsage[],
  shard: number,
): void {
  const isTold = (provider: Provider | undefined) =>
    provider !== undefined &&
    usages.some(({ id, generation }) => id === provider.spec.id && generation > provider.generation);
  const host = view.providers.get(root);
  adjust(view.promisedTenants, root, -1);
  if (host !== undefined && !isTold(host)) {
    host.tenants -= 1;
    view.freed?.add(root);
    if (view.statsMatter) noteChange(view, root);
  }
  for (const allocation of allocations) {
    const { provider: id, resources } = allocation;
    if (isTold(view.providers.get(id))) notePromised(view, id, resources, -1);
    else promiseUse(view, [allocation], -1);
  }
  for (const usage of usages) learnUsage(view, usage, shard);
}
