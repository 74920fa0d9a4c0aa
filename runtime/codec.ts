// Bodies on the wire and in journals: MessagePack that any reader understands, or JSON as people type it.
// It knows bytes and plain values only; whether a value has the right shape is for the message schemas.

import { isUtf8 } from 'node:buffer';
// Without what reads strings natively: those are slices of a larger text, and one that is kept would keep all of that.
// Reading alone takes half as long again, a whole build no longer. (It is back for the whole process where somebody imports
// all of msgpackr.)
import { Packr, RESET_BUFFER_MODE } from 'msgpackr/pack';
import { present } from '../actors/present.ts';
import { CellwrightError, MalformedError, messageOf } from './errors.ts';
import { isTold, outsideStrings } from './json-text.ts';
import { faultIn, MAX_DEPTH } from './messagepack.ts';
import { MARK, readExactly } from './messagepack-reader.ts';

/** The largest body read when the caller names no limit, in bytes: what a NATS server carries by default. */
const DEFAULT_MAX_BYTES = 1024 * 1024;

/** Where values are written, bytes: room for one of a body that a NATS server carries, and what msgpackr begins with. */
const MAX_BUFFER_BYTES = 8 * 1024 * 1024;
const FIRST_BUFFER_BYTES = 8 * 1024;

// No records: they are msgpackr's own and no one else reads them. Absent and undefined are one, as in JSON.
// Binary is copied out, so that a decoded value keeps neither the network buffer alive nor changes with it.
const options = { useRecords: false, variableMapSize: true, int64AsType: 'number', copyBuffers: true } as const;
/** Writes undefined as an extension, which the check of what was written finds. */
const packr = new Packr({ ...options });
/** Leaves out what is undefined, which takes half as long again. */
const skipping = { ...options, skipValues: [undefined], encodeUndefinedAsNil: true };
const skippingPackr = new Packr(skipping);
/** Whether a value is being written. */
let isPacking = false;

/**
 * MessagePack of a plain value: maps, arrays, strings, finite numbers, booleans, null and Uint8Array; nothing else may be
 * in it. A property that is undefined is left out. Whatever is encoded, `decode` reads back, so a journal never holds what its
 * owner cannot replay.
 * @throws CellwrightError `unencodable` when the value, or something in it, cannot travel.
 */
export function encode(value: unknown): Uint8Array {
  const data = pack(packr, value);
  if (faultIn(data) === undefined) return Buffer.from(data);
  const skipped = pack(skippingPackr, value);
  const fault = faultIn(skipped);
  if (fault !== undefined) throw unencodable(value, fault);
  return Buffer.from(skipped);
}

/**
 * As `encode`, of what callers made, in which there may be anything: it is refused where it would be written as
 * something else, such as a Set as a list, a function as nothing, or a Float32Array as bytes of another message.
 * @throws CellwrightError `unencodable` with the field.
 */
export function encodeForeign(value: unknown): Uint8Array {
  const whole = kindOfNoData(value);
  if (whole !== undefined) {
    throw new CellwrightError('unencodable', `the value cannot be encoded: it is a ${whole}`);
  }
  const found = isDeeperThan(MAX_DEPTH, value) ? undefined : noDataIn(value);
  if (found === undefined) return encode(value);
  const { field, kind } = found;
  const message = `the field '${field}' cannot be encoded: it is a ${kind}`;
  throw new CellwrightError('unencodable', message, { field });
}

/** Objects that are no plain ones, and yet have no form of their own in which they travel. */
const NO_DATA = [
  Function,
  Promise,
  Date,
  Set,
  Map,
  WeakSet,
  WeakMap,
  Error,
  RegExp,
  Number,
  String,
  Boolean,
  ArrayBuffer,
  SharedArrayBuffer,
] as const;

/** The first thing in a value that is no data, with the path to it. */
export function noDataIn(value: unknown): { readonly field: string; readonly kind: string } | undefined {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return undefined;
  for (const [key, item] of itemsOf(value)) {
    const kind = kindOfNoData(item);
    if (kind !== undefined) return { field: key, kind };
    const inner = noDataIn(item);
    if (inner !== undefined) return { ...inner, field: `${key}.${inner.field}` };
  }
  return undefined;
}

/** What a value is that is no data, such as a Map or a promise, whose fields nobody could read. */
export function kindOfNoData(item: unknown): string | undefined {
  if (ArrayBuffer.isView(item) && !(item instanceof Uint8Array)) return item.constructor.name;
  const isObject = typeof item === 'function' || (typeof item === 'object' && item !== null);
  return isObject && !isPlain(item) ? NO_DATA.find((kind) => item instanceof kind)?.name : undefined;
}

