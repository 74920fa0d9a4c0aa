// Area: permissions. Each kind of process works with the permissions that the guide lists for it, read from there, and
// with no others; and the lists are no wider than is used.

import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectNats } from '../../runtime/bus/nats.ts';
import { type Connection, connect } from '../../runtime/connect.ts';
import type { Driver } from '../../runtime/drivers/driver.ts';
import { type Node, startNode } from '../../runtime/node.ts';
import type { NodeOptions } from '../../runtime/node-options.ts';
import { connectPlacement } from '../../runtime/placement-client.ts';
import { withResolvers } from '../../runtime/with-resolvers.ts';
import { startTestServer } from '../support/nats-server.ts';
import { until } from '../support/until.ts';
import { type Running, runCommand, startCommand } from './commands.ts';
import { covers, type Permissions, permissionsInGuide, together, usedIn, usersConfig } from './permissions.ts';
import { eventually, hostsUp, quickDriver } from './system.ts';

const test = suite('permissions');

const GUIDE = permissionsInGuide();
const SMALL = { resources: { VCPU: 1, MEMORY_MB: 128 } };
const SOON = { firstMs: 200, mostMs: 500 };
/** Longer than any condition of these tests is waited for: what is taken over meanwhile was handed over. */
const LONG_LEASE_MS = 600_000;

type Change = (subject: string) => readonly string[];

function rows(...who: readonly string[]): Permissions[] {
  return who.map((one) => {
    const row = GUIDE.get(one);
    assert.ok(row, `the guide has a row for '${one}'`);
    return row as Permissions;
  });
}

/** The lists of owners, for those of these addresses. */
function owning(...addresses: readonly string[]): Permissions {
  return together(rows('every owner'), (subject) =>
    addresses.map((address) =>
      subject
        .replace('STREAM.CREATE.STREAM', 'STREAM.CREATE.JOURNAL')
        .replace(/(?<=\.)STREAM(?=$|\.\*$)/, 'JOURNAL')
        .replace('JOURNAL', `cw-${address.replaceAll('.', '-')}-journal`)
        .replace('KEY', address),
    ),
  );
}

const inCell =
  (cell: string, ...hosts: readonly string[]): Change =>
  (subject) =>
    hosts.map((host) => subject.replace('.c1.', `.${cell}.`).replace(/\.h1(?=$|\.)/, `.${host}`));

/** A user for each kind of process, with what the guide says; `change` has the last word. */
function usersOfGuide(change?: Change): ReadonlyMap<string, Permissions> {
  const node = rows('every node');
  const cell = (name: string) =>
    together([...node, owning(`cell.${name}`), together(rows('cell c1'), inCell(name, ''))]);
  const compute = (name: string, ...hosts: string[]) =>
    together([...node, together(rows('compute c1/h1'), inCell(name, ...hosts))]);
  const users: [string, Permissions][] = [
    ['placement', together([...node, owning('placement.0', 'placement.1'), ...rows('placement')])],
    ['conductor', together([...node, owning('conductor.0'), ...rows('conductor')])],
    ['scheduler', together([...node, ...rows('scheduler')])],
    ['cell-c1', cell('c1')],
    ['cell-c2', cell('c2')],
    ['compute-c1', compute('c1', 'h1', 'h2', 'bad')],
    ['compute-c2', compute('c2', 'h1')],
    ['client', together(rows('client'))],
    ['tap', together(rows('tap'))],
    ['audit', together(rows('audit'))],
    ['placement-api', together(rows('placement-api'))],
    ['micro', together(rows('nats micro'))],
  ];
  return new Map(users.map(([user, lists]) => [user, together([lists], change)]));
}

const kindOf = (user: string) => user.replace(/-c2$/, '-c1');

/** On `bad` every build fails, and what the host has is told at the second time only. */
function driverOf({ cell, host }: { cell: string; host: string }): Driver {
  if (host !== 'bad') return quickDriver(cell, host);
  const quick = quickDriver(cell, host, { min: 1, max: 5 }, [{ reason: 'no image', rate: 1, kind: 'failed' }]);
  let asked = 0;
  return {
    ...quick,
    async inventory() {
      asked += 1;
      if (asked === 1) throw new Error('not yet');
      return quick.inventory();
    },
  };
}

