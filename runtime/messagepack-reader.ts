// Reads MessagePack as it stands, for what msgpackr gets wrong: it drops a byte order mark at the beginning of a string of
// more than 64 bytes. Slower, and needed for next to nothing.

/** A byte order mark in UTF-8. */
export const MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** @param data In it `faultIn` has found no fault: so it is of the kinds that travel here, whole, and not deep. */
export function readExactly(data: Buffer): unknown {
  let position = 0;

  function bytes(length: number): Buffer {
    position += length;
    return data.subarray(position - length, position);
  }

  function unsigned(size: number): number {
    position += size;
    return data.readUIntBE(position - size, size);
  }

  function signed(size: number): number {
    position += size;
    return data.readIntBE(position - size, size);
  }

  const text = (length: number): string => bytes(length).toString();

  const list = (count: number): unknown[] => Array.from({ length: count }, read);

  function map(count: number): Record<string, unknown> {
    const value: Record<string, unknown> = {};
    for (let left = count; left > 0; left -= 1) {
      const key = read() as string;
      value[key] = read();
    }
    return value;
  }

  function read(): unknown {
    const token = data[position++] as number;
    if (token <= 0x7f) return token;
    if (token <= 0x8f) return map(token & 0x0f);
    if (token <= 0x9f) return list(token & 0x0f);
    if (token <= 0xbf) return text(token & 0x1f);
    if (token === 0xc0) return null;
    if (token <= 0xc3) return token === 0xc3;
    // A copy with memory of its own, as msgpackr gives it.
    if (token <= 0xc6) return Uint8Array.prototype.slice.call(bytes(unsigned(1 << (token - 0xc4))));
    if (token === 0xca) return bytes(4).readFloatBE();
    if (token === 0xcb) return bytes(8).readDoubleBE();
    if (token <= 0xce) return unsigned(1 << (token - 0xcc));
    if (token === 0xcf) return Number(bytes(8).readBigUInt64BE());
    if (token <= 0xd2) return signed(1 << (token - 0xd0));
    if (token === 0xd3) return Number(bytes(8).readBigInt64BE());
    if (token <= 0xdb) return text(unsigned(1 << (token - 0xd9)));
    if (token <= 0xdd) return list(unsigned(token === 0xdc ? 2 : 4));
    if (token <= 0xdf) return map(unsigned(token === 0xde ? 2 : 4));
    return token - 0x100;
  }

  return read();
}
