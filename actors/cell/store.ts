// What a cell owns, as its snapshots have it.

import { restoreBuild } from '../builds.ts';
import { inSteps, type Snapshot, snapshotOf } from '../snapshot.ts';
import { rowsOf } from '../table.ts';
import { restoreHost, type StoredHost, storeHost } from './hosts.ts';
import { removalKey, restoreRemoval, type StoredRemoval } from './removals.ts';
import type { Service } from './service.ts';
import { shared } from './sharing.ts';
import { type CellState, emptyCell, type StoredEntry } from './state.ts';
import { homeOf, noteIfCleared, noteLostIn, noteMissingIn, noteWhereItBuilds, noteWhereItIs } from './whereabouts.ts';

export interface StoredCell {
  readonly instances: readonly StoredEntry[];
  readonly removals: readonly StoredRemoval[];
  readonly hosts: readonly StoredHost[];
  readonly deleted: readonly [string, number][];
  /** Absent where it was never set. */
  readonly service?: Service;
  /** Absent in snapshots of before hosts could be removed. */
  readonly removedHosts?: readonly [string, number][];
}

export function storeCell({ service, instances, removals, hosts, deleted, removedHosts }: CellState): Snapshot {
  return snapshotOf(service.revision === 0 ? {} : { service }, {
    instances: instances.capture(),
    removals: removals.capture(),
    hosts: rowsOf([...hosts.values()].map(storeHost)),
    deleted: deleted.capture(),
    removedHosts: removedHosts.capture(),
  });
}

export function* restoreCell(parts: StoredCell): Generator<void, CellState> {
  const { service, instances, removals, hosts, deleted, removedHosts = [] } = parts;
  const state = emptyCell();
  if (service !== undefined) state.service = service;
  for (const host of hosts) state.hosts.set(host.host, restoreHost(host));
  yield* inSteps(instances, ({ build, deleting, lost = null, missingSince = null }) => {
    if (state.instances.has(build.facts.instance)) return;
    const restored = restoreBuild(shared(state, build));
    const entry = { build: restored, deleting, cleared: false, lost, missingSince };
    state.instances.set(build.facts.instance, entry);
    noteWhereItBuilds(state, restored, undefined);
    noteWhereItIs(state, build.facts.instance, null, homeOf(entry));
    noteLostIn(state, build.facts.instance, entry);
    noteMissingIn(state, build.facts.instance, entry);
  });
  yield* inSteps(removals, (stored) => {
    state.removals.set(removalKey(stored.context), restoreRemoval(stored));
  });
  for (const entry of state.instances.values()) noteIfCleared(state, entry);
  yield* state.deleted.restoring(deleted);
  yield* state.removedHosts.restoring(removedHosts);
  return state;
}
