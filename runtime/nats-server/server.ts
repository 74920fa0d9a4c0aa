// Runs a nats-server of our own on loopback, for tests, demos and single-machine use: found or installed, started on
// a free port, ready when `startNatsServer` returns, and gone when `stop` returns or when this process ends, however.

import { type ChildProcess, spawn } from 'node:child_process';
import { access, constants, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { throwIfAborted, unlessAborted } from '../abortable.ts';
import { CellwrightError, messageOf } from '../errors.ts';
import { unfailing } from '../unfailing.ts';
import { checkNatsServerOptions } from './checks.ts';
import { type HeldFolder, holdFolder } from './data-folder.ts';
import { findNatsServer } from './find.ts';
import { greetingOf } from './greeting.ts';
import { installNatsServer } from './install.ts';
import type { NatsServerOptions } from './options.ts';

/**
 * Clients that were cut off without a word are noticed within three of these: until then messages for a queue group are
 * dealt to them as well. NATS's own default is two minutes.
 */
const PINGS = 'ping_interval: "10s"\n';

/** A server that accepts connections. */
export interface NatsServer {
  /** Such as `nats://127.0.0.1:4222`. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Such as `2.9.10`. */
  readonly version: string;
  readonly dataDir: string;
  /** Ends the server in order, or after 10 seconds by force. Idempotent. */
  stop(): Promise<void>;
}

/**
 * It leaves half of the processors to those who talk to it: with all of them it takes a third more processor time, and
 * builds up to a tenth more. What the environment says of it goes.
 */
const PROCESSORS = Math.max(1, Math.floor(availableParallelism() / 2));
const STOP_TIMEOUT_MS = 10_000;
/** Nobody has used it, and whoever gives up does not want to wait. */
const GIVEN_UP_STOP_TIMEOUT_MS = 1_000;
const POLL_MS = 10;
const LOG_LINES_KEPT = 30;
const STARTING = 'the start of the NATS server';

/**
 * Starts a nats-server and waits until it accepts connections, and JetStream with them.
 * @throws CellwrightError `bad-option` with the field, before anything is started; `data-in-use` with the field `dataDir`;
 * `nats-server-start-failed` with the server's last log lines; `interrupted`; what `findNatsServer` and
 * `installNatsServer` throw.
 */
export async function startNatsServer(chosen?: NatsServerOptions): Promise<NatsServer> {
  const options = chosen ?? {};
  checkNatsServerOptions(options);
  const { signal } = options;
  const log = unfailing(options.log ?? (() => {}));
  const binary = options.binary ?? ((await findNatsServer(signal)) ?? (await installNatsServer({ log, signal }))).path;
  throwIfAborted(signal, STARTING);
  const runDir = await temporaryFolder(binary);
  const dataDir = resolve(options.dataDir ?? join(runDir, 'data'));
  const args = await argumentsFor(options, runDir, dataDir);
  // A temporary one nobody else knows of.
  const folder = await madeFolder(dataDir, runDir, options.dataDir !== undefined);
  let server: Launched;
  try {
    server = launch(binary, args, { runDir, log });
  } catch (cause) {
    await folder?.release();
    await rm(runDir, { recursive: true, force: true });
    throw new CellwrightError('nats-server-start-failed', `'${binary}' did not start: ${messageOf(cause)}`, { cause });
  }
  const stop = async (timeoutMs: number) => {
    await server.stop(timeoutMs);
    await folder?.release();
  };
  try {
    const { port, version } = await unlessAborted(ready(server, runDir, options), signal, STARTING);
    await folder?.usedBy(port);
    const failed = (error: unknown) => log(`what was to be told of the end of the server failed: ${messageOf(error)}`);
    if (options.onEnded !== undefined) server.endedByItself.then(options.onEnded).catch(failed);
    const url = `nats://127.0.0.1:${port}`;
    return { url, port, pid: server.pid, version, dataDir, stop: () => stop(STOP_TIMEOUT_MS) };
  } catch (error) {
    await stop(signal?.aborted === true ? GIVEN_UP_STOP_TIMEOUT_MS : STOP_TIMEOUT_MS);
    throwIfAborted(signal, STARTING);
    if (error instanceof CellwrightError) throw error;
    const lines = server.lastLines.map((line) => `\n  ${line}`).join('');
    const message = `'${binary}' did not start: ${messageOf(error)}${lines}`;
    throw new CellwrightError('nats-server-start-failed', message, { cause: error });
  }
}

async function temporaryFolder(binary: string): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), 'cellwright-nats-'));
  } catch (cause) {
    const message = `'${binary}' was not started: no temporary folder (TMPDIR chooses where) can be made: ${messageOf(cause)}`;
    throw new CellwrightError('nats-server-start-failed', message, { cause });
  }
}

async function madeFolder(dataDir: string, runDir: string, isKept: boolean): Promise<HeldFolder | null> {
  try {
    await mkdir(dataDir, { recursive: true });
    await access(dataDir, constants.W_OK);
    if (!(await stat(dataDir)).isDirectory()) throw new Error('it is no folder');
    return isKept ? await holdFolder(dataDir) : null;
  } catch (cause) {
    await rm(runDir, { recursive: true, force: true });
    if (cause instanceof CellwrightError) throw cause;
    const message = `the folder for the server's data, '${dataDir}', cannot be used: ${messageOf(cause)}`;
    throw new CellwrightError('bad-option', message, { field: 'dataDir', cause });
  }
}

