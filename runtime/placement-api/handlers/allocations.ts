// /allocations, /resource_providers/{uuid}/allocations and /reshaper

import type { ApiRefusal, ConsumerChange } from '../../../actors/messages/placement-api.ts';
import type { ConsumerView, ProviderAllocations } from '../../../actors/placement/api/reads.ts';
import { asked, bodyOf, type Handler, latestOf, param, refuseTooMany, told } from '../call.ts';
import { badRequest, CODES, notFound, Problem } from '../problem.ts';
import { postAllocations, putAllocations, reshaper } from '../schemas/allocations.ts';
import { isUuidLike, normalUuid } from '../uuid.ts';
import { completedAll, impossibleClass } from './inventories.ts';

interface ConsumerBody {
  allocations:
    | Record<string, { resources: Record<string, number> }>
    | { resource_provider: { uuid: string }; resources: Record<string, number> }[];
  project_id?: string;
  user_id?: string;
  consumer_generation?: number | null;
  consumer_type?: string;
}

function changeOf(consumer: string, body: ConsumerBody, minor: number): ConsumerChange {
  const { allocations, project_id: project = null, user_id: user = null, consumer_type: consumerType } = body;
  const pairs = Array.isArray(allocations)
    ? allocations.map(({ resource_provider: { uuid }, resources }) => [uuid, resources] as const)
    : Object.entries(allocations).map(([uuid, { resources }]) => [uuid, resources] as const);
  return {
    consumer,
    // A provider that is named twice gets what was said last.
    allocations: Array.from(new Map(pairs), ([provider, resources]) => ({ provider, resources })),
    project,
    user,
    ...(consumerType === undefined ? {} : { consumerType }),
    ...(minor >= 28 ? { generation: body.consumer_generation ?? null } : {}),
  };
}

export const putConsumer: Handler = async (call) => {
  const { minor } = call;
  const given = param(call, 'consumer_uuid');
  if (!isUuidLike(given)) throw badRequest(`Malformed consumer_uuid: ${given}`);
  const consumer = normalUuid(given);
  const change = changeOf(consumer, bodyOf<ConsumerBody>(call, putAllocations(minor)), minor);
  const { refused } = await asked(call, { type: 'allocations-put', consumers: [change] });
  if (refused === undefined) return { status: 204 };
  throw notAllocated(refused, `Unable to allocate inventory for consumer ${consumer}:`);
};

export const postConsumers: Handler = async (call) => {
  const { minor } = call;
  const body = bodyOf<Record<string, ConsumerBody>>(call, postAllocations(minor));
  refuseTooMany(body, 'consumers');
  const consumers = Object.entries(body).map(([consumer, one]) => changeOf(consumer, one, minor));
  const { refused } = await asked(call, { type: 'allocations-put', consumers });
  if (refused === undefined) return { status: 204 };
  throw notAllocated(refused, 'Unable to allocate inventory');
};

interface ReshaperBody {
  inventories: Record<string, { resource_provider_generation: number; inventories: Record<string, { total: number }> }>;
  allocations: Record<string, ConsumerBody>;
}

export const reshape: Handler = async (call) => {
  const { minor } = call;
  const { inventories, allocations } = bodyOf<ReshaperBody>(call, reshaper(minor));
  refuseTooMany(inventories, 'providers');
  refuseTooMany(allocations, 'consumers');
  for (const { inventories: given } of Object.values(inventories)) {
    const impossible = impossibleClass(given);
    if (impossible !== undefined) throw badRequest(`malformed reshaper data: No such resource class ${impossible}.`);
  }
  const { refused } = await asked(call, {
    type: 'reshape',
    inventories: Object.entries(inventories).map(([provider, given]) => ({
      provider,
      generation: given.resource_provider_generation,
      inventories: completedAll(given.inventories),
    })),
    consumers: Object.entries(allocations).map(([consumer, one]) => changeOf(consumer, one, minor)),
  });
  if (refused === undefined) return { status: 204 };
  const { code, provider, expected, given } = refused;
  if (code === 'no-provider' && Object.hasOwn(inventories, provider ?? '')) {
    const error = `No resource provider with uuid ${provider} found`;
    const message = `Resource provider ${provider} in inventories not found: ${error}`;
    throw badRequest(message, CODES.providerNotFound);
  }
  if (code === 'provider-generation') {
    const message =
      `resource provider generation conflict for provider ${provider}: ` + `actual: ${expected}, given: ${given}`;
    throw new Problem(409, message, { code: CODES.concurrentUpdate, refusal: refused });
  }
  if (code === 'inventory-in-use') {
    const message = `update conflict: Inventory for '${refused.resourceClass}' on resource provider '${provider}' in use.`;
    throw new Problem(409, message, { code: CODES.inventoryInUse, refusal: refused });
  }
  throw notAllocated(refused, 'malformed reshaper data:');
};

