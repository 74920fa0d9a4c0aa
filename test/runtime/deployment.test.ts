// Area: deployment. How many placement shards a deployment has is decided once, whoever comes first, and holds for
// everybody who comes later; and where the number is lost the journals tell it.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryServer } from '../../runtime/bus/memory.ts';
import { connectNats, type NatsBus } from '../../runtime/bus/nats.ts';
import {
  agreedWithServed,
  isDeployed,
  placementShardsOf,
  placementShardsStanding,
  settleShards,
} from '../../runtime/deployment.ts';
import { shardsServed } from '../../runtime/deployment-served.ts';
import type { CellwrightError } from '../../runtime/errors.ts';
import { startNatsServer } from '../../runtime/nats-server/server.ts';
import { startNode } from '../../runtime/node.ts';
import type { NodeOptions } from '../../runtime/node-options.ts';
import { startPlacementApi } from '../../runtime/placement-api/start.ts';
import { connectPlacement } from '../../runtime/placement-client.ts';
import { natsStage } from '../../runtime/replay/stage.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { startTestServer, type TestServer } from '../support/nats-server.ts';
import { freePort } from '../support/ports.ts';
import { failureOf, settled, until } from '../support/until.ts';

const test = suite('deployment');
let server: TestServer;
let bus: NatsBus;
let deployments = 0;

test.before(async () => {
  server = await startTestServer();
  bus = await connectNats({ servers: server.url, name: 'deployment', onError() {} });
});

test('deployment - where nothing is kept, whoever does not answer is waited for by the clock of the node', async () => {
  const clock = virtualClock();
  const bus = memoryServer({ clock }).connect();
  const deaf = bus.subscribe('$SRV.>', () => {});
  const agreed = agreedWithServed('placement', { bus, inbox: '_INBOX.mine', subjects: subjectsOf(), clock }, 3);
  assert.is(await settled(clock, agreed), 3);
  assert.is(clock.now(), 1_000);
  deaf.unsubscribe();
});

test.after(async () => {
  await bus.close();
  await server.stop();
});

/** A deployment of its own on the one server. */
function deployment() {
  deployments += 1;
  const prefix = `d${deployments}`;
  const options = { bus, subjects: subjectsOf(prefix) };
  const start = (more: Partial<NodeOptions> = {}) =>
    startNode({ roles: ['placement'], nats: { servers: server.url }, prefix, ...more });
  return { prefix, options, start };
}

test('deployment - the first node decides how many placement shards there are, and others are refused', async () => {
  const { options, start } = deployment();
  assert.is(await placementShardsOf(options), 1, 'nobody has said');
  const first = await start({ placementShards: 4 });
  assert.is(first.placementShards, 4);
  assert.equal(Object.keys(first.standings()).sort(), ['placement/0', 'placement/1', 'placement/2', 'placement/3']);
  await first.stop();

  const refusal = (await failureOf(() => start({ placementShards: 2 }))) as CellwrightError;
  assert.equal([refusal.code, refusal.field, refusal.retryable], ['other-shards', 'placementShards', false]);
  assert.match(refusal.message, /has 4 placement shards .* with 2$/);
  assert.is(await placementShardsOf(options), 4);

  const one = await start({ roles: ['placement:2'] });
  assert.equal([one.placementShards, Object.keys(one.standings())], [4, ['placement/2']]);
  await one.stop();
  const none = (await failureOf(() => start({ roles: ['placement:4'] }))) as CellwrightError;
  assert.equal([none.code, none.field], ['bad-role', 'roles']);
});

test('deployment - without a number a new one has one shard, for ever', async () => {
  const { options, start } = deployment();
  const node = await start();
  assert.is(node.placementShards, 1);
  await node.stop();
  const refusal = (await failureOf(() => settleShards('placement', options, 4))) as CellwrightError;
  assert.match(refusal.message, /has 1 placement shards? .* with 4$/);
});

test('deployment - of nodes that are started at once with several numbers, one number wins', async () => {
  const { options } = deployment();
  const wanted = [2, 3, 4, 5, 6];
  const settled = await Promise.allSettled(wanted.map((shards) => settleShards('placement', options, shards)));
  const winners = settled.filter(({ status }) => status === 'fulfilled');
  assert.is(winners.length, 1);
  const kept = await placementShardsOf(options);
  assert.is((winners[0] as PromiseFulfilledResult<number>).value, kept);
  for (const one of settled) if (one.status === 'rejected') assert.is(one.reason.code, 'other-shards');
});