interface Guarded {
  /** The server's address, for a user. */
  at(user: string): string;
  /** The flags by which a command is that user. */
  reaching(user: string): readonly string[];
  start(user: string, roles: readonly string[], options?: Partial<NodeOptions>): Promise<Node>;
  connect(user: string): Promise<Connection>;
  /** A command that goes on until it is interrupted. */
  command(user: string, ...args: string[]): Running;
  /** What the server said that it forbids. */
  violations(): readonly string[];
  /** What nodes logged of what they may not. */
  readonly denied: readonly string[];
  used(): ReadonlyMap<string, Permissions>;
}

interface Guarding {
  /** Whether a test tries what is forbidden. Others fail at once when the server forbids anything, which it names. */
  readonly tries?: boolean;
  /** Default: all have the same. */
  readonly inboxOf?: (user: string) => string;
}

async function guarded(
  users: ReadonlyMap<string, Permissions>,
  run: (guarded: Guarded) => Promise<void>,
  { tries = false, inboxOf }: Guarding = {},
): Promise<void> {
  const log: string[] = [];
  const config = `trace: true\n${usersConfig(users)}`;
  const missing = withResolvers<never>();
  const isViolation = (line: string) => /\[ERR\].* Violation - /.test(line) && !isOfClock(line);
  const hear = (line: string) => {
    log.push(line);
    if (!tries && isViolation(line)) missing.reject(new Error(`the guide lacks a right: ${line}`));
  };
  const server = await startTestServer({ config, log: hear });
  const isOver = new AbortController();
  const denied: string[] = [];
  /** As the guide says: it is learnt of servers before 2.10 by a right that is for owners. */
  const isOfClock = (line: string) =>
    log.some((one) => /Version: +2\.[0-9]\./.test(one)) &&
    /"node":"(?:scheduler|compute-c.)"|User "(?:scheduler|compute-c.)"/.test(line) &&
    /'?"?\$JS\.API\.CONSUMER\.CREATE\.KV_cw_leases['"]/.test(line);
  const write = (line: string) => {
    if (/does not allow|permission-denied/.test(line) && !isOfClock(line)) denied.push(line);
  };
  const ends: (() => Promise<unknown>)[] = [];
  const at = (user: string) => server.url.replace('//', `//${user}:p@`);
  const nats = (user: string) => ({ servers: at(user), ...(inboxOf ? { inboxPrefix: inboxOf(user) } : {}) });
  const reaching = (user: string) => ['--nats', at(user), ...(inboxOf ? ['--inbox-prefix', inboxOf(user)] : [])];
  try {
    const running = run({
      at,
      reaching,
      denied,
      async start(user, roles, options) {
        const node = await startNode({
          roles,
          name: user,
          nats: { ...nats(user), signal: isOver.signal },
          driver: driverOf,
          logger: pino({ level: 'warn' }, { write }),
          leaseTtlMs: LONG_LEASE_MS,
          cell: { patience: SOON },
          compute: { heartbeatMs: 300, patience: SOON },
          ...options,
        });
        ends.push(() => node.stop());
        isOver.signal.throwIfAborted();
        return node;
      },
      async connect(user) {
        const client = await connect(nats(user));
        ends.push(() => client.close());
        return client;
      },
      command(user, ...args) {
        const command = startCommand([...args, ...reaching(user)]);
        ends.push(() => {
          command.child.kill('SIGKILL');
          return command.ended;
        });
        return command;
      },
      violations: () => log.filter(isViolation),
      used: () => usedIn(log),
    });
    await Promise.race([running, missing.promise]);
  } finally {
    isOver.abort();
    await Promise.all(ends.map((end) => end()));
    await server.stop();
  }
}

const trying = (...[users, run]: Parameters<typeof guarded>) => guarded(users, run, { tries: true });

type Starting = Pick<Guarded, 'start'>;

/** Placement and conductor come first: they decide how many shards there are. */
async function startAll({ start }: Starting): Promise<Readonly<Record<'placement' | 'conductor' | 'cell', Node>>> {
  const placement = await start('placement', ['placement'], { placementShards: 2 });
  const conductor = await start('conductor', ['conductor']);
  const [cell] = await Promise.all([
    start('cell-c1', ['cell:c1']),
    start('cell-c2', ['cell:c2']),
    start('scheduler', ['scheduler']),
  ]);
  await Promise.all([
    start('compute-c1', ['compute:c1/h1', 'compute:c1/h2', 'compute:c1/bad']),
    start('compute-c2', ['compute:c2/h1']),
  ]);
  return { placement, conductor, cell: cell as Node };
}

