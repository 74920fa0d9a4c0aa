// Checks everything that comes from the wire against the schema of its message, before an actor sees it.

import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Message } from '../actors/actor.ts';
import { clipped, type Protocol } from '../actors/messages/common.ts';
import { CellwrightError, MalformedError } from './errors.ts';
import { faultWords } from './fault-words.ts';

/** A check that answers null, or the error that names what is wrong. */
export type Check = (value: unknown) => MalformedError | null;

/** A check by a schema, which is compiled when something is first checked: a process checks few of all that there are. */
export function checkOf(schema: TSchema, what: string): Check {
  let validator: ReturnType<typeof Compile> | undefined;
  return (value) => {
    validator ??= Compile(schema);
    if (validator.Check(value)) return null;
    return faultOf(validator.Errors(value), what);
  };
}

/** @throws CellwrightError with this code, and with the field that is wrong. */
export function insist(check: Check, value: unknown, code: string): void {
  const fault = check(value);
  if (fault === null) return;
  throw new CellwrightError(code, fault.message, fault.field === undefined ? {} : { field: fault.field });
}

interface Fault {
  keyword: string;
  schemaPath: string;
  instancePath: string;
  message: string;
  params: object;
}

/** The longest name of a field that is said back, in characters: whoever sent it chose it. */
const MAX_FIELD_LENGTH = 128;

/** The fault that says most: an unknown field by its name, otherwise the first one that is not a mere consequence. */
function faultOf(all: readonly Fault[], what: string): MalformedError {
  const faults = ofItsKind(all);
  const fault = faults.find(({ keyword }) => keyword !== 'boolean' && keyword !== 'anyOf') ?? faults[0];
  if (fault === undefined) return new MalformedError(`${what} is malformed`);
  const at = fault.instancePath.split('/').slice(1).map(unescapePointer);
  const fieldOf = (path: readonly string[]) => clipped(path.join('.'), MAX_FIELD_LENGTH);
  if (fault.keyword === 'additionalProperties') {
    const unknown = (fault.params as { additionalProperties?: string[] }).additionalProperties?.[0] ?? '';
    const field = fieldOf([...at, unknown]);
    return new MalformedError(`${what} has an unknown field '${field}'`, { field });
  }
  // Where nothing else is allowed: of very many unknown fields no more is told.
  if (fault.keyword === 'boolean') {
    const field = fieldOf(at);
    return new MalformedError(`${what} has an unknown field '${field}'`, { field });
  }
  if (fault.keyword === 'required') {
    const missing = (fault.params as { requiredProperties?: string[] }).requiredProperties?.[0] ?? '';
    const field = fieldOf([...at, missing]);
    return new MalformedError(`${what} lacks the field '${field}'`, { field });
  }
  const field = fieldOf(at);
  const allowed = faults.filter((one) => one.keyword === 'const' && one.instancePath === fault.instancePath);
  const values = allowed.map(({ params }) => JSON.stringify((params as { allowedValue?: unknown }).allowedValue));
  const rule = fault.keyword === 'const' ? `must be ${values.join(' or ')}` : faultWords(fault);
  if (field === '') return new MalformedError(`${what} ${rule}`);
  return new MalformedError(`'${field}' of ${what} ${rule}`, { field });
}

/** Of what may be one of several kinds, told by a constant: what is wrong with it as the kind that it says it is. */
function ofItsKind(faults: readonly Fault[]): readonly Fault[] {
  const others = new Set(faults.flatMap(({ keyword, schemaPath }) => (keyword === 'const' ? kindsOf(schemaPath) : [])));
  const ofOne = faults.filter(({ schemaPath }) => !kindsOf(schemaPath).some((kind) => others.has(kind)));
  return ofOne.every(({ keyword }) => keyword === 'anyOf') ? faults : ofOne;
}

/** The alternatives of a schema that a fault is of, the outermost first, by their paths. */
function kindsOf(schemaPath: string): string[] {
  return [...schemaPath.matchAll(/\/anyOf\/\d+/g)].map(({ index, 0: last }) =>
    schemaPath.slice(0, index + last.length),
  );
}

function unescapePointer(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** The check of a message, which throws what is wrong with it. */
export interface ProtocolCheck {
  (value: unknown): Message;
  /** Looks at its type only: of what comes from this process the rest is known to be right. */
  ofType(value: Message): void;
}

/** One check of all messages of a protocol, which goes by their type. */
export function checkOfProtocol(protocol: Protocol): ProtocolCheck {
  const checks = new Map(Object.entries(protocol).map(([type, schema]) => [type, checkOf(schema, `'${type}'`)]));
  function checkFor(value: unknown): Check {
    const type = (value as { type?: unknown } | null)?.type;
    const check = typeof type === 'string' ? checks.get(type) : undefined;
    if (check !== undefined) return check;
    const shown = clipped(String(JSON.stringify(type)), 80);
    throw new MalformedError(`there is no message of type ${shown} here`, { field: 'type' });
  }
  function check(value: unknown): Message {
    const fault = checkFor(value)(value);
    if (fault !== null) throw fault;
    return value as Message;
  }
  return Object.assign(check, { ofType: (value: Message) => void checkFor(value) });
}
