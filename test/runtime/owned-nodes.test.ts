// Area: nodes that own. Several nodes of one process with leases in memory: each actor has one owner, the others stand
// by and say so, and take over with everything that was recorded.

import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryServer } from '../../runtime/bus/memory.ts';
import { clientOf } from '../../runtime/client.ts';
import { fakeDriver } from '../../runtime/drivers/fake.ts';
import { memoryJournals } from '../../runtime/journal/memory.ts';
import { type Node, startNode } from '../../runtime/node.ts';
import { memoryLeases } from '../../runtime/ownership/memory.ts';
import { sleep } from '../../runtime/pause.ts';
import { seededRandom } from '../../runtime/random.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { failureOf, settled } from '../support/until.ts';
import { wire } from '../support/wire.ts';

const test = suite('nodes that own');
const logger = pino({ level: 'silent' });
const OWNERS = ['placement', 'conductor', 'cell:c1'];

function rig({ vcpu = 8, ...options }: { snapshotEvery?: number; vcpu?: number } = {}) {
  const clock = virtualClock({ startMs: 1_700_000_000_000 });
  const server = memoryServer({ clock });
  const shared = {
    clock,
    journals: memoryJournals({ clock, ...options }),
    leases: memoryLeases({ clock }),
    leaseTtlMs: 2_000,
  };

  const done = <T>(work: Promise<T>) => settled(clock, work);
  const host = { name: 'h1', inventories: { VCPU: { total: vcpu } } };

  return {
    clock,
    driver: () => fakeDriver({ host, clock, random: seededRandom('h1'), buildMs: { min: 1, max: 5 } }),
    done,
    journals: shared.journals,
    connect: () => server.connect(),
    client: clientOf({ bus: server.connect(), clock, subjects: subjectsOf() }),
    start: (name: string, roles: readonly string[], more: object = {}) =>
      done(startNode({ name, roles, bus: server.connect(), ...shared, ...more })),
    /** Ends the process of a node as a crash does. */
    startMortal(name: string, roles: readonly string[], more: object = {}) {
      const bus = server.connect();
      return done(startNode({ name, roles, bus, ...shared, ...more })).then((node) => ({
        node,
        kill: () => bus.kill(),
      }));
    },
  };
}

const statesOf = (node: Node) =>
  Object.fromEntries(
    Object.entries(node.standings()).map(([address, { state, owner }]) => [address, `${state} ${owner}`]),
  );

test('nodes - a second one stands by, says who owns, and takes over when the first one stops', async () => {
  const { start, client, done, clock, driver } = rig();
  const first = await start('first', OWNERS);
  const rest = await start('rest', ['scheduler', 'compute:c1/h1'], { driver });
  const second = await start('second', OWNERS);
  assert.equal(statesOf(first), {
    'placement/0': 'owning first',
    'cell/c1': 'owning first',
    'conductor/0': 'owning first',
  });
  assert.equal(statesOf(second), {
    'placement/0': 'standby first',
    'cell/c1': 'standby first',
    'conductor/0': 'standby first',
  });
  assert.equal(statesOf(rest), {});
  await done(client.build({ id: 'web', resources: { VCPU: 1 } }));
  assert.is((await done(client.ended('web'))).state, 'active');
  const at = clock.now();
  await done(first.stop());
  assert.is((await done(client.show('web'))).state, 'active', 'the second one has read the journals');
  assert.ok(clock.now() - at < 200, `${clock.now() - at} ms`);
  assert.equal(new Set(Object.values(statesOf(second))), new Set(['owning second']));
  for (const node of [rest, second]) await done(node.stop());
});

test('nodes - the figures of an actor are what it counts itself, beside its turns and messages', async () => {
  const { start, client, done, clock, driver } = rig();
  const node = await start('all', [...OWNERS, 'scheduler', 'compute:c1/h1'], { driver });
  for (const id of ['one', 'two']) await done(client.build({ id, resources: { VCPU: 4 } }));
  await done(client.build({ id: 'three', resources: { VCPU: 4 }, wait: { forMs: 60_000 } }));
  for (const id of ['one', 'two']) await done(client.ended(id));
  await clock.runAsync(() => node.stats()['conductor/0']?.parked === 1);
  const figuresOf = (address: string) => {
    const { turns, messages, records, overloaded, waiting, ...figures } = node.stats()[address] ?? {};
    return figures;
  };
  assert.equal(figuresOf('scheduler/all'), { hosts: 1, requests: 0, parked: 1, conflicts: 0 });
  assert.equal(figuresOf('placement/0'), { providers: 1, consumers: 2 });
  assert.equal(figuresOf('conductor/0'), { instances: 3, requests: 1, parked: 1, unasked: 0 });
  assert.equal(figuresOf('cell/c1'), { instances: 2, hosts: 1 });
  await done(node.stop());
});

