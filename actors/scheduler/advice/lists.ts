// Of what a request avoids, or waits for, no more than it takes: the names of a list that would have to be left out, and the
// hosts that would have to come back.

import { addSilenced, bothSilenced, noneSilenced, type Silenced } from '../view/silence.ts';
import { add, both, noRoom, type Room } from './rooms.ts';

/** What hosts would hold that the same names of a list keep out. */
interface Part {
  readonly names: readonly string[];
  readonly room: Room;
}

/** The parts of a list, by their names. */
export type Parts = Map<string, Part>;

export function addTo(parts: Parts, names: readonly string[], times: number, silent?: Silenced): void {
  const key = names.join(', ');
  const part = parts.get(key) ?? { names, room: noRoom() };
  parts.set(key, part);
  add(part.room, times, silent);
}

interface Left {
  /** Those of the most room first. */
  readonly names: readonly string[];
  /** With all hosts that are let in then. */
  readonly room: Room;
}

/**
 * The names without which a list keeps out few enough: those of one part, if one is enough, or else of the parts with most
 * room; of several the same ones, whichever host is looked at first.
 */
export function fewestLeftOut(parts: Parts, before: Room, isEnough: (room: Room) => boolean): Left {
  const byRoom = (one: Part, other: Part) =>
    other.room.times - one.room.times || other.room.hosts - one.room.hosts || (keyOf(one) < keyOf(other) ? -1 : 1);
  const all = [...parts.values()].sort(byRoom);
  const alone = all
    .filter(({ room }) => isEnough(both(before, room)))
    .sort((one, other) => one.names.length - other.names.length)[0];
  const needed = alone === undefined ? upTo(all, before, isEnough) : [alone];
  const roomWithout = (left: ReadonlySet<string>) =>
    all.filter((part) => part.names.every((name) => left.has(name))).reduce((sum, { room }) => both(sum, room), before);
  let names = [...new Set(needed.flatMap((part) => part.names))];
  // Together they may let in more than each by itself, so that some are not needed.
  for (const name of names.toReversed()) {
    const others = names.filter((other) => other !== name);
    if (others.length > 0 && isEnough(roomWithout(new Set(others)))) names = others;
  }
  return { names, room: roomWithout(new Set(names)) };
}

const keyOf = ({ names }: Part): string => names.join(', ');

/** The first ones, as many as are enough. */
function upTo(all: readonly Part[], before: Room, isEnough: (room: Room) => boolean): Part[] {
  const needed: Part[] = [];
  let room = before;
  for (const part of all) {
    if (isEnough(room)) break;
    needed.push(part);
    room = both(room, part.room);
  }
  return needed;
}

/** A host that is out of service. */
export interface Away {
  /** `<cell>/<host>`. */
  readonly host: string;
  readonly times: number;
  /** When it comes back by itself, ms since the epoch. */
  readonly until?: number | undefined;
  /** It is disabled, too, and has to be enabled when it is back. */
  readonly isDisabled: boolean;
  /** It is set aside until then if it is back before, ms since the epoch. */
  readonly asideUntil?: number | undefined;
  /** Those that are silent on whom it depends, where that is noted. */
  readonly silent?: Silenced | undefined;
}

/** Hosts that are to come back, and of how many they are. */
export interface Back {
  readonly back: readonly Away[];
  readonly of: number;
  /** On whom all depends: these, and the hosts that fit as it is. */
  readonly silent: Silenced;
}

/**
 * As many as are enough: of those that only have to come back, or, where these are too few, of those too that are set aside
 * then, or of all; and of how many they are. The first to come back by themselves, or else those with most room, and of those
 * that have as much first those that need not be enabled, and those that rest no longer.
 */
export function fewestBack(away: readonly Away[], before: Room, isEnough: (room: Room) => boolean): Back {
  const enabled = away.filter(({ isDisabled }) => !isDisabled);
  let back: readonly Away[] = [];
  let of = 0;
  for (const some of [enabled.filter(({ asideUntil }) => asideUntil === undefined), enabled, away]) {
    back = firstBack(some, before, isEnough);
    of = some.length;
    if (back.length > 0) break;
  }
  const silent = bothSilenced(before.silent, noneSilenced());
  for (const one of back) if (one.silent !== undefined) addSilenced(silent, one.silent);
  return { back, of, silent };
}

/** None: all of them are too few. */
function firstBack(away: readonly Away[], before: Room, isEnough: (room: Room) => boolean): Away[] {
  const inOrder = away
    .slice()
    .sort(
      (one, other) =>
        (one.until ?? 0) - (other.until ?? 0) ||
        other.times - one.times ||
        Number(one.isDisabled) - Number(other.isDisabled) ||
        (one.asideUntil ?? 0) - (other.asideUntil ?? 0) ||
        (one.host < other.host ? -1 : 1),
    );
  const room = { ...before };
  const end = inOrder.findIndex(({ times }) => {
    add(room, times);
    return isEnough(room);
  });
  return allNeeded(inOrder.slice(0, end + 1), room, isEnough);
}

/** Those that come back first may hold too little to matter beside the ones after them. */
function allNeeded(back: readonly Away[], all: Room, isEnough: (room: Room) => boolean): Away[] {
  const needed = new Set(back);
  let { times } = all;
  for (const one of back.toReversed().sort((one, other) => one.times - other.times)) {
    if (needed.size === 1 || !isEnough({ ...all, times: times - one.times })) continue;
    needed.delete(one);
    times -= one.times;
  }
  return [...needed];
}

/** How many things are to be done, or waited for: with each host that is to be back one, and what comes with it. */
export const effortOf = (back: readonly Pick<Away, 'isDisabled' | 'asideUntil'>[] = ALONE): number =>
  back.reduce((sum, { isDisabled, asideUntil }) => sum + 1 + Number(isDisabled) + Number(asideUntil !== undefined), 0);

/** Of whatever else is changed: one thing. */
const ALONE: readonly Pick<Away, 'isDisabled' | 'asideUntil'>[] = [{ isDisabled: false }];
