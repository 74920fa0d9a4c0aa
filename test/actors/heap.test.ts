// Area: heaps. Read together, two heaps give the best of what is in either.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { before, bestOf, type Entry, type Heap, insert, remove, replace } from '../../actors/scheduler/heap.ts';

const test = suite('heaps');

test('heaps - a heap gives the best of what is in it, whatever was put in, taken out and replaced', () => {
  interface Numbered extends Entry {
    readonly id: number;
  }
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(9), fc.nat(5), fc.constantFrom('insert', 'remove', 'replace')), { maxLength: 120 }),
      fc.integer({ min: 1, max: 12 }),
      (steps, most) => {
        const heaps: [Heap<Numbered>, Heap<Numbered>] = [[], []];
        const there: [Numbered[], Numbered[]] = [[], []];
        for (const [id, [where, weight, what]] of steps.entries()) {
          const side = (where % 2) as 0 | 1;
          const known = there[side][where % Math.max(1, there[side].length)];
          const entry = { id, weight, tie: id % 3, at: 0 };
          if (what === 'insert' || known === undefined) insert(heaps[side], entry);
          else if (what === 'remove') remove(heaps[side], known);
          else replace(heaps[side], known, entry);
          there[side] = there[side].filter((one) => one !== known || what === 'insert');
          if (what !== 'remove' || known === undefined) there[side].push(entry);
        }
        const standing = JSON.stringify(heaps);
        const accept = ({ id }: Numbered) => id % 4 !== 0;
        const found = bestOf(heaps, most, accept);
        const wanted = there
          .flat()
          .filter(accept)
          .sort((one, other) => (before(one, other) ? -1 : before(other, one) ? 1 : 0));
        assert.equal(
          found.map(({ weight, tie }) => [weight, tie]),
          wanted.slice(0, most).map(({ weight, tie }) => [weight, tie]),
        );
        assert.is(new Set(found).size, found.length);
        assert.is(JSON.stringify(heaps), standing, 'reading changes no heap');
      },
    ),
    { numRuns: 300 },
  );
});

test.run();
