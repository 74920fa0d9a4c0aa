// Plays the roles of `cellwright node`. Its computes have the fake driver and a host of a usual size; real drivers are
// for those who embed.

import { present } from '../../actors/present.ts';
import { shownAddresses } from '../bus/nats-addresses.ts';
import type { ProviderReport } from '../drivers/driver.ts';
import { fakeDriver } from '../drivers/fake.ts';
import { gpuProviders } from '../drivers/gpus.ts';
import { numaHost } from '../drivers/numa.ts';
import { startNode } from '../node.ts';
import { seededRandom } from '../random.ts';
import { failuresOf } from '../replay/fleet.ts';
import { systemClock } from '../system-clock.ts';
import { onInterrupt } from './interrupt.ts';
import { natsOf, type ServerFlags } from './server-flags.ts';
import { settingsIn } from './settings.ts';

export interface NodeFlags extends ServerFlags {
  roles: string[];
  name?: string;
  prefix?: string;
  settings?: string;
  placementShards?: number;
  failRate: number;
  numaNodes: number;
}

/** A host of a usual size, and what of it each NUMA node has when it has any. */
const VCPU = 64;
const MEMORY_MB = 262_144;
const DISK_GB = 4_000;
const GPUS = 4;
const GPU_MODEL = 'T4';

export async function playNode(flags: NodeFlags): Promise<void> {
  const { roles, servers, name, prefix, settings, placementShards, failRate, numaNodes } = flags;
  const clock = systemClock();
  const read = settings === undefined ? {} : settingsIn(settings);
  const interrupt = onInterrupt();
  const node = await startNode({
    roles,
    nats: { ...natsOf(flags), signal: interrupt.signal },
    clock,
    driver: ({ cell, host }) =>
      fakeDriver({
        host: usualHost(host, numaNodes),
        clock,
        random: seededRandom(cell),
        failures: failuresOf(failRate, 0),
      }),
    ...read,
    ...present({ name, prefix, placementShards }),
  });
  console.log(`node '${node.name}' plays ${roles.join(', ')} at ${shownAddresses(servers)}`);
  await interrupt.happened;
  await node.stop();
}

function usualHost(name: string, nodes: number): ProviderReport {
  if (nodes > 0) {
    const ofNode = {
      vcpu: Math.ceil(VCPU / nodes),
      memoryMb: Math.ceil(MEMORY_MB / nodes),
      gpus: Math.ceil(GPUS / nodes),
    };
    return numaHost({ name, nodes, ...ofNode, diskGb: DISK_GB, gpuModel: GPU_MODEL });
  }
  return {
    name,
    inventories: { VCPU: { total: VCPU }, MEMORY_MB: { total: MEMORY_MB }, DISK_GB: { total: DISK_GB } },
    children: gpuProviders(name, GPUS, GPU_MODEL),
  };
}
