// `cellwright placement-api`: serves the OpenStack Placement API over HTTP.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { MAX_PLACEMENT_SHARDS } from '../../actors/routing.ts';
import { servers as addresses, list, readable, wholeNumber } from './options.ts';
import type { PlacementApiFlags } from './serve-placement-api.ts';
import { withAccess } from './server-flags.ts';

export function addPlacementApi(program: Command): void {
  const command = program
    .command('placement-api')
    .description('serve the OpenStack Placement API, microversions 1.0 to 1.39, until Ctrl-C')
    .addOption(
      new Option('--listen <host:port>', 'where to listen')
        .argParser(place)
        .default({ host: '127.0.0.1', port: 8778 }, '127.0.0.1:8778'),
    )
    .option('--in-memory', 'a placement of its own that begins empty and forgets all at the end')
    .option(
      '--nats, --servers <urls>',
      'be a front to the system on these NATS servers; default: a placement of its own, on a managed server',
      addresses,
    )
    .option('--store <folder>', 'where the managed NATS server keeps its data; default: a temporary folder')
    .option(
      '--placement-shards <number>',
      'over how many shards a new placement is dealt, set for good; a running system has its own number; default: 1',
      wholeNumber(1, MAX_PLACEMENT_SHARDS),
    )
    .option('--prefix <prefix>', 'what every subject begins with; default: cw')
    .option(
      '--tokens <file>',
      'who may ask, as JSON; default: development mode, in which any token is taken, and admin, or the header x-roles: admin, may do everything',
      readable,
    )
    .option('--allow-origins <origins>', 'origins that browsers may ask from; default: none', origins)
    .action(async (flags: PlacementApiFlags) => (await import('./serve-placement-api.ts')).servePlacementApi(flags));
  withAccess(command);
}

function place(text: string): { host: string; port: number } {
  const [, bracketed, plain, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  const host = bracketed ?? plain;
  if (host !== undefined && port <= 65_535) return { host, port };
  throw new InvalidArgumentError('It must be a host and a port, such as 127.0.0.1:8778 or [::1]:8778.');
}

/** As browsers say them: anything else would be equal to none of theirs. */
function origins(text: string): string[] {
  return list(text).map((one) => {
    if (URL.canParse(one) && new URL(one).origin === one) return one;
    throw new InvalidArgumentError(`'${one}' is no origin, such as https://dashboard.example:8443.`);
  });
}