async function argumentsFor(options: NatsServerOptions, runDir: string, dataDir: string): Promise<string[]> {
  const { port = -1, jetstream = true, maxPayloadBytes, config = '' } = options;
  const configFile = join(runDir, 'nats-server.conf');
  const limits = `${PINGS}${maxPayloadBytes === undefined ? '' : `max_payload: ${maxPayloadBytes}\n`}`;
  // Told that its configuration is to be read anew, the server forgets what only its command line says of JetStream.
  const storage = jetstream ? `store_dir: ${JSON.stringify(dataDir)}\njetstream: enabled\n` : '';
  try {
    await writeFile(configFile, `${limits}${storage}${config}\n`);
  } catch (cause) {
    await rm(runDir, { recursive: true, force: true });
    const message = `the server's configuration, '${configFile}', cannot be written: ${messageOf(cause)}`;
    throw new CellwrightError('nats-server-start-failed', message, { cause });
  }
  return ['--config', configFile, '--addr', '127.0.0.1', `--port=${port}`, '--ports_file_dir', runDir];
}

/** The process, before and while it serves. */
interface Launched {
  /** -1 when the program could not be run at all. */
  readonly pid: number;
  readonly lastLines: readonly string[];
  /** Why the process ended; `null` while it runs. */
  ended(): string | null;
  /** The same, once it ends without being stopped. */
  readonly endedByItself: Promise<string>;
  /** By force after so long. */
  stop(timeoutMs: number): Promise<void>;
}

function launch(
  binary: string,
  args: readonly string[],
  { runDir, log }: { runDir: string; log: (line: string) => void },
): Launched {
  // A process group of its own: Ctrl-C in a terminal is for this process, which then stops the server in order.
  const env = { GOMAXPROCS: String(PROCESSORS), ...process.env };
  const child = spawn(binary, args, { stdio: ['ignore', 'ignore', 'pipe'], detached: true, env });
  const guard = child.pid === undefined ? undefined : guardOf(child.pid, runDir);
  const lastLines: string[] = [];
  let end: string | null = null;
  let stopping: Promise<void> | undefined;
  let tellEnd = (_why: string): void => {};
  const endedByItself = new Promise<string>((resolveEnded) => {
    tellEnd = resolveEnded;
  });

  createInterface({ input: child.stderr }).on('line', (line) => {
    lastLines.push(line);
    if (lastLines.length > LOG_LINES_KEPT) lastLines.shift();
    log(line);
  });
  const closed = new Promise<void>((resolveClosed) => {
    const onEnd = (why: string) => {
      if (end !== null) return;
      end = why;
      guard?.stdin?.write('ended\n');
      if (stopping === undefined) {
        log(`nats-server: ${why}`);
        tellEnd(why);
      }
      resolveClosed();
    };
    child.once('error', (error) => onEnd(error.message));
    child.once('close', (code, signal) => onEnd(signal === null ? `exit code ${code}` : `ended by ${signal}`));
  });

  const stop = async (timeoutMs: number) => {
    child.kill('SIGINT');
    const force = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    await closed;
    clearTimeout(force);
    await rm(runDir, { recursive: true, force: true });
    guard?.kill('SIGKILL');
  };
  return {
    pid: child.pid ?? -1,
    lastLines,
    ended: () => end,
    endedByItself,
    stop: (timeoutMs) => {
      stopping ??= stop(timeoutMs);
      return stopping;
    },
  };
}

/**
 * A shell that waits for this process to end, in whatever way, even by SIGKILL: its input closes then, and it ends
 * the server, unless it was told that this has ended, and clears the temporary folder. An exit hook could do neither after
 * a signal.
 */
function guardOf(pid: number, runDir: string): ChildProcess {
  const script = 'read -r ended || kill -9 "$1"; while read -r _; do :; done; rm -rf -- "$2"';
  const args = ['-c', script, 'nats-server-guard', String(pid), runDir];
  const guard = spawn('sh', args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  // Without a shell the server still runs; it is only not cleared away after a crash.
  guard.on('error', () => {});
  guard.stdin?.on('error', () => {});
  guard.unref();
  return guard;
}

/** Waits until the server has told its port and greets a connection there. */
async function ready(
  server: Launched,
  runDir: string,
  { readyTimeoutMs = 30_000, jetstream = true }: NatsServerOptions,
): Promise<{ port: number; version: string }> {
  const limit = AbortSignal.timeout(readyTimeoutMs);
  for (;;) {
    const end = server.ended();
    if (end !== null) throw new Error(end);
    const port = await portToldIn(runDir);
    let lacks = port === null ? 'it has not told its port' : 'it offers no JetStream';
    const info = port === null ? null : await greetingOf(port, (why) => (lacks = why));
    if (port !== null && info !== null && (info.jetstream || !jetstream)) return { port, version: info.version };
    if (limit.aborted) throw new Error(`it was not ready within ${readyTimeoutMs} ms: ${lacks}`);
    await delay(POLL_MS);
  }
}

/** The client port from the file that the server writes once it listens; `null` until then. */
async function portToldIn(runDir: string): Promise<number | null> {
  const file = (await readdir(runDir)).find((name) => name.endsWith('.ports'));
  if (file === undefined) return null;
  // The file may be read while it is being written, so it is searched, not parsed.
  const told = await readFile(join(runDir, file), 'utf8');
  const port = /"(?:nats|tls):\/\/127\.0\.0\.1:(\d+)"/.exec(told)?.[1];
  return port === undefined ? null : Number(port);
}
