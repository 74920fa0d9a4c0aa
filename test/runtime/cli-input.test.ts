// Area: command line, what it is given. Flags that are given twice, files that people write by hand, and words of others
// that are shown in a terminal.

import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { Command } from 'commander';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Finding } from '../../runtime/audit/finding.ts';
import { checkApart, checkWritable, jsonObjectIn, writeTo } from '../../runtime/cli/files.ts';
import { addFit } from '../../runtime/cli/fit.ts';
import { hintsFor, withFlagsIn } from '../../runtime/cli/hints.ts';
import { refuseRepeats } from '../../runtime/cli/once.ts';
import { positiveNumber, servers, share } from '../../runtime/cli/options.ts';
import { linesOf } from '../../runtime/cli/perform-audit.ts';
import { accessOf, deploymentWords, natsIfNamed, natsOf } from '../../runtime/cli/server-flags.ts';
import { printable } from '../../runtime/cli/text.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import { jsonIn } from '../../runtime/json-text.ts';

const test = suite('command line input');

const folder = mkdtempSync(join(tmpdir(), 'cellwright-input-'));
test.after(() => rmSync(folder, { recursive: true }));

/** Parses as the program does, without performing; answers the options, or what was wrong. */
async function parsed(...args: string[]): Promise<Record<string, unknown> | string> {
  const program = new Command('cellwright').exitOverride().configureOutput({ writeErr: () => undefined });
  addFit(program);
  const [fit] = program.commands as [Command];
  fit.exitOverride().configureOutput({ writeErr: () => undefined });
  let options: Record<string, unknown> = {};
  fit.action((flags: Record<string, unknown>) => {
    options = flags;
  });
  refuseRepeats(program);
  try {
    await program.parseAsync(['fit', ...args], { from: 'user' });
    return options;
  } catch (error) {
    return (error as Error).message;
  }
}

test('flags - one that is given twice is refused, but for those that add up', async () => {
  assert.match((await parsed('--resources', 'VCPU=1', '--resources', 'VGPU=1')) as string, /--resources.*given twice/);
  assert.match((await parsed('--json', '--json')) as string, /--json.*given twice/);
  assert.match((await parsed('--servers', 'a', '--nats', 'b')) as string, /--nats, --servers.*given twice/);
  const both = await parsed('--any-of', 'A,B', '--any-of', 'C', '--group', 'a:VGPU=1', '--group', 'b:VGPU=2');
  assert.equal((both as Record<string, unknown>).anyOf, [['A', 'B'], ['C']]);
  assert.is(((both as Record<string, unknown>).group as unknown[]).length, 2);
});

test('flags - amounts name each class once, by a name that is one', async () => {
  assert.match((await parsed('--resources', 'VCPU=1,VCPU=2')) as string, /--resources.*names VCPU twice/);
  for (const name of ['__proto__', 'constructor', '', 'vcpu', 'V CPU']) {
    assert.match((await parsed('--resources', `${name}=1`)) as string, /must be CLASS=AMOUNT, the class in upper-case/);
  }
  const { resources } = (await parsed('--resources', 'VCPU=1,CUSTOM_X=2')) as { resources: object };
  assert.equal(resources, { VCPU: 1, CUSTOM_X: 2 });
});

test('flags - the way into a server is said by files, as to the NATS CLI', async () => {
  const file = join(folder, 'some.pem');
  writeFileSync(file, 'the words of a file');
  const flags = await parsed(
    '--nats',
    'tls://there',
    '--creds',
    file,
    '--tlsca',
    file,
    '--tlscert',
    file,
    '--tlskey',
    file,
    '--inbox-prefix',
    '_INBOX.ops',
  );
  assert.equal(natsOf(flags as never), {
    servers: ['tls://there'],
    credentials: 'the words of a file',
    tls: { caFile: file, certFile: file, keyFile: file },
    inboxPrefix: '_INBOX.ops',
  });
  assert.equal(natsOf((await parsed()) as never), { servers: ['nats://127.0.0.1:4222'] });
  assert.equal(natsIfNamed({}), {});
  assert.throws(() => natsIfNamed({ tlsca: file }), /--tlsca is for the server that --nats names/);
  assert.throws(() => natsIfNamed({ inboxPrefix: 'mine' }), /--inbox-prefix is for the server that --nats names/);
  assert.match((await parsed('--creds', join(folder, 'none'))) as string, /--creds.*cannot be read/);
  assert.match((await parsed('--inbox-prefix', 'a.>')) as string, /--inbox-prefix.*tokens with dots between/);
  for (const [given, field] of [['tlscert', 'tlskey'] as const, ['tlskey', 'tlscert'] as const]) {
    assert.throws(
      () => accessOf({ [given]: file }),
      (error: CellwrightError) => error.code === 'bad-option' && error.field === field,
    );
  }
});

