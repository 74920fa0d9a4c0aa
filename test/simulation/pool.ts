// Many runs over several processes: each is given seeds by the share, and what they went through is added up.

import { type ChildProcess, fork } from 'node:child_process';
import { argvOf } from '../support/programs.ts';
import { addTo, type Coverage, noCoverage } from './coverage.ts';
import type { ShareDone } from './worker.ts';

export interface Campaign {
  readonly coverage: Coverage;
  readonly failures: readonly { seed: string; faults: readonly string[] }[];
}

export interface CampaignOptions {
  readonly seeds: readonly string[];
  /** How many placement shards each run has; default: as its seed has it. */
  readonly placementShards?: number;
  /** Processes. */
  readonly workers: number;
  /** Told after each share. */
  onProgress?(campaign: Campaign): void;
}

/** How many seeds a process is given at a time. */
const SHARE = 50;
/** Failures after which no more seeds are dealt out. */
const MAX_FAILURES = 10;

/** Seeds that count on from the first one. */
export function seedsFrom(first: string, runs: number): string[] {
  const isNumber = /^\d+$/.test(first);
  return Array.from({ length: runs }, (_, position) =>
    isNumber ? String(BigInt(first) + BigInt(position)) : `${first}-${position}`,
  );
}

/** @throws Error when a process ends before it is done, naming the seeds that it had. */
export async function simulateAll({ seeds, workers, placementShards, onProgress }: CampaignOptions): Promise<Campaign> {
  const coverage = noCoverage();
  const failures: { seed: string; faults: readonly string[] }[] = [];
  const running = new Set<ChildProcess>();
  let next = 0;

  /** They would go on with their shares, and hear nothing until those are done. */
  function endAll(): void {
    for (const worker of running) worker.kill();
  }

  function share(): readonly string[] {
    if (failures.length >= MAX_FAILURES) return [];
    const dealt = seeds.slice(next, next + SHARE);
    next += dealt.length;
    return dealt;
  }

  async function work(): Promise<void> {
    const argv = argvOf('test/simulation/worker.ts');
    const worker = fork(argv.at(-1) as string, { execArgv: argv.slice(0, -1) });
    running.add(worker);
    try {
      for (let dealt = share(); dealt.length > 0; dealt = share()) {
        const done = new Promise<ShareDone>((resolve, reject) => {
          worker.once('message', (message) => resolve(message as ShareDone));
          worker.once('exit', (code) => reject(new Error(`a process ended with ${code} at seeds ${dealt[0]} and on`)));
        });
        worker.send({ seeds: dealt, ...(placementShards === undefined ? {} : { placementShards }) });
        const told = await done;
        worker.removeAllListeners('exit');
        addTo(coverage, told);
        failures.push(...told.failures);
        onProgress?.({ coverage, failures });
      }
    } finally {
      running.delete(worker);
      worker.kill();
    }
  }

  process.once('exit', endAll);
  try {
    await Promise.all(Array.from({ length: Math.min(workers, Math.ceil(seeds.length / SHARE)) }, work));
  } finally {
    process.off('exit', endAll);
    endAll();
  }
  return { coverage, failures };
}
