// Ports for servers that must be known before they listen, or come back where they were. Not those that the kernel gives
// to whoever asks for any: between two uses it may give them to somebody else.

import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below what kernels give by themselves; the files of the suite run side by side, each with a part of its own. */
const FIRST = 10_000;
const PARTS = 500;
const PORTS_IN_PART = 40;

let next = FIRST + (process.pid % PARTS) * PORTS_IN_PART;

/** A port on which nobody listens; another one each time. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = next;
    next += 1;
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
