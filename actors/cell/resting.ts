// Setting hosts aside: one whose builds keep failing is given nothing for a while, and comes back by itself, on
// probation. When most of a cell fails the fault is hardly the hosts', so only a share of them rests at one time.

import { wakeId } from '../wakes.ts';
import { hostEvent } from './host-event.ts';
import type { Host } from './hosts.ts';
import { stateOfHost } from './hosts.ts';
import type { Work } from './work.ts';

export const RESTED_WAKE = 'rested';

/** Sets a host aside if enough builds in a row have failed on it. Called when a build there has failed. */
export function restIfFailing(work: Work, hostName: string, reason: string): void {
  const { failuresBefore, firstMs, mostMs } = work.resting;
  const host = work.state.hosts.get(hostName);
  if (host === undefined || stateOfHost(host) !== 'up') return;
  if (host.failures < (host.onProbation ? 1 : failuresBefore) || !mayRest(work)) return;
  const until = work.turn.now + Math.min(mostMs, firstMs * 2 ** Math.min(host.rests, 20));
  const count = host.onProbation
    ? 'the first build after its rest'
    : `${host.failures} ${host.failures === 1 ? 'build' : 'builds'} in a row`;
  hostEvent(work, hostName, { type: 'SET_ASIDE', reason: `${count} failed, the last with: ${reason}`, until });
  restOn(work, host);
}

/** Whether one more host of the cell may rest: of two or more in service one always may. */
function mayRest({ state: { hosts }, resting: { share } }: Work): boolean {
  let inService = 0;
  let resting = 0;
  for (const host of hosts.values()) {
    const state = stateOfHost(host);
    if (state === 'aside') resting += 1;
    if (state === 'aside' || state === 'up') inService += 1;
  }
  return inService >= 2 && resting < Math.max(1, Math.floor(share * inService));
}

/** Has a host come back when it has rested, if it rests: at once if that were later than any may, by a clock that was ahead. */
export function restOn(work: Work, host: Host): void {
  const { turn, resting } = work;
  const { rest } = host.service.context;
  if (rest === null) return;
  const leftMs = rest.until - turn.now;
  if (leftMs > resting.mostMs) return hostEvent(work, host.host, { type: 'RESTED' });
  host.restsUntil = turn.steady + leftMs;
  turn.wakeAfter(wakeId(RESTED_WAKE, host.host), leftMs);
}

export function rested(work: Work, hostName: string): void {
  const host = work.state.hosts.get(hostName);
  const isResting = (host?.service.context.rest ?? null) !== null;
  // It may have been put back, and set aside again, just now.
  if (host === undefined || !isResting || work.turn.steady < host.restsUntil) return;
  hostEvent(work, hostName, { type: 'RESTED' });
}
