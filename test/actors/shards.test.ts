// Area: shards. What keeps a consumer to one home where no one placement shard knows all of it: first claims in an order
// that every shard keeps to, rounds that belong to one scheduler, moves that leave nothing behind, ends that all know.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cell } from '../../actors/cell/cell.ts';
import { conductor } from '../../actors/conductor/conductor.ts';
import type { CellMessage, Start } from '../../actors/messages/cell.ts';
import type { Claim, Inventory, Release } from '../../actors/messages/placement.ts';
import { placement } from '../../actors/placement/placement.ts';
import { everyPlacement, placementOf, placementShardOf } from '../../actors/routing.ts';
import { scheduler } from '../../actors/scheduler/scheduler.ts';
import { selectionAt } from '../support/machine-paths.ts';
import { bench, replayed, restored, sentOf, told } from '../support/turn.ts';

const test = suite('shards');

const LATE = 10_000_000;
const PATIENCE = { firstMs: 1_000, mostMs: 4_000 };
const SPEC = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' } as const;
const inventory: Inventory = {
  total: 1,
  reserved: 0,
  min_unit: 1,
  max_unit: 1_000,
  step_size: 1,
  allocation_ratio: 1,
};

// --- a shard

const shardActor = placement({ shard: 0, rememberDeletedMs: 60_000 });

/** A shard with the hosts that are named, each of one VCPU. */
function shardWith(...hosts: string[]) {
  const shard = bench(shardActor);
  for (const id of hosts) {
    const provider = { id, name: id, parent: null, inventories: { VCPU: inventory }, traits: [], aggregates: [] };
    shard.tell({ type: 'put-tree', ask: 1, providers: [provider] });
  }
  return shard;
}

function claimOf(consumer: string, told: Partial<Claim> & { host?: string } = {}): Claim {
  const { host = 'a', ...rest } = told;
  const allocations = [{ provider: host, group: '', resources: { VCPU: 1 } }];
  return { type: 'claim', consumer, attempt: 1, spec: SPEC, allocations, keep: [], expiresAt: LATE, ...rest } as Claim;
}

const release = (consumer: string, told: Partial<Release>): Release => ({
  type: 'release',
  consumer,
  deleted: false,
  ...told,
});

test('shards - every tree is with one shard, and the shards share them evenly', () => {
  const counts = new Map<string, number>();
  for (let n = 0; n < 4_000; n += 1) {
    const shard = placementOf(`provider-${n}`, 4);
    assert.ok(everyPlacement(4).includes(shard));
    counts.set(shard, (counts.get(shard) ?? 0) + 1);
  }
  for (const shard of everyPlacement(4)) assert.ok((counts.get(shard) ?? 0) > 800, JSON.stringify([...counts]));
  assert.is(placementShardOf('provider-1', 1), 0);
});

test('shards - a first claim that was refused is refused as it was when it comes again, though it would fit now', () => {
  const shard = shardWith('a');
  shard.tell(claimOf('rival'));
  const first = sentOf(shard.tell(claimOf('web', { order: 129 })), 'claim-refused')[0]?.message;
  assert.equal([first?.refusal.code, first?.order], ['exceeds-capacity', 129]);
  shard.tell(release('rival', { deleted: true }));
  const again = sentOf(shard.tell(claimOf('web', { order: 129 })), 'claim-refused')[0]?.message;
  assert.equal([again?.refusal, again?.order], [first?.refusal, 129]);
  // The claimant was elsewhere meanwhile, and comes back.
  assert.is(sentOf(shard.tell(claimOf('web', { order: 131 })), 'claim-granted').length, 1);
});

