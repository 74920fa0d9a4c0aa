// Area: placement shards over NATS. Four shards, each in a process of its own, are one placement: builds land on the trees
// of all of them, move between them when they fail, and outlive the death of a shard; and the audit finds nothing.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConsumerState } from '../../actors/messages/placement.ts';
import { everyPlacement, placementShardOf } from '../../actors/routing.ts';
import { connectNats } from '../../runtime/bus/nats.ts';
import { providerId } from '../../runtime/drivers/naming.ts';
import type { CellwrightError } from '../../runtime/errors.ts';
import { startNode } from '../../runtime/node.ts';
import { startPlacementApi } from '../../runtime/placement-api/start.ts';
import { connectPlacement, type Held } from '../../runtime/placement-client.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { startTestServer } from '../support/nats-server.ts';
import { failureOf } from '../support/until.ts';
import { type Auditor, auditorOf } from './auditing.ts';
import { type Deployment, withDeployment } from './deployment.ts';
import { accepted, eventually, hostsUp } from './system.ts';

const test = suite('placement shards over NATS');

const SHARDS = 4;
const HOSTS = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'h7', 'h8'];
const CELLS = ['c1', 'c2'];
/** Hosts by the shard of their trees: chosen so that each cell has some with every shard. */
const PLACES = CELLS.flatMap((cell) => HOSTS.map((host) => ({ cell, host })));
const shardOf = ({ cell, host }: { cell: string; host: string }) =>
  placementShardOf(providerId(cell, host, ''), SHARDS);

interface Sharded extends Deployment {
  readonly auditor: Auditor;
  /** What each shard holds, by shard. */
  held(): Promise<ConsumerState[][]>;
}

const sharded = (run: (on: Sharded) => Promise<void>) =>
  withDeployment(
    async (deployment) => {
      const bus = await connectNats({ servers: deployment.server.url, name: 'auditor', onError() {} });
      const auditor = auditorOf({ bus, subjects: subjectsOf() }, { cells: CELLS });
      const held = () =>
        Promise.all(
          everyPlacement(SHARDS).map(async (shard) => {
            const { consumers } = await auditor.asking.ask(
              shard,
              { type: 'list-consumers', limit: 1_000 },
              'consumers',
            );
            return consumers.filter((one) => one.held.length > 0);
          }),
        );
      try {
        await run({ ...deployment, auditor, held });
      } finally {
        auditor.stop();
        await bus.close();
      }
    },
    { placementShards: SHARDS },
  );

const OWNERS = ['conductor', 'scheduler', ...CELLS.map((cell) => `cell:${cell}`)];
const COMPUTES = PLACES.map(({ cell, host }) => `compute:${cell}/${host}`);
const allUp = ({ client }: Deployment) => Promise.all(CELLS.map((cell) => hostsUp(client, cell, HOSTS.length)));

/** The instances of requests, made one after the other; the odd ones fail on their first host. */
const idsOf = (name: string, count: number) =>
  Array.from({ length: count }, (_, n) => (n % 2 === 0 ? `${name}${n}x` : `${name}${n}-first-fails`));

/** More than may be full, or be taken for lost, by the time that a build on a busy machine comes to them. */
const ALTERNATES = 6;

const found = (auditor: Auditor) => auditor.found({ placementShards: SHARDS });

test('shards over NATS - trees of every shard are built on, and what fails moves from one to another', () =>
  sharded(async (on) => {
    const { client, start, auditor, held } = on;
    assert.equal([...new Set(PLACES.map(shardOf))].sort(), [0, 1, 2, 3]);
    await Promise.all([
      start('placement:0', 'placement:1', ...OWNERS),
      start('placement:2', 'placement:3', ...COMPUTES),
    ]);
    await allUp(on);
    const ids = idsOf('m', 32);
    await Promise.all(ids.map((id) => accepted(client, id, ALTERNATES)));
    const moves: string[] = [];
    for (const id of ids) {
      const view = await client.ended(id);
      assert.is(view.state, 'active', JSON.stringify(view));
      const [first] = view.attempts ?? [];
      const { cell = '', host = '' } = view;
      if (first !== undefined && shardOf({ cell, host: first.host }) !== shardOf({ cell, host })) moves.push(id);
    }
    assert.ok(moves.length > 0, 'some moved to the tree of another shard');
    const byShard = await held();
    assert.ok(
      byShard.filter(({ length }) => length > 0).length > 1,
      JSON.stringify(byShard.map(({ length }) => length)),
    );
    const everywhere = byShard.flat().flatMap(({ consumer, held: homes }) => homes.map(() => consumer));
    assert.equal(everywhere.sort(), [...ids].sort(), 'each has one home');
    assert.equal(await found(auditor), []);

    await Promise.all(ids.map((id) => client.delete(id)));
    await eventually('everything is given back', async () => (await held()).flat().length === 0);
    assert.equal(await found(auditor), []);
  }));

