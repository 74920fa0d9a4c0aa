// Area: requests that wait for a host: over a real NATS server and in memory alike. They say so, are placed when there is
// room, end at their deadline, can be deleted, and outlive the death of the scheduler and of the conductor.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { HostStanding } from '../../actors/messages/questions.ts';
import { memoryServer } from '../../runtime/bus/memory.ts';
import { clientOf } from '../../runtime/client.ts';
import type { CellwrightError } from '../../runtime/errors.ts';
import { memoryJournals } from '../../runtime/journal/memory.ts';
import { type Node, startNode } from '../../runtime/node.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { failureOf } from '../support/until.ts';
import {
  eventually,
  hostsUp,
  hostTree,
  inMemory,
  overNats,
  quickDriver,
  type System,
  type WithSystem,
} from './system.ts';

const WHOLE = { resources: { VCPU: 8 } };
const FOR_LONG = { wait: { forMs: 600_000 } };
const QUICK = { scheduler: { warmUpMs: 200, patience: { firstMs: 100, mostMs: 200 } } };

type Client = System['client'];

const waits = (client: Client, id: string) =>
  eventually(`'${id}' waits`, async () => (await client.show(id)).waiting !== undefined);

function contract(name: string, withSystem: WithSystem): void {
  const test = suite(`waiting ${name}`);
  const on = (what: string, run: (system: System) => Promise<void>) =>
    test(`waiting - ${what}`, () =>
      withSystem({ hosts: { c1: ['h1'] }, ...QUICK }, async (system) => {
        await system.client.build({ id: 'first', ...WHOLE });
        assert.is((await system.client.ended('first')).state, 'active');
        await run(system);
      }));

  on('a request waits, says so everywhere, and is placed when there is room', async ({ client, bus, subjects }) => {
    const heard: string[] = [];
    bus.subscribe(subjects.event(['conductor', '*', 'waiting', '*']), ({ subject }) => heard.push(subject));
    await bus.flush();
    const before = Date.now();
    await client.build({ id: 'web', project: 'shop', ...WHOLE, ...FOR_LONG });
    await waits(client, 'web');
    const { state, waiting } = await client.show('web');
    assert.is(state, 'requested');
    assert.match(waiting?.reason ?? '', /none of 1 host: 1 exceeds-capacity VCPU/);
    assert.ok((waiting?.until ?? 0) - before >= 600_000);
    const listed = (await client.list()).instances.find(({ instance }) => instance === 'web');
    assert.equal(listed?.waiting?.until, waiting?.until);
    const { words, decision } = await client.explain('web');
    assert.is(decision?.fits, 0);
    assert.match(words.join('\n'), /it has waited for a host since .*, until .*; as of .*: none of 1 host/);
    assert.equal(heard, [subjects.event(['conductor', '0', 'waiting', 'web'])]);
    await client.delete('first');
    assert.is((await client.ended('web')).state, 'active');
    assert.is((await client.show('web')).waiting, undefined);
  });

  on('at its deadline it fails with the last reason', async ({ client }) => {
    await client.build({ id: 'web', ...WHOLE, wait: { forMs: 1_500 } });
    await waits(client, 'web');
    const { state, failure } = await client.ended('web');
    assert.is(state, 'failed');
    assert.is(failure?.code, 'no-valid-host');
    assert.match(failure?.message ?? '', /^waited 1.5 s in vain; at last: none of 1 host: 1 exceeds-capacity VCPU/);
  });

  on('at its deadline it is told how hosts stand by then, not when it began to wait', async ({ client }) => {
    await client.build({ id: 'web', resources: { VCPU: 12 }, wait: { forMs: 1_500 } });
    await waits(client, 'web');
    assert.match((await client.show('web')).waiting?.reason ?? '', /short by 12\)/);
    await client.delete('first');
    await client.ended('first');
    const { failure } = await client.ended('web');
    assert.match(
      failure?.message ?? '',
      /at last: none of 1 host: .*short by 4\); no host can give more than 8 VCPU .*; with 4 VCPU less/,
    );
    assert.is((await client.explain('web')).decision?.refused[0]?.nearest?.short, 4);
  });

  on('deleted while it waits, it is gone, and the next one is placed', async ({ client }) => {
    for (const id of ['gone', 'next']) {
      await client.build({ id, ...WHOLE, ...FOR_LONG });
      await waits(client, id);
    }
    await client.delete('gone');
    assert.is((await client.ended('gone')).state, 'deleted');
    await client.delete('first');
    assert.is((await client.ended('next')).state, 'active');
  });

  on('a host that joins, or is put back into service, is room too', async ({ client }) => {
    await client.host({ cell: 'c1', host: 'h1', enabled: false });
    await client.delete('first');
    await client.ended('first');
    await eventually('the host is out', async () => (await client.fit(WHOLE)).refused[0]?.code === 'host-disabled');
    await client.build({ id: 'web', ...WHOLE, ...FOR_LONG });
    await waits(client, 'web');
    await client.host({ cell: 'c1', host: 'h1', enabled: true });
    assert.is((await client.ended('web')).state, 'active');
  });

  on('bad waits name the field', async ({ client }) => {
    for (const [wait, field] of [
      [{ forMs: 0 }, 'wait.forMs'],
      [{ forMs: 2_592_000_001 }, 'wait.forMs'],
      [{}, 'wait.forMs'],
      [{ forMs: 1_000, until: 5 }, 'wait.until'],
      [5, 'wait'],
    ] as const) {
      const error = (await failureOf(() => client.build({ ...WHOLE, wait: wait as never }))) as CellwrightError;
      assert.equal([error.code, error.field], ['malformed', field]);
    }
  });

  test.run();
}

