// Area: managed server. Finding and installing with stand-ins for apt and Go in a folder of the test's own, so that
// nothing is fetched; starting and stopping with the real server that this machine has.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { getEventListeners, once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { createConnection, createServer, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { connect } from 'nats';
import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type CellwrightError, messageOf } from '../../runtime/errors.ts';
import { findNatsServer } from '../../runtime/nats-server/find.ts';
import { greetingOf } from '../../runtime/nats-server/greeting.ts';
import { installNatsServer, PINNED_NATS_SERVER } from '../../runtime/nats-server/install.ts';
import { startNatsServer } from '../../runtime/nats-server/server.ts';
import { startNode } from '../../runtime/node.ts';
import { isAlive } from '../support/alive.ts';
import { freePort } from '../support/ports.ts';
import { argvOf } from '../support/programs.ts';

const test = suite('managed server');

const VERSION_SCRIPT = (version: string) => `#!/bin/sh\necho "nats-server: v${version}"\n`;
const FAILS = '#!/bin/sh\nexit 1\n';
/** Lines of a script that tells which process it is, and never ends. */
const HANGS = 'echo $$ > "$HANGING_PID"; exec tail -f /dev/null\n';

/** A folder with programs, first on PATH, and a cache folder; the environment is put back afterwards. */
async function withPrograms(programs: Record<string, string>, run: (root: string) => Promise<void>): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'cellwright-test-'));
  const before = { ...process.env };
  try {
    for (const [name, script] of Object.entries(programs)) {
      const path = join(root, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, script);
      await chmod(path, 0o755);
    }
    process.env.PATH = `${join(root, 'bin')}:/usr/bin:/bin`;
    process.env.XDG_CACHE_HOME = join(root, 'cache');
    delete process.env.CELLWRIGHT_NATS_SERVER;
    await run(root);
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
    await rm(root, { recursive: true, force: true });
  }
}

async function failureOf(run: () => Promise<unknown>): Promise<string> {
  try {
    await run();
  } catch (error) {
    return messageOf(error);
  }
  return 'it did not fail';
}

async function codeOf(run: () => Promise<unknown>): Promise<string | undefined> {
  return run().then(
    () => 'it did not fail',
    (error: CellwrightError) => error.code,
  );
}

/** Which process a script that hangs is, once it has told; for the programs of one test. */
function pidIn(root: string): () => number | null {
  const file = join(root, 'pid');
  process.env.HANGING_PID = file;
  return () => (existsSync(file) ? Number(readFileSync(file, 'utf8')) || null : null);
}

/** Arguments with which Node runs a script that starts servers. */
function starting(script: string): string[] {
  const argv = argvOf('runtime/nats-server/server.ts');
  const entry = pathToFileURL(argv.at(-1) as string).href;
  const whole = `const { startNatsServer } = await import(${JSON.stringify(entry)}); ${script}`;
  return [...argv.slice(0, -1), '--input-type=module', '-e', whole];
}

async function until(what: string, holds: () => boolean): Promise<void> {
  const limit = AbortSignal.timeout(10_000);
  while (!holds()) {
    if (limit.aborted) throw new Error(`${what}: not within 10 s`);
    await delay(10);
  }
}

// Finding

test('find - the environment comes first', () =>
  withPrograms({ 'mine/server': VERSION_SCRIPT('9.1.0'), 'bin/nats-server': VERSION_SCRIPT('9.2.0') }, async (root) => {
    process.env.CELLWRIGHT_NATS_SERVER = join(root, 'mine/server');
    assert.equal(await findNatsServer(), { path: join(root, 'mine/server'), version: '9.1.0' });
  }));

test('find - a wrong path in the environment is an error, not a fall-back', () =>
  withPrograms({ 'bin/nats-server': VERSION_SCRIPT('9.2.0') }, async (root) => {
    process.env.CELLWRIGHT_NATS_SERVER = join(root, 'absent');
    assert.match(await failureOf(findNatsServer), /CELLWRIGHT_NATS_SERVER is '.*absent', which is no nats-server/);
  }));

