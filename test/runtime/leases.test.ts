// Area: leases. What every store of leases must do, in memory and on a real server: one writer wins, a stale write is
// refused, changes are told. And what a bucket must survive.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectNats, type NatsBus } from '../../runtime/bus/nats.ts';
import type { CellwrightError } from '../../runtime/errors.ts';
import { jetStreamLeases } from '../../runtime/ownership/jetstream.ts';
import type { LeaseRecord, Leases, SeenLease } from '../../runtime/ownership/leases.ts';
import { memoryLeases } from '../../runtime/ownership/memory.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { eventually } from '../e2e/system.ts';
import { withServer } from '../support/bus.ts';
import { startTestServer } from '../support/nats-server.ts';
import { freePort } from '../support/ports.ts';
import { failureOf, until } from '../support/until.ts';

const test = suite('leases');
const ADDRESS = 'placement/0';
const subjects = subjectsOf('cw');

const by = (owner: string | null): LeaseRecord => ({ v: 1, owner, holder: `${owner}-1`, ttlMs: 1_000 });

const onServer = (run: Parameters<typeof withServer>[1]) =>
  withServer({ jetstream: true }, (server, connect) => run(server, () => connect({ onError() {} })));

const onBucket = (bus: NatsBus): Leases => jetStreamLeases({ bus, clock: systemClock(), subjects, timeoutMs: 2_000 });

const unexpected = (what: unknown) => assert.unreachable(JSON.stringify(what));

/** Two views of the same leases, as two processes have them. */
type Run = (one: Leases, other: Leases) => Promise<void>;

const stores: Readonly<Record<string, (run: Run) => Promise<void>>> = {
  async 'in memory'(run) {
    const leases = memoryLeases({ clock: systemClock() });
    await run(leases, leases);
  },
  'in a bucket': (run) => onServer(async (_, connect) => run(onBucket(await connect()), onBucket(await connect()))),
};

for (const [where, withStore] of Object.entries(stores)) {
  const on = (name: string, run: Run) => test(`leases ${where} - ${name}`, () => withStore(run));

  on('one that was never held is free, at revision 0', async (one) => {
    assert.equal(await one.read(ADDRESS), { record: null, revision: 0 });
  });

  on('of many who take a free one at once, one gets it', async (one, other) => {
    const takers = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? one : other).write(ADDRESS, by(`n${n}`), 0));
    const revisions = await Promise.all(takers);
    const winners = revisions.filter((revision) => revision !== null);
    assert.is(winners.length, 1);
    const { record, revision } = await other.read(ADDRESS);
    assert.is(revision, winners[0]);
    assert.is(record?.owner, `n${revisions.indexOf(revision)}`);
  });

  on('it is renewed by its revision, which goes up, and a stale write is refused', async (one, other) => {
    const first = (await one.write(ADDRESS, by('a'), 0)) as number;
    const second = (await one.write(ADDRESS, by('a'), first)) as number;
    assert.ok(second > first);
    assert.is(await other.write(ADDRESS, by('b'), first), null);
    assert.is(await other.write(ADDRESS, by('b'), 0), null);
    assert.equal(await other.read(ADDRESS), { record: by('a'), revision: second });
  });

  on('revisions number the tenures of all actors', async (one, other) => {
    const first = (await one.write(ADDRESS, by('a'), 0)) as number;
    const elsewhere = (await other.write('cell/c1', by('b'), 0)) as number;
    assert.ok(elsewhere > first);
    assert.ok(((await one.write(ADDRESS, by('a'), first)) as number) > elsewhere);
  });

  on('a free one is taken at the revision at which it was given back', async (one, other) => {
    const first = (await one.write(ADDRESS, by('a'), 0)) as number;
    const free = (await one.write(ADDRESS, by(null), first)) as number;
    assert.is(await other.write(ADDRESS, by('b'), 0), null);
    assert.ok((await other.write(ADDRESS, by('b'), free)) !== null);
  });

  on('a watch tells how it stands, then each change, and ends when it is stopped', async (one, other) => {
    const first = (await one.write(ADDRESS, by('a'), 0)) as number;
    const seen: SeenLease[] = [];
    const watch = other.watch(ADDRESS, (lease) => seen.push(lease), unexpected);
    await until('how it stands is told', () => seen.length === 1);
    const second = (await one.write(ADDRESS, by(null), first)) as number;
    await until('the change is told', () => seen.length === 2);
    assert.equal(seen, [
      { record: by('a'), revision: first },
      { record: by(null), revision: second },
    ]);
    watch.stop();
    const later: SeenLease[] = [];
    const another = other.watch(ADDRESS, (lease) => later.push(lease), unexpected);
    await one.write(ADDRESS, by('b'), second);
    await until('the other watch hears of it', () => later.at(-1)?.record?.owner === 'b');
    assert.is(seen.length, 2);
    another.stop();
  });

  on('a watch of one that was never held says so, and hears when it is taken', async (one, other) => {
    const seen: SeenLease[] = [];
    const watch = other.watch(ADDRESS, (lease) => seen.push(lease), unexpected);
    await until('it is told', () => seen.length === 1);
    assert.equal(seen[0], { record: null, revision: 0 });
    await one.write(ADDRESS, by('a'), 0);
    await until('the taking is told', () => seen.length === 2);
    watch.stop();
  });
}

