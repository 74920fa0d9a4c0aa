// How many instances of a request hosts would hold, as advice counts them.

import { effort } from '../../fitting/effort.ts';
import { MAX_LOOKS_TO_COUNT, timesIn } from '../../fitting/fit-times.ts';
import type { RequestSpec } from '../../messages/common.ts';
import { keepsTogether } from '../../placement/groups.ts';
import type { Provider } from '../../placement/providers.ts';
import type { Steps } from '../steps.ts';
import { addSilenced, bothSilenced, noneSilenced, type Silenced, type SilencedSoFar } from '../view/silence.ts';

/** What a change would let fit: hosts, and how many instances they would hold. */
export interface Room {
  hosts: number;
  times: number;
  /** The most that one of the hosts would hold. */
  most: number;
  /** Those that are silent on whom its hosts depend, where that is noted. */
  readonly silent: SilencedSoFar;
}

export const noRoom = (): Room => ({ hosts: 0, times: 0, most: 0, silent: noneSilenced() });

/** A request that does not fit. */
export interface Refused {
  readonly spec: RequestSpec;
  /** How many instances must fit. */
  readonly count: number;
  /** How many more members of a request's instance group a host may have, by its root. */
  readonly membersAllowed: (spec: RequestSpec, root: string) => number;
  /** How many more instances it may have, as far as filters limit that; `but` names one that is left out. */
  readonly instancesAllowed: (root: string, but?: string) => number;
  /**
   * Whether filters of a deployment's own, and what hosts are kept for, let a host serve a changed request. Absent where
   * there are none.
   */
  readonly letBy?: ((spec: RequestSpec, root: string) => boolean) | undefined;
  /** Who is silent of those on whom a host depends, by its root; absent where that is not noted. */
  readonly silencedOn?: ((root: string) => Silenced) | undefined;
  /** On some host not all was tried, or counted, that might have helped. */
  isCut: boolean;
  /** How many looks at providers may still be taken to count what hosts would hold with a change, one after the other. */
  looksLeft: number;
}

/** `looksLeft` at first: a second of work or two. */
export const MAX_LOOKS_AT_ROOMS = 4_000_000;

/** The hosts that filters of a deployment's own let serve a changed request. */
export function* letFor<Host>(
  { spec: asked, letBy }: Refused,
  spec: RequestSpec,
  hosts: readonly Host[],
  rootOf: (host: Host) => string,
): Steps<readonly Host[]> {
  if (letBy === undefined || spec === asked) return hosts;
  const found: Host[] = [];
  for (const host of hosts) {
    if (letBy(spec, rootOf(host))) found.push(host);
    yield;
  }
  return found;
}

export const rootOfTree = (tree: readonly Provider[]): string => (tree[0] as Provider).spec.id;

export interface RoomOptions {
  /** A filter that is left out. */
  readonly but?: string | undefined;
  /** How many limits and the rule of the instance group would let it have; default: as they let it now. */
  readonly allowed?: number;
  /** After how many looks in all it is counted no further. */
  readonly endOfLooks?: number;
}

/**
 * How many instances a host would hold, as its resources, limits and the rule of the instance group let it: none where
 * they keep together and it would not hold all.
 */
export function roomOn(
  refused: Refused,
  spec: RequestSpec,
  tree: readonly Provider[],
  { but, allowed, endOfLooks = effort.looks + MAX_LOOKS_TO_COUNT }: RoomOptions = {},
): number {
  const root = rootOfTree(tree);
  const counted = timesIn(spec, tree, refused.count, true, endOfLooks);
  if (counted > 0 && counted < refused.count && effort.looks > endOfLooks) refused.isCut = true;
  const mayHave = allowed ?? Math.min(refused.membersAllowed(spec, root), refused.instancesAllowed(root, but));
  const times = Math.min(counted, mayHave);
  return keepsTogether(spec) && times < refused.count ? 0 : times;
}

/** What hosts would hold, beside what was counted before. */
export function* roomOf(
  refused: Refused,
  spec: RequestSpec,
  trees: readonly (readonly Provider[])[],
  before: Room = noRoom(),
  but?: string,
): Steps<Room> {
  const room = both(before, noRoom());
  for (const [at, times] of (yield* roomsOf(refused, spec, trees, but)).entries()) {
    if (times > 0) add(room, times, silencedOf(refused, trees[at] as readonly Provider[]));
  }
  return room;
}

/** What each of them would hold, as far as there is time to count it. */
export function* roomsOf(
  refused: Refused,
  spec: RequestSpec,
  trees: readonly (readonly Provider[])[],
  but?: string,
): Steps<number[]> {
  const rooms: number[] = [];
  for (const tree of trees) {
    if (refused.looksLeft < 0) {
      refused.isCut = true;
      break;
    }
    const before = effort.looks;
    rooms.push(roomOn(refused, spec, tree, { but }));
    refused.looksLeft -= effort.looks - before;
    yield;
  }
  return rooms;
}

export const both = (one: Room, other: Room): Room => ({
  hosts: one.hosts + other.hosts,
  times: one.times + other.times,
  most: Math.max(one.most, other.most),
  silent: bothSilenced(one.silent, other.silent),
});

/** Those that are silent on whom a host depends, by its tree. */
export const silencedOf = ({ silencedOn }: Refused, tree: readonly Provider[]): Silenced | undefined =>
  silencedOn?.(rootOfTree(tree));

export function add(room: Room, times: number, silent?: Silenced): void {
  room.hosts += 1;
  room.times += times;
  room.most = Math.max(room.most, times);
  if (silent !== undefined) addSilenced(room.silent, silent);
}