test('find - one that is too old is passed over, and told of where the environment names it', () =>
  withPrograms(
    { 'bin/nats-server': VERSION_SCRIPT('2.7.4'), 'more/nats-server': VERSION_SCRIPT('2.8.0') },
    async (root) => {
      const more = join(root, 'more/nats-server');
      process.env.PATH = `${join(root, 'bin')}:${dirname(more)}`;
      assert.equal(await findNatsServer(), { path: more, version: '2.8.0' });
      process.env.CELLWRIGHT_NATS_SERVER = join(root, 'bin/nats-server');
      assert.match(await failureOf(findNatsServer), /which is of version 2\.7\.4, and must be of 2\.8 or newer$/);
    },
  ));

test('find - PATH, passing over what does not run', () =>
  withPrograms({ 'bin/nats-server': FAILS, 'more/nats-server': VERSION_SCRIPT('9.3.0') }, async (root) => {
    // One of them is no folder.
    process.env.PATH = `${join(root, 'bin/nats-server')}:${process.env.PATH}:${join(root, 'more')}`;
    const found = await findNatsServer();
    assert.ok(found && found.version !== '');
    assert.is.not(found.path, join(root, 'bin/nats-server'));
  }));

// Installing

/** Stands in for apt: `download` works only after `update` when `stale`. */
const aptScript = (stale: boolean) => `#!/bin/sh
for verb; do :; done
case "$*" in
  --version) exit 0 ;;
  *update) touch "$APT_UPDATED"; exit 0 ;;
esac
if ${stale} && [ ! -e "$APT_UPDATED" ]; then echo 'E: Unable to locate package nats-server' >&2; exit 100; fi
touch nats-server_9.4.0_all.deb
`;
const dpkgScript = `#!/bin/sh
[ "$1" = --version ] && exit 0
mkdir -p "$3/usr/sbin"
printf '#!/bin/sh\\necho "nats-server: v9.4.0"\\n' > "$3/usr/sbin/nats-server"
chmod +x "$3/usr/sbin/nats-server"
`;
const debian = (stale: boolean) => ({
  'bin/apt-get': aptScript(stale),
  'bin/dpkg-deb': dpkgScript,
  'bin/go': FAILS,
  'bin/brew': FAILS,
});

test('install - from a Debian package into the cache, where it is found', () =>
  withPrograms(debian(false), async (root) => {
    const installed = await installNatsServer();
    assert.equal(installed, { path: join(root, 'cache/cellwright/nats-server'), version: '9.4.0' });
    assert.equal(await readdir(join(root, 'cache/cellwright')), ['nats-server'], 'nothing else is left there');
  }));

test('install - refreshes package lists that do not know the package', () =>
  withPrograms(debian(true), async (root) => {
    process.env.APT_UPDATED = join(root, 'updated');
    assert.is((await installNatsServer()).version, '9.4.0');
    assert.ok(existsSync(join(root, 'updated')));
  }));

test('install - several at once leave one whole program', () =>
  withPrograms(debian(false), async (root) => {
    const all = await Promise.all(Array.from({ length: 8 }, () => installNatsServer()));
    assert.equal(new Set(all.map(({ path }) => path)).size, 1);
    assert.equal(await readdir(join(root, 'cache/cellwright')), ['nats-server']);
  }));

test('install - removes what one that was killed long ago has left, and nothing of one that runs', () =>
  withPrograms(debian(false), async (root) => {
    const folder = (name: string) => join(root, 'cache/cellwright', name);
    for (const name of ['install-old', 'install-now']) await mkdir(folder(name), { recursive: true });
    const longAgo = new Date(Date.now() - 2 * 86_400_000);
    await utimes(folder('install-old'), longAgo, longAgo);
    await installNatsServer();
    assert.equal((await readdir(join(root, 'cache/cellwright'))).sort(), ['install-now', 'nats-server']);
  }));

