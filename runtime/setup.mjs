// Makes `npm start` and `npm test` work in a fresh clone: installs the locked packages when they are absent or differ.
// Plain JavaScript and Node's own modules only, because it runs before anything is installed.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const OLDEST_NODE = 20;
/** All that the lock names, in one flat folder, whatever the user has told npm to leave out (also by NODE_ENV). */
const INSTALL = ['ci', '--include=dev', '--include=optional', '--install-strategy=hoisted'];
const root = fileURLToPath(new URL('..', import.meta.url));

const major = Number(process.versions.node.split('.')[0]);
if (major < OLDEST_NODE) {
  fail(`Cellwright needs Node.js ${OLDEST_NODE} or newer; this is ${process.versions.node}, at '${process.execPath}'.`);
}

const reason = whyInstall();
if (reason !== null) {
  console.error(`Installing the packages of package-lock.json (${reason}): npm ci`);
  const { status, error } = npm(INSTALL);
  if (error !== undefined) fail(`npm could not be run: ${error.message}`);
  if (status !== 0) fail("'npm ci' failed; what it said is above.");
}

/**
 * Compares the lock with the one npm keeps of what it installed, which it writes last.
 * @returns {string | null} null when they are in step
 */
function whyInstall() {
  const wanted = packagesIn(`${root}package-lock.json`);
  const installed = packagesInstalled();
  if (installed === null) return 'node_modules is absent or unfinished';
  for (const [path, { version, optional }] of Object.entries(wanted)) {
    // The entry '' is the project itself; optional packages are there for some platforms only.
    if (path === '' || (optional && !(path in installed))) continue;
    if (installed[path]?.version !== version) return `'${path}' is not at ${version}`;
  }
  return null;
}

/** Null also when npm was ended while it wrote what it had installed. */
function packagesInstalled() {
  try {
    return packagesIn(`${root}node_modules/.package-lock.json`);
  } catch {
    return null;
  }
}

/** @returns {Record<string, { version: string, optional?: boolean }>} */
function packagesIn(lockFile) {
  return JSON.parse(readFileSync(lockFile, 'utf8')).packages;
}

/** Runs the npm that runs this script, or the one on PATH. */
function npm(args) {
  const running = process.env.npm_execpath;
  const options = { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] };
  if (running?.endsWith('npm-cli.js')) return spawnSync(process.execPath, [running, ...args], options);
  return spawnSync('npm', args, { ...options, shell: process.platform === 'win32' });
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
