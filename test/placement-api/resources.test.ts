// Area: Placement API. Each resource of the API and how it looks at the versions that change it.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Api, type Body, errorIn, holding, id, makeProvider, placementApi } from './support.ts';

const test = suite<{ api: Api }>('Placement API - resources');
const HOST = id('a', 1);
const CHILD = id('a', 2);
const AGGREGATE = id('e', 1);
const at = (minor: number) => ({ 'openstack-api-version': `placement 1.${minor}` });

test.before.each(async (context) => {
  context.api = await placementApi();
});
test.after.each(async ({ api }) => api.close());

test('a provider is made, shown, found, named anew, moved and deleted', async ({ api }) => {
  const early = await api.ask('POST /resource_providers', { uuid: HOST, name: 'host' }, at(19));
  assert.is(early.status, 201);
  assert.is(early.headers.get('location'), `${api.url}/resource_providers/${HOST}`);
  const late = await api.ask('POST /resource_providers', { uuid: CHILD, name: 'gpu', parent_provider_uuid: HOST });
  assert.is(late.status, 200);
  assert.equal([late.body.root_provider_uuid, late.body.generation], [HOST, 0] as never);
  const plain = await api.ask(`GET /resource_providers/${CHILD}`, undefined, at(0));
  assert.equal(Object.keys(plain.body), ['uuid', 'name', 'generation', 'links']);
  assert.is((plain.body.links as never as unknown[]).length, 3);

  const twice = await api.ask('POST /resource_providers', { name: 'gpu' });
  assert.equal([twice.status, errorIn(twice).code], [409, 'placement.duplicate_name']);
  const parent = await api.ask(`DELETE /resource_providers/${HOST}`);
  assert.equal([parent.status, errorIn(parent).code], [409, 'placement.resource_provider.cannot_delete_parent']);
  const stuck = await api.ask(`PUT /resource_providers/${CHILD}`, { name: 'gpu', parent_provider_uuid: null }, at(36));
  assert.match(errorIn(stuck).detail, 'un-parenting a provider is not currently allowed.');
  const moved = await api.ask(`PUT /resource_providers/${CHILD}`, { name: 'card', parent_provider_uuid: null });
  assert.equal([moved.body.name, moved.body.root_provider_uuid], ['card', CHILD] as never);
  const found = await api.ask('GET /resource_providers?name=card');
  assert.is((found.body.resource_providers as never as Body[])[0]?.uuid as never, CHILD);
  assert.is((await api.ask(`DELETE /resource_providers/${HOST}`)).status, 204);
  assert.is((await api.ask(`GET /resource_providers/${HOST}`)).status, 404);
});

test('inventories are replaced, added, changed and removed, by generation', async ({ api }) => {
  await makeProvider(api, HOST);
  const path = `/resource_providers/${HOST}/inventories`;
  const put = await api.ask(`PUT ${path}`, { resource_provider_generation: 0, inventories: { VCPU: { total: 4 } } });
  const full = { total: 4, reserved: 0, min_unit: 1, max_unit: 2_147_483_647, step_size: 1, allocation_ratio: 1 };
  assert.equal(put.body, { resource_provider_generation: 1, inventories: { VCPU: full } } as never);
  const stale = await api.ask(`PUT ${path}`, { resource_provider_generation: 0, inventories: {} });
  assert.equal([stale.status, errorIn(stale).code], [409, 'placement.concurrent_update']);
  const added = await api.ask(`POST ${path}`, { resource_class: 'DISK_GB', total: 10 });
  assert.equal([added.status, added.body.resource_provider_generation], [201, 2] as never);
  assert.is(added.headers.get('location'), `${api.url}${path}/DISK_GB`);
  const unknown = await api.ask(`POST ${path}`, { resource_class: 'CUSTOM_NONE', total: 10 });
  assert.match(errorIn(unknown).detail, 'No such resource class CUSTOM_NONE.');
  const all = { resource_provider_generation: 2, total: 4, reserved: 4 };
  assert.is((await api.ask(`PUT ${path}/VCPU`, all, at(25))).status, 400);
  assert.is((await api.ask(`PUT ${path}/VCPU`, all, at(26))).status, 200);
  await api.ask(`PUT /allocations/${id('c', 1)}`, holding({ [HOST]: { DISK_GB: 1 } }));
  assert.is((await api.ask(`DELETE ${path}/DISK_GB`)).status, 409);
  const inUse = await api.ask(`DELETE ${path}`);
  assert.equal([inUse.status, errorIn(inUse).code], [409, 'placement.inventory.inuse']);
  assert.is((await api.ask(`DELETE ${path}/VCPU`)).status, 204);
  assert.is((await api.ask(`GET ${path}/VCPU`)).status, 404);
});

