// A process that simulates the seeds it is given: one line of JSON comes for each share of them, one goes back.

import { simulate } from './run.ts';

interface Share {
  readonly seeds: readonly string[];
  /** How many placement shards there are; default: as each seed has it. */
  readonly placementShards?: number;
}

export interface ShareDone {
  readonly runs: number;
  readonly steps: number;
  readonly endedAfterMs: number;
  readonly tally: readonly (readonly [string, number])[];
  readonly failures: readonly { seed: string; faults: readonly string[] }[];
}

process.on('message', (share: Share) => {
  void perform(share).then((done) => process.send?.(done));
});

async function perform({ seeds, placementShards }: Share): Promise<ShareDone> {
  const tally = new Map<string, number>();
  const failures: { seed: string; faults: readonly string[] }[] = [];
  let steps = 0;
  let endedAfterMs = 0;
  for (const seed of seeds) {
    const result = await simulate({ seed, ...(placementShards === undefined ? {} : { placementShards }) });
    steps += result.steps;
    endedAfterMs = Math.max(endedAfterMs, result.endedAfterMs);
    for (const [what, count] of result.tally) tally.set(what, (tally.get(what) ?? 0) + count);
    if (result.faults.length > 0) failures.push({ seed, faults: result.faults });
  }
  return { runs: seeds.length, steps, endedAfterMs, tally: [...tally], failures };
}
