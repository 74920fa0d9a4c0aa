// `cellwright replay openb|azure`: recorded traces through the whole system, in compressed time.

import { type Command, Option } from 'commander';
import { DEFAULT_ALTERNATES, MAX_ALTERNATES } from '../../actors/messages/limits.ts';
import { present } from '../../actors/present.ts';
import { MAX_PLACEMENT_SHARDS } from '../../actors/routing.ts';
import type { Workload } from '../workload/workload.ts';
import { servers as addresses, positiveNumber, readable, share, wholeNumber } from './options.ts';
import { type AccessFlags, natsIfNamed, withAccess } from './server-flags.ts';

interface ReplayFlags extends AccessFlags {
  cells: number;
  seed: string;
  speed?: number;
  until?: number;
  alternates: number;
  failRate: number;
  placementShards?: number;
  deletes: 'after-build' | 'prompt' | 'never';
  inMemory?: boolean;
  servers?: string[];
  prefix?: string;
  json?: string;
}

export function addReplay(program: Command): void {
  const replay = program.command('replay').description('run a recorded trace through the whole system');
  withFlags(
    replay
      .command('openb')
      .description('a production GPU cluster: 1,523 hosts and 8,152 requests over 149 days')
      .requiredOption('--nodes <file>', 'the list of hosts', readable)
      .requiredOption('--pods <file>', 'the list of requests', readable),
  ).action(async ({ nodes, pods, ...flags }: ReplayFlags & { nodes: string; pods: string }) => {
    const { checkApart } = await import('./files.ts');
    checkApart({ nodes, pods }, { json: flags.json });
    const { openbWorkload } = await import('../workload/openb.ts');
    const { showReading } = await import('./show-reading.ts');
    const options = { nodesFile: nodes, podsFile: pods, ...workloadOptions(flags) };
    const workload = showReading((onRead) => openbWorkload(onRead === undefined ? options : { ...options, onRead }));
    await run(workload, flags);
  });
  withFlags(
    replay
      .command('azure')
      .description('virtual machines in batches: 259,159 of them over 3.5 days')
      .requiredOption('--dir <folder>', 'where the files of the trace are', readable),
  ).action(async ({ dir, ...flags }: ReplayFlags & { dir: string }) => {
    const { azureFiles, azureWorkload } = await import('../workload/azure.ts');
    const { checkApart } = await import('./files.ts');
    for (const file of Object.values(azureFiles(dir).files)) checkApart({ dir: file }, { json: flags.json });
    await run(azureWorkload({ dir, ...workloadOptions(flags) }), flags);
  });
}

function withFlags(command: Command): Command {
  command
    .option('--cells <number>', 'cells that the hosts are dealt to', wholeNumber(1, 1_000), 8)
    .option('--seed <seed>', 'decides everything that is drawn', '1')
    .option(
      '--speed <factor>',
      'how much faster than recorded; default: so that it takes a minute over NATS, ten minutes of virtual time in memory',
      positiveNumber(1e9),
    )
    .option(
      '--until <seconds>',
      'leave out what arrives at this second or later: of azure from its beginning, of openb as its lists count',
      positiveNumber(1e11),
    )
    .option(
      '--alternates <number>',
      'hosts named up front for each instance',
      wholeNumber(0, MAX_ALTERNATES),
      DEFAULT_ALTERNATES,
    )
    .option('--fail-rate <share>', 'the share of builds that fail, 0 to 1', share, 0)
    .option('--placement-shards <number>', 'shards that placement is dealt to', wholeNumber(1, MAX_PLACEMENT_SHARDS))
    .addOption(
      new Option(
        '--deletes <when>',
        'when an instance whose time is over is deleted: not before it is built, at once, or never, so that the fleet fills up',
      )
        .choices(['after-build', 'prompt', 'never'])
        .default('after-build'),
    )
    .addOption(new Option('--in-memory', 'without NATS, in virtual time').conflicts(['servers', 'prefix']))
    .option('--nats, --servers <urls>', 'use the NATS server that runs there; default: one of its own', addresses)
    .option('--prefix <prefix>', 'what every subject begins with; default: cw')
    .option('--json <file>', 'write the outcome there; -: to the standard output');
  return withAccess(command);
}

function workloadOptions({ cells, seed, until }: ReplayFlags): { cells: number; seed: string; untilMs?: number } {
  return { cells, seed, ...(until === undefined ? {} : { untilMs: until * 1_000 }) };
}

async function run(workload: Workload, flags: ReplayFlags): Promise<void> {
  const { perform } = await import('./perform.ts');
  const { seed, speed, alternates, failRate, placementShards, deletes, inMemory = false, prefix, json } = flags;
  const nats = natsIfNamed(flags);
  await perform(deletes === 'never' ? withoutEnds(workload) : workload, {
    seed,
    alternates,
    failRate,
    access: flags,
    on: inMemory ? 'memory' : { log: console.error, ...nats, ...present({ prefix }) },
    ...(deletes === 'never' ? {} : { deletes }),
    ...present({ speed, placementShards, json }),
  });
}

/** The same workload, of which nothing ever ends. */
function withoutEnds(workload: Workload): Workload {
  function* endless() {
    for (const arrival of workload.arrivals) yield { ...arrival, endAtMs: arrival.endAtMs.map(() => undefined) };
  }
  return { ...workload, arrivals: { [Symbol.iterator]: endless } };
}
