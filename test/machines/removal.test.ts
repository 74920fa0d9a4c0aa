// Area: the removal machine. That what an attempt left behind is destroyed before its resources go back, never the
// other way round, and that nothing is owed after the last step.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { SnapshotFrom } from 'xstate';
import { type RemovalEvent, type RemovalState, removal } from '../../machines/removal.ts';
import { nameOf, removalPaths } from '../support/machine-paths.ts';
import { type ModelHandlers, modelRun } from '../support/model.ts';
import { type Stepped, stepped } from '../support/stepped.ts';

const test = suite('removal');

type Removing = SnapshotFrom<typeof removal>;

const EFFECTS: Readonly<Record<RemovalState, readonly string[]>> = {
  destroying: ['destroy'],
  releasing: ['release'],
  removed: ['forget'],
};

function handlers(sut: Stepped<typeof removal>): ModelHandlers<Removing> {
  const done: string[] = [];
  const state = (expected: Removing) => {
    const { value, context, status } = sut.snapshot;
    assert.is(value, expected.value);
    assert.equal(context, expected.context);
    if (sut.before?.value !== value) assert.equal(sut.effects, EFFECTS[value]);
    assert.is(status, value === 'removed' ? 'done' : 'active');
    if (value !== 'destroying') assert.is(done[0], 'DESTROYED', 'nothing goes back before the host is clean');
    if (value === 'removed') assert.is(done.at(-1), 'RELEASED');
  };
  const event = ({ event: told }: { event: { type: string } }) => {
    if (sut.snapshot.can(told as RemovalEvent)) done.push(told.type);
    sut.take(told as RemovalEvent);
  };
  return {
    states: Object.fromEntries(Object.keys(EFFECTS).map((value) => [value, state])),
    events: Object.fromEntries(removal.events.map((type) => [type, event])),
  };
}

const run = modelRun<Removing>(removal);

for (const final of [false, true]) {
  const input = { instance: 'i1', attempt: 2, host: 'h1', final };
  for (const path of removalPaths(input)) {
    test(`removal - ${final ? 'of an instance' : 'of an attempt'}: ${nameOf(path)}`, () =>
      run.test(path, handlers(stepped(removal, input))));
  }
}

test('removal - the paths went through every state and event', () => run.assertCoverage());

test('removal - what is given back before it is destroyed is not taken for given back', () => {
  const sut = stepped(removal, { instance: 'i1', attempt: 1, host: 'h1', final: false });
  sut.take({ type: 'RELEASED' });
  assert.is(sut.snapshot, sut.before);
  assert.is(sut.snapshot.value, 'destroying');
});

test.run();
