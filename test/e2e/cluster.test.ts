// Area: cluster. Journals with three replicas on three servers: the loss of any one of them, the leader of a journal
// included, costs no accepted request.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectNats } from '../../runtime/bus/nats.ts';
import { type NatsServer, startNatsServer } from '../../runtime/nats-server/server.ts';
import { startNode } from '../../runtime/node.ts';
import { freePort } from '../support/ports.ts';
import { hostsUp, quickDriver, eventually as within } from './system.ts';

const test = suite('cluster');

const NAMES = ['s1', 's2', 's3'] as const;
const PLACEMENT_JOURNAL = 'cw-placement-0-journal';
const JOURNALS = [PLACEMENT_JOURNAL, 'cw-conductor-0-journal', 'cw-cell-c1-journal'];
/** The stream of the bucket of leases. */
const LEASES = 'KV_cw_leases';
/** A server needs several rounds to elect who leads its streams, of up to 9 s each, and more on a busy machine. */
const ELECTED_WITHIN_MS = 120_000;
const ROLES = ['placement', 'scheduler', 'conductor', 'cell:c1', 'compute:c1/h1', 'compute:c1/h2'];

const eventually = (what: string, holds: () => Promise<boolean>) => within(what, holds, ELECTED_WITHIN_MS);

interface Cluster {
  readonly urls: readonly string[];
  kill(name: string): Promise<void>;
  start(name: string): Promise<void>;
  /** Whether a server has caught up with all streams of which it keeps copies, as it says itself. */
  isHealthy(name: string): Promise<boolean>;
}

async function withCluster(run: (cluster: Cluster) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'cellwright-cluster-'));
  const ports = new Map<string, { client: number; route: number; monitor: number }>();
  for (const name of NAMES) {
    ports.set(name, { client: await freePort(), route: await freePort(), monitor: await freePort() });
  }
  const portsOf = (name: string) => ports.get(name) ?? { client: -1, route: -1, monitor: -1 };
  const routes = [...ports.values()].map(({ route }) => `nats://127.0.0.1:${route}`).join(', ');
  const servers = new Map<string, NatsServer>();

  async function start(name: string): Promise<void> {
    const { client, route, monitor } = portsOf(name);
    const config = `server_name: ${name}
      http: "127.0.0.1:${monitor}"
      cluster { name: test, listen: "127.0.0.1:${route}", routes: [${routes}] }`;
    servers.set(name, await startNatsServer({ port: client, dataDir: join(dataDir, name), config }));
  }

  const isHealthy = (name: string) =>
    fetch(`http://127.0.0.1:${portsOf(name).monitor}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );

  async function kill(name: string): Promise<void> {
    const server = servers.get(name) as NatsServer;
    process.kill(server.pid, 'SIGKILL');
    await server.stop();
  }

  try {
    await Promise.all(NAMES.map(start));
    await run({ urls: [...servers.values()].map(({ url }) => url), start, kill, isHealthy });
  } finally {
    await Promise.all([...servers.values()].map((server) => server.stop()));
    await rm(dataDir, { recursive: true, force: true });
  }
}

test('cluster - the server that leads a journal may be killed, one after the other, and every accepted request ends', () =>
  withCluster(async ({ urls, start, kill, isHealthy }) => {
    const bus = await connectNats({ servers: urls, name: 'test' });
    await eventually('the cluster has JetStream', () =>
      bus.connection.jetstreamManager().then(
        () => true,
        () => false,
      ),
    );
    const streams = (await bus.connection.jetstreamManager()).streams;
    const node = await startNode({
      roles: ROLES,
      nats: { servers: urls },
      replicas: 3,
      driver: ({ cell, host }) => quickDriver(cell, host),
    });
    const { client } = node;
    try {
      await hostsUp(client, 'c1', 2);
      assert.is((await streams.info(PLACEMENT_JOURNAL)).config.num_replicas, 3);
      const leaders: string[] = [];
      for (let round = 0; round < 2; round += 1) {
        const { cluster } = await streams.info(PLACEMENT_JOURNAL);
        const leader = cluster?.leader ?? '';
        leaders.push(leader);
        const ids = [0, 1, 2, 3].map((n) => `r${round}n${n}x`);
        await client.build({ id: ids[0] as string, alternates: 1, resources: { VCPU: 1 } });
        await kill(leader);
        for (const id of ids) {
          await eventually(`'${id}' is accepted`, () =>
            client.build({ id, alternates: 1, resources: { VCPU: 1 } }).then(
              () => true,
              () => false,
            ),
          );
        }
        for (const id of ids) {
          await eventually(`'${id}' is active`, () =>
            client.show(id).then(
              ({ state }) => state === 'active',
              () => false,
            ),
          ).catch(async (error: Error) => {
            const led = await Promise.all(
              JOURNALS.map((name) => streams.info(name).then((info) => info.cluster?.leader, String)),
            );
            throw new Error(`${error.message}; the journals are led by ${led.join(', ')}`);
          });
        }
        await start(leader);
        // Where it still lacks a copy, nobody may be elected who leads it once another server is killed.
        await eventually('its copies are up to date again', async () => {
          const infos = await Promise.all([...JOURNALS, LEASES].map((name) => streams.info(name).catch(() => null)));
          const isCopied = infos.every((info) =>
            info?.cluster?.replicas?.every(({ current, offline, lag }) => current && offline !== true && !lag),
          );
          return isCopied && (await isHealthy(leader));
        });
      }
      assert.ok(leaders.every((leader) => leader !== ''));
    } finally {
      await node.stop();
      await bus.close();
    }
  }));

test.run();
