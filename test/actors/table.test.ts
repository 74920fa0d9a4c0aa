// Area: tables of which snapshots are taken while they change, and the memory of what was deleted.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Deleted } from '../../actors/deleted.ts';
import { atOnce, joined, snapshotOf } from '../../actors/snapshot.ts';
import { type Rows, rowsOf, Table } from '../../actors/table.ts';
import { seededRandom } from '../../runtime/random.ts';

const test = suite('table');

interface Counted {
  count: number;
}

type Row = [string, number];

const table = () => new Table<Counted>(({ count }, key) => [key, count]);

function allOf(rows: Rows, most = Number.POSITIVE_INFINITY): Row[] {
  const all: Row[] = [];
  while (!rows.isOver) all.push(...(rows.take(most) as Row[]));
  return all;
}

/** Each row once; rows of one key must be the same. */
function byKey(rows: readonly Row[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const [key, count] of rows) {
    assert.is(found.get(key) ?? count, count, `'${key}' came twice and different`);
    found.set(key, count);
  }
  return found;
}

function change(counted: Table<Counted>, key: string): void {
  counted.touch(key);
  const value = counted.get(key);
  if (value !== undefined) value.count += 1;
}

test('a snapshot is of the moment at which it was begun, whatever is put in, changed or taken out meanwhile', () => {
  const counted = table();
  for (const key of ['a', 'b', 'c', 'd', 'e']) counted.set(key, { count: 1 });
  const rows = counted.capture();
  const first = rows.take(2) as Row[];
  change(counted, 'a');
  change(counted, 'd');
  change(counted, 'd');
  counted.delete('e');
  counted.set('e', { count: 9 });
  counted.set('f', { count: 9 });
  counted.set('c', { count: 9 });
  const found = byKey([...first, ...allOf(rows, 1)]);
  assert.equal(
    [...found].sort(),
    ['a', 'b', 'c', 'd', 'e'].map((key) => [key, 1]),
  );
  assert.equal([counted.get('d')?.count, counted.get('e')?.count, counted.size], [3, 9, 6]);
});

test('of any changes between its parts a snapshot shows none, and several are taken at one time', () => {
  const random = seededRandom('tables');
  for (let run = 0; run < 300; run += 1) {
    const counted = table();
    const model = new Map<string, number>();
    const captures: { rows: Rows; taken: Row[]; expected: Map<string, number> }[] = [];
    for (let step = 0; step < 120; step += 1) {
      const key = `k${random.integer(0, 25)}`;
      const what = random.next();
      if (what < 0.3) {
        counted.set(key, { count: step });
        model.set(key, step);
      } else if (what < 0.55) {
        change(counted, key);
        if (model.has(key)) model.set(key, (model.get(key) as number) + 1);
      } else if (what < 0.7) {
        assert.is(counted.delete(key), model.delete(key));
      } else if (what < 0.71) {
        counted.clear();
        model.clear();
      } else if (what < 0.76) {
        captures.push({ rows: counted.capture(), taken: [], expected: new Map(model) });
      } else if (captures.length > 0) {
        const { rows, taken } = random.pick(captures);
        if (!rows.isOver) taken.push(...(rows.take(random.integer(1, 4)) as Row[]));
      }
    }
    for (const { rows, taken, expected } of captures) {
      taken.push(...allOf(rows, random.integer(1, 10)));
      assert.equal([...byKey(taken)].sort(), [...expected].sort());
    }
  }
});

test('a snapshot takes no longer because more is put in than is taken', () => {
  const counted = table();
  for (let n = 0; n < 10; n += 1) counted.set(`k${n}`, { count: n });
  const rows = counted.capture();
  let taken = 0;
  for (let n = 0; !rows.isOver; n += 1) {
    for (let more = 0; more < 5; more += 1) counted.set(`new${n}-${more}`, { count: 0 });
    taken += rows.take(2).length;
    assert.ok(n < 10, 'it has no end');
  }
  assert.is(taken, 10);
});

test('the parts of a snapshot are its tables together, its head is in the first', () => {
  const counted = table();
  for (let n = 0; n < 5; n += 1) counted.set(`k${n}`, { count: n });
  const fixed = ['x', 'y', 'z'];
  const whole = { head: { of: 1 }, counted: [...counted].map(([key, { count }]) => [key, count]), fixed, none: [] };
  for (const rows of [1, 2, 3, 4, 8, Number.POSITIVE_INFINITY]) {
    const tables = { counted: counted.capture(), fixed: rowsOf(fixed), none: rowsOf([]) };
    const snapshot = snapshotOf({ head: { of: 1 } }, tables);
    const parts: object[] = [];
    while (!snapshot.isOver) parts.push(snapshot.next(rows));
    assert.equal(joined(parts), whole);
    assert.equal((parts[0] as { head?: unknown }).head, { of: 1 });
    if (rows === Number.POSITIVE_INFINITY) assert.is(parts.length, 1);
    if (rows === 1) assert.ok(parts.length >= 8);
  }
  const nothing = snapshotOf({}, {});
  assert.not(nothing.isOver);
  assert.equal([nothing.next(1), nothing.isOver], [{}, true]);
});

