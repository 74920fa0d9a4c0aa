// Simulates as many runs as are asked for, over all cores, and tells what they went through; a run that fails is told
// as a story, shortened to what it takes.
// Use: npm run simulate -- [--runs 1000] [--seed 1] [--workers 2] [--shards 4] [--replay SEED [--whole]]

import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { told } from './coverage.ts';
import { seedsFrom, simulateAll } from './pool.ts';
import { simulate } from './run.ts';
import { shortened } from './shrinking.ts';

const PROGRESS_MS = 5_000;

function count(text: string, name: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new Error(`--${name} must be a whole number from 1 on, not '${text}'`);
}

/** Tells the story of a seed: `whole`, or if it fails as short as it can be made. */
async function replay(seed: string, whole: boolean): Promise<boolean> {
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

async function run(first: string, runs: number, workers: number): Promise<boolean> {
  const startedAt = performance.now();
  const seconds = () => ((performance.now() - startedAt) / 1_000).toFixed(1);
  let toldAt = startedAt;
  let failuresTold = 0;
  const { coverage, failures } = await simulateAll({
    seeds: seedsFrom(first, runs),
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
      `\nits story: npm run simulate -- --replay ${one.seed}${values.shards === undefined ? '' : ` --shards ${values.shards}`}`,
    );
  return one !== undefined;
}

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: String(availableParallelism()) },
    /** Placement shards; default: as each seed has it. */
    shards: { type: 'string' },
    replay: { type: 'string' },
    whole: { type: 'boolean', default: false },
  },
});
const sharded = values.shards === undefined ? {} : { placementShards: count(values.shards, 'shards') };
const failed =
  values.replay === undefined
    ? await run(values.seed, count(values.runs, 'runs'), count(values.workers, 'workers'))
    : await replay(values.replay, values.whole);
if (failed) process.exitCode = 1;
