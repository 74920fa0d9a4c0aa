// Makes Placement API servers for test programs in other languages: POST gives the address of a new, empty one in this
// process, DELETE with that address ends it.

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PlacementServer } from '../../runtime/placement-api/server.ts';
import { startPlacementApi } from '../../runtime/placement-api/start.ts';
import { SHARDS } from './support.ts';

export interface ServerMaker {
  readonly url: string;
  close(): Promise<void>;
}

export async function serverMaker(): Promise<ServerMaker> {
  const made = new Map<string, PlacementServer>();

  async function take(request: IncomingMessage): Promise<string> {
    if (request.method === 'POST') {
      const server = await startPlacementApi({ host: '127.0.0.1', port: 0, placement: 'memory', ...SHARDS });
      made.set(server.url, server);
      return server.url;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = Buffer.concat(chunks).toString();
    await made.get(url)?.close();
    made.delete(url);
    return '';
  }

  const control = createServer((request, response) => {
    take(request).then(
      (text) => response.end(text),
      (error) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise<void>((resolve) => control.listen(0, '127.0.0.1', resolve));
  const { port } = control.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    async close() {
      await new Promise((resolve) => control.close(resolve));
      await Promise.all([...made.values()].map((server) => server.close()));
    },
  };
}
