// Errors for programs: where a command is asked for JSON, its standard output is one document, the answer or
// `{ error: { code, message, retryable, field? } }`, as the API has it. What people read on stderr stays as it is.

import { type Command, CommanderError } from 'commander';
import { CellwrightError, type ErrorBody, messageOf } from '../errors.ts';
import { IS_THAT_THE_SYSTEM } from './hints.ts';
import { flagOf, inFlags } from './server-flags.ts';

/** Says whether the command that is called prints JSON. Of `pack` and `replay` `--json` names a file, and this is not said. */
export function jsonAsked(program: Command, args: readonly string[]): () => boolean {
  // What its flags are is not known where they are wrong.
  let isAsked = isAskedIn(program, args);
  program.hook('preAction', (_, command) => {
    isAsked = command.opts().json === true;
  });
  return () => isAsked;
}

function isAskedIn(program: Command, args: readonly string[]): boolean {
  const ended = args.indexOf('--');
  const flags = ended === -1 ? args : args.slice(0, ended);
  let command: Command | undefined = program;
  for (const name of args) {
    const next: Command | undefined = command.commands.find((one) => one.name() === name);
    if (next === undefined) break;
    command = next;
  }
  // Where what is to be done is not named, or misspelt, it is meant for one of those that have it.
  return flags.includes('--json') && command !== program && [command, ...command.commands].some(hasJson);
}

const hasJson = ({ options }: Command): boolean => options.some((one) => one.long === '--json' && one.isBoolean());

/** An error as a command says it: by its flags, and with what to look at where nobody answers. */
export function messageFor(error: CellwrightError): string {
  const where = error.code === 'no-responders' ? `: ${IS_THAT_THE_SYSTEM}` : '';
  return `${inFlags(error.message)}${where}`;
}

/** What went wrong as the document that a program reads. */
export function errorDocument(error: unknown): { error: ErrorBody } {
  if (error instanceof CellwrightError) {
    const { field, ...body } = error.toJSON();
    const named = field === undefined ? {} : { field: flagOf(field) };
    return { error: { ...body, message: messageFor(error), ...named } };
  }
  if (!(error instanceof CommanderError))
    return { error: { code: 'internal', message: messageOf(error), retryable: false } };
  const message = error.message.replace(/^error: /, '').replaceAll(/\s+/g, ' ');
  const [, option, argument] =
    /option '(?:-[a-z], )?--([a-z0-9-]+)|missing required argument '([a-z0-9-]+)'/.exec(message) ?? [];
  const field = option ?? argument;
  return { error: { code: 'bad-option', message, retryable: false, ...(field === undefined ? {} : { field }) } };
}