test('nodes - what is deleted and remembered for no time at all keeps nobody busy', async () => {
  const { start, done, clock } = rig();
  const forgetful = { rememberDeletedMs: 0 };
  const node = await start('all', OWNERS, { placement: forgetful, cell: forgetful, conductor: forgetful });
  const turnsOf = () => Object.values(node.stats()).map(({ turns = 0 }) => turns);
  const before = turnsOf();
  const from = clock.now();
  await clock.runAsync(() => clock.now() >= from + 10_000);
  const most = Math.max(...turnsOf().map((turns, at) => turns - (before[at] as number)));
  assert.ok(most < 300, `${most} turns of one actor in ten seconds`);
  await done(node.stop());
});

test('nodes - a second one takes over from one that died, when the lease is over', async () => {
  const { start, startMortal, client, done, clock } = rig();
  const { kill, node: first } = await startMortal('first', OWNERS);
  const second = await start('second', OWNERS);
  await done(client.build({ id: 'web', resources: { VCPU: 1 } }));
  kill();
  // Dead, it renews nothing either.
  const gone = first.stop();
  const at = clock.now();
  assert.is((await done(client.show('web'))).instance, 'web');
  assert.ok(clock.now() - at < 3_000, `${clock.now() - at} ms`);
  await done(gone.catch(() => undefined));
  await done(second.stop());
});

test('nodes - what was said to an owner that died with it is said to the next one as soon as it is up', async () => {
  const { start, startMortal, client, done, clock, driver } = rig();
  const rarely = { firstMs: 120_000, mostMs: 120_000 };
  const { kill, node: first } = await startMortal('first', ['placement']);
  const others = ['scheduler', 'conductor', 'cell:c1', 'compute:c1/h1'];
  const settings = { scheduler: { patience: rarely }, conductor: { patience: rarely }, cell: { patience: rarely } };
  const rest = await start('rest', others, { driver, ...settings });
  const second = await start('second', ['placement']);
  await done(client.build({ id: 'before', resources: { VCPU: 1 } }));
  assert.is((await done(client.ended('before'))).state, 'active');
  kill();
  const gone = first.stop();
  const at = clock.now();
  await done(client.build({ id: 'web', resources: { VCPU: 1 } }));
  assert.is((await done(client.ended('web'))).state, 'active');
  assert.ok(clock.now() - at < 4_000, `${clock.now() - at} ms`);
  await done(gone.catch(() => undefined));
  for (const node of [second, rest]) await done(node.stop());
});

test('nodes - without leases a second one is refused, as nothing could hand over to it', async () => {
  const { start, done } = rig();
  const first = await start('first', ['placement'], { leases: 'none' });
  const refusal = await failureOf(() => start('second', ['placement'], { leases: 'none' }));
  assert.is(refusal.code, 'already-hosted');
  await done(first.stop());
});

test('nodes - a compute that another one has replaced keeps no third one from the host', async () => {
  const { connect, start, startMortal, client, done, clock, driver } = rig();
  const roles = ['compute:c1/h1'];
  const stateOfHost = async () => (await done(client.hosts({ cell: 'c1' }))).hosts[0]?.state;
  const isSoon = async (state: string) => {
    const last = clock.now() + 60_000;
    while ((await stateOfHost()) !== state && clock.now() < last) await done(sleep(clock, 1_000));
    assert.is(await stateOfHost(), state);
  };
  const owners = await start('owners', [...OWNERS, 'scheduler']);
  const lines = wire();
  const first = await start('first', roles, { driver, bus: lines.tap('first', connect()) });
  await isSoon('up');
  const refusal = await failureOf(() => start('second', roles, { driver }));
  assert.match(refusal.message, /hosted by the node 'first'/);
  lines.cut('first');
  await isSoon('down');
  const second = await startMortal('second', roles, { driver });
  await isSoon('up');
  lines.mend('first');
  await done(sleep(clock, 20_000));
  second.kill();
  const gone = second.node.stop().catch(() => undefined);
  await isSoon('down');
  const third = await start('third', roles, { driver });
  await isSoon('up');
  await done(gone);
  for (const node of [third, first, owners]) await done(node.stop());
});

test('nodes - leases that cannot be are refused by their field', async () => {
  const { start } = rig();
  for (const [field, more] of [
    ['leaseTtlMs', { leaseTtlMs: 10 }],
    ['leases', { leases: 'jetstream' }],
  ] as const) {
    const refusal = (await failureOf(() => start('first', ['placement'], more))) as { code?: string; field?: string };
    assert.equal([refusal.code, refusal.field], ['bad-option', field]);
  }
});

