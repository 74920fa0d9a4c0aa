// Area: way in. What commands say, and how they end, where the server does not let them do what they are for.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pem, startTlsServer } from '../support/certificates.ts';
import { startTestServer } from '../support/nats-server.ts';
import { until } from '../support/until.ts';
import { runCommand, startCommand } from './commands.ts';

const test = suite('way in');

const USERS = `authorization {
  users: [
    { user: mute, password: p, permissions: { publish: ["_INBOX.>"], subscribe: ["_INBOX.>"] } }
    { user: blind, password: p, permissions: { subscribe: { allow: [">"], deny: ["cw.cell.>"] } } }
    { user: deaf, password: p, permissions: { publish: [">"], subscribe: ["other"] } }
    { user: ops, password: p, permissions: { publish: ["cw.api.*"], subscribe: ["_INBOX.ops.>", "cw.*.*.build.>"] } }
    { user: all, password: p }
  ]
}`;

test('way in - what the server forbids is told in one line, once, and ends the command', async () => {
  const server = await startTestServer({ config: USERS });
  try {
    const at = (user: string) => server.url.replace('//', `//${user}:p@`);
    const cases: [string[], number, string][] = [
      [['tap', '--nats', at('mute')], 1, "subscribe to 'cw.>'"],
      [['tap', '--prefix', 'a.b', '--nats', at('deaf')], 1, "subscribe to 'a.b.>'"],
      [['host', 'list', '--nats', at('mute')], 1, "publish to 'cw.api.cells'"],
      [['fit', '--resources', 'VCPU=1', '--nats', at('mute')], 2, "publish to 'cw.api.fit'"],
      [['audit', '--pause', '1', '--nats', at('mute')], 2, "publish to '$JS.API.INFO'"],
      [['audit', '--pause', '1', '--nats', at('blind')], 2, "subscribe to 'cw.cell.*.feed'"],
      [['host', 'list', '--nats', at('deaf')], 1, "subscribe to '_INBOX."],
    ];
    for (const [args, code, forbidden] of cases) {
      const ended = await runCommand(...args);
      assert.equal([ended.code, ended.out], [code, ''], args.join(' '));
      assert.match(ended.err, /^cellwright: the server does not allow this user to [^\n]+\n$/, args.join(' '));
      assert.ok(ended.err.includes(forbidden), ended.err);
    }
  } finally {
    await server.stop();
  }
});

test('way in - where the server allows a user only inboxes of its own, a command is told their prefix', async () => {
  const server = await startTestServer({ config: USERS });
  const at = (user: string) => ['--nats', server.url.replace('//', `//${user}:p@`)];
  const node = startCommand(['node', '--roles', 'placement,conductor', ...at('all')]);
  try {
    await until('the node is up', () => /plays/.test(node.out()));
    const asking = ['explain', 'web', ...at('ops')];
    const without = await runCommand(...asking);
    assert.match(without.err, /^cellwright: the server does not allow this user to subscribe to '_INBOX\.[^\n]+\n$/);
    const answered = await runCommand(...asking, '--inbox-prefix', '_INBOX.ops');
    assert.is(answered.err, "cellwright: there is no instance 'web'\n");
    const wrong = await runCommand('cell', 'list', '--inbox-prefix', 'a b');
    assert.is(wrong.code, 2);
    assert.match(wrong.err, /--inbox-prefix .*'a b' is invalid\. It must be tokens with dots between/);
  } finally {
    node.child.kill('SIGINT');
    await node.ended;
    await server.stop();
  }
});

test('way in - what cannot be used is refused as wrong usage, by its flag; what the server refuses is a failure', async () => {
  const nowhere = ['--nats', 'tls://127.0.0.1:1'];
  const server = await startTlsServer('server', 'verify: true');
  try {
    const there = ['--nats', server.url];
    const cases: [string[], number, RegExp][] = [
      [['--creds', '/dev/null', ...nowhere], 2, /^cellwright: --creds must be the content of a \.creds file/],
      [['--creds', pem('ca'), ...nowhere], 2, /^cellwright: --creds must be/],
      [['--tlsca', pem('client-key'), ...nowhere], 2, /^cellwright: --tlsca '.*client-key\.pem' does not hold/],
      [['--tlscert', pem('client'), '--tlskey', pem('server-key'), ...nowhere], 2, /--tlskey '.*go with --tlscert '/],
      [there, 1, /is not accepted: unable to verify.*; --tlsca names/],
      [
        ['--tlsca', pem('ca'), ...there],
        1,
        /the client's certificate, or that it shows none: .*--tlscert and --tlskey/,
      ],
    ];
    for (const command of [
      ['host', 'list'],
      ['node', '--roles', 'cell:c1'],
    ]) {
      for (const [flags, code, says] of cases) {
        const ended = await runCommand(...command, ...flags);
        assert.match(ended.err, says, ended.err);
        assert.match(ended.err, /^[^\n]+\n$/);
        assert.equal([ended.code, ended.out], [code, ''], flags.join(' '));
      }
    }
  } finally {
    await server.stop();
  }
});

test.run();
