// Area: Placement API, several shards. Over a real NATS server: several fronts ask shards that different nodes play; what
// is one in the deployment is one; a shard that is away is an error, and what it had no part in goes on.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { placementShardOf } from '../../../actors/routing.ts';
import { connectNats } from '../../../runtime/bus/nats.ts';
import { encode } from '../../../runtime/codec.ts';
import { type Node, startNode } from '../../../runtime/node.ts';
import { subjectsOf } from '../../../runtime/subjects.ts';
import { startTestServer, type TestServer } from '../../support/nats-server.ts';
import { type Api, errorIn, holding, id, makeProvider, placementApi, type Said } from '../support.ts';

const SHARDS = 4;
/** The shard that goes away and comes back. */
const AWAY = 2;
const test = suite('Placement API, several shards - over NATS');
const context: { server?: TestServer; nodes: Node[]; fronts: Api[] } = { nodes: [], fronts: [] };

const play = (...shards: number[]) =>
  startNode({
    roles: shards.map((shard) => `placement:${shard}`),
    nats: { servers: context.server?.url ?? '' },
    placementShards: SHARDS,
  });
const front = (timeoutMs: number) =>
  placementApi({ placement: { servers: [context.server?.url ?? ''] }, placementShards: SHARDS, timeoutMs });

/** The first provider of a kind that is with each shard. */
function hostsOf(kind: string): string[] {
  return Array.from({ length: SHARDS }, (_, shard) => {
    for (let n = 0; ; n += 1) if (placementShardOf(id(kind, n), SHARDS) === shard) return id(kind, n);
  });
}
const HOSTS = hostsOf('a');
const hostOf = (shard: number) => HOSTS[shard] as string;

test.before(async () => {
  context.server = await startTestServer();
  context.nodes = await Promise.all([play(0, 1, 3), play(AWAY)]);
  context.fronts = await Promise.all([front(8_000), front(8_000)]);
  const [api] = context.fronts as [Api];
  for (const host of HOSTS) await makeProvider(api, host, { VCPU: 4 });
});

test.after(async () => {
  await Promise.all(context.fronts.map((api) => api.close()));
  await Promise.all(context.nodes.map((node) => node.stop()));
  await context.server?.stop();
});

/** Asks each in turn through another front, all at once. */
function atOnce(requests: readonly (readonly [string, unknown?])[]): Promise<Said[]> {
  const { fronts } = context;
  return Promise.all(requests.map(([line, body], n) => (fronts[n % fronts.length] as Api).ask(line, body)));
}

async function generationOf(uuid: string): Promise<number> {
  const [api] = context.fronts as [Api];
  return Number((await api.ask(`GET /resource_providers/${uuid}`)).body.generation);
}

const statuses = (said: readonly Said[]) => said.map(({ status }) => status).sort((one, other) => one - other);

test('of many who ask for one name at once, one gets it', async () => {
  const ids = hostsOf('b');
  const [api] = context.fronts as [Api];
  const providers = await atOnce(ids.map((uuid) => ['POST /resource_providers', { uuid, name: 'twin' }]));
  assert.equal(statuses(providers), [200, 409, 409, 409]);
  const uuid = id('b', 999);
  const places = HOSTS.map((parent, n) => ({ uuid, name: `place ${n}`, parent_provider_uuid: parent }));
  assert.equal(statuses(await atOnce(places.map((body) => ['POST /resource_providers', body]))), [200, 409, 409, 409]);
  const classes = await atOnce([1, 2, 3, 4].map(() => ['POST /resource_classes', { name: 'CUSTOM_TWIN' }]));
  assert.equal(statuses(classes), [201, 409, 409, 409]);
  const traits = await atOnce([1, 2, 3, 4].map(() => ['PUT /traits/CUSTOM_TWIN']));
  assert.equal(statuses(traits), [201, 204, 204, 204]);
  const listed = (await api.ask('GET /resource_providers?name=twin')).body.resource_providers as never as unknown[];
  assert.is(listed.length, 1);
  assert.is((await api.ask(`DELETE /resource_providers/${uuid}`)).status, 204);
});

