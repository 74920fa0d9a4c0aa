// Checks how a managed server is to be run, before anything is found, installed or started: an option that is misspelt,
// such as `dataDir`, would be missed only when what it was to keep is gone.

import Type, { type TSchema } from 'typebox';
import { CellwrightError } from '../errors.ts';
import { checkOf } from '../schemas.ts';
import type { NatsServerOptions } from './server.ts';

/** What a timer can wait, ms. */
const MAX_TIMER_MS = 2_147_483_647;
const text = Type.String({ minLength: 1 });

/** The fields, each as it must be if it is there. */
export const NATS_SERVER_FIELDS = {
  dataDir: text,
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  jetstream: Type.Boolean(),
  maxPayloadBytes: Type.Integer({ minimum: 1 }),
  config: Type.String(),
  binary: text,
  readyTimeoutMs: Type.Integer({ minimum: 1, maximum: MAX_TIMER_MS }),
  /** A schema cannot say that it is a function. */
  log: Type.Unknown(),
} satisfies Record<keyof NatsServerOptions, TSchema>;

const check = checkOf(
  Type.Object(Object.fromEntries(Object.entries(NATS_SERVER_FIELDS).map(([name, of]) => [name, Type.Optional(of)])), {
    additionalProperties: false,
  }),
  'the options object of the managed server',
);

/** @throws CellwrightError `bad-option` with the field. */
export function checkNatsServerOptions(options: NatsServerOptions): void {
  const told = Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== undefined));
  const fault = check(told);
  if (fault !== null) {
    const { field } = fault;
    throw new CellwrightError('bad-option', fault.message, field === undefined ? {} : { field });
  }
  if (told.log !== undefined && typeof told.log !== 'function') {
    throw new CellwrightError('bad-option', "'log' of the options object of the managed server must be a function", {
      field: 'log',
    });
  }
}