/** Single ones, a batch of which some fail on their first host, and one that waits; then some are deleted. */
async function buildAndDelete(client: Connection, id: string): Promise<void> {
  const onC1 = { placement: { cells: ['c1'] } };
  const { instances } = await client.build({ id: `${id}-batch`, count: 6, alternates: 2, ...onC1, ...SMALL });
  await client.build({ id: `${id}-single`, ...SMALL });
  for (const one of [...instances, `${id}-single`]) assert.is((await client.ended(one)).state, 'active', one);
  await client.build({ id: `${id}-parked`, resources: { VCPU: 100 }, wait: { forMs: 60_000 } });
  await eventually('one waits', async () => (await client.show(`${id}-parked`)).waiting !== undefined);
  await deleted(client, [...instances, `${id}-parked`, `${id}-single`]);
}

async function deleted(client: Connection, instances: readonly string[]): Promise<void> {
  for (const one of instances) await client.delete(one);
  for (const one of instances)
    await eventually(`'${one}' is deleted`, async () => (await client.show(one)).state === 'deleted');
}

/**
 * What the lists have and is not used here, and why; beside purges, which come with snapshots, after thousands of
 * records.
 */
const NOT_USED_HERE = new Map([
  ['$JS.FC.KV_cw_leases.>', 'of megabytes of renewals'],
  ['$JS.API.CONSUMER.CREATE.KV_cw_leases', 'of clocks, on servers before 2.10'],
  ['$JS.API.CONSUMER.DELETE.KV_cw_leases.*', 'of clocks, on servers before 2.10'],
  ['$SRV.INFO.placement', 'where nothing is kept of the deployment'],
  ['cw.api.show', 'of an audit that repairs'],
]);

test('permissions - with those of the guide everything works, nothing is forbidden, and nearly all is used', () =>
  guarded(usersOfGuide(), async (server) => {
    const { at, start, violations, denied, used } = server;
    const first = await startAll(server);
    const client = await server.connect('client');
    const tap = server.command('tap', 'tap');
    await until('tap follows', () => /following/.test(tap.err()));
    await Promise.all([hostsUp(client, 'c1', 3), hostsUp(client, 'c2', 1)]);
    await buildAndDelete(client, 'first');
    const { instances } = await client.build({ id: 'kept', count: 4, alternates: 2, ...SMALL });
    for (const one of instances) assert.is((await client.ended(one)).state, 'active', one);

    const commands: [string, ...string[]][] = [
      ['client', 'explain', 'kept-0'],
      ['client', 'host', 'disable', '--cell', 'c1', 'bad'],
      ['audit', 'audit', '--repair', '--pause', '1'],
    ];
    for (const [user, ...args] of commands) {
      const { code, err } = await runCommand(...args, '--nats', at(user));
      assert.equal([code, err], [0, ''], args.join(' '));
    }
    assert.ok((await client.fit({ count: 1, ...SMALL })).fits);
    assert.is((await client.whyNot({ id: 'kept-0', cell: 'c1', host: 'bad' })).id, 'kept-0');
    await client.cell({ cell: 'c2', enabled: false });
    await client.cell({ cell: 'c2', enabled: true });
    const placing = await connectPlacement({ servers: at('placement-api') });
    assert.is(Object.keys((await placing.read(['kept-0']))['kept-0'] ?? {}).length, 1);
    await placing.close();
    const api = server.command('placement-api', 'placement-api', '--listen', '127.0.0.1:0');
    await until('the Placement API listens', () => /listens at \S+/.test(api.out()));
    const [, url] = /listens at (\S+)/.exec(api.out()) ?? [];
    const told = await fetch(`${url}/resource_providers`, { headers: { 'x-auth-token': 'admin' } });
    assert.is(((await told.json()) as { resource_providers: unknown[] }).resource_providers.length, 4);
    api.child.kill('SIGINT');
    await api.ended;

    const second = {
      placement: await start('placement', ['placement'], { name: 'placement-second' }),
      conductor: await start('conductor', ['conductor'], { name: 'conductor-second' }),
      cell: await start('cell-c1', ['cell:c1'], { name: 'cell-second' }),
    };
    for (const kind of ['placement', 'conductor', 'cell'] as const) {
      await first[kind].stop();
      await until(`the second ${kind} owns all`, () =>
        Object.values(second[kind].standings()).every(({ state }) => state === 'owning'),
      );
    }
    await deleted(client, instances);
    await buildAndDelete(client, 'second');
    const micro = await connectNats({ servers: at('micro'), name: 'micro', onError() {} });
    const heard = new Set<string>();
    const inbox = micro.inbox();
    micro.subscribe(inbox, ({ data }) =>
      heard.add((JSON.parse(Buffer.from(data).toString()) as { name: string }).name),
    );
    micro.publish('$SRV.PING', new Uint8Array(0), { reply: inbox });
    await until('all services have answered', () => heard.size === 6);
    await micro.close();
    tap.child.kill('SIGINT');
    await tap.ended;
    for (const said of [
      / cw\.placement\.0\.journal /,
      / cw\.cell\.c1\.build\.first-single\.| cw\.cell\.c2\.build\.first-single\./,
      / cw\.cell\.c1\.compute\.bad build /,
    ])
      assert.match(tap.out(), said);

    assert.equal(violations(), []);
    assert.equal(denied, []);
    const ofExample = (subject: string) => subject.replace(/\bc2\b/, 'c1').replace(/\.(?:h2|bad)\b/, '.h1');
    const usedBy = (kind: string, of: keyof Permissions) =>
      [...used()].flatMap(([user, lists]) => (kindOf(user) === kind ? lists[of].map(ofExample) : []));
    const unused: string[] = [];
    for (const [user, lists] of usersOfGuide()) {
      for (const of of ['publish', 'subscribe'] as const) {
        const subjects = usedBy(kindOf(user), of);
        for (const pattern of lists[of].map(ofExample)) {
          const isRare = NOT_USED_HERE.has(pattern) || pattern.startsWith('$JS.API.STREAM.PURGE.');
          if (!isRare && !subjects.some((one) => covers(pattern, one))) unused.push(`${user}: ${of} ${pattern}`);
        }
      }
    }
    assert.equal(unused, []);
  }));

