// What was published while the connection is down: kept in order, within limits, the oldest given up first.
// It holds messages and counts; sending and reporting is its owner's.

import type { Encoded, PublishOptions } from './bus.ts';

interface UnsentQueueMessage {
  subject: string;
  data: Encoded;
  options: PublishOptions;
  /** Body and headers. */
  bytes: number;
}

export interface UnsentQueueLimits {
  maxMessages: number;
  maxBytes: number;
}

export interface UnsentQueue {
  /** Messages kept. */
  readonly size: number;
  /** Keeps the message and returns how many others, or itself, had to go for it. */
  add(message: UnsentQueueMessage): number;
  /** Takes all messages out, oldest first. */
  takeAll(): UnsentQueueMessage[];
}

export function unsentQueue({ maxMessages, maxBytes }: UnsentQueueLimits): UnsentQueue {
  let messages: UnsentQueueMessage[] = [];
  let oldest = 0;
  let bytes = 0;

  return {
    get size() {
      return messages.length - oldest;
    },
    add(message) {
      messages.push(message);
      bytes += message.bytes;
      let dropped = 0;
      while (messages.length - oldest > maxMessages || bytes > maxBytes) {
        bytes -= (messages[oldest++] as UnsentQueueMessage).bytes;
        dropped++;
      }
      // The dropped ones are let go in one piece, when they are as many as are kept: shifting one at a time would move all
      // the others each time.
      if (oldest >= messages.length - oldest) {
        messages = messages.slice(oldest);
        oldest = 0;
      }
      return dropped;
    },
    takeAll() {
      const all = messages.slice(oldest);
      messages = [];
      oldest = 0;
      bytes = 0;
      return all;
    },
  };
}
