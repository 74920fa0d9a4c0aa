// Area: simulation. Four schedulers at once, over the same few hosts, with groups of every rule, requests for several with
// alternates, builds that fail, and deletions: after every step no rule is broken, nothing is given twice, and in the end
// nothing is left behind.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hammered } from './hammer.ts';
import { simulate } from './run.ts';

const test = suite('simulation of groups, hammered');

/** Seeds for each number of placement shards. */
const RUNS = 60;
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
    const met = new Set<string>();
    for (let seed = 1; seed <= RUNS; seed += 1) {
      const { faults, tally } = await simulate({ seed: `${seed}`, placementShards, planned: hammered });
      assert.equal(faults, [], `seed ${seed}, ${placementShards} shards`);
      for (const what of tally.keys()) met.add(what);
    }
    const wanted = placementShards === 1 ? MET : [...MET, ...MET_IN_SHARDS];
    assert.equal(
      wanted.filter((what) => !met.has(what)),
      [],
    );
  });
}

test.run();
