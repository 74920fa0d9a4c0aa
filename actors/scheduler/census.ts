// Counting, for each shape of request, how many hosts every reason refuses, and which of them came nearest. It follows
// the one host that changed, so that a decision can say what stood against all hosts without looking at them.

import { clipped } from '../messages/common.ts';
import { MAX_MESSAGE_LENGTH } from '../messages/stored-decision.ts';
import { fnv1a } from '../routing.ts';
import { FILTER_FAILED } from './filters/filter.ts';
import { before, type Entry, type Heap, insert, remove } from './heap.ts';

/** Why a host is refused, in short: a stable code, and what it is about, such as a resource class or a trait. */
export interface Obstacle {
  readonly code: string;
  readonly about?: string | undefined;
  /** By how much it fell short, where that can be said. */
  readonly short?: number | undefined;
  /** For people. */
  readonly message?: string | undefined;
}

/** A host that is refused. The less it fell short the more it weighs; least where that cannot be said. */
interface Refused extends Entry {
  readonly root: string;
  readonly reason: Reason;
  /** Whether more stands in its way; undefined: nobody has asked since the host changed. */
  lacksMore: boolean | undefined;
}

/** All hosts that one reason refuses. */
interface Reason {
  readonly code: string;
  readonly about: string | undefined;
  /** What was said of the first host, of a filter that failed: its name alone says nothing of why. */
  readonly message: string | undefined;
  hosts: number;
  /** Those of which it can be said how much they fell short, the nearest first. */
  readonly near: Heap<Refused>;
}

export interface Census {
  readonly refused: Map<string, Refused>;
  readonly reasons: Map<string, Reason>;
}

/** How many hosts a reason refused, and the nearest of them. */
export interface Counted {
  readonly code: string;
  readonly about?: string | undefined;
  readonly message?: string | undefined;
  readonly hosts: number;
  readonly nearest?: NearHost | undefined;
}

export interface NearHost {
  readonly root: string;
  readonly short: number;
  /** Something else stands in its way too. */
  readonly lacksMore?: true;
}

/** What a host weighs of which it cannot be said how much it fell short. */
const UNTOLD = Number.NEGATIVE_INFINITY;

export function emptyCensus(): Census {
  return { refused: new Map(), reasons: new Map() };
}

/** The host is refused no more, or is no more. */
export function unrefuse(census: Census, root: string): void {
  const before = census.refused.get(root);
  if (before === undefined) return;
  census.refused.delete(root);
  before.reason.hosts -= 1;
  if (before.weight !== UNTOLD) remove(before.reason.near, before);
  if (before.reason.hosts === 0) census.reasons.delete(keyOf(before.reason));
}

export function refuse(census: Census, root: string, { code, about, short, message = '' }: Obstacle): void {
  const weight = short === undefined ? UNTOLD : -short;
  const before = census.refused.get(root);
  if (before !== undefined) {
    const { reason } = before;
    before.lacksMore = undefined;
    if (reason.code === code && reason.about === about && before.weight === weight) return;
    unrefuse(census, root);
  }
  const key = about === undefined ? code : keyOf({ code, about });
  let reason = census.reasons.get(key);
  if (reason === undefined) {
    const first = code === FILTER_FAILED ? clipped(message, MAX_MESSAGE_LENGTH) : undefined;
    reason = { code, about, message: first, hosts: 0, near: [] };
    census.reasons.set(key, reason);
  }
  // Of hosts that fell short of as much every scheduler names the same one.
  const tie = weight === UNTOLD ? 0 : fnv1a(root);
  const refused = { root, reason, weight, tie, at: 0, lacksMore: undefined };
  census.refused.set(root, refused);
  reason.hosts += 1;
  if (weight !== UNTOLD) insert(reason.near, refused);
}

/** Whether a host that is refused would be the nearest of its reason. */
export function comesNearest({ reasons }: Census, root: string, { code, about, short }: Obstacle): boolean {
  if (short === undefined) return false;
  const first = reasons.get(keyOf({ code, about }))?.near[0];
  return first === undefined || before({ weight: -short, tie: fnv1a(root) }, first);
}

const keyOf = ({ code, about }: Pick<Counted, 'code' | 'about'>): string =>
  about === undefined ? code : `${code} ${about}`;

/**
 * Every reason with its hosts, the one that refuses most first; of those that refuse as many always the same one.
 * @param more What is asked of the host that came nearest, of so many reasons at once; once until it changes, if it is kept.
 */
export function counted(
  census: Census,
  more?: { lacksMore(root: string): boolean; readonly isKept: boolean },
): Counted[] {
  return [...census.reasons.values()]
    .sort((one, other) => other.hosts - one.hosts || (keyOf(one) < keyOf(other) ? -1 : 1))
    .map(({ code, about, message, hosts, near: [first] }, position) => {
      if (first === undefined) return { code, about, message, hosts };
      const nearest = { root: first.root, short: -first.weight };
      if (more === undefined || position >= MAX_ASKED) return { code, about, message, hosts, nearest };
      const lacksMore = (more.isKept ? first.lacksMore : undefined) ?? more.lacksMore(first.root);
      if (more.isKept) first.lacksMore = lacksMore;
      return { code, about, message, hosts, nearest: lacksMore ? { ...nearest, lacksMore: true as const } : nearest };
    });
}

/** Of how many reasons it is asked: of hardly any request there are more. */
const MAX_ASKED = 16;
