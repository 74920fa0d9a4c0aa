// A wire that a test holds: it stands between one process and the NATS server, can be cut, and strikes at the moment
// at which the process sends a certain message.

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface Proxy {
  /** The server's address for whoever is to go this way. */
  readonly url: string;
  /**
   * Calls `act` once, when the process behind it sends a body with a message of this type: `before` the body has gone
   * on, which it then never does, or right `after`.
   */
  strike(type: string, when: 'before' | 'after', act: () => void): void;
  /** From now on nothing goes through, and nobody is told. */
  cut(): void;
  /** Ends the cut: what was cut off is closed, and may connect again. */
  mend(): void;
  close(): Promise<void>;
}

interface Trap {
  readonly pattern: RegExp;
  readonly when: 'before' | 'after';
  act(): void;
}

export async function startProxy(serverPort: number): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let trap: Trap | undefined;

  function carry(from: Socket, to: Socket, look: (chunk: Buffer) => boolean): void {
    from.on('data', (chunk) => {
      if (!isCut && look(chunk)) to.write(chunk);
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
    carry(inner, outer, (chunk) => lookAt(chunk, () => outer.write(chunk)));
    carry(outer, inner, () => true);
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as { port: number };

  return {
    url: `nats://127.0.0.1:${port}`,
    strike(type, when, act) {
      trap = { pattern: new RegExp(`^Cw-Type: (.* )?${type}(\\*\\d+)?( .*)?\\r$`, 'm'), when, act };
    },
    cut: () => {
      isCut = true;
    },
    mend() {
      isCut = false;
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}
