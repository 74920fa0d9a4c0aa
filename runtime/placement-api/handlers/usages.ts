// /usages and /resource_providers/{uuid}/usages

import { addAmounts } from '../../../actors/amounts.ts';
import type { UsageOfType, Usages } from '../../../actors/placement/api/reads.ts';
import { type Handler, providerShown, told } from '../call.ts';
import { usages as usagesQuery } from '../schemas/providers.ts';

export const showProviderUsages: Handler = async (call) => {
  const { generation, inventories, used } = await providerShown(call);
  const usages = Object.fromEntries(Object.keys(inventories).map((name) => [name, used[name] ?? 0]));
  return { status: 200, body: { resource_provider_generation: generation, usages }, changedAt: 0 };
};

export const showUsages: Handler = async (call) => {
  const { query, minor } = call;
  query.check(usagesQuery(minor));
  const user = query.get('user_id');
  const known = await told<Usages>(call, {
    type: 'usages',
    project: query.get('project_id') ?? '',
    ...(user === undefined ? {} : { user }),
  });
  const usages = minor >= 38 ? byType(known, query.get('consumer_type')) : together(known).resources;
  return { status: 200, body: { usages }, changedAt: 0 };
};

function together(usages: Usages): UsageOfType {
  const sum: UsageOfType = { consumers: 0, resources: {} };
  for (const { consumers, resources } of Object.values(usages)) {
    sum.consumers += consumers;
    addAmounts(sum.resources, resources);
  }
  return sum;
}

/** By consumer type: all of them, the one that is asked for, or `all` and `unknown`. */
function byType(usages: Usages, type: string | undefined): Record<string, Record<string, number>> {
  const counted = ({ consumers, resources }: UsageOfType) => ({ ...resources, consumer_count: consumers });
  if (type === 'all') return Object.keys(usages).length === 0 ? {} : { all: counted(together(usages)) };
  const named = Object.entries(usages).map(([key, ofType]) => [key === '' ? 'unknown' : key, counted(ofType)] as const);
  return Object.fromEntries(named.filter(([key]) => type === undefined || key === type));
}
