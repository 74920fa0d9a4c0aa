// The one place that steps a machine. A step is pure: it answers the next snapshot and, as data, the effects that
// its host must carry out. Nothing is executed here, and no actor of xstate is ever started.
//
// `xstate.transition()` builds a throw-away actor and computes the initial state anew at every call. The machine's
// own `transition(snapshot, event, scope)` with one inert scope, made once, gives the same result for a fifth of the
// time. The scope's shape is internal to xstate: test/machines/step.test.ts holds both against each other on every
// path of every machine.

import type { AnyActorScope, AnyStateMachine, AnyStateNode, ContextFrom, EventFrom, SnapshotFrom } from 'xstate';

/** What a machine wants done, by the name that its file documents. */
export interface Effect {
  readonly type: string;
}

export interface Step<M extends AnyStateMachine> {
  readonly snapshot: SnapshotFrom<M>;
  readonly effects: readonly Effect[];
}

const NO_EFFECTS: readonly Effect[] = [];
let collected: Effect[] | undefined;

function collect(action: { type: string }): void {
  collected ??= [];
  collected.push({ type: action.type });
}

const inertScope = {
  id: '',
  sessionId: '',
  self: {},
  logger() {},
  defer() {},
  emit() {},
  stopChild() {},
  system: { _sendInspectionEvent() {}, scheduler: { schedule() {}, cancel() {} } },
  actionExecutor: collect,
} as unknown as AnyActorScope;

/** The first snapshot of a machine and the effects of entering its initial state. */
export function begin<M extends AnyStateMachine>(machine: M, input?: unknown): Step<M> {
  collected = undefined;
  const snapshot = machine.getInitialSnapshot(inertScope, input as never) as SnapshotFrom<M>;
  return { snapshot, effects: collected ?? NO_EFFECTS };
}

/**
 * Steps a machine. An event that means nothing in the present state answers the very same snapshot, by reference,
 * and no effects.
 */
export function step<M extends AnyStateMachine>(machine: M, snapshot: SnapshotFrom<M>, event: EventFrom<M>): Step<M> {
  collected = undefined;
  const next = machine.transition(snapshot, event, inertScope) as SnapshotFrom<M>;
  return { snapshot: next, effects: collected ?? NO_EFFECTS };
}

/** What is owed in the state that a machine is in: the entry effects of its active states, to be done again. */
export function obligations<M extends AnyStateMachine>(snapshot: SnapshotFrom<M>): readonly Effect[] {
  const nodes = (snapshot as unknown as { _nodes: readonly AnyStateNode[] })._nodes;
  return nodes.flatMap(entryEffects);
}

/** The effects of entering one state. */
export function entryEffects({ entry }: Pick<AnyStateNode, 'entry'>): readonly Effect[] {
  return entry.flatMap(nameOf);
}

function nameOf(action: unknown): Effect[] {
  if (typeof action === 'string') return [{ type: action }];
  const { type } = action as { type?: unknown };
  return typeof type === 'string' && !type.startsWith('xstate.') ? [{ type }] : [];
}

/**
 * A snapshot from its stored value and context.
 * @throws Error when the machine has no such state.
 */
export function revive<M extends AnyStateMachine>(
  machine: M,
  stored: { value: string; context: ContextFrom<M> },
): SnapshotFrom<M> {
  return machine.resolveState(stored) as SnapshotFrom<M>;
}
