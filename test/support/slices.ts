// A snapshot that is taken in slices while the state goes on changing, beside the state as it was when it was begun.

import * as assert from 'uvu/assert';
import type { Actor } from '../../actors/actor.ts';
import { journaled, stored } from './turn.ts';

type Stores<State> = Pick<Actor<State, never, never>, 'snapshot' | 'restore'>;

/** Begins one; each call of what is answered takes a slice of so many rows, and says whether it was the last. */
export function beginSlices<State>(actor: Stores<State>, state: State): (rows: number) => boolean {
  const expected = inOrder(stored(actor, state));
  const snapshot = actor.snapshot(state);
  const parts: unknown[] = [];
  return (rows) => {
    parts.push(journaled(snapshot.next(rows)));
    if (!snapshot.isOver) return false;
    assert.equal(inOrder(stored(actor, actor.restore(parts))), expected, 'it is of the moment at which it was begun');
    return true;
  };
}

/** What has changed meanwhile comes before its turn. */
function inOrder(whole: unknown): object {
  const tables = Object.entries(whole as Record<string, unknown>);
  const sorted = (rows: unknown[]) =>
    [...rows].sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
  return Object.fromEntries(tables.map(([name, rows]) => [name, Array.isArray(rows) ? sorted(rows) : rows]));
}