test('shards - a recall voids the claims that were made before it, and no others', () => {
  const shard = shardWith('a', 'b');
  const recall = { type: 'recall', consumer: 'web', attempt: 1, order: 256, expiresAt: LATE } as const;
  const [answer] = sentOf(shard.tell(recall), 'nothing-held');
  assert.is(answer?.message.order, 256);
  assert.equal(shard.tell(recall).records, [], 'asked again, nothing is new');
  const late = sentOf(shard.tell(claimOf('web', { order: 130 })), 'claim-refused')[0]?.message;
  assert.is(late?.refusal.code, 'superseded');
  assert.is(sentOf(shard.tell(claimOf('web', { order: 257 })), 'claim-granted').length, 1);
  const [held] = sentOf(shard.tell({ ...recall, order: 384 }), 'claim-granted');
  assert.is(held?.message.allocations[0]?.provider, 'a', 'what is held is told, to whoever asks');
  assert.equal(shard.tell(recall).records, []);
});

test('shards - whoever still asks for an attempt from which the instance has gone on is not told that nothing is held', () => {
  const shard = shardWith('a', 'b');
  const recall = { type: 'recall', consumer: 'web', attempt: 1, order: 256, expiresAt: LATE } as const;
  const silence = { records: [], sent: [], events: [] };
  shard.tell(claimOf('web', { order: 129 }));
  shard.tell(claimOf('web', { attempt: 2, host: 'b' }));
  assert.equal(shard.tell(recall), silence, 'its next attempt is here');
  shard.tell(release('web', { before: 3 }), 'cell/c1');
  assert.equal(shard.tell(recall), silence, 'its next attempt is elsewhere');
});

test('shards - of an attempt that was refused where its consumer is known it is told that nothing is held', () => {
  const shard = shardWith('a');
  const consumers = [
    { consumer: 'web', allocations: [{ provider: 'a', resources: { VCPU: 1 } }], project: 'p', user: 'u' },
  ];
  shard.tell({ type: 'allocations-put', ask: 1, consumers } as never);
  shard.tell(claimOf('rival'));
  shard.tell({ ...claimOf('web', { order: 129 }), keep: [0] });
  const recall = { type: 'recall', consumer: 'web', attempt: 1, order: 256, expiresAt: LATE } as const;
  assert.is(shard.state.consumers.holding.get('web')?.refusal?.code, 'exceeds-capacity');
  assert.is(sentOf(shard.tell(recall), 'nothing-held').length, 1);
});

test('shards - a claim without an order is kept to nothing, and leaves no memory of a refusal', () => {
  const shard = shardWith('a');
  shard.tell(claimOf('rival'));
  assert.equal(shard.tell(claimOf('web')).records, []);
  assert.equal(shard.tell({ type: 'recall', consumer: 'web', attempt: 1 }).records, [
    { type: 'nothing-held', consumer: 'web' },
  ]);
  assert.is((shard.stored() as { fences?: unknown }).fences, undefined, 'what is stored is as it ever was');
});

test('shards - a consumer that moves away leaves what may still run, and can claim no earlier attempt', () => {
  const shard = shardWith('a', 'b', 'c');
  shard.tell(claimOf('web'));
  shard.tell(claimOf('web', { attempt: 2, host: 'b', keep: [1] }));
  const away = shard.tell(release('web', { before: 4, keep: [1] }), 'cell/c1');
  assert.equal(away.sent[0]?.message, { type: 'released', consumer: 'web', before: 4, deleted: false });
  assert.equal(
    away.events.map(({ topic }) => topic.slice(-2)),
    [['b', 'released']],
  );
  assert.equal(
    shard.state.consumers.holding.get('web')?.held.map(({ attempt }) => attempt),
    [1],
  );
  assert.equal(shard.tell(release('web', { before: 4, keep: [1] })).records, [], 'said twice, done once');
  const late = sentOf(shard.tell(claimOf('web', { attempt: 3, host: 'c' })), 'claim-refused')[0]?.message;
  assert.is(late?.refusal.code, 'superseded');
  assert.is(sentOf(shard.tell(claimOf('web', { attempt: 5, host: 'c', keep: [1] })), 'claim-granted').length, 1);
});

