// Area: NUMA nodes and GPUs, end to end. What a request needs close together is granted close together in the claim
// itself: whatever is built at the same time, the host is told what is its own and nothing is claimed a second time.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { BuildOrder } from '../../runtime/drivers/driver.ts';
import { fakeDriver } from '../../runtime/drivers/fake.ts';
import { GPU_CLASS, WHOLE_GPU_MILLI } from '../../runtime/drivers/gpus.ts';
import { numaHost } from '../../runtime/drivers/numa.ts';
import type { BuildRequest } from '../../runtime/gateway/requests.ts';
import { seededRandom } from '../../runtime/random.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { inMemory, overNats, type System } from './system.ts';

const test = suite('NUMA nodes and GPUs');

const NODES = 2;
const GPUS = 2;
const HOSTS = { c1: ['h1', 'h2'], c2: ['k1'] };
const HOST_COUNT = 3;
const SIZE = { nodes: NODES, vcpu: 8, memoryMb: 1_024, gpus: GPUS, diskGb: 100, gpuModel: 'T4' };
const WHOLE_GPU = { [GPU_CLASS]: WHOLE_GPU_MILLI };

/** Hosts with NUMA nodes; what each is told to build is kept in `orders`, and fails before that attempt. */
const driverTo =
  (orders: Map<string, BuildOrder>, succeedsAt = 1) =>
  ({ cell, host }: { cell: string; host: string }) => {
    const made = fakeDriver({
      host: numaHost({ name: host, ...SIZE }),
      clock: systemClock(),
      random: seededRandom(`${cell}/${host}`),
      buildMs: { min: 1, max: 5 },
    });
    return {
      ...made,
      build(order: BuildOrder) {
        orders.set(order.instance, order);
        if (order.attempt < succeedsAt) return Promise.resolve({ outcome: 'failed' as const, reason: 'no image' });
        return made.build(order);
      },
    };
  };

/** A node and a GPU below it. */
const nodeAndGpu = (id: string): BuildRequest => ({
  id,
  groups: [
    { name: 'node', resources: { VCPU: 2 }, required: ['HW_NUMA_ROOT'] },
    { name: 'gpu', resources: WHOLE_GPU },
  ],
  sameSubtree: [['node', 'gpu']],
});

/** The names of the providers that serve an instance, by group. */
async function serving({ client, dump }: System, id: string): Promise<Record<string, string>> {
  const { providers } = (await dump()) as { providers: readonly { id: string; name: string }[] };
  const { allocations = [] } = await client.show(id);
  const nameOf = (id: string) => providers.find((one) => one.id === id)?.name ?? '?';
  return Object.fromEntries(allocations.map(({ group, provider }) => [group, nameOf(provider)]));
}

test('numa - two NUMA nodes and a GPU below the second are granted on the right nodes, and the host is told so', () => {
  const orders = new Map<string, BuildOrder>();
  return inMemory({ hosts: HOSTS, driver: driverTo(orders) }, async (system) => {
    const { client } = system;
    await client.build({
      id: 'wide',
      resources: { DISK_GB: 10 },
      groups: [
        { name: 'node-0', resources: { VCPU: 4, MEMORY_MB: 512 } },
        { name: 'node-1', resources: { VCPU: 4, MEMORY_MB: 512 } },
        { name: 'gpu', resources: WHOLE_GPU },
      ],
      groupPolicy: 'isolate',
      sameSubtree: [['node-1', 'gpu']],
    });
    const { state, host = '', failure } = await client.ended('wide');
    assert.is(state, 'active', failure?.message);
    const by = await serving(system, 'wide');
    assert.is(by[''], host);
    assert.equal([by['node-0'], by['node-1']].sort(), [`${host}-numa-0`, `${host}-numa-1`]);
    assert.match(by.gpu ?? '', new RegExp(`^${by['node-1']}-gpu-[01]$`));
    assert.equal(
      orders.get('wide')?.allocations.map(({ group, provider }) => [group, provider]),
      [
        ['', host],
        ['node-0', by['node-0']],
        ['node-1', by['node-1']],
        ['gpu', by.gpu],
      ],
    );
    await client.build({ id: 'bare', resources: { DISK_GB: 1 }, rootRequired: ['HW_NUMA_ROOT'] });
    const { failure: none } = await client.ended('bare');
    assert.match(none?.message ?? '', /none of 3 hosts: 3 trait-missing/);
  });
});

