// Area: instance limits. How many instances a host may have is decided in the claim, so that however many schedulers choose
// at once, and whatever alternates they name, no host has more; and a scheduler learns from the refusal.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RequestSpec } from '../../actors/messages/common.ts';
import type { Claim, ProviderUsage } from '../../actors/messages/placement.ts';
import { placement } from '../../actors/placement/placement.ts';
import { type Provider, revisionOf } from '../../actors/placement/providers.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { buildLimit, instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { freeShare } from '../../actors/scheduler/weighers/free-share.ts';
import { seededRandom } from '../../runtime/random.ts';
import { treeOfHost } from '../support/facts.ts';
import { claimOf } from '../support/placement-desk.ts';
import { chosenIn, schedulersOf, selectFor } from '../support/schedulers.ts';
import { bench, sentOf } from '../support/turn.ts';

const test = suite('instance limits');

const actor = placement({ shard: 0 });

const claimOn = (consumer: string, host: string, told: Partial<Claim> = {}) =>
  claimOf(consumer, { host: `p-${host}`, vcpu: 1, ...told });

function shardWith(...hosts: string[]) {
  const shard = bench(actor);
  for (const host of hosts) {
    const spec = treeOfHost({ host });
    shard.tell({ type: 'put-tree', ask: 1, providers: [spec] });
  }
  const outcome = (claim: Claim) => {
    const turned = shard.tell(claim);
    return sentOf(turned, 'claim-refused')[0]?.message.refusal ?? 'granted';
  };
  return { shard, outcome };
}

test('instance limits - a claim is refused when the host has as many instances as it allows, and says by how much', () => {
  const { shard, outcome } = shardWith('h1');
  assert.is(outcome(claimOn('a', 'h1', { maxInstances: 2 })), 'granted');
  assert.is(outcome(claimOn('b', 'h1', { maxInstances: 2 })), 'granted');
  const refusal = outcome(claimOn('c', 'h1', { maxInstances: 2 }));
  assert.equal(refusal, {
    ...(refusal as object),
    code: 'too-many-instances',
    message: "host 'h1' has 2 instances, and may have 2",
    short: 1,
  } as never);
  assert.is(outcome(claimOn('c', 'h1')), 'granted', 'a claim that says no limit has none');
  shard.tell({ type: 'release', consumer: 'a', deleted: true });
  shard.tell({ type: 'release', consumer: 'c', deleted: true });
  assert.is(outcome(claimOn('d', 'h1', { maxInstances: 2 })), 'granted');
});

test('instance limits - a move within the host does not count the one that moves, and what is left behind counts', () => {
  const { outcome } = shardWith('h1', 'h2');
  assert.is(outcome(claimOn('a', 'h1', { maxInstances: 1 })), 'granted');
  assert.is(outcome(claimOn('a', 'h1', { attempt: 2, keep: [1], maxInstances: 1 })), 'granted');
  assert.is(outcome(claimOn('a', 'h2', { attempt: 3, keep: [1], maxInstances: 1 })), 'granted');
  const { code, message } = outcome(claimOn('b', 'h1', { maxInstances: 1 })) as { code: string; message: string };
  assert.equal([code, message], ['too-many-instances', "host 'h1' has 1 instance, and may have 1"]);
});

test('instance limits - what callers of the Placement API hold for consumers of their own is no instance', () => {
  const { shard, outcome } = shardWith('h1');
  shard.tell({
    type: 'allocations-put',
    ask: 1,
    consumers: [
      { consumer: 'theirs', allocations: [{ provider: 'p-h1', resources: { VCPU: 1 } }], project: 'p', user: 'u' },
    ],
  } as never);
  assert.is(shard.state.consumers.holding.get('theirs')?.held.length, 1);
  assert.is(outcome(claimOn('a', 'h1', { maxInstances: 1 })), 'granted');
});

