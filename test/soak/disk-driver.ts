// A driver whose host is a folder: what runs on it are files, which outlive the process of the compute as virtual
// machines would. Builds take a while, fail at times, and go on when the compute comes back.

import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BuildOrder, BuildOutcome, Driver } from '../../runtime/drivers/driver.ts';
import { seededRandom } from '../../runtime/random.ts';
import type { FleetHost } from '../../runtime/workload/workload.ts';

export interface DiskDriverOptions {
  readonly host: FleetHost;
  /** The folder of all hosts. */
  readonly folder: string;
  /** The share of attempts that fail, 0 to 1. Which ones is decided by their names, in every life alike. */
  readonly failRate: number;
  /** The longest build, ms. */
  readonly longestMs: number;
}

interface Attempt {
  readonly instance: string;
  readonly attempt: number;
}

const fileOf = ({ instance, attempt }: Attempt): string => `${instance}.${attempt}`;

/** What is on a host's folder. */
async function onDisk(folder: string, host: string): Promise<Attempt[]> {
  const files = await readdir(join(folder, host)).catch(() => []);
  return files.map((file) => {
    const dot = file.lastIndexOf('.');
    return { instance: file.slice(0, dot), attempt: Number(file.slice(dot + 1)) };
  });
}

export function diskDriver({ host, folder, failRate, longestMs }: DiskDriverOptions): Driver {
  const home = join(folder, host.host);
  const under = new Map<string, Promise<BuildOutcome>>();

  async function begin(order: BuildOrder): Promise<BuildOutcome> {
    const file = fileOf(order);
    const random = seededRandom(`${host.host} ${file}`);
    await mkdir(home, { recursive: true });
    await writeFile(join(home, file), '');
    await delay(random.integer(1, longestMs));
    if (random.chance(failRate)) {
      await rm(join(home, file), { force: true });
      return { outcome: 'failed', reason: 'image could not be fetched' };
    }
    return { outcome: 'built' };
  }

  return {
    build(order) {
      const file = fileOf(order);
      const begun = under.get(file) ?? begin(order);
      under.set(file, begun);
      return begun;
    },
    async destroy(instance, attempt) {
      const file = fileOf({ instance, attempt });
      // A build under way would write its file again.
      await under.get(file);
      await rm(join(home, file), { force: true });
      under.set(file, Promise.resolve({ outcome: 'failed', reason: 'destroyed' }));
    },
    list: () => onDisk(folder, host.host),
    inventory: async () => host.tree,
    capabilities: async () => host.traits ?? [],
    async close() {},
  };
}
