// The one place that steps a machine. A step is pure: it answers the next snapshot and, as data, the effects that
// its host must carry out. Nothing is executed here, and no actor of xstate is ever started.
//
// The machines here are flat, and their steps are taken from a table that is read from the machine (flat.ts). Of any
// other machine xstate takes the step: by the machine's own `transition(snapshot, event, scope)` with one inert scope,
// made once, since `xstate.transition()` builds a throw-away actor and computes the initial state anew at every call.
// Both ways rest on what is internal to xstate: test/machines/step.test.ts holds them against it on every path of every
// machine.

import type { AnyActorScope, AnyStateMachine, AnyStateNode, ContextFrom, EventFrom, SnapshotFrom } from 'xstate';
import { type Flat, type FlatState, flatOf, type Move } from './flat.ts';

/** What a machine wants done, by the name that its file documents. */
export interface Effect {
  readonly type: string;
}

/** What an event made of a machine. */
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

const flats = new WeakMap<AnyStateMachine, Flat | null>();

/** The table of a machine, or null when xstate has to take its steps. */
function tableOf(machine: AnyStateMachine): Flat | null {
  let flat = flats.get(machine);
  if (flat === undefined) {
    flat = flatOf(machine);
    flats.set(machine, flat);
  }
  return flat;
}

/** What the table needs to see of a snapshot. */
interface Seen {
  readonly value: string;
  readonly context: Record<string, unknown>;
}

function snapshotIn<M extends AnyStateMachine>({ template }: FlatState, context: unknown): SnapshotFrom<M> {
  return { ...template, context } as unknown as SnapshotFrom<M>;
}

/** The move that an event makes in a state: undefined when it means nothing there. */
function moveFor({ states }: Flat, { value, context }: Seen, event: { type: string }): Move | undefined {
  const moves = states.get(value)?.moves.get(event.type);
  if (moves === undefined) return undefined;
  for (const move of moves) if (move.guard === null || move.guard({ context, event })) return move;
  return undefined;
}

/** The first snapshot of a machine and the effects of entering its initial state. */
export function begin<M extends AnyStateMachine>(machine: M, input?: unknown): Step<M> {
  const flat = tableOf(machine);
  if (flat !== null) {
    return { snapshot: snapshotIn(flat.initial, flat.firstContext(input)), effects: flat.initial.entry.effects };
  }
  collected = undefined;
  const snapshot = machine.getInitialSnapshot(inertScope, input as never) as SnapshotFrom<M>;
  return { snapshot, effects: collected ?? NO_EFFECTS };
}

/**
 * Steps a machine. An event that means nothing in the present state answers the very same snapshot, by reference,
 * and no effects.
 */
export function step<M extends AnyStateMachine>(machine: M, snapshot: SnapshotFrom<M>, event: EventFrom<M>): Step<M> {
  const flat = tableOf(machine);
  if (flat !== null && !isOfXstate(event)) return flatStep(flat, snapshot, event);
  collected = undefined;
  const next = machine.transition(snapshot, event, inertScope) as SnapshotFrom<M>;
  return { snapshot: next, effects: collected ?? NO_EFFECTS };
}

function flatStep<M extends AnyStateMachine>(flat: Flat, snapshot: SnapshotFrom<M>, event: { type: string }): Step<M> {
  const seen = snapshot as unknown as Seen;
  const move = moveFor(flat, seen, event);
  if (move === undefined) return { snapshot, effects: NO_EFFECTS };
  let { context } = seen;
  for (const assign of move.assigners) context = { ...context, ...assign({ context, event }) };
  const { target, effects } = move;
  if ((target === null || target.value === seen.value) && context === seen.context) return { snapshot, effects };
  return { snapshot: snapshotIn<M>(target ?? (flat.states.get(seen.value) as FlatState), context), effects };
}

/** Events of xstate's own, such as that an actor has failed, have rules of their own. */
function isOfXstate({ type }: { type: string }): boolean {
  return type.startsWith('xstate.');
}

/** Whether an event means something in the present state: whether `step` would do anything. */
export function can<M extends AnyStateMachine>(machine: M, snapshot: SnapshotFrom<M>, event: EventFrom<M>): boolean {
  const flat = tableOf(machine);
  if (flat !== null && !isOfXstate(event)) return moveFor(flat, snapshot as unknown as Seen, event)?.counts ?? false;
  return (snapshot as unknown as { can(event: EventFrom<M>): boolean }).can(event);
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
  const state = tableOf(machine)?.states.get(stored.value);
  if (state !== undefined) return snapshotIn(state, stored.context);
  return machine.resolveState(stored) as SnapshotFrom<M>;
}