for (const [where, withSystem] of [['in memory', inMemory] as const, ['over NATS', overNats] as const]) {
  test(`numa - ${where}: requests at once fill every node with its own GPUs, and the next is told what stands in its way`, () =>
    withSystem({ hosts: HOSTS, driver: driverTo(new Map()) }, async (system) => {
      const { client, failures } = system;
      const most = HOST_COUNT * NODES * GPUS;
      const ids = Array.from({ length: most }, (_, at) => `r${at}`);
      await Promise.all(ids.map((id) => client.build(nodeAndGpu(id))));
      const ends = await Promise.all(ids.map((id) => client.ended(id)));
      assert.equal([...new Set(ends.map(({ state }) => state))], ['active']);
      assert.ok(
        ends.every(({ attempt }) => attempt === 1),
        'nothing was claimed a second time',
      );
      const gpus = new Set<string>();
      for (const id of ids) {
        const { node = '', gpu = '' } = await serving(system, id);
        assert.ok(gpu.startsWith(`${node}-gpu-`), `${gpu} is below ${node}`);
        gpus.add(gpu);
      }
      assert.is(gpus.size, most);
      await client.build(nodeAndGpu('late'));
      assert.match((await client.ended('late')).failure?.message ?? '', /3 exceeds-capacity CUSTOM_GPU_MILLI/);
      assert.equal(failures, []);
    }));
}

test('numa - builds that fail at once on one host do not run for one GPU of the next, though all were told of the same', () => {
  return inMemory({ hosts: { c1: ['h1', 'h2'] }, driver: driverTo(new Map(), 2) }, async (system) => {
    const { client } = system;
    const count = NODES * GPUS;
    const { instances } = await client.build({ ...nodeAndGpu('web'), count, alternates: 1 });
    const ends = await Promise.all(instances.map((id) => client.ended(id)));
    assert.equal(
      ends.map(({ state, attempt }) => `${state} ${attempt}`),
      instances.map(() => 'active 2'),
    );
    const served = await Promise.all(instances.map((id) => serving(system, id)));
    assert.is(new Set(served.map(({ gpu }) => gpu)).size, count);
    for (const { node = '', gpu = '' } of served) assert.ok(gpu.startsWith(`${node}-gpu-`), `${gpu} is below ${node}`);
  });
});

test('numa - a GPU that is free below a node without processors is of no use, and the request is told so', () =>
  inMemory({ hosts: { c1: ['h1'] }, driver: driverTo(new Map()) }, async (system) => {
    const { client } = system;
    const below = (id: string, groups: BuildRequest['groups'], sameSubtree: string[][]) =>
      client.build({ id, groups: groups ?? [], sameSubtree });
    await client.build(nodeAndGpu('first'));
    await client.ended('first');
    const { node = '' } = await serving(system, 'first');
    // The rest of the processors of the other node goes, and the rest of the GPUs of this one.
    await below('big', [{ name: 'all', resources: { VCPU: 8 } }], [['all']]);
    await client.ended('big');
    assert.not.equal((await serving(system, 'big')).all, node);
    await client.build(nodeAndGpu('second'));
    assert.is((await client.ended('second')).state, 'active');
    assert.is((await serving(system, 'second')).node, node);
    await client.build(nodeAndGpu('third'));
    const { state, failure } = await client.ended('third');
    assert.is(state, 'failed');
    assert.match(failure?.message ?? '', /none of 1 host: 1 not-one-subtree/);
  }));

test.run();