test('leases in a bucket - one that an operator removed is free, and is taken at the revision of the removal', () =>
  onServer(async (_, connect) => {
    const [bus, other] = [await connect(), await connect()];
    const leases = onBucket(bus);
    const first = (await leases.write(ADDRESS, by('a'), 0)) as number;
    const bucket = await other.connection.jetstream().views.kv(subjects.leases);
    await bucket.delete(subjects.leaseKey(ADDRESS));
    const { record, revision } = await leases.read(ADDRESS);
    assert.is(record, null);
    assert.ok(revision > first);
    assert.is(await leases.write(ADDRESS, by('a'), first), null);
    assert.ok((await leases.write(ADDRESS, by('b'), revision)) !== null);
  }));

test('leases in a bucket - a bucket that was removed is made again', () =>
  onServer(async (_, connect) => {
    const [bus, other] = [await connect(), await connect()];
    const leases = onBucket(bus);
    await leases.write(ADDRESS, by('a'), 0);
    const manager = await other.connection.jetstreamManager();
    await manager.streams.delete(`KV_${subjects.leases}`);
    await failureOf(() => leases.write(ADDRESS, by('a'), 1));
    assert.equal(await leases.read(ADDRESS), { record: null, revision: 0 });
    assert.ok((await leases.write(ADDRESS, by('a'), 0)) !== null);
  }));

test('leases in a bucket - one that drops a lease while its owner goes by it takes none, and is used once that is mended', () =>
  onServer(async (_, connect) => {
    const bus = await connect();
    const ttl = by('a').ttlMs;
    const made = await bus.connection.jetstream().views.kv(subjects.leases, { ttl: ttl - 1 });
    const leases = onBucket(bus);
    const { code, message, retryable } = (await failureOf(() => leases.write(ADDRESS, by('a'), 0))) as CellwrightError;
    assert.equal([code, retryable], ['leases-unfit', false]);
    assert.match(
      message,
      /'cw_leases' drops what is older than 999 ms, and leases last 1000 ms: nats kv edit cw_leases --ttl 0s$/,
    );
    assert.is((await made.status()).values, 0);
    const manager = await bus.connection.jetstreamManager();
    const { config } = await manager.streams.info(`KV_${subjects.leases}`);
    await manager.streams.update(config.name, { ...config, max_age: ttl * 1_000_000 });
    assert.ok((await leases.write(ADDRESS, by('a'), 0)) !== null);
  }));

test('leases in a bucket - one that is edited so that it drops a lease takes none from an owner who finds it gone', () =>
  onServer(async (_, connect) => {
    const bus = await connect();
    const leases = onBucket(bus);
    await leases.write(ADDRESS, by('a'), 0);
    const manager = await bus.connection.jetstreamManager();
    const { config } = await manager.streams.info(`KV_${subjects.leases}`);
    const shortNs = 200 * 1_000_000;
    await manager.streams.update(config.name, { ...config, max_age: shortNs, duplicate_window: shortNs });
    await eventually('it is gone', async () => (await leases.read(ADDRESS)).record === null);
    assert.is((await failureOf(() => leases.write(ADDRESS, by('a'), 0))).code, 'leases-unfit');
  }));

test('leases in a bucket - they outlive the server, and a watch goes on when it is back', () =>
  onServer(async (server, connect) => {
    const [one, other] = [onBucket(await connect()), onBucket(await connect())];
    const first = (await one.write(ADDRESS, by('a'), 0)) as number;
    const seen: SeenLease[] = [];
    let ended = false;
    const watch = other.watch(
      ADDRESS,
      (lease) => seen.push(lease),
      () => {
        ended = true;
      },
    );
    await until('how it stands is told', () => seen.length === 1);
    await server.kill();
    await server.restart();
    let revision: number | null = null;
    for (let attempt = 0; revision === null && attempt < 20; attempt += 1) {
      revision = await one.write(ADDRESS, by('a'), first).catch(() => null);
    }
    assert.ok((revision ?? 0) > first);
    await until('the renewal is told, or that the watch has ended', () => seen.length === 2 || ended);
    watch.stop();
  }));

