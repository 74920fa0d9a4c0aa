// Area: the map of what comes and goes: that it does what a Map does, and that what is taken out of it does not grow old.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PassingMap } from '../../actors/passing-map.ts';
import { PassingSet } from '../../actors/passing-set.ts';
import { Table } from '../../actors/table.ts';
import { seededRandom } from '../../runtime/random.ts';

const test = suite('passing map');

test('it does what a Map does, in the same order', () => {
  const chance = seededRandom('passing map');
  const ours = new PassingMap<string, number>();
  const theirs = new Map<string, number>();
  let deletes = 0;
  for (let step = 0; step < 20_000; step += 1) {
    const key = `k${Math.floor(chance.next() * 50)}`;
    const what = chance.next();
    if (what < 0.5) {
      assert.is(ours.set(key, step), ours);
      theirs.set(key, step);
    } else if (what < 0.999) {
      const deleted = theirs.delete(key);
      assert.is(ours.delete(key), deleted);
      if (deleted) deletes += 1;
    } else {
      ours.clear();
      theirs.clear();
    }
    assert.is(ours.size, theirs.size);
    assert.is(ours.has(key), theirs.has(key));
    assert.is(ours.get(key), theirs.get(key));
    if (step % 100 === 0) {
      assert.equal([...ours], [...theirs]);
      assert.equal([...ours.keys()], [...theirs.keys()]);
      assert.equal([...ours.values()], [...theirs.values()]);
      const told: unknown[] = [];
      ours.forEach((value, name, map) => {
        told.push([name, value, map === ours]);
      });
      assert.equal(
        told,
        [...theirs].map(([name, value]) => [name, value, true]),
      );
    }
  }
  assert.ok(deletes > 1_000, `${deletes}`);
});

test('whoever goes through it while it changes misses nothing that stays, and meets what is put in', () => {
  for (const map of [new PassingMap<string, number>(), new Map<string, number>()]) {
    for (const [position, key] of ['a', 'b', 'c', 'd'].entries()) map.set(key, position);
    const met: unknown[] = [];
    for (const [key, value] of map) {
      met.push([key, value]);
      if (key === 'a') {
        map.delete('b');
        map.set('c', 20);
        map.set('e', 4);
      }
    }
    assert.equal(met, [
      ['a', 0],
      ['c', 20],
      ['d', 3],
      ['e', 4],
    ]);
  }
});

test('whoever goes through it while nearly all of it is taken out meets each of the others, with its own value', () => {
  const met = [new PassingMap<string, number>(), new Map<string, number>()].map((map) => {
    for (let n = 0; n < 300; n += 1) map.set(`k${n}`, n);
    const seen: unknown[] = [];
    for (const [key, value] of map) {
      seen.push([key, value]);
      if (value === 10) for (let n = 0; n < 280; n += 1) map.delete(`k${n}`);
      if (value < 290) map.set(`new${value}`, 1_000 + value);
    }
    return seen;
  });
  assert.is(met[0]?.length, 300 - 280 + 11 + 11 + 10);
  assert.equal(met[0], met[1]);
});

test('a set of what passes does what a Set does, in the same order', () => {
  const chance = seededRandom('passing set');
  const [ours, theirs] = [new PassingSet<number>(), new Set<number>()];
  for (let step = 0; step < 10_000; step += 1) {
    const member = Math.floor(chance.next() * 60);
    const what = chance.next();
    if (what < 0.5) {
      assert.is(ours.add(member), ours);
      theirs.add(member);
    } else if (what < 0.998) {
      assert.is(ours.delete(member), theirs.delete(member));
    } else {
      ours.clear();
      theirs.clear();
    }
    assert.equal([ours.size, ours.has(member)], [theirs.size, theirs.has(member)]);
    if (step % 100 > 0) continue;
    for (const how of ['keys', 'values', 'entries'] as const) assert.equal([...ours[how]()], [...theirs[how]()]);
    assert.equal([...ours], [...theirs]);
  }
});

test('what is taken out of it is answered, once; of a table too, whose snapshot has it still', () => {
  const map = new PassingMap<string, number>().set('a', 1).set('b', 2);
  assert.equal([map.take('a'), map.take('a'), map.size], [1, undefined, 1]);
  const table = new Table<number>((value, key) => [key, value]);
  table.set('a', 1).set('b', 2);
  const rows = table.capture();
  assert.is(table.take('a'), 1);
  assert.equal(
    new Map(rows.take(10) as [string, number][]),
    new Map([
      ['a', 1],
      ['b', 2],
    ]),
  );
});

test('an undefined value is a value', () => {
  const map = new PassingMap<string, undefined>();
  map.set('a', undefined);
  assert.ok(map.has('a'));
  assert.is(map.size, 1);
  assert.equal([...map], [['a', undefined]]);
  assert.ok(map.delete('a'));
  assert.not(map.delete('a'));
});

test('a value that is deleted or taken is let go', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const map = new PassingMap<string, object>();
  const gone = ['deleted', 'taken'].map((key) => {
    const value = {};
    map.set(key, value);
    return new WeakRef(value);
  });
  map.delete('deleted');
  map.take('taken');
  // What was made or asked for stays until the job is over.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  assert.equal(
    gone.map((value) => value.deref()),
    [undefined, undefined],
  );
});

const large = (n: number) => Array.from({ length: 64 }, (_, at) => ({ n, at }));

/**
 * The values that pass through are large, or the keys. These are objects, as some engines (V8 14.6, of Node 26) put each
 * string that is a key into their table of names, where it is old at once.
 */
const passing: readonly [string, (n: number) => [unknown, unknown]][] = [
  ['what', (n) => [`k${n}`, large(n)]],
  ['the name of what', (n) => [large(n), n]],
];

for (const [what, entryOf] of passing) {
  test(`${what} has passed through it is collected with the young`, () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;
    const map = new PassingMap<unknown, unknown>();
    const keys: unknown[] = [];
    const put = (n: number) => {
      const [key, value] = entryOf(n);
      map.set(key, value);
      keys.push(key);
    };
    for (let n = 0; n < 100; n += 1) put(n);
    // Now the map is old.
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let n = 100; n < 5_100; n += 1) {
      if (n < 5_000) put(n);
      assert.ok(map.delete(keys.shift()));
    }
    for (let times = 0; times < 3; times += 1) collect({ type: 'minor' });
    const kept = (process.memoryUsage().heapUsed - before) / 5_000;
    assert.ok(kept < 700, `${kept} bytes of each`);
  });
}

test.run();
