// Counting, for each shape of request, how many hosts every reason refuses, and which of them came nearest. It follows
// the one host that changed, so that a decision can say what stood against all hosts without looking at them.

import { clipped } from '../messages/common.ts';
import { MAX_MESSAGE_LENGTH } from '../messages/decision.ts';
import { FILTER_FAILED } from './filters/filter.ts';

/** Why a host is refused, in short: a stable code, and what it is about, such as a resource class or a trait. */
export interface Obstacle {
  readonly code: string;
  readonly about?: string | undefined;
  /** By how much it fell short, where that can be said. */
  readonly short?: number | undefined;
  /** For people. */
  readonly message?: string | undefined;
}

/** A host that is refused: it counts for as long as it is the host's last. */
interface Refused {
  readonly root: string;
  readonly reason: Reason;
  readonly short: number;
}

/** All hosts that one reason refuses. */
interface Reason {
  readonly code: string;
  readonly about: string | undefined;
  /** What was said of the first host, of a filter that failed: its name alone says nothing of why. */
  readonly message: string | undefined;
  hosts: number;
  /** Those that fell short, the nearest first; it may hold some that count no more. */
  near: Refused[];
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

export function emptyCensus(): Census {
  return { refused: new Map(), reasons: new Map() };
}

/** The host is refused no more, or is no more. */
export function unrefuse(census: Census, root: string): void {
  const before = census.refused.get(root);
  if (before === undefined) return;
  census.refused.delete(root);
  before.reason.hosts -= 1;
  if (before.reason.hosts === 0) census.reasons.delete(keyOf(before.reason));
}

export function refuse(census: Census, root: string, { code, about, short, message = '' }: Obstacle): void {
  const before = census.refused.get(root);
  if (before !== undefined) {
    const { reason } = before;
    if (reason.code === code && reason.about === about && before.short === (short ?? Number.POSITIVE_INFINITY)) return;
    unrefuse(census, root);
  }
  const key = about === undefined ? code : keyOf({ code, about });
  let reason = census.reasons.get(key);
  if (reason === undefined) {
    const first = code === FILTER_FAILED ? clipped(message, MAX_MESSAGE_LENGTH) : undefined;
    reason = { code, about, message: first, hosts: 0, near: [] };
    census.reasons.set(key, reason);
  }
  const refused = { root, reason, short: short ?? Number.POSITIVE_INFINITY };
  census.refused.set(root, refused);
  reason.hosts += 1;
  if (short !== undefined) push(census, reason, refused);
}

const keyOf = ({ code, about }: { code: string; about: string | undefined }): string =>
  about === undefined ? code : `${code} ${about}`;

/** Every reason with its hosts, the one that refuses most first. */
export function counted(census: Census): Counted[] {
  return [...census.reasons.values()]
    .map((reason) => {
      const { code, about, message, hosts } = reason;
      const near = nearestOf(census, reason);
      const nearest = near === undefined ? undefined : { root: near.root, short: near.short };
      return { code, about, message, hosts, nearest };
    })
    .sort((one, other) => other.hosts - one.hosts);
}

function nearestOf(census: Census, { near }: Reason): Refused | undefined {
  while (near.length > 0 && census.refused.get((near[0] as Refused).root) !== near[0]) pop(near);
  return near[0];
}

function push(census: Census, reason: Reason, entry: Refused): void {
  if (reason.near.length > 4 * reason.hosts + 64) {
    // Most of it counts no more.
    const counts = reason.near.filter((one) => census.refused.get(one.root) === one);
    reason.near = counts.sort((one, other) => one.short - other.short);
  }
  const heap = reason.near;
  let position = heap.length;
  heap.push(entry);
  while (position > 0) {
    const parent = (position - 1) >> 1;
    if ((heap[parent] as Refused).short <= entry.short) break;
    heap[position] = heap[parent] as Refused;
    position = parent;
  }
  heap[position] = entry;
}

function pop(heap: Refused[]): void {
  const last = heap.pop() as Refused;
  if (heap.length === 0) return;
  let position = 0;
  for (;;) {
    let child = 2 * position + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && (heap[child + 1] as Refused).short < (heap[child] as Refused).short) child += 1;
    if ((heap[child] as Refused).short >= last.short) break;
    heap[position] = heap[child] as Refused;
    position = child;
  }
  heap[position] = last;
}
