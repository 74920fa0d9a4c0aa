// Suites over what keeps a deployment safe: without any one of these things the simulation finds a broken invariant, by its
// name, within a few seeds.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Safeguard } from './alterations.ts';
import { simulate } from './run.ts';

/** The seeds within which what is missing must be found. */
const MOST_SEEDS = 300;

/** Declares and runs the suite of these safeguards. */
export function canFail(name: string, safeguards: readonly Safeguard[]): void {
  const test = suite(name);
  for (const { name: what, without, breaks, placementShards, fromSeed = 1 } of safeguards) {
    test(`simulation - it is found when this is missing: ${what}`, async () => {
      for (let seed = fromSeed; seed < fromSeed + MOST_SEEDS; seed += 1) {
        const { faults } = await simulate({
          seed: String(seed),
          alteration: without,
          ...(placementShards === undefined ? {} : { placementShards }),
        });
        if (faults.length === 0) continue;
        assert.match(faults[0] as string, breaks, `seed ${seed}`);
        return;
      }
      assert.unreachable(`nothing was found in ${MOST_SEEDS} seeds`);
    });
  }
  test.run();
}
