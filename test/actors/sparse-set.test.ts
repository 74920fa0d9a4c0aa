// Area: what takes little room where there are thousands of it: sets that are mostly empty, and sets of names that are alike.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { setOfNames } from '../../actors/name-sets.ts';
import { SparseSet } from '../../actors/sparse-set.ts';
import { seededRandom } from '../../runtime/random.ts';

const test = suite('sparse set');

test('it does what a Set does, in the same order', () => {
  const chance = seededRandom('sparse set');
  const [ours, theirs] = [new SparseSet(['k0', 'k1']), new Set(['k0', 'k1'])];
  let emptied = 0;
  for (let step = 0; step < 10_000; step += 1) {
    const key = `k${Math.floor(chance.next() * 4)}`;
    if (chance.next() < 0.4) {
      ours.add(key);
      theirs.add(key);
    } else {
      assert.is(ours.delete(key), theirs.delete(key));
      if (theirs.size === 0) emptied += 1;
    }
    assert.is(ours.size, theirs.size);
    assert.is(ours.has(key), theirs.has(key));
    assert.equal([...ours], [...theirs]);
  }
  assert.ok(emptied > 1_000, `${emptied}`);
});

test('whoever goes through it may take out what he meets', () => {
  const set = new SparseSet(['a', 'b', 'c']);
  const met: string[] = [];
  for (const one of set) {
    met.push(one);
    set.delete(one);
  }
  assert.equal([met, set.size, [...set]], [['a', 'b', 'c'], 0, []]);
});

test('alike lists of names share a set, and others have their own', () => {
  assert.is(setOfNames([]), setOfNames([]));
  assert.is(setOfNames(['A', 'B']), setOfNames(['A', 'B']));
  assert.equal([...setOfNames(['A', 'B'])], ['A', 'B']);
  assert.equal([...setOfNames(['A B'])], ['A B'], 'names are told apart however they are written');
  const many = Array.from({ length: 5_000 }, (_, n) => `CUSTOM_TRAIT_${n}`);
  assert.is(setOfNames(many).size, 5_000);
  const first = setOfNames(['FIRST']);
  for (const name of many) setOfNames([name]);
  assert.is.not(setOfNames(['FIRST']), first, 'only the last lists are known');
});

test.run();