test('instance limits - the count is what plain reckoning has, after a replay and from what is stored too', () => {
  const random = seededRandom('tenants');
  const hosts = ['h1', 'h2', 'h3'];
  const { shard } = shardWith(...hosts);
  for (let step = 0; step < 300; step += 1) {
    const consumer = `c${random.integer(0, 30)}`;
    const attempt = random.integer(1, 4);
    if (random.chance(0.3)) shard.tell({ type: 'release', consumer, deleted: random.chance(0.2) });
    else shard.tell(claimOn(consumer, random.pick(hosts), { attempt, keep: [attempt - 1] }));
  }
  const lives = [shard.state, bench(actor, { entries: shard.entries }).state, actor.restore([shard.stored()])];
  for (const { consumers, providers } of lives) {
    for (const host of hosts) {
      const held = [...consumers.holding.values()].flatMap((one) => one.held);
      const there = held.filter(({ allocations }) => allocations[0]?.provider === `p-${host}`).length;
      assert.is(providers.get(`p-${host}`)?.tenants, there);
    }
  }
});

test('instance limits - four schedulers at once put no more on a host than it may have, and fill it', () => {
  const hosts = ['h1', 'h2', 'h3'].map((host) => ({ host }));
  const names = ['a', 'b', 'c', 'd'];
  for (let seed = 0; seed < 40; seed += 1) {
    const random = seededRandom(`limits ${seed}`);
    const on = schedulersOf(
      hosts,
      names.map((name) => ({ name, filters: [instanceLimit(2)] })),
    );
    for (let at = 0; at < 10; at += 1) {
      on.hear(selectFor(`r${at}`, { alternates: 2 }), `scheduler/${names[at % names.length]}`);
    }
    on.deliver(random);
    const counts = hosts.map(({ host }) => on.shard.state.providers.get(`p-${host}`)?.tenants);
    assert.equal(counts, [2, 2, 2], `seed ${seed}`);
    const chosen = on.answers.flatMap((one) => (one.type === 'selected' ? one.selections : []));
    assert.is(chosen.length, 6);
    for (const { alternates } of chosen) for (const one of alternates) assert.is(one.maxInstances, 2);
  }
});

test('instance limits - a scheduler that was refused knows by that how many there are, and by placement when one has left', () => {
  const on = schedulersOf(
    [{ host: 'h1' }, { host: 'h2', has: { VCPU: 7 } }],
    [{ name: 's', filters: [instanceLimit(1)] }],
  );
  on.take('other', 'h1');
  on.drop(() => true);
  assert.is(chosenIn(on.choose(selectFor('one'))), 'h2');
  const conflicts = () => on.desks[0]?.state.conflicts;
  assert.is(conflicts(), 1);
  assert.match(chosenIn(on.choose(selectFor('two'))), /2 too-many-instances/);
  assert.is(conflicts(), 1, 'nobody is asked in vain again, though no cell has told of any');
  on.release('other');
  on.deliver();
  assert.is(chosenIn(on.choose(selectFor('three'))), 'h1', 'at once, though its cell never told of it');
});

test('instance limits - what was claimed and given back before its cell heard of it is not there', () => {
  const on = schedulersOf([{ host: 'h1' }], [{ name: 's', filters: [instanceLimit(1), buildLimit(1)] }]);
  for (const request of ['one', 'two', 'three']) {
    assert.is(chosenIn(on.choose(selectFor(request))), 'h1', request);
    on.release(request);
    on.deliver();
  }
});

test('instance limits - one that waits is tried when placement tells that the host has fewer', () => {
  const on = schedulersOf([{ host: 'h1' }], [{ name: 's', filters: [instanceLimit(1)] }]);
  on.take('other', 'h1');
  on.deliver();
  on.hear(selectFor('web', { waits: { since: 1 } }));
  on.deliver();
  assert.equal(
    on.answers.map(({ type }) => type),
    ['parked'],
  );
  on.release('other');
  on.deliver();
  assert.is(on.answers.at(-1)?.type, 'selected');
});

