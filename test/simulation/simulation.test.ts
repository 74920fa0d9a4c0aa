// Area: simulation. Whole deployments of production actors, each decided by a seed, to the byte; a run that fails is
// told in short. The suite's own seeds are run by seeds.test.ts.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { seedsFrom } from './pool.ts';
import { simulate } from './run.ts';
import { SAFEGUARDS } from './safeguards.ts';
import { invariantOf, shortened } from './shrinking.ts';

const test = suite('simulation');

const RANDOM_RUNS = 12;
/** Shorter runs that are tried for the story. */
const TRIES = 150;
/** Lines of a story that is worth shortening. */
const LONG = 500;

test('simulation - nothing is broken in runs of seeds that nobody has chosen', async () => {
  const seeds = seedsFrom(`${Date.now()}${process.pid}`, RANDOM_RUNS);
  console.log(`seeds ${seeds[0]} to ${seeds.at(-1)}`);
  for (const seed of seeds) {
    const { faults } = await simulate({ seed });
    assert.equal(faults, [], `seed ${seed}`);
  }
});

test('simulation - the same seed gives the same run, to the byte', async () => {
  for (const seed of ['1', '2', 'another']) {
    const [one, other] = [await simulate({ seed, story: true }), await simulate({ seed, story: true })];
    assert.equal(one.story, other.story);
    assert.ok(one.story.length > 100);
    assert.is((await simulate({ seed })).steps, one.steps, 'telling the story changes nothing');
  }
  const [first, second] = [await simulate({ seed: '1', story: true }), await simulate({ seed: '2', story: true })];
  assert.not.equal(first.story, second.story);
});

test('simulation - a run that fails is told in short, and fails of the same in short', async () => {
  const { without } = SAFEGUARDS.find(({ name }) => name === 'the memory of deleted consumers') ?? { without: {} };
  for (const seed of seedsFrom('1', 50)) {
    const options = { seed, alteration: without };
    const failing = await simulate({ ...options, story: true });
    // One that is short already shows little.
    if (failing.faults.length === 0 || failing.story.length < LONG) continue;
    const short = await shortened(failing, options, TRIES);
    assert.is(invariantOf(short), invariantOf(failing));
    assert.ok(short.story.length < failing.story.length / 2, `${short.story.length} of ${failing.story.length} lines`);
    assert.ok(short.plan.operations.length < failing.plan.operations.length);
    assert.ok(short.happened.length < failing.happened.length);
    assert.ok(short.story.some((line) => line.includes(short.faults[0] as string)));
    return;
  }
  assert.unreachable('no seed fails');
});

test.run();
