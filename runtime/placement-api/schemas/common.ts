// The patterns and parts that the schemas of the Placement API share. The schemas are those of the reference
// (python3-placement 8.0.0, Apache-2.0), keyword by keyword, because error texts quote them.

import type { Schema } from '../json-schema.ts';

export const UUID_PATTERN = '^[0-9a-fA-F-]{36}$';
export const CLASS_PATTERN = '^[A-Z0-9_]+$';
export const CUSTOM_PATTERN = '^CUSTOM_[A-Z0-9_]+$';
export const CONSUMER_TYPE_PATTERN = CLASS_PATTERN;
export const CONSUMER_TYPE_QUERY_PATTERN = `${CLASS_PATTERN}|^all|^unknown$`;
/** The suffix of a request group, before and since 1.33. */
export const SUFFIX_PATTERN = '[1-9][0-9]*';
export const SUFFIX_PATTERN_1_33 = '[a-zA-Z0-9_-]{1,64}';
export const MAX_INT = 2_147_483_647;
export const MAX_RATIO = 3.40282e38;

export const text: Schema = { type: 'string' };
export const uuid: Schema = { type: 'string', format: 'uuid' };
export const integer: Schema = { type: 'integer' };
export const identity: Schema = { type: 'string', minLength: 1, maxLength: 255 };

/** A schema with some properties more. */
export function withProperties(schema: Schema, properties: Readonly<Record<string, Schema>>): Schema {
  return { ...schema, properties: { ...schema.properties, ...properties } };
}

/** A schema that requires some properties more. */
export function requiring(schema: Schema, ...names: string[]): Schema {
  return { ...schema, required: [...(schema.required ?? []), ...names] };
}
