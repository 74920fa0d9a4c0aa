// Checks how a managed server is to be run, before anything is found, installed or started: an option that is misspelt,
// such as `dataDir`, would be missed only when what it was to keep is gone.

import Type, { type TSchema } from 'typebox';
import { CellwrightError } from '../errors.ts';
import { checkOfOptions } from '../option-fields.ts';
import type { NatsServerOptions } from './options.ts';

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
  signal: Type.Unknown(),
} satisfies Record<keyof NatsServerOptions, TSchema>;

const checkFields = checkOfOptions(NATS_SERVER_FIELDS, 'the options object of the managed server');

/** @throws CellwrightError `bad-option` with the field. */
export function checkNatsServerOptions(options: NatsServerOptions): void {
  checkFields(options);
  const { log } = options ?? {};
  if (log !== undefined && typeof log !== 'function') {
    const message = "'log' of the options object of the managed server must be a function";
    throw new CellwrightError('bad-option', message, { field: 'log' });
  }
}
