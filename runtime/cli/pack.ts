// `cellwright pack`: which packing policy would serve a fleet best, measured on a trace of what is asked of it.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { PACKING_POLICIES, type PackingPolicyName } from '../../actors/scheduler/weighers/packing/policies.ts';
import { list, numberUpTo, readable, wholeNumber } from './options.ts';
import type { PackFlags } from './perform-pack.ts';

/** Enough to fill a fleet many times over; requests beyond it change nothing. */
const MAX_TUNE = 10;

export function addPack(program: Command): void {
  program
    .command('pack')
    .description(
      'measure packing policies: requests of a trace arrive in random order at an empty fleet and never end; ' +
        'which part of all GPUs is allocated in the end?',
    )
    .requiredOption('--nodes <file>', 'the list of hosts, as in the openb trace', readable)
    .requiredOption('--pods <file>', 'the list of requests, as in the openb trace', readable)
    .addOption(
      new Option('--policy <names>', `any of ${PACKING_POLICIES.join(', ')}, with commas between`)
        .argParser(policies)
        .default([...PACKING_POLICIES], 'all of them'),
    )
    .option('--seeds <number>', 'runs of each policy, each in an order of its own', wholeNumber(1, 1_000), 10)
    .option(
      '--tune <factor>',
      'what is asked for in the end, as a multiple of all GPUs; 0: the requests of the trace, each once',
      numberUpTo(MAX_TUNE),
      1.3,
    )
    .option('--json <file>', 'write the figures and the curves there; -: to the standard output')
    .option('--plot <file.svg>', 'draw the curves there', svgFile)
    .addHelpText('after', '\nThe experiment is that of Weng et al., "Beware of Fragmentation", USENIX ATC 2023.')
    .action(async (flags: PackFlags) => (await import('./perform-pack.ts')).performPack(flags));
}

function policies(text: string): PackingPolicyName[] {
  const named = list(text).map((name) => {
    const known = PACKING_POLICIES.find((one) => one === name.toLowerCase().replaceAll(/[\s_-]+/g, '-'));
    if (known !== undefined) return known;
    throw new InvalidArgumentError(`'${name}' is none of ${PACKING_POLICIES.join(', ')}.`);
  });
  return [...new Set(named)];
}

function svgFile(path: string): string {
  if (/\.svg$/i.test(path)) return path;
  throw new InvalidArgumentError('It must be the name of an SVG file, *.svg.');
}
