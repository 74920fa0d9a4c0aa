// What attempts left behind in a cell, each cleared away by a removal machine: nothing may run on the host any more
// before its resources are given back.

import { type RemovalContext, type RemovalEvent, type RemovalState, removal } from '../../machines/removal.ts';
import { begin, revive, step } from '../../machines/step.ts';
import type { Address } from '../actor.ts';
import { attemptKey } from '../attempts.ts';
import { addTo, deleteFrom } from '../multimap.ts';
import { Table } from '../table.ts';

type RemovalSnapshot = ReturnType<typeof begin<typeof removal>>['snapshot'];

export interface Removal {
  snapshot: RemovalSnapshot;
  /** How often the obligation was done again; not recorded. */
  repeats: number;
  /** The placement shards that have given back what it held; not recorded. */
  readonly released: Set<Address>;
}

/** By instance and attempt; the one that ends an instance stands beside those of its earlier attempts. */
export class Removals extends Table<Removal> {
  /** The keys of those that each host has to do with. */
  readonly #ofHosts = new Map<string, Set<string>>();

  constructor() {
    super(storeRemoval);
  }

  override set(key: string, removal: Removal): this {
    this.#leave(key);
    const { host } = removal.snapshot.context;
    if (host !== null) addTo(this.#ofHosts, host, key);
    return super.set(key, removal);
  }

  override delete(key: string): boolean {
    this.#leave(key);
    return super.delete(key);
  }

  /** Those that have something to do with a host: of many hosts that come back at once each has its own to clear away. */
  ofHost(host: string): Removal[] {
    return [...(this.#ofHosts.get(host) ?? [])].map((key) => this.get(key) as Removal);
  }

  #leave(key: string): void {
    const host = this.get(key)?.snapshot.context.host ?? null;
    if (host !== null) deleteFrom(this.#ofHosts, host, key);
  }
}

export interface StoredRemoval {
  readonly value: RemovalState;
  readonly context: RemovalContext;
}

export function removalKey({
  instance,
  attempt,
  final,
}: Pick<RemovalContext, 'instance' | 'attempt' | 'final'>): string {
  return final ? finalKey(instance) : attemptKey({ instance, attempt });
}

export const finalKey = (instance: string): string => `${instance} final`;

/** Begins a removal. One that has nothing to destroy begins by giving back. */
export function beginRemoval(removals: Removals, what: Omit<RemovalContext, 'v'>): void {
  let { snapshot } = begin(removal, what);
  if (what.host === null) snapshot = step(removal, snapshot, { type: 'DESTROYED' }).snapshot;
  removals.set(removalKey(what), { snapshot, repeats: 0, released: new Set() });
}

/** Steps a removal. One that is over is forgotten. */
export function stepRemoval(removals: Removals, key: string, event: RemovalEvent): void {
  const entry = removals.get(key);
  if (entry === undefined) return;
  const { snapshot } = step(removal, entry.snapshot, event);
  if (snapshot === entry.snapshot) return;
  removals.touch(key);
  entry.snapshot = snapshot;
  entry.repeats = 0;
  if (snapshot.value === 'removed') removals.delete(key);
}

export function stateOfRemoval({ snapshot }: Removal): RemovalState {
  return snapshot.value;
}

/** The earlier ones of an instance's `attempts` whose resources must stay held, because they may still run. */
export function attemptsHeld(removals: Removals, instance: string, attempts: number): number[] {
  const held: number[] = [];
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    if (removals.has(removalKey({ instance, attempt, final: false }))) held.push(attempt);
  }
  return held;
}

/** Everything that is still to be cleared away of an instance. */
export function removalsOf(
  { removals }: { readonly removals: Removals },
  instance: string,
  attempts: number,
): Removal[] {
  const keys = attemptsHeld(removals, instance, attempts).map((attempt) =>
    removalKey({ instance, attempt, final: false }),
  );
  return [...keys, finalKey(instance)].map((key) => removals.get(key)).filter((one) => one !== undefined);
}

/** The removal of an attempt while something of it may be on its host still. */
export function destroyingOf(removals: Removals, instance: string, attempt: number): Removal | undefined {
  return [removalKey({ instance, attempt, final: false }), finalKey(instance)]
    .map((key) => removals.get(key))
    .find((one) => one?.snapshot.context.attempt === attempt && stateOfRemoval(one) === 'destroying');
}

function storeRemoval({ snapshot }: Removal): StoredRemoval {
  return { value: snapshot.value, context: snapshot.context };
}

export function restoreRemoval(stored: StoredRemoval): Removal {
  return { snapshot: revive(removal, stored), repeats: 0, released: new Set() };
}
