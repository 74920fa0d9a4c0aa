// Seeded random numbers, the same on every platform: simulations, fakes and generated workloads draw from here and
// from nowhere else. Only integer and exactly rounded arithmetic: Math.log and its kin may differ between processors.

import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plusFromState } from 'pure-rand/generator/xoroshiro128plus';
import { scattered } from '../actors/routing.ts';

/** A stream of random numbers. All draws advance it, except `fork`, which never does. */
export interface Random {
  /** In [0, 1), with 53 bits. */
  next(): number;
  /**
   * A whole number from `min` to `max`, both included.
   * @throws RangeError when a bound is not a safe integer or `min` is above `max`.
   */
  integer(min: number, max: number): number;
  /** True with probability `p`: never for 0, always for 1. Takes one draw whatever `p` is. */
  chance(p: number): boolean;
  /**
   * One item, each as likely as the others.
   * @throws RangeError when the list is empty.
   */
  pick<Item>(list: readonly Item[]): Item;
  /**
   * Exponentially distributed with this mean, in the unit of the mean: times between arrivals, lifetimes.
   * @throws RangeError when the mean is negative or not finite.
   */
  exponential(mean: number): number;
  /** A copy in random order. */
  shuffle<Item>(list: readonly Item[]): Item[];
  /**
   * An independent stream that depends on the seed and the label alone, not on what was drawn before. The same label
   * gives the same stream again; a draw added to one stream shifts no other.
   */
  fork(label: string): Random;
}

/** A stream that the seed decides. The seeds `1` and `'1'` are the same seed. */
export function seededRandom(seed: number | string): Random {
  const path = String(seed);
  const generator = xoroshiro128plusFromState(stateOf(path));
  const next = () => uniformFloat64(generator);

  function integer(min: number, max: number): number {
    if (!Number.isSafeInteger(min) || !Number.isSafeInteger(max) || min > max) {
      throw new RangeError(`no whole number lies between '${min}' and '${max}'`);
    }
    return uniformInt(generator, min, max);
  }

  return {
    next,
    integer,
    chance: (p) => next() < p,
    pick<Item>(list: readonly Item[]): Item {
      if (list.length === 0) throw new RangeError('cannot pick from an empty list');
      return list[integer(0, list.length - 1)] as Item;
    },
    exponential(mean) {
      if (!(mean >= 0 && Number.isFinite(mean))) throw new RangeError(`'${mean}' is no mean of a waiting time`);
      return mean * standardExponential(next);
    },
    shuffle<Item>(list: readonly Item[]): Item[] {
      const copy = [...list];
      for (let last = copy.length - 1; last > 0; last--) {
        const other = integer(0, last);
        [copy[last], copy[other]] = [copy[other] as Item, copy[last] as Item];
      }
      return copy;
    },
    // The length keeps fork('a').fork('b') apart from fork('a/b').
    fork: (label) => seededRandom(`${path}/${label.length}:${label}`),
  };
}

/**
 * Von Neumann's method, which compares and adds but takes no logarithm: draw while the numbers fall; an odd run
 * accepts its first number as the fraction, an even one adds 1 and starts again.
 */
function standardExponential(next: () => number): number {
  for (let whole = 0; ; whole++) {
    const first = next();
    let runLength = 1;
    for (let last = first, drawn = next(); drawn < last; last = drawn, drawn = next()) runLength++;
    if (runLength % 2 === 1) return whole + first;
  }
}

/** Four lanes of FNV-1a with different starts, each mixed at the end so that similar seeds share no bits. */
function stateOf(text: string): number[] {
  const lanes = [0x811c9dc5, 0x9e3779b9, 0x85ebca6b, 0xc2b2ae35].map((start) => {
    let hash = start;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    return scattered(hash) | 0;
  });
  // The generator would stay at zero for ever if all its state were zero.
  return lanes.some((lane) => lane !== 0) ? lanes : [1, 0, 0, 0];
}
