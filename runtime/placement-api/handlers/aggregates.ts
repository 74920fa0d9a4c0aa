// /resource_providers/{uuid}/aggregates

import type { ProviderView } from '../../../actors/placement/api/reads.ts';
import {
  asked,
  bodyForProvider,
  generationChanged,
  type Handler,
  noSuchProvider,
  param,
  type Reply,
  refuseTooMany,
} from '../call.ts';
import { putAggregates } from '../schemas/providers.ts';

/** Since when the provider's generation is compared, counted and told. */
const WITH_GENERATION = 19;

function aggregatesReply({ aggregates, generation }: ProviderView, minor: number): Reply {
  const counted = minor >= WITH_GENERATION ? { resource_provider_generation: generation } : {};
  return { status: 200, body: { aggregates, ...counted }, changedAt: 0 };
}

export const listAggregates: Handler = async (call) => {
  const id = param(call, 'uuid');
  const { ok, refused } = await asked<ProviderView>(call, { type: 'provider-show', id });
  if (refused !== undefined) throw noSuchProvider(id);
  return aggregatesReply(ok, call.minor);
};

type Body = string[] | { aggregates: string[]; resource_provider_generation: number };

export const putProviderAggregates: Handler = async (call) => {
  const id = param(call, 'uuid');
  const body = await bodyForProvider<Body>(call, id, putAggregates(call.minor));
  const aggregates = Array.isArray(body) ? body : body.aggregates;
  refuseTooMany(aggregates, 'aggregates');
  const { ok, refused } = await asked<ProviderView>(call, {
    type: 'aggregates-put',
    id,
    aggregates,
    ...(Array.isArray(body) ? { counted: false } : { counted: true, generation: body.resource_provider_generation }),
  });
  if (refused === undefined) return aggregatesReply(ok, call.minor);
  if (refused.code === 'no-provider') throw noSuchProvider(id);
  throw generationChanged(refused);
};
