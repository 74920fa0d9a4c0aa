// What refuses the hosts that do not fit a shape of request, whoever tells of it: how many each reason, and which came nearest.

import { type Counted, mostRefusingFirst, type Reason, reasonKey } from './census.ts';
import type { Member } from './family-numbers.ts';
import { before } from './heap.ts';
import type { Slots } from './slots.ts';
import type { Refusing, Stands } from './stands.ts';
import type { Tally } from './tally.ts';

/** The hosts as a shape of request ranks them. */
interface Hosts {
  readonly slots: Slots;
  readonly own: Stands;
  readonly member: Member | null;
  tallied(): Tally | null;
}

/** Whether more stands in the way of a host that came nearest, and whether that is known until the host changes. */
export interface More {
  lacksMore(root: string): boolean;
  readonly isKept: boolean;
}

/** Of how many reasons it is asked whether more stands in the way: of hardly any request there are more. */
const MAX_ASKED = 16;

export class Refusals {
  /** Of the nearest of each reason, whether more stands in its way. */
  readonly #lacksMore = new Map<
    string,
    { readonly slot: number; readonly version: number; readonly lacksMore: boolean }
  >();
  readonly #hosts: Hosts;
  /** By which the family tells it of its hosts; null: it tells nothing. */
  readonly #member: Member | null;

  /** @param isCounted Whether the family counts what refuses its hosts. */
  constructor(hosts: Hosts, isCounted: boolean) {
    this.#hosts = hosts;
    this.#member = isCounted ? hosts.member : null;
  }

  /** How many hosts are refused. */
  get hosts(): number {
    const { refused } = this.#hosts.own;
    if (this.#member === null) return refused;
    return refused + this.#member.known.hosts.refused.refused + (this.#hosts.tallied() as Tally).refused;
  }

  /** By which reasons they are. */
  reasons(): Pick<Reason, 'code' | 'about'>[] {
    return this.#all().map(({ reason }) => reason);
  }

  /**
   * Every reason with its hosts.
   * @param more What is asked of the host that came nearest; once until it changes, if it is kept.
   */
  counted(more: More): Counted[] {
    const counts = this.#all().map(({ reason, hosts, nearest }) => ({ ...reason, hosts, found: nearest }));
    return mostRefusingFirst(counts).map(({ found, ...count }, position) => {
      if (found === undefined) return count;
      const { slot, short } = found;
      const nearest = { root: this.#hosts.slots.roots[slot] as string, short };
      if (position >= MAX_ASKED || !this.#doesLackMore(reasonKey(count), slot, nearest.root, more)) {
        return { ...count, nearest };
      }
      return { ...count, nearest: { ...nearest, lacksMore: true as const } };
    });
  }

  #doesLackMore(key: string, slot: number, root: string, more: More): boolean {
    const version = this.#hosts.slots.versions[slot] as number;
    const known = more.isKept ? this.#lacksMore.get(key) : undefined;
    if (known?.slot === slot && known.version === version) return known.lacksMore;
    const lacksMore = more.lacksMore(root);
    if (more.isKept) this.#lacksMore.set(key, { slot, version, lacksMore });
    return lacksMore;
  }

  #all(): Refusing[] {
    const own = this.#hosts.own.refusing();
    if (this.#member === null) return own;
    const found = new Map(own.map((one) => [reasonKey(one.reason), one]));
    const add = (one: Refusing) => {
      const key = reasonKey(one.reason);
      const known = found.get(key);
      found.set(key, known === undefined ? one : this.#together(known, one));
    };
    for (const one of this.#member.known.hosts.refused.refusing()) add(one);
    for (const one of (this.#hosts.tallied() as Tally).refusing()) add(one);
    return [...found.values()];
  }

  #together(one: Refusing, other: Refusing): Refusing {
    const hosts = one.hosts + other.hosts;
    return { ...one, hosts, nearest: this.#nearer(one.nearest, other.nearest) };
  }

  #nearer(one: Refusing['nearest'], other: Refusing['nearest']): Refusing['nearest'] {
    if (one === undefined || other === undefined) return one ?? other;
    const { commonTies } = this.#hosts.slots;
    const [tie, otherTie] = [commonTies[one.slot] as number, commonTies[other.slot] as number];
    return before({ weight: -one.short, tie }, { weight: -other.short, tie: otherTie }) ? one : other;
  }
}
