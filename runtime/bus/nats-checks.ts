// Checks how a connection to NATS is to be set up, before anything is dialled: a number that is none would wait for ever.

import Type, { type TSchema } from 'typebox';
import { PREFIX_PATTERN } from '../fault-words.ts';
import { A_CLOCK, A_FUNCTION, A_SIGNAL, checkOfOptions } from '../option-fields.ts';
import type { NatsOptions } from './nats-options.ts';

/** Some three hundred years: whatever is added to a time of day stays a time of day. */
const MAX_MS = 1e13;
const anyMs = Type.Number({ minimum: 0, maximum: MAX_MS });
const amount = Type.Integer({ minimum: 0 });
const text = Type.String();
const file = Type.Optional(text);
/** Checked where it is used, with words of its own. */
const elsewhere = Type.Unknown();

/** The fields, each as it must be if it is there. */
export const NATS_FIELDS = {
  servers: elsewhere,
  name: text,
  user: text,
  pass: text,
  token: text,
  credentials: text,
  tls: Type.Object({ caFile: file, certFile: file, keyFile: file }, { additionalProperties: false }),
  inboxPrefix: Type.String({ pattern: PREFIX_PATTERN }),
  connectTimeoutMs: anyMs,
  signal: elsewhere,
  reconnectWaitMs: anyMs,
  reconnectJitterMs: anyMs,
  pingIntervalMs: Type.Number({ exclusiveMinimum: 0, maximum: MAX_MS }),
  maxUnsentMessages: amount,
  maxUnsentBytes: amount,
  loopback: Type.Boolean(),
  closeTimeoutMs: anyMs,
  clock: elsewhere,
  onStatus: elsewhere,
  onError: elsewhere,
} satisfies Record<keyof NatsOptions, TSchema>;

/** What options are called in messages, also before they are taken apart. */
export const CONNECTION_OPTIONS = 'the options of the connection';

/** @throws CellwrightError `bad-option` with the field. */
export const checkNatsOptions: (options: NatsOptions) => void = checkOfOptions(NATS_FIELDS, CONNECTION_OPTIONS, {
  signal: A_SIGNAL,
  clock: A_CLOCK,
  onStatus: A_FUNCTION,
  onError: A_FUNCTION,
});
