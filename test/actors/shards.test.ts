// Area: shards. What a placement shard does where no one shard knows all of a consumer: first claims in an order that every
// shard keeps to, rounds that belong to one scheduler, moves that leave nothing behind.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Claim, Inventory, Release } from '../../actors/messages/placement.ts';
import { placement } from '../../actors/placement/placement.ts';
import { everyPlacement, placementOf, placementShardOf } from '../../actors/routing.ts';
import { bench, replayed, restored, sentOf } from '../support/turn.ts';

const test = suite('shards');

const LATE = 10_000_000;
const SPEC = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' } as const;
const inventory: Inventory = {
  total: 1,
  reserved: 0,
  min_unit: 1,
  max_unit: 1_000,
  step_size: 1,
  allocation_ratio: 1,
};

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
  const earlier = sentOf(shard.tell(claimOf('web', { order: 128 })), 'claim-refused')[0]?.message;
  assert.is(earlier?.refusal.code, 'superseded', 'one that was made before it');
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

test('shards - a refusal is that of the attempt that was refused, and of no other', () => {
  const shard = shardWith('a', 'b');
  const codeOf = (claim: Claim) => sentOf(shard.tell(claim), 'claim-refused')[0]?.message.refusal.code;
  shard.tell(claimOf('rival', { host: 'b' }));
  shard.tell(claimOf('web'));
  assert.is(codeOf(claimOf('web', { attempt: 2, host: 'b' })), 'exceeds-capacity');
  assert.is(codeOf(claimOf('web', { attempt: 2, host: 'b' })), 'exceeds-capacity', 'said again');
  assert.is(codeOf(claimOf('web')), 'superseded', 'an earlier one');
  assert.is(codeOf(claimOf('web', { attempt: 3 })), undefined);
  shard.tell(release('web', { attempt: 3 }));
  assert.is(codeOf(claimOf('web', { attempt: 3 })), 'superseded', 'a later one, given back since');
});

test('shards - a word of leaving for an attempt takes nothing from that attempt, should it be here after all', () => {
  const shard = shardWith('a', 'b');
  shard.tell(claimOf('web'));
  shard.tell(claimOf('web', { attempt: 2, host: 'b' }));
  assert.equal(shard.tell(release('web', { before: 2, keep: [] }), 'cell/c1').records, []);
  const [again] = sentOf(shard.tell(claimOf('web', { attempt: 2, host: 'b' })), 'claim-granted');
  assert.is(again?.message.allocations[0]?.provider, 'b');
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

test('shards - what is noted of many refused first claims is stored some at a time, and put back', () => {
  const shard = shardWith('a');
  shard.tell(claimOf('rival'));
  for (let n = 0; n < 50; n += 1) shard.tell(claimOf(`i${n}`, { order: 1 }));
  assert.is(shard.state.fences.size, 50);
  const snapshot = shardActor.snapshot(shard.state);
  const parts: object[] = [];
  while (!snapshot.isOver) parts.push(snapshot.next(10));
  const counts = parts.map((part) => (part as { fences: unknown[] }).fences?.length ?? 0);
  assert.ok(Math.max(...counts) <= 10, counts.join());
  assert.equal([...shardActor.restore(parts).fences], [...shard.state.fences]);
});

test.run();
