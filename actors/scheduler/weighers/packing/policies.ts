// Packing policies by name: the weighers with which a scheduler chooses as a policy of the literature does.

import type { Weigher } from '../weigher.ts';
import { bestFit } from './best-fit.ts';
import { dotProduct } from './dot-product.ts';
import type { TypicalRequest } from './fragmentation.ts';
import { fragmentationGradient } from './fragmentation-gradient.ts';
import { gpuClustering } from './gpu-clustering.ts';
import { gpuPacking } from './gpu-packing.ts';
import { MILLI_SCALE, type PackingScale } from './load.ts';
import { random } from './random.ts';

export const PACKING_POLICIES = ['random', 'dot-product', 'gpu-clustering', 'gpu-packing', 'best-fit', 'fgd'] as const;
export type PackingPolicyName = (typeof PACKING_POLICIES)[number];

/** The options of a scheduler that make it follow a policy. */
export interface PackingPolicy {
  readonly weighers: readonly [Weigher];
  /** Among how many of the best hosts one is picked by chance. */
  readonly pickAmong: number;
}

export interface PackingOptions {
  /** Default: thousandths of processors and GPUs, as in the published experiments. */
  readonly scale?: PackingScale;
  /** What `fgd` measures fragmentation by. */
  readonly typical: readonly TypicalRequest[];
  /** Decides what `random` draws. */
  readonly seed: string;
}

export function packingPolicy(name: PackingPolicyName, options: PackingOptions): PackingPolicy {
  return { weighers: [weigherOf(name, options)], pickAmong: name === 'random' ? Number.POSITIVE_INFINITY : 1 };
}

function weigherOf(name: PackingPolicyName, { scale = MILLI_SCALE, typical, seed }: PackingOptions): Weigher {
  switch (name) {
    case 'random':
      return random(seed);
    case 'dot-product':
      return dotProduct(scale);
    case 'gpu-clustering':
      return gpuClustering(scale);
    case 'gpu-packing':
      return gpuPacking(scale);
    case 'best-fit':
      return bestFit(scale);
    case 'fgd':
      return fragmentationGradient(typical, scale);
  }
}
