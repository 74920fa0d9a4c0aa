// Area: shards, as a cell moves instances between them: what is held in one is given back before another is claimed.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cell } from '../../actors/cell/cell.ts';
import type { CellMessage, Start } from '../../actors/messages/cell.ts';
import { everyPlacement, placementOf, placementShardOf } from '../../actors/routing.ts';
import { selectionAt } from '../../machines/testing.ts';
import { bench, sentOf, told } from '../support/turn.ts';

const test = suite('shards and a cell');

const PATIENCE = { firstMs: 1_000, mostMs: 4_000 };
const SPEC = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' } as const;

/** Hosts whose trees are with different shards of three; `h1` and `h2` are with one, `h3` with another. */
function providerWith(shard: number, label: string): string {
  for (let n = 0; ; n += 1) if (placementShardOf(`${label}-${n}`, 3) === shard) return `${label}-${n}`;
}
const PROVIDERS: Readonly<Record<string, string>> = {
  h1: providerWith(0, 'h1'),
  h2: providerWith(0, 'h2'),
  h3: providerWith(1, 'h3'),
};
/** A provider of each shard. */
const HOSTS = everyPlacement(3).map((shard) => {
  for (let n = 0; ; n += 1) if (placementOf(`host-${n}`, 3) === shard) return `host-${n}`;
});

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
