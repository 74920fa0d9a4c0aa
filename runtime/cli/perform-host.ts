// Performs what `cellwright host` was asked for, by the API.

import { likeWords, mostLike } from '../../actors/alike.ts';
import { disabledWords, thenAsideWords } from '../../actors/host-words.ts';
import type { HostState } from '../../actors/messages/scheduler.ts';
import { present } from '../../actors/present.ts';
import { allPages } from '../audit/pages.ts';
import type { Client } from '../client.ts';
import { CellwrightError } from '../errors.ts';
import { oneLine } from '../gateway/explanation-words.ts';
import type { HostAnswer } from '../gateway/gateway.ts';
import { isSilence } from '../gateway/looking.ts';
import { hostAndCellOf } from '../gateway/requests.ts';
import { printable } from './text.ts';
import { type ClientFlags, withClient } from './with-client.ts';

export interface HostFlags extends ClientFlags {
  cell?: string;
  reason?: string;
  json?: boolean;
}

const PAGE = 500;
/** How many cells are named where none of them is meant. */
const MOST_NAMED = 20;

/** A host among those of all cells. */
type Listed = HostState & { readonly cell: string };

/** The hosts of one cell, or of all that there are. */
export async function listHosts(flags: HostFlags): Promise<void> {
  const { cell } = flags;
  if (cell === undefined) return printAll(await withClient(flags, 'cells', {}, hostsOfAll), flags);
  const hosts = await withClient(flags, 'hosts', { cell }, (client) =>
    ofKnownCell(client, cell, () => hostsOf(client, cell)),
  );
  if (flags.json === true) return printList(hosts, []);
  for (const host of hosts) console.log(printable([lineOf(host)]));
}

/** @throws CellwrightError `not-found` when a cell does not answer that nobody has heard of either; what `ask` throws. */
export async function ofKnownCell<Answer>(client: Client, cell: string, ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    if (!isSilence(error)) throw error;
    // Where that is not known either, it is left at that.
    const told = await client.cells().catch(() => null);
    if (told === null || told.cells.some((one) => one.cell === cell)) throw error;
    const names = told.cells.map((one) => one.cell);
    const known = names.length === 0 ? 'there are none' : `cells are ${names.slice(0, MOST_NAMED).join(', ')}`;
    const message = `nobody has heard of a cell '${cell}'${likeWords(mostLike(cell, names))}; ${known}`;
    throw new CellwrightError('not-found', message, { field: 'cell', cause: error });
  }
}

/** One document, also where some cells do not answer. */
function printList(hosts: readonly Listed[], silentCells: readonly string[]): void {
  console.log(JSON.stringify({ hosts, silentCells }, null, 2));
}

async function hostsOf(client: Client, cell: string): Promise<Listed[]> {
  const hosts = await allPages(PAGE, async (page) => {
    const answer = await client.hosts({ cell, ...page });
    return [answer.hosts, answer.next];
  });
  return hosts.map((host) => ({ cell, ...host }));
}

/** The hosts of a cell; null: it does not answer. */
interface HostsOfCell {
  readonly cell: string;
  readonly hosts: readonly Listed[] | null;
}

async function hostsOfAll(client: Client): Promise<HostsOfCell[]> {
  const { cells } = await client.cells();
  return Promise.all(
    cells.map(async ({ cell }) => {
      try {
        return { cell, hosts: await hostsOf(client, cell) };
      } catch (error) {
        if (!isSilence(error)) throw error;
        return { cell, hosts: null };
      }
    }),
  );
}

function printAll(listed: readonly HostsOfCell[], { json = false }: HostFlags): void {
  if (listed.some(({ hosts }) => hosts === null)) process.exitCode = 1;
  if (json) {
    const silent = listed.filter(({ hosts }) => hosts === null).map(({ cell }) => cell);
    return printList(
      listed.flatMap(({ hosts }) => hosts ?? []),
      silent,
    );
  }
  for (const { cell, hosts } of listed) {
    if (hosts === null) console.log(printable([`${cell}  does not answer`]));
    else for (const host of hosts) console.log(printable([`${cell}/${lineOf(host)}`]));
  }
}

const SETTINGS = {
  disable: { enabled: false },
  enable: { enabled: true },
  fence: { fence: true },
  remove: { remove: true },
} as const;
type Setting = keyof typeof SETTINGS;

/** @param named `<cell>/<host>`, or the host's name, where the flags have the cell. */
export async function setHost(named: string, what: Setting, flags: HostFlags): Promise<void> {
  const { reason, cell: told } = flags;
  const { host, cell } = hostAndCellOf({ host: named, ...(told === undefined ? {} : { cell: told }) });
  if (cell === undefined) {
    const message = `the cell of '${named}' is not said: name the host <cell>/${named}, or its cell with --cell`;
    throw new CellwrightError('bad-option', message, { field: 'cell' });
  }
  const request = { cell, host, ...SETTINGS[what], ...present({ reason }) };
  const answer = await withClient(flags, 'host', request, (client) =>
    ofKnownCell(client, cell, () => client.host(request)),
  );
  console.log(flags.json === true ? JSON.stringify(answer, null, 2) : printable([setWords(answer, what)]));
}

/**
 * `host 'c1/h1' is disabled`; what is set of a host that is away takes when it comes back, and is said. An older version that
 * serves the API does not tell why one is disabled all the same.
 */
export function setWords({ cell, host, state, disabled }: HostAnswer, what: Setting): string {
  const words = `host '${cell}/${host}' is ${state}`;
  const why = disabled === undefined ? undefined : oneLine(disabled);
  if (why !== undefined && state === 'disabled') return `${words} all the same: ${why}`;
  if (why !== undefined) return `${words}; when it comes back it is disabled: ${why}`;
  const isAway = state === 'down' || state === 'fenced';
  return what === 'enable' && isAway ? `${words}; when it comes back it is up` : words;
}

/** `h1  set-aside until 2026-03-01T10:31:07.000Z: 5 builds in a row failed ...` */
export function lineOf({ host, state, reason, until, asideUntil }: HostState): string {
  const till = until === undefined ? '' : ` until ${new Date(until).toISOString()}`;
  const then = asideUntil === undefined ? '' : `; ${thenAsideWords(new Date(asideUntil).toISOString())}`;
  if (reason === undefined) return `${host}  ${state}${till}${then}`;
  const why = oneLine(reason);
  return `${host}  ${state}${till}${state === 'down' ? `, and ${disabledWords(why)}` : `: ${why}`}${then}`;
}
