// Hosts that are lost for good: one of each cell is powered off in the middle of a soak, with all that runs on it; an
// operator says so as soon as it counts as down; and later another machine takes its place, empty and under its name.

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '../../runtime/client.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import type { Struck } from './chaos.ts';
import type { Member } from './processes.ts';

export interface DoomOptions {
  readonly client: Client;
  /** The doomed hosts, each with the process of its compute. */
  readonly doomed: readonly { readonly cell: string; readonly host: string; readonly member: Member }[];
  /** The folder of all hosts. */
  readonly folder: string;
  /** From the beginning to the first loss, and from each to the next, ms. */
  readonly everyMs: number;
  readonly signal: AbortSignal;
  log(line: string): void;
}

const LOOK_EVERY_MS = 500;
const FENCED_WITHIN_MS = 120_000;

export interface Losses {
  readonly struck: readonly Struck[];
  /** The hosts that could not be fenced. */
  readonly unfenced: readonly string[];
}

export async function doom({ client, doomed, folder, everyMs, signal, log }: DoomOptions): Promise<Losses> {
  const struck: Struck[] = [];
  const unfenced: string[] = [];
  for (const { cell, host, member } of doomed) {
    await delay(everyMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) break;
    const at = Date.now();
    await member.kill();
    await rm(join(folder, host), { recursive: true, force: true });
    log(`lost for good: ${cell}/${host}`);
    if (await isFenced(client, cell, host)) log(`fenced: ${cell}/${host}`);
    else unfenced.push(`${cell}/${host}`);
    await member.start();
    struck.push({ blow: 'kill', whom: member.name, at, healedAt: Date.now() });
  }
  return { struck, unfenced };
}

/** Says that nothing runs there any more, as soon as the cell takes that. */
async function isFenced(client: Client, cell: string, host: string): Promise<boolean> {
  for (const deadline = Date.now() + FENCED_WITHIN_MS; Date.now() < deadline; ) {
    try {
      await client.host({ cell, host, fence: true });
      return true;
    } catch (error) {
      if (!(error instanceof CellwrightError) || !(error.retryable || error.code === 'host-is-up')) throw error;
      await delay(LOOK_EVERY_MS);
    }
  }
  return false;
}
