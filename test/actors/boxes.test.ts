// Area: boxes of hosts that are alike. Whatever hosts come, go and change, each is in one box, and no bound is wrong or loose.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Bounds } from '../../actors/scheduler/ranking/bounds.ts';
import { type Box, Boxes, hostAt, type Measures, slotsIn } from '../../actors/scheduler/ranking/boxes.ts';
import { Rows } from '../../actors/scheduler/ranking/rows.ts';
import { Slots } from '../../actors/scheduler/ranking/slots.ts';
import { emptyView } from '../../actors/scheduler/view/view.ts';
import { learnHost } from '../../actors/scheduler/view/view-hosts.ts';
import { seededRandom } from '../../runtime/random.ts';

const test = suite('boxes');

const HOSTS = 400;
const MEASURES = 3;
/** Hosts are not divided by this one. */
const NEVER_APART = 2;

function boxesOfNone(hosts = HOSTS) {
  const view = emptyView();
  for (let n = 0; n < hosts; n += 1) learnHost(view, 'c1', { host: `h${n}`, provider: `p${n}`, state: 'up' });
  const slots = new Slots('s', view);
  const rows = new Rows(MEASURES);
  rows.widen(hosts);
  const bounds = new Bounds(MEASURES);
  const measures: Measures = {
    rows,
    count: MEASURES,
    bounds,
    distance: (measure, least, most) => (measure === NEVER_APART ? 0 : most - least),
  };
  return { slots, rows, known: { slots, rows, bounds }, boxes: new Boxes(slots, measures, []) };
}

/** Has all measures of a host be others. */
function draw({ values }: Rows, slot: number, next: (before: number) => number): void {
  for (let at = slot * MEASURES; at < (slot + 1) * MEASURES; at += 1) values[at] = next(values[at] as number);
}

/** Has the first measure of a host be another. */
function putFirst({ values }: Rows, slot: number, value: number): void {
  values[slot * MEASURES] = value;
}

/** Puts hosts in where there are none; answers how many were put in at one time. */
const putIn = (boxes: Boxes, slots: number[]): number[] => [...boxes.fill(slots)];

/** The most hosts of a box that is not divided, unless they cannot be told apart. */
const MOST = 24;

interface Known {
  readonly slots: Slots;
  readonly rows: Rows;
  readonly bounds: Bounds;
}

interface Found {
  boxes: number;
  byTie: number;
  readonly rows: Set<number>;
}

/** Looks at every box; answers how many there are, and how many of those that are divided are divided by tie alone. */
function checked(box: Box, known: Known, whole: Box | null = null): Found {
  const { slots, rows, bounds } = known;
  const within = slotsIn(box);
  assert.is(box.whole, whole);
  assert.is(box.count, within.length);
  const measured = (measure: number) => (slot: number) => rows.values[slot * MEASURES + measure] as number;
  const all = Array.from({ length: MEASURES }, (_, measure) => measured(measure));
  const least = (of: (slot: number) => number) => within.reduce((sum, slot) => Math.min(sum, of(slot)), Infinity);
  const most = (of: (slot: number) => number) => within.reduce((sum, slot) => Math.max(sum, of(slot)), -Infinity);
  assert.equal(
    all.map((_, measure) => [bounds.least(box.row, measure), bounds.most(box.row, measure)]),
    all.map((one) => [least(one), most(one)]),
  );
  const tieOf = (slot: number) => slots.ties[slot] as number;
  assert.equal(
    [bounds.tieOf(box.row), bounds.commonTieOf(box.row)],
    [least(tieOf), least((slot) => slots.commonTies[slot] as number)],
  );
  const found = { boxes: 1, byTie: 0, rows: new Set([box.row]) };
  const { division } = box;
  assert.is(division === null, box.slots !== null);
  if (division === null) {
    assert.ok(within.length <= MOST, `${within.length} hosts in one box`);
    return found;
  }
  const { by, at, lower, upper } = division;
  if (by < 0) {
    found.byTie += 1;
    for (const measure of all.keys()) {
      if (measure === NEVER_APART) continue;
      assert.is(
        bounds.least(box.row, measure),
        bounds.most(box.row, measure),
        'those that are divided by tie are alike',
      );
    }
  }
  const of = by < 0 ? tieOf : measured(by);
  for (const slot of slotsIn(lower)) assert.ok(of(slot) < at);
  for (const slot of slotsIn(upper)) assert.ok(of(slot) >= at);
  for (const half of [lower, upper]) {
    const { boxes, byTie, rows: taken } = checked(half, known, box);
    found.boxes += boxes;
    found.byTie += byTie;
    for (const row of taken) found.rows.add(row);
  }
  if (whole === null)
    assert.equal([found.rows.size, bounds.taken], [found.boxes, found.boxes], 'each has a row of its own');
  return found;
}

