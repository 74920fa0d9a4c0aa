// Area: random. What a seed promises: the same numbers everywhere, streams that do not disturb each other, and the
// distributions that simulations count on.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { seededRandom } from '../../runtime/random.ts';

const test = suite('random');

function times<Value>(count: number, draw: () => Value): Value[] {
  return Array.from({ length: count }, draw);
}

test('random - the same seed gives the same numbers on every platform', () => {
  const random = seededRandom(42);
  // Written down once: a change here breaks every recorded seed.
  assert.equal(times(3, random.next), [0.2084379759393602, 0.8085151063576697, 0.3810493048936422]);
  assert.equal(
    times(5, () => random.integer(1, 1000)),
    [166, 99, 877, 636, 663],
  );
  assert.equal(
    times(2, () => random.exponential(100)),
    [395.9892936550699, 101.73213434285766],
  );
});

test('random - a number and its digits are one seed, other seeds give other numbers', () => {
  assert.is(seededRandom(7).next(), seededRandom('7').next());
  const firsts = Array.from({ length: 1000 }, (_, seed) => seededRandom(seed).next());
  assert.is(new Set(firsts).size, 1000);
  const mean = firsts.reduce((sum, value) => sum + value, 0) / firsts.length;
  assert.ok(Math.abs(mean - 0.5) < 0.05, `the first numbers of neighbouring seeds have the mean ${mean}`);
});

test('random - numbers are in [0, 1) and spread evenly', () => {
  const random = seededRandom('even');
  const tenths = Array<number>(10).fill(0);
  for (const value of times(20_000, random.next)) {
    assert.ok(value >= 0 && value < 1);
    const tenth = Math.floor(value * 10);
    tenths[tenth] = (tenths[tenth] ?? 0) + 1;
  }
  for (const count of tenths) assert.ok(count > 1800 && count < 2200, `${tenths}`);
});

test('random - integers include both bounds and refuse bounds that hold none', () => {
  const random = seededRandom(1);
  assert.equal(
    [...new Set(times(200, () => random.integer(-2, 2)))].sort((a, b) => a - b),
    [-2, -1, 0, 1, 2],
  );
  assert.is(random.integer(5, 5), 5);
  const wrong: [number, number][] = [
    [2, 1],
    [0.5, 3],
    [0, Number.NaN],
    [0, Number.POSITIVE_INFINITY],
  ];
  for (const [min, max] of wrong) {
    assert.throws(
      () => random.integer(min, max),
      (error: unknown) => error instanceof RangeError,
    );
  }
});

test('random - a chance of 0 never holds, of 1 always, and between at its rate', () => {
  const random = seededRandom(1);
  assert.not.ok(times(1000, () => random.chance(0)).includes(true));
  assert.not.ok(times(1000, () => random.chance(1)).includes(false));
  const hits = times(10_000, () => random.chance(0.3)).filter(Boolean).length;
  assert.ok(hits > 2800 && hits < 3200, `${hits}`);
});

test('random - waiting times are exponential', () => {
  const random = seededRandom(1);
  const waits = times(50_000, () => random.exponential(10));
  const mean = waits.reduce((sum, wait) => sum + wait, 0) / waits.length;
  assert.ok(Math.abs(mean - 10) < 0.2, `mean ${mean}`);
  // The share above twice the mean is e^-2.
  const late = waits.filter((wait) => wait > 20).length / waits.length;
  assert.ok(Math.abs(late - Math.exp(-2)) < 0.006, `late ${late}`);
  assert.is(random.exponential(0), 0);
  assert.throws(
    () => random.exponential(-1),
    (error: unknown) => error instanceof RangeError,
  );
});

test('random - shuffling copies, keeps every item and reaches every order', () => {
  const random = seededRandom(1);
  const list = Object.freeze(['a', 'b', 'c']);
  const orders = new Set(times(200, () => random.shuffle(list).join('')));
  assert.equal([...orders].sort(), ['abc', 'acb', 'bac', 'bca', 'cab', 'cba']);
  assert.equal(random.shuffle([]), []);
});

test('random - picking takes any item, and none of an empty list', () => {
  const random = seededRandom(1);
  assert.equal([...new Set(times(100, () => random.pick(['x', 'y'])))].sort(), ['x', 'y']);
  assert.throws(
    () => random.pick([]),
    (error: unknown) => error instanceof RangeError,
  );
});

test('random - a fork depends on seed and label, not on what was drawn', () => {
  const random = seededRandom(9);
  const before = random.fork('builds').next();
  random.next();
  assert.is(random.fork('builds').next(), before);
  assert.is.not(random.fork('other').next(), before);
  assert.is.not(seededRandom(10).fork('builds').next(), before);
  // Forking takes nothing from the stream.
  const [twin, other] = [seededRandom(9), seededRandom(9)];
  other.fork('a');
  assert.is(twin.next(), other.next());
});

test('random - a fork of a fork is not the fork of a longer label', () => {
  const random = seededRandom(9);
  const values = [random.fork('a').fork('b'), random.fork('a/b'), random.fork('ab'), random.fork('b').fork('a')];
  assert.is(new Set(values.map((fork) => fork.next())).size, 4);
});

test.run();
