// The errors of the runtime: one base whose `code` and `retryable` tell a caller what to do next.
// A subclass exists only where a caller branches on it.

export interface CellwrightErrorOptions {
  /** The field of the input that is wrong, as a path such as `resources.VCPU`. */
  field?: string;
  /** True when the same call may succeed later without being changed. */
  retryable?: boolean;
  /** When it is worth trying again, ms from now; absent when there is no telling. */
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** The base of every error that the runtime throws or answers with. */
export class CellwrightError extends Error {
  override readonly name: string = 'CellwrightError';
  /** Stable, kebab-case: meant for programs. The message is meant for people. */
  readonly code: string;
  readonly retryable: boolean;
  readonly field: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: string, message: string, options: CellwrightErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.field = options.field;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** The shape in which an error crosses the wire. */
  toJSON(): ErrorBody {
    return {
      code: this.code,
      message: this.message,
      retryable: this.retryable,
      ...(this.field === undefined ? {} : { field: this.field }),
      ...(this.retryAfterMs === undefined ? {} : { retryAfterMs: this.retryAfterMs }),
    };
  }
}

/** An error as it stands in the body of an answer: `{ error: ErrorBody }`. */
export interface ErrorBody {
  code: string;
  message: string;
  retryable: boolean;
  field?: string;
  retryAfterMs?: number;
}

/** The input cannot be read or does not fit its schema; sending it again cannot help. */
export class MalformedError extends CellwrightError {
  override readonly name = 'MalformedError';
  constructor(message: string, options: { field?: string; cause?: unknown } = {}) {
    super('malformed', message, options);
  }
}

/** A message that no server would carry: whatever is in it has to travel in several. */
export class PayloadTooLargeError extends CellwrightError {
  override readonly name = 'PayloadTooLargeError';
  /** How large it is, and how large it may be, bytes. */
  readonly bytes: number;
  readonly maxBytes: number;

  constructor(subject: string, bytes: number, maxBytes: number) {
    const message = `a message of ${bytes} bytes to '${subject}' is over the limit of ${maxBytes} bytes`;
    super('payload-too-large', message);
    this.bytes = bytes;
    this.maxBytes = maxBytes;
  }
}

/** Nobody listens on the subject: the actor has no owner now. Look again later. */
export class NoRespondersError extends CellwrightError {
  override readonly name = 'NoRespondersError';
  constructor(subject: string) {
    super('no-responders', `nobody answers on '${subject}'`, { retryable: true });
  }
}

/** No answer came in time; the outcome is unknown. */
export class TimeoutError extends CellwrightError {
  override readonly name = 'TimeoutError';
  /** @param said What to say instead, where somebody else has found it out. */
  constructor(what: string, afterMs: number, said?: string) {
    const message = said ?? `${what} did not answer within ${afterMs} ms; the outcome is unknown`;
    super('timeout', message, { retryable: true });
  }
}

/** The mailbox is full: the message was not taken, so it may be said again without harm. */
export class OverloadedError extends CellwrightError {
  override readonly name = 'OverloadedError';
  /** @param said What to say instead, where somebody else has found it out. */
  constructor(who: string, retryAfterMs?: number, said?: string) {
    const when = retryAfterMs === undefined ? 'later' : `in ${retryAfterMs} ms`;
    const message = said ?? `the mailbox of '${who}' is full; try again ${when}`;
    super('overloaded', message, { retryable: true, retryAfterMs });
  }
}

/** The error that somebody has answered with, of the class that its code has. */
export function errorFrom({ code, message, retryable, field, retryAfterMs: told }: ErrorBody): CellwrightError {
  const retryAfterMs = Number.isFinite(told) ? told : undefined;
  const named = field === undefined ? {} : { field };
  if (code === 'malformed') return new MalformedError(message, named);
  if (code === 'timeout') return new TimeoutError('', 0, message);
  if (code === 'overloaded' && field === undefined) return new OverloadedError('', retryAfterMs, message);
  return new CellwrightError(code, message, { retryable, retryAfterMs, ...named });
}

/** Of how many errors that an error was made of it is told what they say. */
const MAX_PARTS = 8;

/** What an error says, whatever was thrown: also what has no message, and what cannot be put into words. Never throws. */
export function messageOf(error: unknown): string {
  try {
    if (error instanceof Error && String(error.message).trim() === '') return unsaid(error);
    const said: unknown = error instanceof Error ? error.message : error;
    return typeof said === 'string' ? said : textOf(said);
  } catch {
    return 'it says nothing that can be read';
  }
}

/** The longest text that is made of an object, in characters: whoever threw it thought of no reader. */
const MAX_TEXT = 1_000;

const NO_WORDS = '[object Object]';

/** Of an object that has no words of its own, its message, as what looks like an error has one, or else what is in it. */
function textOf(thrown: unknown): string {
  const isMute = typeof thrown === 'object' && thrown !== null && typeof thrown.toString !== 'function';
  const text = isMute ? NO_WORDS : String(thrown);
  if (text !== NO_WORDS) return text;
  const { message } = thrown as { readonly message?: unknown };
  if (typeof message === 'string' && message.trim() !== '') return message;
  return (contentOf(thrown as object) ?? text).slice(0, MAX_TEXT).replace(/[\uD800-\uDBFF]$/, '');
}

/** Of one that goes in a circle, as what holds a request and its answer does, what is said in a word. */
function contentOf(thrown: object): string | undefined {
  try {
    return JSON.stringify(thrown, inWords);
  } catch (error) {
    const said = Object.entries(thrown).filter(([, value]) => typeof value === 'string' || typeof value === 'number');
    if (said.length === 0) throw error;
    return JSON.stringify(Object.fromEntries(said));
  }
}

/** What JSON would leave out, or has no form for. */
function inWords(_: string, value: unknown): unknown {
  if (value instanceof Error) return messageOf(value);
  return typeof value === 'bigint' ? String(value) : value;
}

/**
 * Of an error without a message, what it was made of, or else its name and code: Node joins so what comes of each address of
 * a server that it does not reach.
 */
function unsaid(error: Error & { readonly code?: unknown; readonly errors?: unknown }): string {
  const { name, code, errors } = error;
  const parts = Array.isArray(errors) ? errors.slice(0, MAX_PARTS).flatMap((one) => partOf(one) ?? []) : [];
  if (parts.length > 0) return [...new Set(parts)].join('; ');
  return typeof code === 'string' ? `${name} ${code}` : String(name);
}

const partOf = (error: unknown): string | undefined =>
  error instanceof Error && error.message.trim() !== '' ? error.message : undefined;

/**
 * The same with what it was caused by, where that is not said: of a server that cannot be reached `fetch` says only that it
 * failed.
 */
export function messageInFull(error: unknown): string {
  const said = messageOf(error);
  try {
    const { cause } = error instanceof Error ? error : {};
    if (!(cause instanceof Error)) return said;
    const why = messageOf(cause);
    return said.includes(why) ? said : `${said}: ${why}`;
  } catch {
    return said;
  }
}
