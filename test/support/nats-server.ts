// A real NATS server for one test: on a free port, with streams of its own, and easy to lose and bring back.
// It only wraps what the runtime itself starts; every test stops its server in a `finally`.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NatsServerOptions } from '../../runtime/nats-server/options.ts';
import { startNatsServer } from '../../runtime/nats-server/server.ts';
import { freePort } from './ports.ts';

export interface TestServer {
  readonly url: string;
  readonly port: number;
  /** Ends the server and removes its streams. Idempotent. */
  stop(): Promise<void>;
  /** Ends the server as a crash does. Its streams stay. */
  kill(): Promise<void>;
  /** Starts it again on the same port with the same streams; first stops it in order unless it was killed. */
  restart(): Promise<void>;
}

export async function startTestServer(options: Omit<NatsServerOptions, 'dataDir'> = {}): Promise<TestServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'cellwright-test-'));
  const { port = await freePort() } = options;
  let server = await startNatsServer({ ...options, dataDir, port });
  const { url } = server;
  return {
    url,
    port,
    async stop() {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
    async kill() {
      process.kill(server.pid, 'SIGKILL');
      await server.stop();
    },
    async restart() {
      await server.stop();
      server = await startNatsServer({ ...options, dataDir, port });
    },
  };
}
