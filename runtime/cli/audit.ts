// `cellwright audit`: whether placement, the cells, the super conductor and the hosts agree.

import type { Command } from 'commander';
import { positiveNumber } from './options.ts';
import type { AuditFlags } from './perform-audit.ts';
import { withPrefix, withServer } from './server-flags.ts';

export function addAudit(program: Command): void {
  withPrefix(
    withServer(
      program
        .command('audit')
        .description('look whether all owners agree, and say in words what does not add up and whose obligation it is'),
    ),
  )
    .option('--json', 'print what was found as JSON, or what went wrong')
    .option('--repair', 'clear away what is certainly dead; never anything that is alive')
    .option(
      '--pause <seconds>',
      'between two looks: what is seen only once is a step under way',
      positiveNumber(3_600),
      5,
    )
    .option('--overdue <minutes>', 'tell what has been owed for longer than this', positiveNumber(1e6), 10)
    .addHelpText(
      'after',
      '\nExits with 0 when all is well, 1 when something does not add up, 2 when it could not look everywhere.',
    )
    .action(async (flags: AuditFlags) => (await import('./perform-audit.ts')).performAudit(flags));
}
