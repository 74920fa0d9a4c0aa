// Area: groups, hammered end to end. Four schedulers over the same six hosts, which fail many builds: groups of every rule,
// requests for several with alternates, some that wait, and deletions, all at once. At every look no rule is broken and
// nothing is over-committed; alternates are as they were asked for; and in the end nothing is held.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { everyPlacement } from '../../actors/routing.ts';
import { startNode } from '../../runtime/node.ts';
import { seededRandom } from '../../runtime/random.ts';
import { auditorOf } from './auditing.ts';
import { eventually, inMemory, overNats, type System, unreliableDriver, type WithSystem } from './system.ts';

const test = suite('groups, hammered end to end');

const HOSTS = { c1: ['h1', 'h2', 'h3'], c2: ['k1', 'k2', 'k3'] };
const OTHER_SCHEDULERS = 3;
const REQUESTS = 60;
const MOST_INSTANCES = 7;
const GROUPS = [
  { name: 'close', policy: 'affinity' },
  { name: 'closer', policy: 'affinity' },
  { name: 'closest', policy: 'affinity' },
  { name: 'apart', policy: 'anti-affinity' },
  { name: 'pairs', policy: 'anti-affinity', maxPerHost: 2 },
  { name: 'near', policy: 'soft-affinity' },
  { name: 'loose', policy: 'soft-anti-affinity' },
] as const;

interface Look {
  /** The hosts of each member of each group by its latest attempt, as `member host`. */
  readonly homes: ReadonlyMap<string, readonly string[]>;
  readonly held: number;
}

/** Looks at all placement shards, one after the other, and at every host in them. */
async function lookAt(asking: ReturnType<typeof auditorOf>['asking'], shards: number): Promise<Look> {
  const homes = new Map<string, string[]>();
  let held = 0;
  for (const shard of everyPlacement(shards)) {
    const { providers } = await asking.ask(shard, { type: 'list-providers', limit: 1_000 }, 'providers');
    for (const { name, inventories, used } of providers) {
      for (const [resourceClass, amount] of Object.entries(used)) {
        const { total = 0 } = inventories[resourceClass] ?? {};
        assert.ok(amount <= total, `${amount} of ${total} ${resourceClass} are used on '${name}'`);
      }
    }
    const { consumers } = await asking.ask(shard, { type: 'list-consumers', limit: 1_000 }, 'consumers');
    const byHost = new Map<string, number>();
    for (const { consumer, held: all } of consumers) {
      const latest = all.toSorted((one, other) => other.attempt - one.attempt)[0];
      const host = latest?.allocations[0]?.provider;
      if (host === undefined) continue;
      held += 1;
      byHost.set(host, (byHost.get(host) ?? 0) + 1);
      const group = consumer.slice(0, consumer.indexOf('-'));
      homes.set(group, [...(homes.get(group) ?? []), `${consumer} ${host}`]);
    }
    for (const [host, count] of byHost) assert.ok(count <= MOST_INSTANCES, `${count} instances on '${host}'`);
  }
  return { homes, held };
}

/** The rules that a look, or what stood in two looks one after the other, shows broken. */
function broken(before: Look | null, { homes }: Look): string[] {
  return GROUPS.flatMap((group): string[] => {
    const { name, policy } = group;
    const members = homes.get(name) ?? [];
    if (policy === 'anti-affinity') {
      const counts = new Map<string, number>();
      for (const member of members) {
        const host = member.slice(member.indexOf(' ') + 1);
        counts.set(host, (counts.get(host) ?? 0) + 1);
      }
      const most = 'maxPerHost' in group ? group.maxPerHost : 1;
      return [...counts]
        .filter(([, count]) => count > most)
        .map(([host, count]) => `${count} of '${name}' on '${host}'`);
    }
    if (policy !== 'affinity') return [];
    // Shards are looked at one after the other: what moved meanwhile may be seen twice, but not in two looks.
    const standing = members.filter((member) => before?.homes.get(name)?.includes(member));
    const hosts = new Set(standing.map((member) => member.slice(member.indexOf(' ') + 1)));
    return hosts.size > 1 ? [`'${name}' is on ${[...hosts].join(' and ')}`] : [];
  });
}

