// Performs a packing experiment for a command: shows how far it is, prints the table, writes the record and the plot.

import { basename } from 'node:path';
import { createLogUpdate } from 'log-update';
import type { PackingPolicyName } from '../../actors/scheduler/weighers/packing/policies.ts';
import { MalformedError } from '../errors.ts';
import type { Experiment } from '../packing/experiment.ts';
import { type NeverPlaced, neverPlaced } from '../packing/never-placed.ts';
import { plotOf } from '../packing/plot.ts';
import {
  type Allocation,
  askedIn,
  type CurvePoint,
  inAllSeeds,
  type PackingReport,
  policyReport,
} from '../packing/report.ts';
import { type Run, startWorkers, type Workers } from '../packing/runs.ts';
import { type PackingRequest, type PackingTrace, readPackingTrace } from '../packing/trace.ts';
import { DRAW_EVERY_MS, WRITE_EVERY_MS } from './display.ts';
import { checkApart, checkWritable, peoplesOutput, writeTo } from './files.ts';
import { onInterrupt } from './interrupt.ts';
import { showReading } from './show-reading.ts';
import { counted, figure, printable, seconds, table } from './text.ts';

export interface PackFlags {
  nodes: string;
  pods: string;
  policy: PackingPolicyName[];
  seeds: number;
  tune: number;
  json?: string;
  plot?: string;
}

/** As the published experiment numbers its seeds. */
const FIRST_SEED = 42;
/** Of how many requests a remark has the names, and of how many models there is one. */
const MAX_NAMED = 5;

/**
 * @throws CellwrightError `interrupted`, `unwritable`, `bad-option` when one file would be written over another; what
 * reading the trace throws, and what it throws when too much is asked for.
 */
export async function performPack({ nodes, pods, policy, seeds: count, tune, json, plot }: PackFlags): Promise<void> {
  checkWritable('json', json);
  checkWritable('plot', plot);
  checkApart({ nodes, pods }, { json, plot });
  const seeds = Array.from({ length: count }, (_, position) => FIRST_SEED + position);
  const experiments = policy.flatMap((name) => seeds.map((seed): Experiment => ({ policy: name, seed, tune })));
  const workers = startWorkers(experiments.length);
  try {
    const trace = showReading((onRead) => readPackingTrace(nodes, pods, onRead));
    const never = neverPlaced(trace, tune);
    const remarks = remarksOn(trace, never, { nodes, pods, tune });
    if (remarks.length > 0) console.error(printable(remarks));
    const begunAt = performance.now();
    const runs = await performShown(workers, trace, experiments).catch((error) => {
      // What a run finds wrong with how much is asked for, it finds in the list of requests, whose name it is not told.
      if (!(error instanceof MalformedError && error.field === 'tune')) throw error;
      throw new MalformedError(`'${pods}': ${error.message}`, { field: error.field, cause: error });
    });
    const report: PackingReport = {
      nodes: basename(nodes),
      pods: basename(pods),
      hosts: trace.hosts.length,
      gpus: trace.gpuMilli / 1_000,
      requests: trace.requests.length,
      absentModels: Object.fromEntries(trace.absentModels),
      leftOut: never.leftOut.length,
      unservable: never.unservable.length,
      ...(never.isPartly ? { unservablePartly: true } : {}),
      tune,
      ...askedIn(runs.slice(0, seeds.length)),
      seeds,
      policies: Object.fromEntries(
        policy.map((name) => [name, policyReport(runs.filter((run) => run.policy === name))]),
      ),
    };
    const took = `took ${seconds(performance.now() - begunAt)} for ${counted(runs.length, 'run')}`;
    peoplesOutput(json).write(`${[...linesOf(report), took].join('\n')}\n`);
    try {
      if (json !== undefined) writeTo('json', json, `${JSON.stringify(report, null, 2)}\n`);
    } finally {
      // Hours of work may be in it: what can be kept of that is kept.
      if (plot !== undefined) writeTo('plot', plot, plotOf(report));
    }
  } finally {
    workers.stop();
  }
}

/** What of the lists will not come to what was meant, a line for each. */
function remarksOn(
  { absentModels, speltApart }: PackingTrace,
  { leftOut, unservable, isPartly }: NeverPlaced,
  { nodes, pods, tune }: Pick<PackFlags, 'nodes' | 'pods' | 'tune'>,
): string[] {
  return [
    ...speltApart.map((spellings) => {
      const told = spellings.map(({ model, file }) => `'${model}' of '${file}'`);
      return `taken for one model of GPUs: ${told.join(', ')}`;
    }),
    ...Array.from(absentModels)
      .slice(0, MAX_NAMED)
      .map(([model, count]) => {
        return `no host of '${nodes}' has a GPU '${model}', which ${counted(count, 'request')} of '${pods}' would take`;
      }),
    ...(absentModels.size <= MAX_NAMED
      ? []
      : [
          `no host of '${nodes}' has a GPU of ${counted(absentModels.size - MAX_NAMED, 'more model')} that requests would take`,
        ]),
    ...(leftOut.length === 0
      ? []
      : [`left out, for more than ${tune} times all GPUs each: ${requestsText(leftOut, pods)}`]),
    ...(unservable.length === 0
      ? []
      : [
          `fit no host of '${nodes}', even an empty one: ${isPartly ? 'at least ' : ''}${requestsText(unservable, pods)}`,
        ]),
  ];
}

