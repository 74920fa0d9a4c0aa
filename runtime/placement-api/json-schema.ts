// Checks JSON against a schema and words what is wrong as Python's jsonschema 4.10 does, because clients and tests of
// the Placement API match on those words. It knows the keywords that the API's schemas use, and no others.

import { isObject } from '../objects.ts';
import { pformat, repr } from './python.ts';
import { isUuidLike } from './uuid.ts';

/** A JSON schema; the order of its keywords decides which of two equal faults is told. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean;
  readonly required?: readonly string[];
  readonly minProperties?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: 'uuid';
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
}

interface Fault {
  readonly message: string;
  readonly keyword: string;
  readonly instance: unknown;
  readonly schema: Schema;
  readonly path: readonly (string | number)[];
  readonly schemaPath: readonly (string | number)[];
  readonly context: readonly Fault[];
}

/** What is wrong with a value, in the words of jsonschema, or null. */
export function faultOf(value: unknown, schema: Schema): string | null {
  const faults = [...faultsOf(value, schema)];
  const best = bestOf(faults);
  return best === null ? null : textOf(best);
}

function* faultsOf(instance: unknown, schema: Schema): Generator<Fault> {
  for (const keyword of Object.keys(schema) as (keyof Schema)[]) {
    for (const fault of CHECKS[keyword](instance, schema)) {
      yield {
        keyword,
        instance,
        schema,
        context: [],
        path: [],
        ...fault,
        schemaPath: [keyword, ...(fault.schemaPath ?? [])],
      };
    }
  }
}

type Found = Partial<Fault> & { readonly message: string };
type Check = (instance: unknown, schema: Schema) => Iterable<Found>;

