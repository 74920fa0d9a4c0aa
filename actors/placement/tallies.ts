// How much the consumers of each owner hold together: counted as it is taken and given back, so that it is told without a
// look at all consumers, of which there may be a million.

import { type Amounts, adjust, adjustAll } from '../amounts.ts';

export interface Owner {
  readonly project: string;
  readonly user: string;
  /** Null: nobody said. */
  readonly consumerType: string | null;
}

interface Held {
  readonly allocations: readonly { readonly resources: Amounts }[];
}

interface Consumer {
  readonly owner?: Owner;
  readonly several?: true;
  readonly held: readonly Held[];
}

/** What the consumers of one owner hold. */
export interface Tally {
  consumers: number;
  readonly resources: Map<string, number>;
  /** Those that hold something with other shards too. */
  readonly several: Set<string>;
}

export interface Tallies {
  /** By project, user and consumer type. */
  readonly owned: Map<string, Map<string, Map<string | null, Tally>>>;
  /** Of the consumers of which nobody said whose they are, as are all that no caller of the Placement API has changed. */
  readonly unowned: Tally;
}

export function noTallies(): Tallies {
  return { owned: new Map(), unowned: emptyTally() };
}

function emptyTally(): Tally {
  return { consumers: 0, resources: new Map(), several: new Set() };
}

/** Counts a consumer with all that it holds (1), or no longer (-1). */
export function tally(tallies: Tallies, id: string, consumer: Consumer, sign: 1 | -1): void {
  if (consumer.held.length === 0) return;
  for (const held of consumer.held) tallyAmounts(tallies, consumer, held, sign);
  tallyConsumer(tallies, id, consumer, sign);
}

/** Counts a consumer that begins to hold something (1), or holds nothing any more (-1). */
export function tallyConsumer(tallies: Tallies, id: string, { owner, several }: Consumer, sign: 1 | -1): void {
  const ofOwner = tallyOf(tallies, owner);
  ofOwner.consumers += sign;
  if (several === true && sign === 1) ofOwner.several.add(id);
  else if (several === true) ofOwner.several.delete(id);
  if (ofOwner.consumers === 0 && owner !== undefined) drop(tallies, owner);
}

/** Counts what a consumer takes (1), or gives back (-1). */
export function tallyAmounts(tallies: Tallies, { owner }: Consumer, { allocations }: Held, sign: 1 | -1): void {
  const { resources: sums } = tallyOf(tallies, owner);
  for (const { resources } of allocations) adjustAll(sums, resources, sign);
}

function tallyOf({ owned, unowned }: Tallies, owner: Owner | undefined): Tally {
  if (owner === undefined) return unowned;
  const { project, user, consumerType } = owner;
  const ofProject = madeOnce(owned, project, () => new Map<string, Map<string | null, Tally>>());
  const ofUser = madeOnce(ofProject, user, () => new Map<string | null, Tally>());
  return madeOnce(ofUser, consumerType, emptyTally);
}

function madeOnce<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

function drop({ owned }: Tallies, { project, user, consumerType }: Owner): void {
  const ofProject = owned.get(project);
  const ofUser = ofProject?.get(user);
  ofUser?.delete(consumerType);
  if (ofUser?.size === 0) ofProject?.delete(user);
  if (ofProject?.size === 0) owned.delete(project);
}

/** A resource class has another name. */
export function renameInTallies({ owned, unowned }: Tallies, name: string, to: string): void {
  const all = [...owned.values()].flatMap((users) => [...users.values()].flatMap((types) => [...types.values()]));
  for (const { resources } of [unowned, ...all]) {
    const amount = resources.get(name);
    if (amount === undefined) continue;
    resources.delete(name);
    adjust(resources, to, amount);
  }
}
