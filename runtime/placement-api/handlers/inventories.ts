// /resource_providers/{uuid}/inventories

import type { ApiInventories, ApiInventory, ApiRefusal } from '../../../actors/messages/placement-api.ts';
import type { ProviderView } from '../../../actors/placement/api/reads.ts';
import { asked, bodyForProvider, type Call, type Handler, noSuchProvider, param, type Reply } from '../call.ts';
import { badRequest, CODES, notFound, Problem } from '../problem.ts';
import { CLASS_PATTERN, MAX_INT } from '../schemas/common.ts';
import { POST_INVENTORY, PUT_INVENTORIES, PUT_INVENTORY } from '../schemas/inventories.ts';
import { urlOf } from './providers.ts';

type GivenInventory = Partial<ApiInventory> & { total: number };

interface InventoriesBody {
  resource_provider_generation: number;
  inventories: Record<string, GivenInventory>;
}

const DEFAULTS = { reserved: 0, min_unit: 1, max_unit: MAX_INT, step_size: 1, allocation_ratio: 1 };

/** An inventory with what was left out, and nothing but its fields. */
function completed(given: GivenInventory): ApiInventory {
  const { total, reserved, min_unit, max_unit, step_size, allocation_ratio } = { ...DEFAULTS, ...given };
  return { total, reserved, min_unit, max_unit, step_size, allocation_ratio };
}

/** The first class whose name cannot be one; the schema lets any pass, and its inventory unchecked. */
export function impossibleClass(inventories: Readonly<Record<string, unknown>>): string | undefined {
  return Object.keys(inventories).find((name) => !new RegExp(CLASS_PATTERN).test(name));
}

export function completedAll(given: Readonly<Record<string, GivenInventory>>): ApiInventories {
  return Object.fromEntries(Object.entries(given).map(([name, inventory]) => [name, completed(inventory)]));
}

function allOf({ generation, inventories, changedAt }: ProviderView): Reply {
  return { status: 200, body: { resource_provider_generation: generation, inventories }, changedAt };
}

function oneOf({ generation, inventories, changedAt }: ProviderView, name: string, status: 200 | 201): Reply {
  // The reference leaves a generation of 0 out.
  const counted = generation === 0 ? {} : { resource_provider_generation: generation };
  return { status, body: { ...inventories[name], ...counted }, changedAt };
}

interface Change {
  how: 'all' | 'add' | 'update' | 'remove';
  inventories?: ApiInventories;
  removed?: string[];
  generation?: number;
}

function put(call: Call, { how, inventories = {}, removed = [], generation }: Change) {
  return asked<ProviderView>(call, {
    type: 'inventories-put',
    id: param(call, 'uuid'),
    how,
    inventories,
    removed,
    ...(generation === undefined ? {} : { generation }),
    allReserved: call.minor >= 26,
  });
}

export const listInventories: Handler = async (call) => {
  const id = param(call, 'uuid');
  const { ok, refused } = await asked<ProviderView>(call, { type: 'provider-show', id });
  if (refused !== undefined) throw missing(id);
  return allOf(ok);
};

function missing(id: string): Problem {
  return notFound(`No resource provider with uuid ${id} found : No resource provider with uuid ${id} found`);
}

export const showInventory: Handler = async (call) => {
  const id = param(call, 'uuid');
  const name = param(call, 'resource_class');
  const { ok, refused } = await asked<ProviderView>(call, { type: 'provider-show', id });
  if (refused !== undefined) throw missing(id);
  if (!Object.hasOwn(ok.inventories, name)) throw notFound(`No inventory of class ${name} for ${id}`);
  return oneOf(ok, name, 200);
};

export const addInventory: Handler = async (call) => {
  const id = param(call, 'uuid');
  const body = await bodyForProvider<GivenInventory & { resource_class: string }>(call, id, POST_INVENTORY);
  const name = body.resource_class;
  const { ok, refused } = await put(call, { how: 'add', inventories: { [name]: completed(body) } });
  if (refused === undefined) return { ...oneOf(ok, name, 201), location: `${urlOf(id)}/inventories/${name}` };
  if (refused.code === 'no-provider') throw noSuchProvider(id);
  if (refused.code === 'inventory-exists') {
    throw new Problem(409, `Update conflict: ${refused.message}`, { code: CODES.concurrentUpdate });
  }
  throw badRequest(`Unable to create inventory for resource provider ${id}: ${words(call, refused, name)}`);
};

