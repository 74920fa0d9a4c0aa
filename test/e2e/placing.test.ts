// Area: placing, through whole deployments. A build request goes where it says that it may, by the words of an operator's
// zones and projects; filters and weighers of one's own decide with what drivers measure; a reason names what refused.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type BuildRequest,
  type Client,
  type Driver,
  type Filter,
  fakeDriver,
  type NodeOptions,
  seededRandom,
  systemClock,
  type Weigher,
} from '../../runtime/index.ts';
import { until } from '../support/until.ts';
import { eventually, inMemory, overNats, quickDriver, type WithSystem } from './system.ts';

const test = suite('placing');

const AGGREGATES_OF: Readonly<Record<string, readonly string[]>> = {
  h1: ['east-1'],
  h2: ['east-2', 'for-red'],
  h3: ['west-1'],
  h4: ['west-1', 'for-red'],
};
const OPTIONS = {
  hosts: { c1: ['h1', 'h2'], c2: ['h3', 'h4'] },
  aggregates: {
    'east-1': { zone: 'east' },
    'east-2': { zone: 'east' },
    'west-1': { zone: 'west' },
    'for-red': { projects: ['red'], mostInstances: 3 },
  },
  driver: ({ cell, host }) => {
    const driver = quickDriver(cell, host);
    const inventory = async () => ({ ...(await driver.inventory()), aggregates: AGGREGATES_OF[host] ?? [] });
    return { ...driver, inventory } satisfies Driver;
  },
} satisfies Partial<NodeOptions> & { hosts: object };

/** The host that a request gets, or why it gets none. */
async function hostFor(client: Client, request: Omit<BuildRequest, 'resources'>): Promise<string> {
  const { instances } = await client.build({ resources: { MEMORY_MB: 16 }, ...request });
  const { state, host, failure } = await client.ended(instances[0] as string);
  return state === 'active' ? (host ?? 'nowhere') : (failure?.message ?? state);
}

async function hostsFor(client: Client, request: Omit<BuildRequest, 'resources'>, times = 6): Promise<string[]> {
  const hosts = await Promise.all(Array.from({ length: times }, () => hostFor(client, request)));
  return [...new Set(hosts)].sort();
}

const SYSTEMS: readonly [string, WithSystem][] = [
  ['in memory', inMemory],
  ['over NATS', overNats],
];

for (const [where, withSystem] of SYSTEMS) {
  test(`placing - ${where}: cells, zones, aggregates, hosts and projects decide where a request may go`, () =>
    withSystem(OPTIONS, async ({ client, failures }) => {
      assert.equal(await hostsFor(client, {}), ['h1', 'h3'], 'two hosts are kept for a project');
      assert.equal(await hostsFor(client, { project: 'blue', placement: { zones: ['east'] } }, 3), ['h1']);
      assert.equal(
        await hostsFor(client, { project: 'red', placement: { avoidCells: ['c2'], avoidAggregates: ['east-1'] } }, 2),
        ['h2'],
      );
      assert.equal(await hostsFor(client, { placement: { avoidZones: ['east'] } }, 3), ['h3']);
      assert.equal(await hostsFor(client, { placement: { hosts: ['c2/h3', 'c2/h4'] } }, 2), ['h3']);
      assert.equal(await hostsFor(client, { placement: { avoidHosts: ['c1/h1'] } }, 2), ['h3']);
      assert.equal(await hostsFor(client, { placement: { preferCells: ['c2'] } }, 3), ['h3']);
      const none = await hostFor(client, { project: 'blue', placement: { hosts: ['c1/h2'] } });
      assert.match(none, /none of 4 hosts: (?=.*in-avoided-aggregate)(?=.*not-a-named-provider)/);
      assert.equal(failures, []);
    }));

  test(`placing - ${where}: with an instance or apart from it; a limit of an aggregate holds`, () =>
    withSystem(OPTIONS, async ({ client, failures }) => {
      const first = await hostFor(client, { id: 'first', project: 'red', placement: { aggregates: ['for-red'] } });
      assert.ok(['h2', 'h4'].includes(first));
      const same = await hostFor(client, { id: 'same', project: 'red', placement: { sameHostAs: ['first', 'ghost'] } });
      assert.is(same, first);
      const other = await hostFor(client, {
        project: 'red',
        placement: { differentHostFrom: ['first'], aggregates: ['for-red'] },
      });
      assert.equal([first, other].sort(), ['h2', 'h4']);
      assert.is(await hostFor(client, { project: 'red', placement: { sameHostAs: ['first'] } }), first);
      const fourth = await hostFor(client, { project: 'red', placement: { sameHostAs: ['first'] } });
      assert.match(fourth, /1 too-many-instances/);
      await client.delete('same');
      await eventually(
        'there is room again',
        async () => (await hostFor(client, { project: 'red', placement: { sameHostAs: ['first'] } })) === first,
      );
      assert.equal(failures, []);
    }));
}

