// Simulates as many runs as are asked for, over all cores, and tells what they went through; a run that fails is told
// as a story, shortened to what it takes.
// Use: npm run simulate -- [--runs 1000] [--seed 1] [--workers 2] [--replay SEED] [--whole]

import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { addTo, noCoverage, told } from './coverage.ts';
import { simulate } from './run.ts';
import { shortened } from './shrinking.ts';
import type { ShareDone } from './worker.ts';

/** How many seeds a worker is given at a time. */
const SHARE = 50;
/** Failures after which no more seeds are dealt out. */
const MAX_FAILURES = 10;
const PROGRESS_MS = 5_000;

function count(text: string, name: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new Error(`--${name} must be a whole number from 1 on, not '${text}'`);
}

/** The seed of a run: the first one, then those that count on from it. */
const seedOf = (first: string, position: number): string =>
  /^\d+$/.test(first) ? String(BigInt(first) + BigInt(position)) : `${first}-${position}`;

/** Tells the story of a seed, and whether it failed. */
async function replay(seed: string, whole: boolean): Promise<boolean> {
  const result = await simulate({ seed, story: true });
  const failed = result.faults.length > 0;
  const shown = failed && !whole ? await shortened(result, { seed }) : result;
  console.log(shown.story.join('\n'));
  console.log(
    `\nseed ${seed}: ${shown.plan.operations.length} operations, ${shown.happened.length} faults, ${shown.steps} steps`,
  );
  for (const fault of shown.faults) console.log(`FAILED  ${fault}`);
  if (!failed) console.log('everything held, and everything came to its end');
  return failed;
}

async function runAll(first: string, runs: number, workers: number): Promise<boolean> {
  const total = noCoverage();
  const failures: ShareDone['failures'][number][] = [];
  const startedAt = performance.now();
  let next = 0;
  const seconds = () => (performance.now() - startedAt) / 1_000;
  const progress = setInterval(() => {
    process.stderr.write(`${total.runs} of ${runs} runs, ${failures.length} failed, ${Math.round(seconds())} s\n`);
  }, PROGRESS_MS);

  function share(): string[] {
    if (failures.length >= MAX_FAILURES) return [];
    const seeds = Array.from({ length: Math.min(SHARE, runs - next) }, (_, position) => seedOf(first, next + position));
    next += seeds.length;
    return seeds;
  }

  async function work(): Promise<void> {
    const worker = fork(fileURLToPath(new URL('worker.ts', import.meta.url)), { execArgv: ['--import', 'tsx'] });
    try {
      for (let seeds = share(); seeds.length > 0; seeds = share()) {
        worker.send({ seeds });
        const done = await new Promise<ShareDone>((resolve, reject) => {
          worker.once('message', (message) => resolve(message as ShareDone));
          worker.once('exit', (code) => reject(new Error(`a worker ended with ${code} at seeds ${seeds[0]} and on`)));
        });
        worker.removeAllListeners('exit');
        addTo(total, done);
        failures.push(...done.failures);
      }
    } finally {
      worker.kill();
    }
  }

  try {
    await Promise.all(Array.from({ length: Math.min(workers, Math.ceil(runs / SHARE)) }, work));
  } finally {
    clearInterval(progress);
  }
  console.log(told(total).join('\n'));
  console.log(`${failures.length} failed, in ${seconds().toFixed(1)} s`);
  for (const { seed, faults } of failures) console.log(`FAILED  seed ${seed}: ${faults[0]}`);
  const [one] = failures;
  if (one !== undefined) console.log(`\nthe story: npm run simulate -- --replay ${one.seed}`);
  return failures.length > 0;
}

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: String(availableParallelism()) },
    replay: { type: 'string' },
    whole: { type: 'boolean', default: false },
  },
});
const failed =
  values.replay === undefined
    ? await runAll(values.seed, count(values.runs, 'runs'), count(values.workers, 'workers'))
    : await replay(values.replay, values.whole);
if (failed) process.exitCode = 1;
