// Area: instance groups, end to end. Many schedulers, many builds of one group at once and builds that fail and are
// rescheduled: there is never a moment at which a host has more members than it may, on either bus.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startNode } from '../../runtime/node.ts';
import { eventually, inMemory, overNats, type System, unreliableDriver, type WithSystem } from './system.ts';

const test = suite('instance groups, end to end');

const SCHEDULERS = 4;
const HOSTS = { c1: ['h1', 'h2', 'h3', 'h4', 'h5'], c2: ['k1', 'k2', 'k3', 'k4', 'k5'] };
const SMALL = { VCPU: 1 };

interface Held {
  readonly consumer: string;
  readonly held: readonly { readonly allocations: readonly { readonly provider: string }[] }[];
}

/** How many of the consumers of which `isMember` says so hold something on each host, by the provider of the host. */
async function membersByHost({ dump }: System, isMember: (consumer: string) => boolean): Promise<Map<string, number>> {
  const { consumers } = (await dump()) as { consumers: readonly Held[] };
  const counts = new Map<string, number>();
  for (const { consumer, held } of consumers) {
    if (!isMember(consumer)) continue;
    const hosts = new Set(held.flatMap(({ allocations }) => allocations.map(({ provider }) => provider)));
    for (const host of hosts) counts.set(host, (counts.get(host) ?? 0) + 1);
  }
  return counts;
}

async function withSchedulers(system: System, run: () => Promise<void>): Promise<void> {
  const { bus, subjects } = system;
  const roles = ['scheduler'];
  const others = await Promise.all(
    Array.from({ length: SCHEDULERS - 1 }, (_, at) =>
      startNode({ name: `other-${at}`, roles, bus, prefix: subjects.prefix }),
    ),
  );
  try {
    await run();
  } finally {
    for (const one of others) await one.stop();
  }
}

const QUICK = { conductor: { patience: { firstMs: 300, mostMs: 1_000 } } };
const hostCount = Object.values(HOSTS).flat().length;
const isOf = (prefix: string) => (consumer: string) => consumer.startsWith(prefix);

function declare(where: string, withSystem: WithSystem): void {
  test(`instance groups - ${where}: parallel builds and reschedules put no two members on a host`, () =>
    withSystem({ hosts: HOSTS, driver: unreliableDriver, ...QUICK }, (system) =>
      withSchedulers(system, async () => {
        const { client, failures } = system;
        const instanceGroup = { name: 'web', policy: 'anti-affinity' as const };
        const ask = (id: string) => client.build({ id, resources: SMALL, alternates: 5, instanceGroup });
        const ids = Array.from({ length: 3 * hostCount }, (_, at) => `web-${at}`);
        let over = false;
        let looks = 0;
        const looking = (async () => {
          while (!over) {
            for (const [host, count] of await membersByHost(system, isOf('web-'))) {
              assert.is(count, 1, `${count} members on '${host}'`);
            }
            looks += 1;
          }
        })();
        await Promise.all(ids.map(ask));
        const ends = await Promise.all(ids.map((id) => client.ended(id)));
        over = true;
        await looking;
        assert.ok(looks > 0);
        const active = ends.filter(({ state }) => state === 'active');
        assert.is(new Set(active.map(({ host }) => host)).size, active.length);
        assert.ok(active.length > 0 && active.length <= hostCount, `${active.length} active`);
        const reasons = ends.filter(({ state }) => state === 'failed').map(({ failure }) => failure?.message ?? '');
        assert.ok(
          reasons.some((reason) => /group-anti-affinity/.test(reason)),
          reasons.join('\n'),
        );
        // Whoever is gone leaves room for as many more.
        for (const { instance } of active) await client.delete(instance);
        await eventually(
          'nothing of the group is held',
          async () => (await membersByHost(system, isOf('web-'))).size === 0,
        );
        assert.equal(failures, []);
      }),
    ));

  test(`instance groups - ${where}: parallel builds follow soft rules while there is room`, () =>
    withSystem({ hosts: HOSTS, ...QUICK, placementShards: 2 }, (system) =>
      withSchedulers(system, async () => {
        const { client, failures } = system;
        // One that begins takes long to answer, so its requests are asked of others too, and count twice for a moment.
        const answered = new Set<string | undefined>();
        await eventually('every scheduler has answered', async () => {
          const id = `first-${answered.size}-${Date.now()}`;
          await client.build({ id, resources: SMALL });
          await client.ended(id);
          answered.add((await client.explain(id)).decision?.scheduler);
          await client.delete(id);
          return answered.size >= SCHEDULERS;
        });
        /** How many hosts members have that are asked for all at once. */
        const hostsOf = async (name: string, policy: 'soft-affinity' | 'soft-anti-affinity', count: number) => {
          const ids = Array.from({ length: count }, (_, at) => `${name}-${at}`);
          const instanceGroup = { name, policy };
          await Promise.all(ids.map((id) => client.build({ id, resources: SMALL, instanceGroup })));
          const ends = await Promise.all(ids.map((id) => client.ended(id)));
          await Promise.all(ids.map((id) => client.delete(id)));
          return new Set(ends.map(({ cell, host }) => `${cell}/${host}`)).size;
        };
        for (let round = 0; round < 10; round += 1) {
          const found = await Promise.all([
            hostsOf(`apart${round}`, 'soft-anti-affinity', hostCount),
            hostsOf(`close${round}`, 'soft-affinity', 3),
          ]);
          assert.equal(found, [hostCount, 1], `round ${round}`);
        }
        assert.equal(failures, []);
      }),
    ));

  test(`instance groups - ${where}: a request for several keeps its rule as a whole, or fails as a whole`, () =>
    withSystem({ hosts: HOSTS, ...QUICK }, (system) =>
      withSchedulers(system, async () => {
        const { client } = system;
        const apart = { name: 'apart', policy: 'anti-affinity' as const };
        const close = { name: 'close', policy: 'affinity' as const };
        const build = (id: string, count: number, instanceGroup: typeof apart | typeof close) =>
          client.build({ id, count, resources: SMALL, instanceGroup });
        const hostsOf = async (instances: readonly string[]) =>
          (await Promise.all(instances.map((one) => client.ended(one)))).map(({ state, host = '' }) => [state, host]);
        const [each, many, together] = await Promise.all([
          build('each', hostCount, apart),
          build('many', hostCount + 1, { ...apart, name: 'other' }),
          build('together', 4, close),
        ]);
        const of = await hostsOf(each.instances);
        assert.is(new Set(of.map(([, host]) => host)).size, hostCount, 'each has a host of its own');
        assert.ok((await hostsOf(many.instances)).every(([state]) => state === 'failed'));
        const [first] = await hostsOf(together.instances.slice(0, 1));
        assert.equal(await hostsOf(together.instances), Array(4).fill(['active', first?.[1]]));
        await eventually('nothing is held for those that failed', async () => {
          return (await membersByHost(system, isOf('many-'))).size === 0;
        });
        await build('conflict', 1, { ...apart, name: 'close' });
        const { failure } = await client.ended('conflict');
        assert.match(failure?.message ?? '', /^group-policy-conflict: instance group 'close' has the rule 'affinity'/);
        const later = await client.build({ id: 'later', resources: SMALL, instanceGroup: close, project: 'another' });
        assert.is((await client.ended(later.request)).state, 'active');
      }),
    ));
}

declare('in memory', inMemory);
declare('over NATS', overNats);

test.run();
