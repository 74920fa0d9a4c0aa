// Area: addresses of NATS servers. What people write before, in and after them is read or refused by name; secrets in
// them reach the server and no message.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectNats } from '../../runtime/bus/nats.ts';
import { addressesOf, shownAddresses } from '../../runtime/bus/nats-addresses.ts';
import { connect } from '../../runtime/connect.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import { connectPlacement } from '../../runtime/placement-client.ts';
import { startTestServer } from '../support/nats-server.ts';
import { failureOf } from '../support/until.ts';

const test = suite('NATS addresses');

test('addresses - are read as they are usually written', () => {
  assert.equal(addressesOf('nats://127.0.0.1:4222'), { servers: ['127.0.0.1:4222'], tls: false });
  assert.equal(addressesOf('localhost'), { servers: ['localhost'], tls: false });
  assert.equal(addressesOf(' a:1, nats://b:2/ '), { servers: ['a:1', 'b:2'], tls: false });
  assert.equal(addressesOf(['nats://[::1]:4222', 'tls://c,d']), { servers: ['[::1]:4222', 'c', 'd'], tls: true });
  assert.equal(addressesOf('nats://bob:p%40ss:word@a,nats://b'), {
    servers: ['a', 'b'],
    tls: false,
    user: 'bob',
    pass: 'p@ss:word',
  });
  assert.equal(addressesOf('nats://tok%20en@a'), { servers: ['a'], tls: false, token: 'tok en' });
});

const BAD: readonly (readonly [unknown, RegExp])[] = [
  ['', /must be a text such as/],
  [[], /1 to 64 addresses/],
  [5, /must be a text/],
  [null, /must be a text/],
  ['a,,b', /must be a text/],
  ['http://a:80', /begins with http:\/\//],
  ['ws://a', /begins with ws:\/\//],
  ['not a url', /'not a url' is no address/],
  ['nats://a:99999', /is no address/],
  ['nats://a/path', /is no address/],
  ['nats://', /is no address/],
  ['nats://x:secret@b c', /'nats:\/\/b c' is no address/],
  ['nats://a:b@h,nats://c:d@h', /different users/],
  ['nats://a:%zz@h', /%25/],
];

test('addresses - what is none is refused by its name, at once, and no secret is said back', async () => {
  for (const [text, says] of BAD) {
    const error = (await failureOf(() => connectNats({ servers: text as string, name: 'test' }))) as CellwrightError;
    assert.instance(error, CellwrightError, String(text));
    assert.equal([error.code, error.field], ['bad-option', 'servers'], String(text));
    assert.match(error.message, says);
    assert.not.match(error.message, /secret/);
  }
  assert.is(shownAddresses('nats://bob:secret@a:1,tls://tok@b,c'), 'nats://a:1, tls://b, c');
});

test('addresses - the user and password in one are those of the connection, and TLS is insisted on', async () => {
  const server = await startTestServer({
    jetstream: false,
    config: 'authorization { user: bob, password: "s3:cret" }',
  });
  try {
    const at = server.url.replace('nats://', '');
    const bus = await connectNats({ servers: `nats://bob:s3%3Acret@${at}`, name: 'test' });
    await bus.flush();
    await bus.close();
    const refused = (servers: string) =>
      failureOf(() => connectNats({ servers, name: 'test', connectTimeoutMs: 2_000 }));
    assert.is((await refused(`nats://bob:wrong@${at}`)).code, 'unauthorized');
    const insecure = await refused(`tls://bob:s3%3Acret@${at}`);
    assert.is(insecure.code, 'bad-options');
    assert.match(insecure.message, /does not offer tls/);
    assert.is((insecure as CellwrightError).field, 'tls');
    assert.not.match(insecure.message, /s3/);
  } finally {
    await server.stop();
  }
});

test('addresses - connecting is given up at a signal, long before its time is over', async () => {
  const controller = new AbortController();
  const begun = performance.now();
  const connecting = failureOf(() =>
    connectNats({ servers: 'nats://127.0.0.1:1', name: 'test', connectTimeoutMs: 60_000, signal: controller.signal }),
  );
  setTimeout(() => controller.abort(), 20);
  assert.is((await connecting).code, 'interrupted');
  assert.ok(performance.now() - begun < 20_000);
  const late = { servers: 'nats://127.0.0.1:1', name: 'test', signal: AbortSignal.abort() };
  assert.is((await failureOf(() => connectNats(late))).code, 'interrupted');
});

test('addresses - a prefix that is none is refused before anything connects, so that nothing stays open', async () => {
  for (const open of [connect, connectPlacement]) {
    for (const prefix of ['', 'a b', 'cw.', null as never]) {
      const error = await failureOf(() => open({ servers: 'nats://127.0.0.1:1', connectTimeoutMs: 300, prefix }));
      assert.is(error.code, 'bad-id', String(prefix));
    }
  }
});

test('addresses - a time to wait that is none is refused before anything connects', async () => {
  for (const open of [connect, connectPlacement]) {
    for (const timeoutMs of ['soon' as never, null as never, -1, Number.NaN]) {
      const error = await failureOf(() => open({ servers: 'nats://127.0.0.1:1', connectTimeoutMs: 300, timeoutMs }));
      assert.equal([error.code, (error as CellwrightError).field], ['bad-option', 'timeoutMs'], String(timeoutMs));
    }
  }
});

test('connections - an address in place of the options is refused as no object', async () => {
  for (const open of [connect, connectPlacement]) {
    for (const options of ['nats://127.0.0.1:1', ['nats://127.0.0.1:1'], 4222]) {
      const { code, message } = await failureOf(() => open(options as never));
      assert.equal([code, message], ['bad-option', 'the options of the connection must be an object']);
    }
  }
});

test('connections - an option that cannot be is refused by its name before anything is dialled', async () => {
  const wrong: readonly (readonly [object, string])[] = [
    [{ connectTimeoutMs: Number.NaN }, 'connectTimeoutMs'],
    [{ connectTimeoutMs: Number.POSITIVE_INFINITY }, 'connectTimeoutMs'],
    [{ connectTimeoutMs: '5' }, 'connectTimeoutMs'],
    [{ user: 5 }, 'user'],
    [{ pingIntervalMs: 0 }, 'pingIntervalMs'],
    [{ tls: { ca: '/x' } }, 'tls.ca'],
    [{ server: 'nats://a' }, 'server'],
  ];
  for (const [more, field] of wrong) {
    const error = (await failureOf(() =>
      connect({ servers: 'nats://127.0.0.1:1', connectTimeoutMs: 1, ...more }),
    )) as CellwrightError;
    assert.equal([error.code, error.field], ['bad-option', field]);
  }
  for (const none of [undefined, null, {}]) {
    assert.is(((await failureOf(() => connect(none as never))) as CellwrightError).field, 'servers');
  }
});

test.run();
