// HTTP for the benchmarks: a client that keeps its connections, a handler that does nothing, and the Placement API in a
// process of its own.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface HttpClient {
  /** @throws Error when the answer is not one of success. */
  ask(method: string, path: string, body?: unknown): Promise<void>;
  close(): void;
}

export function httpClient(url: string, connections: number): HttpClient {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const { hostname, port } = new URL(url);
  return {
    ask(method, path, body) {
      const text = body === undefined ? '' : JSON.stringify(body);
      const headers = {
        'x-auth-token': 'admin',
        'openstack-api-version': 'placement 1.39',
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      };
      return new Promise((resolve, reject) => {
        const asking = request({ agent, hostname, port, method, path, headers }, (answer) => {
          answer.resume();
          answer.once('end', () => {
            const { statusCode = 0 } = answer;
            if (statusCode >= 200 && statusCode < 300) resolve();
            else reject(new Error(`${method} ${path} was answered with ${statusCode}`));
          });
        });
        asking.once('error', reject);
        asking.end(text);
      });
    },
    close: () => agent.destroy(),
  };
}

export async function bareHttp<Result>(run: (url: string) => Promise<Result>): Promise<Result> {
  const server = createServer((_, response) => response.writeHead(204).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

export async function servedByProcess(run: (url: string) => Promise<void>): Promise<void> {
  const main = fileURLToPath(
    new URL(`../../runtime/cli/main.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url),
  );
  const flags = ['placement-api', '--listen', '127.0.0.1:0', '--in-memory'];
  const child: ChildProcess = spawn(process.execPath, [...process.execArgv, main, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  try {
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    const ended = closed.then(() => Promise.reject(new Error('the Placement API has ended')));
    const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string];
    await run(/http:\S+/.exec(line)?.[0] ?? '');
  } finally {
    child.kill('SIGTERM');
    await closed;
  }
}
