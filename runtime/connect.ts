// A client of a deployment that runs elsewhere.

import { connectNats } from './bus/nats.ts';
import { CONNECTION_OPTIONS } from './bus/nats-checks.ts';
import type { NatsOptions } from './bus/nats-options.ts';
import { type Client, clientOf } from './client.ts';
import { checkedMs, insistObject } from './option-fields.ts';
import { subjectsOf } from './subjects.ts';
import { systemClock } from './system-clock.ts';

/** A client with a connection of its own. */
export interface Connection extends Client {
  /** Ends the connection. Builds that were asked for go on. */
  close(): Promise<void>;
}

/** How to connect to a deployment: by which servers, as whom, and under which prefix it is. */
export interface ConnectOptions extends Partial<NatsOptions> {
  readonly servers: NatsOptions['servers'];
  /** What every subject begins with, one token or several such as `prod.cw`; default `cw`. */
  readonly prefix?: string;
  /** How long to wait for an answer, ms; default 10,000 for the API, 40,000 for `connectPlacement`. */
  readonly timeoutMs?: number;
}

/**
 * Connects to a deployment by its NATS server.
 * @throws CellwrightError `bad-option` with the field; `unreachable`, `unauthorized`.
 */
export async function connect(options: ConnectOptions): Promise<Connection> {
  insistObject(options, CONNECTION_OPTIONS);
  const { prefix, timeoutMs, ...nats } = options ?? {};
  const subjects = subjectsOf(prefix);
  const limit = timeoutMs === undefined ? {} : { timeoutMs: checkedMs(timeoutMs) };
  const bus = await connectNats({ name: 'client', ...nats });
  try {
    const client = clientOf({ bus, clock: systemClock(), subjects, ...limit });
    return { ...client, close: () => bus.close() };
  } catch (error) {
    await bus.close();
    throw error;
  }
}