test('of many who make one consumer at once, one does, wherever they want it', async () => {
  const consumer = id('c', 1);
  const said = await atOnce(HOSTS.map((host) => [`PUT /allocations/${consumer}`, holding({ [host]: { VCPU: 1 } })]));
  assert.equal(statuses(said), [204, 409, 409, 409]);
  for (const { status, ...other } of said) {
    if (status === 409) assert.is(errorIn({ status, ...other }).code, 'placement.concurrent_update');
  }
  const [api] = context.fronts as [Api];
  const { body } = await api.ask(`GET /allocations/${consumer}`);
  assert.is(Object.keys(body.allocations ?? {}).length, 1);
  const usages = await Promise.all(HOSTS.map((host) => api.ask(`GET /resource_providers/${host}/usages`)));
  assert.is(
    usages.reduce((sum, { body: { usages: of } }) => sum + Number(of?.VCPU), 0),
    1,
  );
  assert.is((await api.ask(`DELETE /allocations/${consumer}`)).status, 204);
});

test('who sends no generation is in conflict with nobody, and all of one change holds', async () => {
  const consumer = id('c', 2);
  const changes = [0, 1, 2, 3, 0, 1, 2, 3].map((n) => {
    const given = { [hostOf(n)]: { VCPU: 1 }, [hostOf((n + 1) % SHARDS)]: { VCPU: 1 } };
    const { consumer_generation: _, consumer_type: __, ...body } = holding(given);
    return [`PUT /allocations/${consumer}`, body] as const;
  });
  const { fronts } = context;
  const old = { 'openstack-api-version': 'placement 1.12' };
  const said = await Promise.all(changes.map(([line, body], n) => (fronts[n % 2] as Api).ask(line, body, old)));
  assert.equal(
    statuses(said),
    changes.map(() => 204),
  );
  const [api] = fronts as [Api];
  const { body } = await api.ask(`GET /allocations/${consumer}`);
  assert.is(Object.keys(body.allocations ?? {}).length, 2);
  assert.is(Number(body.consumer_generation), changes.length);
  const { body: used } = await api.ask('GET /usages?project_id=project');
  assert.equal(used.usages, { unknown: { VCPU: 2, consumer_count: 1 } });
  assert.is((await api.ask(`DELETE /allocations/${consumer}`)).status, 204);
});

test('without one of the shards nothing is half said or half done, and what is not of it goes on', async () => {
  const [api] = context.fronts as [Api];
  const impatient = await front(1_500);
  const mine = hostOf(1);
  const inventory = { resource_provider_generation: await generationOf(mine), total: 5 };
  await (context.nodes[1] as Node).stop();
  try {
    const questions = [
      'GET /resource_providers',
      'GET /traits',
      'GET /resource_classes',
      'GET /usages?project_id=project',
      'GET /allocation_candidates?resources=VCPU:1',
      `GET /allocations/${id('c', 3)}`,
      `GET /resource_providers/${hostOf(AWAY)}`,
    ];
    for (const said of await Promise.all(questions.map((question) => impatient.ask(question)))) {
      assert.is(said.status, 503);
      assert.match(errorIn(said).detail, `'placement/${AWAY}' did not answer`);
    }
    assert.is((await impatient.ask(`GET /resource_providers/${mine}`)).status, 200);
    assert.is((await impatient.ask(`PUT /resource_providers/${mine}/inventories/VCPU`, inventory)).status, 200);
    const put = [
      ['PUT /traits/CUSTOM_LATE'],
      ['POST /resource_providers', { uuid: id('b', 500), name: 'late' }],
      ['PUT /resource_classes/CUSTOM_LATE'],
    ] as const;
    const refused = await Promise.all(put.map(([line, body]) => impatient.ask(line, body)));
    assert.equal(statuses(refused), [503, 503, 503]);
    context.nodes[1] = await play(AWAY);
    for (const [line, body] of put) {
      const { status } = await api.ask(line, body);
      assert.ok([200, 201].includes(status), `${line}: ${status}, as nothing of it was done`);
    }
    const listed = (await api.ask('GET /resource_providers?name=late')).body.resource_providers as never as unknown[];
    assert.is(listed.length, 1);
  } finally {
    await impatient.close();
  }
});