test('shards over NATS - a shard that is killed in the middle of builds is taken up again, and nothing is lost', () =>
  sharded(async (on) => {
    const { client, start, auditor, held } = on;
    const others = ['placement:0', 'placement:1', 'placement:3', ...OWNERS, ...COMPUTES];
    const [mortal] = await Promise.all([start('lease=800', 'placement:2'), start('lease=800', ...others)]);
    await allUp(on);
    const ids = idsOf('k', 32);
    const requests = ids.map((id) => accepted(client, id, ALTERNATES));
    await requests[0];
    assert.is(await mortal.end('SIGKILL'), null);
    await Promise.all(requests);
    // Who deletes meanwhile is answered; that the shard knows of it is owed.
    await client.delete(ids[0] as string);
    await start('lease=800', 'placement:2');
    for (const id of ids.slice(1)) {
      const view = await client.ended(id);
      assert.is(view.state, 'active', JSON.stringify(view));
    }
    await eventually('the deleted one is gone', async () => (await client.show(ids[0] as string)).state === 'deleted');
    await eventually('each has one home', async () => {
      const homes = (await held()).flat().flatMap(({ consumer, held: all }) => all.map(() => consumer));
      return JSON.stringify(homes.sort()) === JSON.stringify(ids.slice(1).sort());
    });
    assert.equal(await found(auditor), []);
  }));

test('shards over NATS - groups that keep together do so on one host, however many of their builds begin at once', () =>
  sharded(async (on) => {
    const { client, start, auditor, held } = on;
    await Promise.all([
      start('placement:0', 'placement:1', ...OWNERS),
      start('placement:2', 'placement:3', 'scheduler', ...COMPUTES),
    ]);
    await allUp(on);
    const groups = Array.from({ length: 8 }, (_, n) => `close-${n}`);
    const build = (id: string, name: string, count: number) =>
      client.build({ id, count, resources: { VCPU: 1 }, instanceGroup: { name, policy: 'affinity' } });
    const asked = await Promise.all(
      groups.flatMap((name) => [build(`${name}-a`, name, 1), build(`${name}-b`, name, 1), build(`${name}-c`, name, 2)]),
    );
    const ends = await Promise.all(
      asked.flatMap(({ instances }) => instances).map((instance) => client.ended(instance)),
    );
    for (const name of groups) {
      const members = ends.filter(({ instance }) => instance.startsWith(`${name}-`));
      assert.equal(
        members.map(({ state }) => state),
        Array(4).fill('active'),
        JSON.stringify(members.map(({ failure }) => failure)),
      );
      assert.is(new Set(members.map(({ cell, host }) => `${cell}/${host}`)).size, 1, name);
    }
    assert.ok((await held()).filter(({ length }) => length > 0).length > 1, 'they are with more than one shard');
    assert.equal(await found(auditor), []);
  }));

