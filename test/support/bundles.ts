// The tests and the programs that they start, put together with all that they load into some files that they share: each of
// hundreds of processes would spend a second on finding, reading and translating hundreds of files.

import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { build, stop } from 'esbuild';
import { isAlive } from './alive.ts';
import { ROOT } from './programs.ts';

/** Programs that are started by many tests, or for long, or that read much to begin. */
const PROGRAMS = [
  'runtime/cli/main.ts',
  'runtime/nats-server/server.ts',
  'test/fixtures/processes/node.ts',
  'test/simulation/worker.ts',
  'test/support/building.ts',
  'test/simulation/simulate.ts',
  'test/bench/bench.ts',
  'test/run.ts',
];
/** Where there are tests for the runner to run when it is tested itself. */
const FIXTURES = 'test/fixtures/runner';
/** Programs that are looked for beside the file that starts them, wherever that has been put. */
const BESIDE = ['runtime/packing/worker.ts'];
const SHARED = 'shared';
const CACHE = `${ROOT}.cache/`;
const TESTS_OF = 'tests-of-';

/** A new folder for one run, which is to remove it; those of runs that were killed are removed now. */
export function newFolder(): string {
  mkdirSync(CACHE, { recursive: true });
  for (const name of readdirSync(CACHE)) {
    if (!name.startsWith(TESTS_OF) || isAlive(Number.parseInt(name.slice(TESTS_OF.length), 10))) continue;
    rmSync(`${CACHE}${name}`, { recursive: true, force: true });
  }
  return mkdtempSync(`${CACHE}${TESTS_OF}${process.pid}-`);
}

/**
 * Puts them together, each under its own path, with `.js` at its end.
 * @param tests Their paths in the repository.
 * @param folder Where to; below the repository, whose packages some of them load.
 * @throws Error when one cannot be read; then nothing is written.
 */
export async function bundle(tests: readonly string[], folder: string): Promise<void> {
  const entry = (path: string, out: string) => ({ in: `${ROOT}${path}`, out: out.replace(/\.ts$/, '') });
  const fixtures = readdirSync(`${ROOT}${FIXTURES}`).map((name) => `${FIXTURES}/${name}`);
  const entryPoints = [
    ...[...new Set([...tests, ...PROGRAMS, ...fixtures])].map((path) => entry(path, path)),
    ...BESIDE.map((path) => entry(path, `${SHARED}/${basename(path)}`)),
  ];
  try {
    const { outputFiles } = await build({
      entryPoints,
      outdir: folder,
      // Written below: esbuild's own process would go on writing while a run that is ended removes the folder.
      write: false,
      chunkNames: `${SHARED}/[name]-[hash]`,
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      // What there is to read takes most of the time that a process needs to begin.
      minifyWhitespace: true,
      legalComments: 'none',
      // The first finds its own program by where it is; of the other no steps are counted: see steps.ts.
      external: ['esbuild', 'msgpackr'],
      sourcemap: true,
      sourcesContent: false,
      // Packages of CommonJS modules call it.
      banner: {
        js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
      },
      logLevel: 'warning',
    });
    for (const { path, contents } of outputFiles) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, contents);
    }
  } finally {
    await stop();
  }
}