function depthOf({ division }: Box): number {
  return division === null ? 1 : 1 + Math.max(depthOf(division.lower), depthOf(division.upper));
}

test('boxes - each host is in one, within bounds that fit, whatever comes, goes and changes', () => {
  let largest = 0;
  fc.assert(
    fc.property(fc.integer(), fc.constantFrom(1, 3, 1_000), fc.boolean(), (seed, different, atOnce) => {
      const random = seededRandom(seed);
      const { slots, rows, known, boxes } = boxesOfNone();
      const there = new Set<number>();
      const drawNext = () => random.integer(0, different) / 4;
      if (atOnce) {
        for (let slot = 0; slot < HOSTS; slot += 1) draw(rows, slot, drawNext);
        const some = slots.all.filter((slot) => slot % 3 > 0);
        for (const slot of some) there.add(slot);
        putIn(boxes, [...some]);
      }
      for (let step = 0; step < 1_200; step += 1) {
        const slot = random.integer(0, HOSTS - 1);
        // Many come, and later many go.
        const comes = random.next() < (step < 800 ? 0.8 : 0.2);
        if (!there.has(slot)) {
          if (!comes) continue;
          draw(rows, slot, drawNext);
          boxes.add(slot);
          there.add(slot);
        } else if (comes) {
          draw(rows, slot, drawNext);
          boxes.move(slot);
        } else {
          boxes.remove(slot);
          there.delete(slot);
        }
        if (step % 100 > 0 || boxes.root === null) continue;
        assert.equal(new Set(slotsIn(boxes.root)), there);
        largest = Math.max(largest, checked(boxes.root, known).boxes);
      }
      const drawn = Array.from({ length: there.size }, (_, position) => hostAt(boxes.root as Box, position));
      assert.equal(new Set(drawn), there);
      for (const slot of there) boxes.remove(slot);
      assert.is(boxes.root, null);
      assert.is(known.bounds.taken, 0);
    }),
    { numRuns: 40 },
  );
  assert.ok(largest > 30, `${largest} boxes at most`);
});

test('boxes - very many are put in part by part, and stand in one another as others do', () => {
  const random = seededRandom(1);
  for (const different of [0, 3, 1_000]) {
    const { slots, rows, known, boxes } = boxesOfNone(30_000);
    for (const slot of slots.all) draw(rows, slot, () => random.integer(0, different));
    const parts = putIn(boxes, [...slots.all]);
    assert.ok(parts.length > 4 && Math.max(...parts) <= 5_000, `${parts}`);
    assert.is(slotsIn(boxes.root as Box).length, 30_000);
    assert.ok(checked(boxes.root as Box, known).boxes > 1_000);
  }
});

