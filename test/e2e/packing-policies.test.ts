// Area: packing policies, in deployments. A scheduler that is told a policy chooses hosts and devices by it; what it is
// told wrong is refused before a node starts, with the field named.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PACKING_POLICIES } from '../../actors/scheduler/weighers/packing/policies.ts';
import { aggregatesOf } from '../../runtime/aggregates.ts';
import type { BuildRequest, Client, Driver, WeigherChoice } from '../../runtime/index.ts';
import { schedulerOptionsOf } from '../../runtime/scheduler-settings.ts';
import { inMemory, quickDriver } from './system.ts';

const test = suite('packing policies, in deployments');

const gpu = (share: number): BuildRequest => ({
  resources: { CUSTOM_CPU_MILLI: 1_000 },
  groups: [{ name: 'gpu', resources: { CUSTOM_GPU_MILLI: share } }],
});

const optionsOf = (...weighers: WeigherChoice[]) => schedulerOptionsOf({ weighers }, aggregatesOf({}));

/** The devices that were claimed for builds one after the other, as the driver was told them. */
async function devicesOf(weigher: WeigherChoice, shares: readonly number[]): Promise<string[]> {
  const devices: string[] = [];
  const device = (name: string) => ({ name, inventories: { CUSTOM_GPU_MILLI: { total: 1_000 } } });
  await inMemory(
    {
      hosts: { c1: ['h1'] },
      scheduler: { weighers: [weigher] },
      driver: ({ cell, host }) => {
        const driver = quickDriver(cell, host);
        return {
          ...driver,
          inventory: async () => ({
            name: host,
            inventories: { CUSTOM_CPU_MILLI: { total: 64_000 } },
            children: [device('gpu-0'), device('gpu-1')],
          }),
          build(order) {
            devices.push(...order.allocations.map(({ provider }) => provider).filter((name) => name !== host));
            return driver.build(order);
          },
        } satisfies Driver;
      },
    },
    async ({ client, failures }) => {
      for (const share of shares) await built(client, gpu(share));
      assert.equal(failures, []);
    },
  );
  return devices;
}

async function built(client: Client, request: BuildRequest): Promise<void> {
  const { instances } = await client.build(request);
  const { state, failure } = await client.ended(instances[0] as string);
  assert.is(state, 'active', failure?.message);
}

test('a fleet that is to keep room for halves of devices does not leave less than a half of one', async () => {
  const shares = [500, 300, 500];
  assert.equal(await devicesOf('best-fit', shares), ['gpu-0', 'gpu-0', 'gpu-1'], 'the tightest fit');
  const fgd = { name: 'fgd', typical: [{ ...gpu(500), count: 20 }] };
  assert.equal(await devicesOf(fgd, shares), ['gpu-0', 'gpu-1', 'gpu-0']);
});

test('GPU clustering hears what its scheduler is granted', async () => {
  const granted: string[] = [];
  const { weighers = [] } = optionsOf('gpu-clustering');
  const [clustering] = weighers;
  assert.type(clustering?.granted, 'function');
  const listening = {
    name: 'listening',
    weigh: () => 0,
    granted: (allocations: readonly { provider: string }[]) => granted.push(String(allocations.length)),
  };
  await devicesOf(listening, [1_000, 100]);
  assert.equal(granted, ['2', '2'], 'the host and a device, twice');
});

test('a weigher of ones own may prefer a device, be of a class, and fail', async () => {
  class Last {
    readonly name = 'last';
    readonly heard: number[] = [];
    weigh(): number {
      return 0;
    }
    prefers(_offer: unknown, server: { readonly spec: { readonly name: string } }): number {
      if (server.spec.name === 'gpu-0') throw new Error('it fails on the first device');
      return this.heard.length;
    }
    granted(): void {
      this.heard.push(1);
      throw new Error('it fails whenever it hears of a claim');
    }
  }
  const last = new Last();
  assert.equal(await devicesOf(last, [100, 100]), ['gpu-1', 'gpu-1']);
  assert.is(last.heard.length, 2);
});

test('settings - each policy by its name, with a multiplier and a scale; chance picks among all hosts', () => {
  for (const name of PACKING_POLICIES) {
    const { weighers, pickAmong } = optionsOf({ name, multiplier: 3, typical: [gpu(500)] });
    assert.equal(
      (weighers ?? []).map((weigher) => [weigher.name, weigher.multiplier]),
      [[name, 3]],
    );
    assert.is(pickAmong, name === 'random' ? Number.POSITIVE_INFINITY : undefined);
  }
  const { weighers } = optionsOf('defaults', 'gpu-packing');
  assert.is(weighers?.at(-1)?.name, 'gpu-packing');
});

test('settings - what is wrong is refused with the field named', () => {
  const scale = { processor: 'VCPU', largestProcessor: 64, device: 'VGPU', largestDevices: 8, wholeDevice: 1 };
  const cases: [object, string, RegExp][] = [
    [{ name: 'fgd' }, 'typical', /list of 1 to 100000 requests/],
    [{ name: 'fgd', typical: [] }, 'typical', /list/],
    [{ name: 'fgd', typical: [gpu(500), { resources: { VCPU: 0 } }] }, 'typical.1.resources.VCPU', /wrong/],
    [{ name: 'fgd', typical: [{ resources: { CORES: 1 } }] }, 'typical.0.resources.CORES', /unknown resource class/],
    [{ name: 'fgd', typical: 'all' }, 'typical', /list/],
    [{ name: 'best-fit', scale: 7 }, 'scale', /object/],
    [{ name: 'best-fit', scale: { ...scale, processor: 1 } }, 'scale.processor', /resource class/],
    [{ name: 'best-fit', scale: { ...scale, largestDevices: 0 } }, 'scale.largestDevices', /above 0/],
    [{ name: 'mine', weigh: () => 1, prefers: 'gpu-0' }, 'prefers', /function/],
  ];
  for (const [choice, field, says] of cases) {
    try {
      optionsOf(choice as WeigherChoice);
    } catch (error) {
      assert.is((error as { field?: string }).field, `scheduler.weighers.0.${field}`);
      assert.match((error as Error).message, says);
      continue;
    }
    assert.unreachable(`${JSON.stringify(choice)} was taken`);
  }
});

test.run();
