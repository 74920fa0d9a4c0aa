// Area: network. What one process has of the network is cut, without anybody being told: another takes over what it
// owned, its hosts are lost to their cell, and when the network is back it finds its place without doing harm.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import { connectNats } from '../../runtime/bus/nats.ts';
import type { Connection } from '../../runtime/connect.ts';
import { startProxy, type TcpProxy } from '../support/proxy.ts';
import { type Deployment, withDeployment } from './deployment.ts';
import { hostsUp, eventually as within } from './system.ts';

const test = suite('network');

const NODE = {
  leaseTtlMs: 1_000,
  cell: { silentMs: 2_000 },
  compute: { heartbeatMs: 300 },
  buildMs: { min: 1, max: 5 },
};
const ANSWER_MS = 1_500;
/**
 * So that the server soon notices who is cut off, and deals nothing to him any more: also one of version 2.9, which pings
 * only those to whom it has sent nothing for as long.
 */
const PINGS = 'ping_interval: "100ms"\nping_max: 20';
/**
 * What was dealt to one who was cut off is asked again at a slowing pace, and may be dealt to him again, each time with a
 * chance of a half: who is cut off by one connection only hears by the other. Of six times, as many as there are in 45
 * seconds, that took all in one run of a dozen.
 */
const WITHIN_MS = 100_000;
const eventually = (what: string, holds: () => Promise<boolean>) => within(what, holds, WITHIN_MS);
const OWNERS = ['placement', 'conductor', 'scheduler', 'cell:c1'];

const request = (id: string, vcpu = 1) => ({ id, alternates: 1, resources: { VCPU: vcpu } });

async function accepted(client: Connection, id: string): Promise<void> {
  await eventually(`'${id}' is accepted`, () =>
    client.build(request(id)).then(
      () => true,
      () => false,
    ),
  );
}

async function active(client: Connection, id: string): Promise<void> {
  let seen: unknown;
  await eventually(`'${id}' is active`, async () => {
    seen = await client.show(id).catch((error: Error) => error);
    return (seen as Partial<InstanceView>).state === 'active';
  }).catch((error: Error) => {
    throw new Error(`${error.message}; seen last: ${JSON.stringify(seen)}`);
  });
}

async function ownerOf(servers: string, key: string): Promise<unknown> {
  const bus = await connectNats({ servers, name: 'looking' });
  try {
    const bucket = await bus.connection.jetstream().views.kv('cw_leases');
    return (await bucket.get(key))?.json<{ owner: unknown }>().owner;
  } finally {
    await bus.close();
  }
}

/** Runs with a deployment, and a wire between its server and some of its processes. */
const behindProxy = (run: (deployment: Deployment, proxy: TcpProxy) => Promise<void>): Promise<void> =>
  withDeployment(
    async (deployment) => {
      const proxy = await startProxy(deployment.server.port);
      try {
        await run(deployment, proxy);
      } finally {
        await proxy.close();
      }
    },
    NODE,
    ANSWER_MS,
    PINGS,
  );

/** Of its two connections an owner hears, renews its lease and writes its journal by the first. */
const CUTS: readonly [string, RegExp | undefined][] = [
  ['cut off', undefined],
  ['cut off by the connection on which they hear', /^cut-off$/],
];

for (const [how, names] of CUTS) {
  test(`network - owners that are ${how} are replaced by those who stand by, and come back without doing harm`, () =>
    behindProxy(async ({ client, start, startAt }, proxy) => {
      await startAt(proxy.url, 'name=cut-off', ...OWNERS);
      await start('name=standing-by', ...OWNERS);
      await start('compute:c1/h1', 'compute:c1/h2');
      await hostsUp(client, 'c1', 2);
      const ids = (when: string) => [0, 1, 2].map((n) => `${when}-${n}`);
      for (const id of ids('before')) await accepted(client, id);
      proxy.cut(names);
      for (const id of ids('cut')) await accepted(client, id);
      for (const id of [...ids('before'), ...ids('cut')]) await active(client, id);
      proxy.mend();
      for (const id of ids('after')) await accepted(client, id);
      for (const id of ids('after')) await active(client, id);
      // What a cell has said of the end of a build may be on its way to the conductor yet, by which they are listed.
      await eventually('all nine are listed as active', async () => {
        const { instances } = await client.list({ limit: 100 });
        return instances.length === 9 && instances.every(({ state }) => state === 'active');
      });
    }));
}

test('network - owners that are cut off by their second connection only go on owning and building', () =>
  behindProxy(async ({ client, start, startAt, server }, proxy) => {
    await startAt(proxy.url, 'name=cut-off', ...OWNERS, 'compute:c1/h1');
    await hostsUp(client, 'c1', 1);
    await start('name=standing-by', ...OWNERS);
    await accepted(client, 'before');
    proxy.cut(/\(echo\)$/);
    await accepted(client, 'cut');
    await active(client, 'cut');
    assert.is(await ownerOf(server.url, 'cell.c1'), 'cut-off');
    proxy.mend();
    await accepted(client, 'after');
    await active(client, 'after');
  }));

test('network - a host that is cut off loses what was being built on it, and clears it away when it is back', () =>
  behindProxy(async ({ client, start, startAt }, proxy) => {
    await start(...OWNERS);
    await startAt(proxy.url, 'compute:c1/h1');
    await hostsUp(client, 'c1', 1);
    await client.build({ ...request('web', 8), alternates: 0 });
    await active(client, 'web');
    proxy.cut();
    await eventually('the host is down', async () => {
      const { hosts } = await client.hosts({ cell: 'c1' }).catch(() => ({ hosts: [] }));
      return hosts[0]?.state === 'down';
    });
    await client.delete('web');
    // What may still run there keeps its room, and so the next one has none.
    await client.build({ ...request('next', 8), alternates: 0 });
    await eventually('there is no room', async () => (await client.show('next')).state === 'failed');
    proxy.mend();
    await eventually('the first one is gone', async () => (await client.show('web')).state === 'deleted');
    await hostsUp(client, 'c1', 1);
    await client.build({ ...request('last', 8), alternates: 0 });
    await active(client, 'last');
  }));

test.run();
