// Runs the test files, each in a process of its own, and judges them by what they printed: uvu exits 0 when a hook
// throws, when `.run()` is forgotten and when nothing ran. Closes with the line 'N passed, N failed'.
// Use: npm test -- [file or regular expression ...] [--deadline-ms 360000]

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { Command } from 'commander';
import { positiveNumber } from '../runtime/cli/options.ts';
import { messageOf } from '../runtime/errors.ts';
import { bundle, newFolder } from './support/bundles.ts';
import { argvOf, BUNDLES, ROOT } from './support/programs.ts';
import { endEarly, ownTemporaryFolder } from './support/script.ts';

/** Files at a time: beside those that compute, some end-to-end tests, which wait for most of their time. */
const PARALLEL = 2;
const PARALLEL_END_TO_END = 3;
/** Files that take long are begun first, the longest before all: one that is begun last runs alone. */
const LONG = [
  ...['packaging/', 'actors/surveying', 'simulation/seeds', 'simulation/simulation', 'osc-placement', 'differential/'],
  ...['actors/advice-by-chance', 'simulation/', 'runtime/nats-server', 'actors/hard-requests', 'runtime/replay.'],
  ...['shards/same-as-one', 'runtime/hidden-classes', 'runtime/bus-nats', 'runtime/journal', 'test/run.test'],
  ...['actors/model-memory', 'actors/subtrees', 'machines/', 'actors/advice.'],
  ...['e2e/hosts', 'e2e/cli.', 'e2e/audit-of', 'e2e/recovery', 'e2e/network', 'e2e/failure-points/', 'e2e/ownership'],
  ...['e2e/processes', 'e2e/pack.', 'e2e/fit', 'e2e/cluster', 'e2e/placing', 'e2e/shards'],
];
const EXIT_GRACE_MS = 3_000;
const OUTPUT_KEPT = 1 << 20;
/** Of what failed, how much is shown again at the end: a long log is often shown by its end alone. */
const LINES_AGAIN = 40;
const LINE_AGAIN_CHARS = 300;
const TOTALS = /^ {2}Total: +(\d+)\n {2}Passed: +(\d+)\n {2}Skipped: +(\d+)\n {2}Duration: /gm;

/** Loaded into each test process: on SIGUSR2 it names what keeps it alive, and ends. */
const TELL_HANDLES = `data:text/javascript,
import { writeSync } from 'node:fs';
process.on('SIGUSR2', () => {
  writeSync(2, 'open handles: ' + (process.getActiveResourcesInfo().join(', ') || 'none listed') + '\\n');
  process.kill(process.pid, 'SIGKILL');
});`;

interface Outcome {
  file: string;
  passed: number;
  failed: number;
  skipped: number;
  durationMs: number;
  /** Why the file counts as failed; `null` when all is well. */
  failure: string | null;
  output: string;
}

const running = new Set<ChildProcess>();

/** The files that match any of the filters; all tests when there is none. A filter that is a file is taken as it is. */
function filesFor(filters: readonly string[]): string[] {
  const tests = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .map((path) => join('test', path).split(sep).join('/'))
    .filter((path) => path.endsWith('.test.ts'));
  if (filters.length === 0) return tests.toSorted();
  const matches = filters.flatMap((filter) => {
    const path = resolve(filter);
    if (existsSync(path) && statSync(path).isFile()) return [relative(ROOT, path).split(sep).join('/')];
    const pattern = new RegExp(filter, 'i');
    return tests.filter((file) => pattern.test(file));
  });
  return [...new Set(matches)].toSorted();
}

async function runFile(file: string, deadlineMs: number): Promise<Outcome> {
  const startedAt = performance.now();
  const { FORCE_COLOR: _, ...env } = process.env;
  const child = spawn(process.execPath, ['--import', TELL_HANDLES, ...argvOf(file)], {
    cwd: ROOT,
    env: { ...env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that what the test started can be ended with it.
    detached: true,
  });
  running.add(child);

  let output = '';
  let stop: string | null = null;
  let grace: NodeJS.Timeout | undefined;
  const take = (chunk: string) => {
    output = (output + chunk).slice(-OUTPUT_KEPT);
    if (grace !== undefined || totalsIn(output) === null) return;
    grace = setTimeout(() => {
      stop = `still running ${EXIT_GRACE_MS} ms after its totals: something is left open`;
      child.kill('SIGUSR2');
    }, EXIT_GRACE_MS);
  };
  child.stdout.setEncoding('utf8').on('data', take);
  child.stderr.setEncoding('utf8').on('data', take);
  const deadline = setTimeout(() => {
    stop = `no end within ${deadlineMs} ms`;
    killGroup(child);
  }, deadlineMs);

  const closed = once(child, 'close');
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  clearTimeout(deadline);
  clearTimeout(grace);
  // Whatever it left behind would hold its output open.
  killGroup(child);
  await closed;
  running.delete(child);

  const totals = totalsIn(output);
  const failure = stop ?? judge(totals, code === null ? `ended by ${signal}` : `exit code ${code}`);
  const { total, passed, skipped } = totals ?? { total: 0, passed: 0, skipped: 0 };
  const failed = Math.max(total - passed, failure === null ? 0 : 1);
  return { file, passed, failed, skipped, durationMs: performance.now() - startedAt, failure, output };
}

interface Totals {
  total: number;
  passed: number;
  skipped: number;
}

/** The last totals in the output: a test may print some of its own before. */
function totalsIn(output: string): Totals | null {
  const last = [...output.matchAll(TOTALS)].at(-1);
  return last ? { total: Number(last[1]), passed: Number(last[2]), skipped: Number(last[3]) } : null;
}

function judge(totals: Totals | null, end: string): string | null {
  if (totals === null) return `no totals (${end}): it crashed, or .run() is not called`;
  if (totals.total + totals.skipped === 0) return 'it ran no test';
  if (totals.passed !== totals.total) return `${totals.total - totals.passed} of ${totals.total} did not pass`;
  return end === 'exit code 0' ? null : end;
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // Nobody is left in the group.
  }
}

