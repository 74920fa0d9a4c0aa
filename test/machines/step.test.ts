// Area: stepping. That machines/step.ts, which steps machines by a scope of its own, does what xstate itself does on
// every path of every machine, and that what is stored of a snapshot is enough to go on from.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  type AnyEventObject,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createMachine,
  initialTransition,
  transition,
} from 'xstate';
import { computeService } from '../../machines/compute-service.ts';
import { flatOf } from '../../machines/flat.ts';
import { instanceBuild } from '../../machines/instance-build.ts';
import { ownership } from '../../machines/ownership.ts';
import { removal } from '../../machines/removal.ts';
import { MAX_CLAIMS_PER_SELECTION, selection } from '../../machines/selection.ts';
import { begin, can, type Effect, obligations, revive, step } from '../../machines/step.ts';
import {
  buildEvents,
  ownershipEvents,
  removalEvents,
  selectionAt,
  selectionEvents,
  serviceEvents,
} from '../../machines/testing.ts';
import { decode, encode } from '../../runtime/codec.ts';
import {
  buildPaths,
  eventsOf,
  ownershipPaths,
  removalPaths,
  selectionPaths,
  servicePaths,
} from '../support/machine-paths.ts';
import { assertCoverage, type RunnablePath } from '../support/model.ts';

const test = suite('stepping');

const types = (effects: readonly { type: string }[]): string[] => effects.map(({ type }) => type);

/** What of a snapshot is told apart. */
const told = ({ value, context, status }: AnyMachineSnapshot) => ({ value, context, status });

/** A machine with its paths; which machine it is does not matter to a check. */
interface Walked {
  readonly machine: AnyStateMachine;
  readonly input: unknown;
  readonly paths: readonly RunnablePath<AnyMachineSnapshot>[];
  /** What may come in a state, whether or not it means something there. */
  events(snapshot: AnyMachineSnapshot): readonly AnyEventObject[];
}

/** Every machine with its paths: to find those takes longer than any check. */
const EVERY_MACHINE: readonly Walked[] = [
  { machine: instanceBuild, input: { instance: 'i1' }, paths: buildPaths(), events: buildEvents as never },
  { machine: selection, input: { instance: 'i1' }, paths: selectionPaths(), events: selectionEvents as never },
  { machine: computeService, input: { host: 'h1' }, paths: servicePaths(), events: serviceEvents },
  { machine: ownership, input: { address: 'placement/0' }, paths: ownershipPaths(), events: ownershipEvents },
  ...[false, true].map((final): Walked => {
    const input = { instance: 'i1', attempt: 2, host: 'h1', final };
    return { machine: removal, input, paths: removalPaths(input), events: removalEvents };
  }),
];

/** Hands every machine to a check, so that none can be left out of one. */
function ofEveryMachine(check: (walked: Walked) => void): void {
  for (const walked of EVERY_MACHINE) check(walked);
}

type Visit = (
  before: AnyMachineSnapshot,
  event: AnyEventObject,
  after: AnyMachineSnapshot,
  effects: readonly Effect[],
) => void;

/** Calls `visit` for everything that happens on a path, and answers where it ends. */
function walk({ machine, input }: Walked, path: RunnablePath<AnyMachineSnapshot>, visit?: Visit): AnyMachineSnapshot {
  let { snapshot } = begin(machine, input);
  for (const event of eventsOf(path)) {
    const after = step(machine, snapshot, event);
    visit?.(snapshot, event, after.snapshot, after.effects);
    snapshot = after.snapshot;
  }
  return snapshot;
}

test('stepping - a machine begins as xstate begins it', () => {
  ofEveryMachine(({ machine, input }) => {
    const { snapshot, effects } = begin(machine, input);
    const [expected, actions] = initialTransition(machine, input as never) as [AnyMachineSnapshot, AnyEventObject[]];
    assert.equal(told(snapshot), told(expected));
    assert.equal(types(effects), types(actions));
  });
});

test('stepping - every step of every path of every machine is the step of xstate', () => {
  ofEveryMachine((walked) => {
    assertCoverage(walked.paths, walked.machine);
    for (const path of walked.paths) {
      const end = walk(walked, path, (before, event, after, effects) => {
        const [expected, actions] = transition(walked.machine, before, event);
        assert.equal(told(after), told(expected));
        assert.equal(types(effects), types(actions));
      });
      assert.equal(told(end), told(path.state as AnyMachineSnapshot), 'the path leads elsewhere');
    }
  });
});

test('stepping - an event that means nothing gives the same snapshot by reference and no effects', () => {
  let unheard = 0;
  ofEveryMachine((walked) => {
    for (const path of walked.paths) {
      const end = walk(walked, path);
      for (const event of [...walked.events(end), { type: 'NEVER_HEARD_OF' }]) {
        const { snapshot, effects } = step(walked.machine, end, event);
        assert.is(snapshot === end, !end.can(event));
        assert.is(can(walked.machine, end, event), end.can(event));
        if (snapshot !== end) continue;
        unheard += 1;
        assert.equal(effects, []);
      }
    }
  });
  assert.ok(unheard > 1_000, `${unheard} events meant nothing`);
});