test('deployment - where the number is lost it is that of the journals', async () => {
  const { options, start } = deployment();
  await (await start({ placementShards: 3 })).stop();
  const manager = await bus.connection.jetstreamManager();
  await manager.streams.delete(`KV_${options.subjects.deployment}`);
  const refusal = (await failureOf(() => start({ placementShards: 4 }))) as CellwrightError;
  assert.match(refusal.message, /has 3 placement shards .* with 4$/);
  const again = await start();
  assert.is(again.placementShards, 3);
  await again.stop();
});

test('deployment - the first node with a conductor or a cell decides how many conductor shards there are', async () => {
  const { options, start } = deployment();
  const first = await start({ roles: ['conductor'], conductorShards: 3 });
  assert.equal(Object.keys(first.standings()).sort(), ['conductor/0', 'conductor/1', 'conductor/2']);
  await first.stop();
  for (const roles of [['conductor'], ['cell:c1']]) {
    const refusal = (await failureOf(() => start({ roles, conductorShards: 2 }))) as CellwrightError;
    assert.equal([refusal.code, refusal.field], ['other-shards', 'conductorShards']);
    assert.match(refusal.message, /has 3 conductor shards .* with 2$/);
  }
  const one = await start({ roles: ['conductor'] });
  assert.is(Object.keys(one.standings()).length, 3, 'without a number it has what there is');
  await one.stop();

  // Where the number is lost there are as many as have journals.
  const manager = await bus.connection.jetstreamManager();
  await manager.streams.delete(`KV_${options.subjects.deployment}`);
  assert.is(await settleShards('conductor', options, undefined), 3);
  const other = (await failureOf(() => settleShards('conductor', options, 4))) as CellwrightError;
  assert.is(other.code, 'other-shards');
});

test('deployment - while JetStream is not ready nothing is taken for decided', async () => {
  const { options } = deployment();
  const notReady = Object.assign(new Error('JetStream system temporarily unavailable'), {
    code: '503',
    api_error: { code: 503, err_code: 10008, description: 'JetStream system temporarily unavailable' },
  });
  const jetstream = () => ({ views: { kv: () => Promise.reject(notReady) } });
  const unready = { ...options, bus: { ...bus, connection: { jetstream } } as unknown as NatsBus };
  for (const ask of [
    () => settleShards('placement', unready, undefined),
    () => settleShards('conductor', unready, 2),
    () => placementShardsOf(unready),
  ]) {
    const refusal = (await failureOf(ask)) as CellwrightError;
    assert.equal([refusal.code, refusal.retryable], ['jetstream-refused', true]);
    assert.match(refusal.message, /temporarily unavailable/);
  }
});

test('deployment - where nobody answers for JetStream no number is guessed, and those who serve shards are asked', async () => {
  const plain = await startTestServer({ jetstream: false });
  const other = await connectNats({ servers: plain.url, name: 'deployment', onError() {} });
  const options = { bus: other, subjects: subjectsOf('d') };
  try {
    for (const ask of [
      () => settleShards('placement', options, undefined),
      () => settleShards('placement', options, 4),
      () => settleShards('conductor', options, 2),
      () => placementShardsOf(options),
      () => isDeployed(options),
    ]) {
      const refusal = (await failureOf(ask)) as CellwrightError;
      assert.equal([refusal.code, refusal.retryable], ['no-jetstream', true]);
    }
    const roles = ['placement', 'conductor'];
    const common = { roles, nats: { servers: plain.url }, journals: 'memory' } as const;
    const guest = await startNode({ ...common, prefix: 'e', placementShards: 5 });
    const node = await startNode({ ...common, prefix: 'd', placementShards: 3, conductorShards: 2 });
    try {
      assert.is(await placementShardsOf(options), 3);
      assert.is(await settleShards('placement', options, undefined), 3);
      assert.is(await settleShards('conductor', options, undefined), 2);
      assert.is((await failureOf(() => settleShards('placement', options, 5))).code, 'other-shards');
      // Who has no journal, and names no number, goes by what is served.
      const scheduler = await startNode({ roles: ['scheduler'], nats: common.nats, prefix: 'd' });
      assert.is(scheduler.placementShards, 3);
      await scheduler.stop();
      await (await connectPlacement({ servers: plain.url, prefix: 'd' })).close();
    } finally {
      await node.stop();
      await guest.stop();
    }
  } finally {
    await other.close();
    await plain.stop();
  }
});

