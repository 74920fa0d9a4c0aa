// Area: heaps. Read together, two heaps give the best of what is in either.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Among, bestOf } from '../../actors/scheduler/best-first.ts';
import { before, emptyHeap, insert, move, remove } from '../../actors/scheduler/heap.ts';

const test = suite('heaps');

test('heaps - a heap gives the best of what is in it, whatever was put in, taken out and moved', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(9), fc.nat(5), fc.constantFrom('insert', 'remove', 'move')), {
        maxLength: 120,
      }),
      fc.integer({ min: 1, max: 12 }),
      (steps, most) => {
        const size = steps.length;
        const order = { weights: new Float64Array(size), at: new Int32Array(size) };
        const ties = Array.from({ length: size }, (_, slot) => slot % 3);
        const heaps = [emptyHeap(ties), emptyHeap(ties)] as const;
        const there: [number[], number[]] = [[], []];
        for (const [slot, [where, weight, what]] of steps.entries()) {
          const side = (where % 2) as 0 | 1;
          const known = there[side][where % Math.max(1, there[side].length)];
          if (what === 'insert' || known === undefined) {
            order.weights[slot] = weight;
            insert(order, heaps[side], slot);
            there[side].push(slot);
          } else if (what === 'remove') {
            order.weights[known] = weight;
            remove(order, heaps[side], known);
            there[side] = there[side].filter((one) => one !== known);
          } else {
            order.weights[known] = weight;
            move(order, heaps[side], known);
          }
        }
        const among: Among = { order, heaps, boxes: [], member: null };
        const standing = JSON.stringify(heaps);
        const accept = (slot: number) => slot % 4 !== 0;
        const entryOf = (slot: number) => ({ weight: order.weights[slot] as number, tie: ties[slot] as number });
        const found = bestOf(among, most, accept);
        const wanted = there
          .flat()
          .filter(accept)
          .map(entryOf)
          .sort((one, other) => (before(one, other) ? -1 : before(other, one) ? 1 : 0));
        assert.equal(found.map(entryOf), wanted.slice(0, most));
        assert.ok(found.every((slot) => there.flat().includes(slot)));
        assert.is(new Set(found).size, found.length);
        assert.is(JSON.stringify(heaps), standing, 'reading changes no heap');
      },
    ),
    { numRuns: 300 },
  );
});

test.run();
