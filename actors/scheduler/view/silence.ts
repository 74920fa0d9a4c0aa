// Cells and placement shards of which nothing was heard for a while: their hosts come last, since a build or a claim there
// may take its time. Of a placement shard that is the only one it is told, and nothing else: all hosts wait for it alike.

import type { Advice } from '../../messages/advice.ts';
import { placementShardOf } from '../../routing.ts';
import type { View } from './view.ts';

/** Who is silent of those on whom a host depends; the more, the later it is chosen. */
export const SILENCE = {
  ofNobody: 0,
  /** The cell, which orders builds. */
  ofCell: 1,
  /** The placement shard, which decides claims; its cell may be silent too. */
  ofShard: 2,
} as const;
export type Silence = (typeof SILENCE)[keyof typeof SILENCE];

/** @param isOfShard Whether the placement shard of a host is silent. */
export function silenceOf({ silentCells }: Pick<View, 'silentCells'>, cell: string, isOfShard: boolean): Silence {
  if (isOfShard) return SILENCE.ofShard;
  return silentCells.has(cell) ? SILENCE.ofCell : SILENCE.ofNobody;
}

/** Whether a host comes last because nothing was heard lately of the placement shard that has it, one of several. */
export function isShardSilent({ silentShards, shards }: Pick<View, 'silentShards' | 'shards'>, root: string): boolean {
  return silentShards.size > 0 && silentShards.has(placementShardOf(root, shards));
}

/** The placement shard that has a host, if nothing was heard of that lately: a claim of the host waits for it. */
export function silentShardOf(view: View, root: string): number | undefined {
  return view.isPlacementSilent || isShardSilent(view, root) ? placementShardOf(root, view.shards) : undefined;
}

/**
 * Notes that a placement shard is heard again, or no more. Of several the set is another one then, by which rankings
 * notice.
 */
export function noteShard(view: View, shard: number, isSilent: boolean): void {
  if (view.shards === 1) {
    if (view.isPlacementSilent !== isSilent) view.revision += 1;
    view.isPlacementSilent = isSilent;
    return;
  }
  if (view.silentShards.has(shard) === isSilent) return;
  view.revision += 1;
  const silentShards = new Set(view.silentShards);
  if (isSilent) silentShards.add(shard);
  else silentShards.delete(shard);
  view.silentShards = silentShards;
}

/** Notes that a cell is heard again, or no more. */
export function noteCell(view: View, cell: string, isSilent: boolean): void {
  if (view.silentCells.has(cell) === isSilent) return;
  view.revision += 1;
  view.silencesNoted += 1;
  if (isSilent) view.silentCells.add(cell);
  else view.silentCells.delete(cell);
}

/** Those of whom nothing was heard lately. */
export interface Silent {
  readonly silentCells: readonly string[];
  readonly silentShards: readonly number[];
}

/** The same, where it is asked of host after host. */
export interface Silenced {
  readonly cells: ReadonlySet<string>;
  readonly shards: ReadonlySet<number>;
}

/** The same, as it is gathered from hosts. */
export interface SilencedSoFar extends Silenced {
  readonly cells: Set<string>;
  readonly shards: Set<number>;
}

/** How many of them are named where advice rests on their hosts. */
const MAX_NAMED = 8;

export const noneSilenced = (): SilencedSoFar => ({ cells: new Set(), shards: new Set() });

/** As it is now. */
export function silencedIn({ silentCells, silentShards, isPlacementSilent }: View): Silenced {
  return { cells: new Set(silentCells), shards: new Set(isPlacementSilent ? [0] : silentShards) };
}

const NOBODY: Silenced = noneSilenced();

export const isAnySilenced = ({ cells, shards }: Silenced): boolean => cells.size > 0 || shards.size > 0;

/** Those of them on whom a host depends. */
export function silencedFor({ cells, shards }: Silenced, cell: string, root: string, all: number): Silenced {
  const shard = shards.size === 0 ? undefined : placementShardOf(root, all);
  const isOfShard = shard !== undefined && shards.has(shard);
  if (!isOfShard && !cells.has(cell)) return NOBODY;
  return { cells: new Set(cells.has(cell) ? [cell] : []), shards: new Set(isOfShard ? [shard] : []) };
}

export function addSilenced(to: SilencedSoFar, { cells, shards }: Silenced): void {
  for (const cell of cells) to.cells.add(cell);
  for (const shard of shards) to.shards.add(shard);
}

export function bothSilenced(one: Silenced, other: Silenced): SilencedSoFar {
  const both = noneSilenced();
  addSilenced(both, one);
  addSilenced(both, other);
  return both;
}

/** The first of them, and how many they are where that is not all; nothing of a kind of which there are none. */
export function silentFew({ cells, shards }: Silenced): Pick<Advice, 'silentCells' | 'silentShards' | 'silent'> {
  const isCut = cells.size > MAX_NAMED || shards.size > MAX_NAMED;
  return {
    ...(cells.size === 0 ? {} : { silentCells: [...cells].sort().slice(0, MAX_NAMED) }),
    ...(shards.size === 0 ? {} : { silentShards: [...shards].sort((one, other) => one - other).slice(0, MAX_NAMED) }),
    ...(isCut ? { silent: cells.size + shards.size } : {}),
  };
}

/** Those of whom nothing was heard lately, on whom one host depends. */
export function silentOf(view: View, cell: string, root: string): Silent {
  const shard = silentShardOf(view, root);
  return {
    silentCells: view.silentCells.has(cell) ? [cell] : [],
    silentShards: shard === undefined ? [] : [shard],
  };
}

/** The cells and placement shards that nothing was heard of lately. */
export function silentAmong({ silentCells, silentShards, isPlacementSilent }: View): Silent {
  return {
    silentCells: [...silentCells].sort(),
    silentShards: isPlacementSilent ? [0] : [...silentShards].sort((one, other) => one - other),
  };
}