/** How many requests of a list these are, and which the first are. */
function requestsText(requests: readonly PackingRequest[], file: string): string {
  const names = requests.slice(0, MAX_NAMED).map(({ name }) => `'${name}'`);
  const others = requests.length - names.length;
  const rest = others === 0 ? '' : ` and ${figure(others)} more`;
  return `${counted(requests.length, 'request')} of '${file}', ${names.join(', ')}${rest}`;
}

/** Performs all experiments, and shows how far they are. */
async function performShown(workers: Workers, trace: PackingTrace, experiments: readonly Experiment[]): Promise<Run[]> {
  const interrupt = onInterrupt();
  const progress = showProgress(experiments);
  try {
    return await workers.perform(trace, experiments, { onProgress: progress.show, signal: interrupt.signal });
  } finally {
    progress.end();
    interrupt.dispose();
  }
}

/** What came of it, for people. */
export function linesOf({ hosts, gpus, requests, seeds, policies }: PackingReport): string[] {
  // As much comes in all seeds, whatever the policy.
  const last = Math.max(...Object.values(policies).map(({ curve }) => inAllSeeds(curve, seeds).length - 1));
  // What is asked for in the end has a column of its own, where the two that the literature has do not tell it.
  const isTold = last < 0 || last === 100 || last === 130;
  const textOf = (one: Figure) => figureText(one, seeds.length);
  const allocationText = (allocation: Allocation) => {
    const one = figureOf(allocation);
    return one === null ? 'not asked' : textOf(one);
  };
  const rows = Object.entries(policies).map(([name, { allocationAt100, allocationAt130, refused, curve }]) => {
    const inTheEnd = isTold ? [] : [textOf(curve[last] as CurvePoint)];
    return [name, allocationText(allocationAt100), allocationText(allocationAt130), ...inTheEnd, figure(refused, 1)];
  });
  return [
    `${counted(gpus, 'GPU')} on ${counted(hosts, 'host')}, ${counted(requests, 'request')}, ` +
      `${seeds.length === 1 ? 'one seed' : `mean of ${seeds.length} seeds (least to most)`}`,
    '',
    ...table([
      ['allocated when', '100 % were asked for', '130 %', ...(isTold ? [] : [`${last} %`]), 'requests refused'],
      ...rows,
    ]),
    '',
  ];
}

type Figure = Omit<CurvePoint, 'arrived'>;

/** Null if so much was asked for in no seed. */
function figureOf({ mean, seeds }: Allocation): Figure | null {
  if (mean === null) return null;
  const known = seeds.filter((one) => one !== null);
  return { mean, least: Math.min(...known), most: Math.max(...known), ofSeeds: known.length };
}

function figureText({ mean, least, most, ofSeeds }: Figure, seeds: number): string {
  const told = [
    ...(ofSeeds === 1 ? [] : [`${least.toFixed(2)} to ${most.toFixed(2)}`]),
    ...(ofSeeds === seeds ? [] : [`of ${counted(ofSeeds, 'seed')}`]),
  ];
  return `${mean.toFixed(2)} %${told.length === 0 ? '' : ` (${told.join(' ')})`}`;
}

/** How far all runs are, on the error output, so that what comes of them stays by itself. */
function showProgress(experiments: readonly Experiment[]) {
  const isTerminal = process.stderr.isTTY === true;
  const update = isTerminal ? createLogUpdate(process.stderr) : undefined;
  let shownAt = performance.now();
  let ended = false;
  return {
    show(parts: readonly number[]): void {
      const now = performance.now();
      if (now - shownAt < (isTerminal ? DRAW_EVERY_MS : WRITE_EVERY_MS)) return;
      shownAt = now;
      const done = parts.filter((part) => part === 1).length;
      const all = (100 * parts.reduce((sum, part) => sum + part, 0)) / parts.length;
      const current = experiments
        .filter((_, position) => (parts[position] as number) > 0 && (parts[position] as number) < 1)
        .map(({ policy, seed }) => `${policy} seed ${seed}`);
      const at = current.length === 0 ? '' : `; at ${current.join(', ')}`;
      const line = `packing: ${all.toFixed(0)} %, ${done} of ${parts.length} runs done${at}`;
      if (update === undefined) process.stderr.write(`${line}\n`);
      else update(line);
    },
    end(): void {
      if (!ended) update?.clear();
      ended = true;
    },
  };
}
