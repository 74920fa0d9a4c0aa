// How the client reaches a server: as it does by itself, but that an attempt which takes too long is broken off. The
// client forgets a connection that a server which hangs has taken and not answered: it stays open, and keeps the process
// alive. For this the inside of the client is used, as in nats-commands.ts. Its transport is mended itself: one of our own
// would be put out of use by whoever else in the process connects with the client.

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { type ConnectionOptions, connect, type NatsConnection } from 'nats';
import { NodeTransport } from 'nats/lib/src/node_transport.js';

/** What Node tells of every socket that is made. */
const SOCKET_MADE = 'net.client.socket';

const dialed = new WeakMap<NodeTransport, Socket>();
const { dial, close } = NodeTransport.prototype;

NodeTransport.prototype.dial = function (this: NodeTransport, address) {
  // Told of while it is made, before this returns.
  const noteSocket = (made: unknown): void => {
    dialed.set(this, (made as { socket: Socket }).socket);
  };
  subscribe(SOCKET_MADE, noteSocket);
  try {
    return dial.call(this, address);
  } finally {
    unsubscribe(SOCKET_MADE, noteSocket);
  }
};

NodeTransport.prototype.close = function (this: NodeTransport, error) {
  if (!this.connected) dialed.get(this)?.destroy();
  return close.call(this, error);
};

/** What is used of the client's protocol handler. */
interface Protocol {
  readonly options: { timeout?: number };
}

/**
 * As the client's own `connect`, whose `timeout` of the first attempts would be that of all later ones, too.
 * @param reconnectTimeoutMs How long an attempt to come back may take, ms.
 */
export async function connectFirst(options: ConnectionOptions, reconnectTimeoutMs: number): Promise<NatsConnection> {
  const connection = await connect(options);
  (connection as unknown as { protocol: Protocol }).protocol.options.timeout = reconnectTimeoutMs;
  return connection;
}
