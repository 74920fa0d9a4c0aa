// Counting how many hosts every reason refuses, and which of them came nearest, so that a decision can say what stood
// against all hosts.

import { clipped } from '../../messages/common.ts';
import { MAX_MESSAGE_LENGTH } from '../../messages/stored-decision.ts';
import { fnv1a } from '../../routing.ts';
import { FILTER_FAILED } from '../filters/filter.ts';
import { before } from './heap.ts';

/** Why a host is refused, in short: a stable code, and what it is about, such as a resource class or a trait. */
export interface Obstacle {
  readonly code: string;
  readonly about?: string | undefined;
  /** By how much it fell short, where that can be said. */
  readonly short?: number | undefined;
  /** For people. */
  readonly message?: string | undefined;
}

/** What hosts are refused for that are counted together. */
export interface Reason {
  readonly code: string;
  readonly about: string | undefined;
  /** What was said of the first host, of a filter that failed: its name alone says nothing of why. */
  readonly message: string | undefined;
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

export function reasonOf({ code, about, message = '' }: Obstacle): Reason {
  return { code, about, message: code === FILTER_FAILED ? clipped(message, MAX_MESSAGE_LENGTH) : undefined };
}

/** Names a reason among all. */
export const reasonKey = ({ code, about }: Pick<Obstacle, 'code' | 'about'>): string =>
  about === undefined ? code : `${code} ${about}`;

/** The one that refuses most first; of those that refuse as many always the same one. */
export function mostRefusingFirst<One extends Pick<Counted, 'code' | 'about' | 'hosts'>>(counts: One[]): One[] {
  return counts.sort((one, other) => other.hosts - one.hosts || (reasonKey(one) < reasonKey(other) ? -1 : 1));
}

interface Tallied extends Reason {
  hosts: number;
  nearest: NearHost | undefined;
}

/** Counts hosts once, each of them once. */
export class Census {
  readonly #reasons = new Map<string, Tallied>();
  /** How many are refused. */
  hosts = 0;

  /** @param hosts How many are refused in this way, where one stands for others that are like it. */
  refuse(root: string, obstacle: Obstacle, hosts = 1): void {
    if (hosts === 0) return;
    const key = reasonKey(obstacle);
    let reason = this.#reasons.get(key);
    if (reason === undefined) {
      reason = { ...reasonOf(obstacle), hosts: 0, nearest: undefined };
      this.#reasons.set(key, reason);
    }
    this.hosts += hosts;
    reason.hosts += hosts;
    const { short } = obstacle;
    if (short !== undefined && isNearer(reason.nearest, root, short)) reason.nearest = { root, short };
  }

  /** Whether a host that is refused would be the nearest of its reason. */
  comesNearest(root: string, obstacle: Obstacle): boolean {
    const { short } = obstacle;
    return short !== undefined && isNearer(this.#reasons.get(reasonKey(obstacle))?.nearest, root, short);
  }

  counted(): Counted[] {
    return mostRefusingFirst([...this.#reasons.values()].map((reason) => ({ ...reason })));
  }
}

/** Of hosts that fell short of as much every scheduler names the same one. */
function isNearer(nearest: NearHost | undefined, root: string, short: number): boolean {
  if (nearest === undefined) return true;
  return before({ weight: -short, tie: fnv1a(root) }, { weight: -nearest.short, tie: fnv1a(nearest.root) });
}
