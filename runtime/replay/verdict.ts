// The verdict on a replay: once nothing moves any more, the accounts of all requests and the faults of the final state.
// It waits by condition, with a limit on everything: what has not come to rest by then is told, not waited for.

import type { Clock } from '../clock.ts';
import type { Asking } from '../gateway/asking.ts';
import type { Workload } from '../workload/workload.ts';
import { type Accounts, accountsOf } from './accounts.ts';
import { takeCensus } from './census.ts';
import type { Fleet } from './fleet.ts';
import type { Played } from './player.ts';
import type { Tally } from './tally.ts';
import type { Fault } from './verify/fault.ts';
import { faultsOf } from './verify/faults.ts';
import { lookUntil } from './waiting.ts';

export interface Verdict {
  readonly accounts: Accounts;
  readonly faults: readonly Fault[];
}

export interface VerdictOptions {
  readonly asking: Asking;
  readonly clock: Clock;
  readonly fleet: Fleet;
  readonly workload: Workload;
  readonly played: Played;
  /** Tells when it is worth looking: a census of a large system is expensive. */
  readonly tally: Tally;
  readonly signal?: AbortSignal | undefined;
}

/** Events may be lost, so a tally that stands still for this long is not waited for, ms. */
const STILL_MS = 5_000;
const QUIET_LIMIT_MS = 900_000;
const QUIET_LOOK_MS = 100;
/** How long unfinished requests and faults may take to go away: resources are given back after the last event, ms. */
const CLEAN_LIMIT_MS = 120_000;
const CLEAN_LOOKS_MS = { firstMs: 250, mostMs: 10_000 } as const;

/** @throws TimeoutError when an actor does not answer; CellwrightError `interrupted`. */
export async function verdictOn(options: VerdictOptions): Promise<Verdict> {
  const { asking, clock, fleet, workload, played, tally, signal } = options;
  await untilQuiet(clock, tally, signal);
  const judge = async (): Promise<Verdict> => {
    const census = await takeCensus({ asking, fleet, hosts: workload.hosts, signal });
    const accounts = accountsOf({ arrivals: workload.arrivals, census, refused: played.refused });
    return { accounts, faults: faultsOf(census, workload.arrivals) };
  };
  return lookUntil(judge, isClean, { clock, limitMs: CLEAN_LIMIT_MS, ...CLEAN_LOOKS_MS, signal });
}

/** Whether every request is accounted for and nothing is wrong. */
function isClean({ accounts, faults }: Verdict): boolean {
  return accounts.unfinished.length === 0 && accounts.missing.length === 0 && faults.length === 0;
}

/** Waits until no build is under way by the tally, or the tally stands still. */
async function untilQuiet(clock: Clock, tally: Tally, signal: AbortSignal | undefined): Promise<void> {
  let seen = '';
  let since = clock.monotonic();
  const look = async () => {
    const now = JSON.stringify(tally.figures().states);
    if (now !== seen) {
      seen = now;
      since = clock.monotonic();
    }
    return tally.open() === 0 || clock.monotonic() - since >= STILL_MS;
  };
  const limits = { clock, limitMs: QUIET_LIMIT_MS, firstMs: QUIET_LOOK_MS, mostMs: QUIET_LOOK_MS, signal };
  await lookUntil(look, (isQuiet) => isQuiet, limits);
}
