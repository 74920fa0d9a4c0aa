// The paths of the shipped machines: for each, the events that may come in a state, with payloads that take every
// guard both ways, and the paths that @xstate/test finds with them. What is run over them is the tests' business.

import { createTestModel, type TestModel } from '@xstate/test';
import type { AnyStateMachine, EventFrom, InputFrom, SnapshotFrom } from 'xstate';
import { type ComputeServiceEvent, computeService } from '../../machines/compute-service.ts';
import { type InstanceBuildEvent, instanceBuild, type Selection } from '../../machines/instance-build.ts';
import { type RemovalEvent, removal } from '../../machines/removal.ts';
import { type SelectionEvent, selection } from '../../machines/selection.ts';
import { testModelOf } from '../../machines/testing.ts';
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
  // @xstate/test makes up a bare event of each type that a state takes and is offered none of: those are left out.
  const offered = new WeakSet<object>();
  const options: Record<string, unknown> = {
    events(snapshot: SnapshotFrom<M>) {
      const list = events(snapshot);
      for (const event of list) offered.add(event);
      return list;
    },
    filter: (_next: unknown, event: object) => offered.has(event),
  };
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

export const selectionAt = (host: string): Selection => ({
  cell: 'c1',
  host,
  provider: `provider-of-${host}`,
  allocations: [{ provider: `provider-of-${host}`, group: '', resources: { VCPU: 1 } }],
});

const WORDS_OF_AN_ATTEMPT = [
  'ACCEPTED',
  'REFUSED',
  'BUILT',
  'BUILD_FAILED',
  'BUILD_ABORTED',
  'HOST_LOST',
  'CLAIM_GRANTED',
  'CLAIM_REFUSED',
] as const;

/** Every event in every state: with none, one or two alternates, of the attempt before, this one and the next. */
export function buildEvents({ context }: SnapshotFrom<typeof instanceBuild>): InstanceBuildEvent[] {
  const events: InstanceBuildEvent[] = [0, 1, 2].map((count) => ({
    type: 'SELECTED',
    selection: selectionAt('h1'),
    alternates: ['h2', 'h3'].slice(0, count).map(selectionAt),
  }));
  events.push({ type: 'NO_VALID_HOST', reason: 'none of 3 hosts' }, { type: 'TIMED_OUT' }, { type: 'DELETED' });
  for (const attempt of [context.attempt - 1, context.attempt, context.attempt + 1]) {
    for (const type of WORDS_OF_AN_ATTEMPT) events.push({ type, attempt, reason: `${type} of attempt ${attempt}` });
  }
  return events;
}

/** Up to three refusals; that the machine gives up after a limit is a test of its own. */
export function selectionEvents({ context }: SnapshotFrom<typeof selection>): SelectionEvent[] {
  const events: SelectionEvent[] = [
    { type: 'RANKED', candidate: selectionAt(`h${context.tried.length + 1}`) },
    { type: 'NONE_FITS', reason: 'none of 3 hosts' },
    { type: 'NOTHING_HELD', reason: 'none of 3 hosts' },
    { type: 'GRANTED', held: context.candidate ?? selectionAt('h9') },
    { type: 'GRANTED', held: selectionAt('h8') },
    { type: 'GAVE_UP', reason: 'consumer-deleted' },
  ];
  if (context.tried.length < 3) events.push({ type: 'REFUSED', reason: 'exceeds-capacity' });
  return events;
}

export const buildPaths = () => shortestPaths(instanceBuild, { input: { instance: 'i1' }, events: buildEvents });

export const selectionPaths = () => shortestPaths(selection, { input: { instance: 'i1' }, events: selectionEvents });

const SERVICE_EVENTS: readonly ComputeServiceEvent[] = [
  { type: 'HEARD' },
  { type: 'REBORN' },
  { type: 'SILENT' },
  { type: 'SET_ASIDE', reason: 'five builds failed in a row', until: 60_000 },
  { type: 'RESTED' },
  { type: 'FENCE' },
  { type: 'DISABLE', reason: 'a new disk' },
  { type: 'DISABLE', reason: 'a new kernel' },
  { type: 'ENABLE' },
];
const REMOVAL_EVENTS: readonly RemovalEvent[] = [{ type: 'DESTROYED' }, { type: 'RELEASED' }];

export const serviceEvents = () => SERVICE_EVENTS;
export const removalEvents = () => REMOVAL_EVENTS;

export const servicePaths = () => shortestPaths(computeService, { input: { host: 'h1' }, events: serviceEvents });

export const removalPaths = (input: InputFrom<typeof removal>) =>
  shortestPaths(removal, { input, events: removalEvents });