contract('over NATS', overNats);
contract('in memory', inMemory);

const test = suite('waiting');

for (const [schedulers, placementShards] of [
  [1, 4],
  [4, 1],
  [4, 4],
] as const) {
  test(`waiting - in order within a project and in turn between projects, with ${schedulers} schedulers and ${placementShards} placement shards`, () =>
    inMemory({ hosts: { c1: ['h1'], c2: ['k1'] }, placementShards, ...QUICK }, async ({ client, bus, subjects }) => {
      const others = Array.from({ length: schedulers - 1 }, (_, n) => {
        const { prefix } = subjects;
        return startNode({ name: `other-${n}`, roles: ['scheduler'], bus, prefix, placementShards, ...QUICK });
      });
      try {
        await Promise.all(others);
        for (const id of ['holder-0', 'holder-1']) {
          await client.build({ id, ...WHOLE, ...FOR_LONG });
          assert.is((await client.ended(id)).state, 'active');
        }
        const asked = ['a0', 'b0', 'a1', 'b1', 'a2', 'a3'];
        for (const id of asked) {
          await client.build({ id, project: id.slice(0, 1), ...WHOLE, ...FOR_LONG });
          await waits(client, id);
        }
        const placed: string[] = [];
        for (let freed = 'holder-0'; placed.length < asked.length; freed = placed.at(-1) as string) {
          await client.delete(freed);
          await eventually('another one has its room', async () => {
            const views = await Promise.all(asked.map((id) => client.show(id)));
            const next = views.find(({ instance, state }) => state === 'active' && !placed.includes(instance));
            if (next !== undefined) placed.push(next.instance);
            return next !== undefined;
          });
        }
        assert.equal(placed, asked);
      } finally {
        for (const other of await Promise.all(others)) await other.stop();
      }
    }));
}

