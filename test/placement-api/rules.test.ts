// Area: Placement API. The rules in which ours is better than the reference: each of these fails on the reference.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Api, type Body, errorIn, holding, id, makeProvider, placementApi } from './support.ts';

const test = suite<{ api: Api }>('Placement API - rules');
const HOST = id('a', 1);
const OTHER = id('a', 2);

test.before.each(async (context) => {
  context.api = await placementApi();
});
test.after.each(async ({ api }) => api.close());

async function usedOf(api: Api, provider: string): Promise<Record<string, number>> {
  const { body } = await api.ask(`GET /resource_providers/${provider}/usages`);
  return body.usages as never;
}

test('nothing is over-committed, and nothing that fits is refused, whatever the contention', async ({ api }) => {
  await makeProvider(api, HOST, { VCPU: 20 });
  const claims = Array.from({ length: 60 }, (_, n) =>
    api.ask(`PUT /allocations/${id('c', n)}`, holding({ [HOST]: { VCPU: 1 } })),
  );
  const statuses = (await Promise.all(claims)).map(({ status }) => status);
  assert.is(statuses.filter((status) => status === 204).length, 20);
  assert.is(statuses.filter((status) => status === 409).length, 40);
  assert.equal(await usedOf(api, HOST), { VCPU: 20 });
});

test('of many who claim for a new consumer at once one wins', async ({ api }) => {
  await makeProvider(api, HOST, { VCPU: 100 });
  for (let round = 0; round < 20; round += 1) {
    const consumer = id('d', round);
    const claims = Array.from({ length: 6 }, (_, n) =>
      api.ask(`PUT /allocations/${consumer}`, holding({ [HOST]: { VCPU: n + 1 } })),
    );
    const answers = await Promise.all(claims);
    assert.is(answers.filter(({ status }) => status === 204).length, 1, `round ${round}`);
    for (const { status, body } of answers) {
      if (status !== 204) assert.match(JSON.stringify(body), 'consumer generation conflict - expected 1 but got None');
    }
    await api.ask(`DELETE /allocations/${consumer}`);
  }
});

test('what is listed is what is used, after any mix of claims that fit and do not', async ({ api }) => {
  await makeProvider(api, HOST, { VCPU: 10 });
  const consumers = Array.from({ length: 8 }, (_, n) => id('c', n));
  for (let round = 0; round < 10; round += 1) {
    const claims = consumers.map((consumer, n) =>
      api.ask(`PUT /allocations/${consumer}`, {
        ...holding({ [HOST]: { VCPU: ((n + round) % 7) + 1 } }),
        consumer_generation: round === 0 ? null : n,
      }),
    );
    await Promise.all(claims);
    let listed = 0;
    for (const consumer of consumers) {
      const { body } = await api.ask(`GET /allocations/${consumer}`);
      listed += (body.allocations as Body)[HOST]?.resources?.VCPU === undefined ? 0 : vcpusOf(body);
    }
    assert.is((await usedOf(api, HOST)).VCPU, listed);
  }
});

function vcpusOf(body: Body): number {
  return Number((body.allocations as Body)[HOST]?.resources?.VCPU);
}

test('a refused request leaves no consumer behind, and neither does giving nothing', async ({ api }) => {
  const consumer = id('c', 1);
  const nowhere = await api.ask(`PUT /allocations/${consumer}`, holding({ [HOST]: { VCPU: 1 } }));
  assert.is(nowhere.status, 400);
  assert.is((await api.ask(`PUT /allocations/${consumer}`, holding({}))).status, 204);
  await makeProvider(api, HOST, { VCPU: 10 });
  assert.is((await api.ask(`PUT /allocations/${consumer}`, holding({ [HOST]: { VCPU: 1 } }))).status, 204);
});

test('a caller who sends no generation meets no conflict', async ({ api }) => {
  await makeProvider(api, HOST, { VCPU: 1_000, MEMORY_MB: 1_000 });
  const old = { 'openstack-api-version': 'placement 1.12' };
  const { consumer_generation: _, consumer_type: __, ...body } = holding({ [HOST]: { VCPU: 2 } });
  const consumer = id('c', 1);
  const changes = Array.from({ length: 20 }, (_unused, n) => [
    api.ask(`PUT /allocations/${id('d', n)}`, body, old),
    api.ask(`PUT /allocations/${consumer}`, body, old),
    api.ask(
      `POST /resource_providers/${HOST}/inventories`,
      { resource_class: n === 0 ? 'DISK_GB' : 'VCPU', total: 9 },
      old,
    ),
  ]);
  const answers = await Promise.all(changes.map(([fresh, again]) => Promise.all([fresh, again])));
  for (const [fresh, again] of answers) {
    assert.is(fresh?.status, 204);
    assert.is(again?.status, 204);
  }
  assert.is((await usedOf(api, HOST)).VCPU, 42);
});

