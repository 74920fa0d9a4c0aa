// The steps of a flat machine, read once from the machine itself: which transitions an event may take in a state, under
// which guard, with which assignments and effects. Taking a step is then a look into a table, a tenth of what xstate
// needs to work it out anew from the chart. It covers what the machines here are made of (atomic and final states,
// guards by name, `assign`, effects by name); of a machine with anything else it says so, and xstate takes its steps.
// test/machines/step.test.ts holds both against each other on every path of every machine.

import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition, EventObject } from 'xstate';

type Context = Record<string, unknown>;
type Arguments = { context: Context; event: EventObject };
type Assigner = (given: Arguments) => Partial<Context>;

/** One way out of a state, or round in it. */
export interface Move {
  readonly guard: ((given: Arguments) => boolean) | null;
  readonly assigners: readonly Assigner[];
  /** The state that it leads to, or null when it stays and enters nothing. */
  readonly target: FlatState | null;
  readonly effects: readonly { readonly type: string }[];
  /** It means something: xstate has transitions that only forbid. */
  readonly counts: boolean;
}

export interface FlatState {
  readonly value: string;
  /** A snapshot of this state, but for its context. */
  readonly template: object;
  readonly entry: { readonly assigners: readonly Assigner[]; readonly effects: readonly { readonly type: string }[] };
  readonly moves: Map<string, readonly Move[]>;
}

export interface Flat {
  readonly states: ReadonlyMap<string, FlatState>;
  readonly initial: FlatState;
  firstContext(input: unknown): Context;
}

/** Thrown, and caught here, for what the table does not cover. */
class NotFlat extends Error {}

/** The table of a machine, or null when it has something that the table does not cover. */
export function flatOf(machine: AnyStateMachine): Flat | null {
  try {
    return compile(machine);
  } catch (error) {
    if (error instanceof NotFlat) return null;
    throw error;
  }
}

function insist(holds: boolean): asserts holds {
  if (!holds) throw new NotFlat();
}

function compile(machine: AnyStateMachine): Flat {
  const { root } = machine;
  insist(root.type === 'compound' && root.transitions.size === 0 && root.output === undefined);
  for (const node of [root, ...Object.values(root.states)]) {
    insist(node.invoke.length === 0 && node.exit.length === 0 && (node.always ?? []).length === 0);
  }
  insist(root.entry.length === 0 && root.initial.actions.length === 0);
  const states = new Map<string, FlatState>();
  for (const [value, node] of Object.entries(root.states)) {
    insist((node.type === 'atomic' || node.type === 'final') && node.output === undefined);
    const template = machine.resolveState({ value, context: {} });
    states.set(value, { value, template, entry: split(machine, node.entry), moves: new Map() });
  }
  for (const [value, node] of Object.entries(root.states)) {
    const state = states.get(value) as FlatState;
    for (const [type, transitions] of node.transitions) {
      insist(!type.includes('*') && !type.startsWith('xstate.'));
      state.moves.set(
        type,
        transitions.map((transition) => moveOf(machine, transition, states)),
      );
    }
  }
  const { context } = machine.config;
  insist(typeof context === 'function');
  const initial = states.get((root.initial.target[0] as AnyStateNode).key);
  insist(initial !== undefined && root.initial.target.length === 1 && initial.entry.assigners.length === 0);
  return { states, initial, firstContext: (input) => (context as (given: object) => Context)({ input }) };
}

function moveOf(
  machine: AnyStateMachine,
  { guard, actions, target: targets, source, reenter }: AnyTransitionDefinition,
  states: ReadonlyMap<string, FlatState>,
): Move {
  insist(targets === undefined || targets.length === 1);
  const own = split(machine, actions);
  const node = targets?.[0] as AnyStateNode | undefined;
  const target = node === undefined ? null : (states.get(node.key) ?? null);
  insist(node === undefined || (target !== null && node.parent === machine.root));
  const entered = node === source && !reenter ? null : target;
  return {
    guard: guardOf(machine, guard),
    assigners: [...own.assigners, ...(entered?.entry.assigners ?? [])],
    target: entered,
    effects: [...own.effects, ...(entered?.entry.effects ?? [])],
    counts: node !== undefined || actions.length > 0,
  };
}

function guardOf(machine: AnyStateMachine, guard: unknown): Move['guard'] {
  if (guard === undefined) return null;
  const known = typeof guard === 'string' ? machine.implementations.guards[guard] : undefined;
  insist(typeof known === 'function' && !('check' in known));
  return known as unknown as (given: Arguments) => boolean;
}

function split(machine: AnyStateMachine, actions: readonly unknown[]): FlatState['entry'] {
  const assigners: Assigner[] = [];
  const effects: { type: string }[] = [];
  for (const action of actions) {
    if (typeof action === 'function') {
      assigners.push(assignerOf(action));
      continue;
    }
    const type = typeof action === 'string' ? action : (action as { type?: unknown }).type;
    insist(typeof type === 'string' && !(typeof action === 'object' && action !== null && 'params' in action));
    const known = machine.implementations.actions[type];
    // What is done by name is the host's to do, and the function beside the name does nothing.
    insist(known === undefined || !('resolve' in known));
    effects.push({ type });
  }
  return { assigners, effects };
}

function assignerOf(action: object): Assigner {
  const { type, assignment } = action as { type?: unknown; assignment?: unknown };
  insist(type === 'xstate.assign');
  if (typeof assignment === 'function') return assignment as Assigner;
  insist(typeof assignment === 'object' && assignment !== null);
  const properties = Object.entries(assignment);
  return (given) => {
    const changed: Context = {};
    for (const [key, to] of properties) changed[key] = typeof to === 'function' ? to(given) : to;
    return changed;
  };
}
