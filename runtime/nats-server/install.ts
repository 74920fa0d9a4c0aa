// Gets a nats-server into Cellwright's cache folder, by the first way that works on this machine.
// Needs no root, starts no service, and leaves everything outside the cache folder as it was (but apt's lists).

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, constants, copyFile, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { throwIfAborted } from '../abortable.ts';
import { CellwrightError, messageOf } from '../errors.ts';
import { cacheFolder, type NatsServerBinary, versionOf, whyTooOld } from './find.ts';

/** The release that is fetched where the system's packages do not decide: by archive and by `go install`. */
export const PINNED_NATS_SERVER = '2.15.2';

const INSTALLING = 'installing a NATS server';
const WORK_PREFIX = 'install-';
/** Longer than any way takes: whose folder it is was ended before it could remove it. */
const ABANDONED_MS = 86_400_000;
const PACKAGE_TIMEOUT_MS = 180_000;
const DOWNLOAD_TIMEOUT_MS = 180_000;
const BUILD_TIMEOUT_MS = 900_000;

interface Way {
  name: string;
  /** Why this way is not open here; `null` when it is. */
  closed(): Promise<string | null>;
  /** Works inside the folder of the job and returns the path of the program it got. */
  get(job: Job): Promise<string>;
}

interface Job {
  /** A folder of its own, removed afterwards. */
  readonly work: string;
  readonly signal: AbortSignal | undefined;
}

export interface InstallOptions {
  /** Told what is tried and how it went, a line at a time. Default: nobody. */
  log?: (line: string) => void;
  /** Gives it up. */
  signal?: AbortSignal | undefined;
}

/**
 * Installs a nats-server into the cache folder: from Debian's package, the official release, by Go, or by Homebrew.
 * Processes may install at the same time: each works in a folder of its own and renames the program into place.
 * @throws CellwrightError `nats-server-install-failed`, which tells how every way went; `interrupted`.
 */
export async function installNatsServer({ log = () => {}, signal }: InstallOptions = {}): Promise<NatsServerBinary> {
  throwIfAborted(signal, INSTALLING);
  await makeCacheFolder();
  await removeAbandoned();
  const outcomes: string[] = [];
  for (const way of [debianPackage, officialRelease, goInstall, homebrew]) {
    const work = await mkdtemp(join(cacheFolder(), WORK_PREFIX));
    try {
      const closed = await way.closed();
      if (closed !== null) {
        outcomes.push(`${way.name}: ${closed}`);
        continue;
      }
      log(`installing nats-server: ${way.name}`);
      const installed = await moveIntoCache(await way.get({ work, signal }), work);
      log(`installed nats-server ${installed.version} at ${installed.path}`);
      return installed;
    } catch (error) {
      throwIfAborted(signal, INSTALLING);
      outcomes.push(`${way.name}: ${messageOf(error)}`);
      log(`installing nats-server: ${way.name} failed`);
    } finally {
      // A program that was ended may still write there for a moment.
      await rm(work, { recursive: true, force: true, maxRetries: 5 });
    }
  }
  const tries = outcomes.map((outcome) => `  - ${outcome.trim().replaceAll('\n', '\n    ')}`).join('\n');
  throw failed(tries);
}

function failed(why: string): CellwrightError {
  return new CellwrightError(
    'nats-server-install-failed',
    `no nats-server could be installed; install one and put it on PATH, or name it in CELLWRIGHT_NATS_SERVER:\n${why}`,
  );
}

async function makeCacheFolder(): Promise<void> {
  try {
    await mkdir(cacheFolder(), { recursive: true });
    await access(cacheFolder(), constants.W_OK);
  } catch (error) {
    throw failed(`  - the cache folder (XDG_CACHE_HOME chooses another place) cannot be written: ${messageOf(error)}`);
  }
}

