// `cellwright node`: plays roles until it is told to end, so that several processes make one system.

import type { Command } from 'commander';
import { MAX_PLACEMENT_SHARDS } from '../../actors/routing.ts';
import { list, readable, share, wholeNumber } from './options.ts';
import type { NodeFlags } from './play-node.ts';
import { withServer } from './server-flags.ts';

const ROLES =
  'any of placement, placement:<shard>, scheduler, conductor, cell:<name>, compute:<cell>/<host>, with commas between';

export function addNode(program: Command): void {
  withServer(
    program
      .command('node')
      .description('play roles of a system until Ctrl-C; computes run the fake driver')
      .requiredOption('--roles <roles>', ROLES, list),
  )
    .option('--name <name>', 'names the node among all; default: of the host and process')
    .option('--prefix <prefix>', 'what every subject begins with; default: cw')
    .option(
      '--settings <file>',
      'JSON with aggregates, defaultZone, requireConfinement and scheduler (filters, weighers, pickAmong), as startNode takes them',
      readable,
    )
    .option(
      '--placement-shards <number>',
      'how many placement shards the deployment has for ever, told when it is made; default: what it has, or 1',
      wholeNumber(1, MAX_PLACEMENT_SHARDS),
    )
    .option('--fail-rate <share>', 'the share of builds that fail on its hosts, 0 to 1', share, 0)
    .option(
      '--numa-nodes <number>',
      'the NUMA nodes of its hosts, with GPUs below each; 0: none',
      wholeNumber(0, 16),
      0,
    )
    .action(async (flags: NodeFlags) => (await import('./play-node.ts')).playNode(flags));
}