for (const placementShards of [1, 2, 3]) {
  test(`placing - several of which only some have room: advice as of a dry run, and nothing of it is left, ${placementShards} shards`, () =>
    inMemory(
      {
        placementShards,
        scheduler: { filters: [{ name: 'instance-limit', most: 2 }] },
        driver: ({ cell, host }) =>
          fakeDriver({
            host: { name: host, inventories: { VCPU: { total: host === 'h1' ? 8 : 2 } } },
            clock: systemClock(),
            random: seededRandom(`${cell}/${host}`),
          }),
      },
      async ({ client, failures }) => {
        for (const [count, vcpu] of [
          [3, 4],
          [2, 8],
        ] as const) {
          const asked = { resources: { VCPU: vcpu } };
          const room = count - 1;
          const fewer = { code: 'fewer-instances', from: count, to: room, hosts: 1 };
          const { advice } = await client.fit({ ...asked, count });
          assert.equal(advice[0], fewer);
          const { instances } = await client.build({ ...asked, count });
          const [first = ''] = instances;
          const { failure } = await client.ended(first);
          assert.match(failure?.message ?? '', /^no room for \d instances at once: of 2 hosts, 1 has room for some,/);
          assert.equal((await client.explain(first)).decision?.advice, [...advice]);
          await eventually('what some of them were given is free', async () => {
            return (await client.fit(asked)).times === room;
          });
          const again = await client.build({ ...asked, count: room });
          for (const instance of again.instances) assert.is((await client.ended(instance)).state, 'active');
          for (const instance of again.instances) await client.delete(instance);
          await eventually('they are gone', async () => (await client.fit(asked)).times === room);
        }
        assert.equal(failures, []);
      },
    ));
}

for (const [where, withSystem] of SYSTEMS) {
  test(`placing - where a host may have one instance, its place is free when the last one is deleted, ${where}`, () =>
    withSystem(
      { hosts: { c1: ['h1'] }, scheduler: { filters: [{ name: 'instance-limit', most: 1 }] } },
      async ({ client, failures }) => {
        for (let round = 0; round < 12; round += 1) {
          const id = `one-${round}`;
          assert.is(await hostFor(client, { id }), 'h1', `round ${round}`);
          await client.delete(id);
          await eventually('it is deleted', async () => (await client.show(id)).state === 'deleted');
        }
        assert.equal(failures, []);
      },
    ));
}

for (const [where, withSystem] of SYSTEMS) {
  test(`placing - where a host may build one instance at a time, it may build the next when the last is active, ${where}`, () =>
    withSystem(
      { hosts: { c1: ['h1'] }, scheduler: { filters: [{ name: 'build-limit', most: 1 }] } },
      async ({ client, failures }) => {
        for (let round = 0; round < 12; round += 1) {
          assert.is(await hostFor(client, { id: `one-${round}` }), 'h1', `round ${round}`);
        }
        assert.equal(failures, []);
      },
    ));
}

for (const [where, withSystem] of SYSTEMS) {
  for (const name of ['instance-limit', 'build-limit']) {
    test(`placing - what is deleted as soon as it was asked for leaves no trace in the ${name}, ${where}`, () =>
      withSystem(
        { hosts: { c1: ['h1'] }, scheduler: { filters: [{ name, most: 1 }] } },
        async ({ client, failures }) => {
          for (let round = 0; round < 8; round += 1) {
            await client.build({ id: `brief-${round}`, resources: { MEMORY_MB: 16 } });
            await client.delete(`brief-${round}`);
            await eventually('it is deleted', async () => (await client.show(`brief-${round}`)).state === 'deleted');
            assert.is(await hostFor(client, { id: `next-${round}` }), 'h1', `round ${round}`);
            await client.delete(`next-${round}`);
            await eventually('it is deleted', async () => (await client.show(`next-${round}`)).state === 'deleted');
          }
          assert.equal(failures, []);
        },
      ));
  }
}

