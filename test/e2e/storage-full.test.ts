// Area: storage. While the NATS server has no room left nothing is acknowledged, callers are told why, and what they
// asked for is done once there is room.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectNats } from '../../runtime/bus/nats.ts';
import type { CellwrightError } from '../../runtime/errors.ts';
import { startNode } from '../../runtime/node.ts';
import { startTestServer } from '../support/nats-server.ts';
import { eventually, hostsUp, quickDriver } from './system.ts';

const test = suite('storage');

const SMALL = { resources: { VCPU: 1, MEMORY_MB: 128 } };
const FILLED_BY = 100_000;

test('storage - callers hear that the server has no room, and what they asked for is built when it has', async () => {
  const server = await startTestServer({ config: 'jetstream { max_file_store: 4MB }' });
  const bus = await connectNats({ servers: server.url, name: 'test' });
  try {
    const node = await startNode({
      roles: ['placement', 'scheduler', 'conductor', 'cell:c1', 'compute:c1/h1'],
      nats: { servers: server.url },
      leaseTtlMs: 1_000,
      driver: ({ cell, host }) => quickDriver(cell, host),
    });
    try {
      await hostsUp(node.client, 'c1', 1);
      const { streams } = await bus.connection.jetstreamManager();
      await streams.add({ name: 'filler', subjects: ['filler'], storage: 'file' as never });
      const fill = async () => {
        const { data } = await bus.request('filler', new Uint8Array(FILLED_BY), { timeoutMs: 5_000 });
        return Buffer.from(data).includes('"error"');
      };
      while (!(await fill()));
      // Where there is room for a little more, that goes well.
      let failure: CellwrightError | undefined;
      let asked = 0;
      while (failure === undefined) {
        asked += 1;
        const request = { id: `i${asked}`, ...SMALL, payload: 'x'.repeat(50_000) };
        failure = await node.client.build(request).then(
          () => undefined,
          (error) => error,
        );
      }
      assert.is(failure.code, 'timeout');
      assert.match(
        failure.message,
        /(journal 'cw-conductor-0-journal'|its lease is not renewed): .*(resource|storage|space)/,
      );
      await streams.delete('filler');
      await eventually('what was asked for is built', async () => {
        // Until its owners have come up again nobody can say.
        const view = await node.client.show(`i${asked}`).catch(() => null);
        return view?.state === 'active';
      });
    } finally {
      await node.stop();
    }
  } finally {
    await bus.close();
    await server.stop();
  }
});

test.run();
