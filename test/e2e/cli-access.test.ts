// Area: way in. What commands say, and how they end, where the server does not let them do what they are for.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startTestServer } from '../support/nats-server.ts';
import { runCommand } from './commands.ts';

const test = suite('way in');

const USERS = `authorization {
  users: [
    { user: mute, password: p, permissions: { publish: ["_INBOX.>"], subscribe: ["_INBOX.>"] } }
    { user: deaf, password: p, permissions: { publish: [">"], subscribe: ["other"] } }
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

test.run();