/** What is not needed where all that is kept is there already. */
const MADE_BEFORE = /\.STREAM\.CREATE\.|^\$KV\.cw_deployment\.(?:placement|conductor)$|^\$SRV\.INFO\./;

test("permissions - where all that is kept is there already nobody has to make it, in any order, and inboxes may be one's own", () => {
  const inboxOf = (user: string) => `_INBOX.${user}`;
  const users = [...usersOfGuide((subject) => (MADE_BEFORE.test(subject) ? [] : [subject]))];
  const ofOne = ([user, { publish, subscribe }]: [string, Permissions]): [string, Permissions] => [
    user,
    { publish, subscribe: subscribe.map((one) => (one === '_INBOX.>' ? `${inboxOf(user)}.>` : one)) },
  ];
  return guarded(
    new Map(users.map(ofOne)),
    async (server) => {
      const operator = await connectNats({ servers: server.at('operator'), name: 'operator' });
      const { views } = operator.connection.jetstream();
      const decided = await views.kv('cw_deployment', { allow_direct: true });
      await decided.put('placement', '{"v":1,"shards":2,"prefix":"cw"}');
      await decided.put('conductor', '{"v":1,"shards":1}');
      await views.kv('cw_leases', { history: 10, allow_direct: true });
      const { streams } = await operator.connection.jetstreamManager();
      for (const owner of ['placement.0', 'placement.1', 'conductor.0', 'cell.c1', 'cell.c2']) {
        const name = `cw-${owner.replaceAll('.', '-')}-journal`;
        await streams.add({ name, subjects: [`cw.${owner}.journal`], duplicate_window: 120_000_000_000 });
      }
      await operator.close();
      const first = await server.start('cell-c1', ['cell:c1'], { name: 'cell-first' });
      await startAll(server);
      const client = await server.connect('client');
      await Promise.all([hostsUp(client, 'c1', 3), hostsUp(client, 'c2', 1)]);
      await buildAndDelete(client, 'first');
      await first.stop();
      await buildAndDelete(client, 'second');
      for (const [user, ...args] of [
        ['client', 'fit', '--resources', 'VCPU=1'],
        ['client', 'host', 'list'],
        ['audit', 'audit', '--pause', '1'],
      ] as [string, ...string[]][]) {
        const { code, err } = await runCommand(...args, ...server.reaching(user));
        assert.equal([code, err], [0, ''], args.join(' '));
      }
      const api = server.command('placement-api', 'placement-api', '--listen', '127.0.0.1:0');
      await until('the Placement API listens', () => /listens at \S+/.test(api.out()));
      assert.equal([server.violations(), server.denied], [[], []]);
    },
    { inboxOf },
  );
});