/** Names the field that is at fault, where one is. */
function unencodable(value: unknown, fault: string): CellwrightError {
  const deep = itemsOf(value ?? {}).find(([, item]) => isDeeperThan(MAX_DEPTH - 1, item))?.[0];
  const why = deep === undefined ? fault : `it is nested deeper than ${MAX_DEPTH}`;
  const field = deep ?? faultyField(value, MAX_DEPTH);
  if (field === undefined) return new CellwrightError('unencodable', `the value cannot be encoded: ${why}`);
  return new CellwrightError('unencodable', `the field '${field}' cannot be encoded: ${why}`, { field });
}

/** Whether there are more objects and arrays within each other than `depth`; without end where they go in a circle. */
export function isDeeperThan(depth: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return false;
  return depth === 0 || itemsOf(value).some(([, item]) => isDeeperThan(depth - 1, item));
}

/** What stands for a property that throws when it is read: like that, it cannot travel. */
const UNREADABLE = Symbol('unreadable');

function itemsOf(value: object): [string, unknown][] {
  return Object.keys(value).map((key) => {
    try {
      return [key, value[key as never]];
    } catch {
      return [key, UNREADABLE];
    }
  });
}

/** The path to the first thing that no message carries, such as `resources.VCPU`; undefined when nothing is found. */
function faultyField(value: unknown, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || depth === 0) return undefined;
  for (const [key, item] of itemsOf(value)) {
    const inner = faultyField(item, depth - 1);
    if (inner !== undefined) return `${key}.${inner}`;
    if (!isPlain(item) && isAtFault(item)) return key;
  }
  return undefined;
}

function isPlain(item: unknown): boolean {
  if (typeof item !== 'object' || item === null) return false;
  const prototype = Object.getPrototypeOf(item);
  return prototype === Object.prototype || prototype === Array.prototype || prototype === null;
}

/** Whether it cannot travel though everything around it could. */
function isAtFault(item: unknown): boolean {
  try {
    return faultIn(skippingPackr.pack([item])) !== undefined;
  } catch {
    return true;
  }
}

/**
 * Left to itself, msgpackr writes one value behind the other, and once there is no room begins another buffer, four times as
 * large as the largest value so far. One that is kept for a while keeps all of that: with tens of megabytes of it the engine
 * marks its whole heap every second.
 * @returns A view on what the next value is written over.
 */
function pack(by: Packr, value: unknown): Buffer {
  const isInner = isPacking;
  isPacking = true;
  try {
    const data = by.pack(value, RESET_BUFFER_MODE);
    // A getter in a value may pack another one: the outer one is still being written.
    if (data.buffer.byteLength > MAX_BUFFER_BYTES && !isInner) by.useBuffer(Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES));
    return data;
  } catch (cause) {
    throw unencodable(value, messageOf(cause));
  } finally {
    isPacking = isInner;
  }
}

/**
 * The same value as JSON text, for people and for callers that asked in JSON.
 * @throws CellwrightError `unencodable` when the value has a cycle or a bigint, or is not an object or array.
 */
export function jsonOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) {
    throw new CellwrightError('unencodable', 'the value cannot be encoded: it is neither an object nor an array');
  }
  try {
    // None of an object that stands for something else by its `toJSON`.
    const text: string | undefined = JSON.stringify(value);
    if (text !== undefined) return text;
  } catch (cause) {
    throw new CellwrightError('unencodable', 'the value cannot be encoded', { cause });
  }
  throw new CellwrightError('unencodable', 'the value cannot be encoded');
}

/**
 * The bytes of that text.
 * @throws As `jsonOf`.
 */
export const encodeJson = (value: unknown): Uint8Array => Buffer.from(jsonOf(value));

/**
 * Reads MessagePack, or JSON when the first byte says so. The result is made of fresh plain objects and arrays.
 * @param maxBytes The largest body accepted, in bytes; default 1 MiB.
 * @throws MalformedError, and nothing else, whatever `data` holds.
 */
export function decode(data: Uint8Array, maxBytes: number = DEFAULT_MAX_BYTES): unknown {
  if (data.length > maxBytes) {
    throw new MalformedError(`the body has ${data.length} bytes; at most ${maxBytes} are read`);
  }
  // A view of our own: msgpackr leaves a property on what it reads.
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return isJson(bytes) ? readJson(bytes) : readMessagePack(bytes);
}

