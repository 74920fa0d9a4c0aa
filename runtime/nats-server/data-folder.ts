// Keeps two managed servers of one machine from one folder: each would write over what the other has acknowledged, and no nats-server
// looks whether another is there. A file in the folder names who has it, and where he can be asked: a port on loopback
// is closed when its process ends, however it ends, so that nobody is kept out by one who is gone.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import Type, { type Static } from 'typebox';
import { CellwrightError, messageOf } from '../errors.ts';
import { checkOf } from '../schemas.ts';
import { greetingOf } from './greeting.ts';

/** A folder that is this process's own until it is released. */
export interface HeldFolder {
  /** Notes which server uses it, so that whoever comes after a crash can see that it has ended. */
  usedBy(port: number): Promise<void>;
  release(): Promise<void>;
}

const FILE = 'cellwright-in-use.json';
/** Who has taken a folder looks once more after so long, ms, whether it is his. */
const SETTLED_MS = 50;
const ANSWER_WITHIN_MS = 2_000;
/** A server whose process was killed is ended at once, but not in the same moment. */
const SERVER_ENDS_WITHIN_MS = 5_000;
const POLL_MS = 10;
/** How often it is tried again where another one was quicker. */
const MOST_TRIES = 5;

const InUse = Type.Object({
  /** Names this holder. */
  id: Type.String(),
  pid: Type.Integer(),
  /** Where the holder answers with its id. */
  port: Type.Integer(),
  /** The port and the id of the server, once it is ready. */
  server: Type.Optional(Type.Object({ port: Type.Integer(), id: Type.String() })),
});
type InUse = Static<typeof InUse>;
const check = checkOf(InUse, FILE);

/**
 * Takes a folder.
 * @throws CellwrightError `data-in-use` with the field `dataDir` when another process has it, or its server is still there.
 */
export async function holdFolder(dataDir: string): Promise<HeldFolder> {
  const file = join(dataDir, FILE);
  const id = randomUUID();
  const answering = createServer((socket) => {
    socket.on('error', () => {});
    socket.end(id);
  });
  answering.listen(0, '127.0.0.1');
  try {
    await once(answering, 'listening');
  } catch (cause) {
    const message = `no port of this machine can be listened at: ${messageOf(cause)}`;
    throw new CellwrightError('nats-server-start-failed', message, { cause });
  }
  answering.unref();
  const mine: InUse = { id, pid: process.pid, port: (answering.address() as AddressInfo).port };
  const insistMine = async () => {
    const holder = await holderIn(file);
    if (holder?.id !== id) throw inUse(dataDir, holder);
  };
  try {
    await take(dataDir, file, mine);
    await delay(SETTLED_MS);
    await insistMine();
  } catch (error) {
    answering.close();
    throw error;
  }
  return {
    async usedBy(port) {
      await insistMine();
      const server = await greetingOf(port);
      if (server?.server_id !== undefined) await put(file, { ...mine, server: { port, id: server.server_id } });
    },
    async release() {
      if ((await holderIn(file))?.id === id) await rm(file, { force: true });
      answering.close();
    },
  };
}

/** Puts the file there, in the place of one whose writer is gone, with his server; nothing is changed where he is not. */
async function take(dataDir: string, file: string, mine: InUse): Promise<void> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    if (await made(file, mine)) return;
    const before = await holderIn(file);
    if (before !== null && (await isThere(before))) throw inUse(dataDir, before);
    if (before?.server !== undefined && !(await hasEnded(before.server))) throw inUse(dataDir, before);
    // One at a time takes the place of this one.
    const turn = `${file}.after.${before?.id ?? 'nobody'}`;
    if (!(await made(turn, mine))) {
      const other = await holderIn(turn);
      if (other !== null && (await isThere(other))) throw inUse(dataDir, other);
      await rm(turn, { force: true });
      continue;
    }
    try {
      if ((await holderIn(file))?.id !== before?.id) continue;
      await put(file, mine);
      return;
    } finally {
      await rm(turn, { force: true });
    }
  }
  throw inUse(dataDir, await holderIn(file));
}

/** Makes a file, whole at once, that must not be there; false when it is. */
async function made(file: string, inUse: InUse): Promise<boolean> {
  const own = `${file}.${inUse.id}`;
  const text = JSON.stringify(inUse);
  try {
    await writeFile(own, text);
    try {
      await link(own, file);
    } catch (error) {
      if (codeOf(error) === 'EEXIST') throw error;
      // Some file systems know no links.
      await writeFile(file, text, { flag: 'wx' });
    }
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(own, { force: true });
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;

/** Puts the file there as a whole, whatever there was. */
async function put(file: string, inUse: InUse): Promise<void> {
  const own = `${file}.${inUse.id}`;
  await writeFile(own, JSON.stringify(inUse));
  await rename(own, file);
}

/** Who has the folder, or had it; null when nobody has, or what is there is no word of a holder. */
async function holderIn(file: string): Promise<InUse | null> {
  try {
    const told: unknown = JSON.parse(await readFile(file, 'utf8'));
    return check(told) === null ? (told as InUse) : null;
  } catch {
    return null;
  }
}

async function isThere({ id, port }: InUse): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port, timeout: ANSWER_WITHIN_MS });
  socket.on('timeout', () => socket.destroy(new Error('no answer')));
  try {
    return (await text(socket)) === id;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function hasEnded({ port, id }: { port: number; id: string }): Promise<boolean> {
  const limit = AbortSignal.timeout(SERVER_ENDS_WITHIN_MS);
  while ((await greetingOf(port))?.server_id === id) {
    if (limit.aborted) return false;
    await delay(POLL_MS);
  }
  return true;
}

function inUse(dataDir: string, holder: InUse | null): CellwrightError {
  const who = holder === null ? 'another process' : `process ${holder.pid}`;
  const where = holder?.server === undefined ? '' : `, at nats://127.0.0.1:${holder.server.port}`;
  const message = `the folder '${dataDir}' is in use by the NATS server of ${who}${where}: connect to that one, or stop it first`;
  return new CellwrightError('data-in-use', message, { field: 'dataDir', retryable: true });
}