test('placing - a filter and a weigher of ones own go by what drivers measure and by hints of the request', async () => {
  const heat: Record<string, number> = { h1: 20, h2: 90, h3: 40 };
  const notTooHot: Filter<number> = {
    name: 'not-too-hot',
    goesBy: ({ where }) => (where?.hints?.most === undefined ? undefined : Number(where.hints.most)),
    refusal({ host, stats: { metrics } }, most) {
      const degrees = metrics?.heat;
      if (degrees === undefined) return { code: 'not-measured', message: `nobody knows how hot host '${host}' is` };
      if (degrees <= most) return null;
      return {
        code: 'too-hot',
        message: `host '${host}' has ${degrees} degrees, more than ${most}`,
        short: degrees - most,
      };
    },
  };
  const coolest: Weigher = {
    name: 'coolest',
    multiplier: 100,
    weigh: ({ host }) => 1 - (host.stats.metrics?.heat ?? 100) / 100,
  };
  const failed: string[] = [];
  await inMemory(
    {
      hosts: { c1: ['h1', 'h2', 'h3'] },
      compute: { heartbeatMs: 50 },
      scheduler: { filters: [notTooHot], weighers: ['defaults', coolest], pickAmong: 1 },
      driver: ({ cell, host }) => ({
        ...quickDriver(cell, host),
        metrics: async () => {
          if (heat[host] === undefined) failed.push(host);
          return { heat: heat[host] as number };
        },
      }),
    },
    async ({ client, failures }) => {
      const most = (degrees: number, hosts: string[]) =>
        hostFor(client, { placement: { hosts, hints: { most: String(degrees) } } });
      for (const [host, degrees] of Object.entries(heat)) {
        await eventually(`${host} is measured`, async () => (await most(degrees, [`c1/${host}`])) === host);
      }
      for (let n = 0; n < 3; n += 1) assert.is(await hostFor(client, {}), 'h1', 'the coolest');
      heat.h1 = 80;
      await eventually('it is known to be hot', async () => (await most(79, ['c1/h1'])) !== 'h1');
      for (let n = 0; n < 3; n += 1) assert.is(await hostFor(client, {}), 'h3', 'another is the coolest');
      const none = await hostFor(client, { placement: { hints: { most: '30' } } });
      assert.match(none, /none of 3 hosts: 3 too-hot/);
      assert.is(await hostFor(client, { placement: { hints: { most: '50' } } }), 'h3');
      assert.equal(failures, []);
      // What cannot be measured any more counts no more, and does not harm the host.
      delete heat.h3;
      await until('it could not be measured', () => failed.includes('h3'));
      await eventually('it is not taken for cool', async () => /1 not-measured/.test(await most(99, ['c1/h3'])));
      assert.is(await hostFor(client, {}), 'h1');
    },
  );
});

test('placing - a host whose builds fail is chosen less, and others do not wait for it to be set aside', () =>
  inMemory(
    {
      hosts: { c1: ['h1', 'h2'] },
      cell: { failuresBeforeAside: 100 },
      scheduler: { weighers: ['build-failures'] },
      driver: ({ cell, host }) => {
        const driver = quickDriver(cell, host);
        if (host === 'h2') return driver;
        return { ...driver, build: async () => ({ outcome: 'failed', reason: 'no disk' }) } satisfies Driver;
      },
    },
    async ({ client }) => {
      // Each ends on the host that works; how many tried the other one first is told by their attempts.
      let tried = 0;
      for (let n = 0; n < 6; n += 1) {
        const { instances } = await client.build({ id: `web-${n}-x`, resources: { MEMORY_MB: 16 } });
        const { host, attempts = [] } = await client.ended(instances[0] as string);
        assert.is(host, 'h2');
        tried += attempts.length;
        if (tried === 0) continue;
        await eventually(
          'the failure is known',
          async () =>
            ((await client.hosts({ cell: 'c1' })).hosts.find((one) => one.host === 'h1')?.failures?.weight ?? 0) > 0,
        );
      }
      assert.ok(tried <= 2, `${tried} of 6 tried the host that fails`);
    },
  ));

test.run();
