// What a body on the wire says, message by message, for people and tools. It knows frames, single messages, the records
// in an entry of a journal and any other MessagePack or JSON, and says of what it cannot read that it cannot.

import { decode } from '../codec.ts';
import { messageOf } from '../errors.ts';
import type { Part } from '../frames.ts';
import { isObject } from '../objects.ts';

/** One message of a body: who sent it, if the body says so, and what it is. */
export interface Said {
  readonly from: string;
  readonly message: object;
}

/** @throws MalformedError when the body is neither MessagePack nor JSON. */
export function saidIn(data: Uint8Array, maxBytes: number): Said[] {
  if (data.length === 0) return [];
  const body = decode(data, maxBytes) as object;
  if (!isFrame(body))
    return (recordsIn(body, maxBytes) ?? [withoutBytes(body)]).map((message) => ({ from: '', message }));
  return body.flatMap(({ from, messages }) => messages.map((message) => ({ from, message })));
}

/** The same, but a body that cannot be read is a message that says so. */
export function saidOrWhyNot(data: Uint8Array, maxBytes: number): Said[] {
  try {
    return saidIn(data, maxBytes);
  } catch (error) {
    return [{ from: '', message: { unreadable: messageOf(error) } }];
  }
}

/** Whether an id stands somewhere in a value: as it is, or as what a key begins with, such as `web-0 final` of a removal. */
export function mentions(value: unknown, id: string): boolean {
  if (typeof value === 'string') return value === id;
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, item]) => mentions(item, id) || (name === 'key' && begins(item, id)));
}

function begins(key: unknown, id: string): boolean {
  return typeof key === 'string' && key.startsWith(`${id} `);
}

/** The records in an entry of a journal that has all of a turn; null when it is no such entry. */
function recordsIn(body: object, maxBytes: number): object[] | null {
  const { kind, of, data } = body as { kind?: unknown; of?: unknown; data?: unknown };
  if (kind !== 'records' || of !== 1 || !(data instanceof Uint8Array)) return null;
  try {
    const records = decode(data, maxBytes);
    return Array.isArray(records) && records.length > 0 && records.every(isObject) ? records : null;
  } catch {
    return null;
  }
}

/** Bytes, such as those of a snapshot, say nothing to people: they are told by their number. */
function withoutBytes(body: object): object {
  const entries = Object.entries(body);
  if (!entries.some(([, value]) => value instanceof Uint8Array)) return body;
  return Object.fromEntries(
    entries.map(([key, value]) => [key, value instanceof Uint8Array ? `${value.length} bytes` : value]),
  );
}

/** Whoever may publish here may send what only looks like a frame: that is shown as the one body that it is. */
function isFrame(body: object): body is Part[] {
  return Array.isArray(body) && body.length > 0 && body.every(isPart);
}

function isPart(part: unknown): part is Part {
  const { from, messages } = (part ?? {}) as { from?: unknown; messages?: unknown };
  return typeof from === 'string' && Array.isArray(messages) && messages.every(isObject);
}