test('shards - a consumer that was never here can claim no attempt before the one with which it moved on', () => {
  const shard = shardWith('a');
  assert.is(shard.tell(release('web', { before: 3, keep: [] })).records.length, 1);
  for (const attempt of [1, 2]) {
    const [refused] = sentOf(shard.tell(claimOf('web', { attempt })), 'claim-refused');
    assert.is(refused?.message.refusal.code, 'superseded');
  }
  assert.is(sentOf(shard.tell(claimOf('web', { attempt: 3 })), 'claim-granted').length, 1);
});

test('shards - its journal tells all of it, and it is forgotten when nothing late can come', () => {
  const shard = shardWith('a');
  shard.tell(claimOf('rival'));
  shard.tell(claimOf('full', { order: 129, expiresAt: shard.now + 1_000 }));
  shard.tell({ type: 'recall', consumer: 'asked', attempt: 1, order: 256, expiresAt: shard.now + 1_000 });
  shard.tell(claimOf('gone', { order: 129, expiresAt: shard.now + 1_000 }));
  shard.tell(release('gone', { deleted: true }));
  shard.tell(release('moved', { before: 3, keep: [] }));
  assert.equal(shard.state.fences.size, 2);
  assert.equal(replayed(shardActor, shard.entries), shard.stored());
  assert.equal(restored(shardActor, shard.stored()), shard.stored());
  shard.pass(30_000);
  assert.is(shard.state.fences.size, 2);
  shard.pass(60_000);
  assert.is(shard.state.fences.size, 0);
  assert.equal(replayed(shardActor, shard.entries), shard.stored());
});

// --- the super conductor

const conductorActor = conductor({ shard: 0, placementShards: 3, requestedMs: 60_000, patience: PATIENCE });
const BUILD = { type: 'build', ask: 1, request: 'web', count: 1, alternates: 0, spec: SPEC } as const;

test('shards - a round of asking belongs to the scheduler that takes it first, and is recorded but for the first', () => {
  const on = bench(conductorActor);
  const first = on.tell(BUILD as never);
  assert.is(sentOf(first, 'select')[0]?.message.round, 1);
  assert.equal(
    first.records.map(({ type }) => type),
    ['accepted'],
  );
  const taking = (taker: string, round = 1) =>
    told(on.tell({ type: 'taking', request: 'web', round, taker }, `scheduler/${taker}`));
  assert.equal(taking('s1'), ['take to scheduler/s1']);
  assert.equal(taking('s2'), []);
  assert.equal(taking('s1'), ['take to scheduler/s1'], 'whoever has it is told so again');
  const again = on.pass(2_000).find((turned) => sentOf(turned, 'select').length > 0);
  assert.is(sentOf(again ?? first, 'select')[0]?.message.round, 2);
  assert.equal(again?.records, [{ type: 'asked', request: 'web', round: 2 }]);
  assert.equal(taking('s1'), [], 'that round is over');
  assert.equal(taking('s2', 2), ['take to scheduler/s2']);
});

test('shards - groups are accepted whatever their rule', () => {
  const on = bench(conductorActor);
  for (const policy of ['affinity', 'anti-affinity']) {
    const spec = { ...SPEC, instanceGroup: { id: '/g', policy } };
    assert.is(sentOf(on.tell({ ...BUILD, request: policy, spec } as never), 'build-accepted').length, 1);
  }
});

test('shards - another life of the super conductor begins a round of its own', () => {
  const on = bench(conductorActor);
  on.tell(BUILD as never);
  const second = bench(conductorActor, { entries: on.entries });
  assert.is(sentOf(second.first, 'select')[0]?.message.round, 2);
  const third = bench(conductorActor, { entries: second.entries });
  assert.is(sentOf(third.first, 'select')[0]?.message.round, 3);
  const restoredAt = conductorActor.restore([third.stored()]);
  assert.is(restoredAt.requests.get('web')?.recorded, 3);
});

