// The values of query parameters: amounts of resources, traits, aggregates, trees. What is wrong with one is worded as
// the reference words it.

import { badRequest } from './problem.ts';
import type { Query } from './query.ts';
import { isUuidLike } from './uuid.ts';

/** An amount beyond all that there can be: what is larger reads as this. */
const LARGEST_AMOUNT = Number.MAX_SAFE_INTEGER;

/** Amounts by class: `VCPU:2,MEMORY_MB:1024`. */
export function resourcesIn(text: string): Record<string, number> {
  const form =
    'Badly formed resources parameter. Expected resources query string parameter in form: ' +
    '?resources=VCPU:2,MEMORY_MB:1024. Got:';
  if (text.trim() === '') throw badRequest(`${form} empty string.`);
  const resources = new Map<string, number>();
  for (const pair of text.split(',')) {
    const [name, amount, ...more] = pair.split(':') as [string, string?, ...string[]];
    if (amount === undefined || more.length > 0) throw badRequest(`${form} ${pair}.`);
    if (!/^\s*[+-]?\d+(_\d+)*\s*$/.test(amount)) {
      throw badRequest(`Requested resource ${name} expected positive integer amount. Got: ${amount}.`);
    }
    const value = Math.min(Number(amount.replaceAll('_', '')), LARGEST_AMOUNT);
    if (value < 1) throw badRequest(`Requested resource ${name} requires amount >= 1. Got: ${value}.`);
    // No class has this name, and an object with it cannot be sent.
    if (name === '__proto__') {
      throw badRequest(`Invalid resource class in resources parameter: No such resource class ${name}.`);
    }
    resources.set(name, value);
  }
  return Object.fromEntries(resources);
}

export interface TraitsAsked {
  /** Of each list, one trait must be there. */
  required: string[][];
  forbidden: string[];
}

const INVALID = 'Invalid query string parameters:';
const EXPECTED = "Expected 'required' parameter value of the form:";

/** Traits: `A,!B`, or `in:A,B` for any of them. */
export function traitsIn(text: string, allow: { forbidden: boolean; any: boolean }): TraitsAsked {
  if (text.startsWith('in:')) return { required: [anyOfTraits(text, allow.any)], forbidden: [] };
  const traits = text.split(',').map((trait) => trait.trim());
  const forbidden = [
    ...new Set(traits.filter((trait) => trait.startsWith('!')).map((trait) => trait.replace(/^!+/, ''))),
  ];
  if ([...forbidden, ...traits].includes('')) {
    const form = allow.forbidden ? 'HW_CPU_X86_VMX,!CUSTOM_MAGIC' : 'HW_CPU_X86_VMX,CUSTOM_MAGIC';
    throw badRequest(`${INVALID} ${EXPECTED} ${form}. Got an empty trait in: ${text}`);
  }
  if (forbidden.length > 0 && !allow.forbidden) {
    throw badRequest(`${INVALID} ${EXPECTED} HW_CPU_X86_VMX,CUSTOM_MAGIC. Got: ${text}`);
  }
  return { required: traits.filter((trait) => !trait.startsWith('!')).map((trait) => [trait]), forbidden };
}

function anyOfTraits(text: string, allowed: boolean): string[] {
  const format = "The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC'";
  if (!allowed) throw badRequest(`${INVALID} ${format} only supported since microversion 1.39. Got: ${text}`);
  const traits = [
    ...new Set(
      text
        .slice(3)
        .split(',')
        .map((trait) => trait.trim()),
    ),
  ];
  if (traits.includes('')) {
    throw badRequest(`${INVALID} ${EXPECTED} in:HW_CPU_X86_VMX,CUSTOM_MAGIC. Got an empty trait in: ${text}`);
  }
  if (traits.some((trait) => trait.startsWith('!'))) {
    throw badRequest(`${INVALID} ${format} does not support forbidden traits. Got: ${text}`);
  }
  return traits;
}

/** All that `required` asks, with or without a suffix. */
export function traitsAsked(query: Query, minor: number, suffix = ''): TraitsAsked {
  const allow = { forbidden: minor >= 22, any: minor >= 39 };
  const values = query.all(`required${suffix}`);
  const asked: TraitsAsked = { required: [], forbidden: [] };
  for (const value of allow.any ? values : values.slice(-1)) {
    const { required, forbidden } = traitsIn(value, allow);
    asked.required.push(...required);
    asked.forbidden.push(...forbidden);
  }
  return asked;
}

export interface AggregatesAsked {
  memberOf: string[][];
  notMemberOf: string[];
}

/** All that `member_of` asks, with or without a suffix. */
export function aggregatesAsked(query: Query, minor: number, suffix = ''): AggregatesAsked {
  const key = `member_of${suffix}`;
  const values = query.all(key);
  if (minor < 24 && values.length > 1) throw badRequest(`Multiple ${key} parameters are not supported`);
  const asked: AggregatesAsked = { memberOf: [], notMemberOf: [] };
  for (const value of values) {
    const { aggregates, negated } = aggregatesIn(value);
    if (!negated) {
      asked.memberOf.push(aggregates);
      continue;
    }
    if (minor < 32) throw badRequest(`Forbidden ${key} parameters are not supported in the specified microversion`);
    asked.notMemberOf.push(...aggregates);
  }
  return asked;
}

function aggregatesIn(value: string): { aggregates: string[]; negated: boolean } {
  const [, not = '', several = '', names = ''] = /^(!?)(in:)?(.*)$/s.exec(value) ?? [];
  if (value.includes(',') && several === '') {
    const rule = "must be prefixed with the 'in:' or '!in:' keyword using the valid microversion";
    throw badRequest(`Multiple values for 'member_of' ${rule}. Got: ${value}`);
  }
  const aggregates = several === '' ? [names] : names.split(',');
  for (const aggregate of aggregates) {
    if (isUuidLike(aggregate)) continue;
    throw badRequest(`${INVALID} Expected 'member_of' parameter to contain valid UUID(s). Got: ${aggregate}`);
  }
  return { aggregates, negated: not === '!' };
}

export function treeIn(value: string): string {
  const tree = value.trim();
  if (isUuidLike(tree)) return tree;
  throw badRequest(`${INVALID} Expected 'in_tree' parameter to be a format of uuid. Got: ${value}`);
}
