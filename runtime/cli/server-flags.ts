// The flags by which a command is told which NATS server to use and how to be let in; named as those of the NATS CLI.

import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { present } from '../../actors/present.ts';
import { shownAddresses } from '../bus/nats-addresses.ts';
import type { NatsOptions } from '../bus/nats-options.ts';
import { CellwrightError, messageOf } from '../errors.ts';
import { DEFAULT_PREFIX } from '../subjects.ts';
import { readable, servers, subjectPrefix } from './options.ts';

/** By what commander calls their values. */
const ACCESS_FLAGS = {
  creds: 'creds',
  tlsca: 'tlsca',
  tlscert: 'tlscert',
  tlskey: 'tlskey',
  inboxPrefix: 'inbox-prefix',
} as const;
const ACCESS = Object.keys(ACCESS_FLAGS) as (keyof typeof ACCESS_FLAGS)[];
export type AccessFlags = { [flag in keyof typeof ACCESS_FLAGS]?: string };

type Access = Pick<NatsOptions, 'credentials' | 'tls' | 'inboxPrefix'>;

export interface ServerFlags extends AccessFlags {
  servers: string[];
}

/** By the options of the runtime that they stand for. */
const FLAG_OF: Readonly<Record<string, string>> = {
  credentials: 'creds',
  'tls.caFile': 'tlsca',
  'tls.certFile': 'tlscert',
  'tls.keyFile': 'tlskey',
  inboxPrefix: 'inbox-prefix',
};

const USUAL_SERVER = 'nats://127.0.0.1:4222';

/** Adds the flags of the server, and of the way in. */
export function withServer(command: Command): Command {
  const option = new Option(
    '--nats, --servers <urls>',
    'the NATS server, such as nats://user:password@127.0.0.1:4222; several of one cluster with commas between',
  );
  return withAccess(command.addOption(option.argParser(servers).default([USUAL_SERVER], USUAL_SERVER)));
}

/** Adds the flags by which a server lets one in. */
export function withAccess(command: Command): Command {
  return command
    .option('--creds <file>', 'the credentials for the NATS server: JWT and NKEY seed', readable)
    .option('--tlsca <file>', 'the authorities to trust for TLS, in PEM form; default: those of Node', readable)
    .option('--tlscert <file>', 'the certificate to show, in PEM form', readable)
    .option('--tlskey <file>', 'its key, in PEM form', readable)
    .option(
      '--inbox-prefix <prefix>',
      'what the subjects of its answers begin with, where the server allows each user only its own; default: _INBOX',
      subjectPrefix,
    );
}

/** Adds the flag of the deployment. */
export function withPrefix(command: Command): Command {
  return command.option('--prefix <prefix>', 'what every subject begins with', DEFAULT_PREFIX);
}

/** The way in as it is said again to another command. */
export function accessWords(access: AccessFlags): string {
  return ACCESS.map((flag) =>
    access[flag] === undefined ? '' : ` --${ACCESS_FLAGS[flag]} ${quoted(access[flag])}`,
  ).join('');
}

/** What must be said to another command to reach the same deployment; of a server's address without user, password and token. */
export function deploymentWords({ servers: named, prefix, ...access }: ServerFlags & { prefix: string }): string {
  const urls = shownAddresses(named, ',');
  const at = urls === USUAL_SERVER ? '' : ` --nats ${quoted(urls)}`;
  return `${at}${accessWords(access)}${prefix === DEFAULT_PREFIX ? '' : ` --prefix ${prefix}`}`;
}

/** A word as shells read it. */
function quoted(word: string): string {
  return /^[A-Za-z0-9_.:,/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * What the flags say of the connection.
 * @throws CellwrightError `bad-option` with the flag, when the credentials cannot be read, or one of certificate and key
 * is missing.
 */
export function natsOf(flags: ServerFlags): Pick<NatsOptions, 'servers' | keyof Access> {
  return { servers: flags.servers, ...accessOf(flags) };
}

/**
 * The same where a server need not be named.
 * @throws CellwrightError as `natsOf`; and when there is a way in, and no server.
 */
export function natsIfNamed(flags: AccessFlags & { servers?: string[] }): Access & { servers?: string[] } {
  const { servers: named } = flags;
  if (named !== undefined) return { servers: named, ...accessOf(flags) };
  const given = ACCESS.find((flag) => flags[flag] !== undefined);
  if (given === undefined) return {};
  const field = ACCESS_FLAGS[given];
  throw new CellwrightError('bad-option', `--${field} is for the server that --nats names`, { field });
}

/** The flag by which an option of the runtime is said; any other field is named as it is. */
export const flagOf = (field: string): string => FLAG_OF[field.replace(/^nats\./, '')] ?? field;

/** What is said of the way in, by the names of the flags where the runtime names its options. */
export function inFlags(message: string): string {
  return message.replace(
    /^(?:nats\.)?credentials\b|\b(?:nats\.)?tls\.(?:ca|cert|key)File\b/g,
    (option) => `--${flagOf(option)}`,
  );
}

/** What the flags say of the way in. @throws CellwrightError `bad-option` with the flag. */
export function accessOf({ creds, tlsca, tlscert, tlskey, inboxPrefix }: AccessFlags): Access {
  if ((tlscert === undefined) !== (tlskey === undefined)) {
    const field = tlscert === undefined ? 'tlscert' : 'tlskey';
    throw new CellwrightError('bad-option', '--tlscert and --tlskey go together', { field });
  }
  const tls = present({ caFile: tlsca, certFile: tlscert, keyFile: tlskey });
  return {
    ...(creds === undefined ? {} : { credentials: credentialsIn(creds) }),
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
    ...present({ inboxPrefix }),
  };
}

function credentialsIn(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new CellwrightError('bad-option', `--creds '${file}': ${messageOf(cause)}`, { field: 'creds', cause });
  }
}