test('boxes - a host that changes no longer stands with those that it was like', () => {
  const { slots, rows, known, boxes } = boxesOfNone();
  putIn(boxes, [...slots.all]);
  const before = checked(boxes.root as Box, known);
  assert.ok(before.byTie > 10);
  assert.is(before.byTie, (before.boxes - 1) / 2, 'there is nothing else to divide them by');
  const random = seededRandom(1);
  for (const slot of slots.all) {
    draw(rows, slot, () => random.next());
    boxes.move(slot);
    checked(boxes.root as Box, known);
  }
  assert.is(checked(boxes.root as Box, known).byTie, 0);
  for (const slot of slots.all) {
    draw(rows, slot, () => 0);
    boxes.move(slot);
  }
  assert.ok(checked(boxes.root as Box, known).byTie > 10, 'and stands with them again when it is as they are');
});

test('boxes - one that is unlike all others is seen when they are divided, whichever it is', () => {
  for (let unlike = 0; unlike < 20; unlike += 1) {
    const { slots, rows, known, boxes } = boxesOfNone();
    putFirst(rows, unlike, 1);
    putIn(boxes, [...slots.all]);
    checked(boxes.root as Box, known);
    assert.is((boxes.root as Box).division?.by, 0);
  }
});

test('boxes - one host that changes, however often and however far, leaves all others as they stand', () => {
  const { slots, rows, known, boxes } = boxesOfNone();
  for (const slot of slots.all) putFirst(rows, slot, 1);
  putIn(boxes, [...slots.all]);
  const others = boxes.root as Box;
  const powers = Array.from({ length: 400 }, (_, n) => 3 ** (300 - n));
  // The last ones are the next that there are, and no numbers.
  const changed = [...powers.flatMap((one) => [1 + one, 1 - one]), 1 + 2 ** -52, 1 - 2 ** -53, Infinity, -Infinity];
  for (const value of changed.filter((one) => one !== 1)) {
    putFirst(rows, 7, value);
    boxes.move(7);
    checked(boxes.root as Box, known);
    const { division } = boxes.root as Box;
    assert.ok(division?.lower === others || division?.upper === others, `of ${value}`);
  }
  putFirst(rows, 7, 1);
  boxes.move(7);
  assert.is(boxes.root, others);
  checked(others, known);
});

test('boxes - what a host that is gone has stretched fits again', () => {
  const { slots, rows, known, boxes } = boxesOfNone();
  for (const slot of slots.all) putFirst(rows, slot, 1);
  putIn(boxes, slots.all.slice(0, 20));
  for (const [slot, value] of [
    [7, 50],
    [8, -10],
  ] as const) {
    putFirst(rows, slot, value);
    boxes.move(slot);
    checked(boxes.root as Box, known);
  }
  boxes.remove(8);
  checked(boxes.root as Box, known);
});

test('boxes - however little each host that changes is nearer to the others than the last, few boxes stand in one another', () => {
  for (const sign of [1, -1]) {
    const { slots, rows, known, boxes } = boxesOfNone();
    putIn(boxes, [...slots.all]);
    let deepest = 0;
    for (const slot of slots.all.slice(0, HOSTS / 2)) {
      putFirst(rows, slot, sign * (HOSTS - slot));
      boxes.move(slot);
      deepest = Math.max(deepest, depthOf(boxes.root as Box));
    }
    assert.ok(deepest <= 20, `${deepest} boxes deep`);
    checked(boxes.root as Box, known);
  }
});

test('boxes - while all hosts change in one direction they stay divided evenly', () => {
  const { slots, rows, known, boxes } = boxesOfNone();
  putIn(boxes, [...slots.all]);
  const random = seededRandom(2);
  let deepest = 0;
  for (let step = 0; step < 20_000; step += 1) {
    const slot = random.integer(0, HOSTS - 1);
    draw(rows, slot, (before) => before - random.next());
    boxes.move(slot);
    deepest = Math.max(deepest, depthOf(boxes.root as Box));
  }
  // Evenly, of some dozen hosts each, it would be 6.
  assert.ok(deepest <= 14, `${deepest} boxes deep`);
  checked(boxes.root as Box, known);
});

test.run();
