// What a NATS server says of itself to whoever connects.

import { connect } from 'node:net';
import { createInterface } from 'node:readline';

const GREETING_TIMEOUT_MS = 2_000;

export interface Greeting {
  readonly version: string;
  /** Another one each time that a server is started. */
  readonly server_id: string;
  readonly jetstream?: boolean;
}

/** The INFO line with which the server on a port of loopback opens every connection; `null` when it does not come. */
export async function greetingOf(port: number): Promise<Greeting | null> {
  const socket = connect({ host: '127.0.0.1', port, timeout: GREETING_TIMEOUT_MS });
  socket.on('timeout', () => socket.destroy(new Error('no greeting')));
  try {
    for await (const line of createInterface({ input: socket })) {
      return line.startsWith('INFO ') ? (JSON.parse(line.slice('INFO '.length)) as Greeting) : null;
    }
    return null;
  } catch {
    // Refused or cut off: not ready yet, or no more.
    return null;
  } finally {
    socket.destroy();
  }
}
