// Checks everything that comes from the wire against the schema of its message, before an actor sees it.

import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Message } from '../actors/actor.ts';
import type { Protocol } from '../actors/messages/common.ts';
import { MalformedError } from './errors.ts';

/** A check that answers null, or the error that names what is wrong. */
export type Check = (value: unknown) => MalformedError | null;

/** Compiles a schema into a check. */
export function checkOf(schema: TSchema, what: string): Check {
  const validator = Compile(schema);
  return (value) => {
    if (validator.Check(value)) return null;
    return faultOf(validator.Errors(value), what);
  };
}

interface Fault {
  keyword: string;
  instancePath: string;
  message: string;
  params: object;
}

/** The fault that says most: an unknown field by its name, otherwise the first one that is not a mere consequence. */
function faultOf(faults: readonly Fault[], what: string): MalformedError {
  const fault = faults.find(({ keyword }) => keyword !== 'boolean' && keyword !== 'anyOf') ?? faults[0];
  if (fault === undefined) return new MalformedError(`${what} is malformed`);
  const at = fault.instancePath.split('/').slice(1).map(unescapePointer);
  if (fault.keyword === 'additionalProperties') {
    const unknown = (fault.params as { additionalProperties?: string[] }).additionalProperties?.[0] ?? '';
    const field = [...at, unknown].join('.');
    return new MalformedError(`${what} has an unknown field '${field}'`, { field });
  }
  if (fault.keyword === 'required') {
    const missing = (fault.params as { requiredProperties?: string[] }).requiredProperties?.[0] ?? '';
    const field = [...at, missing].join('.');
    return new MalformedError(`${what} lacks the field '${field}'`, { field });
  }
  const field = at.join('.');
  if (field === '') return new MalformedError(`${what} ${fault.message}`);
  return new MalformedError(`'${field}' of ${what} ${fault.message}`, { field });
}

function unescapePointer(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Compiles the messages of a protocol into one check that goes by their type. */
export function checkOfProtocol(protocol: Protocol): (value: unknown) => Message {
  const checks = new Map(Object.entries(protocol).map(([type, schema]) => [type, checkOf(schema, `'${type}'`)]));
  return (value) => {
    const type = (value as { type?: unknown } | null)?.type;
    const check = typeof type === 'string' ? checks.get(type) : undefined;
    if (check === undefined)
      throw new MalformedError(`there is no message of type ${JSON.stringify(type)?.slice(0, 80)} here`, {
        field: 'type',
      });
    const fault = check(value);
    if (fault !== null) throw fault;
    return value as Message;
  };
}