test('shards - what is deleted is told to every shard, until each has said that it knows', () => {
  const on = bench(conductorActor);
  on.tell(BUILD as never);
  const deleting = on.tell({ type: 'delete', ask: 2, instance: 'web' });
  assert.equal(
    sentOf(deleting, 'release').map(({ to }) => to),
    everyPlacement(3),
  );
  const released = { type: 'released', consumer: 'web', deleted: true } as const;
  assert.equal(on.tell(released, 'placement/0').records, []);
  assert.equal(on.tell(released, 'placement/0').records, [], 'the same one twice');
  const again = on.pass(1_000).flatMap((turned) => sentOf(turned, 'release').map(({ to }) => to));
  assert.equal(again, ['placement/1', 'placement/2']);
  assert.equal(on.tell(released, 'placement/2').records, []);
  assert.equal(
    on.tell(released, 'placement/1').records.map(({ type }) => type),
    ['deleted'],
  );
});

test('shards - an instance whose id was had by one that is forgotten is given back in every shard too', () => {
  const on = bench(conductorActor);
  for (const life of ['first', 'second']) {
    on.tell(BUILD as never);
    const deleting = on.tell({ type: 'delete', ask: 2, instance: 'web' });
    assert.equal(
      sentOf(deleting, 'release').map(({ to }) => to),
      everyPlacement(3),
      life,
    );
    for (const shard of everyPlacement(3)) on.tell({ type: 'released', consumer: 'web', deleted: true }, shard);
    on.pass(4 * 3_600_000);
    assert.is(on.state.instances.size, 0, life);
  }
});

test('shards - another life of the super conductor asks every shard again', () => {
  const on = bench(conductorActor);
  on.tell(BUILD as never);
  on.tell({ type: 'delete', ask: 2, instance: 'web' });
  on.tell({ type: 'released', consumer: 'web', deleted: true }, 'placement/0');
  const other = bench(conductorActor, { entries: on.entries });
  assert.equal(
    sentOf(other.first, 'release').map(({ to }) => to),
    everyPlacement(3),
  );
});

// --- a scheduler

const schedulerActor = scheduler({
  name: 's',
  incarnation: 's-1',
  placementShards: 3,
  warmUpMs: 0,
  patience: PATIENCE,
});
/** One host with each shard, by shard. */
const HOSTS = everyPlacement(3).map((shard) => {
  for (let n = 0; ; n += 1) if (placementOf(`host-${n}`, 3) === shard) return `host-${n}`;
});

function schedulerWithAll() {
  const on = bench(schedulerActor);
  for (const [shard, host] of HOSTS.entries()) {
    const provider = {
      id: host,
      name: host,
      parent: null,
      inventories: { VCPU: inventory },
      traits: [],
      aggregates: [],
    };
    const ask = on.state.followers.get(`placement ${shard}`)?.ask ?? -1;
    const providers = [{ ...provider, root: host, generation: 0, used: {} }];
    on.tell({ type: 'providers', ask, shard, epoch: 1, sequence: 0, providers, next: null }, `placement/${shard}`);
  }
  const hosts = HOSTS.map((host) => ({ host, provider: host, state: 'up' as const }));
  const ofCell = { cell: 'c1', epoch: 1, sequence: 1, hosts };
  on.tell({ type: 'hosts-changed', ...ofCell }, 'cell/c1');
  const ask = on.state.followers.get('cell c1')?.ask ?? -1;
  on.tell({ type: 'hosts', ask, ...ofCell, next: null }, 'cell/c1');
  return on;
}

const selectOf = (round: number) =>
  ({
    type: 'select',
    request: 'web',
    round,
    instances: ['web'],
    spec: SPEC,
    alternates: 0,
    expiresAt: LATE,
  }) as never;