test('what was deleted is forgotten oldest first, a thousand at a time, and never too early', () => {
  const deleted = new Deleted();
  for (let n = 0; n < 2_500; n += 1) deleted.remember(`i${n}`, 1_000 + n);
  assert.is(deleted.dueBefore(1_000), null);
  const sizes: number[] = [];
  for (;;) {
    const due = deleted.dueBefore(3_400);
    if (due === null) break;
    deleted.forget(due.before);
    sizes.push(deleted.size);
    if (due.isAll) break;
  }
  assert.equal(sizes, [1_500, 500, 100]);
  assert.equal([...deleted][0], ['i2400', 3_400]);
});

test('what is to be kept is not forgotten, and holds up nothing that comes after it', () => {
  const deleted = new Deleted();
  for (let n = 0; n < 3_000; n += 1) deleted.remember(`i${n}`, n);
  const isKept = (key: string) => Number(key.slice(1)) < 1_500;
  const due = deleted.dueBefore(5_000, isKept);
  assert.equal(due, { before: 2_500, isAll: false });
  deleted.forget(due?.before ?? 0, isKept);
  assert.is(deleted.size, 2_000);
  deleted.forget(5_000, isKept);
  assert.is(deleted.size, 1_500);
  assert.is(deleted.dueBefore(5_000, isKept), null);
});

test('with clocks that go back the order stays, also when it is put back from a snapshot at any time', () => {
  const random = seededRandom('deleted');
  for (let run = 0; run < 100; run += 1) {
    const live = new Deleted();
    let restored = new Deleted();
    let now = 1_000;
    for (let step = 0; step < 60; step += 1) {
      now += random.integer(-40, 60);
      const key = `k${random.integer(0, 30)}`;
      const isKept = (one: string) => one.endsWith('7');
      if (random.chance(0.7)) for (const one of [live, restored]) one.remember(key, now);
      else for (const one of [live, restored]) one.forget(now - 100, isKept);
      if (random.chance(0.2)) {
        const rows = [...restored];
        restored = new Deleted();
        atOnce(restored.restoring(rows));
      }
      assert.equal([...restored], [...live]);
      const times = [...live.values()];
      assert.equal(
        times,
        [...times].sort((one, other) => one - other),
      );
    }
  }
});

test('what was deleted is put back some at a time: there may be a million', () => {
  const deleted = new Deleted();
  const rows = Array.from({ length: 10_000 }, (_, n): [string, number] => [`k${n}`, n]);
  assert.is([...deleted.restoring(rows)].length, 9, 'steps between which others are served');
  assert.equal([...deleted], rows);
});

test('what was deleted by a clock that was a year ahead holds up nothing that is deleted later', () => {
  const HOUR_MS = 3_600_000;
  const deleted = new Deleted();
  const setRight: string[] = [];
  const remember = (key: string, at: number) =>
    deleted.remember(key, at, (one, time) => void setRight.push(`${one} ${time}`));
  remember('before', 1_000);
  remember('ahead', 1_000 + 365 * 24 * HOUR_MS);
  const rows = deleted.capture();
  assert.is(remember('after', 2_000), 2_000);
  assert.equal(setRight, ['ahead 2000']);
  assert.equal(
    [...deleted],
    [
      ['before', 1_000],
      ['ahead', 2_000],
      ['after', 2_000],
    ],
  );
  assert.is(byKey(allOf(rows)).get('ahead'), 1_000 + 365 * 24 * HOUR_MS, 'a snapshot that is being taken stays');
  // Clocks that may be right set each other to nothing.
  remember('ahead by an hour', 2_000 + HOUR_MS);
  assert.is(remember('last', 3_000), 2_000 + HOUR_MS);
  deleted.forget(2_001);
  assert.equal([...deleted.keys()], ['ahead by an hour', 'last']);
});

test('a table of which a snapshot was taken while rows came keeps nothing of what passes through it later', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
  const counted = table();
  for (let n = 0; n < 300; n += 1) counted.set(`row ${n}`, { count: n });
  const rows = counted.capture();
  rows.take(100);
  counted.set('one that is new', { count: 0 });
  assert.is(byKey(allOf(rows, 100)).size, 200);
  collect();
  const before = process.memoryUsage().heapUsed;
  // Some engines (V8 14.6, of Node 26) put each string that is a key into their table of names, where it is old at once.
  const keys: string[] = [];
  for (let n = 0; n < 20_000; n += 1) {
    const key = Array.from({ length: 64 }, (_, at) => ({ n, at })) as unknown as string;
    keys.push(key);
    counted.set(key, { count: n });
    if (n >= 100) assert.ok(counted.delete(keys.shift() as string));
  }
  for (let times = 0; times < 3; times += 1) collect({ type: 'minor' });
  const kept = (process.memoryUsage().heapUsed - before) / 20_000;
  assert.ok(kept < 250, `${kept} bytes of each`);
});

test.run();
