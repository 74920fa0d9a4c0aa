// Events for the machines, each with a payload that takes every guard both ways: what a model-based test offers a
// machine in each state, where a mere type of event would say nothing.

import type { SnapshotFrom } from 'xstate';
import type { ComputeServiceEvent } from './compute-service.ts';
import type { InstanceBuildEvent, instanceBuild, Selection } from './instance-build.ts';
import { type OwnershipEvent, ownership } from './ownership.ts';
import type { RemovalEvent } from './removal.ts';
import type { SelectionEvent, selection } from './selection.ts';

/** A host of a cell `c1` that gives one VCPU. */
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

/**
 * Of `instanceBuild`, every event in every state: with none, one or two alternates, of the attempt before, this one and the
 * next. Passed over is one host, the first or the next, and again, where that means nothing: of more, the paths are too many.
 */
export function buildEvents({ context }: SnapshotFrom<typeof instanceBuild>): InstanceBuildEvent[] {
  const events: InstanceBuildEvent[] = [0, 1, 2].map((count) => ({
    type: 'SELECTED',
    selection: selectionAt('h1'),
    alternates: ['h2', 'h3'].slice(0, count).map(selectionAt),
  }));
  events.push({ type: 'NO_VALID_HOST', reason: 'none of 3 hosts' }, { type: 'TIMED_OUT' }, { type: 'DELETED' });
  const next = context.selection ?? context.alternates[0];
  const passedOver = context.attempts.filter(({ outcome }) => outcome === 'passed-over');
  const isFirst = context.attempt < 2 && passedOver.length === 0;
  const isAgain = passedOver.some(({ host }) => host === next?.host);
  for (const attempt of [context.attempt - 1, context.attempt, context.attempt + 1]) {
    for (const type of WORDS_OF_AN_ATTEMPT) events.push({ type, attempt, reason: `${type} of attempt ${attempt}` });
    if (isFirst || isAgain) events.push({ type: 'PASSED_OVER', attempt, reason: 'the host is set aside' });
  }
  return events;
}

/** Of `selection`. Up to three refusals; that the machine gives up after a limit is a test of its own. */
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
  if (context.passing < 1) events.push({ type: 'REFUSED', reason: 'consumer-missing', isPassing: true });
  return events;
}

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

/** Of `computeService`, the same in every state. */
export const serviceEvents = () => SERVICE_EVENTS;
/** Of `removal`, the same in every state. */
export const removalEvents = () => REMOVAL_EVENTS;

const OWNERSHIP_EVENTS = ownership.events.map((type) => ({ type }) as OwnershipEvent);

/** Of `ownership`, the same in every state. */
export const ownershipEvents = () => OWNERSHIP_EVENTS;