test('instance limits - the number on a host is told with its own use though only a device of it is taken', () => {
  const shard = bench(actor);
  const host = treeOfHost({ host: 'h1' });
  const gpu = { ...treeOfHost({ host: 'gpu', has: { VGPU: 2 } }), parent: host.id };
  shard.tell({ type: 'put-tree', ask: 1, providers: [host, gpu] });
  const resources = { VGPU: 1 };
  const spec: RequestSpec = { groups: [{ name: '', resources }], groupPolicy: 'none' };
  const allocations = [{ provider: gpu.id, group: '', resources }];
  const revision = () => revisionOf(shard.state.providers.get(host.id) as Provider);
  const before = revision();
  const granted = shard.tell(claimOn('a', 'h1', { spec, allocations }));
  const told = (usages: readonly ProviderUsage[] = []) => usages.map(({ id, tenants }) => [id, tenants]);
  assert.equal(told(sentOf(granted, 'claim-granted')[0]?.message.usages), [
    [gpu.id, undefined],
    [host.id, 1],
  ]);
  assert.equal(new Map(told(sentOf(granted, 'providers-changed')[0]?.message.used) as never).get(host.id), 1);
  const given = shard.tell({ type: 'release', consumer: 'a', deleted: true });
  const after = sentOf(given, 'providers-changed')[0]?.message.used ?? [];
  assert.equal(
    new Set(told(after)),
    new Set([
      [gpu.id, undefined],
      [host.id, undefined],
    ]),
  );
  const news = [granted, given].map((turned) => sentOf(turned, 'providers-changed')[0]?.message.used ?? []);
  const [one, two] = news.map((used) => used.find(({ id }) => id === host.id)?.generation ?? -1);
  assert.ok((one as number) < (two as number), 'each is news');
  assert.is(revision(), before, 'callers of the Placement API have not changed it');
});

test('instance limits - where a host becomes part of another, it is told how many that one has then', () => {
  const { shard, outcome } = shardWith('h1', 'h2');
  assert.is(outcome(claimOn('a', 'h1')), 'granted');
  assert.is(outcome(claimOn('b', 'h2')), 'granted');
  const before = shard.state.providers.get('p-h1')?.generation ?? 0;
  const moved = shard.tell({
    type: 'provider-update',
    ask: 1,
    id: 'p-h2',
    name: 'h2',
    parent: 'p-h1',
    reparent: true,
  } as never);
  const [told] = sentOf(moved, 'providers-changed');
  const all = [...(told?.message.changed ?? []), ...(told?.message.used ?? [])];
  const root = all.find(({ id }) => id === 'p-h1');
  assert.is(root?.tenants, 2);
  assert.ok((root?.generation ?? 0) > before, 'it is news');
  assert.is(all.find(({ id }) => id === 'p-h2')?.tenants, undefined);
});

test('instance limits - a filter of a deployment that throws, or says what is no limit, refuses: it cannot vouch', () => {
  const own = (mostInstances: unknown): Filter => ({ name: 'own', refusal: () => null, mostInstances }) as Filter;
  const throwing = () => {
    throw new Error('broken');
  };
  for (const said of [throwing, () => 'two', () => Number.NaN, () => -1]) {
    const on = schedulersOf([{ host: 'h1' }], [{ name: 's', filters: [own(said)] }]);
    assert.match(chosenIn(on.choose(selectFor('web'))), /none of 1 host: 1 filter-failed own/);
  }
  const on = schedulersOf([{ host: 'h1' }], [{ name: 's', filters: [own(() => Number.POSITIVE_INFINITY)] }]);
  on.hear(selectFor('web'));
  const claims = on.underWay().flatMap(({ message }) => (message.type === 'claim' ? [message] : []));
  assert.equal(
    claims.map(({ maxInstances }) => maxInstances),
    [undefined],
    'no limit is no condition',
  );
});

test('instance limits - a filter that names a limit and refuses nothing itself fills every host to it', () => {
  const oneEach: Filter = { name: 'one-each', ignoresStats: true, refusal: () => null, mostInstances: () => 1 };
  const names = Array.from({ length: 90 }, (_, n) => `h${n}`);
  // It packs: hosts that are full already are the best of all.
  const packing = { ...freeShare, multiplier: -1 };
  const all = schedulersOf(
    names.map((host) => ({ host })),
    [{ name: 's', filters: [oneEach], weighers: [packing] }],
  );
  const chosen = names.map((_, n) => {
    const host = chosenIn(all.choose(selectFor(`i${n}`, { alternates: 0 })));
    all.tellHost({ host, instances: 1 });
    return host;
  });
  assert.equal(chosen.toSorted(), names.toSorted());
  assert.match(chosenIn(all.choose(selectFor('more'))), /none of 90 hosts: 90 too-many-instances/);
  assert.is(all.desks[0]?.state.conflicts, 0, 'no claim was made in vain');
});

test.run();
