// What a model-based testing library needs to walk a machine as a pure model.
// @xstate/test 1.0.0-beta.5 was made for xstate 5.5: on 5.33 its own scope breaks custom actions, or worse, yields
// one path in status 'error' that passes. Here xstate itself takes every step.

import {
  type AnyStateMachine,
  type EventFrom,
  type InputFrom,
  initialTransition,
  type SnapshotFrom,
  transition,
} from 'xstate';

/**
 * The machine with its steps replaced by pure ones; give it to `createTestModel` of `@xstate/test` or to the
 * functions of `xstate/graph`. Actions are not executed.
 *
 * @param machine The machine to test, as shipped.
 * @param input What the machine is started with. Default: none.
 * @throws Whatever made a snapshot end in status `error`: a guard, an assigner or the context factory that threw.
 */
export function testModelOf<M extends AnyStateMachine>(machine: M, input?: InputFrom<M>): M {
  const steps = {
    transition: (snapshot: SnapshotFrom<M>, event: EventFrom<M>) => sound(transition(machine, snapshot, event)[0]),
    getInitialSnapshot: () => sound(initialTransition(machine, input as InputFrom<M>)[0]),
  };
  return Object.assign(Object.create(machine) as M, steps);
}

/** An error snapshot is an end like any other to a path finder, so it has to be thrown. */
function sound<S extends { status: string; error?: unknown }>(snapshot: S): S {
  if (snapshot.status === 'error') throw snapshot.error;
  return snapshot;
}