test('a refused claim says who refused it, of what, and by how much', async ({ api }) => {
  await makeProvider(api, HOST, { VCPU: 4, MEMORY_MB: { total: 1_024, step_size: 256 } });
  const refusalOf = async (resources: Record<string, number>, generation: number | null = null) => {
    const said = await api.ask(`PUT /allocations/${id('c', 1)}`, holding({ [HOST]: resources }, generation));
    assert.is(said.status, 409);
    const { detail, refusal = {} } = errorIn(said);
    return { detail, refusal };
  };
  const large = await refusalOf({ VCPU: 7 });
  assert.match(large.detail, 'The requested amount would exceed the capacity.');
  const { message: _, ...refusal } = large.refusal;
  assert.equal(refusal, {
    code: 'exceeds-capacity',
    resource_provider: HOST,
    resource_class: 'VCPU',
    requested: 7,
    short: 3,
  });
  const odd = await refusalOf({ MEMORY_MB: 100 });
  assert.match(odd.detail, 'The requested amount would violate inventory constraints.');
  assert.is(odd.refusal.code, 'unit-constraint');
  assert.is((await refusalOf({ DISK_GB: 1 })).refusal.code, 'no-inventory');
  const stale = await refusalOf({ VCPU: 1 }, 5);
  assert.equal([stale.refusal.code, stale.refusal.expected, stale.refusal.given], ['consumer-generation', null, 5]);
});

test('a provider over its capacity can be drained and shrunk', async ({ api }) => {
  await makeProvider(api, HOST, { VCPU: 10 });
  await makeProvider(api, OTHER, { VCPU: 10 });
  const [moving, migration] = [id('c', 1), id('c', 2)];
  await api.ask(`PUT /allocations/${moving}`, holding({ [HOST]: { VCPU: 8 } }));
  const shrink = { resource_provider_generation: 2, total: 4, max_unit: 2 };
  assert.is((await api.ask(`PUT /resource_providers/${HOST}/inventories/VCPU`, shrink)).status, 200);
  // A move: the old home to the migration, the new one to the instance, at once.
  const move = {
    [moving]: holding({ [OTHER]: { VCPU: 8 } }, 1),
    [migration]: holding({ [HOST]: { VCPU: 8 } }),
  };
  assert.is((await api.ask('POST /allocations', move)).status, 204);
  assert.equal([await usedOf(api, HOST), await usedOf(api, OTHER)], [{ VCPU: 8 }, { VCPU: 8 }]);
  const more = await api.ask(`PUT /allocations/${migration}`, holding({ [HOST]: { VCPU: 9 } }, 1));
  assert.is(more.status, 409);
  assert.is((await api.ask(`DELETE /allocations/${migration}`)).status, 204);
  assert.equal(await usedOf(api, HOST), { VCPU: 0 });
});

test('several consumers change together or not at all', async ({ api }) => {
  await makeProvider(api, HOST, { VCPU: 10 });
  const [one, two] = [id('c', 1), id('c', 2)];
  const both = { [one]: holding({ [HOST]: { VCPU: 6 } }), [two]: holding({ [HOST]: { VCPU: 6 } }) };
  assert.is((await api.ask('POST /allocations', both)).status, 409);
  assert.equal(await usedOf(api, HOST), { VCPU: 0 });
  assert.equal((await api.ask(`GET /allocations/${one}`)).body, { allocations: {} });
});

test('a query with names that every object has, and one of very many combinations, do no harm', async ({ api }) => {
  await makeProvider(api, HOST, {}, null);
  for (let n = 0; n < 8; n += 1) await makeProvider(api, id('b', n), { VGPU: 1 }, HOST);
  const odd = await api.ask('GET /allocation_candidates?resourcesconstructor=VGPU:1');
  assert.is(odd.status, 200);
  assert.is((odd.body.allocation_requests as never as unknown[]).length, 8);
  const groups = Array.from({ length: 8 }, (_, n) => `resources${n + 1}=VGPU:1`).join('&');
  const { body } = await api.ask(`GET /allocation_candidates?${groups}&group_policy=isolate&limit=1000`);
  const requests = body.allocation_requests as never as unknown[];
  assert.is(new Set(requests.map((request) => JSON.stringify(request))).size, 1_000);
});

test.run();
