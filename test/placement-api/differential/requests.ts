// A stream of random requests, valid and not, over a small world in which they often meet: few providers, consumers,
// aggregates, classes and traits.
//
// Left out are bodies that make the reference fail with a status of 500, and what known.ts tells from 12 on.

import { broken } from './broken.ts';
import { candidatesPath } from './candidate-queries.ts';
import type { Request } from './exchange.ts';
import {
  AGGREGATES,
  type Chooser,
  CLASSES,
  CONSUMERS,
  MAX_MINOR,
  PROJECTS,
  PROVIDERS,
  TRAITS,
  uuid,
} from './small-world.ts';

/** How a server stands, as far as the next request needs it. */
export interface World {
  generationOf(provider: string): Promise<number>;
  /** Null: there is no such consumer. */
  consumerGenerationOf(consumer: string): Promise<number | null>;
}

type Make = (choose: Chooser, minor: number, world: World) => Promise<Request> | Request;

const inventory = (choose: Chooser) => ({
  total: 1 + choose.upTo(19),
  ...(choose.chance(0.3) ? { reserved: choose.upTo(4) } : {}),
  ...(choose.chance(0.2) ? { min_unit: 1 + choose.upTo(2) } : {}),
  ...(choose.chance(0.2) ? { max_unit: 2 + choose.upTo(8) } : {}),
  ...(choose.chance(0.2) ? { step_size: 1 + choose.upTo(2) } : {}),
  ...(choose.chance(0.3) ? { allocation_ratio: choose.of([0.5, 1.5, 2, 3.7]) } : {}),
});

const classOf = (choose: Chooser) => (choose.chance(0.05) ? 'CUSTOM_NONE' : choose.of(CLASSES));
const traitOf = (choose: Chooser) => (choose.chance(0.05) ? 'CUSTOM_NONE' : choose.of(TRAITS));
const providerOf = (choose: Chooser) => (choose.chance(0.04) ? uuid('b', 1) : choose.of(PROVIDERS));

async function generation(choose: Chooser, provider: string, world: World): Promise<number> {
  return choose.chance(0.1) ? choose.upTo(5) : world.generationOf(provider);
}

function inventories(choose: Chooser): Record<string, object> {
  const classes = new Set(choose.some(CLASSES, 0.5));
  if (choose.chance(0.05)) classes.add(classOf(choose));
  return Object.fromEntries([...classes].map((name) => [name, inventory(choose)]));
}

function resources(choose: Chooser): Record<string, number> {
  const classes = choose.some(CLASSES, 0.5);
  if (classes.length === 0) classes.push(classOf(choose));
  return Object.fromEntries(classes.map((name) => [name, 1 + choose.upTo(4)]));
}

async function consumerBody(choose: Chooser, consumer: string, minor: number, world: World, mayEnd: boolean) {
  const before = await world.consumerGenerationOf(consumer);
  const providers = choose.some(PROVIDERS, 0.25);
  if (providers.length === 0) providers.push(providerOf(choose));
  const ends = mayEnd && choose.chance(0.2);
  const pairs = ends ? [] : providers.map((provider) => [provider, { resources: resources(choose) }] as const);
  const listed = pairs.map(([provider, given]) => ({ resource_provider: { uuid: provider }, ...given }));
  return {
    allocations: minor < 12 ? listed : Object.fromEntries(pairs),
    ...(minor >= 8 ? { project_id: choose.of(PROJECTS), user_id: choose.of(['user-1', 'user-2']) } : {}),
    ...(minor >= 28 ? { consumer_generation: choose.chance(0.1) ? choose.of([null, 0, 1, 7]) : before } : {}),
    ...(minor >= 34 && choose.chance(0.3) ? { mappings: { '': [choose.of(PROVIDERS)] } } : {}),
    ...(minor >= 38 ? { consumer_type: choose.of(['INSTANCE', 'MIGRATION']) } : {}),
  };
}

