// Which of the hosts that fit a shape of request come first in rank: of all, of some cells, of those that have room for several
// instances at once, and of those that are not full for a group. What one choice has found serves the next.

import { type FullBy, membersOn, rootCount, rootsOf } from '../view/groups-view.ts';
import type { View } from '../view/view.ts';
import { type Among, bestOf, Front } from './best-first.ts';
import { type Box, hostAt } from './boxes.ts';
import { type Member, mostIn, NO_ROOM, slotsWithRoom } from './family-numbers.ts';
import { Fronts, type Part } from './fronts.ts';
import { FullForGroup } from './full-for-group.ts';
import type { Heap } from './heap.ts';
import { type RankedHosts, Several } from './several.ts';
import type { Hearing } from './stands.ts';
import type { Weighed } from './weighings.ts';

/** Some of the hosts that fit. */
export interface Choice {
  /** Of cells whose placement shards were heard lately, or are silent. */
  readonly hearings: readonly Hearing[];
  /** Only of these cells; undefined: of all. */
  readonly cells?: readonly string[] | undefined;
  /** And of none of these. */
  readonly avoids?: ReadonlySet<string> | undefined;
  /** And only those of these; undefined: of all that fit. */
  readonly several?: Several | undefined;
  /** These are not accepted; undefined: of no group that is known. */
  readonly full?: FullBy | undefined;
}

/** Of how many numbers of instances at once it is kept which hosts have room. */
const MAX_SEVERAL = 4;
/** Of how many groups it is kept which hosts are full. */
const MAX_FULL = 64;
/** A group that is on so few is looked for on all of them each time. */
const FEW_ROOTS = 64;

/** How often any host is drawn, before those that are accepted are gathered. */
const MAX_DRAWS = 64;

const keyOf = ({ group, mostOnHost }: FullBy): string => `${mostOnHost} ${group}`;

/** The hosts as a shape of request ranks them. */
interface Hosts extends RankedHosts {
  weighed(slot: number): Weighed;
}

export class FirstInRank {
  readonly #hosts: Hosts;
  readonly #view: View;
  /** Of all hosts. */
  readonly #front: Front;
  /** Of all cells that are heard. */
  readonly #heard: Fronts;
  #silencesNoted = 0;
  /** By how many instances at once; those that were used longest ago come first. */
  readonly #several = new Map<number, Several>();
  /** By group and how many of it a host may have; those that were used longest ago come first. */
  readonly #full = new Map<string, FullForGroup>();

  constructor(hosts: Hosts, view: View) {
    this.#hosts = hosts;
    this.#view = view;
    this.#front = new Front(hosts, () => hosts.own.cells);
    this.#heard = new Fronts(hosts, null, () => view.hostsIn.size);
  }

  /** Up to `most` hosts that fit and are accepted, best first. */
  bestOf(choice: Choice, most: number, accept: (one: Weighed) => boolean): Weighed[] {
    const { hearings, cells, avoids, several, full } = choice;
    const arePassed = this.#arePassed(choice);
    const from: Choice = arePassed ? { hearings, cells, avoids: undefined, several, full } : choice;
    const isAccepted = (slot: number) => {
      const one = this.#hosts.weighed(slot);
      return !(arePassed && avoids?.has(one.cell)) && accept(one);
    };
    const found =
      full === undefined ? this.#bestOf(from, most, isAccepted) : this.#bestBut(full, from, most, isAccepted);
    return found.map((slot) => this.#hosts.weighed(slot));
  }

  #bestOf(from: Choice, most: number, accept: (slot: number) => boolean): number[] {
    // Of one cell the first are found at once.
    const part = from.cells === undefined ? this.#partOf(from) : undefined;
    if (part === undefined) return bestOf(this.#among(from), most, accept);
    const among = () => this.#among(from);
    return part === null ? this.#front.bestOf(among, most, accept) : this.#heard.bestOf(part, among, most, accept);
  }

  /** Of which part of the hosts some are; undefined: of none of which the first are kept. */
  #partOf({ cells, avoids, several }: Choice): Part | undefined {
    const { silentShards, silentCells } = this.#view;
    if (several !== undefined || silentShards.size > 0) return undefined;
    if (avoids === undefined) return cells === undefined ? null : cells.length === 1 ? cells[0] : undefined;
    if (cells !== undefined || avoids !== silentCells) return undefined;
    this.#noteSilences();
    return avoids;
  }

