// Suites over the seeds of the repository's own runs: several files share them, so that none takes long.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { told, uncovered } from './coverage.ts';
import { seedsFrom, simulateAll } from './pool.ts';

/** Seeds in one file. */
const RUNS = 500;
const WORKERS = 2;

/** Declares and runs the suite of the seeds from `first` on. */
export function holdsFrom(first: number): void {
  const last = first + RUNS - 1;
  const test = suite(`simulation, seeds ${first} to ${last}`);
  test('simulation - nothing is broken, everything ends, and every state, message and fault is met', async () => {
    const { coverage, failures } = await simulateAll({ seeds: seedsFrom(String(first), RUNS), workers: WORKERS });
    console.log(told(coverage).join('\n'));
    assert.equal(failures, []);
    assert.is(coverage.runs, RUNS);
    assert.equal(uncovered(coverage), []);
  });
  test.run();
}
