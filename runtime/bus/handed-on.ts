// A message inside one process: the value that was published itself.

import type { BusMessage, Unencoded } from './bus.ts';
import { bytesOf } from './wire.ts';

/** A message whose value is handed on; its bytes are made for those who look at them, once for all of them. */
export class HandedOn implements BusMessage {
  readonly subject: string;
  readonly reply: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly #body: Unencoded;
  #data: Uint8Array | undefined;

  constructor(subject: string, body: Unencoded, reply: string | undefined, headers: Readonly<Record<string, string>>) {
    this.subject = subject;
    this.reply = reply;
    this.headers = headers;
    this.#body = body;
  }

  get value(): unknown {
    return this.#body.value;
  }

  get data(): Uint8Array {
    this.#data ??= bytesOf(this.#body.encoded());
    return this.#data;
  }
}
