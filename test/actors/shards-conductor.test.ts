// Area: shards, as the super conductor knows them: an end is told to every one, until all know.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { conductor } from '../../actors/conductor/conductor.ts';
import { everyPlacement } from '../../actors/routing.ts';
import { bench, sentOf, told } from '../support/turn.ts';

const test = suite('shards and the super conductor');

const PATIENCE = { firstMs: 1_000, mostMs: 4_000 };
const SPEC = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' } as const;

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
  const before = on.wakes.get('request web') ?? 0;
  on.now += 500;
  taking('s1');
  assert.ok((on.wakes.get('request web') ?? 0) >= before + 500, 'nobody else is asked while it is at it');
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

test.run();
