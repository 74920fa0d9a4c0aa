// Area: cell. When each attempt of a build was begun and ended: noted from the times of records, kept over the death of the
// cell, and not known where a node of before wrote the record.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { StoredCell } from '../../actors/cell/store.ts';
import type { CellMessage } from '../../actors/messages/cell.ts';
import { actor, building, type Desk, granted, ofAttempt, refused, startOf } from '../support/cells.ts';
import { bench, replayed, restored, sentOf, stored } from '../support/turn.ts';

const test = suite('times of attempts');

function timesOf(on: Pick<Desk, 'tell'>, instance = 'i1') {
  const [told] = sentOf(on.tell({ type: 'explain', ask: 1, instance }), 'explained');
  const { begunAt, builtAt, attempts = [] } = told?.message.view ?? {};
  return { begunAt, builtAt, attempts: attempts.map((one) => [one.attempt, one.begunAt, one.endedAt]) };
}

const failed = (attempt: number): CellMessage => ({
  type: 'build-failed',
  ...ofAttempt('i1', attempt),
  reason: 'no disk',
});

test('cell - of each attempt it is told when it was begun and ended, of one that was refused when that was', () => {
  const on = building();
  const start = on.now;
  assert.equal(timesOf(on), { begunAt: start, builtAt: undefined, attempts: [] });
  on.now += 100;
  on.tell(failed(1));
  on.now += 10;
  on.tell(refused('i1', 2));
  assert.equal(timesOf(on), {
    begunAt: undefined,
    builtAt: undefined,
    attempts: [
      [1, start, start + 100],
      [2, undefined, start + 110],
    ],
  });
  on.now += 10;
  on.tell(granted('i1', 3));
  on.now += 1_000;
  on.tell({ type: 'built', ...ofAttempt('i1', 3) });
  const all = {
    begunAt: start + 120,
    builtAt: start + 1_120,
    attempts: [
      [1, start, start + 100],
      [2, undefined, start + 110],
    ],
  };
  assert.equal(timesOf(on), all);
  on.now += 5_000;
  assert.equal(timesOf(on), all, 'what is built stays as it was');
  assert.equal(replayed(actor, on.entries), on.stored());
  assert.equal(restored(actor, on.stored()), on.stored());
});

test('cell - a build that was deleted, or lost with its host, ended then; and where the clock was set back none takes less than no time', () => {
  for (const end of ['delete', 'silence'] as const) {
    const on = building([]);
    const start = on.now;
    if (end === 'delete') {
      on.now += 700;
      on.tell({ type: 'delete', instance: 'i1' });
    } else on.pass(15_000);
    assert.equal(timesOf(on).attempts, [[1, start, on.now]], end);
  }
  const back = building();
  back.setBack(1_000);
  back.tell({ type: 'built', ...ofAttempt('i1', 1) });
  const { begunAt, builtAt } = timesOf(back);
  assert.is(builtAt, begunAt);
});

test('cell - of builds that a node of before has kept nothing is told that is not known', () => {
  const on = building();
  const { instances, ...more } = on.stored() as StoredCell;
  const asBefore = instances.map(({ build: { begunAt: _, tookMs: __, past: ___, ...build }, ...entry }) => ({
    ...entry,
    build,
  }));
  const old = { ...actor, init: () => actor.restore([{ ...more, instances: asBefore }] as never) };
  const after = bench(old, { address: 'cell/c1' });
  assert.equal(timesOf(after), { begunAt: undefined, builtAt: undefined, attempts: [] });
  after.now += 500;
  after.tell(failed(1));
  assert.equal(timesOf(after).attempts, [[1, undefined, after.now]]);
  after.tell(granted('i1', 2));
  assert.is(timesOf(after).begunAt, after.now, 'what is begun from now on has its time');
  assert.is(sentOf(after.tell(startOf('i2')), 'started').length, 1);
  assert.ok(stored(actor, after.state));
});

test.run();
