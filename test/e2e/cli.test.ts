// Area: command line. Each command as a process of its own: what it says, what it refuses and how it ends. The demo,
// several nodes as one system, and the looks at their traffic, over a real server.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { encode } from '../../runtime/codec.ts';
import { connect } from '../../runtime/connect.ts';
import { VERSION } from '../../runtime/version.ts';
import { startTestServer } from '../support/nats-server.ts';
import { argvOf, ROOT } from '../support/programs.ts';
import { until } from '../support/until.ts';
import { type Running, runCommand, startCommand } from './commands.ts';

const test = suite('command line');

/** What the command `decode` makes of a body. */
async function decoded(body: Uint8Array) {
  const { ended, out, err } = startCommand(['decode'], body);
  return { code: await ended, out: out(), err: err() };
}

/** Runs the commands, and ends those that are still there, whatever happens. */
async function withCommands(use: (command: (...args: string[]) => Running) => Promise<void>): Promise<void> {
  const all: Running[] = [];
  try {
    await use((...args) => {
      const running = startCommand(args);
      all.push(running);
      return running;
    });
  } finally {
    for (const { child } of all) child.kill('SIGKILL');
    await Promise.all(all.map(({ ended }) => ended));
  }
}

test('version - as in the package', async () => {
  const { code, out } = await runCommand('--version');
  assert.equal([code, out.trim()], [0, VERSION]);
});

test('output - what cannot be written is told, and is no answer; whoever stops reading ends a command quietly', async () => {
  const endOf = async (command: string) => {
    const child = spawn('bash', ['-c', `set -o pipefail; ${command}`], { cwd: ROOT });
    let err = '';
    child.stderr.on('data', (chunk) => (err += chunk));
    child.stdout.resume();
    const [code] = await once(child, 'close');
    return { code, err };
  };
  const command = (program: string) => [process.execPath, ...argvOf(program)].map((arg) => `'${arg}'`).join(' ');
  const cellwright = command('runtime/cli/main.ts');
  const simulate = `${command('test/simulation/simulate.ts')} --replay 5`;
  assert.equal(await endOf(`${simulate} | head -1`), { code: 0, err: '' });
  if (!existsSync('/dev/full')) return;
  for (const [who, command] of [
    ['cellwright', `${cellwright} --help`],
    ['cellwright', `${cellwright} --version`],
    ['simulate', simulate],
  ]) {
    const { code, err } = await endOf(`${command} > /dev/full`);
    assert.is(code, 1, command);
    assert.is(err, `${who}: standard output cannot be written: ENOSPC\n`);
  }
});

