// A machine as the system under test of its own specification: stepped by machines/step.ts as the actors step it,
// with the effects of each step at hand.

import type { AnyStateMachine, EventFrom, InputFrom, SnapshotFrom } from 'xstate';
import { begin, step } from '../../machines/step.ts';

export interface Stepped<M extends AnyStateMachine> {
  readonly snapshot: SnapshotFrom<M>;
  /** The snapshot before the last step, or null before the first. */
  readonly before: SnapshotFrom<M> | null;
  /** The effects of the last step, or of the beginning, by type. */
  readonly effects: readonly string[];
  take(event: EventFrom<M>): void;
}

export function stepped<M extends AnyStateMachine>(machine: M, input: InputFrom<M>): Stepped<M> {
  let { snapshot, effects } = begin(machine, input);
  let before: SnapshotFrom<M> | null = null;
  return {
    get snapshot() {
      return snapshot;
    },
    get before() {
      return before;
    },
    get effects() {
      return effects.map(({ type }) => type);
    },
    take(event) {
      before = snapshot;
      ({ snapshot, effects } = step(machine, snapshot, event));
    },
  };
}
