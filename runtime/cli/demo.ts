// `cellwright demo`, which `npm start` runs: a fleet on a NATS server of its own, a generated workload of the shape of
// a real one, and the end by itself.

import type { Command } from 'commander';
import { endWithShell } from './end-with-shell.ts';
import { servers as addresses, wholeNumber } from './options.ts';
import { type AccessFlags, natsIfNamed, withAccess } from './server-flags.ts';

interface DemoOptions extends AccessFlags {
  serve?: boolean;
  cells: number;
  hosts: number;
  requests: number;
  seed: string;
  servers?: string[];
  prefix?: string;
}

/** The generated workload in its own time, ms. */
const WORKLOAD_MS = 600_000;
/** How long the arrivals of a usual demo take, ms, and how many a second there are at most in a large one. */
const ARRIVALS_MS = 12_000;
const MOST_PER_SECOND = 400;
/** Long enough to be seen building, ms. */
const BUILD_MS = { min: 50, max: 600 } as const;

export function addDemo(program: Command): void {
  const command = program
    .command('demo')
    .description('play a generated workload on a fleet of several cells, and end with a summary')
    .option('--serve', 'keep the system when the workload is over, until Ctrl-C')
    .option('--cells <number>', 'cells that the hosts are dealt to', wholeNumber(1, 100), 4)
    .option('--hosts <number>', 'hosts in all, rounded up to as many in each cell', wholeNumber(1, 10_000), 240)
    .option('--requests <number>', 'instances asked for', wholeNumber(1, 1_000_000), 4_000)
    .option('--seed <seed>', 'decides everything that is drawn', '1')
    .option('--nats, --servers <urls>', 'use the NATS server that runs there; default: one of its own', addresses)
    .option('--prefix <prefix>', 'what every subject begins with; default: cw')
    .action(demo);
  withAccess(command);
}

async function demo(flags: DemoOptions): Promise<void> {
  endWithShell();
  const { serve = false, cells, hosts, requests, seed, prefix } = flags;
  const [{ generatedWorkload }, { perform }] = await Promise.all([
    import('../workload/generated.ts'),
    import('./perform.ts'),
  ]);
  const hostsPerCell = Math.ceil(hosts / cells);
  const workload = generatedWorkload({ cells, hostsPerCell, requests, seed, durationMs: WORKLOAD_MS });
  const runMs = Math.max(ARRIVALS_MS, (requests * 1_000) / MOST_PER_SECOND);
  await perform(workload, {
    seed,
    serve,
    speed: WORKLOAD_MS / runMs,
    buildMs: BUILD_MS,
    deletes: 'prompt',
    access: flags,
    on: {
      log: console.error,
      ...natsIfNamed(flags),
      ...(prefix === undefined ? {} : { prefix }),
    },
  });
}
