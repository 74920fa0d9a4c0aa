// `cellwright explain`: why an instance is where it is, or why it is nowhere.

import type { Command } from 'commander';
import { withFlags } from './fit.ts';
import type { AskFlags } from './perform-explain.ts';

export function addExplain(program: Command): void {
  withFlags(
    program
      .command('explain')
      .description('say how an instance came to be where it is: what refused each host, what was weighed and claimed'),
  )
    .argument('<instance>', 'its id')
    .action(async (id: string, flags: AskFlags) => (await import('./perform-explain.ts')).explain(id, flags));
}
