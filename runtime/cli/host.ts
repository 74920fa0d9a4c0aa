// `cellwright host`: hosts as their cells see them, and what an operator has to say of one.

import type { Command } from 'commander';
import { text } from './options.ts';
import type { HostFlags } from './perform-host.ts';
import { withPrefix, withServer } from './server-flags.ts';

const WHICH = '<cell>/<host>; or its name, with --cell';

export function addHost(program: Command): void {
  const host = program.command('host').description('look at hosts, and take them out of service');
  const perform = async () => import('./perform-host.ts');
  withFlags(host.command('list').description('how all hosts stand'), 'the cell whose hosts are listed, alone').action(
    async (flags: HostFlags) => (await perform()).listHosts(flags),
  );
  withFlags(host.command('disable').description('offer a host nothing new; it keeps what it has'))
    .argument('<host>', WHICH)
    .option('--reason <text>', 'why, for others to see', text)
    .action(async (name: string, flags: HostFlags) => (await perform()).setHost(name, 'disable', flags));
  withFlags(host.command('enable').description('put a host back into service, also one that is set aside'))
    .argument('<host>', WHICH)
    .action(async (name: string, flags: HostFlags) => (await perform()).setHost(name, 'enable', flags));
  withFlags(
    host
      .command('fence')
      .description(
        'state that nothing runs on a host that is down, because it is powered off: ' +
          'what waits for it is done without it, and what was active there is lost',
      ),
  )
    .argument('<host>', WHICH)
    .action(async (name: string, flags: HostFlags) => (await perform()).setHost(name, 'fence', flags));
  withFlags(
    host
      .command('remove')
      .description('state that a fenced host does not come back: it and its providers are forgotten'),
  )
    .argument('<host>', WHICH)
    .action(async (name: string, flags: HostFlags) => (await perform()).setHost(name, 'remove', flags));
}

function withFlags(command: Command, cell = 'the cell of the host'): Command {
  return withPrefix(withServer(command).option('--cell <cell>', cell)).option(
    '--json',
    'print the answer as JSON, or what went wrong',
  );
}
