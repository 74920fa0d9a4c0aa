// Area: access. What lets a client in, and a server be trusted: what cannot be used is refused before anything is dialled,
// by its field, and what the other side refuses at once, in words that say what to change.

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import tls from 'node:tls';
import { nkeys } from 'nats';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectNats } from '../../runtime/bus/nats.ts';
import type { NatsOptions } from '../../runtime/bus/nats-options.ts';
import { connect } from '../../runtime/connect.ts';
import type { CellwrightError } from '../../runtime/errors.ts';
import { pem, startTlsServer } from '../support/certificates.ts';
import { startTestServer } from '../support/nats-server.ts';
import { failureOf, until } from '../support/until.ts';

const test = suite('access');

/** Longer than a test may take: whatever is tried again until then is not refused at once. */
const FOR_EVER = 600_000;

async function refused(servers: string, options: Partial<NatsOptions>): Promise<CellwrightError> {
  const connecting = () => connectNats({ servers, name: 'test', connectTimeoutMs: FOR_EVER, ...options });
  return (await failureOf(connecting)) as CellwrightError;
}

async function inFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'cellwright-test-'));
  try {
    await run(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function credentialsOf(seed: string): string {
  const part = (name: string, content: string) => `-----BEGIN ${name}-----\n${content}\n------END ${name}------\n`;
  return `${part('NATS USER JWT', 'e30.e30.e30')}\n${part('USER NKEY SEED', seed)}`;
}

test('access - certificates and keys that cannot be used are refused by their field, before anything is dialled', () =>
  inFolder(async (folder) => {
    const broken = join(folder, 'broken.pem');
    await writeFile(broken, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    const cases: [NonNullable<NatsOptions['tls']>, string, RegExp][] = [
      [{ caFile: '/nope' }, 'tls.caFile', /'\/nope' cannot be read: ENOENT/],
      [{ caFile: folder }, 'tls.caFile', /cannot be read: EISDIR/],
      [{ caFile: pem('client-key') }, 'tls.caFile', /does not hold a certificate/],
      [{ caFile: '/etc/passwd' }, 'tls.caFile', /does not hold a certificate/],
      [{ caFile: broken }, 'tls.caFile', /number 1, that cannot be read/],
      [{ certFile: pem('client') }, 'tls.keyFile', /go together/],
      [{ keyFile: pem('client-key') }, 'tls.certFile', /go together/],
      [{ certFile: '/nope', keyFile: pem('client-key') }, 'tls.certFile', /cannot be read/],
      [{ certFile: broken, keyFile: pem('client-key') }, 'tls.certFile', /does not hold a certificate/],
      [{ certFile: pem('client-key'), keyFile: pem('client-key') }, 'tls.certFile', /does not hold a certificate/],
      [{ certFile: pem('client'), keyFile: pem('client') }, 'tls.keyFile', /does not hold a private key/],
      [{ certFile: pem('client'), keyFile: pem('server-key') }, 'tls.keyFile', /does not go with.*client\.pem'/],
    ];
    for (const [files, field, says] of cases) {
      const { code, field: told, message } = await refused('tls://127.0.0.1:1', { tls: files });
      assert.equal([code, told], ['bad-option', field], JSON.stringify(files));
      assert.match(message, says);
      assert.not.match(message, '\n');
    }
    const byClient = await failureOf(() => connect({ servers: '127.0.0.1:1', tls: { caFile: '/nope' } }));
    assert.is((byClient as CellwrightError).field, 'tls.caFile');
  }));

test('access - credentials that are none are refused by their field, and those that are reach the server', async () => {
  const seed = new TextDecoder().decode(nkeys.createUser().getSeed());
  for (const credentials of ['', 'junk', '/etc/my.creds', credentialsOf('SUNK'), credentialsOf(seed).slice(0, 100)]) {
    const { code, field } = await refused('127.0.0.1:1', { credentials });
    assert.equal([code, field], ['bad-option', 'credentials'], credentials);
  }
  const server = await startTestServer({ jetstream: false });
  try {
    const bus = await connectNats({ servers: server.url, name: 'test', credentials: credentialsOf(seed) });
    await bus.close();
  } finally {
    await server.stop();
  }
});

test('access - a server that is not to be trusted is refused at once, in words that say why', async () => {
  const cases = [
    ['lonely', /self-signed certificate;.* tls\.caFile names/],
    ['server', /unable to verify the first certificate;.* tls\.caFile names/, {}],
    ['elsewhere', /does not match certificate's altnames: IP: 127\.0\.0\.1 is not in/],
  ] as const;
  for (const [name, says, files = { caFile: pem('ca') }] of cases) {
    const server = await startTlsServer(name);
    try {
      const { code, message } = await refused(server.url, { tls: files });
      assert.is(code, 'untrusted-server', name);
      assert.match(message, says, message);
    } finally {
      await server.stop();
    }
  }
});

test('access - the certificate of a server that is called by its IP address is compared with that', async () => {
  const server = await startTlsServer('lonely');
  try {
    const bus = await connectNats({ servers: server.url, name: 'test', tls: { caFile: pem('lonely') } });
    await bus.close();
    const byName = server.url.replace('127.0.0.1', 'localhost');
    assert.is((await refused(byName, { tls: { caFile: pem('lonely') } })).code, 'untrusted-server');
  } finally {
    await server.stop();
  }
});

test('access - a server that wants a certificate of the client says so at once, of whatever version of TLS', async () => {
  const { DEFAULT_MAX_VERSION } = tls;
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const server = await startTlsServer('server', 'verify: true');
    tls.DEFAULT_MAX_VERSION = version;
    try {
      const caFile = pem('ca');
      const without = await refused(server.url, { tls: { caFile } });
      assert.is(without.code, 'unauthorized', without.message);
      assert.match(without.message, /the client's certificate, or that it shows none: .* alert .*; tls\.certFile/);
      const stranger = { caFile, certFile: pem('lonely'), keyFile: pem('lonely-key') };
      assert.is((await refused(server.url, { tls: stranger })).code, 'unauthorized');
      const known = { caFile, certFile: pem('client'), keyFile: pem('client-key') };
      const bus = await connectNats({ servers: server.url, name: 'test', tls: known });
      await bus.flush();
      await bus.close();
    } finally {
      tls.DEFAULT_MAX_VERSION = DEFAULT_MAX_VERSION;
      await server.stop();
    }
  }
});

test('access - an attempt that a server breaks off before TLS has begun is over, and the next one begins', async () => {
  let taken = 0;
  const ending = createServer((socket) => {
    taken += 1;
    socket.on('error', () => {});
    socket.end('INFO {"server_id":"ending","version":"2.10.0","max_payload":1048576,"tls_required":true}\r\n');
  });
  await once(ending.listen(0, '127.0.0.1'), 'listening');
  const giveUp = new AbortController();
  try {
    const { port } = ending.address() as AddressInfo;
    const failing = refused(`tls://127.0.0.1:${port}`, { tls: { caFile: pem('ca') }, signal: giveUp.signal });
    // One attempt alone may take five seconds.
    await until('it tries again', () => taken > 2, 4_000);
    giveUp.abort();
    assert.is((await failing).code, 'interrupted');
  } finally {
    giveUp.abort();
    ending.close();
  }
});

test('access - one that does not come back because of TLS says why, each reason once an outage', async () => {
  const first = await startTlsServer('server');
  const { port } = first;
  const told: string[] = [];
  const bus = await connectNats({
    servers: first.url,
    name: 'test',
    tls: { caFile: pem('ca') },
    loopback: true,
    reconnectWaitMs: 50,
    reconnectJitterMs: 10,
    onError: (error) => told.push((error as CellwrightError).code),
  });
  /** Has a server in its place for some attempts; answers what was told meanwhile. */
  const replacedBy = async (name: string, more?: string): Promise<string[]> => {
    const before = told.length;
    const server = await startTlsServer(name, more, { port });
    try {
      await until('it says why', () => told.length > before);
      await new Promise((resolve) => setTimeout(resolve, 500));
    } finally {
      await server.stop();
    }
    return told.slice(before);
  };
  try {
    await first.kill();
    await until('it is cut off', () => !bus.connected);
    assert.equal(await replacedBy('lonely'), ['untrusted-server']);
    assert.equal(await replacedBy('server', 'verify: true'), ['unauthorized']);
    await first.restart();
    await until('it is back', () => bus.connected, 10_000);
    await bus.flush();
    await first.kill();
    assert.equal(await replacedBy('lonely'), ['untrusted-server'], 'of another outage it is told anew');
  } finally {
    await bus.close();
    await first.stop();
  }
});

test.run();
