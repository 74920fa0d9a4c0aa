// Writes MessagePack that any reader understands, and refuses in the same pass what no reader here would take: so
// whatever is written can be read back. Maps and numbers are in their shortest form.

import { MAX_DEPTH } from './messagepack-reader.ts';

/** Why a value cannot be written. */
export class Unwritable extends Error {}

/** Bodies are written one after the other into pieces of memory of this size; a larger body gets one of its own. */
const PIECE_BYTES = 64 * 1024;
/** Up to this length a text is written character by character: for short ones that is faster than a call. */
const SHORT_TEXT = 48;

/** Half a character: UTF-8 has no form for it. */
const SURROGATE = /\p{Surrogate}/u;

// Where it is being written. Shared by all calls, as a call never yields.
let bytes: Buffer = Buffer.allocUnsafeSlow(PIECE_BYTES);
let begin = 0;
let at = 0;

/**
 * The MessagePack of a map or array.
 * @returns A view on a piece of memory that holds other bodies too; nothing in it is overwritten later.
 * @throws Unwritable for what cannot travel, RangeError for what is too large for memory.
 */
export function writeMessagePack(value: object): Buffer {
  begin = at;
  try {
    writeContainer(value, 0);
  } catch (error) {
    at = begin;
    throw error;
  }
  return bytes.subarray(begin, at);
}

/** Makes sure that there is room for this many bytes more. */
function reserve(more: number): void {
  if (at + more <= bytes.length) return;
  const written = at - begin;
  const next = Buffer.allocUnsafeSlow(Math.max(PIECE_BYTES, 2 * (written + more)));
  bytes.copy(next, 0, begin, at);
  bytes = next;
  begin = 0;
  at = written;
}

function writeValue(value: unknown, depth: number): void {
  switch (typeof value) {
    case 'string':
      return writeText(value);
    case 'number':
      return writeNumber(value);
    case 'boolean':
      reserve(1);
      bytes[at++] = value ? 0xc3 : 0xc2;
      return;
    case 'undefined':
      reserve(1);
      bytes[at++] = 0xc0;
      return;
    case 'object':
      if (value !== null) return writeContainer(value, depth);
      reserve(1);
      bytes[at++] = 0xc0;
      return;
    default:
      throw new Unwritable(`a ${typeof value} cannot travel`);
  }
}

function writeContainer(value: object, depth: number): void {
  if (Array.isArray(value)) return writeArray(value, depth + 1);
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null)
    return writeMap(value as Record<string, unknown>, depth + 1);
  if (value instanceof Uint8Array) return writeBinary(value);
  // An object of a class is what it has of its own; maps, dates and their like have no form here.
  const { toJSON } = value as { toJSON?: unknown };
  const isOwn = Object.prototype.toString.call(value) === '[object Object]';
  if (!isOwn) throw new Unwritable('only objects, arrays and binary can travel');
  if (typeof toJSON !== 'function') return writeMap({ ...value }, depth + 1);
  if (depth >= MAX_DEPTH) throw new Unwritable(`it is nested deeper than ${MAX_DEPTH}`);
  writeValue(toJSON.call(value), depth + 1);
}

function writeArray(array: readonly unknown[], depth: number): void {
  if (depth > MAX_DEPTH) throw new Unwritable(`it is nested deeper than ${MAX_DEPTH}`);
  const { length } = array;
  reserve(5);
  if (length <= 0x0f) bytes[at++] = 0x90 | length;
  else writeHead(length <= 0xffff ? 0xdc : 0xdd, length <= 0xffff ? 2 : 4, length);
  for (let position = 0; position < length; position += 1) writeValue(array[position], depth);
}

function writeMap(map: Record<string, unknown>, depth: number): void {
  if (depth > MAX_DEPTH) throw new Unwritable(`it is nested deeper than ${MAX_DEPTH}`);
  reserve(1);
  // Counted while it is written: most maps have few keys, and a longer head is made room for.
  const head = at - begin;
  at += 1;
  let count = 0;
  for (const key in map) {
    const value = map[key];
    if (value === undefined) continue;
    if (key.length === 9 && key === '__proto__') throw new Unwritable("the key '__proto__' is not allowed");
    count += 1;
    writeText(key);
    writeValue(value, depth);
  }
  if (count <= 0x0f) bytes[begin + head] = 0x80 | count;
  else widenHead(head, count);
}

function widenHead(head: number, count: number): void {
  const size = count <= 0xffff ? 2 : 4;
  reserve(size);
  const from = begin + head + 1;
  bytes.copyWithin(from + size, from, at);
  const stop = at + size;
  at = begin + head;
  writeHead(size === 2 ? 0xde : 0xdf, size, count);
  at = stop;
}

function writeHead(token: number, size: 1 | 2 | 4, count: number): void {
  bytes[at++] = token;
  if (size === 1) bytes[at] = count;
  else if (size === 2) bytes.writeUInt16BE(count, at);
  else bytes.writeUInt32BE(count, at);
  at += size;
}

function writeText(text: string): void {
  const { length } = text;
  // As many bytes as it could take, and its head.
  reserve(5 + 3 * length);
  if (length <= SHORT_TEXT && writeShortText(text, length)) return;
  const size = Buffer.byteLength(text);
  if (size !== length && SURROGATE.test(text)) throw new Unwritable('a string has half a character');
  if (size <= 0x1f) bytes[at++] = 0xa0 | size;
  else if (size <= 0xff) writeHead(0xd9, 1, size);
  else writeHead(size <= 0xffff ? 0xda : 0xdb, size <= 0xffff ? 2 : 4, size);
  at += bytes.write(text, at, size, size === length ? 'latin1' : 'utf8');
}

/** False, and nothing written, when the text is not all of ASCII. */
function writeShortText(text: string, length: number): boolean {
  // Local, so that the loop need not look for it each time.
  const data = bytes;
  let to = at;
  if (length <= 0x1f) {
    data[to++] = 0xa0 | length;
  } else {
    data[to++] = 0xd9;
    data[to++] = length;
  }
  for (let position = 0; position < length; position += 1) {
    const code = text.charCodeAt(position);
    if (code >= 0x80) return false;
    data[to++] = code;
  }
  at = to;
  return true;
}

function writeBinary(data: Uint8Array): void {
  const { length } = data;
  reserve(5 + length);
  if (length <= 0xff) writeHead(0xc4, 1, length);
  else writeHead(length <= 0xffff ? 0xc5 : 0xc6, length <= 0xffff ? 2 : 4, length);
  bytes.set(data, at);
  at += length;
}

function writeNumber(number: number): void {
  reserve(9);
  if (number >>> 0 === number) {
    if (number <= 0x7f) bytes[at++] = number;
    else if (number <= 0xff) writeHead(0xcc, 1, number);
    else if (number <= 0xffff) writeHead(0xcd, 2, number);
    else writeHead(0xce, 4, number);
  } else if (number >> 0 === number) {
    if (number >= -0x20) {
      bytes[at++] = number + 0x100;
    } else if (number >= -0x80) {
      bytes[at++] = 0xd0;
      at = bytes.writeInt8(number, at);
    } else if (number >= -0x8000) {
      bytes[at++] = 0xd1;
      at = bytes.writeInt16BE(number, at);
    } else {
      bytes[at++] = 0xd2;
      at = bytes.writeInt32BE(number, at);
    }
  } else {
    if (!Number.isFinite(number)) throw new Unwritable('a number is not finite');
    bytes[at++] = 0xcb;
    at = bytes.writeDoubleBE(number, at);
  }
}