test('shards - a scheduler claims nothing before it has the round, and then one shard after the other', () => {
  const on = schedulerWithAll();
  const asked = on.tell(selectOf(1), 'conductor/0');
  assert.equal(told(asked), ['taking to conductor/0']);
  const taker = sentOf(asked, 'taking')[0]?.message.taker ?? '';
  assert.equal(told(on.tell({ type: 'take', request: 'web', round: 1, taker: 'another' }, 'conductor/0')), []);
  let turned = on.tell({ type: 'take', request: 'web', round: 1, taker }, 'conductor/0');
  assert.equal(told(on.tell({ type: 'take', request: 'web', round: 1, taker }, 'conductor/0')), []);
  const claimed: string[] = [];
  for (let claims = 0; claims < 3; claims += 1) {
    const [claim] = sentOf(turned, 'claim');
    assert.ok(claim !== undefined && turned.sent.length === 1);
    const { order = 0, allocations } = claim.message;
    assert.is(claim.to, placementOf(allocations[0]?.provider ?? '', 3));
    claimed.push(claim.to);
    const refusal = { code: 'exceeds-capacity', message: 'full' } as const;
    const refused = { type: 'claim-refused' as const, consumer: 'web', attempt: 1, refusal, usages: [] };
    assert.equal(on.tell({ ...refused, order: order - 1 }, claim.to).sent, [], 'of another claim');
    turned = on.tell({ ...refused, order }, claim.to);
  }
  assert.equal([...claimed].sort(), everyPlacement(3));
  assert.equal(told(turned), ['no-valid-host to conductor/0'], 'a first round has nothing to recall');
});

test('shards - asked a second time in one round, a scheduler takes it as another would', () => {
  const on = schedulerWithAll();
  const first = sentOf(on.tell(selectOf(1), 'conductor/0'), 'taking')[0]?.message.taker ?? '';
  const [claim] = sentOf(on.tell({ type: 'take', request: 'web', round: 1, taker: first }, 'conductor/0'), 'claim');
  const { allocations = [] } = claim?.message ?? {};
  const granted = on.tell(
    { type: 'claim-granted', consumer: 'web', attempt: 1, allocations: allocations as never, usages: [] },
    claim?.to,
  );
  assert.equal(told(granted), ['selected to conductor/0']);
  const second = sentOf(on.tell(selectOf(1), 'conductor/0'), 'taking')[0]?.message.taker ?? '';
  assert.is.not(second, first);
  assert.equal(on.tell({ type: 'take', request: 'web', round: 1, taker: first }, 'conductor/0').sent, []);
});

test('shards - in a later round every shard is asked first what it holds, and nothing is claimed before all have said', () => {
  const on = schedulerWithAll();
  const taker = sentOf(on.tell(selectOf(2), 'conductor/0'), 'taking')[0]?.message.taker ?? '';
  const recalls = sentOf(on.tell({ type: 'take', request: 'web', round: 2, taker }, 'conductor/0'), 'recall');
  assert.equal(
    recalls.map(({ to }) => to),
    everyPlacement(3),
  );
  const order = recalls[0]?.message.order ?? 0;
  const nothing = { type: 'nothing-held', consumer: 'web', attempt: 1 } as const;
  assert.equal(on.tell({ ...nothing, order: order - 128 }, 'placement/1').sent, [], 'of an earlier round');
  assert.equal(on.tell({ ...nothing, order }, 'placement/0').sent, []);
  assert.equal(on.tell({ ...nothing, order }, 'placement/0').sent, []);
  const again = on.pass(1_100).flatMap((turned) => sentOf(turned, 'recall').map(({ to }) => to));
  assert.equal(again, ['placement/1', 'placement/2']);
  assert.equal(on.tell({ ...nothing, order }, 'placement/2').sent, []);
  const [claim] = sentOf(on.tell({ ...nothing, order }, 'placement/1'), 'claim');
  assert.ok((claim?.message.order ?? 0) > order);
});

