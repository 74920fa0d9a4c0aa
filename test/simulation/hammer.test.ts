// Area: simulation. Four schedulers at once, over the same few hosts, with groups of every rule, requests for several with
// alternates, builds that fail, and deletions: after every step no rule is broken, nothing is given twice, and in the end
// nothing is left behind.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { PlacementState } from '../../actors/placement/state.ts';
import { receiving } from './alterations.ts';
import { hammered } from './hammer.ts';
import { simulate } from './run.ts';

const test = suite('simulation of groups, hammered');

/** Seeds for each number of placement shards; CI runs more. */
const RUNS = Number(process.env.HAMMER_SEEDS ?? 20);
/** It goes on with more, up to so many in all, while something was not met: a few refusals are rare. */
const MOST_RUNS = Math.max(RUNS, 300);
/** What is missing must be found within so many seeds, from the first one on: near one of the few that show it. */
const FIRST_SEED = 232;
const MOST_SEEDS = 1_000;
/** What must have happened, for the runs to mean something. */
const MET = [
  ...['group-affinity', 'group-anti-affinity', 'exceeds-capacity', 'consumer-deleted'].map((code) => `refused ${code}`),
  'message placement unclaim',
  'message conductor parked',
  'state build rescheduling',
];
const MET_IN_SHARDS = [
  'message placement group-stays',
  'message placement group-left',
  'message placement group-elsewhere',
];

for (const placementShards of [1, 4]) {
  test(`simulation - four schedulers break no group, with ${placementShards} placement shards`, async () => {
    const missing = new Set(placementShards === 1 ? MET : [...MET, ...MET_IN_SHARDS]);
    for (let seed = 1; seed <= RUNS || (missing.size > 0 && seed <= MOST_RUNS); seed += 1) {
      const { faults, tally } = await simulate({ seed: `${seed}`, placementShards, planned: hammered });
      assert.equal(faults, [], `seed ${seed}, ${placementShards} shards`);
      for (const what of tally.keys()) missing.delete(what);
    }
    assert.equal([...missing], []);
  });
}

/** A shard that has left a group goes by what it was told before all the same. */
const leavingInWordsOnly = receiving('placement', (receive) => (state, message, from, turn) => {
  const { own, asking } = (state as PlacementState).groupHomes;
  const [wasOwn, tokens] = [[...own], [...asking].map(([group, { token }]) => [group, token] as const)];
  receive(state, message, from, turn);
  if (message.type !== 'group-leave') return;
  for (const group of wasOwn) own.add(group);
  for (const [group, token] of tokens) {
    const standing = asking.get(group);
    if (standing !== undefined) standing.token = token;
  }
});

test('simulation - it is found when this is missing: what a shard was told of a group is void once it has left it', async () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + MOST_SEEDS; seed += 1) {
    const alteration = leavingInWordsOnly;
    const { faults } = await simulate({ seed: `${seed}`, placementShards: 4, planned: hammered, alteration });
    if (faults.length === 0) continue;
    assert.match(faults[0] as string, /^groups:/, `seed ${seed}`);
    return;
  }
  assert.unreachable(`nothing was found in ${MOST_SEEDS} seeds`);
});

test.run();
