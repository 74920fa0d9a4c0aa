// `cellwright tap`: all traffic of a deployment as it passes, a readable line for each message.

import type { Command } from 'commander';
import type { TapFlags } from './follow.ts';
import { withServer } from './server-flags.ts';

export function addTap(program: Command): void {
  withServer(
    program
      .command('tap')
      .description('follow all traffic, a line for each message: time, subject, type, sender, body')
      .option('--instance <id>', 'only what names this instance'),
  )
    .option('--prefix <prefix>', 'what every subject begins with', 'cw')
    .action(async (flags: TapFlags) => (await import('./follow.ts')).follow(flags));
}
