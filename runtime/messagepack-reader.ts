// Reads MessagePack of the kind that travels here, and checks it in the same pass: nothing is built from bytes that
// were not looked at, and no input can make it slow or deep. What is wrong is said without quoting the data.

import { isUtf8 } from 'node:buffer';

/** How many arrays and maps may be open at once: far more than any message has, far less than a stack holds. */
export const MAX_DEPTH = 64;

/** Why the bytes cannot be read. */
export class Unreadable extends Error {}

const TRUNCATED = 'it ends too early';
/** 2^53 in 64 bits has this in its upper half, and so has nothing smaller. */
const UPPER_LIMIT = 0x20_0000;

// Ids, names of fields and words of messages come again and again: they are kept, by a hash of their bytes, so that
// most texts need not be made anew. One that falls on another takes its place.
const KEPT_TEXTS = 8_192;
const MAX_KEPT_LENGTH = 40;
const kept: string[] = new Array(KEPT_TEXTS).fill('');

// What is being read. Shared by all calls, as a call never yields.
let bytes: Buffer = Buffer.alloc(0);
let at = 0;
let end = 0;

/**
 * Reads exactly one map or array of null, booleans, finite numbers, integers that a double holds, UTF-8 strings,
 * binary, and such maps (with string keys, `__proto__` not among them) and arrays.
 * @throws Unreadable and nothing else.
 */
export function readMessagePack(data: Buffer): object {
  bytes = data;
  at = 0;
  end = data.length;
  if (end === 0) throw new Unreadable('it is empty');
  const first = data[0] as number;
  if (!opens(first)) throw new Unreadable('the top level is neither an object nor an array');
  at = 1;
  const value = readContainer(first, 0);
  if (at !== end) throw new Unreadable('bytes follow the value');
  return value;
}

function opens(token: number): boolean {
  return (token >= 0x80 && token <= 0x9f) || (token >= 0xdc && token <= 0xdf);
}

function readValue(depth: number): unknown {
  if (at >= end) throw new Unreadable(TRUNCATED);
  const token = bytes[at++] as number;
  if (token <= 0x7f) return token;
  if (token >= 0xe0) return token - 0x100;
  if (token >= 0xa0 && token <= 0xbf) return readText(token & 0x1f);
  if (token <= 0x9f || token >= 0xdc) return readContainer(token, depth);
  switch (token) {
    case 0xc0:
      return null;
    case 0xc2:
      return false;
    case 0xc3:
      return true;
    case 0xc4:
      return readBinary(readUnsigned(1));
    case 0xc5:
      return readBinary(readUnsigned(2));
    case 0xc6:
      return readBinary(readUnsigned(4));
    case 0xca:
      return finite(bytes.readFloatBE(skip(4)));
    case 0xcb:
      return finite(bytes.readDoubleBE(skip(8)));
    case 0xcc:
      return readUnsigned(1);
    case 0xcd:
      return readUnsigned(2);
    case 0xce:
      return readUnsigned(4);
    case 0xcf:
      return readLong(false);
    case 0xd0:
      return bytes.readInt8(skip(1));
    case 0xd1:
      return bytes.readInt16BE(skip(2));
    case 0xd2:
      return bytes.readInt32BE(skip(4));
    case 0xd3:
      return readLong(true);
    case 0xd9:
      return readText(readUnsigned(1));
    case 0xda:
      return readText(readUnsigned(2));
    case 0xdb:
      return readText(readUnsigned(4));
    case 0xc1:
      throw new Unreadable('it has a byte that MessagePack never uses');
    default:
      throw new Unreadable('extension types are not used');
  }
}

function readContainer(token: number, depth: number): object {
  if (depth === MAX_DEPTH) throw new Unreadable(`it is nested deeper than ${MAX_DEPTH}`);
  if (token <= 0x8f) return readMap(token & 0x0f, depth + 1);
  if (token <= 0x9f) return readArray(token & 0x0f, depth + 1);
  const count = readUnsigned(token % 2 === 0 ? 2 : 4);
  return token >= 0xde ? readMap(count, depth + 1) : readArray(count, depth + 1);
}

