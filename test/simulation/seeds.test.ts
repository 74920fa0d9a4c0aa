// Area: simulation. The seeds that the suite runs; CI runs more.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { told, uncovered } from './coverage.ts';
import { seedsFrom, simulateAll } from './pool.ts';

const RUNS = 180;
const WORKERS = 2;

const test = suite('simulation, seeds');

test('simulation - nothing is broken, everything ends, and every state, message and fault is met', async () => {
  const { coverage, failures } = await simulateAll({ seeds: seedsFrom('201', RUNS), workers: WORKERS });
  console.log(told(coverage).join('\n'));
  assert.equal(failures, []);
  assert.is(coverage.runs, RUNS);
  assert.equal(uncovered(coverage), []);
});

test.run();
