// Area: listing by pages. Entries come and go between two pages, and there may be a million.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
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

test('listing - all keys are looked at for thousands of entries, not for each page', () => {
  const table = tableOf(Array.from({ length: 10_000 }, (_, n) => `i${(n * 7_919) % 10_000}`));
  const listed: string[] = [];
  let after: string | null | undefined;
  while (after !== null) {
    const [keys, next]: [string[], string | null] = keysOf(table, after, 100);
    listed.push(...keys);
    after = next;
  }
  assert.equal(listed, [...table.keys()].sort());
  assert.ok(table.looks <= 5, `looked ${table.looks} times`);
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
