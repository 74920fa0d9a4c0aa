// Area: connection. The NATS server dies under load and comes back at the same place: what was accepted is built, what
// was known is known, and callers are told during the outage that they may try again.

import { once } from 'node:events';
import { createServer } from 'node:net';
import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectNats, type NatsBus } from '../../runtime/bus/nats.ts';
import { type Client, clientOf } from '../../runtime/client.ts';
import { type CellwrightError, TimeoutError } from '../../runtime/errors.ts';
import { startNode } from '../../runtime/node.ts';
import type { Leases } from '../../runtime/ownership/leases.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { startTestServer, type TestServer } from '../support/nats-server.ts';
import { failureOf, until } from '../support/until.ts';
import { eventually, hostsUp, quickDriver } from './system.ts';

const test = suite('connection');

const HOSTS = ['h1', 'h2', 'h3', 'h4'];
const SMALL = { resources: { VCPU: 1, MEMORY_MB: 128 } };
const QUICK = { reconnectWaitMs: 50, reconnectJitterMs: 10 };
const PATIENCE = { firstMs: 300, mostMs: 1_000 };

interface Rig {
  readonly server: TestServer;
  readonly bus: NatsBus;
  readonly client: Client;
}

async function withNode(run: (rig: Rig) => Promise<void>): Promise<void> {
  const server = await startTestServer();
  const bus = await connectNats({ servers: server.url, name: 'test', ...QUICK });
  try {
    const node = await startNode({
      roles: ['placement', 'scheduler', 'conductor', 'cell:c1', ...HOSTS.map((host) => `compute:c1/${host}`)],
      nats: { servers: server.url, ...QUICK },
      driver: ({ cell, host }) => quickDriver(cell, host),
      conductor: { patience: PATIENCE },
      scheduler: { patience: PATIENCE },
      cell: { patience: PATIENCE },
      compute: { patience: PATIENCE, heartbeatMs: 500 },
    });
    try {
      const client = clientOf({ bus, clock: systemClock(), subjects: subjectsOf(), timeoutMs: 1_000 });
      await hostsUp(client, 'c1', HOSTS.length);
      await run({ server, bus, client });
    } finally {
      await node.stop();
    }
  } finally {
    await bus.close();
    await server.stop();
  }
}

async function kill({ server, bus }: Rig): Promise<void> {
  await server.kill();
  await until('the client has noticed', () => !bus.connected);
}

async function restart({ server, bus }: Rig): Promise<void> {
  await server.restart();
  await until('the client is connected again', () => bus.connected);
}

/** A call that is tried again for as long as the error says that it may be. */
async function patiently<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error as CellwrightError).retryable) throw error;
    }
  }
}

test('connection - what was known before the server died is known after it', () =>
  withNode(async (rig) => {
    const { client } = rig;
    const { instances } = await client.build({ id: 'before', count: 4, project: 'p', ...SMALL });
    for (const instance of instances) await client.ended(instance);
    await client.host({ cell: 'c1', host: 'h4', enabled: false, reason: 'kept' });
    const look = async () => [
      await Promise.all(instances.map((instance) => client.show(instance))),
      await client.list(),
      await client.hosts({ cell: 'c1' }),
    ];
    const before = await look();
    await kill(rig);
    await restart(rig);
    assert.equal(await patiently(look), before);
  }));

test('connection - during the outage every call fails with an error that says to try again', () =>
  withNode(async (rig) => {
    const { client } = rig;
    await kill(rig);
    const calls = [
      () => client.build({ id: 'outage', ...SMALL }),
      () => client.show('outage'),
      () => client.delete('outage'),
      () => client.list(),
      () => client.hosts({ cell: 'c1' }),
      () => client.host({ cell: 'c1', host: 'h1', enabled: true }),
    ];
    const outcomes = await Promise.allSettled(calls.map((call) => call()));
    for (const outcome of outcomes) {
      assert.is(outcome.status, 'rejected');
      if (outcome.status !== 'rejected') continue;
      const { code, retryable } = outcome.reason as CellwrightError;
      assert.equal([code, retryable], ['timeout', true]);
    }
    await restart(rig);
    await patiently(() => client.build({ id: 'outage', ...SMALL }));
    assert.is((await patiently(() => client.ended('outage'))).state, 'active');
  }));

test('connection - builds that were accepted under load end, also when the server dies twice', () =>
  withNode(async (rig) => {
    const { client } = rig;
    const accepted: string[] = [];
    let loading = true;
    const load = (async () => {
      for (let n = 0; loading; n += 1) {
        const id = `load-${n}`;
        // Repeated by its id until it is accepted: it is built once.
        await patiently(() => client.build({ id, resources: { MEMORY_MB: 1 } }));
        accepted.push(id);
      }
    })();
    for (const enough of [30, 60]) {
      await until(`${enough} builds are accepted`, () => accepted.length >= enough);
      await kill(rig);
      await restart(rig);
    }
    await until('the load goes on', () => accepted.length >= 90);
    loading = false;
    await load;

    for (const id of accepted) assert.is((await patiently(() => client.ended(id))).state, 'active', id);
    const inCell = await client.list({ cell: 'c1', limit: 1_000 });
    assert.equal(inCell.instances.map(({ instance }) => instance).sort(), accepted.toSorted());
    await eventually('every host is up', async () => {
      const { hosts } = await client.hosts({ cell: 'c1' });
      return hosts.every(({ state }) => state === 'up');
    });
  }));

test('connection - a node logs that its server is lost and that it is back, once each, however often it tries', async () => {
  const server = await startTestServer();
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line) => lines.push(JSON.parse(line).msg) });
  let taken = 0;
  const full = createServer((socket) => {
    taken += 1;
    socket.on('error', () => {}).on('data', () => socket.destroy());
    socket.write('INFO {"server_id":"full","version":"2.10.0","max_payload":1048576,"headers":true}\r\n');
  });
  try {
    const node = await startNode({ roles: ['scheduler'], nats: { servers: server.url, ...QUICK }, logger });
    const ofConnection = () => lines.filter((line) => line.includes('connected'));
    try {
      await server.kill();
      await once(full.listen(server.port, '127.0.0.1'), 'listening');
      await until('it has tried often', () => taken > 8);
      full.close();
      await server.restart();
      await until('it is back', () => lines.some((line) => line.startsWith('connected again')));
    } finally {
      await node.stop();
    }
    assert.equal(ofConnection(), [`disconnected from ${server.url}`, `connected again, to ${server.url}`]);
  } finally {
    full.close();
    await server.stop();
  }
});

test('connection - a start that waits for a slow server can be given up, and leaves nothing behind', async () => {
  const server = await startTestServer();
  try {
    const errors: string[] = [];
    const giveUp = new AbortController();
    const slow: Leases = {
      read: async () => ({ record: null, revision: 0 }),
      watch(_address, onSeen) {
        queueMicrotask(() => onSeen({ record: null, revision: 0 }));
        return { stop() {} };
      },
      write: () => Promise.reject(new TimeoutError('the bucket of leases', 100)),
    };
    const logger = pino({ level: 'warn' }, { write: (line) => errors.push(line) });
    const nats = { servers: server.url, signal: giveUp.signal };
    const failing = failureOf(() => startNode({ roles: ['cell:c1', 'cell:c2'], nats, leases: slow, logger }));
    await until('it waits', () => errors.some((line) => line.includes("acquiring 'cell/c1'")));
    giveUp.abort();
    assert.is((await failing).code, 'interrupted');
    assert.not(
      errors.some((line) => line.includes('cell/c2')),
      'nothing more is begun',
    );
  } finally {
    await server.stop();
  }
});

test.run();