async function withFetch(answer: (file: string) => Response, run: () => Promise<void>): Promise<void> {
  const real = globalThis.fetch;
  globalThis.fetch = (url) => Promise.resolve(answer(String(url).split('/').at(-1) ?? ''));
  try {
    await run();
  } finally {
    globalThis.fetch = real;
  }
}

test('install - when every way fails, the error tells how each went', () =>
  withPrograms(
    {
      'bin/apt-get': '#!/bin/sh\n[ "$1" = --version ] || { echo "E: no network" >&2; exit 100; }\n',
      'bin/dpkg-deb': dpkgScript,
      'bin/go': '#!/bin/sh\n[ "$1" = version ] || { echo "go: no network" >&2; exit 1; }\n',
      'bin/brew': FAILS,
    },
    () =>
      withFetch(
        () => new Response('', { status: 404 }),
        async () => {
          const failure = await failureOf(() => installNatsServer());
          assert.match(failure, /Debian's package: .*E: no network/s);
          assert.match(failure, /official release .* answered 404/);
          assert.match(failure, /go install .*go: no network/s);
          assert.match(failure, /Homebrew: no brew on PATH/);
          assert.match(failure, /name it in CELLWRIGHT_NATS_SERVER/);
        },
      ),
  ));

test('install - a package that is too old is passed over', () =>
  withPrograms({ ...debian(false), 'bin/dpkg-deb': dpkgScript.replace('9.4.0', '1.9.0') }, () =>
    withFetch(
      () => new Response('', { status: 404 }),
      async () => {
        const failure = await failureOf(installNatsServer);
        assert.match(failure, /Debian's package: what it has is of version 1\.9\.0, and must be of 2\.8 or newer/);
        assert.match(failure, /official release .* answered 404/);
      },
    ),
  ));

test('install - a cache folder that cannot be written is told of, with what to do', () =>
  withPrograms({ cache: '' }, async (root) => {
    const failure = await failureOf(() => installNatsServer());
    assert.match(failure, /^no nats-server could be installed; .* name it in CELLWRIGHT_NATS_SERVER:\n/);
    assert.match(failure, /the cache folder \(XDG_CACHE_HOME .*\) cannot be written: /);
    assert.match(failure, join(root, 'cache/cellwright'));
    assert.is(await codeOf(() => installNatsServer()), 'nats-server-install-failed');
  }));

test('install - why a release cannot be fetched is told', () =>
  withPrograms({ 'bin/apt-get': FAILS, 'bin/go': FAILS, 'bin/brew': FAILS }, () =>
    withFetch(
      () =>
        Promise.reject(new TypeError('fetch failed', { cause: new Error('getaddrinfo ENOTFOUND releases') })) as never,
      async () => assert.match(await failureOf(installNatsServer), /\.tar\.gz: getaddrinfo ENOTFOUND releases/),
    ),
  ));

test('install - and why one could not be fetched to its end', () =>
  withPrograms({ 'bin/apt-get': FAILS, 'bin/go': FAILS, 'bin/brew': FAILS }, () =>
    withFetch(
      () => {
        const broken = new TypeError('terminated', { cause: new Error('other side closed') });
        return new Response(new ReadableStream({ pull: (body) => body.error(broken) }));
      },
      async () => assert.match(await failureOf(installNatsServer), /\.tar\.gz: other side closed/),
    ),
  ));

test('install - a release archive whose sum is wrong is refused', () =>
  withPrograms({ 'bin/apt-get': FAILS, 'bin/go': FAILS, 'bin/brew': FAILS }, () =>
    withFetch(
      (file) => {
        const target = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
        const archive = `nats-server-v${PINNED_NATS_SERVER}-${target}.tar.gz`;
        const sum = createHash('sha256').update('the real archive').digest('hex');
        return new Response(file === 'SHA256SUMS' ? `${sum}  ${archive}\n` : 'another archive');
      },
      async () => assert.match(await failureOf(() => installNatsServer()), /has SHA-256 \w{64}, the release says/),
    ),
  ));

test('install - given up at a signal, with the program that it runs, and leaves nothing', () =>
  withPrograms(
    { ...debian(false), 'bin/apt-get': `#!/bin/sh\n[ "$1" = --version ] && exit 0\n${HANGS}` },
    async (root) => {
      const pid = pidIn(root);
      const giveUp = new AbortController();
      const installing = codeOf(() => installNatsServer({ signal: giveUp.signal }));
      await until('it downloads', () => pid() !== null);
      const download = pid() as number;
      await rm(join(root, 'pid'));
      giveUp.abort();
      assert.is(await installing, 'interrupted');
      await until('the download has ended', () => !isAlive(download));
      assert.is(pid(), null, 'nothing else was begun');
      assert.equal(await readdir(join(root, 'cache/cellwright')), []);
      assert.is(await codeOf(() => installNatsServer({ signal: giveUp.signal })), 'interrupted');
    },
  ));

test('find - given up at a signal, while a program does not say what it is', () =>
  withPrograms({ 'bin/nats-server': `#!/bin/sh\n${HANGS}` }, async (root) => {
    const pid = pidIn(root);
    const giveUp = new AbortController();
    const starting = codeOf(() => startNatsServer({ signal: giveUp.signal }));
    await until('it is asked', () => pid() !== null);
    giveUp.abort();
    assert.is(await starting, 'interrupted');
  }));

test('find - given up, a program that does not say what it is, and heeds no signal, is ended', () =>
  withPrograms({ 'bin/nats-server': `#!/bin/sh\ntrap '' TERM\n${HANGS}` }, async (root) => {
    const pid = pidIn(root);
    const giveUp = new AbortController();
    const starting = codeOf(() => startNatsServer({ signal: giveUp.signal }));
    await until('it is asked', () => pid() !== null);
    giveUp.abort();
    try {
      await until('it has ended', () => !isAlive(pid() as number));
    } finally {
      if (isAlive(pid() as number)) process.kill(pid() as number, 'SIGKILL');
    }
    assert.is(await starting, 'interrupted');
  }));

test('find - leaves nothing on the signal of its caller, however many folders have no such program', () =>
  withPrograms({ 'bin/nats-server': FAILS, 'cache/cellwright/nats-server': VERSION_SCRIPT('2.9.10') }, async (root) => {
    const { signal } = new AbortController();
    process.env.PATH = Array.from({ length: 12 }, (_, folder) => join(root, `none-${folder}`)).join(':');
    const found = await findNatsServer(signal);
    assert.is.not(found, null);
    assert.is(getEventListeners(signal, 'abort').length, 0);
  }));

// Running

test('start - serves JetStream on a free port, and stop leaves nothing', async () => {
  const [one, other] = await Promise.all([startNatsServer(), startNatsServer()]);
  try {
    assert.is.not(one.port, other.port);
    assert.match(one.version, /^\d+\.\d+\.\d+/);
    const connection = await connect({ servers: one.url });
    const manager = await connection.jetstreamManager();
    await manager.streams.add({ name: 'kept', subjects: ['kept'] });
    await connection.close();
  } finally {
    await Promise.all([one.stop(), other.stop()]);
  }
  await one.stop();
  assert.not(isAlive(one.pid));
  assert.not(existsSync(one.dataDir));
});

test('start - a data folder that was given outlives the server, at the same port', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'cellwright-test-'));
  try {
    const first = await startNatsServer({ dataDir, port: await freePort() });
    const connection = await connect({ servers: first.url });
    await (await connection.jetstreamManager()).streams.add({ name: 'kept', subjects: ['kept'] });
    await connection.close();
    process.kill(first.pid, 'SIGKILL');
    await first.stop();

    const second = await startNatsServer({ dataDir, port: first.port });
    try {
      assert.is(second.url, first.url);
      const again = await connect({ servers: second.url });
      assert.is((await (await again.jetstreamManager()).streams.info('kept')).config.name, 'kept');
      await again.close();
    } finally {
      await second.stop();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});

test("start - a data folder is one server's at a time, of this process and of others, until its process ends", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'cellwright-test-'));
  const script = `console.log(JSON.stringify(await startNatsServer(${JSON.stringify({ dataDir })})));`;
  const child = spawn(process.execPath, starting(script));
  try {
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const { port } = JSON.parse(line) as { port: number };
    const refusal = (await startNatsServer({ dataDir }).catch((error) => error)) as CellwrightError;
    assert.equal([refusal.code, refusal.field], ['data-in-use', 'dataDir']);
    assert.match(
      refusal.message,
      new RegExp(`is in use by the NATS server of process ${child.pid}, at nats://127.0.0.1:${port}`),
    );

    child.kill('SIGKILL');
    await once(child, 'close');
    const mine = await startNatsServer({ dataDir });
    assert.match(
      await failureOf(() => startNatsServer({ dataDir })),
      new RegExp(`of process ${process.pid}, at ${mine.url}`),
    );
    await mine.stop();
    await (await startNatsServer({ dataDir })).stop();
    assert.equal(
      (await readdir(dataDir)).filter((name) => name.includes('in-use')),
      [],
    );
  } finally {
    child.kill('SIGKILL');
    await rm(dataDir, { recursive: true, force: true });
  }
});

