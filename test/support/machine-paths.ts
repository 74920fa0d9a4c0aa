// The paths of the shipped machines: for each, the events that may come in a state, with payloads that take every
// guard both ways, and the paths that @xstate/test finds with them. What is run over them is the tests' business.

import { createTestModel, type TestModel } from '@xstate/test';
import type { AnyStateMachine, EventFrom, InputFrom, SnapshotFrom } from 'xstate';
import { computeService } from '../../machines/compute-service.ts';
import { instanceBuild } from '../../machines/instance-build.ts';
import { ownership } from '../../machines/ownership.ts';
import { removal } from '../../machines/removal.ts';
import { selection } from '../../machines/selection.ts';
import {
  buildEvents,
  offering,
  ownershipEvents,
  removalEvents,
  selectionEvents,
  serviceEvents,
  testModelOf,
} from '../../machines/testing.ts';
import type { RunnablePath } from './model.ts';

export interface PathOptions<M extends AnyStateMachine> {
  readonly input: InputFrom<M>;
  /** The events that may come in a state, those that mean nothing there included. */
  events(snapshot: SnapshotFrom<M>): readonly EventFrom<M>[];
  /** States that it makes one are walked through once. Default: value, context, and how the state was come to. */
  sameAs?(snapshot: SnapshotFrom<M>, event: EventFrom<M> | undefined, before: SnapshotFrom<M> | undefined): unknown;
}

/** Shortest paths through everything that the events lead to; a path that another one goes through is left out. */
export function shortestPaths<M extends AnyStateMachine>(
  machine: M,
  { input, events, sameAs }: PathOptions<M>,
): readonly RunnablePath<SnapshotFrom<M>>[] {
  const options: Record<string, unknown> = { ...offering(events) };
  if (sameAs !== undefined) {
    options.serializeState = (...how: Parameters<typeof sameAs>) => JSON.stringify(sameAs(...how));
  }
  // Its types were made for an earlier xstate: the model is typed here by what it is used for.
  const create = createTestModel as unknown as (logic: M, options: object) => TestModel<never, EventFrom<M>, never>;
  const paths: unknown = create(testModelOf(machine, input), options).getShortestPaths();
  return paths as RunnablePath<SnapshotFrom<M>>[];
}

/** The events of a path, without the step into its first state. */
export function eventsOf<M extends AnyStateMachine>(path: RunnablePath<SnapshotFrom<M>>): EventFrom<M>[] {
  return path.steps.slice(1).map(({ event }) => event as EventFrom<M>);
}

/** How a path reads in the name of a test. */
export function nameOf(path: RunnablePath<unknown>): string {
  const events = path.steps.slice(1).map(({ event }) => {
    const { attempt, alternates } = event as { attempt?: number; alternates?: readonly unknown[] };
    if (alternates !== undefined) return `${event.type}+${alternates.length}`;
    return attempt === undefined ? event.type : `${event.type}/${attempt}`;
  });
  return events.length === 0 ? 'nothing happens' : events.join(' ');
}

export const buildPaths = () => shortestPaths(instanceBuild, { input: { instance: 'i1' }, events: buildEvents });

export const selectionPaths = () => shortestPaths(selection, { input: { instance: 'i1' }, events: selectionEvents });

export const servicePaths = () => shortestPaths(computeService, { input: { host: 'h1' }, events: serviceEvents });

export const removalPaths = (input: InputFrom<typeof removal>) =>
  shortestPaths(removal, { input, events: removalEvents });

export const ownershipPaths = () =>
  shortestPaths(ownership, { input: { address: 'placement/0' }, events: ownershipEvents });
