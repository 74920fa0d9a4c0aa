// Messages as the NATS client has them and as the bus has them.

import type { Msg, MsgHdrs, ServiceMsg } from 'nats';
import type { BusMessage } from './bus.ts';
import { headerBytes, NO_HEADERS } from './wire.ts';

/** By how many they are: headers of which all keys and values can be carried, and none holds more than one. */
const carried: RegExp[] = [];
const LINE = '[!-9;-~]+: (?:\\S(?:[^\\r\\n]*\\S)?)?\\r\\n';

/** Headers as they are sent. */
export interface HeaderBlock {
  readonly text: string;
  readonly bytes: number;
}

/** Of headers that are frozen, and so may be sent any number of times. */
const known = new WeakMap<Readonly<Record<string, string>>, HeaderBlock>();

/** @throws CellwrightError `bad-header`. */
export function headerBlock(record: Readonly<Record<string, string>>): HeaderBlock {
  let block = known.get(record);
  if (block === undefined) {
    block = written(record);
    if (Object.isFrozen(record)) known.set(record, block);
  }
  return block;
}

function written(record: Readonly<Record<string, string>>): HeaderBlock {
  let text = 'NATS/1.0\r\n';
  let count = 0;
  let isPlain = true;
  for (const key in record) {
    const value = record[key];
    text += `${key}: ${value}\r\n`;
    count += 1;
    if (typeof value !== 'string' || key.includes(':')) isPlain = false;
  }
  text += '\r\n';
  carried[count] ??= new RegExp(`^NATS/1\\.0\\r\\n(?:${LINE}){${count}}\\r\\n$`);
  // What does not look right as a whole is looked at by its parts, for one that can be named.
  if (!isPlain || !carried[count]?.test(text)) headerBytes(record);
  return { text, bytes: Buffer.byteLength(text) };
}

/** A message as it came. Its parts are read when they are first looked at: most receivers need the body only. */
class Received implements BusMessage {
  readonly #from: Msg | ServiceMsg;
  #headers: Readonly<Record<string, string>> | undefined;
  #data: Uint8Array | undefined;

  constructor(from: Msg | ServiceMsg) {
    this.#from = from;
  }

  get subject(): string {
    return this.#from.subject;
  }

  get reply(): string | undefined {
    return this.#from.reply || undefined;
  }

  get headers(): Readonly<Record<string, string>> {
    this.#headers ??= recordOf(this.#from.headers);
    return this.#headers;
  }

  get data(): Uint8Array {
    this.#data ??= this.#from.data;
    return this.#data;
  }
}

export function received(from: Msg | ServiceMsg): BusMessage {
  return new Received(from);
}

function recordOf(headers: MsgHdrs | undefined): Readonly<Record<string, string>> {
  if (headers === undefined) return NO_HEADERS;
  const record: Record<string, string> = {};
  for (const [key, values] of headers) record[key] ??= values[0] ?? '';
  return record;
}

/** The server's word that nobody heard a message: it comes to the subject for replies, and is no reply. */
export function isNoResponders(message: Msg): boolean {
  // Reading headers takes time, and only what has no body need be asked.
  return message.data.length === 0 && message.headers?.code === 503;
}