test('start - a data folder whose server runs on without its process is not given away, however often it is asked for', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'cellwright-test-'));
  const server = await startNatsServer();
  try {
    const id = (await greetingOf(server.port))?.server_id;
    const left = JSON.stringify({ id: 'gone', pid: 1, port: 1, server: { port: server.port, id } });
    await writeFile(join(dataDir, 'cellwright-in-use.json'), left);
    for (let tries = 0; tries < 2; tries += 1) {
      assert.match(await failureOf(() => startNatsServer({ dataDir })), new RegExp(`process 1, at ${server.url}`));
    }
    assert.is(await readFile(join(dataDir, 'cellwright-in-use.json'), 'utf8'), left);
    await server.stop();
    await (await startNatsServer({ dataDir })).stop();
  } finally {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
});

test('start - a program that cannot be run leaves the data folder to the next', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'cellwright-test-'));
  try {
    for (const binary of ['/etc/passwd/nats-server', '/absent/nats-server']) {
      assert.match(await failureOf(() => startNatsServer({ dataDir, binary })), /did not start: /);
    }
    await (await startNatsServer({ dataDir })).stop();
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});

test('start - where no temporary folder can be made, the failure says where it was tried', () =>
  withPrograms({}, async (root) => {
    process.env.TMPDIR = join(root, 'absent');
    const failure = await startNatsServer({ binary: 'nats-server' }).catch((error) => error as CellwrightError);
    assert.ok('code' in failure && failure.code === 'nats-server-start-failed', String(failure));
    assert.match(
      failure.message,
      /no temporary folder \(TMPDIR chooses where\) can be made: .*\/absent\/cellwright-nats-/,
    );
  }));

