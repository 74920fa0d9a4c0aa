// Area: simulation. It can fail: without any one of the things that keep a deployment safe, it finds a broken
// invariant, by its name, within a few seeds.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { simulate } from './run.ts';
import { SAFEGUARDS } from './safeguards.ts';

const test = suite('simulation can fail');

/** The seeds within which what is missing must be found. */
const MOST_SEEDS = 300;

for (const { name, without, breaks } of SAFEGUARDS) {
  test(`simulation - it is found when this is missing: ${name}`, async () => {
    for (let seed = 1; seed <= MOST_SEEDS; seed += 1) {
      const { faults } = await simulate({ seed: String(seed), alteration: without });
      if (faults.length === 0) continue;
      assert.match(faults[0] as string, breaks, `seed ${seed}`);
      return;
    }
    assert.unreachable(`nothing was found in ${MOST_SEEDS} seeds`);
  });
}

test.run();
