// What came of a packing experiment: for each policy how much of all GPUs was allocated when as much had arrived as
// there are, and more. The same experiment gives the same report, to the byte.

import type { PackingPolicyName } from '../../actors/scheduler/weighers/packing/policies.ts';
import { allocationAt, allocationBy, meanOf } from './curve.ts';
import type { Run } from './runs.ts';

export interface Allocation {
  /** Percent of all GPUs, the mean of the seeds in which so much arrived, or one percent less; null: in none. */
  readonly mean: number | null;
  /** Of each seed, in the order of `seeds`; null: neither arrived in it. */
  readonly seeds: readonly (number | null)[];
}

export interface CurvePoint {
  /** What has been asked for until now, percent of all GPUs. */
  readonly arrived: number;
  /** What is allocated then, percent of all GPUs: the mean of the seeds in which so much arrived, the least and the most. */
  readonly mean: number;
  readonly least: number;
  readonly most: number;
  /** How many seeds these are. */
  readonly ofSeeds: number;
}

export interface PolicyReport {
  readonly allocationAt100: Allocation;
  readonly allocationAt130: Allocation;
  /** Requests that fitted nowhere, the mean of all seeds. */
  readonly refused: number;
  /** As far as any seed has come. */
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
  /** How many requests never arrive, since each asks for more than `tune` times all GPUs by itself. */
  readonly leftOut: number;
  /** How many of the others no host could serve if it were empty. */
  readonly unservable: number;
  /** There may be more: not all were tried on all hosts, since the lists are so long. */
  readonly unservablePartly?: true;
  /** As it was given: 0 for the requests as they are in the trace. */
  readonly tune: number;
  /** What was asked for in the end, as a multiple of all GPUs: the mean of the seeds. */
  readonly asked: number;
  /** The same of each seed, in the order of `seeds`. */
  readonly askedOfSeeds: readonly number[];
  readonly seeds: readonly number[];
  readonly policies: Readonly<Partial<Record<PackingPolicyName, PolicyReport>>>;
}

/** As far as all seeds have come. */
export function inAllSeeds(curve: readonly CurvePoint[], seeds: readonly number[]): CurvePoint[] {
  return curve.filter(({ ofSeeds }) => ofSeeds === seeds.length);
}

/** Enough digits for any comparison, and none that depend on the order of a sum. */
function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

/** @param runs All of one policy, in the order of the seeds: it is the same of any policy. */
export function askedIn(runs: readonly Run[]): Pick<PackingReport, 'asked' | 'askedOfSeeds'> {
  const seeds = runs.map(({ asked }) => asked);
  return { asked: rounded(meanOf(seeds)), askedOfSeeds: seeds.map(rounded) };
}

/** @param runs All of one policy, in the order of the seeds. */
export function policyReport(runs: readonly Run[]): PolicyReport {
  const at = (percent: number): Allocation => {
    const seeds = runs.map(({ curve }) => allocationAt(curve, percent));
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
    curve: pointsOf(runs),
  };
}

function pointsOf(runs: readonly Run[]): CurvePoint[] {
  return Array.from({ length: Math.max(...runs.map(({ curve }) => curve.length)) }, (_, arrived) => {
    const values = runs.map(({ curve }) => allocationBy(curve, arrived)).filter((value) => value !== null);
    return {
      arrived,
      mean: rounded(meanOf(values)),
      least: rounded(Math.min(...values)),
      most: rounded(Math.max(...values)),
      ofSeeds: values.length,
    };
  });
}
