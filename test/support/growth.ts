// A message must cost the same however much there is of what it is not about. A world is made twice, as it is and with far
// more of one thing, and in both the steps of each message are counted.

import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { stepsOf } from './steps.ts';

/** So often a message is said before it is counted: what the first one finds out serves those that follow. */
const WARM_UPS = 3;
const COUNTED = 3;
/** Steps more, for each one more of the thing, that a message may take: what looks at each of them takes one or more. */
const MORE_EACH = 0.75;

export interface Growth<Thing extends string, World> {
  /** How many there are of each thing, and how many where there are far more of it. */
  readonly things: Readonly<Record<Thing, readonly [few: number, many: number]>>;
  make(amounts: Amounts<Thing>): World;
  /** What is said in the world, and all that comes of it; each time with another number. */
  readonly messages: Readonly<Record<string, (world: World, number: number) => void>>;
}

/** How much of each thing a world is to have. */
export interface Amounts<Thing extends string> {
  readonly counts: Readonly<Record<Thing, number>>;
  /** A name, `<name>-<n>`, for each one of a thing. */
  named(thing: Thing, name: string): string[];
  /** Does something for each one of a thing. */
  each(thing: Thing, name: string, work: (name: string, n: number) => void): void;
}

/** For each thing a test that no message takes more steps where there are far more of it. */
export function testGrowth<Thing extends string, World>(test: Test, area: string, growth: Growth<Thing, World>): void {
  const { things, messages } = growth;
  const names = Object.keys(things) as Thing[];
  const few = Object.fromEntries(names.map((name) => [name, things[name][0]])) as Record<Thing, number>;
  /** With as many digits at the end: a longer name takes more steps. */
  let number = 1_000;

  function make(counts: Readonly<Record<Thing, number>>): World {
    const named = (thing: Thing, name: string) => Array.from({ length: counts[thing] }, (_, n) => `${name}-${n}`);
    return growth.make({
      counts,
      named,
      each(thing, name, work) {
        for (const [n, one] of named(thing, name).entries()) work(one, n);
      },
    });
  }

  function stepsIn(world: World): ReadonlyMap<string, number> {
    const steps = new Map<string, number>();
    for (const [message, say] of Object.entries(messages)) {
      const repeat = (times: number) => {
        for (const end = number + times; number < end; number += 1) say(world, number);
      };
      repeat(WARM_UPS);
      steps.set(message, Math.round(stepsOf(() => repeat(COUNTED)) / COUNTED));
    }
    return steps;
  }

  let usual: ReadonlyMap<string, number> | undefined;
  for (const thing of names) {
    test(`growth, ${area} - of ${thing}`, () => {
      usual ??= stepsIn(make(few));
      const [least, many] = things[thing];
      const grown: string[] = [];
      for (const [message, steps] of stepsIn(make({ ...few, [thing]: many }))) {
        const before = usual.get(message) as number;
        if (steps - before > MORE_EACH * (many - least)) grown.push(`${message}: ${steps} steps, not ${before}`);
      }
      assert.equal(grown, [], `with ${many} ${thing} instead of ${least}`);
    });
  }
}
