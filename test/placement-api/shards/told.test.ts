// Area: Placement API, several shards. A compute tells devices while callers make, move and delete providers under the same
// ids, in any order: what there is, is there once, and each device is its host's in the end when no caller has its id.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ProviderSummary } from '../../../actors/placement/api/reads.ts';
import { TimeoutError } from '../../../runtime/errors.ts';
import type { Authority } from '../../../runtime/placement-api/authority.ts';
import { type Random, seededRandom } from '../../../runtime/random.ts';
import { providerOf } from '../../support/placement-desk.ts';
import { hostOf, SHARDS } from '../../support/shards.ts';
import { worldOf } from './world.ts';

const test = suite('Placement API, several shards - told trees');
const RUNS = 12;
const STEPS = 12;
const DEVICES = ['gpu', 'nic'];
const everything = { memberOf: [], notMemberOf: [], required: [], forbidden: [], resources: {} };

async function act(front: Authority, random: Random): Promise<void> {
  const id = random.pick(DEVICES);
  const parent = random.pick([null, hostOf(0), hostOf(1), hostOf(2)]);
  const name = id;
  const question = random.pick([
    { type: 'provider-create', id, name, parent },
    { type: 'provider-update', id, name, parent, reparent: true },
    { type: 'provider-delete', id },
  ] as const);
  try {
    await front.ask(question);
  } catch (error) {
    // A shard has died.
    assert.instance(error, TimeoutError);
  }
}

async function idsIn(front: Authority): Promise<string[]> {
  const { ok } = (await front.ask({ type: 'providers-find', ...everything })) as { ok: ProviderSummary[] };
  return ok.map(({ id }) => id);
}

test('what a compute tells and callers make under the same ids is there once, whatever comes first and whoever dies', async () => {
  for (let run = 0; run < RUNS; run += 1) {
    const random = seededRandom(`told-${run}`);
    const world = worldOf(random, SHARDS);
    const { on } = world;
    const front = world.front();
    const deaths = run % 2 === 0 ? 0 : 0.01;
    let lives = 0;
    const tell = (devices: readonly string[]) => {
      const root = providerOf(hostOf(0));
      const providers = [root, ...devices.map((id) => providerOf(id, { parent: root.id }))];
      lives += 1;
      on.say(0, { type: 'put-tree', ask: 1, incarnation: `life-${lives}`, providers });
    };
    const working = async () => {
      for (let step = 0; step < STEPS; step += 1) {
        if (random.chance(0.5)) tell(random.chance(0.7) ? DEVICES : []);
        await act(front, random);
      }
    };
    await world.run(working(), deaths);
    await world.settle();
    const emptying = async () => {
      const ids = await idsIn(front);
      assert.is(new Set(ids).size, ids.length, `run ${run}: ${ids.join()}`);
      for (const id of DEVICES) await front.ask({ type: 'provider-delete', id });
      tell(DEVICES);
    };
    await world.run(emptying(), 0);
    await world.settle();
    for (const id of DEVICES) {
      const found = on.shards.flatMap(({ state }) => state.providers.get(id) ?? []);
      assert.equal(
        found.map(({ root }) => root),
        [hostOf(0)],
        `run ${run}: ${id}`,
      );
    }
    on.check();
  }
});

test.run();
