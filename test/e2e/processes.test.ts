// Area: processes. Several operating system processes on one NATS server are one system: each may be stopped, killed
// and started again by itself, none may take another's place, and one that ends leaves nothing behind.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Connection } from '../../runtime/connect.ts';
import { until } from '../support/until.ts';
import { withDeployment } from './deployment.ts';
import { eventually, hostsUp } from './system.ts';

const test = suite('processes');
const SMALL = { resources: { VCPU: 1, MEMORY_MB: 128 } };

async function allActive(client: Connection, id: string, count: number): Promise<void> {
  const { instances } = await client.build({ id, count, ...SMALL });
  for (const instance of instances) assert.is((await client.ended(instance)).state, 'active', instance);
}

test('processes - six of them are one system, and stop in order without leaving anything', () =>
  withDeployment(async ({ client, start, connections }) => {
    const processes = await Promise.all([
      start('placement', 'conductor'),
      start('scheduler'),
      start('scheduler'),
      start('cell:c1', 'compute:c1/h1'),
      start('cell:c2'),
      start('compute:c1/h2', 'compute:c2/h1', 'compute:c2/h2'),
    ]);
    for (const { said } of processes) assert.is(said(), 'started\n');
    await Promise.all([hostsUp(client, 'c1', 2), hostsUp(client, 'c2', 2)]);
    await Promise.all([1, 2, 3, 4].map((n) => allActive(client, `r${n}`, 8)));
    const { instances } = await client.list({ limit: 100 });
    const cells = new Set(instances.map(({ cell }) => cell));
    assert.equal([instances.length, [...cells].sort()], [32, ['c1', 'c2']]);
    // Two of each process, one of which is for what it says to itself, and that of this test.
    assert.is(Object.keys(await connections()).length, 2 * processes.length + 1);

    assert.equal(await Promise.all(processes.map((one) => one.end('SIGTERM'))), [0, 0, 0, 0, 0, 0]);
    for (const { said } of processes) assert.is(said(), 'started\nstopped\n');
    await eventually('only the client of this test is left, with its inbox', async () => {
      return JSON.stringify(await connections()) === '{"client":1}';
    });
  }));

test('processes - a compute that is there already is refused to another process, which then ends', () =>
  withDeployment(async ({ client, start }) => {
    await start('placement', 'conductor', 'scheduler', 'cell:c1', 'compute:c1/h1');
    await hostsUp(client, 'c1', 1);
    const rival = await start('compute:c1/h1');
    assert.match(rival.said(), /^refused: already-hosted: /);
    await until('the rival has ended', () => rival.child.exitCode !== null);
    assert.is(rival.child.exitCode, 1);
    await allActive(client, 'undisturbed', 3);
  }));

test('processes - with a cell down the others go on, and listings say what is not known', () =>
  withDeployment(async ({ client, start }) => {
    await start('placement', 'conductor', 'scheduler', 'cell:c1', 'compute:c1/h1');
    const cell = await start('cell:c2');
    await start('compute:c2/h1');
    await Promise.all([hostsUp(client, 'c1', 1), hostsUp(client, 'c2', 1)]);
    // Hosts are filled evenly, so that each cell has one of the two.
    await allActive(client, 'before', 2);
    await cell.end('SIGKILL');
    const { instances, silent } = await client.list();
    assert.equal(silent, ['cell/c2']);
    assert.equal(instances.map(({ cell: one, state }) => `${one} ${state}`).sort(), ['c1 active', 'c2 unknown']);
    // What was placed before its silence was noticed waits for it.
    let requests = 0;
    await eventually('a request goes to the other cell', async () => {
      requests += 1;
      const id = `after-${requests}`;
      await client.build({ id, resources: { MEMORY_MB: 1 } });
      await eventually(`'${id}' is placed`, async () => (await client.show(id)).cell !== undefined);
      return (await client.show(id)).cell === 'c1';
    });
    await start('cell:c2');
    await eventually('all is known again', async () => {
      const { silent: still, instances: all } = await client.list();
      return still === undefined && all.every(({ state }) => state === 'active');
    });
  }));

test('processes - a compute that was killed comes up again on its host, and builds', () =>
  withDeployment(async ({ client, start }) => {
    await start('placement', 'conductor', 'scheduler', 'cell:c1');
    const first = await start('compute:c1/h1');
    await hostsUp(client, 'c1', 1);
    await allActive(client, 'first', 1);
    assert.is(await first.end('SIGKILL'), null);
    await client.build({ id: 'meanwhile', ...SMALL });
    await start('compute:c1/h1');
    assert.is((await client.ended('meanwhile')).state, 'active');
    await allActive(client, 'second', 2);
  }));

test.run();
