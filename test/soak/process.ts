// One process of a soak: it plays the roles that it is told, on hosts that are folders, until it is killed.
// Use: node --import tsx process.ts '<json of ProcessOptions>'

import { startNode } from '../../runtime/node.ts';
import { diskDriver } from './disk-driver.ts';
import { hostsOf, type ProcessOptions } from './plan.ts';

const options = JSON.parse(process.argv[2] ?? '{}') as ProcessOptions;
const { name, servers, roles, folder, leaseTtlMs, shards, failRate = 0.1, longestMs = 300 } = options;
const hosts = new Map(hostsOf(options).map((host) => [host.host, host]));

// Its input ends with the soak that started it, however that ends.
process.stdin
  .on('end', () => process.exit(1))
  .resume()
  .unref();

process.on('unhandledRejection', (error) => {
  console.error(error);
  process.exit(1);
});

await startNode({
  name,
  roles: [...roles],
  nats: { servers },
  leaseTtlMs,
  placementShards: shards,
  cell: { silentMs: leaseTtlMs * 3 },
  compute: { heartbeatMs: leaseTtlMs / 2, inventoryEveryMs: leaseTtlMs },
  driver({ host }) {
    const told = hosts.get(host);
    if (told === undefined) throw new Error(`the workload has no host '${host}'`);
    return diskDriver({ host: told, folder, failRate: failRate + (told.failureRate ?? 0), longestMs });
  },
});
console.log('started');