test('leases in a bucket - what another program wrote there is refused, not guessed', () =>
  onServer(async (_, connect) => {
    const bus = await connect();
    const leases = onBucket(bus);
    await leases.write(ADDRESS, by('a'), 0);
    const bucket = await bus.connection.jetstream().views.kv(subjects.leases);
    await bucket.put(subjects.leaseKey(ADDRESS), new TextEncoder().encode('{"v":2,"owner":"a"}'));
    const refused = await failureOf(() => leases.read(ADDRESS));
    assert.is(refused.code, 'malformed');
    assert.match(refused.message, /'placement\.0' in bucket 'cw_leases' .*: nats kv del cw_leases placement\.0$/);
    let told: unknown;
    leases.watch(ADDRESS, unexpected, (error) => {
      told = error;
    });
    await until('the watch ends', () => told !== undefined);
    assert.is((told as CellwrightError).code, 'malformed');
  }));

test('leases in a bucket - an account without JetStream is told so by name', async () => {
  const server = await startTestServer({ jetstream: false });
  const bus = await connectNats({ servers: server.url, name: 'leases', onError() {} });
  try {
    assert.is((await failureOf(() => onBucket(bus).read(ADDRESS))).code, 'no-jetstream');
  } finally {
    await bus.close();
    await server.stop();
  }
});

test('leases in a bucket - a leaf node that passes nothing of JetStream on is not taken for an account without it', async () => {
  const port = await freePort();
  const hub = await startTestServer({ config: `leafnodes { listen: "127.0.0.1:${port}" }` });
  const config = `leafnodes { remotes: [{ url: "nats-leaf://127.0.0.1:${port}" }] }`;
  const leaf = await startTestServer({ jetstream: false, config });
  const bus = await connectNats({ servers: leaf.url, name: 'leases', onError() {} });
  try {
    const { code, message } = await failureOf(() => onBucket(bus).read(ADDRESS));
    assert.is(code, 'no-jetstream');
    assert.match(message, /^leases need JetStream, for which nobody answers here: .* leaf node/);
  } finally {
    await bus.close();
    await leaf.stop();
    await hub.stop();
  }
});

const status = async () => ({ ttl: 0 });

/** Leases in a bucket whose server answers each write by what stands next, and with the last for ever. */
function onPlayedBucket(...codes: number[]): { leases: Leases; written: () => number } {
  let written = 0;
  const put = async () => {
    const code = codes[Math.min(written, codes.length - 1)];
    written += 1;
    const api_error = { code: 400, err_code: code, description: 'wrong last sequence' };
    throw Object.assign(new Error(api_error.description), { code: '400', api_error });
  };
  const connection = { jetstream: () => ({ views: { kv: async () => ({ put, status }) } }) };
  const bus = { connection } as unknown as NatsBus;
  return { leases: jetStreamLeases({ bus, clock: systemClock(), subjects, timeoutMs: 200 }), written: () => written };
}

const DECIDED = 10071;
const OTHER_WRITE_UNDER_WAY = 10164;

test('leases in a bucket - while another write is under way in a cluster, it is waited for which of them is stored', async () => {
  const { leases, written } = onPlayedBucket(OTHER_WRITE_UNDER_WAY, OTHER_WRITE_UNDER_WAY, DECIDED);
  assert.is(await leases.write(ADDRESS, by('one'), 0), null);
  assert.is(written(), 3);
});

test('leases in a bucket - where a write stays under way that is known as what may pass', async () => {
  const { leases } = onPlayedBucket(OTHER_WRITE_UNDER_WAY);
  const { code, retryable, message } = (await failureOf(() => leases.write(ADDRESS, by('one'), 0))) as CellwrightError;
  assert.equal([code, retryable], ['jetstream-refused', true]);
  assert.match(message, /bucket cw_leases: wrong last sequence, as another write to it is under way/);
});

test('leases in a bucket - one that has lost its leader is asked for again by short requests, of which the next leader hears', async () => {
  const asked: number[] = [];
  const put = async () => {
    throw Object.assign(new Error('503'), { code: '503' });
  };
  const kv = async (timeout: number) => {
    asked.push(timeout);
    return { put, status };
  };
  const connection = { jetstream: ({ timeout }: { timeout: number }) => ({ views: { kv: () => kv(timeout) } }) };
  const bus = { connection } as unknown as NatsBus;
  const leases = jetStreamLeases({ bus, clock: systemClock(), subjects, timeoutMs: 200 });
  for (const _ of [1, 2]) assert.is((await failureOf(() => leases.write(ADDRESS, by('one'), 0))).code, 'no-responders');
  assert.equal(asked, [5_000, 200, 200]);
});

test.run();
