// A message must cost the same however much there is of what it is not about. A world is made twice, as it is and with far
// more of one thing, and in both the steps of each message are counted.

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
  make(counts: Readonly<Record<Thing, number>>): World;
  /** What is said in the world, and all that comes of it; each time with another number. */
  readonly messages: Readonly<Record<string, (world: World, number: number) => void>>;
}

/** For each thing a check that no message takes more steps where there are far more of it. */
export function checksOfGrowth<Thing extends string, World>({ things, make, messages }: Growth<Thing, World>) {
  const names = Object.keys(things) as Thing[];
  const few = Object.fromEntries(names.map((name) => [name, things[name][0]])) as Record<Thing, number>;
  /** With as many digits at the end: a longer name takes more steps. */
  let number = 1_000;

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
  return names.map((thing) => ({
    thing,
    check(): void {
      usual ??= stepsIn(make(few));
      const [least, many] = things[thing];
      const grown: string[] = [];
      for (const [message, steps] of stepsIn(make({ ...few, [thing]: many }))) {
        const before = usual.get(message) as number;
        if (steps - before > MORE_EACH * (many - least)) grown.push(`${message}: ${steps} steps, not ${before}`);
      }
      assert.equal(grown, [], `with ${many} ${thing} instead of ${least}`);
    },
  }));
}
