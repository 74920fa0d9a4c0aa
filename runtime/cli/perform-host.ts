// Performs what `cellwright host` was asked for, by the API.

import type { HostState } from '../../actors/messages/scheduler.ts';
import { allPages } from '../audit/pages.ts';
import type { Client } from '../client.ts';
import { CellwrightError } from '../errors.ts';
import { isSilence } from '../gateway/looking.ts';
import { placeOf } from '../gateway/requests.ts';
import { printable } from './text.ts';
import { type ClientFlags, withClient } from './with-client.ts';

export interface HostFlags extends ClientFlags {
  cell?: string;
  reason?: string;
}

const PAGE = 500;

/** The hosts of one cell, or of all that there are. */
export async function listHosts(flags: HostFlags): Promise<void> {
  const { cell } = flags;
  if (cell === undefined) return withClient(flags, 'cells', {}, listAll);
  await withClient(flags, 'hosts', { cell }, async (client) => {
    for (const host of await hostsOf(client, cell)) console.log(printable([lineOf(host)]));
  });
}

function hostsOf(client: Client, cell: string): Promise<HostState[]> {
  return allPages(PAGE, async (page) => {
    const answer = await client.hosts({ cell, ...page });
    return [answer.hosts, answer.next];
  });
}

async function listAll(client: Client): Promise<void> {
  const { cells } = await client.cells();
  const lines = await Promise.all(
    cells.map(async ({ cell }) => {
      try {
        return (await hostsOf(client, cell)).map((host) => `${cell}/${lineOf(host)}`);
      } catch (error) {
        if (!isSilence(error)) throw error;
        process.exitCode = 1;
        return [`${cell}  does not answer`];
      }
    }),
  );
  for (const line of lines.flat()) console.log(printable([line]));
}

/** @param named `<cell>/<host>`, or the host's name, where the flags have the cell. */
export async function setHost(named: string, what: 'disable' | 'enable' | 'fence', flags: HostFlags): Promise<void> {
  const { reason, cell: told } = flags;
  const { host, cell } = placeOf({ host: named, ...(told === undefined ? {} : { cell: told }) });
  if (cell === undefined) {
    const message = `the cell of '${named}' is not said: name the host <cell>/${named}, or its cell with --cell`;
    throw new CellwrightError('bad-option', message, { field: 'cell' });
  }
  const request =
    what === 'fence'
      ? { cell, host, fence: true as const }
      : { cell, host, enabled: what === 'enable', ...(reason === undefined ? {} : { reason }) };
  await withClient(flags, 'host', request, async (client) => {
    const answer = await client.host(request);
    console.log(`host '${answer.cell}/${answer.host}' is ${answer.state}`);
  });
}

/** `h1  set-aside until 2026-03-01T10:31:07.000Z: 5 builds in a row failed ...` */
function lineOf({ host, state, reason, until }: HostState): string {
  const till = until === undefined ? '' : ` until ${new Date(until).toISOString()}`;
  return `${host}  ${state}${till}${reason === undefined ? '' : `: ${reason}`}`;
}