test('a pool that hosts of other shards share is found for them, and claimed with them', async () => {
  const [api] = context.fronts as [Api];
  const pool = hostsOf('d')[3] as string;
  const aggregate = id('e', 1);
  await makeProvider(api, pool, { DISK_GB: 100 });
  for (const uuid of [pool, hostOf(0), hostOf(1)]) {
    const body = { aggregates: [aggregate], resource_provider_generation: await generationOf(uuid) };
    assert.is((await api.ask(`PUT /resource_providers/${uuid}/aggregates`, body)).status, 200);
  }
  const traits = { traits: ['MISC_SHARES_VIA_AGGREGATE'], resource_provider_generation: await generationOf(pool) };
  assert.is((await api.ask(`PUT /resource_providers/${pool}/traits`, traits)).status, 200);
  const { body } = await api.ask('GET /allocation_candidates?resources=VCPU:1,DISK_GB:10');
  const found = body.allocation_requests as never as {
    allocations: Record<string, { resources: Record<string, number> }>;
  }[];
  const both = (host: string) => [host, pool].sort();
  assert.equal(
    found.map(({ allocations }) => Object.keys(allocations).sort()).sort(),
    [both(hostOf(0)), both(hostOf(1))].sort(),
  );
  assert.equal(Object.keys(body.provider_summaries ?? {}).sort(), [pool, hostOf(0), hostOf(1)].sort());
  const [first] = found as [(typeof found)[0]];
  const resources = Object.fromEntries(Object.entries(first.allocations).map(([uuid, one]) => [uuid, one.resources]));
  const claims = await atOnce(
    Array.from({ length: 6 }, (_, n) => [`PUT /allocations/${id('f', n)}`, holding(resources)]),
  );
  const granted = claims.filter(({ status }) => status === 204).length;
  assert.is(granted, first.allocations[hostOf(1)] === undefined ? 4 : 5, 'as many as the host has VCPU for');
  const { body: used } = await api.ask(`GET /resource_providers/${pool}/usages`);
  assert.equal(used.usages, { DISK_GB: 10 * granted });
  const { body: listed } = await api.ask(`GET /resource_providers/${pool}/allocations`);
  assert.is(Object.keys(listed.allocations ?? {}).length, granted);
});

test('what keeps a provider with its shard is what whoever would move it is told', async () => {
  const [api] = context.fronts as [Api];
  const [told = ''] = hostsOf('d');
  const bus = await connectNats({ servers: context.server?.url ?? '', name: 'compute' });
  const tree = [{ id: told, name: told, parent: null, inventories: {}, traits: [], aggregates: [] }];
  const messages = [{ type: 'put-tree', ask: 1, providers: tree }];
  bus.publish(subjectsOf().of('placement/0'), encode([{ from: 'cell/c/compute/h', messages }]));
  const isThere = async () => (await api.ask(`GET /resource_providers/${told}`)).status === 200;
  for (let asks = 0; !(await isThere()); asks += 1) assert.ok(asks < 1_000, 'it is put in');
  await bus.close();
  const said = await api.ask(`PUT /resource_providers/${told}`, { name: told, parent_provider_uuid: hostOf(1) });
  assert.match(
    errorIn(said).detail,
    `provider '${told}' is the host of a compute, which keeps it with its placement shard`,
  );
});

test.run();
