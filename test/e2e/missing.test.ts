// Area: missing, through whole deployments. An instance that goes from its host by itself is told as missing, soon and to
// whoever asks, and as found where it comes back; a host whose compute begins anew without it tells that at once.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Driver, startNode } from '../../runtime/index.ts';
import { startTestServer } from '../support/nats-server.ts';
import { eventually, hostsUp, inMemory, overNats, quickDriver, type System, type WithSystem } from './system.ts';

const test = suite('missing');

/** What the driver does not have any more, though it built it. */
const withGone = (withSystem: WithSystem, run: (gone: Set<string>, system: System) => Promise<void>): Promise<void> => {
  const gone = new Set<string>();
  const driver = ({ cell, host }: { cell: string; host: string }): Driver => {
    const quick = quickDriver(cell, host);
    return { ...quick, list: async () => (await quick.list()).filter(({ instance }) => !gone.has(instance)) };
  };
  const options = { hosts: { c1: ['h1'] }, driver, compute: { heartbeatMs: 50, inventoryEveryMs: 20 } };
  return withSystem(options, (system) => run(gone, system));
};

const SYSTEMS: readonly [string, WithSystem][] = [
  ['in memory', inMemory],
  ['over NATS', overNats],
];

for (const [where, withSystem] of SYSTEMS) {
  test(`missing - ${where}: what goes from its host by itself is told, and that it is back`, () =>
    withGone(withSystem, async (gone, { client, bus, subjects, failures }) => {
      const heard: string[] = [];
      bus.subscribe(subjects.event(['cell', 'c1', 'build', '*', '*']), ({ subject }) => {
        const [instance, state = ''] = subject.split('.').slice(-2);
        if (['missing', 'found'].includes(state)) heard.push(`${instance} ${state}`);
      });
      await client.build({ id: 'web', count: 2, resources: { VCPU: 1 } });
      for (const id of ['web-0', 'web-1']) assert.is((await client.ended(id)).state, 'active');
      const before = Date.now();
      gone.add('web-0');
      await eventually('it is missed', async () => (await client.show('web-0')).missing !== undefined);
      const { state, missing } = await client.show('web-0');
      assert.is(state, 'active');
      assert.ok((missing?.since ?? 0) >= before);
      assert.is((await client.show('web-1')).missing, undefined);

      const since = new Date(missing?.since ?? 0).toISOString();
      const said = `it is missing: the driver of c1/h1 does not have it, as is known since ${since}; it keeps its resources until it is deleted, and may come back`;
      assert.is((await client.explain('web-0')).words[1], said);
      assert.is((await client.whyNot({ id: 'web-0', host: 'h1' })).words[1], said);

      gone.clear();
      await eventually('it is back', async () => (await client.show('web-0')).missing === undefined);
      assert.equal(heard, ['web-0 missing', 'web-0 found']);
      gone.add('web-0');
      await client.delete('web-0');
      await eventually('it is gone', async () => (await client.show('web-0')).state === 'deleted');
      assert.equal(failures, []);
    }));
}

test('missing - a host that is back without what ran there tells it at once', async () => {
  const server = await startTestServer();
  const nats = { servers: server.url };
  const owners = await startNode({ roles: ['placement', 'scheduler', 'conductor', 'cell:c1'], nats });
  // An engine that keeps nothing when its process ends, as a machine that is started anew.
  const host = () =>
    startNode({ roles: ['compute:c1/h1'], nats, driver: ({ cell, host: name }) => quickDriver(cell, name) });
  let computes = await host();
  try {
    const { client } = owners;
    await hostsUp(client, 'c1', 1);
    await client.build({ id: 'web', resources: { VCPU: 1 } });
    await client.ended('web');
    await computes.stop();
    computes = await host();
    await eventually('it is missed', async () => (await client.show('web')).missing !== undefined);
    await client.build({ id: 'other', resources: { VCPU: 1 } });
    await client.ended('other');
    assert.is((await client.show('other')).missing, undefined);
  } finally {
    await computes.stop();
    await owners.stop();
    await server.stop();
  }
});

test.run();