test('deployment - behind a leaf node with a JetStream of its own, where nothing is kept, it has the shards that are served', async () => {
  const port = await freePort();
  const hub = await startTestServer({ config: `leafnodes { listen: "127.0.0.1:${port}" }` });
  const leaf = await startTestServer({ config: `leafnodes { remotes: [{ url: "nats-leaf://127.0.0.1:${port}" }] }` });
  const behind = await connectNats({ servers: leaf.url, name: 'deployment', onError() {} });
  const nats = { servers: hub.url };
  const node = await startNode({ roles: ['placement', 'conductor'], nats, placementShards: 3, conductorShards: 2 });
  try {
    const subjects = subjectsOf();
    const asked = { bus: behind, inbox: behind.inbox(), subjects, clock: systemClock() };
    let served: number | null = null;
    // Until the leaf node has its link.
    while (served === null) served = await shardsServed('placement', asked);
    const options = { bus: behind, subjects };
    assert.is((await failureOf(() => settleShards('placement', options, 4))).code, 'other-shards');
    assert.is(await settleShards('placement', options, undefined), 3);
    assert.is(await settleShards('conductor', options, undefined), 2);
  } finally {
    await node.stop();
    await behind.close();
    await leaf.stop();
    await hub.stop();
  }
});

test('deployment - whoever only asks goes by the shards that are served where journals in memory keep no number', async () => {
  const { prefix, start } = deployment();
  const node = await start({ prefix, journals: 'memory', placementShards: 3 });
  try {
    const client = await connectPlacement({ servers: server.url, prefix });
    assert.is(client.shards, 3);
    await client.close();
  } finally {
    await node.stop();
  }
});

test('deployment - a placement client that comes before its deployment waits for it, and for its number of shards', async () => {
  const { prefix, start } = deployment();
  const told: unknown[] = [];
  const connecting = connectPlacement({ servers: server.url, prefix, onError: (error) => void told.push(error) });
  await until('it waits', () => told.length > 0);
  const { code, message } = told[0] as CellwrightError;
  assert.is(code, 'no-deployment');
  assert.match(
    message,
    new RegExp(`^there is no deployment with the prefix '${prefix}' on this server.*: start its nodes`),
  );
  const node = await start({ prefix, placementShards: 3 });
  try {
    const client = await connecting;
    assert.is(client.shards, 3);
    await client.close();
  } finally {
    await node.stop();
  }
});

test('deployment - a scheduler that starts while JetStream is away waits for it, and goes by what is kept there', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'cellwright-test-'));
  const port = await freePort();
  let running = await startNatsServer({ dataDir, port });
  const { url } = running;
  try {
    const placement = await startNode({ roles: ['placement'], nats: { servers: url }, placementShards: 4 });
    await placement.stop();
    await running.stop();
    running = await startNatsServer({ dataDir, port, jetstream: false });
    const told: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line) => told.push(line) });
    const nats = { servers: url, reconnectWaitMs: 20, reconnectJitterMs: 0 };
    const starting = startNode({ roles: ['scheduler'], nats, logger });
    const waits = () => told.filter((line) => line.includes('reading the number of placement shards'));
    await until('it waits', () => waits().length > 0);
    await running.stop();
    running = await startNatsServer({ dataDir, port });
    const node = await starting;
    assert.is(node.placementShards, 4);
    assert.equal(new Set(waits().map((line) => JSON.parse(line).msg)).size, waits().length, 'each reason is told once');
    await node.stop();
  } finally {
    await running.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
});

test('deployment - copies that a server alone cannot keep are refused at once, by the field', async () => {
  const { start } = deployment();
  const told: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line) => told.push(line) });
  const refusal = async () => {
    const { code, field, retryable, message } = (await failureOf(() =>
      start({ roles: ['cell:c1'], replicas: 3, logger }),
    )) as CellwrightError;
    assert.match(message, /replicas > 1 not supported/);
    assert.equal([code, field, retryable, told], ['jetstream-refused', 'replicas', false, []]);
  };
  await refusal();
  // Also where there is something already, and only the journal is to be made.
  await (await start({ roles: ['placement'] })).stop();
  await refusal();
});

