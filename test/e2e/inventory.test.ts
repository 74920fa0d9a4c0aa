// Area: inventory, through whole deployments. What is put into a host while it is up counts soon, what has failed is given to
// nobody any more, and a driver that cannot say what its host has leaves the host as it was.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { BuildOrder, Client, Driver, FitRequest, ProviderReport } from '../../runtime/index.ts';
import { until } from '../support/until.ts';
import { eventually, hostTree, inMemory, overNats, quickDriver, type System, type WithSystem } from './system.ts';

const test = suite('inventory');

interface Machine {
  /** What the driver says of its host; an error: why it cannot. */
  tree: ProviderReport | Error;
  readonly orders: BuildOrder[];
}

const gpus = (...names: string[]): ProviderReport[] =>
  names.map((name) => ({ name, inventories: { PGPU: { total: 1 } } }));

function withMachine(withSystem: WithSystem, run: (machine: Machine, system: System) => Promise<void>): Promise<void> {
  const machine: Machine = { tree: hostTree('h1'), orders: [] };
  const driver = ({ cell, host }: { cell: string; host: string }): Driver => {
    const quick = quickDriver(cell, host);
    return {
      ...quick,
      async inventory() {
        if (machine.tree instanceof Error) throw machine.tree;
        return machine.tree;
      },
      build(order) {
        machine.orders.push(order);
        return quick.build(order);
      },
    };
  };
  const options = { hosts: { c1: ['h1'] }, driver, compute: { heartbeatMs: 50, inventoryEveryMs: 20 } };
  return withSystem(options, (system) => run(machine, system));
}

const isFit = async (client: Client, request: FitRequest): Promise<boolean> => (await client.fit(request)).fit === true;

const SYSTEMS: readonly [string, WithSystem][] = [
  ['in memory', inMemory],
  ['over NATS', overNats],
];

for (const [where, withSystem] of SYSTEMS) {
  test(`inventory - ${where}: what waits for a device has it once it is put into a host that is up`, () =>
    withMachine(withSystem, async (machine, { client, failures }) => {
      await client.build({ id: 'waits', resources: { VCPU: 1, PGPU: 1 }, wait: { forMs: 60_000 } });
      await eventually('it is parked', async () => (await client.show('waits')).waiting !== undefined);
      machine.tree = { ...hostTree('h1'), children: gpus('gpu-0') };
      assert.is((await client.ended('waits')).state, 'active');
      const [order] = machine.orders;
      assert.equal(order?.allocations.map(({ provider }) => provider).sort(), ['gpu-0', 'h1']);
      assert.equal(failures, []);
    }));

  test(`inventory - ${where}: a device that is no more is given to nobody, also when who had it is gone`, () =>
    withMachine(withSystem, async (machine, { client, failures }) => {
      const ofGpu = { resources: { PGPU: 1 } };
      machine.tree = { ...hostTree('h1'), children: gpus('gpu-0', 'gpu-1') };
      await eventually('there are two', () => isFit(client, { ...ofGpu, count: 2 }));
      await client.build({ id: 'has-one', ...ofGpu });
      await client.ended('has-one');
      const [had] = machine.orders[0]?.allocations ?? [];
      assert.match(had?.provider ?? '', /^gpu-[01]$/);
      const left = gpus(had?.provider === 'gpu-0' ? 'gpu-1' : 'gpu-0');
      machine.tree = { ...hostTree('h1'), traits: ['CUSTOM_MENDED'], children: left };
      await eventually('it is known', () => isFit(client, { resources: { VCPU: 1 }, required: ['CUSTOM_MENDED'] }));
      assert.is((await client.fit(ofGpu)).times, 1);
      await client.build({ id: 'has-other', ...ofGpu });
      await client.ended('has-other');
      assert.is.not(machine.orders[1]?.allocations[0]?.provider, had?.provider);
      assert.is((await client.show('has-one')).state, 'active', 'whoever has it is left alone');
      await client.delete('has-one');
      await eventually('it is deleted', async () => (await client.show('has-one')).state === 'deleted');
      assert.is(await isFit(client, ofGpu), false);
      assert.equal(failures, []);
    }));
}

test('inventory - a host that has less gives no more than that, and more again when it has more', () =>
  withMachine(inMemory, async (machine, { client }) => {
    const shrunk = hostTree('h1');
    await client.build({ id: 'has-four', resources: { VCPU: 4 } });
    await client.ended('has-four');
    machine.tree = { ...shrunk, inventories: { ...shrunk.inventories, VCPU: { total: 2 } } };
    await eventually('it is full', async () => !(await isFit(client, { resources: { VCPU: 1 } })));
    assert.is((await client.show('has-four')).state, 'active');
    machine.tree = { ...shrunk, inventories: { ...shrunk.inventories, VCPU: { total: 12 } } };
    await eventually('it has room', () => isFit(client, { resources: { VCPU: 8 } }));
    assert.is(await isFit(client, { resources: { VCPU: 9 } }), false);
  }));

test('inventory - a driver that cannot say what its host has leaves it as it was, which is told', () =>
  withMachine(overNats, async (machine, { client, bus, subjects }) => {
    const told: string[] = [];
    const subject = `${subjects.prefix}.cell.c1.host.h1.inventory-unread`;
    bus.subscribe(subject, (message) => void told.push(JSON.parse(Buffer.from(message.data).toString()).reason));
    machine.tree = new Error('the daemon went away');
    await until('it is told', () => told.length > 1);
    assert.ok(told.every((reason) => reason === 'the daemon went away'));
    const [host] = (await client.hosts({ cell: 'c1' })).hosts;
    assert.is(host?.state, 'up');
    await client.build({ id: 'built', resources: { VCPU: 8 } });
    assert.is((await client.ended('built')).state, 'active');
    machine.tree = { ...hostTree('h1'), inventories: { VCPU: { total: 16 } } };
    await eventually('it is read again', () => isFit(client, { resources: { VCPU: 8 } }));
  }));

test.run();