test('flags - numbers are within their bounds, and finite', () => {
  const most = positiveNumber(10);
  assert.equal([most('0.5'), most('1e-3'), most('10'), share('1e-1')], [0.5, 0.001, 10, 0.1]);
  for (const text of ['0', '10.1', '1e999', '9'.repeat(400), 'NaN', 'Infinity', '-1', '0x1', '', ' 1', '1_0']) {
    assert.throws(() => most(text), /above 0, at most 10/, text);
  }
  assert.equal(servers('nats://a:1,b'), ['nats://a:1', 'b']);
  assert.throws(() => servers('ftp://a'), /'ftp:\/\/a' begins with ftp/);
});

test('files - JSON by hand: a byte order mark is no fault, what is unclear or no object is', () => {
  const file = join(folder, 'file.json');
  const read = (content: string | Uint8Array) => {
    writeFileSync(file, content);
    return jsonObjectIn('settings', file, 'bad-settings');
  };
  assert.equal(read('\ufeff{"a": {"b": "{\\"b\\": 1, \\"b\\": 2}", "c": ["b", "b"]}, "b": {"b": 1}}\r\n'), {
    a: { b: '{"b": 1, "b": 2}', c: ['b', 'b'] },
    b: { b: 1 },
  });
  const bad: [string | Uint8Array, RegExp][] = [
    ['', /it is empty/],
    [' \n', /it is empty/],
    ['[]', /must be a JSON object/],
    ['null', /must be a JSON object/],
    ['{', /not readable JSON/],
    [Uint8Array.of(0x7b, 0xff, 0x7d), /not text in UTF-8/],
    ['{"a": 1, "b": {}, "a": 2}', /the name 'a' stands twice/],
    ['{"x": [{"a": 1, "\\u0061": 2}]}', /the name 'a' stands twice in one object, at 'x\.0'$/],
    ['{"x": [[1, 2], {"a": {"b": [3, 4], "b": 5}}]}', /the name 'b' stands twice in one object, at 'x\.1\.a'$/],
    [`{"${'k'.repeat(300)}": {"a": 1, "a": 2}}`, /the name 'a' stands twice in one object$/],
    ['{"__proto__": {}}', /'__proto__' is not allowed/],
    ['{"a": 1e999}', /too large/],
  ];
  for (const [content, says] of bad) {
    assert.throws(
      () => read(content),
      (error: unknown) =>
        error instanceof CellwrightError &&
        error.code === 'bad-settings' &&
        error.field === 'settings' &&
        error.message.includes(file) &&
        says.test(error.message),
      String(content),
    );
  }
  assert.throws(() => jsonObjectIn('settings', folder, 'bad-settings'), /it is a folder/);
  assert.is((jsonIn(Buffer.from(JSON.stringify({ a: 'x"\\'.repeat(200_000) }))) as { a: string }).a.length, 600_000);
});

test('files - an outcome that could not be kept is found out before the work', () => {
  const made = join(folder, 'made');
  mkdirSync(made);
  const cases: [string, RegExp][] = [
    [made, /--json: '.*' cannot be written: it is a folder/],
    [join(folder, 'absent', 'x'), /cannot be written: ENOENT/],
    ...(process.platform === 'linux' ? [['/proc/x', /cannot be written: /] as [string, RegExp]] : []),
  ];
  for (const [file, says] of cases) {
    for (const attempt of [() => checkWritable('json', file), () => writeTo('json', file, '')]) {
      assert.throws(attempt, (error: unknown) => error instanceof CellwrightError && error.field === 'json');
    }
    assert.throws(() => checkWritable('json', file), says);
  }
  checkWritable('json', join(made, 'new'));
  assert.not(existsSync(join(made, 'new')), 'what was made to find out is gone again');
  writeTo('json', join(made, 'new'), 'x');
  checkWritable('json', join(made, 'new'));
  checkWritable('json', undefined);
  assert.is(readFileSync(join(made, 'new'), 'utf8'), 'x', 'what is there stays');
  symlinkSync(join(made, 'absent'), join(made, 'link'));
  checkWritable('json', join(made, 'link'));
  assert.ok(lstatSync(join(made, 'link')).isSymbolicLink(), 'a link stays');
  assert.not(existsSync(join(made, 'absent')));
});

