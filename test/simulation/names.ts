// Names that all placement shards know or none does, as fronts of the Placement API make and remove them: made in all at
// one moment, whoever dies meanwhile.

import type { AnyMessage } from '../../actors/messages/any.ts';
import type { PlacementState } from '../../actors/placement/state.ts';
import { placementAddress } from '../../actors/routing.ts';
import type { Random } from '../../runtime/random.ts';
import type { Operation } from './operations.ts';

const NAMES = ['CUSTOM_NAMED_A', 'CUSTOM_NAMED_B'];

type Named = Extract<Operation, { what: 'name' }>;

export function namesOf(untilMs: number, random: Random): Operation[] {
  if (random.chance(0.6)) return [];
  return Array.from({ length: random.integer(1, 8) }, (_, position) => ({
    id: `name-${position}`,
    at: random.integer(0, untilMs),
    what: 'name' as const,
    name: random.pick(NAMES),
    goes: random.chance(0.4),
  }));
}

/** Asked again, it is asked for anew: to make a name that there is changes nothing. */
export function questionOfName({ id, name, goes }: Named, ask: number, shards: number): [string, AnyMessage] {
  const change = { type: goes ? ('class-delete' as const) : ('class-put' as const), ask: 0, name };
  const parts = Array.from({ length: shards }, (_, shard) => ({ shard, consumers: [], change, wide: true }));
  return [placementAddress(0), { type: 'change-together', ask, key: id, parts, brief: true }];
}

/** What does not hold at the end. */
export function faultsOfNames(placements: readonly PlacementState[]): string[] {
  const locked = placements.flatMap(({ holds }, shard) =>
    holds.locks.size > 0 ? [`an end: shard ${shard} locks`] : [],
  );
  const differing = NAMES.filter(
    (name) => new Set(placements.map(({ catalog }) => catalog.classes.has(name))).size > 1,
  );
  return [...locked, ...differing.map((name) => `all or nothing: some shards know ${name}`)];
}