function report({ file, passed, skipped, durationMs, failure, output }: Outcome): void {
  const totals = `${passed} passed${skipped === 0 ? '' : `, ${skipped} skipped`}`;
  console.log(`${failure === null ? 'ok  ' : 'FAIL'}  ${file}  ${totals}, ${Math.round(durationMs)} ms`);
  if (failure === null) return;
  console.log(`      ${failure}`);
  console.log(quoted(output));
}

const quoted = (output: string): string => output.trimEnd().replace(/^/gm, '      | ');

function reportAgain({ file, failure, output }: Outcome): void {
  const lines = output.trimEnd().split('\n').slice(-LINES_AGAIN);
  console.log(`\nfailed: ${file}: ${failure}`);
  console.log(quoted(lines.map((line) => line.slice(0, LINE_AGAIN_CHARS)).join('\n')));
}

function longestFirst(files: readonly string[]): string[] {
  const rankOf = (file: string) => {
    const rank = LONG.findIndex((part) => file.includes(part));
    return rank < 0 ? LONG.length : rank;
  };
  return files.toSorted((one, other) => rankOf(one) - rankOf(other));
}

async function runAll(files: readonly string[], deadlineMs: number): Promise<Outcome[]> {
  const isEndToEnd = (file: string) => file.startsWith('test/e2e/');
  const queue = longestFirst(files);
  const computing = queue.filter((file) => !isEndToEnd(file));
  const waiting = queue.filter(isEndToEnd);
  const outcomes: Outcome[] = [];
  /** Where there is nothing left of its own, it goes on with the others. */
  const lane = async (own: string[], others: string[]) => {
    for (;;) {
      const file = own.shift() ?? others.shift();
      if (file === undefined) return;
      const outcome = await runFile(file, deadlineMs);
      report(outcome);
      outcomes.push(outcome);
    }
  };
  await Promise.all([
    ...Array.from({ length: PARALLEL }, () => lane(computing, waiting)),
    ...Array.from({ length: PARALLEL_END_TO_END }, () => lane(waiting, computing)),
  ]);
  return outcomes;
}

/** A run that is part of another goes on with what was put together for that. */
async function bundleFor(files: readonly string[]): Promise<void> {
  if (process.env[BUNDLES] !== undefined) return;
  let folder: string;
  try {
    folder = newFolder();
  } catch (error) {
    console.log(`nothing can be put together (${messageOf(error)}): everything is run from its sources`);
    return;
  }
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  process.env[BUNDLES] = `${folder}/`;
  try {
    await bundle(files, folder);
  } catch {
    // What is wrong was told; whichever file has it fails by itself.
    console.log('not all can be put together: everything is run from its sources');
  }
}

async function main(): Promise<void> {
  const command = new Command('test')
    .description('runs test files: all, or those that match')
    .argument('[files...]', 'paths, or regular expressions')
    .option('--deadline-ms <number>', 'how long one file may take', positiveNumber(1e9), 360_000)
    .parse();
  const { deadlineMs } = command.opts<{ deadlineMs: number }>();

  endEarly('test');
  process.on('exit', () => running.forEach(killGroup));
  ownTemporaryFolder('cellwright-tests-');

  const files = filesFor(command.args);
  if (files.length === 0) console.log(`no test file matches ${command.args.map((filter) => `'${filter}'`).join(', ')}`);
  await bundleFor(files);
  const outcomes = await runAll(files, deadlineMs);

  const sum = (key: 'passed' | 'failed' | 'skipped') => outcomes.reduce((all, outcome) => all + outcome[key], 0);
  const failures = outcomes.filter(({ failure }) => failure !== null);
  failures.forEach(reportAgain);
  const skipped = sum('skipped') > 0 ? `, ${sum('skipped')} skipped` : '';
  console.log(`\n${sum('passed')} passed, ${sum('failed')} failed${skipped}`);
  if (sum('failed') > 0 || sum('passed') === 0) process.exitCode = 1;
}

await main();