test('nodes - of several that start together, every shard has one owner and everybody else stands by', async () => {
  const { start, done } = rig();
  const nodes = await Promise.all(['a', 'b', 'c'].map((name) => start(name, ['conductor'], { conductorShards: 16 })));
  for (let shard = 0; shard < 16; shard += 1) {
    const states = nodes.map((node) => node.standings()[`conductor/${shard}`]?.state);
    assert.equal(states.sort(), ['owning', 'standby', 'standby']);
  }
  for (const node of nodes) await done(node.stop());
});

test('nodes - owners in memory keep a snapshot and the records after it, not all records, and come back by both', async () => {
  const { start, client, done, journals, driver } = rig({ snapshotEvery: 20, vcpu: 1_000 });
  const first = await start('first', OWNERS);
  const rest = await start('rest', ['scheduler', 'compute:c1/h1'], { driver });
  const shown = async () =>
    (await done(client.list({}))).instances.map(({ instance, state }) => `${instance} ${state}`).sort();
  for (let batch = 0; batch < 20; batch += 1) {
    const { instances } = await done(client.build({ id: `b${batch}`, count: 10, resources: { VCPU: 1 } }));
    for (const id of instances) assert.is((await done(client.ended(id))).state, 'active');
    if (batch > 1) for (const id of instances) await done(client.delete(id));
  }
  const before = await shown();
  assert.is(before.filter((text) => text.endsWith(' active')).length, 20);
  const recorded = first.stats();
  await done(first.stop());
  const second = await start('second', OWNERS);
  assert.equal(await shown(), before);
  const { instances } = await done(client.build({ id: 'more', count: 2, resources: { VCPU: 1 } }));
  for (const id of instances) assert.is((await done(client.ended(id))).state, 'active');
  await done(Promise.all([second.stop(), rest.stop()]));
  for (const owner of ['placement/0', 'conductor/0', 'cell/c1']) {
    const { snapshot, records } = await journals(owner).open();
    assert.ok(snapshot !== null, owner);
    const [kept, all] = [[...records].length, recorded[owner]?.records ?? 0];
    assert.ok(kept < all / 2, `${owner}: ${kept} of ${all} records`);
  }
});

test('nodes - leases of the caller that do not answer for a while hold a node up no longer, and it can be stopped', async () => {
  const { start, client, done, clock, driver } = rig();
  const own = memoryLeases({ clock });
  let isAway = false;
  const leases = {
    ...own,
    write: (...said: Parameters<typeof own.write>) => (isAway ? new Promise<never>(() => {}) : own.write(...said)),
  };
  const node = await start('only', [...OWNERS, 'scheduler', 'compute:c1/h1'], { driver, leases, logger });
  isAway = true;
  await done(sleep(clock, 5_000));
  isAway = false;
  await done(client.build({ id: 'web', resources: { VCPU: 1 } }));
  assert.is((await done(client.ended('web', { timeoutMs: 10_000 }))).state, 'active');
  isAway = true;
  await done(node.stop());
});

test('nodes - an owner says so when another comes up by other leases, but not when it has lost its own', async () => {
  const { start, clock, done } = rig();
  const told: string[] = [];
  const write = (line: string) => told.push(`${JSON.parse(line).node}: ${JSON.parse(line).code}`);
  const heard = { logger: pino({ level: 'warn' }, { write }) };
  const first = await start('first', ['cell:c1'], heard);
  const second = await start('second', ['cell:c1'], heard);
  await done(first.stop());
  await done(sleep(clock, 3_000));
  assert.equal(statesOf(second), { 'cell/c1': 'owning second' });
  assert.equal(told, []);
  const elsewhere = { leases: memoryLeases({ clock }), journals: memoryJournals({ clock }) };
  const third = await start('third', ['cell:c1'], { ...heard, ...elsewhere });
  await done(sleep(clock, 3_000));
  assert.equal(told, ['second: two-owners']);
  const fourth = await start('fourth', ['cell:c1'], { ...heard, ...elsewhere });
  await done(third.stop());
  // One who is stopped before it could tell is not waited for.
  await done(second.stop());
  await done(sleep(clock, 3_000));
  assert.equal(told, ['second: two-owners']);
  await done(fourth.stop());
});

test('nodes - one without the API asks nothing, and does not listen for answers', async () => {
  const { connect, start } = rig();
  const heard: Record<string, string[]> = {};
  for (const role of ['placement', 'scheduler', 'cell:c1', 'conductor']) {
    const bus = connect();
    const subjects: string[] = [];
    const subscribe: typeof bus.subscribe = (subject, ...more) => {
      subjects.push(subject);
      return bus.subscribe(subject, ...more);
    };
    await start('one', [role], { bus: Object.create(bus, { subscribe: { value: subscribe } }) });
    heard[role] = subjects.filter((subject) => subject.startsWith('cw.gateway.')).sort();
  }
  const conductor = ['cw.gateway.one', 'cw.gateway.one.unheard.>'];
  assert.equal(heard, { placement: [], scheduler: [], 'cell:c1': [], conductor });
});

test.run();
