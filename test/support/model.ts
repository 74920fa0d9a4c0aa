// Guards for tests generated from a machine: @xstate/test passes when no handler matches and when a state is never
// reached, so what the paths exercised is measured here and asserted.

import type { AnyMachineSnapshot, AnyStateMachine, AnyStateNode, EventObject } from 'xstate';

/** A path of `@xstate/test` or `xstate/graph`, as far as coverage looks at it. */
export interface ModelPath {
  readonly state: unknown;
  readonly steps: readonly { readonly state: unknown; readonly event: EventObject }[];
}

/** What a set of paths leaves out. State nodes are named by their full ids, such as `build.claimed`. */
export interface Coverage {
  readonly states: ReadonlySet<string>;
  readonly events: ReadonlySet<string>;
  readonly missingStates: readonly string[];
  readonly missingEvents: readonly string[];
  /** The snapshots of the paths that are in status `error`, by their state value. */
  readonly errors: readonly string[];
}

type StateHandler<S> = (state: S) => void | Promise<void>;
type EventExecutor<S> = (step: { state: S; event: EventObject }) => void | Promise<void>;

/** Handlers for `path.test`, by state key and by event type. */
export interface ModelHandlers<S> {
  states: Readonly<Record<string, StateHandler<S>>>;
  events: Readonly<Record<string, EventExecutor<S>>>;
}

/**
 * Handlers that cannot pass in silence: a state that no key matches and an event without an executor throw.
 * Keys are what `state.matches` takes: `building`, or `#machine.building` for a nested node.
 */
function strictHandlers<S>(handlers: ModelHandlers<S>): ModelHandlers<S> {
  const states: Record<string, StateHandler<S>> = {
    ...handlers.states,
    '*': (state) => {
      throw new Error(`no state handler matches ${JSON.stringify((state as AnyMachineSnapshot).value)}`);
    },
  };
  const events = new Proxy(handlers.events, {
    get(target, type) {
      const executor = Reflect.get(target, type) as EventExecutor<S> | undefined;
      // The step into the initial state is no event of the machine.
      if (executor !== undefined || typeof type === 'symbol' || type.startsWith('xstate.')) return executor;
      throw new Error(`no event executor for '${type}'`);
    },
  });
  return { states, events };
}

/** Which state nodes and event types of `machine` the paths went through. History nodes cannot be entered. */
export function coverageOf(paths: Iterable<ModelPath>, machine: AnyStateMachine): Coverage {
  const states = new Set<string>();
  const events = new Set<string>();
  const errors = new Set<string>();
  for (const path of paths) {
    for (const { state, event } of [...path.steps, { state: path.state, event: undefined }]) {
      const snapshot = state as AnyMachineSnapshot;
      for (const node of snapshot._nodes) states.add(node.id);
      if (event !== undefined && !event.type.startsWith('xstate.')) events.add(event.type);
      if (snapshot.status === 'error') errors.add(JSON.stringify(snapshot.value));
    }
  }
  const types = (machine.events as readonly string[]).filter((type) => !type.startsWith('xstate.'));
  return {
    states,
    events,
    missingStates: nodeIdsOf(machine.root).filter((id) => !states.has(id)),
    missingEvents: types.filter((type) => ![...events].some((seen) => describes(type, seen))),
    errors: [...errors],
  };
}

/**
 * Fails unless the paths enter every state node of the machine and take every event type it names.
 * @param elsewhere Event types that need not be among them.
 * @throws Error that lists what is missing.
 */
export function assertCoverage(
  paths: Iterable<ModelPath>,
  machine: AnyStateMachine,
  elsewhere: readonly string[] = [],
): void {
  const { missingStates, missingEvents, errors } = coverageOf(paths, machine);
  const gaps = [
    ...missingStates.map((id) => `state '${id}' is never entered`),
    ...missingEvents.filter((type) => !elsewhere.includes(type)).map((type) => `event '${type}' is never taken`),
    ...errors.map((value) => `the model is in status error at ${value}`),
  ];
  if (gaps.length > 0) throw new Error(`the paths do not cover machine '${machine.id}':\n  ${gaps.join('\n  ')}`);
}

/** The paths of one machine that were run, so that coverage counts those alone. */
export interface ModelRun<S> {
  /** Runs one path through `strictHandlers`; a path that fails is not counted. */
  test(path: RunnablePath<S>, handlers: ModelHandlers<S>): Promise<void>;
  /**
   * To be called last, in a test of its own: `assertCoverage` over the paths that passed.
   * @param elsewhere The types of events that other tests cover.
   */
  assertCoverage(elsewhere?: readonly string[]): void;
}

/** A path of `@xstate/test`. */
export interface RunnablePath<S> extends ModelPath {
  test(handlers: ModelHandlers<S>): Promise<unknown>;
}

/** Starts counting which parts of `machine` are exercised by paths that are really run. */
export function modelRun<S>(machine: AnyStateMachine): ModelRun<S> {
  const passed: ModelPath[] = [];
  return {
    async test(path, handlers) {
      await path.test(strictHandlers(handlers));
      passed.push(path);
    },
    assertCoverage: (elsewhere) => assertCoverage(passed, machine, elsewhere),
  };
}

function nodeIdsOf(node: AnyStateNode): string[] {
  if (node.type === 'history') return [];
  return [node.id, ...Object.values(node.states).flatMap((child) => nodeIdsOf(child as AnyStateNode))];
}

/** Whether an event descriptor (`done`, `done.*`, `*`) covers an event type. A bare `*` asks for an unnamed event. */
function describes(descriptor: string, type: string): boolean {
  if (!descriptor.endsWith('.*')) return descriptor === type;
  return type === descriptor || type.startsWith(descriptor.slice(0, -1));
}
