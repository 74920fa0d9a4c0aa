// Area: model-based testing. That the adapter makes every path of a machine with actions, guards and input walkable,
// and that the coverage guards fail where @xstate/test would pass in silence.

import { createTestModel } from '@xstate/test';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assign, createActor, type SnapshotFrom, setup } from 'xstate';
import { testModelOf } from '../../machines/testing.ts';
import { assertCoverage, coverageOf, type ModelHandlers, modelRun } from '../support/model.ts';

const test = suite('model-based testing');

/** A door that opens only with enough coins: an entry action, a guard on input, a nested state, an assigner. */
const door = setup({
  types: {} as {
    context: { price: number; paid: number };
    input: { price: number };
    events: { type: 'COIN' } | { type: 'PUSH' } | { type: 'LOCK' };
  },
  actions: { report: () => {} },
  guards: { enough: ({ context }) => context.paid >= context.price },
}).createMachine({
  id: 'door',
  context: ({ input }) => ({ price: input.price, paid: 0 }),
  initial: 'closed',
  entry: 'report',
  states: {
    closed: {
      on: {
        COIN: {
          guard: ({ context }) => context.paid < context.price,
          actions: ['report', assign({ paid: ({ context }) => context.paid + 1 })],
        },
        PUSH: { target: 'open', guard: 'enough', actions: 'report' },
      },
    },
    open: { initial: 'ajar', states: { ajar: { on: { PUSH: 'wide' } }, wide: {} }, on: { LOCK: 'locked' } },
    locked: { type: 'final' },
  },
});

type Door = SnapshotFrom<typeof door>;

const pathsOf = (price: number) => createTestModel(testModelOf(door, { price })).getSimplePaths();

/** A system under test that follows the machine by hand. */
function handlersFor(sut: { at: string }): ModelHandlers<Door> {
  const at = (name: string) => () => assert.is(sut.at, name);
  return {
    states: { closed: at('closed'), open: at('open'), locked: at('locked') },
    events: {
      COIN: () => {},
      PUSH: () => {
        sut.at = 'open';
      },
      LOCK: () => {
        sut.at = 'locked';
      },
    },
  };
}

async function messageOfFailure(run: () => unknown): Promise<string> {
  try {
    await run();
  } catch (error) {
    return (error as Error).message;
  }
  return 'it passed';
}

test('paths of a machine with actions, guards and input reach every state', () => {
  const paths = pathsOf(2);
  assert.ok(paths.length > 1);
  assertCoverage(paths, door);
  assert.ok(paths.every((path) => path.state.status !== 'error'));
});

test('the adapted machine steps as xstate does', () => {
  for (const path of pathsOf(1)) {
    const actor = createActor(door, { input: { price: 1 } }).start();
    for (const { event } of path.steps.slice(1)) actor.send(event);
    const { value, context } = actor.getSnapshot();
    assert.equal({ value, context }, { value: path.state.value, context: path.state.context });
  }
});

test('an error in the initial state is thrown, not turned into a path', async () => {
  // @ts-expect-error a machine that needs input is not to be started without
  const failure = await messageOfFailure(() => createTestModel(testModelOf(door)).getShortestPaths());
  assert.match(failure, /Cannot read properties of undefined/);
  const free = setup({}).createMachine({ initial: 'only', states: { only: {} } });
  assert.is(createTestModel(testModelOf(free)).getShortestPaths().length, 1, 'one that needs none is');
});

test('a run of all paths covers the machine', async () => {
  const run = modelRun<Door>(door);
  for (const path of pathsOf(1)) await run.test(path, handlersFor({ at: 'closed' }));
  run.assertCoverage();
});

test('coverage counts only paths that were run and passed', async () => {
  const run = modelRun<Door>(door);
  assert.match(await messageOfFailure(run.assertCoverage), /state 'door.closed' is never entered/);
  const [path] = pathsOf(1);
  assert.ok(path);
  await messageOfFailure(() => run.test(path, handlersFor({ at: 'somewhere else' })));
  assert.match(await messageOfFailure(run.assertCoverage), /event 'COIN' is never taken/);
});

test('a state no path reaches and an event no path takes are named', () => {
  const onlyStart = pathsOf(1).slice(0, 0);
  const coverage = coverageOf(onlyStart, door);
  assert.equal(coverage.missingEvents.toSorted(), ['COIN', 'LOCK', 'PUSH']);
  assert.ok(coverage.missingStates.includes('door.open.wide'));
});

test('a snapshot in status error is a failure', async () => {
  const [path] = pathsOf(1);
  assert.ok(path);
  const broken = { ...path, state: Object.assign(Object.create(path.state) as Door, { status: 'error' }) };
  assert.match(await messageOfFailure(() => assertCoverage([broken], door)), /status error at/);
});

test('a state without a handler fails the path', async () => {
  const run = modelRun<Door>(door);
  const { states, events } = handlersFor({ at: 'closed' });
  const { locked: _, ...others } = states;
  const path = pathsOf(1).find((candidate) => candidate.state.matches('locked'));
  assert.ok(path);
  assert.match(
    await messageOfFailure(() => run.test(path, { states: others, events })),
    /no state handler matches "locked"/,
  );
});

test('an event without an executor fails the path', async () => {
  const run = modelRun<Door>(door);
  const { states, events } = handlersFor({ at: 'closed' });
  const { PUSH: _, ...others } = events;
  const [path] = pathsOf(1);
  assert.ok(path);
  assert.match(
    await messageOfFailure(() => run.test(path, { states, events: others })),
    /no event executor for 'PUSH'/,
  );
});

test.run();
