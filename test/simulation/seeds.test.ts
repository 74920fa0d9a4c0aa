// Area: simulation. The seeds that the suite runs; CI runs more.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addTo, noCoverage, told, uncovered } from './coverage.ts';
import { seedsFrom, simulateAll } from './pool.ts';

/** From here on all was met without more when it was looked at last, which keeps the suite short. */
const FIRST = 700;
const RUNS = 80;
/** So many more at a time, up to as many as this in all, while something was not met: a few messages are rare. */
const MORE = 60;
const MOST = 600;
const WORKERS = 2;

const test = suite('simulation, seeds');

test('simulation - nothing is broken, everything ends, and every state, message and fault is met', async () => {
  const coverage = noCoverage();
  for (let more = RUNS; more > 0; more = uncovered(coverage).length > 0 && coverage.runs < MOST ? MORE : 0) {
    const campaign = await simulateAll({ seeds: seedsFrom(`${FIRST + coverage.runs}`, more), workers: WORKERS });
    assert.equal(campaign.failures, []);
    assert.is(campaign.coverage.runs, more);
    addTo(coverage, { ...campaign.coverage, endedAfterMs: campaign.coverage.slowestEndMs });
  }
  console.log(told(coverage).join('\n'));
  assert.equal(uncovered(coverage), []);
});

test.run();