test('start - of several that want a folder whose holder is gone one has it', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'cellwright-test-'));
  try {
    const gone = '{"id":"gone","pid":1,"port":1}';
    for (const [left, turn] of [[gone], ['half a fi'], [gone, gone]]) {
      await writeFile(join(dataDir, 'cellwright-in-use.json'), left as string);
      // One who took its place was ended in the middle of that.
      if (turn !== undefined) await writeFile(join(dataDir, 'cellwright-in-use.json.after.gone'), turn);
      const started = await Promise.allSettled(Array.from({ length: 4 }, () => startNatsServer({ dataDir })));
      const servers = started.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      for (const server of servers) await server.stop();
      assert.is(servers.length, 1);
      for (const one of started) if (one.status === 'rejected') assert.is(one.reason.code, 'data-in-use');
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
});

test('start - JetStream off, payload limit and configuration lines reach the server', async () => {
  const options = { jetstream: false, maxPayloadBytes: 4096, config: 'server_name: toy\n' };
  const server = await startNatsServer(options);
  try {
    const connection = await connect({ servers: server.url });
    assert.is(connection.info?.max_payload, 4096);
    assert.is(connection.info?.jetstream ?? false, false);
    assert.is(connection.info?.server_name, 'toy');
    await connection.close();
  } finally {
    await server.stop();
  }
});