test('stepping - every machine has a table to be stepped by', () => {
  ofEveryMachine(({ machine }) => assert.ok(flatOf(machine) !== null, machine.id));
});

test('stepping - a machine that the table does not cover is stepped by xstate', () => {
  const states = { on: { on: { FLIP: 'off' } }, off: { on: { FLIP: 'on' } } };
  const others = [
    createMachine({ context: () => ({}), initial: 'on', states: { on: { on: { '*': 'off' } }, off: {} } }),
    createMachine({ context: () => ({}), initial: 'on', states: { ...states, off: { exit: 'leave' } } }),
    createMachine({ context: () => ({}), initial: 'on', states: { ...states, off: { always: 'on' } } }),
    createMachine({ context: () => ({}), initial: 'on', on: { FLIP: '.off' }, states: { on: {}, off: {} } }),
    createMachine({
      context: () => ({}),
      initial: 'on',
      states: { on: { on: { FLIP: { guard: () => true, target: 'off' } } }, off: {} },
    }),
    createMachine({ context: () => ({}), type: 'parallel', states: { one: { initial: 'on', states }, two: {} } }),
  ];
  for (const machine of others) {
    assert.is(flatOf(machine), null);
    const { snapshot } = begin(machine);
    const after = step(machine, snapshot, { type: 'FLIP' });
    const [expected, actions] = transition(machine, snapshot, { type: 'FLIP' });
    assert.equal(told(after.snapshot), told(expected as AnyMachineSnapshot));
    assert.equal(types(after.effects), types(actions as AnyEventObject[]));
    assert.is(can(machine, snapshot, { type: 'FLIP' }), snapshot.can({ type: 'FLIP' }));
  }
});

test('stepping - the effects of a step do not leak into the next one', () => {
  const { snapshot } = begin(instanceBuild, { instance: 'i1' });
  const chosen = step(instanceBuild, snapshot, { type: 'SELECTED', selection: selectionAt('h1'), alternates: [] });
  const kept = types(chosen.effects);
  step(instanceBuild, chosen.snapshot, { type: 'ACCEPTED', attempt: 1 });
  assert.equal(types(chosen.effects), kept);
  assert.equal(kept, ['dispatch']);
});

test('stepping - obligations are the effects of entering the state', () => {
  ofEveryMachine((walked) => {
    const { snapshot: first, effects: firstEffects } = begin(walked.machine, walked.input);
    assert.equal(types(obligations(first)), types(firstEffects));
    for (const path of walked.paths) {
      walk(walked, path, (before, _event, after, effects) => {
        if (after.value !== before.value) assert.equal(types(obligations(after)), types(effects));
      });
    }
  });
});

test('stepping - a stored snapshot is revived as it was, in every state, through JSON and MessagePack', () => {
  const ways: ((value: object) => unknown)[] = [
    (value) => JSON.parse(JSON.stringify(value)),
    (value) => decode(encode(value)),
  ];
  ofEveryMachine((walked) => {
    for (const path of walked.paths) {
      const end = walk(walked, path);
      for (const through of ways) {
        const stored = through({ value: end.value, context: end.context }) as { value: string; context: never };
        const revived = revive(walked.machine, stored);
        assert.equal(told(revived), told(end));
        assert.equal(types(obligations(revived)), types(obligations(end)));
      }
    }
  });
});

test('stepping - a revived snapshot goes on as the one that was stored', () => {
  ofEveryMachine((walked) => {
    for (const path of walked.paths) {
      walk(walked, path, (before, event, after, effects) => {
        const revived = revive(walked.machine, { value: before.value as string, context: before.context });
        const again = step(walked.machine, revived, event);
        assert.equal(told(again.snapshot), told(after));
        assert.equal(types(again.effects), types(effects));
      });
    }
  });
});

test('stepping - a state that the machine does not have is refused by name', () => {
  const { context } = begin(instanceBuild, { instance: 'i1' }).snapshot;
  assert.throws(() => revive(instanceBuild, { value: 'gone', context }), /'gone'/);
});

test('stepping - a selection that is refused without end is stepped as xstate steps it', () => {
  let { snapshot } = begin(selection, { instance: 'i1' });
  for (let host = 1; host <= MAX_CLAIMS_PER_SELECTION; host += 1) {
    for (const event of [
      { type: 'RANKED' as const, candidate: selectionAt(`h${host}`) },
      { type: 'REFUSED' as const, reason: 'full' },
    ]) {
      const { snapshot: next, effects } = step(selection, snapshot, event);
      const [expected, actions] = transition(selection, snapshot, event);
      assert.equal(told(next), told(expected));
      assert.equal(types(effects), types(actions));
      snapshot = next;
    }
  }
  assert.is(snapshot.value, 'exhausted');
});

test.run();
