// Area: heaps, and the front of a ranking. Read together, two heaps give the best of what is in either; what is kept of the
// front is what is found anew.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Among, bestOf, Front } from '../../actors/scheduler/ranking/best-first.ts';
import { before, emptyHeap, insert, move, remove } from '../../actors/scheduler/ranking/heap.ts';
import { Slots } from '../../actors/scheduler/ranking/slots.ts';
import { emptyView, noteChange } from '../../actors/scheduler/view/view.ts';
import { learnHost } from '../../actors/scheduler/view/view-hosts.ts';
import { seededRandom } from '../../runtime/random.ts';

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
        const ties = Array.from({ length: size }, (_, slot) => (slot % 3) + slot / size);
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
        const among: Among = { order, heaps, boxes: [], member: null, isOut: null };
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

test('heaps - no two hosts stand alike where they weigh the same, even if their hashes are one', () => {
  // Of both, behind the name of the scheduler, the hash is 2,599,982,712.
  const view = emptyView();
  for (const root of ['p-1302tcr', 'p-r68jpu']) learnHost(view, 'c1', { host: root, provider: root, state: 'up' });
  const [one, other] = new Slots('s', view).ties as [number, number];
  assert.is(Math.floor(one), Math.floor(other));
  assert.is.not(one, other);
});

/** A front of as many hosts as are told, all in one heap, and how often it was looked for. */
function frontOf(hosts: number) {
  const view = emptyView();
  for (let n = 0; n < hosts; n += 1) learnHost(view, 'c1', { host: `h${n}`, provider: `p${n}`, state: 'up' });
  const slots = new Slots('s', view);
  const order = { weights: new Float64Array(hosts), at: new Int32Array(hosts) };
  const heap = emptyHeap(slots.ties);
  for (const slot of slots.all) insert(order, heap, slot);
  const front = new Front({ slots, weightOf: (slot) => order.weights[slot] as number });
  const all: Among = { order, heaps: [heap], boxes: [], member: null, isOut: null };
  const rig = { order, heap, front, all, searches: 0, among, change };
  function among(): Among {
    rig.searches += 1;
    return all;
  }
  function change(slot: number, weight: number): void {
    order.weights[slot] = weight;
    move(order, heap, slot);
    noteChange(view, `p${slot}`);
    slots.follow();
  }
  return rig;
}

test('heaps - what is kept of the front is what is found anew, whoever changes', () => {
  const rig = frontOf(300);
  const { order, heap, front, all, among, change } = rig;
  const random = seededRandom(1);
  let asked = 0;
  for (let round = 0; round < 2_000; round += 1) {
    for (let n = random.integer(0, round % 10 === 0 ? 60 : 3); n > 0; n -= 1) {
      change(random.integer(0, 299), random.integer(0, 50));
    }
    const most = random.integer(0, round % 50 === 0 ? 300 : 4);
    const accept = random.integer(0, 2) === 0 ? (slot: number) => slot % 3 > 0 : () => true;
    asked += 1;
    const found = front.bestOf(among, most, accept);
    assert.equal(found, bestOf(all, most, accept), `round ${round}`);
  }
  assert.ok(rig.searches < asked / 2, `${rig.searches} searches for ${asked}`);
  // One that is ranked in another way though it has not changed.
  order.weights[7] = 99;
  move(order, heap, 7);
  front.forget();
  assert.equal(
    front.bestOf(among, 1, () => true),
    [7],
  );
});

test('heaps - of a front that is used up by what is taken of it more is kept, so it is hardly ever looked for', () => {
  const rig = frontOf(5_000);
  const { order, front, all, among, change } = rig;
  // A request of this size comes after two of others, each of which takes the best host for it, or one of the best.
  for (let choice = 0; choice < 1_500; choice += 1) {
    for (const place of [0, 0, 3]) {
      const slot = bestOf(all, 4, () => true)[place] as number;
      change(slot, (order.weights[slot] as number) - 1);
    }
    const [first] = front.bestOf(among, 1, () => true);
    assert.is(first, bestOf(all, 1, () => true)[0]);
  }
  assert.ok(rig.searches < 60, `${rig.searches} searches for 1500 choices`);
});

test('heaps - hosts at the front that a group may not have are kept there, so they are hardly ever looked for anew', () => {
  const rig = frontOf(5_000);
  const { order, front, all, among, change } = rig;
  const taken = new Set<number>();
  // Hosts are packed: one that is taken comes first from then on, and may not be taken once more.
  for (let choice = 0; choice < 1_000; choice += 1) {
    const accept = (slot: number) => !taken.has(slot);
    const [first] = front.bestOf(among, 1, accept) as [number];
    if (choice % 20 === 0) assert.equal([first], bestOf(all, 1, accept));
    taken.add(first);
    change(first, (order.weights[first] as number) + 1);
  }
  assert.ok(rig.searches < 60, `${rig.searches} searches for 1000 choices`);
});

test.run();
