// Packages of very many files, put together into a few for the compiled tests: hundreds of processes load them, and each
// would spend half a second on finding and reading hundreds of files.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { ROOT } from './programs.ts';

const NAMES = ['typebox'];

interface Description {
  name: string;
  version: string;
  exports: Record<string, { default: string }>;
}

/**
 * Puts the packages where Node looks first for what compiled files import; once for each of their versions.
 * @param into The folder of the compiled files, with a slash at the end.
 */
export async function bundlePackages(into: string): Promise<void> {
  for (const name of NAMES) await bundle(`${ROOT}node_modules/${name}/`, `${into}node_modules/`);
}

async function bundle(from: string, into: string): Promise<void> {
  const { name, version, exports } = descriptionIn(from);
  const target = `${into}${name}`;
  if (existsSync(target) && descriptionIn(`${target}/`).version === version) return;
  const beside = `${into}.${name}-${process.pid}`;
  const entries = Object.entries(exports).map(([path, file], position) => ({
    path,
    in: `${from}${file.default}`,
    out: `entry-${position}`,
  }));
  await build({
    entryPoints: entries.map(({ in: source, out }) => ({ in: source, out })),
    outdir: beside,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'warning',
  });
  const bundled = Object.fromEntries(entries.map(({ path, out }) => [path, { default: `./${out}.js` }]));
  writeFileSync(`${beside}/package.json`, JSON.stringify({ name, version, type: 'module', exports: bundled }));
  mkdirSync(into, { recursive: true });
  rmSync(target, { recursive: true, force: true });
  try {
    renameSync(beside, target);
  } catch (cause) {
    rmSync(beside, { recursive: true });
    // Another run may have put the same there meanwhile.
    if (!existsSync(target) || descriptionIn(`${target}/`).version !== version) throw cause;
  }
}

function descriptionIn(folder: string): Description {
  return JSON.parse(readFileSync(`${folder}package.json`, 'utf8')) as Description;
}