test('start - one who is told its lines, and throws, ends nothing, and stop leaves nothing', async () => {
  const ends: string[] = [];
  const log = () => {
    throw new Error('no room for this line');
  };
  const server = await startNatsServer({ log, onEnded: (why) => ends.push(why) });
  process.kill(server.pid, 'SIGKILL');
  await until('its end is told', () => ends.length > 0);
  await server.stop();
  assert.equal(ends, ['ended by SIGKILL']);
  assert.not(existsSync(server.dataDir));
});

test('start - a port that is taken is told in the words of the server', async () => {
  const squatter = createServer().listen(0, '127.0.0.1');
  await once(squatter, 'listening');
  try {
    const { port } = squatter.address() as { port: number };
    assert.match(
      await failureOf(() => startNatsServer({ port })),
      /did not start: exit code 1\n.*address already in use/s,
    );
  } finally {
    squatter.close();
  }
});

test('start - a server that is told to read its configuration anew keeps JetStream, and what is there', async () => {
  const server = await startNatsServer();
  const connection = await connect({ servers: server.url });
  try {
    const { streams } = await connection.jetstreamManager();
    await streams.add({ name: 'kept', subjects: ['kept'] });
    process.kill(server.pid, 'SIGHUP');
    await delay(500);
    assert.is((await streams.info('kept')).config.name, 'kept');
  } finally {
    await connection.close();
    await server.stop();
  }
});

test('start - a configuration that cannot be read is told in the words of the server', async () => {
  assert.match(await failureOf(() => startNatsServer({ config: 'listen: [' })), /did not start: .*Parse error/s);
});

test('start - it is told when the server ends by itself, and not when it is stopped', async () => {
  const ends: string[] = [];
  const options = { jetstream: false, onEnded: (why: string) => void ends.push(why) };
  const stopped = await startNatsServer(options);
  await stopped.stop();
  assert.equal(ends, []);
  const killed = await startNatsServer(options);
  process.kill(killed.pid, 'SIGKILL');
  await until('it is told', () => ends.length > 0);
  await killed.stop();
  assert.equal(ends, ['ended by SIGKILL']);
});

test('start - a node lives on where whoever is told by it of the end of its server, or of its connection, fails by and by', async () => {
  const unheard: unknown[] = [];
  const note = (reason: unknown) => unheard.push(reason);
  process.on('unhandledRejection', note);
  let pid = 0;
  const told: string[] = [];
  const fail = async (what: string) => {
    told.push(what);
    throw new Error('the listener is broken');
  };
  const managed = {
    log: (line: string) => (pid ||= Number(/\[(\d+)\]/.exec(line)?.[1])),
    onEnded: () => fail('ended'),
  };
  const node = await startNode({
    roles: ['placement'],
    nats: { managed, onStatus: ({ type }) => fail(type) },
    journals: 'memory',
    logger: pino({ level: 'silent' }),
  });
  try {
    process.kill(pid, 'SIGKILL');
    await until('both are told', () => told.includes('ended') && told.includes('disconnected'));
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(unheard, []);
  } finally {
    process.off('unhandledRejection', note);
    await node.stop();
  }
});

test('managed - what the server of a node logs as an error, the node warns of, and all of it is told whoever asked', async () => {
  const warned: string[] = [];
  const logged: string[] = [];
  const port = await freePort();
  const node = await startNode({
    roles: ['placement'],
    nats: { managed: { port, log: (line) => logged.push(line) } },
    journals: 'memory',
    logger: pino({ level: 'warn' }, { write: (line) => warned.push((JSON.parse(line) as { msg: string }).msg) }),
  });
  try {
    const stranger = createConnection(port, '127.0.0.1');
    stranger.on('error', () => {}).write('GARBAGE\r\n');
    await until('it is told', () => warned.length > 0);
    stranger.destroy();
    assert.match(warned[0] as string, /^the NATS server of this node says: 127\.0\.0\.1:\d+ .*parser error/i);
    assert.ok(logged.some((line) => line.includes('[INF]')) && logged.some((line) => line.includes('[ERR]')));
  } finally {
    await node.stop();
  }
});

