// What a NATS server says of itself to whoever connects.

import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { messageOf } from '../errors.ts';

const GREETING_TIMEOUT_MS = 2_000;

export interface Greeting {
  readonly version: string;
  /** Another one each time that a server is started. */
  readonly server_id: string;
  readonly jetstream?: boolean;
}

/**
 * The INFO line with which the server on a port of loopback opens every connection; `null` when it does not come.
 * @param missed Told why it does not.
 */
export async function greetingOf(port: number, missed: (why: string) => void = () => {}): Promise<Greeting | null> {
  const socket = connect({ host: '127.0.0.1', port, timeout: GREETING_TIMEOUT_MS });
  socket.on('timeout', () => socket.destroy(new Error('no greeting')));
  try {
    for await (const line of createInterface({ input: socket })) {
      if (line.startsWith('INFO ')) return JSON.parse(line.slice('INFO '.length)) as Greeting;
      break;
    }
    missed(`what answers at port ${port} does not greet as a NATS server does`);
    return null;
  } catch (error) {
    // Refused or cut off: not ready yet, or no more.
    missed(messageOf(error));
    return null;
  } finally {
    socket.destroy();
  }
}
