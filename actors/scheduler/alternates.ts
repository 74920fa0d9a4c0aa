// The alternates of a selection: hosts to be tried, in order, should a build fail.

import type { Selection } from '../../machines/instance-build.ts';
import type { RequestSpec } from '../messages/common.ts';
import { roomFor } from './fit.ts';
import { bySoftRule, mayBeAlternate } from './grouping.ts';
import { bestOfCell, type Ranked } from './picking.ts';
import type { Rankings } from './ranking.ts';
import type { Request } from './request.ts';
import { treeOf, type View } from './view.ts';

/** The longest list of alternates that one request ranks, for all its instances together. */
const MAX_RANKED = 400;
/** How many hosts are looked at, at least, for some that have room to spare. */
const MIN_RANKED = 32;
/** With room for this many more of its kind, a host is as good as any as an alternate. */
const AMPLE_ROOM = 4;

export function selectionOf({ cell, host, root, allocations }: Ranked): Selection {
  return { cell, host, provider: root, allocations };
}

/**
 * Up to `wanted` alternates for each of the hosts that a request has claimed: the next in rank in the cell of that
 * host, none of them a host that the request has claimed. Nothing is held for an alternate, and by the time that it is
 * needed others will have been given its room; so those that could hold several more like it come before those that
 * are nearly full. The instances of one request are given different ones as far as there are enough, so that several
 * that fail do not all turn to the same host.
 */
export function alternatesFor(
  rankings: Rankings,
  view: View,
  request: Request,
  chosen: readonly Selection[],
  wanted: number,
): Selection[][] {
  if (wanted === 0) return chosen.map(() => []);
  const claimed = new Set(chosen.map(({ provider }) => provider));
  const mayBe = mayBeAlternate(view, request.spec);
  const pools = new Map<string, readonly Ranked[]>();
  const dealt = new Map<string, number>();
  return chosen.map(({ cell }) => {
    let pool = pools.get(cell);
    if (pool === undefined) {
      const inCell = chosen.filter((one) => one.cell === cell).length;
      const needed = Math.min(MAX_RANKED, wanted * inCell);
      const isOut = (root: string) => claimed.has(root) || !mayBe(root);
      const rankedUpTo = (most: number) => bestOfCell(rankings, view, request, cell, most, isOut);
      pool = rankedUpTo(needed);
      // Usually the first in rank have room to spare, and there is no need to look at more for others to prefer.
      const isGrouped = request.spec.instanceGroup !== undefined;
      if (isGrouped || !pool.every(({ root }) => roomFor(request.spec, treeOf(view, root), AMPLE_ROOM) >= AMPLE_ROOM)) {
        pool = roomyFirst(view, request.spec, needed >= MIN_RANKED ? pool : rankedUpTo(MIN_RANKED));
      }
      pool = bySoftRule(view, request.spec, pool);
      pools.set(cell, pool);
    }
    const from = dealt.get(cell) ?? 0;
    dealt.set(cell, from + wanted);
    const alternates: Selection[] = [];
    for (let next = 0; next < Math.min(wanted, pool.length); next += 1) {
      alternates.push(selectionOf(pool[(from + next) % pool.length] as Ranked));
    }
    return alternates;
  });
}

/** Keeps the order of rank among hosts with as much room. */
function roomyFirst(view: View, spec: RequestSpec, ranked: readonly Ranked[]): readonly Ranked[] {
  const rooms = new Map(ranked.map((one) => [one, roomFor(spec, treeOf(view, one.root), AMPLE_ROOM)]));
  return [...ranked].sort((one, other) => (rooms.get(other) as number) - (rooms.get(one) as number));
}