test('shards over NATS - a change or a look that cannot be is refused by its field, and changes nothing', async () => {
  const server = await startTestServer();
  try {
    const at = { servers: server.url };
    const node = await startNode({ roles: ['placement'], nats: at, placementShards: 2 });
    try {
      const refused = async (ask: () => Promise<unknown>) => (await failureOf(ask)) as CellwrightError;
      const unlimited = await refused(() => connectPlacement({ ...at, timeoutMs: 'soon' as never }));
      assert.equal([unlimited.code, unlimited.field], ['bad-option', 'timeoutMs']);
      const placement = await connectPlacement({ ...at, timeoutMs: 5_000 });
      const nothing = { consumer: 'mine', allocations: {} };
      const many = Array.from({ length: 1_001 }, (_, position) => `c${position}`);
      const cases: [() => Promise<unknown>, string][] = [
        [() => placement.change([{ ...nothing, consumer: 'a b' }]), 'consumers.0.consumer'],
        // Which of the two it shall hold would be a guess.
        [() => placement.change([nothing, nothing]), 'consumers.1.consumer'],
        // Nothing of a provider is said by leaving it out.
        [() => placement.change([{ ...nothing, allocations: { node: {} } }]), 'consumers.0.allocations.node'],
        [() => placement.change([]), 'consumers'],
        [() => placement.change([nothing], { key: 'k'.repeat(65) }), 'key'],
        [() => placement.read('mine' as never), 'consumers'],
        [() => placement.read(many), 'consumers'],
        [() => placement.read([3 as never]), 'consumers.0'],
        // No message carries half a character.
        [() => placement.change([{ ...nothing, project: 'half \ud800' }]), 'consumers.0.project'],
        [() => placement.read(['mine', 'half \udc00']), 'consumers.1'],
        [() => placement.change([], null as never), 'consumers'],
        [() => placement.change([nothing], { kye: 'mine' } as never), 'kye'],
      ];
      try {
        for (const [ask, field] of cases) {
          const { code, field: named, message } = await refused(ask);
          assert.equal([code, named], ['malformed', field], message);
        }
        assert.equal(await placement.read(['mine']), { mine: {} });
      } finally {
        await placement.close();
      }
    } finally {
      await node.stop();
    }
  } finally {
    await server.stop();
  }
});

test('shards over NATS - what is asked of a placement client that is closed fails as closed, also what was under way', async () => {
  const server = await startTestServer();
  try {
    const node = await startNode({ roles: ['placement'], nats: { servers: server.url } });
    try {
      const placement = await connectPlacement({ servers: server.url });
      const nothing = [{ consumer: 'mine', allocations: {} }];
      const underWay = failureOf(() => placement.read(['mine']));
      await placement.close();
      const late = [failureOf(() => placement.read(['mine'])), failureOf(() => placement.change(nothing))];
      for (const failing of [underWay, ...late]) {
        const { code, retryable } = (await failing) as CellwrightError;
        assert.equal([code, retryable], ['closed', false]);
      }
      await placement.close();
    } finally {
      await node.stop();
    }
  } finally {
    await server.stop();
  }
});

test('shards over NATS - what a consumer is to hold of a tree that callers move is found wherever the tree has come', async () => {
  const server = await startTestServer();
  const at = { servers: server.url };
  const node = await startNode({ roles: ['placement'], nats: at, placementShards: 2 });
  const api = await startPlacementApi({ host: '127.0.0.1', port: 0, placement: at });
  const placement = await connectPlacement(at);
  const headers = {
    'x-auth-token': 'admin',
    'openstack-api-version': 'placement 1.39',
    'content-type': 'application/json',
  };
  const put = async (method: string, path: string, body: object) => {
    const { status } = await fetch(`${api.url}/resource_providers${path}`, {
      method,
      headers,
      body: JSON.stringify(body),
    });
    assert.ok(status < 300, `${status}`);
  };
  try {
    const moved = 'aaaaaaaa-1111-4111-8111-111111111111';
    const roots = Array.from({ length: 8 }, (_, n) => `0000000${n}-1111-4111-8111-111111111111`);
    for (const uuid of [moved, ...roots]) await put('POST', '', { name: uuid, uuid });
    await put('PUT', `/${moved}/inventories`, {
      resource_provider_generation: 0,
      inventories: { VCPU: { total: 10 } },
    });
    const shards = new Set<number>();
    for (const root of roots) {
      await put('PUT', `/${moved}`, { name: moved, parent_provider_uuid: root });
      shards.add(placementShardOf(root, 2));
      const holding = [{ consumer: 'mine', allocations: { [moved]: { VCPU: 1 } } }];
      const named = { key: `under-${root}` };
      await placement.change(holding, named);
      assert.equal(await placement.read(['mine']), { mine: { [moved]: { VCPU: 1 } } });
      // Asked for again by one who knows nothing of the first time, it is the same change, and was made.
      const other = await connectPlacement(at);
      await other.change(holding, named);
      await other.close();
      await placement.change([{ consumer: 'mine', allocations: {} }]);
    }
    assert.is(shards.size, 2);
  } finally {
    await placement.close();
    await api.close();
    await node.stop();
    await server.stop();
  }
});

