// What a conductor shard owns, as its snapshots have it.

import type { Address } from '../actor.ts';
import { restoreBuild } from '../builds.ts';
import { inSteps, type Snapshot, snapshotOf } from '../snapshot.ts';
import {
  type ConductorState,
  type Entry,
  emptyConductor,
  lineAt,
  type StoredEntry,
  type StoredRequest,
  TOLD_ACTIVE,
  UNASKED,
} from './state.ts';

export interface StoredConductor {
  /** The scheduler at which requests wait; absent: it is not known, as of nodes of before it was recorded. */
  line?: Address;
  instances: StoredEntry[];
  requests: StoredRequest[];
}

export function storeConductor({ line, instances, requests }: ConductorState): Snapshot {
  return snapshotOf(line === null ? {} : { line: line.scheduler }, {
    instances: instances.capture(),
    requests: requests.capture(),
  });
}

export function* restoreConductor(stored: StoredConductor): Generator<void, ConductorState> {
  const { line, instances, requests } = stored;
  const state = emptyConductor();
  if (line !== undefined) state.line = lineAt(line);
  const deleted: [string, number][] = [];
  yield* inSteps(instances, ([instance, stored]) => {
    if (state.instances.has(instance)) return;
    const entry = restoreEntry(stored);
    if (entry.phase === 'deleted') deleted.push([instance, entry.deletedAt]);
    state.instances.set(instance, entry);
    if (entry.phase === 'in-cell' && entry.told === null) state.unended.add(instance);
  });
  yield* state.deleted.restoring(deleted);
  yield* inSteps(requests, ([id, { waiting, round: recorded = 0, ...open }]) => {
    state.requests.set(id, { ...open, waiting: new Set(waiting), recorded, ...UNASKED });
    if (open.parked !== undefined) state.parked.add(id);
    state.lastInLine = Math.max(state.lastInLine, open.since ?? 0);
  });
  return state;
}

/** Made field by field: there may be a million, and the engine takes long over each that is made of another by spreading. */
function restoreEntry(stored: StoredEntry[1]): Entry {
  const { request, asked, wished, phase, cell, told, decision } = stored;
  const { releaseOwed, owedSince, handedOver, deletedAt } = stored;
  const build = stored.build === null ? null : restoreBuild(stored.build);
  const entry: Entry = {
    request,
    asked,
    phase,
    cell,
    build,
    told: told?.state === 'active' ? TOLD_ACTIVE : told,
    releaseOwed,
    handedOver,
    deletedAt,
    repeats: 0,
  };
  if (wished !== undefined) entry.wished = wished;
  if (decision !== undefined) entry.decision = decision;
  if (owedSince !== undefined) entry.owedSince = owedSince;
  return entry;
}
