// What came of a packing experiment: for each policy how much of all GPUs was allocated when as much had arrived as
// there are, and more. The same experiment gives the same report, to the byte.

import type { PackingPolicyName } from '../../actors/scheduler/weighers/packing/policies.ts';
import { allocationAt, meanOf } from './curve.ts';
import type { Run } from './runs.ts';

export interface Allocation {
  /** Percent of all GPUs, the mean of all seeds; null: not so much was to arrive. */
  readonly mean: number | null;
  /** Of each seed, in the order of `seeds`. */
  readonly seeds: readonly (number | null)[];
}

export interface CurvePoint {
  /** What has been asked for until now, percent of all GPUs. */
  readonly arrived: number;
  /** What is allocated then, percent of all GPUs: the mean of all seeds, the least and the most. */
  readonly mean: number;
  readonly least: number;
  readonly most: number;
}

export interface PolicyReport {
  readonly allocationAt100: Allocation;
  readonly allocationAt130: Allocation;
  /** Requests that fitted nowhere, the mean of all seeds. */
  readonly refused: number;
  readonly curve: readonly CurvePoint[];
}

export interface PackingReport {
  readonly nodes: string;
  readonly pods: string;
  readonly hosts: number;
  readonly gpus: number;
  readonly requests: number;
  /** Models of GPUs that requests would take and no host has, with the number of these requests. */
  readonly absentModels: Readonly<Record<string, number>>;
  /** As it was given: 0 for the requests as they are in the trace. */
  readonly tune: number;
  /** What is asked for in the end, as a multiple of all GPUs: `tune`, or what the trace asks for. */
  readonly asked: number;
  readonly seeds: readonly number[];
  readonly policies: Readonly<Partial<Record<PackingPolicyName, PolicyReport>>>;
}

/** Enough digits for any comparison, and none that depend on the order of a sum. */
export function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

/**
 * @param runs All of one policy, in the order of the seeds.
 * @param asked What was asked for in the end, as a multiple of all GPUs.
 */
export function policyReport(runs: readonly Run[], asked: number): PolicyReport {
  const at = (percent: number): Allocation => {
    const seeds = runs.map(({ curve }) => allocationAt(curve, percent, asked));
    const known = seeds.filter((one) => one !== null);
    return {
      mean: known.length === 0 ? null : rounded(meanOf(known)),
      seeds: seeds.map((one) => (one === null ? null : rounded(one))),
    };
  };
  return {
    allocationAt100: at(100),
    allocationAt130: at(130),
    refused: rounded(meanOf(runs.map(({ refused }) => refused))),
    curve: pointsOf(runs, asked),
  };
}

function pointsOf(runs: readonly Run[], asked: number): CurvePoint[] {
  const last = Math.round(100 * asked);
  return Array.from({ length: last + 1 }, (_, arrived) => {
    const values = runs.map(({ curve }) => allocationAt(curve, arrived, asked) as number);
    return {
      arrived,
      mean: rounded(meanOf(values)),
      least: rounded(Math.min(...values)),
      most: rounded(Math.max(...values)),
    };
  });
}
