// Finds a nats-server on this machine: named by the environment, on PATH, in the usual places, in Cellwright's cache.
// Looks only; install.ts is what changes the machine.

import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { throwIfAborted } from '../abortable.ts';
import { CellwrightError } from '../errors.ts';

/** A nats-server that answered when asked for its version. */
export interface NatsServerBinary {
  /** As found: absolute, unless the environment or PATH names a relative folder. */
  path: string;
  /** Without a leading `v`, such as `2.9.10`. */
  version: string;
}

/** The environment variable that names the nats-server to use, before all other places. */
const NATS_SERVER_VARIABLE = 'CELLWRIGHT_NATS_SERVER';

/** Older ones do not take our configuration, or lack what leases are kept by. */
const OLDEST = { major: 2, minor: 8 } as const;

const VERSION_TIMEOUT_MS = 10_000;
const FINDING = 'finding a NATS server';

/** Why a server of this version cannot be used; null when it can. */
export function whyTooOld(version: string): string | null {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isOld = major < OLDEST.major || (major === OLDEST.major && minor < OLDEST.minor);
  return isOld ? `is of version ${version}, and must be of ${OLDEST.major}.${OLDEST.minor} or newer` : null;
}

/**
 * The first nats-server that runs and is not too old, in this order: `CELLWRIGHT_NATS_SERVER`, PATH, the usual folders,
 * the cache.
 * `null` when there is none.
 * @throws CellwrightError `nats-server-invalid` when `CELLWRIGHT_NATS_SERVER` names something else, or one that is too
 * old; `interrupted`.
 */
export async function findNatsServer(signal?: AbortSignal): Promise<NatsServerBinary | null> {
  const named = process.env[NATS_SERVER_VARIABLE];
  if (named !== undefined && named !== '') {
    const version = await versionOf(named, signal);
    throwIfAborted(signal, FINDING);
    const why = version === null ? 'is no nats-server' : whyTooOld(version);
    if (version !== null && why === null) return { path: named, version };
    throw new CellwrightError('nats-server-invalid', `${NATS_SERVER_VARIABLE} is '${named}', which ${why}`);
  }
  for (const folder of folders()) {
    const path = join(folder, 'nats-server');
    const version = await versionOf(path, signal);
    throwIfAborted(signal, FINDING);
    if (version !== null && whyTooOld(version) === null) return { path, version };
  }
  return null;
}

/** Where Cellwright keeps what it installed: `$XDG_CACHE_HOME/cellwright`, or `~/.cache/cellwright`. */
export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'cellwright');
}

/** The version that the program at `path` reports; `null` when it is missing or no nats-server. */
export async function versionOf(path: string, signal?: AbortSignal): Promise<string | null> {
  if (signal?.aborted === true) return null;
  // A program that cannot be started leaves its listener on the signal that it is given: that of the caller may be for life.
  const own = new AbortController();
  // The signal alone ends it with SIGTERM, which it may not heed, whatever it is.
  let giveUp = (): void => own.abort();
  try {
    const options = { timeout: VERSION_TIMEOUT_MS, killSignal: 'SIGKILL', signal: own.signal } as const;
    const asked = promisify(execFile)(path, ['--version'], options);
    giveUp = () => {
      own.abort();
      asked.child.kill('SIGKILL');
    };
    signal?.addEventListener('abort', giveUp);
    const { stdout } = await asked;
    return /^nats-server: v(\S+)/m.exec(stdout)?.[1] ?? null;
  } catch {
    // Absent, not executable, or built for another machine: for the search all the same.
    return null;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
}

function folders(): string[] {
  const onPath = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const gopath = process.env.GOPATH || join(homedir(), 'go');
  const usual = [
    '/usr/sbin',
    '/usr/local/sbin',
    '/usr/bin',
    '/usr/local/bin',
    '/opt/homebrew/bin',
    join(gopath, 'bin'),
  ];
  return [...new Set([...onPath, ...usual, cacheFolder()])];
}
