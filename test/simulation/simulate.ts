// Simulates as many runs as are asked for, over all cores, and tells what they went through; a run that fails is told
// as a story, shortened to what it takes.
// Use: npm run simulate -- [--runs 1000] [--seed 1] [--workers 2] [--shards 4] [--replay SEED [--whole]]

import { availableParallelism } from 'node:os';
import { Command } from 'commander';
import { wholeNumber } from '../../runtime/cli/options.ts';
import { endEarly } from '../support/script.ts';
import { told } from './coverage.ts';
import { seedsFrom, simulateAll } from './pool.ts';
import { simulate } from './run.ts';
import { shortened } from './shrinking.ts';

const PROGRESS_MS = 5_000;
const EXIT_FAILED = 1;

// What it went through is written when all is done.
endEarly('simulate', 0);

interface Flags {
  runs: number;
  seed: string;
  workers: number;
  shards?: number;
  replay?: string;
  whole: boolean;
}

const MANY = 1e9;
const { runs, seed, workers, shards, replay, whole } = new Command('simulate')
  .description('simulates deployments under faults, over all cores; a run that fails is told as a story')
  .option('--runs <number>', 'how many', wholeNumber(1, MANY), 1_000)
  .option('--seed <seed>', 'the first seed', '1')
  .option('--workers <number>', 'how many at a time', wholeNumber(1, 1_000), availableParallelism())
  .option('--shards <number>', 'placement shards (default: as each seed has it)', wholeNumber(1, 64))
  .option('--replay <seed>', 'tell the story of one run; of one that fails, as short as it can be made')
  .option('--whole', 'all of that story', false)
  .parse()
  .opts<Flags>();
const sharded = shards === undefined ? {} : { placementShards: shards };

/** Tells the story of a seed, and whether it failed. */
async function tell(seed: string): Promise<boolean> {
  const result = await simulate({ seed, story: true, ...sharded });
  const failed = result.faults.length > 0;
  const { story, plan, happened, steps, faults } =
    failed && !whole ? await shortened(result, { seed, ...sharded }) : result;
  console.log(story.join('\n'));
  console.log(`\nseed ${seed}: ${plan.operations.length} operations, ${happened.length} faults, ${steps} steps`);
  for (const fault of faults) console.log(`FAILED  ${fault}`);
  if (!failed) console.log('everything held, and everything came to its end');
  return failed;
}

/** Whether a run failed. */
async function run(): Promise<boolean> {
  const startedAt = performance.now();
  const seconds = () => ((performance.now() - startedAt) / 1_000).toFixed(1);
  let toldAt = startedAt;
  let failuresTold = 0;
  const { coverage, failures } = await simulateAll({
    seeds: seedsFrom(seed, runs),
    ...sharded,
    workers,
    onProgress({ coverage: so, failures: failed }) {
      for (const { seed, faults } of failed.slice(failuresTold)) {
        process.stderr.write(`FAILED  seed ${seed}: ${faults[0]}\n`);
      }
      failuresTold = failed.length;
      if (performance.now() - toldAt < PROGRESS_MS) return;
      toldAt = performance.now();
      process.stderr.write(`${so.runs} of ${runs} runs, ${failed.length} failed, ${seconds()} s\n`);
    },
  });
  console.log(told(coverage).join('\n'));
  console.log(`${failures.length} failed, in ${seconds()} s`);
  const [one] = failures;
  if (one !== undefined)
    console.log(
      `\nits story: npm run simulate -- --replay ${one.seed}${shards === undefined ? '' : ` --shards ${shards}`}`,
    );
  return one !== undefined;
}

const failed = replay === undefined ? await run() : await tell(replay);
if (failed) process.exitCode = EXIT_FAILED;
