// Area: listing by pages. Entries come and go between two pages, and there may be a million.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { KeyChunk } from '../../actors/key-run.ts';
import { page } from '../../actors/page.ts';
import { Table } from '../../actors/table.ts';
import { seededRandom } from '../../runtime/random.ts';

const test = suite('listing');

class CountedTable extends Table<number> {
  looks = 0;

  override keys(): MapIterator<string> {
    this.looks += 1;
    return super.keys();
  }
}

const tableOf = (keys: Iterable<string>) => {
  const table = new CountedTable((value, key) => [key, value]);
  for (const key of keys) table.set(key, 0);
  return table;
};

const keysOf = (table: Table<number>, after: string | undefined, limit: number) =>
  page(table, after, limit, (_, key) => key);

test('listing - all keys are looked at for thousands of entries, not for each page, in whatever order these were put in', () => {
  const inOrder = Array.from({ length: 10_000 }, (_, n) => `i${10_000 + n}`);
  const mixed = inOrder.map((_, n) => inOrder[(n * 7_919) % 10_000] as string);
  for (const keys of [mixed, inOrder, inOrder.toReversed()]) {
    const table = tableOf(keys);
    const listed: string[] = [];
    let after: string | null | undefined;
    while (after !== null) {
      const [keys, next]: [string[], string | null] = keysOf(table, after, 100);
      listed.push(...keys);
      after = next;
    }
    assert.equal(listed, inOrder);
    assert.ok(table.looks <= 5, `looked ${table.looks} times`);
    const [first, next] = page(new Map(table), undefined, 1_000, (_, key) => key);
    assert.equal([first, next], [inOrder.slice(0, 1_000), inOrder[999]]);
  }
});

test('listing - of very many, all keys are looked at for ten thousands of entries', () => {
  const count = 300_000;
  const table = tableOf(Array.from({ length: count }, (_, n) => `i${(n * 7_919) % count}`));
  const listed: string[] = [];
  let after: string | null | undefined;
  let isChanged = false;
  while (after !== null) {
    const [keys, next]: [string[], string | null] = keysOf(table, after, 1_000);
    for (const key of keys) listed.push(key);
    after = next;
    if (isChanged || listed.length < 10_000) continue;
    isChanged = true;
    for (const key of ['i8', 'i9', 'i9-new', 'i5-new', 'i1-new']) {
      if (!table.delete(key)) table.set(key, 0);
    }
    table.delete('i7');
    table.set('i7', 0);
  }
  const all = [...table.keys()].filter((key) => key !== 'i1-new').sort();
  assert.is(listed.length, all.length);
  assert.ok(listed.every((key, place) => key === all[place]));
  assert.ok(table.looks <= 7, `looked ${table.looks} times`);
});

test('listing - runs that are made from a chunk have the keys as they are, whatever came and went since it was made', () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const random = seededRandom(seed);
    const some = () => `k${random.integer(0, 2_000)}`;
    const standing = new Set(Array.from({ length: random.integer(0, 1_500) }, some));
    const after = random.chance(0.3) ? undefined : some();
    const size = random.integer(1, 200);
    const chunk = new KeyChunk(standing, after, size);
    for (let n = random.integer(0, 100); n > 0; n -= 1) {
      const key = some();
      if (standing.delete(key)) continue;
      standing.add(key);
      chunk.meet(key);
    }
    const from = random.chance(0.5) ? after : some();
    const limit = random.integer(1, 50);
    const known = chunk.runAfter(from, 2 * limit)?.next(from, limit, (key) => standing.has(key)) ?? null;
    const left = [...standing].filter((key) => from === undefined || key > from).sort();
    if (known !== null) assert.equal(known, [left.slice(0, limit), left.length > limit], `seed ${seed}`);
    else assert.ok(left.length > limit || from === undefined || (after ?? '') > from || !chunk.isLast);
    if (chunk.isLast && from === after) assert.ok(known !== null || left.length > limit);
  }
});

test('listing - what is put in where much has come since the last page is listed, as all else is', () => {
  const padded = (n: number) => `i${String(n).padStart(8, '0')}`;
  const table = tableOf(Array.from({ length: 150_000 }, (_, n) => padded(100 * n)));
  const [first] = keysOf(table, undefined, 100);
  for (let n = 0; n < 10_000; n += 1) table.set(padded(10 * n + 1), 0);
  const all = [...table.keys()].sort();
  const [next] = keysOf(table, first.at(-1), 5_000);
  const begin = all.indexOf(first.at(-1) as string) + 1;
  assert.equal(next, all.slice(begin, begin + 5_000));
});

test('listing - nor do those who list at one time have all looked at for each page', () => {
  const table = tableOf(Array.from({ length: 10_000 }, (_, n) => `i${(n * 7_919) % 10_000}`));
  const all = [...table.keys()].sort();
  const lists = Array.from({ length: 8 }, (_, n) => ({ after: undefined as string | undefined, step: 60 + n, got: 0 }));
  table.looks = 0;
  while (lists.some(({ got }) => got < all.length)) {
    for (const list of lists) {
      if (list.got === all.length) continue;
      const [keys, next] = keysOf(table, list.after, list.step);
      assert.equal(keys, all.slice(list.got, list.got + list.step));
      list.got += keys.length;
      list.after = next ?? undefined;
    }
  }
  assert.ok(table.looks <= 40, `looked ${table.looks} times`);
});

test('listing - a page is of the entries as they are when it is asked for, whatever came and went since the last', () => {
  for (let seed = 1; seed <= 12; seed += 1) {
    const random = seededRandom(seed);
    const some = () => `i${random.integer(0, 20_000)}`;
    const table = tableOf(Array.from({ length: random.integer(0, 12_000) }, some));
    let after: string | undefined;
    for (let asked = 0; asked < 30; asked += 1) {
      for (let n = random.integer(0, 200); n > 0; n -= 1) {
        if (random.integer(0, 1) === 0) table.set(some(), 0);
        else table.delete(some());
      }
      if (random.integer(0, 5) === 0) after = random.integer(0, 1) === 0 ? undefined : some();
      const limit = random.integer(1, 300);
      const left = [...table.keys()].sort().filter((key) => after === undefined || key > after);
      const [keys, next] = keysOf(table, after, limit);
      assert.equal(keys, left.slice(0, limit));
      assert.is(next, left.length > limit ? (keys.at(-1) ?? null) : null);
      after = next ?? undefined;
    }
  }
});

test.run();
