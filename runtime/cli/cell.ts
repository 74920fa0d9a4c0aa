// `cellwright cell`: which cells there are, and what an operator has to say of one as a whole.

import type { Command } from 'commander';
import { text } from './options.ts';
import type { CellFlags } from './perform-cell.ts';
import { withPrefix, withServer } from './server-flags.ts';

export function addCell(program: Command): void {
  const cell = program.command('cell').description('look at cells, and take them out of service');
  const perform = async () => import('./perform-cell.ts');
  withFlags(cell.command('list').description('which cells there are, and how many of their hosts are up')).action(
    async (flags: CellFlags) => (await perform()).listCells(flags),
  );
  withFlags(
    cell
      .command('disable')
      .description('offer the hosts of a cell nothing new, nor those that join it later; it keeps what it has'),
  )
    .argument('<cell>', 'its name')
    .option('--reason <text>', 'why, for others to see', text)
    .action(async (name: string, flags: CellFlags) => (await perform()).setCell(name, false, flags));
  withFlags(
    cell.command('enable').description('put a cell back into service: each of its hosts is as it was set itself'),
  )
    .argument('<cell>', 'its name')
    .action(async (name: string, flags: CellFlags) => (await perform()).setCell(name, true, flags));
}

function withFlags(command: Command): Command {
  return withPrefix(withServer(command)).option('--json', 'print the answer as JSON, or what went wrong');
}