test('shards - what an earlier round was granted is the home', () => {
  const on = schedulerWithAll();
  const taker = sentOf(on.tell(selectOf(2), 'conductor/0'), 'taking')[0]?.message.taker ?? '';
  on.tell({ type: 'take', request: 'web', round: 2, taker }, 'conductor/0');
  const allocations = [{ provider: HOSTS[1] as string, group: '', resources: { VCPU: 1 } }];
  const turned = on.tell(
    { type: 'claim-granted', consumer: 'web', attempt: 1, allocations, usages: [] },
    'placement/1',
  );
  const [selected] = sentOf(turned, 'selected');
  assert.is(selected?.message.selections[0]?.selection.provider, HOSTS[1]);
});

// --- a cell

/** Hosts whose trees are with different shards of three; `h1` and `h2` are with one, `h3` with another. */
function providerWith(shard: number, label: string): string {
  for (let n = 0; ; n += 1) if (placementShardOf(`${label}-${n}`, 3) === shard) return `${label}-${n}`;
}
const PROVIDERS: Readonly<Record<string, string>> = {
  h1: providerWith(0, 'h1'),
  h2: providerWith(0, 'h2'),
  h3: providerWith(1, 'h3'),
};
const cellActor = cell({
  cell: 'c1',
  conductorShards: 1,
  placementShards: 3,
  claimedMs: 20_000,
  buildingMs: 60_000,
  silentMs: 600_000,
  patience: PATIENCE,
});

function building(alternates: readonly string[]) {
  const on = bench(cellActor, { address: 'cell/c1' });
  for (const host of Object.keys(PROVIDERS)) {
    const provider = PROVIDERS[host] as string;
    on.tell({ type: 'compute-up', host, provider, incarnation: 'life-1', running: [] }, `compute/c1/${host}`);
  }
  const at = (host: string) => ({ ...selectionAt(host), provider: PROVIDERS[host] as string });
  const context = {
    v: 1,
    instance: 'i1',
    selection: at('h1'),
    alternates: alternates.map(at),
    attempt: 1,
    attempts: [],
    failure: null,
  };
  const start = { type: 'start', instance: 'i1', request: 'i1', spec: SPEC, snapshot: { value: 'claimed', context } };
  on.tell(start as unknown as Start, 'conductor/0');
  on.tell({ type: 'accepted', host: 'h1', instance: 'i1', attempt: 1 });
  return on;
}

const failed = (host: string, attempt: number): CellMessage => ({
  type: 'build-failed',
  host,
  instance: 'i1',
  attempt,
  reason: 'no image',
});
const granted = (attempt: number): CellMessage => ({
  type: 'claim-granted',
  consumer: 'i1',
  attempt,
  allocations: [],
  usages: [],
});

test('shards - a reschedule within a shard is one command', () => {
  const turned = building(['h2']).tell(failed('h1', 1));
  assert.ok(told(turned).includes('claim to placement/0'));
  assert.equal(sentOf(turned, 'release'), []);
});

test('shards - a reschedule to another shard first gives back, and claims when that is done', () => {
  const on = building(['h3', 'h2']);
  const leaving = on.tell(failed('h1', 1));
  assert.equal(sentOf(leaving, 'claim'), []);
  const [left] = sentOf(leaving, 'release');
  assert.equal([left?.to, left?.message.before, left?.message.deleted], ['placement/0', 2, false]);
  const away = { type: 'released', consumer: 'i1', before: 2, deleted: false } as const;
  assert.equal(on.tell({ ...away, before: 1 }, 'placement/0').sent, []);
  assert.equal(on.tell(away, 'placement/2').sent, []);
  const claiming = on.tell(away, 'placement/0');
  assert.equal(told(claiming), ['claim to placement/1']);
  assert.is(sentOf(claiming, 'claim')[0]?.message.attempt, 2);
  assert.equal(on.tell(away, 'placement/0').sent, [], 'said twice');
  on.tell(granted(2), 'placement/1');
  assert.is(on.state.moves.size, 0, 'it is on its way no more');
  // And back again: now it is the other shard that is left.
  const back = on.tell(failed('h3', 2));
  const [other] = sentOf(back, 'release');
  assert.equal([other?.to, other?.message.before], ['placement/1', 3]);
  assert.equal(told(on.tell({ ...away, before: 3 }, 'placement/1')), ['claim to placement/0']);
});

