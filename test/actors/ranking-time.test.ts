// Area: ranking, as time passes. A host is weighed anew when its time has come, though nothing is told of it, and not before.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { best, bestOfCell } from '../../actors/scheduler/picking.ts';
import { emptyRankings } from '../../actors/scheduler/ranking/ranking.ts';
import { buildFailures } from '../../actors/scheduler/weighers/build-failures.ts';
import { passTo, viewOf } from '../support/facts.ts';
import { NOBODY, specOf } from '../support/ranking.ts';

const test = suite('ranking, as time passes');

test('ranking - failures fade: a host that failed comes back up the ranking with nothing told of it', () => {
  const rankings = emptyRankings([buildFailures], 's');
  const view = viewOf({ host: 'h1', failures: { weight: 8, at: 0 } }, { host: 'h2', failures: { weight: 1, at: 0 } });
  passTo(view, 1_000);
  const chosen = () => best({ rankings, view }, { spec: specOf(1) }, NOBODY);
  assert.is(chosen()?.host, 'h2');
  const before = bestOfCell({ rankings, view }, { spec: specOf(1) }, { cell: 'c1', hearing: 'heard' }, 2, NOBODY).at(-1)
    ?.weight as number;
  passTo(view, 3_600_000);
  const after = bestOfCell({ rankings, view }, { spec: specOf(1) }, { cell: 'c1', hearing: 'heard' }, 2, NOBODY).at(-1)
    ?.weight as number;
  assert.ok(after > before);
  passTo(view, 36_000_000);
  const forgotten = bestOfCell({ rankings, view }, { spec: specOf(1) }, { cell: 'c1', hearing: 'heard' }, 2, NOBODY);
  assert.equal(
    forgotten.map(({ weight }) => weight),
    [1, 1],
  );
  assert.is(view.due.size, 0, 'who has forgotten all is not looked at again');
});

test('ranking - a filter that goes by time is asked again when it says so, of a host that it refuses too', () => {
  const asked: number[] = [];
  const maintenance: Filter = {
    name: 'maintenance',
    ignoresStats: true,
    refusal({ now }) {
      asked.push(now);
      return now >= 10_000 && now < 20_000 ? { code: 'maintenance', message: 'for ten seconds' } : null;
    },
    changesAt({ now }) {
      if (now >= 20_000) throw new Error('nobody knows');
      return now < 10_000 ? 10_000 : 20_000;
    },
  };
  const rankings = emptyRankings([], 's', { filters: [maintenance] });
  const view = viewOf({ host: 'h1' });
  const fitsAt = (now: number) => {
    passTo(view, now);
    return best({ rankings, view }, { spec: specOf(1) }, NOBODY) !== null;
  };
  assert.equal([5_000, 9_000, 10_000, 15_000, 20_000, 90_000].map(fitsAt), [true, true, false, false, true, true]);
  assert.equal(asked, [5_000, 10_000, 20_000], 'and at no other time');
});

test('ranking - a filter or weigher that says a time that has passed is not asked all the time', () => {
  let asked = 0;
  const stopped = {
    name: 'stopped',
    multiplier: 1,
    ignoresStats: true,
    refusal() {
      asked += 1;
      return null;
    },
    weigh() {
      asked += 1;
      return 1;
    },
    changesAt: () => 1_000,
  };
  const rankings = emptyRankings([stopped], 's', { filters: [stopped] });
  const view = viewOf({ host: 'h1' });
  for (let now = 5_000; now < 9_000; now += 100) {
    passTo(view, now);
    best({ rankings, view }, { spec: specOf(1) }, NOBODY);
  }
  assert.is(asked, 2);
});

test.run();