/** A refusal in the reference's words, with who refused it and by how much beside them. */
function notAllocated(refusal: ApiRefusal, unknownNames: string): Problem {
  const { code, provider, resourceClass, subject, expected, given, message } = refusal;
  const about = `'${resourceClass}' on resource provider '${provider}'`;
  const conflict = (text: string, problemCode?: string) =>
    new Problem(409, text, { refusal, ...(problemCode === undefined ? {} : { code: problemCode }) });
  switch (code) {
    case 'no-provider':
      return badRequest(`Allocation for resource provider '${provider}' that does not exist.`);
    case 'no-class':
      return badRequest(`${unknownNames} No such resource class ${subject}.`);
    case 'consumer-generation': {
      const expectation = expected === null ? 'null' : expected;
      const got = given === null || given === undefined ? 'None' : given;
      const text = `consumer generation conflict - expected ${expectation} but got ${got}`;
      return conflict(text, CODES.concurrentUpdate);
    }
    case 'no-inventory':
      return conflict(`Unable to allocate inventory: Inventory for ${about} invalid.`);
    case 'unit-constraint': {
      const why = 'The requested amount would violate inventory constraints.';
      return conflict(`Unable to allocate inventory: Unable to create allocation for ${about}. ${why}`);
    }
    case 'exceeds-capacity': {
      const why = 'The requested amount would exceed the capacity.';
      return conflict(`Unable to allocate inventory: Unable to create allocation for ${about}. ${why}`);
    }
    default:
      return conflict(message);
  }
}

export const showConsumer: Handler = async (call) => {
  const { minor } = call;
  const consumer = param(call, 'consumer_uuid');
  const shown = await told<ConsumerView>(call, { type: 'consumer-show', consumer });
  const { allocations, project, user, generation, consumerType, changedAt } = shown;
  const isHolding = Object.keys(allocations).length > 0;
  const body = {
    allocations,
    ...(isHolding && minor >= 12 ? { project_id: project, user_id: user } : {}),
    ...(isHolding && minor >= 28 ? { consumer_generation: generation } : {}),
    ...(isHolding && minor >= 38 ? { consumer_type: consumerType ?? 'unknown' } : {}),
  };
  return { status: 200, body, changedAt };
};

export const deleteConsumer: Handler = async (call) => {
  const consumer = param(call, 'consumer_uuid');
  const { refused } = await asked(call, { type: 'allocations-delete', consumer });
  if (refused !== undefined) throw notFound(`No allocations for consumer '${consumer}'`);
  return { status: 204 };
};

export const listProviderAllocations: Handler = async (call) => {
  const { minor } = call;
  const id = param(call, 'uuid');
  const { ok, refused } = await asked<ProviderAllocations>(call, { type: 'provider-allocations', id });
  if (refused !== undefined) {
    throw notFound(`Resource provider '${id}' not found: No resource provider with uuid ${id} found`);
  }
  const allocations = Object.entries(ok.allocations).map(([consumer, { resources, generation }]) => {
    const counted = minor >= 28 ? { consumer_generation: generation } : {};
    return [consumer, { resources, ...counted }] as const;
  });
  const body = { allocations: Object.fromEntries(allocations), resource_provider_generation: ok.generation };
  return { status: 200, body, changedAt: latestOf(Object.values(ok.allocations)) };
};
