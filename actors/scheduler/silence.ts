// Cells and placement shards of which nothing was heard for a while: their hosts come last, since a build or a claim there
// may take its time. Of a placement shard that is the only one it is told, and nothing else: all hosts wait for it alike.

import { placementShardOf } from '../routing.ts';
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
    view.isPlacementSilent = isSilent;
    return;
  }
  if (view.silentShards.has(shard) === isSilent) return;
  const silentShards = new Set(view.silentShards);
  if (isSilent) silentShards.add(shard);
  else silentShards.delete(shard);
  view.silentShards = silentShards;
}

/** Those of whom nothing was heard lately. */
export interface Silent {
  readonly silentCells: readonly string[];
  readonly silentShards: readonly number[];
}

const NONE_SILENT: Silent = { silentCells: [], silentShards: [] };

/** How many of them are named where advice rests on their hosts. */
const MAX_NAMED = 8;

export const isAnySilent = (silent: Silent): boolean => silent !== NONE_SILENT;

/** Whether a host depends on one of them. */
export function isSilentOf({ silentCells, silentShards }: Silent, cell: string, shard: number): boolean {
  return silentCells.includes(cell) || silentShards.includes(shard);
}

/** The first of them; nothing of a kind of which there are none. */
export function silentFew({ silentCells, silentShards }: Silent): { silentCells?: string[]; silentShards?: number[] } {
  return {
    ...(silentCells.length === 0 ? {} : { silentCells: silentCells.slice(0, MAX_NAMED) }),
    ...(silentShards.length === 0 ? {} : { silentShards: silentShards.slice(0, MAX_NAMED) }),
  };
}

/** The same, of those on whom one host depends. */
export function silentOf(view: View, cell: string, root: string): Silent {
  const shard = silentShardOf(view, root);
  return {
    silentCells: view.silentCells.has(cell) ? [cell] : [],
    silentShards: shard === undefined ? [] : [shard],
  };
}

/** The cells and placement shards that nothing was heard of lately. */
export function silentAmong({ silentCells, silentShards, isPlacementSilent }: View): Silent {
  if (silentCells.size === 0 && silentShards.size === 0 && !isPlacementSilent) return NONE_SILENT;
  return {
    silentCells: [...silentCells].sort(),
    silentShards: isPlacementSilent ? [0] : [...silentShards].sort((one, other) => one - other),
  };
}
