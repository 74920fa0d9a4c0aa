// Checks how a managed server is to be run, before anything is found, installed or started: an option that is misspelt,
// such as `dataDir`, would be missed only when what it was to keep is gone.

import Type, { type TSchema } from 'typebox';
import { A_FUNCTION, A_SIGNAL, checkOfOptions } from '../option-fields.ts';
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
  log: Type.Unknown(),
  onEnded: Type.Unknown(),
  signal: Type.Unknown(),
} satisfies Record<keyof NatsServerOptions, TSchema>;

/** @throws CellwrightError `bad-option` with the field. */
export const checkNatsServerOptions: (options: NatsServerOptions) => void = checkOfOptions(
  NATS_SERVER_FIELDS,
  'the options object of the managed server',
  { log: A_FUNCTION, onEnded: A_FUNCTION, signal: A_SIGNAL },
);
