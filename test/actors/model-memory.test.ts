// Area: models against the actors. Every step of the build machine made to happen in a deployment in memory, with what
// must always hold checked after every record; and the machines of services, removals and selections likewise.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { instanceBuild } from '../../machines/instance-build.ts';
import { type Build, buildModel, everyStepOfBuilds, MODEL_FLEET } from '../support/build-model.ts';
import { nameOf } from '../support/machine-paths.ts';
import { modelRun } from '../support/model.ts';
import { memoryStage, USUAL_PACES } from '../support/stages.ts';
import { type Fleet, startWorld, type World } from '../support/world.ts';

const test = suite('models in memory');

async function inWorld(fleet: Fleet, run: (world: World) => Promise<void>): Promise<void> {
  const world = await startWorld(memoryStage(), fleet, USUAL_PACES);
  try {
    await run(world);
    assert.equal(world.faults, []);
  } finally {
    await world.stop();
  }
}

// --- builds

const builds = modelRun<Build>(instanceBuild);

for (const path of everyStepOfBuilds()) {
  test(`models in memory - a build: ${nameOf(path)}`, () =>
    inWorld(MODEL_FLEET, async (world) => {
      const model = buildModel(world, path);
      await model.begin();
      await builds.test(path, model.handlers);
      await model.finish();
    }));
}

test('models in memory - the builds went through every state and event', () => builds.assertCoverage());

test.run();
