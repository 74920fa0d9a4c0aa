// Performs what `cellwright host` was asked for, by the API.

import type { HostState } from '../../actors/messages/scheduler.ts';
import { allPages } from '../audit/pages.ts';
import { CellwrightError } from '../errors.ts';
import { placeOf } from '../gateway/requests.ts';
import { printable } from './text.ts';
import { type ClientFlags, withClient } from './with-client.ts';

export interface HostFlags extends ClientFlags {
  cell?: string;
  reason?: string;
}

const PAGE = 500;

export function listHosts(flags: HostFlags & { cell: string }): Promise<void> {
  const { cell } = flags;
  return withClient(flags, 'hosts', { cell }, async (client) => {
    const hosts = await allPages(PAGE, async (page) => {
      const answer = await client.hosts({ cell, ...page });
      return [answer.hosts, answer.next];
    });
    for (const host of hosts) console.log(printable([lineOf(host)]));
  });
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
