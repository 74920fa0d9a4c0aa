// Area: options of a node. Every one that cannot be is refused by its name before anything is started, and so is one that
// there is not; a driver that lacks a method is found out before it is needed.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryBus } from '../../runtime/bus/memory.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import { fakeDriver, type Node, type NodeOptions, seededRandom, startNode, systemClock } from '../../runtime/index.ts';
import { memoryJournals } from '../../runtime/journal/memory.ts';
import { memoryLeases } from '../../runtime/ownership/memory.ts';
import { hostTree } from '../e2e/system.ts';
import { failureOf } from '../support/until.ts';

const test = suite('options of a node');
const clock = systemClock();

const driver = ({ host }: { host: string }) => fakeDriver({ host: hostTree(host), clock, random: seededRandom(1) });
const right = (): NodeOptions => ({
  roles: ['placement', 'scheduler', 'conductor', 'cell:c1', 'compute:c1/h1'],
  bus: memoryBus({ clock }),
  driver,
});

/** What JSON has no words for. */
function circle(): object {
  const one: Record<string, unknown> = {};
  one.self = one;
  return one;
}

/** An object that runs code of its own when it is looked at. */
function throwing(field: string): object {
  const get = () => {
    throw new Error('it cannot be read');
  };
  return Object.defineProperty({}, field, { get, enumerable: true });
}

/** Each with as many traits as there may be of one. */
const KEPT_FOR_MUCH = Object.fromEntries(
  Array.from({ length: 32 }, (_, n) => {
    const traits = Array.from({ length: 64 }, (__, k) => `CUSTOM_${n}_${k}_`.padEnd(34, 'X'));
    return [`r${n}`, { traits }];
  }),
);