test('usage - a wrong value is refused by the name of its flag', async () => {
  const nodes = ['--nodes', 'package.json', '--pods', 'package.json'];
  const azure = await mkdtemp(join(tmpdir(), 'cellwright-test-'));
  const arrivals = join(azure, 'v1.test.txt');
  for (const file of [arrivals, join(azure, 'v1.test.c1.txt')]) await writeFile(file, '');
  const cases: [string[], RegExp][] = [
    [['demo', '--cells', '0'], /--cells.*'0'.*whole number from 1 to 100/],
    [['demo', '--requests', 'many'], /--requests.*'many'/],
    [['replay', 'openb', ...nodes, '--fail-rate', '1.5'], /--fail-rate.*'1\.5'.*from 0 to 1/],
    [['replay', 'openb', ...nodes, '--speed', '0'], /--speed.*'0'.*above 0/],
    [['replay', 'openb', ...nodes, '--until', '-5'], /--until.*-5/],
    [['replay', 'openb', ...nodes, '--alternates', '21'], /--alternates.*'21'.*0 to 20/],
    [['replay', 'openb', '--pods', 'package.json'], /--nodes/],
    [['replay', 'azure', '--dir', 'no-such-folder'], /--dir.*'no-such-folder'.*cannot be read/],
    [['replay', 'azure', '--dir', '.'], /'\.' holds no file of arrivals with one of lifetimes/],
    [['replay', 'azure', '--dir', azure, '--json', arrivals], /--dir and --json name the same file: '.*v1\.test\.txt'/],
    [['replay', 'openb', ...nodes, '--in-memory', '--servers', 'nats://x'], /--in-memory.*--servers/],
    [['replay', 'openb', ...nodes, '--in-memory', '--prefix', 'A b'], /--in-memory.*--prefix/],
    [['node', '--servers', 'nats://x'], /--roles/],
    [['node', '--roles', 'placement,', '--servers', 'nats://x'], /--roles/],
    [['node', '--roles', 'king'], /'king' is not a role/],
    [['node', '--roles', 'scheduler', '--settings', 'package.json'], /--settings 'package.json': there is no 'name'/],
    [['tap', '--instance', 'Not.An.Id'], /--instance must be lower-case/],
    [['tap', '--prefix', 'a b'], /prefix must be/],
    [['host', 'fence', 'h1'], /the cell of 'h1' is not said: name the host <cell>\/h1, or its cell with --cell/],
    [['host', 'fence', 'c1/h1/h2'], /'host' must be a name, or <cell>\/<host>, not 'c1\/h1\/h2'/],
    [['host', 'enable', 'c1/h1', '--cell', 'c2'], /'cell' does not go with a cell in 'host', 'c1\/h1'/],
    // Wrong in itself, so no server is looked for.
    [['host', 'list', '--cell', 'C_1'], /'cell' of the hosts request must be lower-case/],
    [['host', 'enable', 'C_1/h1'], /'cell' of the host request must be lower-case/],
    [['cell', 'enable', 'C_1'], /'cell' of the cell request must be lower-case/],
    [['cell', 'disable'], /missing required argument 'cell'/],
    [['explain', 'Not.An.Id'], /'id' of the explain request must be lower-case/],
    [['why-not', 'Not.An.Id', 'h1'], /'id' of the why-not request must be lower-case/],
    [['why-not', 'i', 'c1/h1/h2'], /'host' must be a name, or <cell>\/<host>, not 'c1\/h1\/h2'/],
    [['fit', '--count', '0'], /--count/],
    [['fit'], /the fit request asks for no resources/],
    [['fit', '--resources', 'NOPE=1'], /'resources\.NOPE' of the fit request/],
    [['fit', '--resources', 'VCPU=1', '--hosts', 'c1/h1,h2'], /'placement\.hosts\.1' of the fit request/],
    [['placement-api', '--in-memory', '--servers', 'nats://x'], /--in-memory .* goes with neither --nats nor --store/],
    [['placement-api', '--nats', 'nats://x', '--store', 'y'], /--store is for a managed server/],
    [['juggle'], /unknown command 'juggle'/],
  ];
  for (const [args, message] of cases) {
    const { code, err } = await runCommand(...args);
    assert.match(err, message, args.join(' '));
    assert.is(code, 2, `${args.join(' ')}: ${err}`);
  }
  await rm(azure, { recursive: true });
});

