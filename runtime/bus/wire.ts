// What every bus asks of subjects, headers and bodies, and how a failed service handler is answered: here once,
// so that the bus in memory refuses what a NATS server would. It sends nothing itself.

import { CellwrightError, messageOf, PayloadTooLargeError } from '../errors.ts';
import { unfailing } from '../unfailing.ts';
import type { Body, Encoded, PublishOptions, ServiceConfig } from './bus.ts';

/** A body as it travels. @throws CellwrightError `unencodable`. */
export const encodedOf = (body: Body): Encoded => (body instanceof Uint8Array ? body : body.encoded());

export const bytesOf = (data: Encoded): Uint8Array => (typeof data === 'string' ? Buffer.from(data) : data);

/** In bytes. */
export const sizeOf = (data: Encoded): number => (typeof data === 'string' ? Buffer.byteLength(data) : data.length);

/** The queue group of every service endpoint, as NATS services have it. */
export const SERVICE_QUEUE = 'q';

/** Shared by all messages without headers. */
export const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

/** Told of what went wrong outside any call: a handler that threw, a message that was dropped. */
export type ErrorListener = (error: unknown, subject: string) => void;

const PUBLISHABLE = /^[^\s.*>]+(?:\.[^\s.*>]+)*$/;
const SUBSCRIBABLE = /^(?:[^\s.*>]+|\*)(?:\.(?:[^\s.*>]+|\*))*(?:\.>)?$|^>$/;
const QUEUE = /^\S+$/;
/**
 * The longest subject, in bytes: a server reads lines of 4,096 (its option max_control_line), in which there is room for
 * another one to answer to, and ends the connection at a longer one.
 */
const MAX_SUBJECT_BYTES = 2_000;
const SERVICE_NAME = /^[A-Za-z0-9_-]+$/;
const VERSION = /^\d+\.\d+\.\d+(?:[-+].+)?$/;
const HEADER_KEY = /^[!-9;-~]+$/;
const UNCARRIED = /[\r\n]|^\s|\s$/;
/** `NATS/1.0` and the line breaks around the headers; then a colon, a space and a line break for each. */
const HEADER_FRAME_BYTES = 12;
const HEADER_LINE_BYTES = 4;
const MAX_ERROR_CHARACTERS = 256;

/** @throws CellwrightError `bad-subject` when nobody could subscribe to `subject`, or with that `queue`. */
export function checkSubscription(subject: string, queue: string | undefined): void {
  checkLength(subject, 'a subject');
  if (!SUBSCRIBABLE.test(subject))
    throw new CellwrightError('bad-subject', `'${subject}' is not a subject to subscribe to`);
  if (queue !== undefined) checkLength(queue, 'a queue group');
  if (queue !== undefined && !QUEUE.test(queue))
    throw new CellwrightError('bad-subject', `'${queue}' is not a queue group`);
}

/** @throws CellwrightError `bad-service` when a NATS service could not have these names or this version. */
export function checkService({ name, version, endpoints }: ServiceConfig): void {
  for (const each of [name, ...endpoints.map((endpoint) => endpoint.name)]) {
    if (!SERVICE_NAME.test(each)) throw new CellwrightError('bad-service', `'${each}' is not a name for a service`);
  }
  if (!VERSION.test(version)) throw new CellwrightError('bad-service', `'${version}' is not a semantic version`);
}

/**
 * Looks at a whole message before it is sent.
 * @throws CellwrightError `bad-subject`, `bad-header`, `payload-too-large`.
 */
export function checkMessage(
  subject: string,
  data: Uint8Array,
  { reply, headers }: PublishOptions,
  maxPayloadBytes: number,
): void {
  checkSize(subject, reply, data.length + (headers === undefined ? 0 : headerBytes(headers)), maxPayloadBytes);
}

/**
 * The same for a message whose body and headers have been measured.
 * @throws CellwrightError `bad-subject`, `payload-too-large`.
 */
export function checkSize(subject: string, reply: string | undefined, bytes: number, maxPayloadBytes: number): number {
  checkSubject(subject);
  if (reply !== undefined) checkSubject(reply);
  if (bytes <= maxPayloadBytes) return bytes;
  throw new PayloadTooLargeError(subject, bytes, maxPayloadBytes);
}

/**
 * A space in a subject would be read by the server as the end of it, so nothing doubtful may pass.
 * @throws CellwrightError `bad-subject`.
 */
export function checkSubject(subject: string): void {
  checkLength(subject, 'a subject');
  if (!PUBLISHABLE.test(subject)) {
    throw new CellwrightError('bad-subject', `'${subject}' is not a subject to publish on`);
  }
}

function checkLength(name: string, what: string): void {
  // No character takes more than three bytes for each of its units.
  if (name.length * 3 <= MAX_SUBJECT_BYTES || Buffer.byteLength(name) <= MAX_SUBJECT_BYTES) return;
  const which = `'${name.slice(0, 80)}…'`;
  throw new CellwrightError('bad-subject', `${what} has at most ${MAX_SUBJECT_BYTES} bytes; ${which} is longer`);
}

/** Whether something can be published on a subject, such as the answer on one that somebody else has named. */
export function isPublishable(subject: string): boolean {
  return Buffer.byteLength(subject) <= MAX_SUBJECT_BYTES && PUBLISHABLE.test(subject);
}

/**
 * The bytes that the headers take on the wire.
 * @throws CellwrightError `bad-header`.
 */
export function headerBytes(headers: Readonly<Record<string, string>>): number {
  let bytes = 0;
  for (const key in headers) {
    const value = headers[key] as string;
    if (!HEADER_KEY.test(key)) throw new CellwrightError('bad-header', `'${key}' is not a header key`);
    if (UNCARRIED.test(value)) {
      throw new CellwrightError('bad-header', `the header '${key}' has a line break, or white space around it`);
    }
    bytes += key.length + Buffer.byteLength(value) + HEADER_LINE_BYTES;
  }
  return bytes === 0 ? 0 : bytes + HEADER_FRAME_BYTES;
}

export function closedError(): CellwrightError {
  return new CellwrightError('closed', 'the bus is closed');
}

/** What a caller reads in the header `Nats-Service-Error` when the handler threw: one line, of bounded length. */
export function serviceErrorText(error: unknown): string {
  return messageOf(error).replace(/\s+/g, ' ').trim().slice(0, MAX_ERROR_CHARACTERS) || 'the handler failed';
}

/** The headers with which NATS services answer when the handler threw. */
export function serviceErrorHeaders(error: unknown): Record<string, string> {
  return { 'Nats-Service-Error': serviceErrorText(error), 'Nats-Service-Error-Code': '500' };
}

/** Where errors go when nobody listens for them: seen, at least. Of one of ours the stack tells nothing that helps. */
export function reportToConsole(error: unknown, subject: string): void {
  if (error instanceof CellwrightError) console.error(`bus: '${subject}': ${error.message}`);
  else console.error(`bus: '${subject}':`, error);
}

/** `listener`, made unable to throw: it runs where a throw would stop the reader of a connection. */
export const guarded = (listener: ErrorListener): ErrorListener =>
  unfailing(listener, (failure, _error, subject) => reportToConsole(failure, subject));
