// The bodies of PUT and POST /allocations, by microversion, and of POST /reshaper.

import type { Schema } from '../json-schema.ts';
import {
  CLASS_PATTERN,
  CONSUMER_TYPE_PATTERN,
  identity,
  integer,
  requiring,
  SUFFIX_PATTERN_1_33,
  UUID_PATTERN,
  uuid,
  withProperties,
} from './common.ts';
import { PUT_INVENTORIES } from './inventories.ts';

const RESOURCES: Schema = {
  type: 'object',
  minProperties: 1,
  patternProperties: { [CLASS_PATTERN]: { type: 'integer', minimum: 1 } },
  additionalProperties: false,
};

const LISTED: Schema = {
  type: 'object',
  properties: {
    allocations: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        properties: {
          resource_provider: {
            type: 'object',
            properties: { uuid },
            additionalProperties: false,
            required: ['uuid'],
          },
          resources: RESOURCES,
        },
        required: ['resource_provider', 'resources'],
        additionalProperties: false,
      },
    },
  },
  required: ['allocations'],
  additionalProperties: false,
};

const OF_PROVIDER: Schema = {
  type: 'object',
  properties: { generation: integer, resources: RESOURCES },
  required: ['resources'],
  additionalProperties: false,
};

function keyed(minProperties: number): Schema {
  return {
    type: 'object',
    properties: {
      allocations: {
        type: 'object',
        minProperties,
        patternProperties: { [UUID_PATTERN]: OF_PROVIDER },
        additionalProperties: false,
      },
      project_id: identity,
      user_id: identity,
    },
    additionalProperties: false,
    required: ['allocations', 'project_id', 'user_id'],
  };
}

const GENERATION: Schema = { type: ['integer', 'null'], additionalProperties: false };
const MAPPINGS: Schema = {
  type: 'object',
  minProperties: 1,
  patternProperties: { [SUFFIX_PATTERN_1_33]: { type: 'array', minItems: 1, items: uuid } },
};
const CONSUMER_TYPE: Schema = { type: 'string', pattern: CONSUMER_TYPE_PATTERN, minLength: 1, maxLength: 255 };

const PUT_1_8 = requiring(withProperties(LISTED, { project_id: identity, user_id: identity }), 'project_id', 'user_id');
const PUT_1_28 = requiring(withProperties(keyed(0), { consumer_generation: GENERATION }), 'consumer_generation');
const PUT_1_34 = withProperties(PUT_1_28, { mappings: MAPPINGS });
const PUT_1_38 = requiring(withProperties(PUT_1_34, { consumer_type: CONSUMER_TYPE }), 'consumer_type');

/** The body of PUT /allocations/{consumer}. */
export function putAllocations(minor: number): Schema {
  if (minor >= 38) return PUT_1_38;
  if (minor >= 34) return PUT_1_34;
  if (minor >= 28) return PUT_1_28;
  if (minor >= 12) return keyed(1);
  return minor >= 8 ? PUT_1_8 : LISTED;
}

function ofConsumers(schema: Schema, minProperties: number): Schema {
  return {
    type: 'object',
    minProperties,
    additionalProperties: false,
    patternProperties: { [UUID_PATTERN]: schema },
  };
}

/** The body of POST /allocations. */
export function postAllocations(minor: number): Schema {
  return ofConsumers(minor >= 28 ? putAllocations(minor) : keyed(0), 1);
}

/** The body of POST /reshaper. */
export function reshaper(minor: number): Schema {
  return {
    type: 'object',
    properties: {
      inventories: {
        type: 'object',
        patternProperties: { [UUID_PATTERN]: PUT_INVENTORIES },
        minProperties: 1,
        additionalProperties: false,
      },
      allocations: ofConsumers(putAllocations(minor), 0),
    },
    required: ['inventories', 'allocations'],
    additionalProperties: false,
  };
}