test('shards - a reschedule from a host that the cell does not know first gives back in every other shard', () => {
  const on = bench(cellActor, { address: 'cell/c1' });
  on.tell({ type: 'compute-up', host: 'h2', provider: HOSTS[0] as string, incarnation: 'l', running: [] });
  const context = { v: 1, instance: 'i1', attempt: 1, attempts: [], failure: null };
  const selection = { ...selectionAt('unknown'), provider: HOSTS[1] };
  const alternates = [{ ...selectionAt('h2'), provider: HOSTS[0] }];
  const snapshot = { value: 'claimed', context: { ...context, selection, alternates } };
  const start = { type: 'start', instance: 'i1', request: 'i1', spec: SPEC, snapshot };
  const leaving = on.tell(start as unknown as Start, 'conductor/0');
  assert.equal(
    sentOf(leaving, 'release').map(({ to }) => to),
    ['placement/1', 'placement/2'],
  );
  const away = { type: 'released', consumer: 'i1', before: 2, deleted: false } as const;
  assert.equal(sentOf(on.tell(away, 'placement/1'), 'claim'), []);
  assert.equal(told(on.tell(away, 'placement/2')), ['claim to placement/0']);
});

test('shards - another life of the cell leaves the shards again before it claims', () => {
  const on = building(['h3']);
  on.tell(failed('h1', 1));
  on.tell({ type: 'released', consumer: 'i1', before: 2, deleted: false }, 'placement/0');
  const other = bench(cellActor, { entries: on.entries, address: 'cell/c1' });
  assert.ok(told(other.first).includes('release to placement/0'));
  assert.equal(sentOf(other.first, 'claim'), []);
});

test('shards - what may still run stays held where it is, and goes back there', () => {
  const on = building(['h3']);
  const turns = on.pass(70_000);
  const left = turns.flatMap((turned) => sentOf(turned, 'release')).find(({ message }) => message.before !== undefined);
  assert.equal([left?.to, left?.message.keep], ['placement/0', [1]]);
  const destroyed = on.tell({ type: 'destroyed', host: 'h1', instance: 'i1', attempt: 1 }, 'compute/c1/h1');
  const [back] = sentOf(destroyed, 'release');
  assert.equal([back?.to, back?.message.attempt], ['placement/0', 1]);
});

test('shards - an instance has ended when every shard knows it', () => {
  const on = building([]);
  const over = on.tell(failed('h1', 1));
  assert.equal(
    sentOf(over, 'release').map(({ to }) => to),
    everyPlacement(3),
  );
  const released = { type: 'released', consumer: 'i1', deleted: true } as const;
  for (const shard of ['placement/2', 'placement/2', 'placement/0']) {
    assert.equal(on.tell(released, shard).records, [], shard);
  }
  assert.equal(
    on.tell(released, 'placement/1').records.map(({ type }) => type),
    ['removal-event'],
  );
});

test('shards - what was active and is deleted is given back in every shard, wherever it ran', () => {
  const on = building([]);
  on.tell({ type: 'built', host: 'h1', instance: 'i1', attempt: 1 });
  on.tell({ type: 'delete', instance: 'i1' });
  const destroyed = on.tell({ type: 'destroyed', host: 'h1', instance: 'i1', attempt: 1 }, 'compute/c1/h1');
  assert.equal(
    sentOf(destroyed, 'release').map(({ to }) => to),
    everyPlacement(3),
  );
});

test.run();