test('files - none is written over another, by whatever name', () => {
  const nodes = join(folder, 'nodes.csv');
  writeFileSync(nodes, 'x');
  symlinkSync(nodes, join(folder, 'other.csv'));
  const same = (read: string, written: string) => () => checkApart({ nodes: read }, { json: written });
  for (const written of [nodes, relative(process.cwd(), nodes), join(folder, 'other.csv')]) {
    assert.throws(same(nodes, written), /^--nodes and --json name the same file: '/);
  }
  const absent = join(folder, 'absent.json');
  assert.throws(() => checkApart({ nodes }, { json: absent, plot: absent }), /--json and --plot name the same file/);
  checkApart({ nodes }, { json: absent, plot: undefined });
  const linked = join(folder, 'linked');
  symlinkSync(folder, linked);
  const byLink = { json: absent, plot: join(linked, 'absent.json') };
  assert.throws(() => checkApart({ nodes }, byLink), /--json and --plot name the same file/);
  checkApart({ nodes }, { json: absent, plot: join(linked, 'other.json') });
  const leading = join(folder, 'leading');
  symlinkSync('absent.json', leading);
  assert.throws(() => checkApart({ nodes }, { json: leading, plot: byLink.plot }), /--json and --plot name the same/);
  const circle = join(folder, 'circle');
  symlinkSync('circle', circle);
  for (const unreachable of [circle, join(nodes, 'below')]) {
    checkApart({ nodes }, { json: unreachable });
    assert.throws(() => checkWritable('json', unreachable), /^--json: '.*' cannot be written: /, 'that is said there');
  }
});

test('terminal - words of others break no line and move no cursor', () => {
  assert.is(
    printable(['a: \u001b[2J\u0007x\r\ny\u0085\u2028\u202e', 'ä 名 😀 …']),
    'a: \\u001b[2J\\u0007x\\u000d\\u000ay\\u0085\\u2028\\u202e\nä 名 😀 …',
  );
});

test('command line - commands that are suggested go the same way in as the one that suggests them', () => {
  const access = { creds: '/etc/a b.creds', tlsca: 'ca.pem' };
  const host = { cell: 'c7', host: 'host-0001' };
  const hints = hintsFor({ url: 'nats://h:4222', prefix: 'cw', host, serving: true, access }).filter((line) =>
    line.includes('nats://'),
  );
  assert.is(hints.length, 9);
  assert.match(hints.join(' '), 'why-not web-0 c7/host-0001');
  assert.match(hints.join(' '), "sub 'cw.cell.c7.>'");
  for (const hint of hints) assert.match(hint, "nats://h:4222 --creds '/etc/a b.creds' --tlsca ca.pem ");
});

test('command line - the command that an audit or explain names is for the deployment that was looked at, without its password', () => {
  const looked = { cells: 1, hosts: 1, instances: 0, consumers: 0, providers: 1 };
  const unknown = ["host 'c1/h7' is down: if that is nothing: cellwright host fence c1/h7"];
  const finding = { kind: 'overdue' as const, what: 'it waits', whose: 'when so: cellwright host fence c2/h1' };
  const named = (flags: Parameters<typeof deploymentWords>[0]) => {
    const result = { findings: [finding as Finding], unknown, repaired: [], looked };
    return linesOf(result, deploymentWords(flags)).flatMap((line) => /cellwright host .*/.exec(line)?.[0] ?? []);
  };
  assert.equal(named({ servers: ['nats://127.0.0.1:4222'], prefix: 'cw' }), [
    'cellwright host fence c2/h1',
    'cellwright host fence c1/h7',
  ]);
  const far = " --nats nats://a:4222,nats://b:4222 --creds 'my $& creds' --inbox-prefix _INBOX.ops --prefix east.x";
  const servers = ['nats://me:secret@a:4222', 'nats://b:4222'];
  const flags = { servers, creds: 'my $& creds', inboxPrefix: '_INBOX.ops', prefix: 'east.x' };
  assert.equal(named(flags), [`cellwright host fence c2/h1${far}`, `cellwright host fence c1/h7${far}`]);
  const told = 'it waits, or is fenced (`cellwright host fence c1/h7`); `cellwright why-not web-0 HOST` may tell';
  const words = deploymentWords({ servers: ['nats://a:4222'], prefix: 'east' });
  assert.is(
    withFlagsIn(told, words),
    'it waits, or is fenced (`cellwright host fence c1/h7 --nats nats://a:4222 --prefix east`); ' +
      '`cellwright why-not web-0 HOST --nats nats://a:4222 --prefix east` may tell',
  );
  for (const address of ['me:secret@a:4222', 'secret@a:4222', 'nats://me:se/cret@a:4222', 'nats://me:secret@cret@a']) {
    assert.not.match(deploymentWords({ servers: [address], prefix: 'cw' }), /me|cret/, address);
  }
});

test.run();