test('usage - with --json what went wrong is one document on the standard output, and said on the other as ever', async () => {
  const nowhere = ['--nats', 'nats://127.0.0.1:1'];
  const cases: [string[], number, string, string | undefined][] = [
    [['fit', '--count', '0', '--json'], 2, 'bad-option', 'count'],
    [['explain', '--json'], 2, 'bad-option', 'instance'],
    [['why-not', 'web', '--json', '--nope'], 2, 'bad-option', 'nope'],
    [['audit', '--json', '--json'], 2, 'bad-option', 'json'],
    [['host', 'fence', 'h1', '--json'], 2, 'bad-option', 'cell'],
    [['host', 'list', '--json', '--tlsca', 'package.json'], 2, 'bad-option', 'tlsca'],
    [['explain', 'web', '--json', '--nats'], 2, 'bad-option', 'nats'],
    [['host', '--json'], 2, 'bad-option', 'json'],
    [['host', 'lst', '--json'], 2, 'bad-option', undefined],
    [['explain', 'Not.An.Id', '--json'], 2, 'malformed', 'id'],
    [['fit', '--json', '--resources', 'NOPE=1'], 2, 'malformed', 'resources.NOPE'],
    [['explain', 'web', '--json', ...nowhere], 1, 'unreachable', undefined],
    [['fit', '--resources', 'VCPU=1', '--json', ...nowhere], 2, 'unreachable', undefined],
  ];
  const ended = await Promise.all(cases.map(([args]) => runCommand(...args)));
  for (const [position, { code, out, err }] of ended.entries()) {
    const [args, exits, ...says] = cases[position] as (typeof cases)[number];
    const { error, ...more } = JSON.parse(out);
    assert.equal([code, error.code, error.field, more], [exits, ...says, {}], args.join(' '));
    assert.is(error.retryable, error.code === 'unreachable');
    assert.ok(err.replaceAll(/\s+/g, ' ').includes(error.message), err);
  }
});

test('usage - where no JSON is asked for, and of a help text, there is no such document', async () => {
  const prose = [
    ['explain'],
    ['fit', '--count', '0'],
    ['host', 'disable', 'h1', '--reason', '--json'],
    ['pack', '--nodes', 'package.json', '--json', 'package.json'],
    ['juggle', '--json'],
  ];
  for (const args of prose) {
    const { code, out } = await runCommand(...args);
    assert.equal([code, out], [2, ''], args.join(' '));
  }
  const help = await runCommand('explain', '--help', '--json');
  assert.is(help.code, 0);
  assert.match(help.out, /^Usage: cellwright explain/);
});

test('usage - a trace that is none is refused with file and line', async () => {
  const { code, err } = await runCommand('replay', 'openb', '--nodes', 'package.json', '--pods', 'package.json');
  assert.is.not(code, 0);
  assert.match(err, /'package\.json'/);
  assert.not.match(err, /\n\s+at /, 'no stack is shown for what the user did');
});

test('usage - where 1 is an answer, a server that is not there is 2; elsewhere it is 1', async () => {
  const nowhere = ['--nats', 'nats://127.0.0.1:1'];
  const cases: [string[], number][] = [
    [['fit', '--resources', 'VCPU=1', ...nowhere], 2],
    [['audit', ...nowhere], 2],
    [['explain', 'i', ...nowhere], 1],
    [['why-not', 'i', 'h', ...nowhere], 1],
  ];
  const ended = await Promise.all(cases.map(([args]) => runCommand(...args)));
  for (const [position, { code, err }] of ended.entries()) {
    const [args, expected] = cases[position] as [string[], number];
    assert.match(err, /127\.0\.0\.1:1/, args.join(' '));
    assert.is(code, expected, args.join(' '));
  }
});

