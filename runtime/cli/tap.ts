// `cellwright tap`: all traffic of a deployment as it passes, a readable line for each message.

import type { Command } from 'commander';
import type { TapFlags } from './follow.ts';
import { withPrefix, withServer } from './server-flags.ts';

export function addTap(program: Command): void {
  withPrefix(
    withServer(
      program
        .command('tap')
        .description('follow all traffic, a line for each message: time, subject, type, sender, body')
        .option('--instance <id>', 'only what names this instance'),
    ),
  ).action(async (flags: TapFlags) => (await import('./follow.ts')).follow(flags));
}
