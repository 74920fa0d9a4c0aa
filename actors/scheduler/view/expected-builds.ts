// The builds that this scheduler has claimed a host for and of which the host's cell has not told yet.

import type { SteadyTime } from '../../actor.ts';
import { PassingMap } from '../../passing-map.ts';

export class ExpectedBuilds {
  /** When the host of each was claimed, oldest first; by the root of the host. */
  readonly #on = new PassingMap<string, Map<string, SteadyTime>>();
  readonly #rootOf = new PassingMap<string, string>();

  /** Expects the build of an instance on a host, and on no other any more. */
  add(instance: string, root: string, at: number): void {
    this.delete(instance);
    const builds = this.#on.get(root) ?? new Map<string, number>();
    builds.set(instance, at);
    this.#on.set(root, builds);
    this.#rootOf.set(instance, root);
  }

  /** Nothing comes of a build. Answers the root of the host on which it was expected. */
  delete(instance: string): string | undefined {
    const root = this.#rootOf.take(instance);
    const builds = this.#on.get(root ?? '');
    builds?.delete(instance);
    if (builds?.size === 0) this.#on.delete(root as string);
    return root;
  }

  /** So many of a host, the oldest first, are expected no longer. */
  deleteOldest(root: string, count: number): void {
    for (const instance of [...(this.#on.get(root)?.keys() ?? [])].slice(0, count)) this.delete(instance);
  }

  /** Those of a host that were claimed up to a time are expected no longer. */
  deleteUntil(root: string, time: number): void {
    for (const [instance, at] of [...(this.#on.get(root) ?? [])]) if (at <= time) this.delete(instance);
  }

  /** How many are expected on a host that were claimed after a time. */
  countOn(root: string, after: number): number {
    let count = 0;
    for (const at of this.#on.get(root)?.values() ?? []) if (at > after) count += 1;
    return count;
  }

  /** When the host of the oldest one there was claimed, or undefined when none is expected. */
  oldestOn(root: string): number | undefined {
    return this.#on.get(root)?.values().next().value;
  }

  /** Of the hosts on which some are expected. */
  roots(): Iterable<string> {
    return this.#on.keys();
  }
}