test('traits, classes and aggregates', async ({ api }) => {
  await makeProvider(api, HOST);
  const made = await api.ask('PUT /traits/CUSTOM_RED');
  assert.is(made.status, 201);
  assert.is((await api.ask('PUT /traits/CUSTOM_RED')).status, 204);
  assert.is((await api.ask('PUT /traits/RED')).status, 400);
  const traits = { resource_provider_generation: 0, traits: ['CUSTOM_RED', 'HW_CPU_X86_AVX'] };
  const put = await api.ask(`PUT /resource_providers/${HOST}/traits`, traits);
  assert.is(put.body.resource_provider_generation as never, 1);
  const associated = await api.ask('GET /traits?associated=true&name=startswith:CUSTOM');
  assert.equal(associated.body, { traits: ['CUSTOM_RED'] } as never);
  assert.is((await api.ask('DELETE /traits/CUSTOM_RED')).status, 409);
  assert.is((await api.ask('DELETE /traits/HW_CPU_X86_AVX')).status, 400);

  assert.is((await api.ask('POST /resource_classes', { name: 'CUSTOM_GOLD' })).status, 201);
  assert.is((await api.ask('PUT /resource_classes/CUSTOM_GOLD')).status, 204);
  const renamed = await api.ask('PUT /resource_classes/CUSTOM_GOLD', { name: 'CUSTOM_TIN' }, at(6));
  assert.equal([renamed.status, renamed.body.name], [200, 'CUSTOM_TIN'] as never);
  assert.is((await api.ask('GET /resource_classes/CUSTOM_GOLD')).status, 404);
  assert.is((await api.ask('DELETE /resource_classes/VCPU')).status, 400);
  assert.is((await api.ask('DELETE /resource_classes/CUSTOM_TIN')).status, 204);

  const path = `/resource_providers/${HOST}/aggregates`;
  const uncounted = await api.ask(`PUT ${path}`, [AGGREGATE], at(18));
  assert.equal(uncounted.body, { aggregates: [AGGREGATE] } as never);
  const counted = await api.ask(`PUT ${path}`, { aggregates: [], resource_provider_generation: 1 });
  assert.equal(counted.body, { aggregates: [], resource_provider_generation: 2 } as never);
});

test('allocations by consumer and provider, and usages by project and type', async ({ api }) => {
  await makeProvider(api, HOST, { VCPU: 10 });
  const [first, second] = [id('c', 1), id('c', 2)];
  const listed = { allocations: [{ resource_provider: { uuid: HOST }, resources: { VCPU: 2 } }] };
  assert.is((await api.ask(`PUT /allocations/${first.replaceAll('-', '')}`, listed, at(7))).status, 204);
  assert.is((await api.ask(`PUT /allocations/${second}`, holding({ [HOST]: { VCPU: 3 } }))).status, 204);
  const early = await api.ask(`GET /allocations/${first}`, undefined, at(11));
  assert.equal(early.body, { allocations: { [HOST]: { generation: 3, resources: { VCPU: 2 } } } } as never);
  const unowned = (await api.ask(`GET /allocations/${first}`)).body;
  assert.equal([unowned.project_id, unowned.consumer_generation, unowned.consumer_type], [
    '00000000-0000-0000-0000-000000000000',
    1,
    'unknown',
  ] as never);
  const onProvider = (await api.ask(`GET /resource_providers/${HOST}/allocations`)).body.allocations as Body;
  assert.equal(Object.keys(onProvider).sort(), [first, second]);
  const usages = async (query: string, minor = 39) =>
    (await api.ask(`GET /usages?${query}`, undefined, at(minor))).body;
  assert.equal(await usages('project_id=project', 9), { usages: { VCPU: 3 } } as never);
  assert.equal(await usages('project_id=project&user_id=nobody', 9), { usages: {} } as never);
  const instances = { VCPU: 3, consumer_count: 1 };
  assert.equal(await usages('project_id=project'), { usages: { INSTANCE: instances } } as never);
  assert.equal(await usages('project_id=project&consumer_type=all'), { usages: { all: instances } } as never);
  assert.equal(await usages('project_id=project&consumer_type=unknown'), { usages: {} } as never);
  assert.is((await api.ask(`PUT /allocations/${second}`, holding({}, 1))).status, 204);
  assert.is((await api.ask(`DELETE /allocations/${first}`)).status, 204);
  assert.is((await api.ask(`DELETE /allocations/${first}`)).status, 404);
});

