// The repository, and how its programs are run: as they were put together for the tests, or else from their sources.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder of the repository, with a slash at the end. */
export const ROOT: string = above(new URL('.', import.meta.url));

/** Wherever this has been put. */
function above(folder: URL): string {
  return existsSync(new URL('package-lock.json', folder)) ? fileURLToPath(folder) : above(new URL('..', folder));
}

/** Where bundles.ts has put programs, in the environment of whatever runs beside them. */
export const BUNDLES = 'CELLWRIGHT_TEST_BUNDLES';

/** Flags of Node and, at the end, a file: what runs a program of the repository, given as a path there such as `test/run.ts`. */
export function argvOf(program: string): string[] {
  const bundles = process.env[BUNDLES];
  const bundled = `${bundles}${program.replace(/\.ts$/, '.js')}`;
  return bundles !== undefined && existsSync(bundled)
    ? ['--enable-source-maps', bundled]
    : ['--import', 'tsx', `${ROOT}${program}`];
}