test('usage - a server that takes the connection and says nothing is given up, and the command ends', async () => {
  const taken: Socket[] = [];
  const silent = createServer((socket) => void taken.push(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  try {
    const { port } = silent.address() as AddressInfo;
    const { code, err } = await runCommand('explain', 'i', '--nats', `nats://127.0.0.1:${port}`);
    assert.equal([code, /no NATS server answers at/.test(err)], [1, true], err);
  } finally {
    for (const socket of taken) socket.destroy();
    silent.close();
  }
});

test('usage - whatever signal ends a command before it has asked, it says so with the same exit code', () =>
  withCommands(async (command) => {
    const taken: Socket[] = [];
    const silent = createServer((socket) => void taken.push(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    try {
      const at = ['--nats', `nats://127.0.0.1:${(silent.address() as AddressInfo).port}`];
      const asking = [['explain', 'i'], ['fit', '--resources', 'VCPU=1'], ['host', 'list', '--cell', 'c1'], ['audit']];
      for (const args of asking) {
        for (const signal of ['SIGINT', 'SIGTERM'] as const) {
          const before = taken.length;
          const asked = command(...args, ...at);
          await until('it connects', () => taken.length > before);
          asked.child.kill(signal);
          assert.is(await asked.ended, 130, `${args.join(' ')} ${signal}: ${asked.err()}`);
          assert.match(asked.err(), /was given up/);
        }
      }
    } finally {
      for (const socket of taken) socket.destroy();
      silent.close();
    }
  }));

test('decode - a frame becomes a line for each message, other bodies one line', async () => {
  const messages = [
    { type: 'alive', host: 'h1' },
    { type: 'alive', host: 'h2' },
  ];
  const frame = await decoded(encode([{ from: 'compute/c1/h1', messages }]));
  assert.equal(
    frame.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
    messages.map((message) => ({ from: 'compute/c1/h1', ...message })),
  );
  const ofItsOwn = { type: 'told', from: 'somebody' };
  const both = await decoded(encode([{ from: 'gateway/g', messages: [ofItsOwn] }]));
  assert.equal(JSON.parse(both.out), { from: 'gateway/g', message: ofItsOwn });
  assert.is((await decoded(encode({ request: 'web' }))).out, '{"request":"web"}\n');
  assert.is((await decoded(Buffer.from(' {"id": "web"}'))).out, '{"id":"web"}\n');
  assert.equal(await decoded(new Uint8Array(0)), { code: 0, out: '', err: '' });
  const junk = await decoded(Buffer.from([0xc1, 0xff]));
  assert.is(junk.code, 1);
  assert.match(junk.err, /cellwright: the body is not readable MessagePack/);
});

test('replay - in memory, the same seed writes the same file', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'cellwright-test-'));
  try {
    const nodes = join(dir, 'nodes.csv');
    const pods = join(dir, 'pods.csv');
    await writeFile(nodes, 'sn,cpu_milli,memory_mib,gpu,model\nnode-1,64000,65536,2,T4\nnode-2,64000,65536,0,\n');
    const rows = Array.from({ length: 40 }, (_, pod) => `pod-${pod},4000,1024,${pod % 2},500,,${pod},${pod + 600}`);
    const header = 'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time';
    await writeFile(pods, `${header}\n${rows.join('\n')}\n`);
    const files: string[] = [];
    for (const name of ['one.json', 'two.json', '-']) {
      const isFile = name !== '-';
      const args = ['--cells', '1', '--in-memory', '--fail-rate', '0.3', '--json', isFile ? join(dir, name) : name];
      const { code, out, err } = await runCommand('replay', 'openb', '--nodes', nodes, '--pods', pods, ...args);
      assert.is(code, 0, err);
      assert.match(isFile ? out : err, /every request is accounted for, and the final state is sound/);
      files.push(isFile ? await readFile(join(dir, name), 'utf8') : out);
    }
    assert.is(files[1], files[0]);
    assert.is(files[2], files[0], 'the standard output has the same, and nothing else');
    const record = JSON.parse(files[0] as string);
    assert.is(record.requested, 40);
    assert.is(record.active + record.deleted + record.failed, 40);
    for (const name of [
      'failedByReason',
      'rescheduled',
      'overcommitted',
      'leaked',
      'buildsPerSecond',
      'p50Ms',
      'p99Ms',
    ])
      assert.ok(name in record, name);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

test('demo - plays, sums up, tells the nats commands, and ends by itself', async () => {
  const { code, out, err } = await runCommand('demo', ...'--cells 2 --hosts 12 --requests 150 --seed 5'.split(' '));
  assert.is(code, 0, err);
  assert.match(out, /playing \d/);
  assert.match(out, /accounted for +\d+ active \+ \d+ deleted \+ \d+ failed of 150 requested/);
  assert.match(out, /overcommitted 0, leaked 0, two-homes 0, misplaced 0, not-running 0/);
  assert.match(out, /nats --server nats:\/\/127\.0\.0\.1:\d+ sub 'cw\.cell\.\*\.build\.>'/);
});

test('demo - Ctrl-C ends it in order', () =>
  withCommands(async (command) => {
    const demo = command('demo', '--cells', '2', '--hosts', '6', '--requests', '500');
    await until('it plays', () => /playing/.test(demo.out()));
    demo.child.kill('SIGINT');
    assert.is(await demo.ended, 130);
    assert.match(demo.err(), /the replay was interrupted/);
  }));

test('demo - ends in order with the shell in which npm runs it, which alone is told when npm is to end', async () => {
  const script = [process.execPath, ...argvOf('runtime/cli/main.ts'), 'demo', '--serve', '--requests', '20'];
  const shell = spawn('sh', ['-c', '"$@"; exit $?', 'sh', ...script], {
    cwd: ROOT,
    env: { ...process.env, npm_lifecycle_event: 'start' },
    detached: true,
  });
  let out = '';
  let err = '';
  shell.stdout.on('data', (chunk) => (out += chunk));
  shell.stderr.on('data', (chunk) => (err += chunk));
  let isOver = false;
  // Whoever runs in it has the same output.
  shell.once('close', () => (isOver = true));
  try {
    await until('it plays', () => /playing/.test(out));
    shell.kill('SIGTERM');
    await until('all is over', () => isOver);
    assert.match(err, /the replay was interrupted/);
  } finally {
    if (!isOver) process.kill(-(shell.pid as number), 'SIGKILL');
  }
});

test('node and tap - several processes are one system, and its traffic can be followed', async () => {
  const server = await startTestServer();
  try {
    await withCommands(async (command) => {
      const at = ['--servers', server.url];
      const nodes = [
        command('node', ...at, '--name', 'api', '--roles', 'placement,scheduler,conductor'),
        command('node', ...at, '--name', 'cell-1', '--roles', 'cell:c1,compute:c1/h1,compute:c1/h2'),
      ];
      for (const node of nodes) await until('it plays', () => /plays/.test(node.out()));
      const tap = command('tap', ...at, '--instance', 'web');
      await until('the tap follows', () => /following/.test(tap.err()));
      const client = await connect({ servers: server.url, name: 'test' });
      try {
        await client.build({ id: 'other', resources: { VCPU: 1 } });
        await client.build({ id: 'web', resources: { VCPU: 1 } });
        assert.is((await client.ended('web')).state, 'active');
        const lines = ['cw.api.build - - {"id":"web"', 'cw.cell.c1.conductor start conductor/0 {"instance":"web"'];
        lines.push('cw.cell.c1.build.web.active active cell/c1 {');
        for (const line of lines) await until(`the tap shows ${line}`, () => tap.out().includes(line));
        assert.not.match(tap.out(), /"other"|_INBOX|\$JS/);
      } finally {
        await client.close();
      }
      for (const { child, ended, err } of [...nodes, tap]) {
        child.kill('SIGTERM');
        assert.is(await ended, 0, err());
      }
    });
  } finally {
    await server.stop();
  }
});

test('tap - says when it begins and ceases to miss what is said', async () => {
  const server = await startTestServer();
  try {
    await withCommands(async (command) => {
      const tap = command('tap', '--servers', server.url);
      await until('the tap follows', () => /following/.test(tap.err()));
      await server.kill();
      await until('it says that it hears nothing', () => /^[\d:.]+ disconnected from .*not shown$/m.test(tap.err()));
      await server.restart();
      await until('it says that it hears again', () => /^[\d:.]+ connected again, to /m.test(tap.err()));
      assert.is(tap.out(), '');
      tap.child.kill('SIGINT');
      assert.is(await tap.ended, 0, tap.err());
    });
  } finally {
    await server.stop();
  }
});

test.run();