async function withSchedulers({ bus, subjects }: System, run: () => Promise<void>): Promise<void> {
  const options = { roles: ['scheduler'], bus, prefix: subjects.prefix };
  const scheduler = { filters: [{ name: 'instance-limit', most: MOST_INSTANCES }] };
  const others = await Promise.all(
    Array.from({ length: OTHER_SCHEDULERS }, (_, at) => startNode({ ...options, name: `other-${at}`, scheduler })),
  );
  try {
    await run();
  } finally {
    for (const one of others) await one.stop();
  }
}

async function hammer(system: System, shards: number): Promise<void> {
  const { client, failures } = system;
  const random = seededRandom(`hammer ${shards}`);
  const auditor = auditorOf(system, { cells: Object.keys(HOSTS) });
  let isOver = false;
  let looks = 0;
  const looking = (async () => {
    let before: Look | null = null;
    while (!isOver) {
      const now = await lookAt(auditor.asking, shards);
      assert.equal(broken(before, now), []);
      before = now;
      looks += 1;
    }
  })();
  // A look that fails is told when all is over.
  looking.catch(() => undefined);
  const asked = new Map<string, number>();
  const ask = async (position: number): Promise<void> => {
    const instanceGroup = random.pick(GROUPS);
    const id = `${instanceGroup.name}-${position}`;
    const [count, alternates] = [random.chance(0.5) ? random.integer(2, 3) : 1, random.integer(0, 4)];
    const waits = random.chance(0.4) ? { wait: { forMs: random.integer(200, 3_000) } } : {};
    const resources = { VCPU: random.integer(1, 2) };
    const pauses = Array.from({ length: count }, () => (random.chance(0.6) ? random.integer(0, 400) : null));
    const { instances } = await client.build({ id, count, alternates, resources, instanceGroup, ...waits });
    await Promise.all(
      instances.map(async (instance, at) => {
        asked.set(instance, alternates);
        const pauseMs = pauses[at] ?? null;
        if (pauseMs === null) return;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        await client.delete(instance);
      }),
    );
  };
  await Promise.all(Array.from({ length: REQUESTS }, (_, position) => ask(position)));
  const states = new Map<string, number>();
  let rescheduled = 0;
  for (const [instance, alternates] of asked) {
    const { state, cell, attempts = [] } = await client.ended(instance);
    states.set(state, (states.get(state) ?? 0) + 1);
    if (attempts.length > 0) rescheduled += 1;
    if (cell === undefined || (state !== 'active' && state !== 'failed')) continue;
    const { decision } = await client.explain(instance);
    if (decision?.chosen === undefined) continue;
    const { chosen } = decision;
    const named = [chosen.host, ...decision.alternates];
    assert.ok(decision.alternates.length <= alternates, `${instance}: ${named} of ${alternates} asked for`);
    assert.is(new Set(named).size, named.length, `${instance}: ${named}`);
    const ofCell: readonly string[] = HOSTS[chosen.cell as keyof typeof HOSTS];
    assert.ok(
      named.every((host) => ofCell.includes(host)),
      `${instance}: ${named}`,
    );
  }
  assert.ok((states.get('active') ?? 0) > 0 && rescheduled > 0, JSON.stringify([...states]));
  await Promise.all([...asked.keys()].map((instance) => client.delete(instance)));
  await eventually('nothing is held', async () => (await lookAt(auditor.asking, shards)).held === 0);
  isOver = true;
  await looking;
  assert.ok(looks > 1, `${looks} looks`);
  assert.equal(await auditor.found({ placementShards: shards }), []);
  assert.equal(failures, []);
  auditor.stop();
}

function declare(where: string, withSystem: WithSystem, placementShards: number): void {
  const conductor = { patience: { firstMs: 300, mostMs: 1_000 } };
  const scheduler = { filters: [{ name: 'instance-limit', most: MOST_INSTANCES }] };
  const options = { hosts: HOSTS, driver: unreliableDriver, conductor, scheduler, placementShards };
  test(`groups hammered - ${where}, with ${placementShards} placement shards: no rule is broken, nothing is left behind`, () =>
    withSystem(options, (system) => withSchedulers(system, () => hammer(system, placementShards))));
}

declare('in memory', inMemory, 1);
declare('over NATS', overNats, 4);

test.run();