function readArray(count: number, depth: number): unknown[] {
  // Made at its length: an array that grows keeps room for 17 items, and most have one.
  if (count === 0) return [];
  if (count === 1) return [readValue(depth)];
  if (count === 2) return [readValue(depth), readValue(depth)];
  // Each item takes a byte at least.
  if (count > end - at) throw new Unreadable(TRUNCATED);
  const array = new Array<unknown>(count);
  for (let n = 0; n < count; n += 1) array[n] = readValue(depth);
  return array;
}

function readMap(count: number, depth: number): object {
  const map: Record<string, unknown> = {};
  for (let n = 0; n < count; n += 1) {
    const key = readKey();
    map[key] = readValue(depth);
  }
  return map;
}

function readKey(): string {
  if (at >= end) throw new Unreadable(TRUNCATED);
  const token = bytes[at++] as number;
  let length: number;
  if (token >= 0xa0 && token <= 0xbf) length = token & 0x1f;
  else if (token >= 0xd9 && token <= 0xdb) length = readUnsigned(1 << (token - 0xd9));
  else throw new Unreadable('a key is not a string');
  const key = readText(length);
  if (length === 9 && key === '__proto__') throw new Unreadable("the key '__proto__' is not allowed");
  return key;
}

function readText(length: number): string {
  const begin = at;
  const stop = begin + length;
  if (stop > end) throw new Unreadable(TRUNCATED);
  at = stop;
  if (length > MAX_KEPT_LENGTH) return readLongText(begin, stop);
  // Local, so that the loops need not look for it each time.
  const data = bytes;
  let hash = length;
  let all = 0;
  for (let position = begin; position < stop; position += 1) {
    const byte = data[position] as number;
    all |= byte;
    hash = (Math.imul(hash, 31) + byte) | 0;
  }
  if (all >= 0x80) return readLongText(begin, stop);
  const slot = (hash ^ (hash >>> 15)) & (KEPT_TEXTS - 1);
  const known = kept[slot] as string;
  if (known.length === length && isAt(known, data, begin)) return known;
  const text = data.toString('latin1', begin, stop);
  kept[slot] = text;
  return text;
}

function isAt(text: string, data: Buffer, begin: number): boolean {
  for (let position = text.length - 1; position >= 0; position -= 1) {
    if (text.charCodeAt(position) !== data[begin + position]) return false;
  }
  return true;
}

function readLongText(begin: number, stop: number): string {
  if (!isUtf8(bytes.subarray(begin, stop))) throw new Unreadable('a string is not UTF-8');
  return bytes.toString('utf8', begin, stop);
}

/** A copy, so that what is read neither keeps the network buffer alive nor changes with it. */
function readBinary(length: number): Uint8Array {
  const begin = skip(length);
  const copy = new Uint8Array(length);
  copy.set(bytes.subarray(begin, begin + length));
  return copy;
}

function readUnsigned(size: 1 | 2 | 4 | number): number {
  const begin = skip(size);
  return size === 1 ? (bytes[begin] as number) : size === 2 ? bytes.readUInt16BE(begin) : bytes.readUInt32BE(begin);
}

function readLong(signed: boolean): number {
  const begin = skip(8);
  const upper = signed ? bytes.readInt32BE(begin) : bytes.readUInt32BE(begin);
  const lower = bytes.readUInt32BE(begin + 4);
  const tooLow = upper < -UPPER_LIMIT || (upper === -UPPER_LIMIT && lower === 0);
  if (upper >= UPPER_LIMIT || tooLow) throw new Unreadable('an integer is beyond 2^53 - 1');
  return upper * 0x1_0000_0000 + lower;
}

/** The position of the next `length` bytes, which are passed. */
function skip(length: number): number {
  const begin = at;
  at += length;
  if (at > end) throw new Unreadable(TRUNCATED);
  return begin;
}

function finite(number: number): number {
  if (!Number.isFinite(number)) throw new Unreadable('a number is not finite');
  return number;
}
