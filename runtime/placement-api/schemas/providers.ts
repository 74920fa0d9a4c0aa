// The bodies and queries about providers, their aggregates and traits, resource classes, and usages.

import type { Schema } from '../json-schema.ts';
import {
  CONSUMER_TYPE_QUERY_PATTERN,
  CUSTOM_PATTERN,
  identity,
  integer,
  text,
  uuid,
  withProperties,
} from './common.ts';

const named = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: 'object',
  properties: { name: { type: 'string', maxLength: 200 }, ...properties },
  required: ['name'],
  additionalProperties: false,
});
const PARENT: Schema = { anyOf: [uuid, { type: 'null' }] };

export function postProvider(minor: number): Schema {
  return named(minor >= 14 ? { uuid, parent_provider_uuid: PARENT } : { uuid });
}

export function putProvider(minor: number): Schema {
  return named(minor >= 14 ? { parent_provider_uuid: PARENT } : {});
}

/** The query of GET /resource_providers. */
export function listProviders(minor: number): Schema {
  return {
    type: 'object',
    properties: {
      name: text,
      uuid,
      ...(minor >= 3 ? { member_of: text } : {}),
      ...(minor >= 4 ? { resources: text } : {}),
      ...(minor >= 14 ? { in_tree: uuid } : {}),
      ...(minor >= 18 ? { required: text } : {}),
    },
    additionalProperties: false,
  };
}

const AGGREGATES: Schema = { type: 'array', items: uuid, uniqueItems: true };

export function putAggregates(minor: number): Schema {
  if (minor < 19) return AGGREGATES;
  return {
    type: 'object',
    properties: { aggregates: AGGREGATES, resource_provider_generation: integer },
    required: ['aggregates', 'resource_provider_generation'],
    additionalProperties: false,
  };
}

export const CUSTOM_TRAIT: Schema = { ...identity, pattern: CUSTOM_PATTERN };

export const PUT_TRAITS: Schema = {
  type: 'object',
  properties: { traits: { type: 'array', items: identity }, resource_provider_generation: integer },
  required: ['traits', 'resource_provider_generation'],
  additionalProperties: false,
};

export const LIST_TRAITS: Schema = {
  type: 'object',
  properties: { name: text, associated: text },
  additionalProperties: false,
};

export const RESOURCE_CLASS: Schema = {
  type: 'object',
  properties: { name: { type: 'string', pattern: CUSTOM_PATTERN, maxLength: 255 } },
  required: ['name'],
  additionalProperties: false,
};

const USAGES: Schema = {
  type: 'object',
  properties: { project_id: identity, user_id: identity },
  required: ['project_id'],
  additionalProperties: false,
};

/** The query of GET /usages. */
export function usages(minor: number): Schema {
  if (minor < 38) return USAGES;
  const consumer_type: Schema = { type: 'string', pattern: CONSUMER_TYPE_QUERY_PATTERN, minLength: 1, maxLength: 255 };
  return withProperties(USAGES, { consumer_type });
}
