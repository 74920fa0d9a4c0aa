// What a host is doing: prefers the one with the fewest instances, or with the fewest being built. The first of them
// counts most: nobody to one is a longer way than nine to ten.

import type { Weigher } from './weigher.ts';

/** With this many, a host is worth half. */
const HALF_AT_INSTANCES = 25;
const HALF_AT_BUILDS = 4;

export const fewInstances: Weigher = {
  name: 'few-instances',
  multiplier: 1,
  ignoresAmounts: true,
  weigh: ({ host }) => HALF_AT_INSTANCES / (HALF_AT_INSTANCES + host.stats.instances),
};

export const fewBuilds: Weigher = {
  name: 'few-builds',
  multiplier: 1,
  ignoresAmounts: true,
  weigh: ({ host }) => HALF_AT_BUILDS / (HALF_AT_BUILDS + host.stats.builds),
};