test('shards over NATS - a change over several shards is made in all or in none, whoever is killed meanwhile', () =>
  sharded(async ({ server, start, client }) => {
    const others = ['placement:0', 'placement:2', 'conductor', 'cell:c1', ...COMPUTES.slice(0, HOSTS.length)];
    let [mortal] = await Promise.all([start('lease=800', 'placement:1', 'placement:3'), start('lease=800', ...others)]);
    await hostsUp(client, 'c1', HOSTS.length);
    const placement = await connectPlacement({ servers: server.url });
    try {
      assert.is(placement.shards, SHARDS);
      const providers = HOSTS.map((host) => providerId('c1', host, ''));
      const holding = (consumer: string, vcpu: number) => ({
        consumer,
        allocations: Object.fromEntries(providers.map((provider) => [provider, { VCPU: vcpu }])),
      });
      const wanted = [holding('mine', 1), holding('yours', 2)];
      const changing = placement.change(wanted);
      // It is made as it was asked for.
      for (const one of wanted) one.allocations = {};
      await changing;
      const isWhole = (held: Held | undefined, amounts: readonly number[]) => {
        const seen = new Set(providers.map((provider) => held?.[provider]?.VCPU ?? 0));
        return seen.size === 1 && amounts.includes([...seen][0] as number);
      };
      const before = await placement.read(['mine', 'yours']);
      assert.ok(isWhole(before.mine, [1]) && isWhole(before.yours, [2]), JSON.stringify(before));

      // One that does not fit on one host is made on none.
      const tooMuch = { ...holding('mine', 3), allocations: { ...holding('mine', 3).allocations } };
      tooMuch.allocations[providers[3] as string] = { VCPU: 1_000 };
      const refusal = (await failureOf(() => placement.change([tooMuch]))) as CellwrightError;
      assert.is(refusal.code, 'exceeds-capacity');
      const nowhere = { consumer: 'mine', allocations: { nowhere: { VCPU: 1 } } };
      assert.is(((await failureOf(() => placement.change([nowhere]))) as CellwrightError).code, 'no-provider');
      assert.equal(await placement.read(['mine', 'yours']), before);

      // Changes go on while shards are killed and come back; whoever reads sees each whole, and both of a pair.
      let isOver = false;
      let reads = 0;
      const reading = (async () => {
        while (!isOver) {
          const { mine, yours } = await placement.read(['mine', 'yours']);
          const vcpu = mine?.[providers[0] as string]?.VCPU ?? 0;
          assert.ok(isWhole(mine, [1, 2]) && isWhole(yours, [3 - vcpu]), JSON.stringify({ mine, yours }));
          reads += 1;
        }
      })();
      for (let round = 0; round < 4; round += 1) {
        const vcpu = 1 + ((round + 1) % 2);
        const changing = placement.change([holding('mine', vcpu), holding('yours', 3 - vcpu)], {
          key: `round-${round}`,
        });
        if (round % 2 === 0) {
          await mortal.end('SIGKILL');
          mortal = await start('lease=800', 'placement:1', 'placement:3');
        }
        await changing;
        const { mine } = await placement.read(['mine']);
        assert.ok(isWhole(mine, [vcpu]), JSON.stringify(mine));
      }
      isOver = true;
      await reading;
      assert.ok(reads > 0, 'somebody read meanwhile');
      await placement.change([holding('mine', 1), holding('yours', 1)], { key: 'round-0' });
      assert.ok(isWhole((await placement.read(['mine'])).mine, [1]), 'asked for again, it is not made again');
      await placement.change([
        { consumer: 'mine', allocations: {} },
        { consumer: 'yours', allocations: {} },
      ]);
      assert.equal(await placement.read(['mine', 'yours']), { mine: {}, yours: {} });
    } finally {
      await placement.close();
    }
  }));

test.run();
