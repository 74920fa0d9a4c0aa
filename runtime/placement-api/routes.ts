// Every path and method of the Placement API: since which microversion it is there, what it may be asked by, and what
// it takes and gives.

import type { Handler } from './call.ts';
import { listAggregates, putProviderAggregates } from './handlers/aggregates.ts';
import {
  deleteConsumer,
  listProviderAllocations,
  postConsumers,
  putConsumer,
  reshape,
  showConsumer,
} from './handlers/allocations.ts';
import { findCandidates } from './handlers/candidates.ts';
import { createClass, deleteClass, listClasses, putClass, showClass } from './handlers/classes.ts';
import {
  addInventory,
  deleteInventories,
  deleteInventory,
  listInventories,
  putInventories,
  putInventory,
  showInventory,
} from './handlers/inventories.ts';
import { createProvider, deleteProvider, findProviders, showProvider, updateProvider } from './handlers/providers.ts';
import {
  deleteProviderTraits,
  deleteTrait,
  listProviderTraits,
  listTraits,
  putProviderTraits,
  putTrait,
  showTrait,
} from './handlers/traits.ts';
import { showProviderUsages, showUsages } from './handlers/usages.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface Route {
  readonly handler: Handler;
  /** The name of the policy rule, as callers that are refused are told it. */
  readonly action: string;
  /** The minor microversion since which it is there; before it, the answer is `absentStatus`. */
  readonly since: number;
  readonly absentStatus: 404 | 405;
  /** Whether it changes something, which takes an administrator or a service. */
  readonly changes: boolean;
  /** Whether a reader of a project may ask it about that project. */
  readonly ofProject: boolean;
  /** Whether its body must be `application/json`. */
  readonly takesJson: boolean;
  /** Whether it gives JSON, so that a caller who accepts none is refused. */
  readonly givesJson: boolean;
}

type Traits = Partial<Omit<Route, 'handler' | 'action' | 'changes'>>;
const USUAL = { since: 0, absentStatus: 404, ofProject: false } as const;

function reads(handler: Handler, action: string, traits: Traits = {}): Route {
  const does = { handler, action: `placement:${action}`, changes: false, takesJson: false, givesJson: true };
  return { ...USUAL, ...does, ...traits };
}

function writes(handler: Handler, action: string, traits: Traits = {}): Route {
  const does = { handler, action: `placement:${action}`, changes: true, takesJson: true, givesJson: false };
  return { ...USUAL, ...does, ...traits };
}

const bodiless = { takesJson: false } as const;
const PROVIDERS = 'resource_providers';
const PROVIDER = `/${PROVIDERS}/:uuid`;

export const ROUTES: Readonly<Record<string, Partial<Record<Method, Route>>>> = {
  '/resource_classes': {
    GET: reads(listClasses, 'resource_classes:list', { since: 2 }),
    POST: writes(createClass, 'resource_classes:create', { since: 2 }),
  },
  '/resource_classes/:name': {
    GET: reads(showClass, 'resource_classes:show', { since: 2 }),
    // Its body counts before 1.7 only, and is asked for in server.ts.
    PUT: writes(putClass, 'resource_classes:update', { since: 2, ...bodiless }),
    DELETE: writes(deleteClass, 'resource_classes:delete', { since: 2, ...bodiless }),
  },
  [`/${PROVIDERS}`]: {
    GET: reads(findProviders, `${PROVIDERS}:list`),
    POST: writes(createProvider, `${PROVIDERS}:create`),
  },
  [PROVIDER]: {
    GET: reads(showProvider, `${PROVIDERS}:show`),
    DELETE: writes(deleteProvider, `${PROVIDERS}:delete`, bodiless),
    PUT: writes(updateProvider, `${PROVIDERS}:update`),
  },
  [`${PROVIDER}/inventories`]: {
    GET: reads(listInventories, `${PROVIDERS}:inventories:list`),
    POST: writes(addInventory, `${PROVIDERS}:inventories:create`),
    PUT: writes(putInventories, `${PROVIDERS}:inventories:update`),
    DELETE: writes(deleteInventories, `${PROVIDERS}:inventories:delete`, { since: 5, absentStatus: 405, ...bodiless }),
  },
  [`${PROVIDER}/inventories/:resource_class`]: {
    GET: reads(showInventory, `${PROVIDERS}:inventories:show`),
    PUT: writes(putInventory, `${PROVIDERS}:inventories:update`),
    DELETE: writes(deleteInventory, `${PROVIDERS}:inventories:delete`, bodiless),
  },
  [`${PROVIDER}/usages`]: { GET: reads(showProviderUsages, `${PROVIDERS}:usages`) },
  [`${PROVIDER}/aggregates`]: {
    GET: reads(listAggregates, `${PROVIDERS}:aggregates:list`, { since: 1 }),
    PUT: writes(putProviderAggregates, `${PROVIDERS}:aggregates:update`, { since: 1 }),
  },
  [`${PROVIDER}/allocations`]: { GET: reads(listProviderAllocations, `${PROVIDERS}:allocations:list`) },
  '/allocations': { POST: writes(postConsumers, 'allocations:manage', { since: 13 }) },
  '/allocations/:consumer_uuid': {
    GET: reads(showConsumer, 'allocations:list'),
    PUT: writes(putConsumer, 'allocations:update'),
    DELETE: writes(deleteConsumer, 'allocations:delete', bodiless),
  },
  '/allocation_candidates': { GET: reads(findCandidates, 'allocation_candidates:list', { since: 10 }) },
  '/traits': { GET: reads(listTraits, 'traits:list', { since: 6 }) },
  '/traits/:name': {
    GET: reads(showTrait, 'traits:show', { since: 6, givesJson: false }),
    PUT: writes(putTrait, 'traits:update', { since: 6, ...bodiless }),
    DELETE: writes(deleteTrait, 'traits:delete', { since: 6, ...bodiless }),
  },
  [`${PROVIDER}/traits`]: {
    GET: reads(listProviderTraits, `${PROVIDERS}:traits:list`, { since: 6 }),
    PUT: writes(putProviderTraits, `${PROVIDERS}:traits:update`, { since: 6 }),
    DELETE: writes(deleteProviderTraits, `${PROVIDERS}:traits:delete`, { since: 6, ...bodiless }),
  },
  '/usages': { GET: reads(showUsages, 'usages', { since: 9, ofProject: true }) },
  '/reshaper': { POST: writes(reshape, 'reshaper:reshape', { since: 30 }) },
};
