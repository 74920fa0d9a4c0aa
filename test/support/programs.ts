// The repository, and how its programs are run: as they were compiled if the tests are (`npm test` compiles once, which
// saves each of hundreds of processes more than a second), or else from their sources.

import { existsSync, readdirSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const isCompiled = import.meta.url.endsWith('.js');
/** Where `test/tsconfig.json` has the compiled files put. */
const COMPILED = '.cache/compiled/';

/** The folder of the repository, with a slash at the end. */
export const ROOT: string = fileURLToPath(new URL(isCompiled ? '../../../../' : '../../', import.meta.url));

/** The folder of the compiled files, with a slash at the end; `null` when the tests are run from their sources. */
export const COMPILED_FOLDER: string | null = isCompiled ? `${ROOT}${COMPILED}` : null;

/** Where sources are, of those that are compiled. */
const SOURCES = ['machines', 'actors', 'runtime', 'test'];

/**
 * Removes what was compiled of sources that are no more, so that nothing goes on with it: only here would it still be there.
 * @param root The repository, with a slash at the end.
 */
export function removeStale(root: string = ROOT): void {
  for (const folder of SOURCES.filter((name) => existsSync(`${root}${COMPILED}${name}`))) {
    for (const file of readdirSync(`${root}${COMPILED}${folder}`, { recursive: true, encoding: 'utf8' })) {
      const [, path] = /^(.*)\.js(?:\.map)?$/.exec(`${folder}/${file}`) ?? [];
      if (path !== undefined && !existsSync(`${root}${path}.ts`))
        rmSync(`${root}${COMPILED}${folder}/${file}`, { force: true });
    }
  }
}

/** Flags of Node and, at the end, a file: what runs a program of the repository, given as a path there such as `test/run.ts`. */
export function argvOf(program: string): string[] {
  if (!isCompiled) return ['--import', 'tsx', `${ROOT}${program}`];
  return ['--enable-source-maps', `${ROOT}${COMPILED}${program.replace(/\.ts$/, '.js')}`];
}