  /** What was found where other cells were silent is so no more. */
  #noteSilences(): void {
    const { silencesNoted } = this.#view;
    if (this.#silencesNoted === silencesNoted) return;
    this.#silencesNoted = silencesNoted;
    this.#heard.forget();
    for (const full of this.#full.values()) full.fronts.forget();
  }

  /** Where hosts that are full for a group were many of the first in rank, they are passed once, and not by each choice. */
  #bestBut(by: FullBy, from: Choice, most: number, accept: (slot: number) => boolean): number[] {
    const full = this.#passedFor(by);
    if (full === null) {
      let refused = 0;
      const found = this.#bestOf(from, most, (slot) => {
        const isAccepted = accept(slot);
        if (!isAccepted) refused += 1;
        return isAccepted;
      });
      if (refused > FEW_ROOTS) this.#notePassed(by);
      return found;
    }
    const part = this.#partOf(from);
    const among = () => this.#among(from, full);
    return part === undefined ? bestOf(among(), most, accept) : full.fronts.bestOf(part, among, most, accept);
  }

  /** Hosts that are full for a group, if it was seen that they are many of the first in rank. */
  #passedFor(by: FullBy): FullForGroup | null {
    return this.#full.get(keyOf(by))?.arePassed === true ? this.#notePassed(by) : null;
  }

  #notePassed(by: FullBy): FullForGroup | null {
    if (rootCount(this.#view.groups, by.group) <= FEW_ROOTS) return null;
    const full = this.#followed(by);
    full.arePassed = true;
    return full;
  }

  /** Whether hosts of the cells to avoid are passed one by one: to look at each of the other cells takes longer. */
  #arePassed({ cells, avoids }: Choice): boolean {
    if (avoids === undefined || cells !== undefined) return false;
    const { hostsIn } = this.#view;
    let hosts = 0;
    for (const cell of avoids) {
      hosts += hostsIn.get(cell) ?? 0;
      if (hosts > hostsIn.size) return false;
    }
    return true;
  }

  /** A host is ranked in another way though it has not changed. */
  rankedAnew(slot: number): void {
    this.#front.forget();
    this.#heard.forget();
    for (const several of this.#several.values()) several.look(slot);
    for (const full of this.#full.values()) {
      full.look(slot);
      full.fronts.forget();
    }
  }

  /** Those of the hosts that fit that have room for several at once, as far as numbers tell. */
  severalOf(count: number, isAsMany: (root: string) => boolean, areNumbersAll: boolean): Several {
    let several = this.#several.get(count);
    this.#several.delete(count);
    if (several?.follow() !== true) several = new Several(this.#hosts, this.#view, count, isAsMany, areNumbersAll);
    this.#several.set(count, several);
    if (this.#several.size > MAX_SEVERAL) this.#several.delete(this.#several.keys().next().value as number);
    return several;
  }

  /** How many of the hosts that fit have as many members of a group as a host may have. */
  fullFor(group: string, mostOnHost: number): number {
    const { groups } = this.#view;
    if (rootCount(groups, group) <= FEW_ROOTS) {
      const isFull = (root: string) => this.#fits(root) && membersOn(groups, group, root) >= mostOnHost;
      return rootsOf(groups, group).filter(isFull).length;
    }
    return this.#followed({ group, mostOnHost }).count;
  }

  #fits(root: string): boolean {
    const slot = this.#hosts.slots.of(root);
    return slot !== undefined && this.#hosts.isRanked(slot);
  }

  #followed(by: FullBy): FullForGroup {
    const key = keyOf(by);
    const known = this.#full.get(key);
    this.#full.delete(key);
    const full = known?.follow() === true ? known : new FullForGroup(this.#hosts, this.#view.groups, by);
    full.arePassed = known?.arePassed === true;
    this.#full.set(key, full);
    if (this.#full.size > MAX_FULL) this.#full.delete(this.#full.keys().next().value as string);
    return full;
  }

  #among({ hearings, cells, avoids, several }: Choice, full: FullForGroup | null = null): Among {
    const { own, member } = several ?? this.#hosts;
    const named = cells === undefined ? undefined : [...new Set(cells)];
    const heaps: Heap[] = [];
    const boxes: Box[] = [];
    for (const hearing of hearings) {
      for (const heap of own.heaps(hearing, named)) if (avoids?.has(heap.cell) !== true) heaps.push(heap);
      if (member === null) continue;
      const { hosts } = member.known;
      if (named === undefined && avoids === undefined) {
        for (const { root } of hosts.boxesOfAllCells(hearing)) if (root !== null) boxes.push(root);
        continue;
      }
      for (const { cell, boxes: all } of hosts.placesOf(hearing, named)) {
        if (all.root !== null && avoids?.has(cell) !== true) boxes.push(all.root);
      }
    }
    return { order: own, heaps, boxes, member, isOut: full === null ? null : full.has };
  }

  /**
   * One that fits and is accepted, each as likely as the others; undefined: there is none.
   * @param draw A number below the one that it is given, another one each time.
   */
  anyOf(choice: Choice, accept: (one: Weighed) => boolean, draw: (below: number) => number): Weighed | undefined {
    const { heaps, boxes: all, member } = this.#among(choice);
    const boxes = all.filter((box) => mostIn(member as Member, box) !== NO_ROOM);
    const counts = [...heaps.map(({ slots }) => slots.length), ...boxes.map(({ count }) => count)];
    const hosts = counts.reduce((sum, count) => sum + count, 0);
    for (let draws = 0; hosts > 0 && draws < MAX_DRAWS; draws += 1) {
      let position = draw(hosts);
      let place = 0;
      for (; position >= (counts[place] as number); place += 1) position -= counts[place] as number;
      const heap = heaps[place];
      const slot = heap?.slots[position] ?? hostAt(boxes[place - heaps.length] as Box, position);
      if (this.#hosts.isRanked(slot) && accept(this.#hosts.weighed(slot))) return this.#hosts.weighed(slot);
    }
    const slots = [
      ...heaps.flatMap((heap) => heap.slots),
      ...boxes.flatMap((box) => slotsWithRoom(member as Member, box)),
    ];
    const accepted = slots.filter((slot) => accept(this.#hosts.weighed(slot)));
    return accepted.length === 0 ? undefined : this.#hosts.weighed(accepted[draw(accepted.length)] as number);
  }

  /** For how many hosts there is room in what is kept of them. */
  get size(): number {
    let { size } = this.#heard;
    for (const { own } of this.#several.values()) size += own.size;
    for (const full of this.#full.values()) size += full.size;
    return size;
  }
}