export const putInventories: Handler = async (call) => {
  const id = param(call, 'uuid');
  const body = await bodyForProvider<InventoriesBody>(call, id, PUT_INVENTORIES);
  const unknown = (error: string) =>
    badRequest(`Unknown resource class in inventory for resource provider ${id}: ${error}`);
  const impossible = impossibleClass(body.inventories);
  const { resource_provider_generation: generation } = body;
  if (impossible !== undefined) {
    const known = await asked<ProviderView>(call, { type: 'provider-show', id });
    if (known.refused !== undefined) throw noSuchProvider(id);
    if (known.ok.generation !== generation) throw stale(undefined);
    throw unknown(`No such resource class ${impossible}.`);
  }
  const { ok, refused } = await put(call, { how: 'all', inventories: completedAll(body.inventories), generation });
  if (refused === undefined) return allOf(ok);
  switch (refused.code) {
    case 'no-provider':
      throw noSuchProvider(id);
    case 'provider-generation':
      throw stale(refused);
    case 'no-class':
      throw unknown(words(call, refused));
    case 'inventory-in-use':
      throw new Problem(409, `update conflict: ${words(call, refused)}`, { code: CODES.inventoryInUse });
    default:
      throw badRequest(`Unable to update inventory for resource provider ${id}: ${words(call, refused)}`);
  }
};

export const putInventory: Handler = async (call) => {
  const id = param(call, 'uuid');
  const name = param(call, 'resource_class');
  const body = await bodyForProvider<GivenInventory & { resource_provider_generation: number }>(
    call,
    id,
    PUT_INVENTORY,
  );
  const { resource_provider_generation: generation } = body;
  const { ok, refused } = await put(call, { how: 'update', inventories: { [name]: completed(body) }, generation });
  if (refused === undefined) return oneOf(ok, name, 200);
  switch (refused.code) {
    case 'no-provider':
      throw noSuchProvider(id);
    case 'provider-generation':
      throw stale(refused);
    case 'no-class':
      throw notFound(words(call, refused));
    case 'no-inventory-record':
      throw badRequest(`No inventory record with resource class for resource provider ${id}: ${words(call, refused)}`);
    default:
      throw badRequest(`Unable to update inventory for resource provider ${id}: ${words(call, refused)}`);
  }
};

export const deleteInventories: Handler = async (call) => {
  const id = param(call, 'uuid');
  const { refused } = await put(call, { how: 'all' });
  if (refused === undefined) return { status: 204 };
  if (refused.code === 'no-provider') throw noSuchProvider(id);
  throw new Problem(409, words(call, refused), { code: CODES.inventoryInUse });
};

export const deleteInventory: Handler = async (call) => {
  const id = param(call, 'uuid');
  const name = param(call, 'resource_class');
  const { refused } = await put(call, { how: 'remove', removed: [name] });
  if (refused === undefined) return { status: 204 };
  if (refused.code === 'no-provider') throw noSuchProvider(id);
  if (refused.code === 'inventory-in-use') {
    const message = `Unable to delete inventory of class ${name}: ${words(call, refused)}`;
    throw new Problem(409, message, { code: CODES.concurrentUpdate });
  }
  const error = refused.code === 'no-class' ? words(call, refused) : `No inventory of class ${name} found for delete`;
  throw notFound(`No inventory of class ${name} found for delete: ${error}`);
};

function stale(refusal: ApiRefusal | undefined): Problem {
  const code = CODES.concurrentUpdate;
  return new Problem(
    409,
    'resource provider generation conflict',
    refusal === undefined ? { code } : { code, refusal },
  );
}

/** A refusal in the reference's words. */
function words({ minor }: Call, { code, message, provider, resourceClass, subject }: ApiRefusal, name = ''): string {
  switch (code) {
    case 'no-class':
      return `No such resource class ${subject ?? name}.`;
    case 'no-inventory-record':
      return `No inventory of class ${resourceClass} found.`;
    case 'inventory-in-use':
      return `Inventory for '${resourceClass}' on resource provider '${provider}' in use.`;
    case 'reserved-exceeds-total': {
      const rule = minor >= 26 ? 'greater than total' : 'greater than or equal to total';
      const where = `'${resourceClass}' on resource provider '${provider}'`;
      return `Invalid inventory for ${where}. The reserved value is ${rule}.`;
    }
    default:
      return message;
  }
}
