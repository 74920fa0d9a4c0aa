// Area: simulation. The second thousand of seeds of the suite, in a file of its own so that neither takes long.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { told } from './coverage.ts';
import { seedsFrom, simulateAll } from './pool.ts';

const test = suite('simulation, more seeds');

const FIRST = '1001';
const RUNS = 1_000;
const WORKERS = 2;

test(`simulation - in ${RUNS} runs from seed ${FIRST} on nothing is broken`, async () => {
  const { coverage, failures } = await simulateAll({ seeds: seedsFrom(FIRST, RUNS), workers: WORKERS });
  console.log(told(coverage)[0]);
  assert.equal(failures, []);
  assert.is(coverage.runs, RUNS);
});

test.run();