test('waiting - outlives the scheduler, the conductor, and both at once', async () => {
  const clock = systemClock();
  const server = memoryServer({ clock, onError() {} });
  const journals = memoryJournals({ clock });
  const driver = ({ cell, host }: { cell: string; host: string }) => quickDriver(cell, host);
  const patience = { firstMs: 100, mostMs: 200 };
  const options = { ...QUICK, conductor: { parkedAskMs: 500, patience }, clock, journals, driver };
  const start = (name: string, roles: string[]) => startNode({ ...options, name, roles, bus: server.connect() });
  const rest = await start('rest', ['placement', 'cell:c1', 'compute:c1/h1']);
  let conductor: Node = await start('conductor-1', ['conductor']);
  let scheduler: Node = await start('scheduler-1', ['scheduler']);
  const client = clientOf({ bus: server.connect(), clock, subjects: subjectsOf() });
  try {
    await hostsUp(client, 'c1', 1);
    await client.build({ id: 'holder-0', ...WHOLE });
    await client.ended('holder-0');
    let life = 1;
    for (const dies of ['scheduler', 'conductor', 'both']) {
      life += 1;
      const id = `holder-${life}`;
      await client.build({ id, ...WHOLE, ...FOR_LONG });
      await waits(client, id);
      const { waiting } = await client.show(id);
      if (dies !== 'conductor') await scheduler.stop();
      if (dies !== 'scheduler') await conductor.stop();
      if (dies !== 'scheduler') conductor = await start(`conductor-${life}`, ['conductor']);
      if (dies !== 'conductor') scheduler = await start(`scheduler-${life}`, ['scheduler']);
      await waits(client, id);
      assert.is((await client.show(id)).waiting?.until, waiting?.until, 'the deadline is as it was');
      await client.delete(life === 2 ? 'holder-0' : `holder-${life - 1}`);
      assert.is((await client.ended(id)).state, 'active', `${dies} died`);
    }
  } finally {
    await Promise.all([rest.stop(), conductor.stop(), scheduler.stop()]);
  }
});

const obstaclesOf = (standing: HostStanding | null) => [
  ...(standing?.refusal === undefined ? [] : [standing.refusal]),
  ...(standing?.also ?? []),
];

test('waiting - a request goes by what the operator says of aggregates now, and why-not tells of it', async () => {
  const clock = systemClock();
  const server = memoryServer({ clock, onError() {} });
  const journals = memoryJournals({ clock });
  const driver = ({ cell, host }: { cell: string; host: string }) => ({
    ...quickDriver(cell, host),
    inventory: async () => ({ ...hostTree(host), aggregates: host === 'h1' ? ['plain'] : ['licensed'] }),
  });
  const patience = { firstMs: 100, mostMs: 200 };
  const options = { ...QUICK, conductor: { parkedAskMs: 500, patience }, clock, journals, driver };
  const start = (name: string, roles: string[], aggregates = {}) =>
    startNode({ ...options, name, roles, aggregates, bus: server.connect() });
  const hosts = ['compute:c1/h1', 'compute:c1/h2'];
  const rest = await start('rest', ['placement', 'scheduler', 'cell:c1', ...hosts]);
  const keptFor = (project: string) => ({ licensed: { projects: [project] } });
  let conductor: Node = await start('conductor-1', ['conductor'], keptFor('shop'));
  const client = clientOf({ bus: server.connect(), clock, subjects: subjectsOf() });
  try {
    await hostsUp(client, 'c1', 2);
    for (const id of ['holder-0', 'holder-1']) {
      await client.build({ id, ...WHOLE, project: 'shop' });
      assert.is((await client.ended(id)).state, 'active');
    }
    const on = async (id: string) => (await client.show(id)).host;
    const licensed = (await on('holder-0')) === 'h2' ? 'holder-0' : 'holder-1';
    for (const id of ['shop', 'bank']) {
      await client.build({ id, project: id, ...WHOLE, ...FOR_LONG });
      await waits(client, id);
    }
    assert.equal((await client.whyNot({ id: 'shop', host: 'h2' })).now?.refusal?.code, 'exceeds-capacity');
    await conductor.stop();
    conductor = await start('conductor-2', ['conductor'], keptFor('bank'));
    const { now } = await client.whyNot({ id: 'shop', host: 'h2' });
    assert.match(
      obstaclesOf(now)
        .map(({ message }) => message)
        .join(),
      /is in aggregate licensed, which is kept for other projects/,
    );
    // Of an instance that has a host, too: it would not be let in now.
    const held = (await client.whyNot({ id: licensed, host: 'h2' })).now;
    assert.ok(obstaclesOf(held).some(({ code }) => code === 'in-avoided-aggregate'));
    await client.delete(licensed);
    assert.is((await client.ended('bank')).state, 'active');
    assert.is(await on('bank'), 'h2');
    assert.ok((await client.show('shop')).waiting !== undefined);
    await client.delete(licensed === 'holder-0' ? 'holder-1' : 'holder-0');
    assert.is((await client.ended('shop')).state, 'active');
    assert.is(await on('shop'), 'h1');
  } finally {
    await Promise.all([rest.stop(), conductor.stop()]);
  }
});

test.run();