test('deployment - a node that is to have more copies than there are tells of each journal and each bucket', async () => {
  const { prefix, start } = deployment();
  await (await start({ roles: ['placement'] })).stop();
  const told: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line) => told.push(line) });
  const node = await start({ roles: ['placement'], replicas: 3, logger });
  try {
    await until('all is told', () => told.length >= 3);
    const streams = told.map((line) => / has 1 of 3 copies.*nats stream edit (\S+) --replicas 3/.exec(line)?.[1]);
    const [{ deployment: decided, leases }, journal] = [subjectsOf(prefix), `${prefix}-placement-0-journal`];
    assert.equal(streams.sort(), [`KV_${decided}`, `KV_${leases}`, journal].sort());
  } finally {
    await node.stop();
  }
});

test('deployment - where an account is not to have JetStream a number that is named holds, and none is guessed', async () => {
  const config = `accounts {
    with: { jetstream: enabled, users: [{ user: with, password: secret }] }
    without: { users: [{ user: without, password: secret }] }
  }`;
  const shared = await startTestServer({ config });
  const other = await connectNats({ servers: shared.url, name: 'deployment', user: 'without', pass: 'secret' });
  const options = { bus: other, subjects: subjectsOf('d') };
  try {
    assert.is(await settleShards('placement', options, 4), 4);
    assert.is(await settleShards('conductor', options, 2), 2);
    assert.is(await placementShardsStanding(options, 4), 4);
    assert.is(await isDeployed(options), false);
    for (const ask of [() => settleShards('placement', options, undefined), () => placementShardsOf(options)]) {
      const refusal = (await failureOf(ask)) as CellwrightError;
      assert.equal([refusal.code, refusal.retryable], ['no-jetstream', false]);
    }
  } finally {
    await other.close();
    await shared.stop();
  }
});

test('deployment - a record that this program does not read is refused, not guessed', async () => {
  const { options } = deployment();
  const bucket = await bus.connection.jetstream().views.kv(options.subjects.deployment);
  for (const text of ['{"v":2,"shards":4}', '{"v":1,"shards":0}', '{"v":1}', 'none']) {
    await bucket.put('placement', new TextEncoder().encode(text));
    for (const read of [() => placementShardsOf(options), () => settleShards('placement', options, undefined)]) {
      const { code, message } = await failureOf(read);
      assert.is(code, 'malformed', text);
      assert.match(
        message,
        /'placement' in bucket 'd\d+_deployment' cannot be read: .* nats kv put d\d+_deployment placement/,
      );
    }
  }
  await bucket.delete('placement');
  assert.is(
    (await failureOf(() => settleShards('placement', options, undefined))).code,
    'malformed',
    'nor decided anew',
  );
});

test('deployment - a prefix that makes the names of another one is refused, unless an operator wrote the record', async () => {
  const { prefix, start } = deployment();
  const [dotted, hyphened] = [`${prefix}.a`, `${prefix}-a`];
  const node = await start({ prefix: dotted });
  await node.stop();
  const refusals = [
    () => start({ prefix: hyphened }),
    () => start({ prefix: hyphened, roles: ['scheduler'] }),
    () => connectPlacement({ servers: server.url, prefix: hyphened }),
  ];
  for (const refused of refusals) {
    const { code, field, message } = (await failureOf(refused)) as CellwrightError;
    assert.equal([code, field], ['prefix-taken', 'prefix']);
    assert.match(message, new RegExp(`'${hyphened}' would share .* of prefix '${dotted}'`));
  }
  await (await start({ prefix: dotted })).stop();
  const bucket = await bus.connection.jetstream().views.kv(subjectsOf(dotted).deployment);
  await bucket.put('placement', new TextEncoder().encode('{"v":1,"shards":1}'));
  for (const either of [hyphened, dotted]) await (await start({ prefix: either, roles: ['scheduler'] })).stop();
});

test('deployment - what is no number of shards is refused by its field', async () => {
  const { start } = deployment();
  for (const placementShards of [0, -1, 1.5, 65, Number.NaN, '4' as never]) {
    const refusal = (await failureOf(() => start({ placementShards }))) as CellwrightError;
    assert.equal([refusal.code, refusal.field], ['bad-option', 'placementShards'], String(placementShards));
  }
});

