// How the client reaches a server: as its own transport does, but that an attempt which takes too long is broken off. The
// client forgets a connection that a server which hangs has taken and not answered: it stays open, and keeps the process
// alive. For this the inside of the client is used, as in nats-commands.ts.

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import {
  type ConnectionOptions,
  type NatsConnection,
  NatsConnectionImpl,
  setTransportFactory,
} from 'nats/lib/src/nats-base-client.js';
import { NodeTransport, nodeResolveHost } from 'nats/lib/src/node_transport.js';

/** What Node tells of every socket that is made. */
const SOCKET_MADE = 'net.client.socket';

class Transport extends NodeTransport {
  #dialed: Socket | undefined;

  override dial(address: { hostname: string; port: number }): Promise<Socket> {
    // Told of while it is made, before this returns.
    const noteSocket = (made: unknown): void => {
      this.#dialed = (made as { socket: Socket }).socket;
    };
    subscribe(SOCKET_MADE, noteSocket);
    try {
      return super.dial(address);
    } finally {
      unsubscribe(SOCKET_MADE, noteSocket);
    }
  }

  override close(error?: Error): Promise<void> {
    if (!this.connected) this.#dialed?.destroy();
    return super.close(error);
  }
}

/** As the client's own `connect`. */
export function connect(options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new Transport(), dnsResolveFn: nodeResolveHost });
  return NatsConnectionImpl.connect(options);
}
