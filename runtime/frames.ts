// How messages travel: what several actors of one process send to one address in one tick is one body, a list of
// parts, each with its sender. People may send a single message as it is: `{"type": ...}`.

import type { Address, Message } from '../actors/actor.ts';
import type { BusMessage, Unencoded } from './bus/bus.ts';
import { decode, encode } from './codec.ts';
import { MalformedError } from './errors.ts';

/** The longest address, in characters: an answer to it has to fit the line on which a server reads its subject. */
const MAX_ADDRESS_LENGTH = 256;

export interface Part {
  readonly from: Address;
  readonly messages: readonly Message[];
}

/** The headers by which traffic can be followed without reading a body. */
export const HEADERS = {
  type: 'Cw-Type',
  from: 'Cw-From',
  cause: 'Cw-Cause',
  epoch: 'Cw-Epoch',
  traceparent: 'traceparent',
} as const;

/** Parts as they are handed on inside one process. */
class Frame {
  readonly parts: readonly Part[];
  constructor(parts: readonly Part[]) {
    this.parts = parts;
  }
}

export function frameOf(parts: readonly Part[]): Unencoded {
  return { value: new Frame(parts), encoded: () => encode(parts) };
}

/** What came in one message. */
export interface Opened {
  readonly parts: readonly Part[];
  /** It came as bytes, so its messages are still to be checked. */
  readonly isForeign: boolean;
}

/**
 * Opens a message.
 * @throws MalformedError when its body is not a list of parts, nor a single message.
 */
export function opened(message: BusMessage, maxBytes: number): Opened {
  const { value } = message;
  if (value instanceof Frame) return { parts: value.parts, isForeign: false };
  return { parts: decodeFrame(message.data, maxBytes), isForeign: true };
}

/**
 * The parts of a body.
 * @throws MalformedError when it is not a list of parts, nor a single message.
 */
export function decodeFrame(data: Uint8Array, maxBytes: number): readonly Part[] {
  const body = decode(data, maxBytes);
  if (!Array.isArray(body)) {
    if (typeof (body as Message).type !== 'string')
      throw new MalformedError("the message lacks the field 'type'", { field: 'type' });
    return [{ from: '', messages: [body as Message] }];
  }
  for (const part of body) {
    if (typeof part?.from !== 'string' || !Array.isArray(part.messages)) {
      throw new MalformedError("a part of the frame lacks 'from' or 'messages'");
    }
    if (part.from.length > MAX_ADDRESS_LENGTH) {
      throw new MalformedError(`'from' of a part has over ${MAX_ADDRESS_LENGTH} characters`, { field: 'from' });
    }
  }
  return body as Part[];
}

/** What a frame holds, for people: `build`, or `build*12 destroy`. */
export function summaryOf(parts: readonly Part[]): string {
  const counts = new Map<string, number>();
  for (const { messages } of parts) for (const { type } of messages) counts.set(type, (counts.get(type) ?? 0) + 1);
  return [...counts].map(([type, count]) => (count === 1 ? type : `${type}*${count}`)).join(' ');
}

/** Who sent a frame, for people: `compute/c1/h1`, or `compute/c1/h1 +11`. */
export function sendersOf(parts: readonly Part[]): string {
  const first = parts[0]?.from ?? '';
  return parts.length <= 1 ? first : `${first} +${parts.length - 1}`;
}
