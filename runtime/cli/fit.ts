// `cellwright fit` and `cellwright why-not`: questions about requests that hold nothing.

import { type Command, InvalidArgumentError } from 'commander';
import { MAX_AMOUNT, MAX_COUNT } from '../../actors/messages/limits.ts';
import { list, readable, wholeNumber } from './options.ts';
import type { AskFlags } from './perform-explain.ts';
import type { FitFlags } from './perform-fit.ts';
import { withPrefix, withServer } from './server-flags.ts';

export function addFit(program: Command): void {
  const fit = program
    .command('fit')
    .description('say whether a request would fit, where and how many times, and if not, what stands in the way')
    .option('--resources <CLASS=AMOUNT,...>', 'what it needs, such as VCPU=4,MEMORY_MB=8192', amounts)
    .option('--required <traits>', 'traits that must all be there', list)
    .option('--any-of <traits>', 'of these traits one must be there; may be given again', lists)
    .option('--forbidden <traits>', 'traits that must not be there', list)
    .option('--member-of <aggregates>', 'one of these aggregates must have it; may be given again', lists)
    .option('--group <NAME:CLASS=AMOUNT,...>', 'a group served by one provider alone; may be given again', groups)
    .option('--group-policy <policy>', 'none, or isolate: no two groups on one provider')
    .option('--hosts <hosts>', 'hosts, as <cell>/<host>, one of which it must be', list)
    .option('--project <project>', 'whose it would be')
    .option(
      '--json-request <file>',
      'the request as for cw.api.build or cw.api.fit, from a file; flags are put over it',
      readable,
    )
    .option('--count <number>', 'how many instances, all or none', wholeNumber(1, MAX_COUNT))
    .option('--limit <number>', 'how many of the best hosts to name', wholeNumber(0, 100))
    .addHelpText('after', '\nExits with 0 when it would fit, 1 when it would not, 2 when that is not known.');
  withFlags(fit).action(async (flags: FitFlags) => (await import('./perform-fit.ts')).fit(flags));
  withFlags(program.command('why-not').description('say why an instance is not on a host: as of the decision, and now'))
    .argument('<instance>', 'its id')
    .argument('<host>', 'its name, or <cell>/<host>')
    .addHelpText('after', '\nExits with 2 when it is not known how it stands now, since its cell does not answer.')
    .action(async (id: string, host: string, flags: AskFlags) =>
      (await import('./perform-explain.ts')).whyNot(id, host, flags),
    );
}

export function withFlags(command: Command): Command {
  return withPrefix(withServer(command)).option(
    '--json',
    'print the answer as JSON, with stable codes; or what went wrong',
  );
}

/** `VCPU=4,MEMORY_MB=8192`; which classes there are is for the API to say. */
function amounts(text: string): Record<string, number> {
  const amount = wholeNumber(1, MAX_AMOUNT);
  const found = new Map<string, number>();
  for (const part of list(text)) {
    const [name = '', value, ...more] = part.split('=');
    if (value === undefined || more.length > 0 || !/^[A-Z][A-Z0-9_]*$/.test(name)) {
      throw new InvalidArgumentError(`'${part}' must be CLASS=AMOUNT, the class in upper-case letters, digits and _.`);
    }
    if (found.has(name)) throw new InvalidArgumentError(`It names ${name} twice.`);
    found.set(name, amount(value));
  }
  return Object.fromEntries(found);
}

function lists(text: string, before: string[][] = []): string[][] {
  return [...before, list(text)];
}

interface Group {
  name: string;
  resources: Record<string, number>;
}

function groups(text: string, before: Group[] = []): Group[] {
  const at = text.indexOf(':');
  if (at < 1) throw new InvalidArgumentError('It must be NAME:CLASS=AMOUNT.');
  return [...before, { name: text.slice(0, at), resources: amounts(text.slice(at + 1)) }];
}
