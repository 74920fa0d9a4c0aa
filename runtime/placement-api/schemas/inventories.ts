// The bodies of the changes of inventories.

import type { Schema } from '../json-schema.ts';
import { CLASS_PATTERN, integer, MAX_INT, MAX_RATIO, withProperties } from './common.ts';

const whole = (minimum: number): Schema => ({ type: 'integer', maximum: MAX_INT, minimum });

/** The body of PUT /resource_providers/{uuid}/inventories/{resource_class}. */
export const PUT_INVENTORY: Schema = {
  type: 'object',
  properties: {
    resource_provider_generation: integer,
    total: whole(1),
    reserved: whole(0),
    min_unit: whole(1),
    max_unit: whole(1),
    step_size: whole(1),
    allocation_ratio: { type: 'number', maximum: MAX_RATIO },
  },
  required: ['total', 'resource_provider_generation'],
  additionalProperties: false,
};

/** The body of POST /resource_providers/{uuid}/inventories. */
export const POST_INVENTORY: Schema = {
  ...withProperties(PUT_INVENTORY, { resource_class: { type: 'string', pattern: CLASS_PATTERN } }),
  required: ['total', 'resource_class'],
};

/** The body of PUT /resource_providers/{uuid}/inventories. */
export const PUT_INVENTORIES: Schema = {
  type: 'object',
  properties: {
    resource_provider_generation: integer,
    inventories: {
      type: 'object',
      patternProperties: { [CLASS_PATTERN]: { ...PUT_INVENTORY, required: ['total'] } },
    },
  },
  required: ['resource_provider_generation', 'inventories'],
  additionalProperties: false,
};