test('deployment - where nothing is kept, who serves shards tells their number, and another one is refused', async () => {
  const clock = systemClock();
  const memory = memoryServer({ clock });
  const buses: readonly (() => Pick<NodeOptions, 'bus' | 'nats' | 'journals' | 'prefix'>)[] = [
    () => ({ bus: memory.connect() }),
    () => ({ nats: { servers: server.url }, journals: 'memory', prefix: 'unkept' }),
  ];
  for (const on of buses) {
    const start = (options: Partial<NodeOptions>) =>
      startNode({ roles: ['scheduler'], logger: pino({ level: 'silent' }), ...on(), ...options });
    const first = await start({ roles: ['placement', 'conductor'], placementShards: 3, conductorShards: 2 });
    try {
      const second = await start({});
      assert.is(second.placementShards, 3);
      await second.stop();
      const wrong = (await failureOf(() => start({ placementShards: 2 }))) as CellwrightError;
      assert.equal([wrong.code, wrong.field], ['other-shards', 'placementShards']);
      const other = (await failureOf(() => start({ roles: ['cell:c1'], conductorShards: 1 }))) as CellwrightError;
      assert.equal([other.code, other.field], ['other-shards', 'conductorShards']);
    } finally {
      await first.stop();
    }
  }
});

test('deployment - a Placement API that comes before its deployment waits for it, unless the number of shards is said', async () => {
  const { prefix, start } = deployment();
  const told: unknown[] = [];
  const logger = pino({ level: 'warn' }, { write: (line) => void told.push(JSON.parse(line).msg) });
  const common = { host: '127.0.0.1', port: 0, prefix, placement: { servers: [server.url] }, logger };
  await (await startPlacementApi({ ...common, placementShards: 3 })).close();
  assert.equal(told, []);
  let isUp = false;
  const starting = startPlacementApi(common).finally(() => {
    isUp = true;
  });
  await until('it waits, or is up', () => isUp || told.length > 0);
  const node = await start({ placementShards: 3 });
  try {
    await (await starting).close();
    assert.match(String(told[0]), /^there is no deployment with the prefix/);
  } finally {
    await node.stop();
  }
});

test('deployment - the Placement API serves as many shards as there are, and is refused with another number', async () => {
  const { prefix, options } = deployment();
  await settleShards('placement', options, 2);
  const start = (placementShards?: number) =>
    startPlacementApi({
      host: '127.0.0.1',
      port: 0,
      prefix,
      placement: { servers: [server.url] },
      ...(placementShards === undefined ? {} : { placementShards }),
    });
  await (await start()).close();
  await (await start(2)).close();
  const refusal = (await failureOf(() => start(3))) as CellwrightError;
  assert.equal([refusal.code, refusal.field], ['other-shards', 'placementShards']);
  assert.match(refusal.message, /has 2 placement shards .* with 3$/);
});

test('deployment - a replay is no guest of a deployment that is there: it is refused by the prefix, and changes nothing', async () => {
  const { prefix, options, start } = deployment();
  assert.is(await isDeployed(options), false);
  const on = { servers: [server.url], prefix };
  const node = await start();
  try {
    assert.is(await isDeployed(options), true);
    const refusal = (await failureOf(() => natsStage(on))) as CellwrightError;
    assert.equal([refusal.code, refusal.field], ['already-deployed', 'prefix']);
    assert.ok(refusal.message.includes(`'${prefix}'`));
  } finally {
    await node.stop();
  }
  assert.is((await failureOf(() => natsStage(on))).code, 'already-deployed', 'also while nobody serves it');
});

test('deployment - of replays that begin at once with one prefix, one takes place and the others are refused', async () => {
  const { prefix, options } = deployment();
  const on = { servers: [server.url], prefix, placementShards: 2 };
  const begun = await Promise.allSettled([natsStage(on), natsStage(on), natsStage(on)]);
  const stages = begun.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  for (const stage of stages) await stage.close();
  assert.is(stages.length, 1);
  for (const one of begun) if (one.status === 'rejected') assert.is(one.reason.code, 'already-deployed');
  assert.is(await placementShardsOf(options), 2);
});

test.run();
