// Area: models over NATS. Every event of the build machine in every state, made to happen in a deployment on a real
// server in real time: deadlines are short, and nothing is waited for but conditions.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { instanceBuild } from '../../machines/instance-build.ts';
import { type Build, buildModel, everyEventOfBuilds, FOUND_BY_CELL, MODEL_FLEET } from '../support/build-model.ts';
import { nameOf } from '../support/machine-paths.ts';
import { modelRun, type RunnablePath } from '../support/model.ts';
import { startTestServer, type TestServer } from '../support/nats-server.ts';
import { natsStage, shortPaces } from '../support/stages.ts';
import { startWorld } from '../support/world.ts';

const test = suite('models over NATS');

const builds = modelRun<Build>(instanceBuild);
const paths = everyEventOfBuilds();
let starting: Promise<TestServer> | undefined;

/** One server for all paths: each has a deployment of its own on it, told apart by its prefix. */
function server(): Promise<TestServer> {
  starting ??= startTestServer({ jetstream: false });
  return starting;
}

/** Which limit of time a path needs to run out. */
function runsOut(path: RunnablePath<Build>): Parameters<typeof shortPaces>[0] {
  const last = path.steps.findIndex(({ event }) => event.type === 'TIMED_OUT');
  const before = path.steps[last - 1]?.state as Build | undefined;
  if (before !== undefined) return before.value as 'requested' | 'claimed' | 'building';
  return path.steps.some(({ event }) => event.type === 'HOST_LOST') ? 'silent' : null;
}

for (const [position, path] of paths.entries()) {
  test(`models over NATS - a build: ${nameOf(path)}`, async () => {
    const stage = natsStage((await server()).url, `path-${position}`);
    try {
      const world = await startWorld(stage, MODEL_FLEET, shortPaces(runsOut(path)));
      try {
        const model = buildModel(world, path);
        await model.begin();
        await builds.test(path, model.handlers);
        await model.finish();
        assert.equal(world.faults, []);
      } finally {
        await world.stop();
      }
    } finally {
      await stage.close();
    }
  });
}

test('models over NATS - the builds went through every state and event', () => builds.assertCoverage([FOUND_BY_CELL]));

test.after(async () => (await starting)?.stop());

test.run();