/** What would do harm, by who must not publish it. */
const FORBIDDEN: Readonly<Record<string, readonly string[]>> = {
  placement: ['cw.api.build', 'cw.cell.c1.journal', 'cw.conductor.0.journal', '$KV.cw_leases.cell.c1'],
  conductor: ['cw.cell.c1.compute.h1', 'cw.placement.0.journal', '$KV.cw_leases.placement.0', 'cw.cell.c1.journal'],
  scheduler: [
    'cw.cell.c1.compute.h1',
    'cw.placement.0.journal',
    'cw.placement.0.feed',
    '$JS.API.CONSUMER.CREATE.KV_cw_leases',
  ],
  'cell-c1': [
    'cw.cell.c2.conductor',
    'cw.cell.c2.compute.h1',
    'cw.cell.c2.journal',
    '$KV.cw_leases.cell.c2',
    '$KV.cw_deployment.placement',
    '$JS.API.STREAM.PURGE.cw-cell-c2-journal',
    '$JS.API.STREAM.MSG.GET.cw-cell-c2-journal',
    '$JS.API.STREAM.DELETE.cw-cell-c1-journal',
  ],
  'compute-c1': [
    'cw.cell.c2.compute.h1',
    'cw.cell.c2.conductor',
    'cw.cell.c1.journal',
    'cw.placement.0.journal',
    'cw.conductor.0',
    'cw.api.build',
    '$KV.cw_leases.cell.c1',
    '$JS.API.STREAM.PURGE.cw-cell-c1-journal',
    '$JS.API.CONSUMER.CREATE.cw-cell-c1-journal',
    '$JS.API.CONSUMER.CREATE.KV_cw_leases',
  ],
  client: [
    'cw.placement.0',
    'cw.scheduler',
    'cw.conductor.0',
    'cw.cell.c1.conductor',
    'cw.gateway.conductor',
    '$JS.API.INFO',
  ],
  tap: ['cw.api.delete', 'cw.placement.0', '_INBOX.one', '$JS.API.INFO'],
  audit: ['cw.api.build', 'cw.api.delete', 'cw.placement.0.journal', 'cw.conductor.0', 'cw.gateway.conductor'],
  'placement-api': ['cw.api.build', 'cw.cell.c1.conductor', 'cw.placement.0.journal', 'cw.gateway.conductor'],
  micro: ['cw.api.build', 'cw.placement.0'],
};

/** The same of what must not be heard. */
const UNHEARD: Readonly<Record<string, readonly string[]>> = {
  scheduler: ['cw.cell.c1.journal', 'cw.api.build'],
  'cell-c1': ['cw.cell.c2.conductor', 'cw.placement.0'],
  'compute-c1': ['cw.cell.c2.compute.h1', 'cw.cell.c1.conductor', 'cw.gateway.conductor'],
  client: ['cw.cell.c1.journal', 'cw.api.build', 'cw.gateway.conductor'],
};

test("permissions - those of the guide let nobody do what is another's: not a client claim, nor a compute order elsewhere", () =>
  trying(usersOfGuide(), async ({ at }) => {
    for (const user of usersOfGuide().keys()) {
      const bus = await connectNats({ servers: at(user), name: user, onError() {} });
      const refused = new Set<string>();
      for (const subject of UNHEARD[user] ?? [])
        bus.subscribe(subject, () => {}, { onForbidden: () => refused.add(subject) });
      // Whoever may hear no answer learns of what is forbidden all the same.
      const asked = (FORBIDDEN[user] ?? []).map(async (subject) => {
        const answer = bus.request(subject, new Uint8Array(0), { timeoutMs: 5_000 });
        const code = await answer.then(
          () => 'answered',
          (error) => error.code,
        );
        assert.is(code, 'permission-denied', `${user} publishes to '${subject}'`);
      });
      await Promise.all(asked);
      await bus.flush();
      assert.equal([...refused], UNHEARD[user] ?? [], user);
      await bus.close();
    }
  }));

test('permissions - a node that comes before placement has begun ends at once, and says what it may not', () =>
  trying(usersOfGuide(), async ({ start, violations }) => {
    for (const [user, role] of [
      ['conductor', 'conductor'],
      ['cell-c1', 'cell:c1'],
      ['scheduler', 'scheduler'],
      ['compute-c1', 'compute:c1/h1'],
    ] as const) {
      const ended = await start(user, [role]).then(
        () => 'started',
        (error) => [error.code, error.message],
      );
      const why = "the server does not allow this user to publish to '$JS.API.STREAM.CREATE.KV_cw_deployment'";
      assert.equal(ended, ['permission-denied', why], role);
    }
    assert.is(violations().length, 4);
  }));

test.run();
