// Checks that bytes are MessagePack of the kind that travels here, before anything is built from them.
// It allocates next to nothing and does not recurse, so no input can make it slow or deep. Reading is codec.ts's.

import { isUtf8 } from 'node:buffer';

/** How many arrays and maps may be open at once: far more than any message has, far less than a stack holds. */
export const MAX_DEPTH = 64;

const TRUNCATED = 'it ends too early';
const BAD_INTEGER = 'an integer is beyond 2^53 - 1';
/** 2^53 in 64 bits has this in its upper half, and so has nothing smaller. */
const UPPER_LIMIT = 0x20_0000;

/** What is set in four bytes of which one at least is more than ASCII. */
const NOT_ASCII = 0x8080_8080;

// The containers around the one being read. Shared by all calls, as a check never yields.
const outerLeft = new Int32Array(MAX_DEPTH);
const outerIsMap = new Uint8Array(MAX_DEPTH);

/**
 * What is wrong with `data`, in a few words that quote none of it, or undefined when it is exactly one map or
 * array of null, booleans, finite numbers, integers that a double holds, UTF-8 strings, binary, and such maps
 * (with string keys, `__proto__` not among them) and arrays.
 */
export function faultIn(data: Buffer): string | undefined {
  const end = data.length;
  const words = new DataView(data.buffer, data.byteOffset, end);
  const first = data[0];
  if (first === undefined) return 'it is empty';
  if (!opens(first)) return 'the top level is neither an object nor an array';
  let position = 0;
  let depth = 0;
  // The container being read: how many values are still to come, and whether it is a map (then keys count too).
  let left = 1;
  let map = false;
  for (;;) {
    while (left === 0) {
      if (depth === 0) return position === end ? undefined : 'bytes follow the value';
      depth--;
      left = outerLeft[depth] as number;
      map = outerIsMap[depth] === 1;
    }
    if (position >= end) return TRUNCATED;
    const asKey = map && (left & 1) === 0;
    left--;
    const token = data[position++] as number;

    // Strings: by far the most frequent.
    if ((token >= 0xa0 && token <= 0xbf) || (token >= 0xd9 && token <= 0xdb)) {
      let length = token - 0xa0;
      if (token >= 0xd9) {
        const bytes = 1 << (token - 0xd9);
        if (position + bytes > end) return TRUNCATED;
        length = data.readUIntBE(position, bytes);
        position += bytes;
      }
      const stop = position + length;
      if (stop > end) return TRUNCATED;
      if (asKey && length === 9 && data[position] === 0x5f && data.toString('latin1', position, stop) === '__proto__') {
        return "the key '__proto__' is not allowed";
      }
      while (position + 4 <= stop && (words.getUint32(position) & NOT_ASCII) === 0) position += 4;
      while (position < stop && (data[position] as number) < 0x80) position++;
      if (position < stop && !isUtf8(data.subarray(position, stop))) return 'a string is not UTF-8';
      position = stop;
      continue;
    }
    if (asKey) return 'a key is not a string';

    // Arrays and maps.
    if (opens(token)) {
      let count = token & 0x0f;
      if (token >= 0xdc) {
        const bytes = token % 2 === 0 ? 2 : 4;
        if (position + bytes > end) return TRUNCATED;
        count = data.readUIntBE(position, bytes);
        position += bytes;
      }
      const opensMap = token <= 0x8f || token >= 0xde;
      if (opensMap) count *= 2;
      // Each value has a byte at least; and what is counted stays a small integer.
      if (count > end - position) return TRUNCATED;
      if (depth === MAX_DEPTH) return `it is nested deeper than ${MAX_DEPTH}`;
      outerLeft[depth] = left;
      outerIsMap[depth] = map ? 1 : 0;
      depth++;
      left = count;
      map = opensMap;
      continue;
    }

    // What fits its own byte: small integers, null, false, true.
    if (token <= 0x7f || token >= 0xe0 || token === 0xc0 || token === 0xc2 || token === 0xc3) continue;

    const size = SIZES[token - 0xc0] as number;
    if (size === 0)
      return token === 0xc1 ? 'it has a byte that MessagePack never uses' : 'extension types are not used';
    if (position + size > end) return TRUNCATED;
    if (token >= 0xc4 && token <= 0xc6) {
      position += size + data.readUIntBE(position, size);
      if (position > end) return TRUNCATED;
      continue;
    }
    if ((token === 0xca || token === 0xcb) && !isFiniteFloat(data, position, token)) return 'a number is not finite';
    if (token === 0xcf && data.readUInt32BE(position) >= UPPER_LIMIT) return BAD_INTEGER;
    if (token === 0xd3 && !isSafeInt64(data, position)) return BAD_INTEGER;
    position += size;
  }
}

/** For the tokens from 0xc0: bytes of a number, or of the length of a binary; 0 for what is not allowed. */
const SIZES = [0, 0, 0, 0, 1, 2, 4, 0, 0, 0, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 0, 0, 0, 0, 0];

function opens(token: number): boolean {
  return (token >= 0x80 && token <= 0x9f) || (token >= 0xdc && token <= 0xdf);
}

function isFiniteFloat(data: Buffer, position: number, token: number): boolean {
  const exponent = data.readUInt16BE(position) & (token === 0xca ? 0x7f80 : 0x7ff0);
  return exponent !== (token === 0xca ? 0x7f80 : 0x7ff0);
}

function isSafeInt64(data: Buffer, position: number): boolean {
  const upper = data.readInt32BE(position);
  if (upper >= UPPER_LIMIT || upper < -UPPER_LIMIT) return false;
  return upper > -UPPER_LIMIT || data.readUInt32BE(position + 4) > 0;
}
