// How the client reaches a server: as it does by itself, but that an attempt which takes too long is broken off, that
// one which the server breaks off is over, and that an IP address is what a certificate must name. The client forgets a
// connection that a server which hangs has taken and not answered: it stays open, and keeps the process alive; and it
// waits for the answer on one that is closed, also where that happens before TLS has begun. And it measures its pauses by
// the time of day, so after that was set back it would dial no server again until it is as late as it was. For this the
// inside of the client is used, as in nats-commands.ts. Its transport is mended itself: one of our own would be put out of
// use by whoever else in the process connects with the client.

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { resolve } from 'node:path';
import { type ConnectionOptions, connect, type NatsConnection } from 'nats';
import { ProtocolHandler } from 'nats/lib/nats-base-client/protocol.js';
import { NodeTransport } from 'nats/lib/src/node_transport.js';

/** What Node tells of every socket that is made. */
const SOCKET_MADE = 'net.client.socket';

const dialed = new WeakMap<NodeTransport, Socket>();
/** The names or addresses by which servers were dialled. */
const hosts = new WeakMap<NodeTransport, string>();
const { dial, startTLS, close } = NodeTransport.prototype;

/** Beside the client's own options: with what an attempt is given up. */
interface GivenUpBy {
  givenUpBy?: AbortSignal | undefined;
}

NodeTransport.prototype.dial = function (this: NodeTransport, address) {
  // It may have been given up before, while another server was tried.
  if ((this.options as GivenUpBy).givenUpBy?.aborted === true) return Promise.reject(new Error('given up'));
  // Told of while it is made, before this returns.
  const noteSocket = (made: unknown): void => {
    dialed.set(this, (made as { socket: Socket }).socket);
  };
  hosts.set(this, address.hostname);
  subscribe(SOCKET_MADE, noteSocket);
  try {
    return dial.call(this, address);
  } finally {
    unsubscribe(SOCKET_MADE, noteSocket);
  }
};

/** The client leaves it to Node to know the host, and Node would take the certificate of any IP address for one of `localhost`. */
NodeTransport.prototype.startTLS = function (this: NodeTransport) {
  const tls = { ...this.options.tls, host: hosts.get(this) };
  this.options = { ...this.options, tls };
  return startTLS.call(this);
};

/**
 * At once: while it waits for the files of TLS the client does not hear the end of a socket, and TLS that is begun on one
 * that has ended never comes to an end itself.
 */
NodeTransport.prototype.loadFile = async (path) => {
  // Without a name there is none: the client asks for those, too, that the options do not have.
  if (path) return readFileSync(resolve(path));
};

NodeTransport.prototype.close = function (this: NodeTransport, error) {
  if (!this.connected) dialed.get(this)?.destroy();
  return close.call(this, error);
};

/** What is used of the client's protocol handler. */
interface Protocol {
  readonly options: { timeout?: number } & GivenUpBy;
  readonly transport: NodeTransport;
  /** What the server said last of why it refuses something, or the connection. */
  readonly lastError?: Error;
  /** Before each attempt; answers what is resolved when the server has answered. */
  prepare(): Promise<void> & { reject(error: Error): void };
  /** The one to be dialled next; if that is too early, the client waits, and asks for the next one. */
  selectServer(): ServerDialled | undefined;
  _doDial(server: ServerDialled): Promise<void>;
}

interface ServerDialled {
  /** By the time of day; 0: it may be dialled at once. */
  lastConnect: number;
}

/** Who is to be told why attempts fail. */
const listeners = new WeakMap<Protocol, (failure: unknown) => void>();

const protocol = ProtocolHandler.prototype as unknown as Protocol;
const { prepare, selectServer, _doDial } = protocol;

protocol.prepare = function (this: Protocol) {
  const answered = prepare.call(this);
  const { lastError } = this;
  answered.catch((failure) => listeners.get(this)?.(failure));
  // Of TLS 1.3 a server says only now that it wants another certificate.
  void this.transport.closed().then((error) => {
    // A server that has as many connections as it may have says so, and ends what the client is still writing to.
    const said = this.lastError === lastError ? undefined : this.lastError;
    answered.reject(said ?? error ?? new Error('the server ended the connection'));
  });
  const { givenUpBy } = this.options;
  if (givenUpBy !== undefined) {
    const { transport } = this;
    const giveUp = (): void => {
      dialed.get(transport)?.destroy();
      answered.reject(new Error('given up'));
    };
    const forget = (): void => givenUpBy.removeEventListener('abort', giveUp);
    givenUpBy.addEventListener('abort', giveUp);
    answered.then(forget, forget);
  }
  return answered;
};

/** When each server was last dialled, ms, by a clock that nobody sets. */
const dialledAt = new WeakMap<ServerDialled, number>();

protocol._doDial = function (this: Protocol, server) {
  dialledAt.set(server, performance.now());
  return _doDial.call(this, server);
};

protocol.selectServer = function (this: Protocol) {
  const server = selectServer.call(this);
  const at = server && dialledAt.get(server);
  // As late as it is now, what the client compares with this is how long ago it was; rounded up, as it waits whole ms.
  if (server !== undefined && at !== undefined) server.lastConnect = Date.now() - Math.ceil(performance.now() - at);
  return server;
};

/**
 * As the client's own `connect`, whose `timeout` of the first attempts would be that of all later ones, too.
 * @param reconnectTimeoutMs How long an attempt to come back may take, ms.
 * @param givenUpBy Has the first attempts fail at once, which would go on for as long as they may take.
 */
export async function connectFirst(
  options: ConnectionOptions,
  reconnectTimeoutMs: number,
  givenUpBy?: AbortSignal,
): Promise<NatsConnection> {
  const all: ConnectionOptions & GivenUpBy = { ...options, givenUpBy };
  const connection = await connect(all);
  const { protocol } = connection as unknown as { protocol: Protocol };
  protocol.options.timeout = reconnectTimeoutMs;
  protocol.options.givenUpBy = undefined;
  return connection;
}

/** In the server's own words: of what is no matter of permissions the client tells only that there was something. */
export function lastRefusal(connection: NatsConnection): string | undefined {
  return (connection as unknown as { protocol: Protocol }).protocol.lastError?.message;
}

/** The client itself keeps to itself why its attempts to come back fail; that one takes too long is not told here either. */
export function onFailedAttempt(connection: NatsConnection, listener: (failure: unknown) => void): void {
  listeners.set((connection as unknown as { protocol: Protocol }).protocol, listener);
}
