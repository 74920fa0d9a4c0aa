// The query of GET /allocation_candidates, by microversion.

import type { Schema } from '../json-schema.ts';
import { SUFFIX_PATTERN, SUFFIX_PATTERN_1_33, text } from './common.ts';

const LIMIT: Schema = { type: ['integer', 'string'], pattern: '^[1-9][0-9]*$', minimum: 1, minLength: 1 };
const POLICY: Schema = { type: 'string', enum: ['none', 'isolate'] };
const LISTED: Schema = { type: ['string'] };

export function listCandidates(minor: number): Schema {
  if (minor >= 25) return granular(minor);
  return {
    type: 'object',
    properties: {
      resources: text,
      ...(minor >= 16 ? { limit: LIMIT } : {}),
      ...(minor >= 17 ? { required: LISTED } : {}),
      ...(minor >= 21 ? { member_of: LISTED } : {}),
    },
    required: ['resources'],
    additionalProperties: false,
  };
}

function granular(minor: number): Schema {
  const suffix = minor >= 33 ? SUFFIX_PATTERN_1_33 : SUFFIX_PATTERN;
  const keys = ['resources', 'required', 'member_of', ...(minor >= 31 ? ['in_tree'] : [])];
  return {
    type: 'object',
    properties: {
      limit: LIMIT,
      group_policy: POLICY,
      ...(minor >= 35 ? { root_required: LISTED } : {}),
      ...(minor >= 36 ? { same_subtree: LISTED } : {}),
    },
    additionalProperties: false,
    patternProperties: Object.fromEntries(keys.map((key) => [`^${key}(${suffix})?$`, text])),
  };
}
