// The lists of each host of a cell: which instances are on it, which are being built there, and which it is missing. They
// follow from the instances.

import { type HostedBuild, stateOfBuild } from '../builds.ts';
import { finalKey } from './removals.ts';
import type { CellState, Entry } from './state.ts';

/** The host that an instance is on, or is to be built on: of one that has failed, none is selected any more. */
export function homeOf(entry: Entry | undefined): string | null {
  if (entry === undefined || entry.lost !== null || entry.cleared) return null;
  return entry.build.snapshot.context.selection?.host ?? null;
}

/**
 * Keeps the list of the instances on each host. What is to go to a host that the cell does not know goes elsewhere at once.
 * That one has left is told at once too: schedulers compare what placement has there with what the cell has.
 */
export function noteWhereItIs(
  { hosts, feed }: CellState,
  instance: string,
  before: string | null,
  after: string | null,
): void {
  if (before !== after) {
    hosts.get(before ?? '')?.here.delete(instance);
    hosts.get(after ?? '')?.here.add(instance);
    if (before !== null) feed.untold.add(before);
  }
  // What is being built there may have changed, where nothing else did.
  if (after !== null) feed.recounted.add(after);
}

/** Keeps the list of the instances that were lost on each host. */
export function noteLostIn({ hosts }: CellState, instance: string, entry: Entry): void {
  if (entry.lost !== null) hosts.get(entry.build.snapshot.context.selection?.host ?? '')?.lost.add(instance);
}

function lostNoMore({ hosts }: CellState, instance: string, entry: Entry): void {
  hosts.get(entry.build.snapshot.context.selection?.host ?? '')?.lost.delete(instance);
}

/** It is deleted, and nothing of it is anywhere. */
export function noteDeleted(state: CellState, instance: string): void {
  const entry = state.instances.get(instance);
  if (entry === undefined) return;
  noteWhereItIs(state, instance, homeOf(entry), null);
  lostNoMore(state, instance, entry);
}

/** Of a deleted instance whose last attempt is cleared away nothing is on its host any more. */
export function noteIfCleared(state: CellState, entry: Entry | undefined): void {
  if (entry?.deleting !== true) return;
  const { instance } = entry.build.snapshot.context;
  if (state.removals.has(finalKey(instance))) return;
  noteWhereItIs(state, instance, homeOf(entry), null);
  entry.cleared = true;
  lostNoMore(state, instance, entry);
}

/** Keeps each host's list of the builds under way on it. */
export function noteWhereItBuilds({ hosts, feed }: CellState, build: HostedBuild, before: string | undefined): void {
  const state = stateOfBuild(build);
  const host = build.snapshot.context.selection?.host;
  const underWay = state === 'claimed' || state === 'building';
  if (before !== undefined && !(underWay && before === host)) {
    const hasEnded = hosts.get(before)?.building.delete(build.facts.instance) === true;
    if (hasEnded && feed.tellsBuilds) feed.untold.add(before);
  }
  const entered = underWay ? hosts.get(host ?? '') : undefined;
  if (entered === undefined || entered.building.has(build.facts.instance)) return;
  entered.building.add(build.facts.instance);
  entered.ordered += 1;
}

export function noteMissingIn({ hosts }: CellState, instance: string, entry: Entry): void {
  if (entry.missingSince !== null) hosts.get(homeOf(entry) ?? '')?.missing.add(instance);
}

export function missNoMore({ hosts }: CellState, instance: string, entry: Entry): void {
  if (entry.missingSince === null) return;
  hosts.get(homeOf(entry) ?? '')?.missing.delete(instance);
  entry.missingSince = null;
}

export function noteListed({ hosts }: CellState, entry: Entry, listed: number): void {
  const host = hosts.get(homeOf(entry) ?? '');
  if (host !== undefined) host.listed = listed;
}
