// A wire that a test holds: it stands between one process and the NATS server, can be cut, and strikes at the moment
// at which the process sends a certain message.

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  /** The server's address for whoever is to go this way. */
  readonly url: string;
  /**
   * Calls `act` once, when the process behind it sends a body with a message of this type: `before` the body has gone
   * on, which it then never does, or right `after`.
   */
  strike(type: string, when: 'before' | 'after', act: () => void): void;
  /** From now on nothing goes through, and nobody is told: of all connections, or of those whose name is like this. */
  cut(names?: RegExp): void;
  /** Ends the cut: what was cut off is closed, and may connect again. */
  mend(): void;
  close(): Promise<void>;
}

interface Trap {
  readonly pattern: RegExp;
  readonly when: 'before' | 'after';
  act(): void;
}

/** A connection, by the name that its client gives it. */
interface Named {
  name: string | undefined;
}

export async function startProxy(serverPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let cut: RegExp | null = null;
  let trap: Trap | undefined;

  function carry(from: Socket, to: Socket, named: Named, look: (chunk: Buffer) => boolean): void {
    from.on('data', (chunk) => {
      named.name ??= /^CONNECT .*"name":"([^"]*)"/m.exec(chunk.toString('latin1'))?.[1];
      if (cut?.test(named.name ?? '') !== true && look(chunk)) to.write(chunk);
    });
    from.on('close', () => to.destroy());
    from.on('error', () => to.destroy());
    sockets.add(from);
    from.on('close', () => sockets.delete(from));
  }

  /** Whether the chunk may go on. Only headers are looked at: a type stands on a line of its own. */
  function lookAt(chunk: Buffer, goOn: () => void): boolean {
    const sprung = trap;
    if (sprung === undefined || !sprung.pattern.test(chunk.toString('latin1'))) return true;
    trap = undefined;
    if (sprung.when === 'after') goOn();
    sprung.act();
    return false;
  }

  const listener = createServer((inner) => {
    const outer = connect({ host: '127.0.0.1', port: serverPort, noDelay: true });
    inner.setNoDelay(true);
    const named: Named = { name: undefined };
    carry(inner, outer, named, (chunk) => lookAt(chunk, () => outer.write(chunk)));
    carry(outer, inner, named, () => true);
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as { port: number };

  return {
    url: `nats://127.0.0.1:${port}`,
    strike(type, when, act) {
      trap = { pattern: new RegExp(`^Cw-Type: (.* )?${type}(\\*\\d+)?( .*)?\\r$`, 'm'), when, act };
    },
    cut(names = /(?:)/) {
      cut = names;
    },
    mend() {
      cut = null;
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}