const MAKERS: readonly (readonly [number, Make])[] = [
  [
    5,
    (choose, minor) => {
      const id = choose.of(PROVIDERS);
      const parent = minor >= 14 && choose.chance(0.6) ? { parent_provider_uuid: providerOf(choose) } : {};
      const name = choose.chance(0.1) ? 'host-0' : `host-${id.at(-1)}`;
      return { method: 'POST', path: '/resource_providers', minor, body: { uuid: id, name, ...parent } };
    },
  ],
  [
    3,
    (choose, minor) => {
      const id = providerOf(choose);
      const parent =
        minor >= 14 && choose.chance(0.7)
          ? { parent_provider_uuid: choose.chance(0.3) ? null : providerOf(choose) }
          : {};
      const body = { name: choose.chance(0.2) ? 'host-1' : `host-${id.at(-1)}`, ...parent };
      return { method: 'PUT', path: `/resource_providers/${id}`, minor, body };
    },
  ],
  [1, (choose, minor) => ({ method: 'DELETE', path: `/resource_providers/${providerOf(choose)}`, minor })],
  [
    6,
    async (choose, minor, world) => {
      const id = providerOf(choose);
      const body = {
        resource_provider_generation: await generation(choose, id, world),
        inventories: inventories(choose),
      };
      return { method: 'PUT', path: `/resource_providers/${id}/inventories`, minor, body };
    },
  ],
  [
    2,
    (choose, minor) => {
      const body = { resource_class: classOf(choose), ...inventory(choose) };
      return { method: 'POST', path: `/resource_providers/${providerOf(choose)}/inventories`, minor, body };
    },
  ],
  [
    2,
    async (choose, minor, world) => {
      const id = providerOf(choose);
      const body = { resource_provider_generation: await generation(choose, id, world), ...inventory(choose) };
      return { method: 'PUT', path: `/resource_providers/${id}/inventories/${classOf(choose)}`, minor, body };
    },
  ],
  [
    1,
    (choose, minor) => {
      const one = choose.chance(0.7) ? `/${classOf(choose)}` : '';
      return { method: 'DELETE', path: `/resource_providers/${providerOf(choose)}/inventories${one}`, minor };
    },
  ],
  [
    4,
    async (choose, minor, world) => {
      const id = providerOf(choose);
      const traits = [...new Set([...choose.some(TRAITS, 0.35), ...(choose.chance(0.2) ? [traitOf(choose)] : [])])];
      const body = { resource_provider_generation: await generation(choose, id, world), traits };
      return { method: 'PUT', path: `/resource_providers/${id}/traits`, minor, body };
    },
  ],
  [1, (choose, minor) => ({ method: 'DELETE', path: `/resource_providers/${providerOf(choose)}/traits`, minor })],
  [
    4,
    async (choose, minor, world) => {
      const id = providerOf(choose);
      const aggregates = choose.some(AGGREGATES, 0.5);
      const counted = { aggregates, resource_provider_generation: await generation(choose, id, world) };
      const body = minor >= 19 ? counted : aggregates;
      return { method: 'PUT', path: `/resource_providers/${id}/aggregates`, minor, body };
    },
  ],
  [
    2,
    (choose, minor) => {
      const name = choose.chance(0.1) ? 'BAD-NAME' : choose.of(['CUSTOM_GOLD', 'CUSTOM_TIN', 'VCPU']);
      const kind = choose.of(['traits', 'resource_classes']);
      const named = kind === 'traits' ? name : name === 'CUSTOM_TIN' ? 'CUSTOM_GOLD' : name;
      const method = choose.of(['PUT', 'PUT', 'GET', 'DELETE']);
      const body = kind === 'resource_classes' && method === 'PUT' && minor < 7 ? { name: 'CUSTOM_GOLD' } : undefined;
      return { method, path: `/${kind}/${named}`, minor, ...(body === undefined ? {} : { body }) };
    },
  ],
  [1, (choose, minor) => ({ method: 'PUT', path: `/traits/${choose.of(['CUSTOM_RED', 'CUSTOM_BLUE'])}`, minor })],
  [
    8,
    async (choose, minor, world) => {
      const consumer = choose.of(CONSUMERS);
      const body = await consumerBody(choose, consumer, minor, world, minor >= 28);
      return { method: 'PUT', path: `/allocations/${consumer}`, minor, body };
    },
  ],
  [
    3,
    async (choose, minor, world) => {
      const consumers = choose.some(CONSUMERS, 0.4);
      const shape = Math.max(minor, 12);
      const bodies = [];
      for (const one of consumers) bodies.push([one, await consumerBody(choose, one, shape, world, true)] as const);
      return { method: 'POST', path: '/allocations', minor, body: Object.fromEntries(bodies) };
    },
  ],
  [1, (choose, minor) => ({ method: 'DELETE', path: `/allocations/${choose.of(CONSUMERS)}`, minor })],
  [
    2,
    async (choose, minor, world) => {
      const given: [string, object][] = [];
      for (const id of choose.some(PROVIDERS, 0.3)) {
        const told = await generation(choose, id, world);
        given.push([id, { resource_provider_generation: told, inventories: inventories(choose) }]);
      }
      const shape = Math.max(minor, 30);
      const bodies = [];
      for (const one of choose.some(CONSUMERS, 0.3)) {
        bodies.push([one, await consumerBody(choose, one, shape, world, true)] as const);
      }
      const body = { inventories: Object.fromEntries(given), allocations: Object.fromEntries(bodies) };
      return { method: 'POST', path: '/reshaper', minor, body };
    },
  ],
  [
    6,
    (choose, minor) => {
      const id = providerOf(choose);
      const below = choose.of(['', '/inventories', '/usages', '/aggregates', '/traits', '/allocations']);
      const one = below === '/inventories' && choose.chance(0.3) ? `/${classOf(choose)}` : '';
      return { method: 'GET', path: `/resource_providers/${id}${below}${one}`, minor };
    },
  ],
  [2, (choose, minor) => ({ method: 'GET', path: `/allocations/${choose.of(CONSUMERS)}`, minor })],
  [
    2,
    (choose, minor) => {
      const type =
        minor >= 38 && choose.chance(0.6) ? `&consumer_type=${choose.of(['INSTANCE', 'all', 'unknown'])}` : '';
      const user = choose.chance(0.4) ? '&user_id=user-1' : '';
      return { method: 'GET', path: `/usages?project_id=${choose.of(PROJECTS)}${user}${type}`, minor };
    },
  ],
  [
    5,
    (choose, minor) => {
      const filters = [
        choose.chance(0.2) ? `name=host-${choose.upTo(6)}` : '',
        choose.chance(0.2) ? `uuid=${choose.of(PROVIDERS)}` : '',
        choose.chance(0.3) ? `member_of=${choose.of(['', '!'])}in:${choose.some(AGGREGATES, 0.6).join(',')}` : '',
        choose.chance(0.3) ? `resources=${classOf(choose)}:${choose.upTo(5)}` : '',
        choose.chance(0.3) ? `in_tree=${choose.of(PROVIDERS)}` : '',
        choose.chance(0.3) ? `required=${choose.of(['', '!', 'in:'])}${traitOf(choose)}` : '',
        choose.chance(0.2) ? `required=${traitOf(choose)},!${traitOf(choose)}` : '',
      ];
      return { method: 'GET', path: `/resource_providers?${filters.filter((one) => one !== '').join('&')}`, minor };
    },
  ],
  [12, (choose, minor) => ({ method: 'GET', path: candidatesPath(choose, minor), minor })],
  [1, (choose, minor) => ({ method: 'GET', path: choose.of(['/traits', '/resource_classes', '/', '/none']), minor })],
  [
    1,
    (choose, minor) => {
      const path = choose.of(['/traits', '/allocations', '/resource_providers', '/usages', '/allocations/x']);
      return { method: choose.of(['PATCH', 'POST', 'DELETE', 'PUT']), path, minor };
    },
  ],
];

const WEIGHT = MAKERS.reduce((sum, [weight]) => sum + weight, 0);

export async function nextRequest(choose: Chooser, world: World): Promise<Request> {
  const minor = choose.chance(0.4) ? choose.of([39, 38, 36, 34]) : choose.upTo(MAX_MINOR);
  let left = choose.upTo(WEIGHT - 1);
  for (const [weight, make] of MAKERS) {
    left -= weight;
    if (left >= 0) continue;
    const request = await make(choose, minor, world);
    return choose.chance(0.1) ? broken(choose, request) : request;
  }
  throw new Error('the weights do not add up');
}