const WRONG: readonly (readonly [options: object, field: string, says?: RegExp])[] = [
  [{ roles: undefined }, 'roles', /list of texts/],
  [{ roles: 'placement' }, 'roles', /list of texts/],
  [{ role: ['placement'] }, 'role', /unknown field/],
  [{ constructor: 1 }, 'constructor', /unknown field/],
  [{ leaseTTL: 5 }, 'leaseTTL', /unknown field/],
  [{ leaseTtlMs: '5' }, 'leaseTtlMs'],
  [{ replicas: 2 }, 'replicas', /1 or 3 or 5/],
  [{ maxMailbox: 0 }, 'maxMailbox', /at least 1/],
  [{ maxMailbox: Number.NaN }, 'maxMailbox'],
  [{ events: 'yes' }, 'events', /true or false/],
  [{ journals: 'disk' }, 'journals'],
  [{ journals: () => undefined }, 'journals', /the journal of '[a-z0-9/]+' is no object/],
  [{ journals: async () => memoryJournals({ clock })('conductor/0') }, 'journals', /is a promise/],
  [{ journals: () => ({ open: async () => ({}) }) }, 'journals', /lacks the method 'append'/],
  [{ name: null }, 'name'],
  [{ leaseTtlMs: null }, 'leaseTtlMs'],
  [{ leases: 'disk' }, 'leases'],
  [{ driver: {} }, 'driver', /must be a function/],
  [{ driver: undefined }, 'driver', /needs the option driver/],
  [{ driver: () => null }, 'driver', /host 'c1\/h1' is no object/],
  [{ driver: async () => driver({ host: 'h1' }) }, 'driver', /is a promise/],
  [{ driver: () => ({ build() {} }) }, 'driver', /lacks the method 'destroy'/],
  [{ driver: () => throwing('build') }, 'driver', /host 'c1\/h1' could not be made: it cannot be read$/],
  [
    { scheduler: { weighers: [Object.assign(throwing('weigh'), { name: 'mine' })] } },
    'scheduler.weighers.0',
    /cannot be read/,
  ],
  [{ driver: () => ({ ...driver({ host: 'h1' }), metrics: 5 }) }, 'driver', /has 'metrics', which must be a method/],
  [{ bus: undefined, nats: { signal: 'stop' } }, 'nats.signal', /must be an AbortSignal/],
  [{ bus: undefined, nats: { onStatus: 5 } }, 'nats.onStatus', /must be a function/],
  [{ bus: undefined, nats: { managed: { onEnded: 5 } } }, 'nats.managed.onEnded', /must be a function/],
  [{ bus: undefined, nats: { inboxPrefix: 'a b' } }, 'nats.inboxPrefix', /tokens with dots between/],
  [{ prefix: 5 }, 'prefix'],
  [{ bus: 'nats://127.0.0.1' }, 'bus', /an object/],
  [{ bus: {} }, 'bus', /lacks the method 'publish'/],
  [{ clock: {} }, 'clock', /lacks the method 'now'/],
  [{ clock: { ...clock, soon: undefined } }, 'clock', /lacks the method 'soon'/],
  [{ leases: {} }, 'leases', /lacks the method 'read'/],
  [{ logger: {} }, 'logger', /lacks the method 'warn'/],
  [{ logger: { warn: () => {}, error: () => {} } as never }, 'logger', /lacks the method 'info'/],
  [{ nats: { servers: 'nats://127.0.0.1:4222' } }, 'nats', /does not go with 'bus'/],
  [{ bus: undefined, nats: { servers: 'nats://a', managed: {} } }, 'nats.managed', /does not go with/],
  [{ bus: undefined, nats: { server: 'nats://a' } }, 'nats.server', /unknown field/],
  [{ bus: undefined, nats: { servers: 5 } }, 'nats.servers'],
  [{ bus: undefined, nats: { servers: [] } }, 'nats.servers'],
  [{ bus: undefined, nats: { servers: 'http://a' } }, 'nats.servers', /^nats\.servers: /],
  [
    { bus: undefined, nats: { servers: 'nats://a', tls: { caFile: '/nope' } } },
    'nats.tls.caFile',
    /'\/nope' cannot be read/,
  ],
  [
    { bus: undefined, nats: { servers: 'nats://a', credentials: 'x' } },
    'nats.credentials',
    /content of a \.creds file/,
  ],
  [
    { bus: undefined, nats: { tls: { caFile: '/nope' } } },
    'nats.tls.caFile',
    /^nats\.tls\.caFile '\/nope' cannot be read/,
  ],
  [{ bus: undefined, nats: { managed: {}, credentials: 'x' } }, 'nats.credentials', /^nats\.credentials must be/],
  [{ bus: undefined, nats: { managed: { dataDir: '/dev/null/x' } } }, 'nats.managed.dataDir', /x', cannot be used/],
  [{ bus: undefined, nats: { managed: { port: 70_000 } } }, 'nats.managed.port', /at most 65535/],
  [{ bus: undefined, nats: { managed: { datadir: '/var/lib/nats' } } }, 'nats.managed.datadir', /unknown field/],
  [{ cell: { asideShare: 7 } }, 'cell.asideShare', /at most 1/],
  [{ cell: { asideMs: '60' } }, 'cell.asideMs', /a number/],
  [{ cell: { asideMs: 5_000, asideMostMs: 4_000 } }, 'cell.asideMostMs', /not be less than asideMs, 5000/],
  [{ cell: { failureBeforeAside: 3 } }, 'cell.failureBeforeAside', /unknown field/],
  [{ cell: { patience: { firstMs: 5 } } }, 'cell.patience.mostMs', /lacks the field/],
  [{ scheduler: { patience: { firstMs: 5_000, mostMs: 1 } } }, 'scheduler.patience.mostMs', /not be less than firstMs/],
  [{ conductor: { requestedMs: Number.POSITIVE_INFINITY } }, 'conductor.requestedMs'],
  [{ placement: null }, 'placement', /an object/],
  [{ placement: { shards: 4 } }, 'placement.shards', /unknown field/],
  [{ scheduler: { fliters: [] } }, 'scheduler.fliters', /unknown field/],
  [{ scheduler: { silentMs: -1 } }, 'scheduler.silentMs', /more than 0/],
  [{ scheduler: { hostsATurn: 0 } }, 'scheduler.hostsATurn', /at least 1/],
  [{ compute: { heartbeatMs: 0 } }, 'compute.heartbeatMs', /more than 0/],
  [{ aggregates: null }, 'aggregates', /^'aggregates' of the options object must be an object/],
  [{ aggregates: { r: { zone: 'A b' } } }, 'aggregates.r.zone', /^'aggregates.r.zone' of the options object must/],
  [
    { aggregates: { r: { traits: ['a'] } } },
    'aggregates.r.traits.0',
    /^'aggregates.r.traits.0' of the options object must/,
  ],
  [{ aggregates: KEPT_FOR_MUCH }, 'aggregates', /has 69632 characters of traits in all; it may have 65536$/],
  [{ aggregates: { r: { confines: true } } }, 'aggregates.r.confines', /confines nobody without 'projects'/],
  [{ requireConfinement: 1 }, 'requireConfinement', /true or false/],
  [
    { requireConfinement: true, aggregates: { r: { projects: ['red'] } } },
    'requireConfinement',
    /would have every request refused: no aggregate confines a project/,
  ],
  [{ aggregates: { r: { zones: [] } } }, 'aggregates.r.zones', /has an unknown field 'aggregates.r.zones'$/],
  [{ cell: { silentMs: 4_000 } }, 'cell.silentMs', /is 4000; it must be more than the heartbeat of computes, 5000/],
  [{ cell: { silentMs: 300 }, compute: { heartbeatMs: 300 } }, 'cell.silentMs', /more than .*, 300: .* as down$/],
  [{ compute: { heartbeatMs: 15_000 } }, 'cell.silentMs', /is 15000; it must be more than .*, 15000/],
  [{ aggregates: new Map([['ssd', { projects: ['p1'] }]]) }, 'aggregates', /plain object, not a Map/],
  [{ aggregates: Promise.resolve({}) }, 'aggregates', /plain object, not a Promise/],
  [{ aggregates: { ssd: new Map([['projects', ['p1']]]) } }, 'aggregates.ssd', /plain object, not a Map/],
  [{ cell: new Map([['asideMs', 5]]) }, 'cell', /plain object, not a Map/],
  [{ scheduler: Promise.resolve({}) }, 'scheduler', /plain object, not a Promise/],
  [{ bus: undefined, nats: new Map([['servers', 'nats://a']]) }, 'nats', /plain object, not a Map/],
  [{ bus: undefined, nats: { managed: new Map([['port', 4222]]) } }, 'nats.managed', /plain object, not a Map/],
  [{ bus: undefined, nats: { tls: new Map([['caFile', 'ca.pem']]) } }, 'nats.tls', /plain object, not a Map/],
  [{ name: 5n }, 'name', /got 5n$/],
  [{ name: 10n ** 5_000n }, 'name', /^.{0,400}$/],
  [{ prefix: circle() }, 'prefix', /got <ref/],
  [{ roles: [Symbol('placement')] }, 'roles', /list of texts/],
  [{ roles: Object.assign(new Array(2), ['placement']) }, 'roles', /list of texts/],
];

test('options - what cannot be is refused by its name, and leaves nothing behind', async () => {
  for (const [wrong, field, says] of WRONG) {
    const options = { ...right(), ...wrong } as NodeOptions;
    const error = (await failureOf(() => startNode(options))) as CellwrightError;
    assert.instance(error, CellwrightError, `${Object.keys(wrong)}: ${error}`);
    assert.is(error.field, field, error.message);
    assert.is(error.retryable, false);
    if (says !== undefined) assert.match(error.message, says);
    const { bus } = options;
    // The same bus takes a node at once: nobody is left on it.
    if (bus === undefined || typeof bus.publish !== 'function') continue;
    await (await startNode({ ...right(), bus })).stop();
  }
  for (const none of [undefined, null, 5, 'x', []]) {
    assert.is(((await failureOf(() => startNode(none as never))) as CellwrightError).code, 'bad-option', String(none));
  }
});

test('options - a heartbeat is compared where the node has the cell and a compute of it alone', async () => {
  const { roles, ...options } = right();
  for (const others of [roles.filter((role) => !role.startsWith('compute')), ['cell:c1', 'compute:c2/h1']]) {
    await (await startNode({ ...options, roles: others, cell: { silentMs: 4_000 } } as NodeOptions)).stop();
  }
});

test('options - a driver that cannot be made is told by its host, with what was thrown, and nothing is left behind', async () => {
  const { bus, ...options } = right();
  let made = 0;
  let closed = 0;
  const failing = ({ host }: { host: string }) => {
    if (host === 'h2') throw new RangeError('no driver today');
    made += 1;
    const one = driver({ host });
    return {
      ...one,
      close: async () => {
        closed += 1;
      },
    };
  };
  const roles = [...options.roles, 'compute:c1/h2'];
  const error = await failureOf(() => startNode({ ...options, bus: bus as never, roles, driver: failing }));
  assert.instance(error, CellwrightError);
  const { code, field, message, cause } = error as CellwrightError;
  assert.equal(
    [code, field, message],
    ['bad-option', 'driver', "the driver of host 'c1/h2' could not be made: no driver today"],
  );
  assert.instance(cause, RangeError);
  assert.equal([made, closed], [1, 1]);
  await (await startNode({ ...options, bus: bus as never })).stop();
});

test('options - leases in memory without a clock are refused by its name', async () => {
  for (const none of [undefined, null, {}, { clock: 5 }]) {
    const error = (await failureOf(async () => memoryLeases(none as never))) as CellwrightError;
    assert.equal([error.code, error.field], ['malformed', 'clock'], JSON.stringify(none));
  }
});

test('options - undefined is as absent, and two nodes live in one process', async () => {
  const nodes: Node[] = [];
  try {
    for (const prefix of ['one', 'two']) {
      const more = { cell: undefined, scheduler: { filters: undefined }, events: undefined, name: undefined };
      nodes.push(await startNode({ ...right(), ...more, prefix } as unknown as NodeOptions));
    }
    for (const { client } of nodes) {
      await client.build({ id: 'web', resources: { VCPU: 1 }, wait: { forMs: 20_000 } });
      assert.is((await client.ended('web')).state, 'active');
    }
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
  }
});

test.run();