test('start - an option that cannot be, or that there is not, is refused by its name, and nothing is left behind', async () => {
  const before = process.env.TMPDIR;
  const ours = await mkdtemp(join(tmpdir(), 'cellwright-test-'));
  process.env.TMPDIR = ours;
  const file = fileURLToPath(import.meta.url);
  const cases = [
    [{ dataDir: file }, 'dataDir', /data, '.*nats-server\.test\.[jt]s', cannot be used: /],
    [{ dataDir: `${file}/below` }, 'dataDir', /cannot be used: /],
    [{ dataDir: '' }, 'dataDir', /at least|fewer/],
    [{ datadir: file } as object, 'datadir', /unknown field/],
    [{ port: 70_000 }, 'port', /at most 65535/],
    [{ port: 0 }, 'port', /at least 1/],
    [{ port: 1.5 }, 'port', /a whole number/],
    [{ port: '4222' as never }, 'port', /a whole number/],
    [{ jetstream: 'yes' as never }, 'jetstream', /true or false/],
    [{ maxPayloadBytes: '1MB' as never }, 'maxPayloadBytes', /a whole number/],
    [{ readyTimeoutMs: -1 }, 'readyTimeoutMs', /at least 1/],
    [{ log: console as never }, 'log', /a function/],
    [{ signal: 'stop' as never }, 'signal', /an AbortSignal/],
  ] as const;
  try {
    for (const [options, field, says] of cases) {
      const error = await startNatsServer({ binary: '/absent/nats-server', ...options }).then(
        () => undefined,
        (failure) => failure as CellwrightError,
      );
      assert.equal([error?.code, error?.field], ['bad-option', field]);
      assert.match(error?.message ?? '', says);
    }
    assert.equal(await readdir(ours), []);
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    await rm(ours, { recursive: true });
  }
});

test('start - options that are no object are refused', async () => {
  for (const options of [5, 'memory', []] as never[]) {
    assert.match(await failureOf(() => startNatsServer(options)), /managed server must be an object$/);
  }
});

test('start - a program that is not there is a clear error', async () => {
  assert.match(await failureOf(() => startNatsServer({ binary: '/absent/nats-server' })), /did not start: .*ENOENT/);
});