function* descend(instance: unknown, schema: Schema, path: string | number, schemaPath?: string): Generator<Fault> {
  for (const fault of faultsOf(instance, schema)) {
    const below = schemaPath === undefined ? fault.schemaPath : [schemaPath, ...fault.schemaPath];
    yield { ...fault, path: [path, ...fault.path], schemaPath: below };
  }
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'object':
      return isObject(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}

const typesOf = ({ type = [] }: Schema): readonly string[] => (typeof type === 'string' ? [type] : type);
const lengthOf = (text: string) => [...text].length;

const CHECKS: Readonly<Record<keyof Schema, Check>> = {
  *type(instance, schema) {
    const types = typesOf(schema);
    if (types.some((type) => isOfType(instance, type))) return;
    yield { message: `${repr(instance)} is not of type ${types.map((type) => repr(type)).join(', ')}` };
  },
  *properties(instance, { properties = {} }) {
    if (!isObject(instance)) return;
    for (const [name, below] of Object.entries(properties)) {
      if (Object.hasOwn(instance, name)) yield* descend(instance[name], below, name, name);
    }
  },
  *patternProperties(instance, { patternProperties = {} }) {
    if (!isObject(instance)) return;
    for (const [pattern, below] of Object.entries(patternProperties)) {
      const matches = new RegExp(pattern);
      for (const name of Object.keys(instance)) {
        if (matches.test(name)) yield* descend(instance[name], below, name, pattern);
      }
    }
  },
  *additionalProperties(instance, { additionalProperties, properties = {}, patternProperties }) {
    if (!isObject(instance) || additionalProperties !== false) return;
    const patterns = Object.keys(patternProperties ?? {});
    const extras = Object.keys(instance)
      .filter((name) => !Object.hasOwn(properties, name) && !patterns.some((one) => new RegExp(one).test(name)))
      .sort();
    if (extras.length === 0) return;
    const names = extras.map((name) => repr(name)).join(', ');
    if (patternProperties === undefined) {
      const verb = extras.length === 1 ? 'was' : 'were';
      yield { message: `Additional properties are not allowed (${names} ${verb} unexpected)` };
      return;
    }
    const regexes = patterns.sort().map((pattern) => repr(pattern));
    const verb = extras.length === 1 ? 'does' : 'do';
    yield { message: `${names} ${verb} not match any of the regexes: ${regexes.join(', ')}` };
  },
  *required(instance, { required = [] }) {
    if (!isObject(instance)) return;
    for (const name of required) {
      if (!Object.hasOwn(instance, name)) yield { message: `${repr(name)} is a required property` };
    }
  },
  *minProperties(instance, { minProperties = 0 }) {
    if (isObject(instance) && Object.keys(instance).length < minProperties) {
      yield { message: `${repr(instance)} does not have enough properties` };
    }
  },
  *items(instance, { items = {} }) {
    if (!Array.isArray(instance)) return;
    for (const [position, item] of instance.entries()) yield* descend(item, items, position);
  },
  *minItems(instance, { minItems = 0 }) {
    if (Array.isArray(instance) && instance.length < minItems) yield { message: `${repr(instance)} is too short` };
  },
  *uniqueItems(instance) {
    if (!Array.isArray(instance)) return;
    const distinct = new Set(instance.map((item) => JSON.stringify(item)));
    if (distinct.size < instance.length) yield { message: `${repr(instance)} has non-unique elements` };
  },
  *minimum(instance, { minimum = 0 }) {
    if (typeof instance === 'number' && instance < minimum) {
      yield { message: `${repr(instance)} is less than the minimum of ${repr(minimum)}` };
    }
  },
  *maximum(instance, { maximum = 0 }) {
    if (typeof instance === 'number' && instance > maximum) {
      yield { message: `${repr(instance)} is greater than the maximum of ${repr(maximum)}` };
    }
  },
  *minLength(instance, { minLength = 0 }) {
    if (typeof instance === 'string' && lengthOf(instance) < minLength) {
      yield { message: `${repr(instance)} is too short` };
    }
  },
  *maxLength(instance, { maxLength = 0 }) {
    if (typeof instance === 'string' && lengthOf(instance) > maxLength) {
      yield { message: `${repr(instance)} is too long` };
    }
  },
  *pattern(instance, { pattern = '' }) {
    if (typeof instance === 'string' && !new RegExp(pattern).test(instance)) {
      yield { message: `${repr(instance)} does not match ${repr(pattern)}` };
    }
  },
  *format(instance) {
    if (!isUuidLike(instance)) yield { message: `${repr(instance)} is not a 'uuid'` };
  },
  *enum(instance, schema) {
    const { enum: values = [] } = schema;
    if (!values.includes(instance as string)) yield { message: `${repr(instance)} is not one of ${repr(values)}` };
  },
  *anyOf(instance, { anyOf = [] }) {
    const context: Fault[] = [];
    for (const [position, schema] of anyOf.entries()) {
      const faults = [...faultsOf(instance, schema)];
      if (faults.length === 0) return;
      context.push(...faults.map((fault) => ({ ...fault, schemaPath: [position, ...fault.schemaPath] })));
    }
    yield { message: `${repr(instance)} is not valid under any of the given schemas`, context };
  },
};

/** How much a fault says: the nearer to the top the more, and of a value of the right type less. */
function relevanceOf({ path, keyword, schema, instance }: Fault): number {
  const ofRightType = typesOf(schema).some((type) => isOfType(instance, type));
  return -path.length * 4 + (keyword === 'anyOf' ? 0 : 2) + (ofRightType ? 0 : 1);
}

/** The fault to tell, chosen as jsonschema's `best_match` chooses. */
function bestOf(faults: readonly Fault[]): Fault | null {
  let best = faults[0];
  if (best === undefined) return null;
  for (const fault of faults) if (relevanceOf(fault) > relevanceOf(best)) best = fault;
  while (best.context.length > 0) {
    const sorted: Fault[] = [...best.context].sort((one, other) => relevanceOf(one) - relevanceOf(other));
    const [least, next] = sorted as [Fault, Fault?];
    if (next !== undefined && relevanceOf(least) === relevanceOf(next)) return best;
    best = least;
  }
  return best;
}

function textOf({ message, keyword, schema, instance, path, schemaPath }: Fault): string {
  const where = indexed('schema', schemaPath.slice(0, -1));
  const shown = (value: unknown) => pformat(value).replaceAll('\n', '\n    ');
  const failed = `Failed validating ${repr(keyword)} in ${where}:\n    ${shown(schema)}`;
  return `${message}\n\n${failed}\n\nOn ${indexed('instance', path)}:\n    ${shown(instance)}`;
}

function indexed(container: string, indices: readonly (string | number)[]): string {
  return container + indices.map((index) => `[${repr(index)}]`).join('');
}
