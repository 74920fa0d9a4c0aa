// A program that builds in memory, one request after the other and in a batch, until all is compiled, and then more of
// the same; it says how long the latter took, ms.

import { memoryBus } from '../../runtime/bus/memory.ts';
import type { Driver } from '../../runtime/drivers/driver.ts';
import { startNode } from '../../runtime/node.ts';
import { systemClock } from '../../runtime/system-clock.ts';

const HOSTS = ['h1', 'h2', 'h3', 'h4', 'h5'];
const [, , builds = '0', warmUp = '0'] = process.argv;

/** What it does is done at once, and it keeps nothing. */
const driverOf = (name: string): Driver => ({
  build: async () => ({ outcome: 'built' }),
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

async function build(label: string, total: number): Promise<void> {
  const asked = { alternates: 2, resources: { VCPU: 1, MEMORY_MB: 512 } };
  const lone = Array.from({ length: total / 2 }, (_, position) => `${label}${position}`);
  for (const id of lone) {
    const { instances } = await node.client.build({ id, ...asked });
    for (const instance of instances) await node.client.ended(instance);
  }
  const { instances } = await node.client.build({ id: label, count: total / 2, ...asked });
  for (const instance of instances) await node.client.ended(instance);
}

await build('warm', Number(warmUp));
const begun = performance.now();
await build('more', Number(builds));
console.log(performance.now() - begun);
await node.stop();
