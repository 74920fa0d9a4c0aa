// What goes wrong in a run, and what does not. Every question is answered by the seed and the question's own key alone,
// so that one fault less leaves all others as they were: that is what lets a failing run be shortened.

import { fnv1a } from '../../actors/routing.ts';

export interface Chance {
  /** In [0, 1), by the seed and the key. */
  of(key: string): number;
  /** Whether a fault of this kind happens to what the key names; it is counted when it does. */
  happens(kind: string, key: string, probability: number): boolean;
  /** Whether the run has come to the time when nothing goes wrong any more. */
  readonly healed: boolean;
  heal(): void;
  /** How many faults of each kind there were. */
  readonly counts: ReadonlyMap<string, number>;
  /** Every fault that there was, `kind key`, in order. */
  readonly faults: readonly string[];
}

/** @param spared Faults that shall not happen, `kind key`, or all of a kind, `kind *`. */
export function chanceOf(seed: string, spared: ReadonlySet<string> = new Set()): Chance {
  const counts = new Map<string, number>();
  const faults: string[] = [];
  let healed = false;
  const base = fnv1a(seed);
  const draw = (key: string) => mixed(fnv1a(key) ^ base) / 2 ** 32;
  return {
    of: draw,
    happens(kind, key, probability) {
      if (healed || probability <= 0 || draw(`${kind} ${key}`) >= probability) return false;
      const fault = `${kind} ${key}`;
      if (spared.size > 0 && (spared.has(fault) || spared.has(`${kind} *`))) return false;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      faults.push(fault);
      return true;
    },
    get healed() {
      return healed;
    },
    heal() {
      healed = true;
    },
    counts,
    faults,
  };
}

/** The finalizer of MurmurHash3: every bit of the input changes about half of the output. */
function mixed(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return (twice ^ (twice >>> 16)) >>> 0;
}