/** Whether the body is JSON: no MessagePack map or array begins with white space, `{` or `[`. */
export function isJson(data: Uint8Array): boolean {
  for (const byte of data) {
    if (byte === 0x7b || byte === 0x5b) return true;
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return false;
  }
  return false;
}

/** Whether the first byte is a character of ASCII, as of what people type, which begins no MessagePack map or array. */
function isTyped(data: Uint8Array): boolean {
  const first = data[0] ?? 0;
  return (first >= 0x20 && first < 0x7f) || (first >= 0x09 && first <= 0x0d);
}

function readMessagePack(bytes: Buffer): unknown {
  if (isTyped(bytes)) throw new MalformedError('the body is neither a JSON object or array nor readable MessagePack');
  const fault = faultIn(bytes);
  if (fault !== undefined) throw new MalformedError(`the body is not readable MessagePack: ${fault}`);
  if (bytes.includes(MARK)) return readExactly(bytes);
  try {
    return packr.unpack(bytes);
  } catch {
    // The message of msgpackr quotes the data, so it goes no further.
    throw new MalformedError('the body is not readable MessagePack');
  }
}

function readJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new MalformedError('the body is not readable JSON: it is not UTF-8');
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString());
  } catch (error) {
    // The message of JSON.parse quotes the data, but where it stopped is worth knowing.
    const at = /position (\d+)/.exec(String(error))?.[1];
    throw new MalformedError(`the body is not readable JSON${at === undefined ? '' : ` (at character ${at})`}`);
  }
  const fault = faultInJson(value, 1, hasLongInteger(bytes));
  if (fault !== undefined) {
    const { what, field: path } = fault;
    const field = path !== undefined && isTold(path) ? path : undefined;
    const where = field === undefined ? '' : ` in the field '${field}'`;
    throw new MalformedError(`the body is not readable JSON: ${what}${where}`, present({ field }));
  }
  return value;
}

const TOO_DEEP = `it is nested deeper than ${MAX_DEPTH}`;

interface FaultInJson {
  readonly what: string;
  /** The path to it, such as `resources.VCPU`; absent of the whole. */
  readonly field?: string;
}

/** Digits of a whole number that is written as one; a fraction, or one with an exponent, is as near as can be said. */
const LONG_INTEGER = /(?<![\d.]|[eE][+-]?)(\d{16,})(?![\d.eE])/g;
const MOST_DIGITS = String(Number.MAX_SAFE_INTEGER);

/** Whether a whole number is written, outside of any string, of which JSON.parse may read another one. */
function hasLongInteger(bytes: Buffer): boolean {
  const text = bytes.toString('latin1');
  // Hardly any has so many digits in a row.
  if (!/\d{16}/.test(text)) return false;
  for (const [, digits = ''] of outsideStrings(text).matchAll(LONG_INTEGER)) {
    if (digits.length > MOST_DIGITS.length || digits > MOST_DIGITS) return true;
  }
  return false;
}

/**
 * The bounds of MessagePack, which JSON.parse does not keep: depth, keys, well-formed text, finite numbers, and whole ones
 * that are read as they are.
 */
function faultInJson(value: unknown, depth: number, mayBeInexact: boolean): FaultInJson | undefined {
  if (typeof value === 'string')
    return value.search(HALF) === -1 ? undefined : { what: 'a string has half a character' };
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return { what: 'a number is too large' };
    const isInexact = mayBeInexact && Number.isInteger(value) && !Number.isSafeInteger(value);
    return isInexact ? { what: 'an integer is beyond 2^53 - 1' } : undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth > MAX_DEPTH) return { what: TOO_DEEP };
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) {
      const fault = faultInJson(value[at], depth + 1, mayBeInexact);
      if (fault !== undefined) return under(String(at), fault);
    }
    return undefined;
  }
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__') return { what: "the key '__proto__' is not allowed", field: key };
    if (key.search(HALF) !== -1) return { what: 'a key has half a character', field: key.replaceAll(HALF, '\uFFFD') };
    const fault = faultInJson(item, depth + 1, mayBeInexact);
    if (fault !== undefined) return under(key, fault);
  }
  return undefined;
}

/** A fault of what a key stands for. The path to where it is too deep would say nothing. */
function under(key: string, fault: FaultInJson): FaultInJson {
  if (fault.what === TOO_DEEP) return fault;
  return { ...fault, field: fault.field === undefined ? key : `${key}.${fault.field}` };
}

const HALF = /\p{Surrogate}/gu;
