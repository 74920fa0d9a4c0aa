// What nodes send each other, as a table of shapes, and what would keep nodes of one version from understanding those of
// another: who upgrades replaces nodes one by one.

import * as advice from '../../actors/messages/advice.ts';
import * as cell from '../../actors/messages/cell.ts';
import * as common from '../../actors/messages/common.ts';
import * as compute from '../../actors/messages/compute.ts';
import * as conductor from '../../actors/messages/conductor.ts';
import * as decision from '../../actors/messages/decision.ts';
import * as gateway from '../../actors/messages/gateway.ts';
import * as groupHomes from '../../actors/messages/group-homes.ts';
import * as inTheWay from '../../actors/messages/in-the-way.ts';
import * as placement from '../../actors/messages/placement.ts';
import * as placementApi from '../../actors/messages/placement-api.ts';
import * as questions from '../../actors/messages/questions.ts';
import * as scheduler from '../../actors/messages/scheduler.ts';
import * as storedDecision from '../../actors/messages/stored-decision.ts';
import * as storedOnNamed from '../../actors/messages/stored-on-named.ts';
import * as transactions from '../../actors/messages/transactions.ts';
import * as where from '../../actors/messages/where.ts';
import { isSame } from '../../actors/same.ts';

/** The JSON schema of a message or of a part that has a name; a text in the place of a schema names an entry of the table. */
type Shape = string | { readonly [keyword: string]: unknown };
export type Shapes = Readonly<Record<string, Shape>>;

const EXPORTED: readonly Content[] = [
  advice,
  cell,
  common,
  compute,
  conductor,
  decision,
  gateway,
  groupHomes,
  inTheWay,
  placementApi,
  placement,
  questions,
  scheduler,
  storedDecision,
  storedOnNamed,
  transactions,
  where,
];
const PARTS = ['properties', 'required', 'items', 'anyOf', 'patternProperties'];

/** The shapes of all messages of this version, such as `conductorMessages.parked`. */
export function messageShapes(): Shapes {
  const names = new Map<string, string>();
  const messages = new Map<string, unknown>();
  for (const [name, value] of EXPORTED.flatMap((exported) => Object.entries(exported))) {
    if (/(Messages|Answers)$/.test(name)) {
      for (const [type, schema] of Object.entries(value as object)) messages.set(`${name}.${type}`, schema);
    } else if (isSchema(value) && !names.has(JSON.stringify(value))) names.set(JSON.stringify(value), name);
  }
  const shapes: Record<string, Shape> = {};
  const shapeOf = (schema: unknown): unknown => {
    const name = names.get(JSON.stringify(schema));
    if (name === undefined) return contentOf(schema);
    shapes[name] ??= contentOf(schema) as Shape;
    return name;
  };
  const contentOf = (value: unknown): unknown => {
    const partOf = (part: unknown) => (isSchema(part) ? shapeOf(part) : contentOf(part));
    if (Array.isArray(value)) return value.map(partOf);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, partOf(part)]));
  };
  for (const [name, schema] of messages) shapes[name] = contentOf(schema) as Shape;
  return shapes;
}

function isSchema(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ('type' in value || 'anyOf' in value);
}

/** What of the messages of an earlier version nodes of a later one do not understand, or the reverse. */
export function misunderstandings(before: Shapes, now: Shapes): string[] {
  const found: string[] = [];
  for (const name of Object.keys(before).filter((one) => one.includes('.'))) {
    if (now[name] === undefined) found.push(`${name} is not taken any more`);
    else compare(name, name, name);
  }
  return found;

  function compare(one: unknown, other: unknown, path: string): void {
    const [was, is] = [resolved(before, one), resolved(now, other)];
    for (const keyword of new Set([...Object.keys(was), ...Object.keys(is)])) {
      const isOther = !PARTS.includes(keyword) && !isSame(was[keyword], is[keyword]);
      if (isOther) found.push(`${path}: ${keyword} was ${told(was[keyword])} and is ${told(is[keyword])}`);
    }
    compareFields(was, is, path);
    comparePlaces(fieldsOf(was.patternProperties), fieldsOf(is.patternProperties), `${path}.*`);
    comparePlaces(listOf(was.anyOf), listOf(is.anyOf), `${path}|`);
    comparePlaces(listOf(was.items), listOf(is.items), `${path}[]`);
  }

  function compareFields(was: Content, is: Content, path: string): void {
    const [fields, fieldsNow] = [fieldsOf(was.properties), fieldsOf(is.properties)];
    const [needed, neededNow] = [listOf(was.required), listOf(is.required)];
    for (const field of neededNow) if (!needed.includes(field)) found.push(`${path}.${field} must be there now`);
    for (const field of needed) if (!neededNow.includes(field)) found.push(`${path}.${field} may be missing now`);
    for (const [field, schema] of Object.entries(fields)) {
      if (field in fieldsNow) compare(schema, fieldsNow[field], `${path}.${field}`);
      else found.push(`${path}.${field} is gone`);
    }
    if (was.additionalProperties !== false) return;
    for (const field of Object.keys(fieldsNow)) {
      if (!(field in fields)) found.push(`${path}.${field} is new where nothing new is taken`);
    }
  }

  function comparePlaces(was: object, is: object, path: string): void {
    if (!isSame(Object.keys(was), Object.keys(is))) found.push(`${path} was one of others`);
    for (const [key, schema] of Object.entries(was)) {
      const other = (is as Content)[key];
      if (other !== undefined) compare(schema, other, `${path}${key}`);
    }
  }
}

type Content = Readonly<Record<string, unknown>>;

function resolved(shapes: Shapes, shape: unknown): Content {
  return typeof shape === 'string' ? resolved(shapes, shapes[shape] ?? {}) : (shape as Content);
}

const fieldsOf = (value: unknown): Content => (value ?? {}) as Content;
const listOf = (value: unknown): readonly unknown[] => (value === undefined ? [] : [value].flat());
const told = (value: unknown): string => (value === undefined ? 'not there' : JSON.stringify(value));
