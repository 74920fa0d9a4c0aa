// `cellwright node`: plays roles until it is told to end, so that several processes make one system. Its computes have
// the fake driver and a host of a usual size; real drivers are for those who embed.

import type { Command } from 'commander';
import { fakeDriver } from '../drivers/fake.ts';
import { startNode } from '../node.ts';
import { seededRandom } from '../random.ts';
import { failuresOf } from '../replay/fleet.ts';
import { systemClock } from '../system-clock.ts';
import { gpuProviders } from '../workload/workload.ts';
import { onInterrupt } from './interrupt.ts';
import { list, share } from './options.ts';

interface NodeFlags {
  roles: string[];
  servers: string;
  name?: string;
  prefix?: string;
  failRate: number;
}

const ROLES = 'any of placement, scheduler, conductor, cell:<name>, compute:<cell>/<host>, with commas between';
const GPUS = 4;

export function addNode(program: Command): void {
  program
    .command('node')
    .description('play roles of a system until Ctrl-C; computes run the fake driver')
    .requiredOption('--roles <roles>', ROLES, list)
    .option('--servers <urls>', 'the NATS server', 'nats://127.0.0.1:4222')
    .option('--name <name>', 'names the node among all; default: of the host and process')
    .option('--prefix <prefix>', 'the first token of every subject; default: cw')
    .option('--fail-rate <share>', 'the share of builds that fail on its hosts, 0 to 1', share, 0)
    .action(play);
}

async function play({ roles, servers, name, prefix, failRate }: NodeFlags): Promise<void> {
  const clock = systemClock();
  const interrupt = onInterrupt();
  const node = await startNode({
    roles,
    nats: { servers: list(servers) },
    clock,
    driver: ({ cell, host }) =>
      fakeDriver({
        host: usualHost(host),
        clock,
        random: seededRandom(cell),
        failures: failuresOf(failRate, 0),
      }),
    ...(name === undefined ? {} : { name }),
    ...(prefix === undefined ? {} : { prefix }),
  });
  console.log(`node '${node.name}' plays ${roles.join(', ')} at ${servers}`);
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
