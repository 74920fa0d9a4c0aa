// A program that builds in memory, by single requests and in a batch, some of them on a second host, and deletes all,
// until all is compiled, and then more of the same; it says how long the latter took, ms.

import { memoryBus } from '../../runtime/bus/memory.ts';
import type { Driver } from '../../runtime/drivers/driver.ts';
import { startNode } from '../../runtime/node.ts';
import { systemClock } from '../../runtime/system-clock.ts';

const HOSTS = ['h1', 'h2', 'h3', 'h4', 'h5'];
const [, , builds = '0', warmUp = '0'] = process.argv;

let attempts = 0;

/** What it does is done at once, and it keeps nothing. Every fourth attempt fails. */
const driverOf = (name: string): Driver => ({
  build: async () => {
    attempts += 1;
    return attempts % 4 === 0 ? { outcome: 'failed', reason: 'no boot' } : { outcome: 'built' };
  },
  destroy: async () => {},
  list: async () => [],
  inventory: async () => ({ name, inventories: { VCPU: { total: 1_000_000 }, MEMORY_MB: { total: 1_000_000_000 } } }),
  capabilities: async () => [],
  async close() {},
});

const node = await startNode({
  roles: ['placement', 'scheduler', 'conductor', 'cell:c1', ...HOSTS.map((host) => `compute:c1/${host}`)],
  bus: memoryBus({ clock: systemClock() }),
  driver: ({ host }) => driverOf(host),
});

const asked = { alternates: 2, resources: { VCPU: 1, MEMORY_MB: 512 } };
const { client } = node;

/** Builds one after the other, and deletes. */
async function one(id: string): Promise<void> {
  await client.build({ id, instanceGroup: { name: 'all', policy: 'soft-anti-affinity' }, ...asked });
  await client.ended(id);
  await client.delete(id);
}

async function build(label: string, total: number): Promise<void> {
  for (let position = 0; position < total / 2; position += 1) await one(`${label}${position}`);
  const { instances } = await client.build({ id: label, count: total / 2, ...asked });
  for (const instance of instances) await client.ended(instance);
  for (const instance of instances) await client.delete(instance);
}

await build('warm', Number(warmUp));
const begun = performance.now();
await build('more', Number(builds));
console.log(performance.now() - begun);
await node.stop();
