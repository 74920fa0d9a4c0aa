// Area: Placement API. Over a real NATS server: as a front to a running system, whose placement may end and come back,
// and with a managed server that remembers.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startNode } from '../../runtime/node.ts';
import { startTestServer } from '../support/nats-server.ts';
import { until } from '../support/until.ts';
import { holding, id, makeProvider, placementApi } from './support.ts';

const test = suite('Placement API - over NATS');
const HOST = id('a', 1);
/** Enough that their list does not fit into one message. */
const MANY = 800;
const BATCH = 50;

test('a front serves what a running system knows, and goes on when its placement comes back', async () => {
  const server = await startTestServer({ maxPayloadBytes: 256 * 1024 });
  const play = () => startNode({ roles: ['placement'], nats: { servers: server.url } });
  let node = await play();
  const api = await placementApi({ placement: { servers: [server.url] }, timeoutMs: 5_000 });
  const impatient = await placementApi({ placement: { servers: [server.url] }, timeoutMs: 300 });
  try {
    await makeProvider(api, HOST, { VCPU: 4 });
    const consumer = id('c', 1);
    assert.is((await api.ask(`PUT /allocations/${consumer}`, holding({ [HOST]: { VCPU: 3 } }))).status, 204);
    for (let n = 0; n < MANY; n += BATCH) {
      const batch = Array.from({ length: BATCH }, (_, more) => {
        const name = `host ${n + more} ${'x'.repeat(180)}`;
        return api.ask('POST /resource_providers', { uuid: id('b', n + more), name });
      });
      await Promise.all(batch);
    }
    const listed = await api.ask('GET /resource_providers');
    assert.is((listed.body.resource_providers as never as unknown[]).length, MANY + 1);
    const before = await api.ask(`GET /resource_providers/${HOST}/allocations`);

    const ofLongName = { ...holding({ [HOST]: { VCPU: 1 } }), project_id: 'p'.repeat(255) };
    const all = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [id('d', n), ofLongName]));
    const tooLarge = await api.ask('POST /allocations', all);
    assert.is(tooLarge.status, 413);
    assert.match(
      JSON.stringify(tooLarge.body),
      /does not fit into one message to placement: .* the limit of \d+ bytes/,
    );

    await node.stop();
    const lost = await impatient.ask('GET /traits');
    assert.is(lost.status, 503);
    assert.match(JSON.stringify(lost.body), 'placement did not answer');

    node = await play();
    assert.equal((await api.ask(`GET /resource_providers/${HOST}/allocations`)).body, before.body);
    const more = await api.ask(`PUT /allocations/${id('c', 2)}`, holding({ [HOST]: { VCPU: 2 } }));
    assert.is(more.status, 409);
    assert.match(JSON.stringify(more.body), 'exceeds-capacity');
  } finally {
    await impatient.close();
    await api.close();
    await node.stop();
    await server.stop();
  }
});

test('changes go on while a shard is handed over from one node to another, and each is made once', async () => {
  const server = await startTestServer();
  const play = (name: string) => startNode({ roles: ['placement'], name, nats: { servers: server.url } });
  let [serving, standby] = await Promise.all([play('one'), play('two')]);
  const api = await placementApi({ placement: { servers: [server.url] } });
  try {
    await makeProvider(api, HOST, { VCPU: 1_000_000 });
    let isOver = false;
    let changes = 0;
    const change = async () => {
      while (!isOver) {
        changes += 1;
        const status = (await api.ask(`PUT /allocations/${id('c', changes)}`, holding({ [HOST]: { VCPU: 1 } }))).status;
        assert.is(status, 204);
      }
    };
    const handingOver = async () => {
      for (let times = 0; times < 4; times += 1) {
        const before = changes;
        await serving.stop();
        [serving, standby] = [standby, await play(`later-${times}`)];
        await until('changes go on', () => changes > before + 20);
      }
    };
    await Promise.all([
      ...Array.from({ length: 4 }, change),
      handingOver().finally(() => {
        isOver = true;
      }),
    ]);
    const { body } = await api.ask(`GET /resource_providers/${HOST}/usages`);
    assert.equal(body.usages, { VCPU: changes });
  } finally {
    await api.close();
    await serving.stop();
    await standby.stop();
    await server.stop();
  }
});

test('with a managed server, what was answered is there after a restart', async () => {
  const storeDir = mkdtempSync(join(tmpdir(), 'cellwright-placement-'));
  try {
    const first = await placementApi({ placement: 'managed', storeDir });
    await makeProvider(first, HOST, { VCPU: 4 });
    await first.ask('PUT /traits/CUSTOM_RED');
    await first.close();
    const second = await placementApi({ placement: 'managed', storeDir });
    try {
      const { body } = await second.ask(`GET /resource_providers/${HOST}/inventories/VCPU`);
      assert.is(Number(body.total), 4);
      assert.is((await second.ask('GET /traits/CUSTOM_RED')).status, 204);
    } finally {
      await second.close();
    }
  } finally {
    rmSync(storeDir, { recursive: true, force: true });
  }
});

test.run();
