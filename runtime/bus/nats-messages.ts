// Messages as the NATS client has them and as the bus has them.

import { type Msg, type MsgHdrs, MsgHdrsImpl, type ServiceMsg } from 'nats';
import type { BusMessage } from './bus.ts';
import { NO_HEADERS } from './wire.ts';

/** By way of a record: `set` would examine each key and value again, which costs more than to send the message. */
export function clientHeaders(record: Readonly<Record<string, string>>): MsgHdrs {
  const values: Record<string, string[]> = {};
  for (const [key, value] of Object.entries(record)) values[key] = [value];
  return MsgHdrsImpl.fromRecord(values);
}

/** Reads the headers when they are first looked at: most receivers need the body only. */
export function received(from: Msg | ServiceMsg): BusMessage {
  let headers: Readonly<Record<string, string>> | undefined;
  const message: BusMessage = {
    subject: from.subject,
    get headers() {
      headers ??= recordOf(from.headers);
      return headers;
    },
    data: from.data,
  };
  if (from.reply) message.reply = from.reply;
  return message;
}

function recordOf(headers: MsgHdrs | undefined): Readonly<Record<string, string>> {
  if (headers === undefined) return NO_HEADERS;
  const record: Record<string, string> = {};
  for (const [key, values] of headers) record[key] ??= values[0] ?? '';
  return record;
}

/** The server's word that nobody heard a message: it comes to the subject for replies, and is no reply. */
export function isNoResponders({ data, headers }: Msg): boolean {
  return data.length === 0 && headers?.code === 503;
}
