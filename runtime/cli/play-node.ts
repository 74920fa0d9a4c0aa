// Plays the roles of `cellwright node`. Its computes have the fake driver and a host of a usual size; real drivers are
// for those who embed.

import { fakeDriver } from '../drivers/fake.ts';
import { startNode } from '../node.ts';
import { seededRandom } from '../random.ts';
import { failuresOf } from '../replay/fleet.ts';
import { systemClock } from '../system-clock.ts';
import { gpuProviders } from '../workload/workload.ts';
import { onInterrupt } from './interrupt.ts';
import { settingsIn } from './settings.ts';

export interface NodeFlags {
  roles: string[];
  servers: string[];
  name?: string;
  prefix?: string;
  settings?: string;
  failRate: number;
}

const GPUS = 4;

export async function playNode({ roles, servers, name, prefix, settings, failRate }: NodeFlags): Promise<void> {
  const clock = systemClock();
  const read = settings === undefined ? {} : settingsIn(settings);
  const interrupt = onInterrupt();
  const node = await startNode({
    roles,
    nats: { servers },
    clock,
    driver: ({ cell, host }) =>
      fakeDriver({
        host: usualHost(host),
        clock,
        random: seededRandom(cell),
        failures: failuresOf(failRate, 0),
      }),
    ...read,
    ...(name === undefined ? {} : { name }),
    ...(prefix === undefined ? {} : { prefix }),
  });
  console.log(`node '${node.name}' plays ${roles.join(', ')} at ${servers.join(', ')}`);
  await interrupt.happened;
  await node.stop();
}

function usualHost(host: string) {
  return {
    name: host,
    inventories: { VCPU: { total: 64 }, MEMORY_MB: { total: 262_144 }, DISK_GB: { total: 4_000 } },
    children: gpuProviders(host, GPUS, 'T4'),
  };
}
