// The small world of the random requests, and how they choose from it.

import type { Random } from '../../../runtime/random.ts';

export const uuid = (kind: string, n: number) => `${kind.repeat(8)}-0000-4000-8000-00000000000${n}`;
export const PROVIDERS = [0, 1, 2, 3, 4, 5, 6].map((n) => uuid('a', n));
export const CONSUMERS = [0, 1, 2, 3, 4].map((n) => uuid('c', n));
export const AGGREGATES = [0, 1, 2].map((n) => uuid('e', n));
export const CLASSES = ['VCPU', 'MEMORY_MB', 'DISK_GB', 'CUSTOM_GOLD'];
export const TRAITS = ['HW_CPU_X86_AVX', 'MISC_SHARES_VIA_AGGREGATE', 'CUSTOM_RED', 'CUSTOM_BLUE'];
export const PROJECTS = ['project-1', 'project-2'];
export const MAX_MINOR = 39;

export interface Chooser {
  readonly chance: (share: number) => boolean;
  readonly of: <Item>(items: readonly Item[]) => Item;
  readonly upTo: (most: number) => number;
  readonly some: <Item>(items: readonly Item[], share: number) => Item[];
}

export function chooserOf(random: Random): Chooser {
  const upTo = (most: number) => Math.floor(random.next() * (most + 1));
  const chance = (share: number) => random.next() < share;
  return {
    chance,
    upTo,
    of: (items) => items[upTo(items.length - 1)] as (typeof items)[number],
    some: (items, share) => items.filter(() => chance(share)),
  };
}