async function removeAbandoned(): Promise<void> {
  const names = (await readdir(cacheFolder())).filter((name) => name.startsWith(WORK_PREFIX));
  for (const folder of names.map((name) => join(cacheFolder(), name))) {
    const changed = await stat(folder).then(
      ({ mtimeMs }) => mtimeMs,
      () => Date.now(),
    );
    // Not worth an installation that fails.
    if (changed < Date.now() - ABANDONED_MS) await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

async function moveIntoCache(program: string, work: string): Promise<NatsServerBinary> {
  const version = await versionOf(program);
  if (version === null) throw new Error(`'${program}' does not run here`);
  const tooOld = whyTooOld(version);
  if (tooOld !== null) throw new Error(`what it has ${tooOld}`);
  const ready = join(work, 'nats-server.ready');
  await copyFile(program, ready);
  const path = join(cacheFolder(), 'nats-server');
  // Within one folder a rename replaces in one step, even under a server that is running.
  await rename(ready, path);
  return { path, version };
}

const debianPackage: Way = {
  name: "Debian's package",
  closed: async () => ((await runs('apt-get', 'dpkg-deb')) ? null : 'no apt-get here'),
  async get(job) {
    const { work } = job;
    const download = (options: string[]) => run('apt-get', [...options, 'download', 'nats-server'], job);
    const isRoot = process.getuid?.() === 0;
    // apt's own download user cannot write into root's cache folder.
    const systemLists = isRoot ? ['-o', 'APT::Sandbox::User=root'] : [];
    try {
      await download(systemLists);
    } catch {
      // The lists are missing or out of date. Only root may refresh them; anybody may keep lists of their own.
      const lists = isRoot ? systemLists : await privateLists(work);
      await run('apt-get', [...lists, 'update'], job);
      await download(lists);
    }
    const archive = (await readdir(work)).find((file) => file.endsWith('.deb'));
    if (archive === undefined) throw new Error('apt-get downloaded no package');
    await run('dpkg-deb', ['-x', archive, 'package'], job);
    return join(work, 'package/usr/sbin/nats-server');
  },
};

async function privateLists(work: string): Promise<string[]> {
  await mkdir(join(work, 'apt/lists/partial'), { recursive: true });
  await mkdir(join(work, 'apt/cache/archives/partial'), { recursive: true });
  return ['-o', `Dir::State::Lists=${join(work, 'apt/lists')}`, '-o', `Dir::Cache=${join(work, 'apt/cache')}`];
}

const officialRelease: Way = {
  name: `official release v${PINNED_NATS_SERVER}`,
  closed: async () => (releaseTarget() === null ? `no archive for ${process.platform}/${process.arch}` : null),
  async get(job) {
    const { work, signal } = job;
    const folder = `nats-server-v${PINNED_NATS_SERVER}-${releaseTarget()}`;
    const archive = `${folder}.tar.gz`;
    const bytes = await fetchRelease(archive, signal);
    // The sums come from the same release: they prove a whole download, not who made it.
    const sums = (await fetchRelease('SHA256SUMS', signal)).toString('utf8');
    const expected = sums
      .split('\n')
      .find((line) => line.trim().endsWith(` ${archive}`))
      ?.slice(0, 64);
    const actual = createHash('sha256').update(bytes).digest('hex');
    if (actual !== expected) throw new Error(`${archive} has SHA-256 ${actual}, the release says ${expected}`);
    await writeFile(join(work, archive), bytes);
    await run('tar', ['-xzf', archive], job);
    return join(work, folder, 'nats-server');
  },
};

function releaseTarget(): string | null {
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];
  return arch !== undefined && ['linux', 'darwin'].includes(process.platform) ? `${process.platform}-${arch}` : null;
}

async function fetchRelease(file: string, signal: AbortSignal | undefined): Promise<Buffer> {
  const url = `https://github.com/nats-io/nats-server/releases/download/v${PINNED_NATS_SERVER}/${file}`;
  const limit = AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS);
  const whole = signal === undefined ? limit : AbortSignal.any([limit, signal]);
  // It says itself only that it failed, or that the connection ended before all had come.
  const untold = (error: Error): never => {
    throw new Error(`${url}: ${messageOf(error.cause ?? error)}`, { cause: error });
  };
  const response = await fetch(url, { signal: whole }).catch(untold);
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return Buffer.from(await response.arrayBuffer().catch(untold));
}

const goInstall: Way = {
  name: `go install v${PINNED_NATS_SERVER}`,
  closed: async () => ((await runs('go')) ? null : 'no go on PATH'),
  async get(job) {
    const { work } = job;
    const module = `github.com/nats-io/nats-server/v2@v${PINNED_NATS_SERVER}`;
    await run('go', ['install', module], job, { GOBIN: work, GOFLAGS: '' }, BUILD_TIMEOUT_MS);
    return join(work, 'nats-server');
  },
};

const homebrew: Way = {
  name: 'Homebrew',
  closed: async () => ((await runs('brew')) ? null : 'no brew on PATH'),
  async get(job) {
    await run('brew', ['install', 'nats-server'], job, {}, BUILD_TIMEOUT_MS);
    return join((await run('brew', ['--prefix', 'nats-server'], job)).trim(), 'bin/nats-server');
  },
};

/** Whether all the programs are there: each is asked for its version. */
async function runs(...programs: string[]): Promise<boolean> {
  try {
    for (const program of programs) await promisify(execFile)(program, [program === 'go' ? 'version' : '--version']);
    return true;
  } catch {
    return false;
  }
}

/** Runs a program to its end and returns what it printed; a failure carries the program's own last words. */
async function run(
  program: string,
  args: string[],
  { work, signal }: Job,
  env: Record<string, string> = {},
  timeoutMs: number = PACKAGE_TIMEOUT_MS,
): Promise<string> {
  throwIfAborted(signal, INSTALLING);
  try {
    const settings = {
      cwd: work,
      env: { ...process.env, ...env },
      timeout: timeoutMs,
      maxBuffer: 64 * 1024 * 1024,
      signal,
    };
    return (await promisify(execFile)(program, args, settings)).stdout;
  } catch (error) {
    const { stderr = '', killed = false } = error as { stderr?: string; killed?: boolean };
    const why = killed ? `took longer than ${timeoutMs} ms` : stderr.trim().split('\n').slice(-5).join('\n');
    throw new Error(`${program} ${args.join(' ')}: ${why || messageOf(error)}`, { cause: error });
  }
}