test('candidates look as each version has them', async ({ api }) => {
  await makeProvider(api, HOST, { VCPU: 10, DISK_GB: 20 });
  await makeProvider(api, CHILD, { VGPU: 2 }, HOST);
  const ask = async (query: string, minor: number) =>
    (await api.ask(`GET /allocation_candidates?${query}`, undefined, at(minor))).body;
  const resources = { VCPU: 1 };
  assert.equal(await ask('resources=VCPU:1', 10), {
    allocation_requests: [{ allocations: [{ resource_provider: { uuid: HOST }, resources }] }],
    provider_summaries: { [HOST]: { resources: { VCPU: { capacity: 10, used: 0 } } } },
  } as never);
  const keyed = await ask('resources=VCPU:1', 12);
  assert.equal(keyed.allocation_requests, [{ allocations: { [HOST]: { resources } } }] as never);
  assert.equal(((await ask('resources=VCPU:1,VGPU:1', 28)) as Body).allocation_requests, [] as never);
  const nested = await ask('resources=VCPU:1&resources_G=VGPU:1', 34);
  assert.equal(nested.allocation_requests, [
    {
      allocations: { [HOST]: { resources }, [CHILD]: { resources: { VGPU: 1 } } },
      mappings: { '': [HOST], _G: [CHILD] },
    },
  ] as never);
  assert.equal((nested.provider_summaries as Body)[CHILD], {
    resources: { VGPU: { capacity: 2, used: 0 } },
    traits: [],
    parent_provider_uuid: HOST,
    root_provider_uuid: HOST,
  } as never);
  for (const [query, code] of [
    ['resources=VCPU:1&resources1=VCPU:1&resources2=VCPU:1', 'placement.undefined_code'],
    ['required=CUSTOM_RED', 'placement.query.missing_value'],
    ['resources=VCPU:1&same_subtree=,_A', 'placement.query.bad_value'],
    ['resources=VCPU:1&root_required=A&root_required=B', 'placement.query.duplicate_key'],
  ]) {
    const refused = await api.ask(`GET /allocation_candidates?${query}`);
    assert.equal([refused.status, errorIn(refused).code], [400, code], query);
  }
});

test('a reshape moves what is held to where its inventory goes', async ({ api }) => {
  await makeProvider(api, HOST, { VGPU: 2 });
  await makeProvider(api, CHILD, {}, HOST);
  const consumer = id('c', 1);
  await api.ask(`PUT /allocations/${consumer}`, holding({ [HOST]: { VGPU: 2 } }));
  const inventories = {
    [HOST]: { resource_provider_generation: 2, inventories: {} },
    [CHILD]: { resource_provider_generation: 0, inventories: { VGPU: { total: 2 } } },
  };
  const left = await api.ask('POST /reshaper', { inventories, allocations: {} });
  assert.equal([left.status, errorIn(left).code], [409, 'placement.inventory.inuse']);
  const allocations = { [consumer]: holding({ [CHILD]: { VGPU: 2 } }, 1) };
  assert.is((await api.ask('POST /reshaper', { inventories, allocations })).status, 204);
  const { body } = await api.ask(`GET /allocations/${consumer}`);
  assert.equal(Object.keys(body.allocations as Body), [CHILD]);
  const missing = { [id('a', 9)]: inventories[CHILD] };
  const unknown = await api.ask('POST /reshaper', { inventories: missing, allocations: {} });
  assert.is(errorIn(unknown).code, 'placement.resource_provider.not_found');
});

test.run();