test('start - a configuration that cannot be written, as on a full disk, is told of and leaves no folder', () =>
  withPrograms({ 'tmp/there': '' }, async (root) => {
    const argv = argvOf('runtime/nats-server/server.ts');
    const server = pathToFileURL(argv.at(-1) as string).href;
    const code = `import { startNatsServer } from '${server}';
      await startNatsServer({ binary: 'any' }).catch(({ code, message }) => console.log(code, message));`;
    // No file may get any content there.
    const script = `trap '' XFSZ; ulimit -f 0; exec "$@"`;
    const env = { ...process.env, TMPDIR: join(root, 'tmp') };
    const args = [process.execPath, ...argv.slice(0, -1), '--input-type=module', '--eval', code];
    const child = spawn('sh', ['-c', script, 'sh', ...args], { stdio: ['ignore', 'pipe', 'inherit'], env });
    const told = await text(child.stdout);
    assert.match(told, /^nats-server-start-failed the server's configuration, '.*', cannot be written: EFBIG/);
    assert.equal(
      (await readdir(join(root, 'tmp'))).filter((name) => name.startsWith('cellwright-nats-')),
      [],
    );
  }));

test('start - that no port can be listened at is told, and not that the folder is wrong', () =>
  withPrograms({ 'tmp/there': '' }, async (root) => {
    process.env.TMPDIR = join(root, 'tmp');
    const { listen } = Server.prototype;
    Server.prototype.listen = function fail(this: Server) {
      queueMicrotask(() => this.emit('error', new Error('listen EADDRNOTAVAIL')));
      return this;
    };
    try {
      const options = { binary: 'any', dataDir: join(root, 'data') };
      const error = await startNatsServer(options).catch((fault: CellwrightError) => fault);
      assert.instance(error, Error);
      const { code, field, message } = error as CellwrightError;
      const words = 'no port of this machine can be listened at: listen EADDRNOTAVAIL';
      assert.equal([code, field, message], ['nats-server-start-failed', undefined, words]);
    } finally {
      Server.prototype.listen = listen;
    }
    assert.equal(await readdir(join(root, 'tmp')), ['there']);
  }));

test('start - a program that never serves is given up and ended', () =>
  withPrograms({ 'bin/mute': '#!/bin/sh\necho $$ > "$MUTE_PID"; exec tail -f /dev/null\n' }, async (root) => {
    process.env.MUTE_PID = join(root, 'pid');
    const options = { binary: join(root, 'bin/mute'), readyTimeoutMs: 1_000 };
    const words = /not ready within 1000 ms: it has not told its port/;
    assert.match(await failureOf(() => startNatsServer(options)), words);
    assert.not(isAlive(Number(await readFile(join(root, 'pid'), 'utf8'))));
  }));

test('start - why a server that has told its port cannot be reached is told', () =>
  withPrograms(
    { 'bin/deaf': `#!/bin/sh\nfor d; do :; done\necho '"nats://127.0.0.1:1"' > "$d/x.ports"; ${HANGS}` },
    async (root) => {
      const options = { binary: join(root, 'bin/deaf'), readyTimeoutMs: 1_000 };
      const words = /not ready within 1000 ms: connect ECONNREFUSED 127\.0\.0\.1:1/;
      assert.match(await failureOf(() => startNatsServer(options)), words);
    },
  ));

test('start - given up at a signal, also of a node, and a program that never serves is ended', () =>
  withPrograms({ 'bin/mute': `#!/bin/sh\ntrap '' INT\n${HANGS}` }, async (root) => {
    const managed = { binary: join(root, 'bin/mute'), readyTimeoutMs: 600_000 };
    const starts = [
      (signal: AbortSignal) => startNatsServer({ ...managed, signal }),
      (signal: AbortSignal) => startNode({ roles: ['placement'], nats: { managed, signal } }),
    ];
    for (const start of starts) {
      const pid = pidIn(root);
      const giveUp = new AbortController();
      const starting = codeOf(() => start(giveUp.signal));
      await until('it runs', () => pid() !== null);
      giveUp.abort();
      assert.is(await starting, 'interrupted');
      assert.not(isAlive(pid() ?? 0));
      await rm(join(root, 'pid'));
    }
  }));

for (const endsFirst of [false, true]) {
  const whose = endsFirst ? 'that outlived its server' : 'and with it its server';
  test(`start - the server and its temporary folder are gone after a parent that was killed, ${whose}`, async () => {
    const script = `setInterval(() => {}, 1e6);
      const onEnded = () => console.log('ended');
      console.log(JSON.stringify(await startNatsServer({ onEnded })));`;
    const parent = spawn(process.execPath, starting(script), { stdio: ['ignore', 'pipe', 'inherit'] });
    const told = createInterface({ input: parent.stdout });
    const [line] = (await once(told, 'line')) as [string];
    const server = JSON.parse(line) as { pid: number; dataDir: string };
    assert.ok(isAlive(server.pid));
    if (endsFirst) {
      process.kill(server.pid, 'SIGKILL');
      await once(told, 'line');
      assert.ok(existsSync(server.dataDir), 'what it kept is there for whoever starts another');
    }
    parent.kill('SIGKILL');
    await until('the server ends', () => !isAlive(server.pid));
    await until('the folder is removed', () => !existsSync(dirname(server.dataDir)));
  });
}

test.run();
