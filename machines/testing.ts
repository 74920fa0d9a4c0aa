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

export {
  buildEvents,
  ownershipEvents,
  removalEvents,
  selectionAt,
  selectionEvents,
  serviceEvents,
} from './testing-events.ts';

/** What a machine is started with, which may be left out where the machine needs none. */
type Started<M extends AnyStateMachine> =
  undefined extends InputFrom<M> ? [input?: InputFrom<M>] : [input: InputFrom<M>];

/**
 * The machine with its steps replaced by pure ones; give it to `createTestModel` of `@xstate/test` or to the
 * functions of `xstate/graph`. Actions are not executed.
 *
 * @param machine The machine to test, as shipped.
 * @param input What the machine is started with; left out only where it needs nothing.
 * @throws Whatever made a snapshot end in status `error`: a guard, an assigner or the context factory that threw.
 */
export function testModelOf<M extends AnyStateMachine>(machine: M, ...[input]: Started<M>): M {
  const steps = {
    transition: (snapshot: SnapshotFrom<M>, event: EventFrom<M>) => sound(transition(machine, snapshot, event)[0]),
    getInitialSnapshot: () => sound(initialTransition(machine, input as InputFrom<M>)[0]),
  };
  return Object.assign(Object.create(machine) as M, steps);
}

/**
 * What `createTestModel` is told beside the machine: the events, with their payloads, that may come in a state. Left to
 * itself it makes up an event of each type without any, on which guards fail.
 *
 * ```ts
 * const model = createTestModel(testModelOf(instanceBuild, { instance: 'i' }), offering(buildEvents));
 * for (const path of model.getShortestPaths()) await path.test({ states: {...}, events: {...} });
 * ```
 * @param events The events of a state: `buildEvents` and its like, or events of your own.
 */
export function offering<Snapshot, Event extends object>(
  events: (snapshot: Snapshot) => readonly Event[],
): { events(snapshot: Snapshot): Event[]; filter(next: unknown, event: object): boolean } {
  const offered = new WeakSet<object>();
  return {
    events(snapshot) {
      const list = [...events(snapshot)];
      for (const event of list) offered.add(event);
      return list;
    },
    // The library still makes up a bare event of each type that it is offered none of.
    filter: (_next, event) => offered.has(event),
  };
}

/** An error snapshot is an end like any other to a path finder, so it has to be thrown. */
function sound<S extends { status: string; error?: unknown }>(snapshot: S): S {
  if (snapshot.status === 'error') throw snapshot.error;
  return snapshot;
}
