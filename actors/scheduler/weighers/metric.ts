// Prefers hosts whose driver measures much of something, or little with a negative multiplier: load, temperature, the
// age of its software. The scale is said with it; a host that does not measure it counts as the worse end.

import type { Weigher } from './weigher.ts';

export interface Scale {
  /** What counts as 0. */
  readonly least: number;
  /** What counts as 1; more than `least`. */
  readonly most: number;
}

export function metric(name: string, { least, most }: Scale, multiplier = 1): Weigher {
  return {
    name: `metric-${name}`,
    multiplier,
    ignoresAmounts: true,
    weigh: ({ host }) => ((host.stats.metrics?.[name] ?? Number.NaN) - least) / (most - least),
  };
}
