// Setting hosts aside: one whose builds keep failing is given nothing for a while, and comes back by itself, on
// probation. When most of a cell fails the fault is hardly the hosts', so only a share of them rests at one time.

import { wakeId } from '../wakes.ts';
import { hostEvent } from './host-event.ts';
import type { Host, Hosts } from './hosts.ts';
import { stateOfHost } from './hosts.ts';
import type { Work } from './work.ts';

export const RESTED_WAKE = 'rested';

/** Sets a host aside if enough builds in a row have failed on it. Called when a build there has failed. */
export function restIfFailing(work: Work, hostName: string, reason: string): void {
  const { failuresBefore } = work.resting;
  const host = work.state.hosts.get(hostName);
  if (host === undefined || stateOfHost(host) !== 'up') return;
  if (host.failures < (host.onProbation ? 1 : failuresBefore) || !mayRest(work)) return;
  const until = work.turn.now + restMs(work, host.rests);
  hostEvent(work, hostName, { type: 'SET_ASIDE', reason: failedWords(host, reason), until });
  restOn(work, host);
}

/** `5 builds in a row failed, the last with: no disk`. */
function failedWords({ onProbation, failures }: Host, reason: string): string {
  if (onProbation) return `the first build after its rest failed: ${reason}`;
  return failures === 1 ? `a build failed: ${reason}` : `${failures} builds in a row failed, the last with: ${reason}`;
}

/** Whether one more host of the cell may rest: of two or more in service one always may. */
function mayRest({ state, resting: { share } }: Work): boolean {
  // When most of a large cell fails that is asked very often, and nothing changes.
  state.inService ??= countInService(state.hosts);
  const { hosts, resting } = state.inService;
  return hosts >= 2 && resting < Math.max(1, Math.floor(share * hosts));
}

function countInService(all: Hosts): { hosts: number; resting: number } {
  let hosts = 0;
  let resting = 0;
  for (const host of all.values()) {
    const state = stateOfHost(host);
    if (state === 'aside') resting += 1;
    if (state === 'aside' || state === 'up') hosts += 1;
  }
  return { hosts, resting };
}

/** How long a host rests that has rested so often in a row. */
function restMs({ resting: { firstMs, mostMs } }: Work, rests: number): number {
  return Math.min(mostMs, firstMs * 2 ** Math.min(rests, 20));
}

/** Has a host come back when it has rested, if it rests: from now on no longer than it was to, by whatever clock that was said. */
export function restOn(work: Work, host: Host): void {
  const { now, steady } = work.turn;
  const { rest } = host.service.context;
  if (rest === null) return;
  // It is not known since when it rests, if it was away meanwhile: then no longer than any host.
  host.restsUntil = steady + Math.min(rest.until - now, rest.until - (host.since ?? now), work.resting.mostMs);
  wakeRested(work, host);
}

function wakeRested({ turn }: Work, { host, restsUntil }: Host): void {
  turn.wakeAfter(wakeId(RESTED_WAKE, host), restsUntil - turn.steady);
}

export function rested(work: Work, hostName: string): void {
  const host = work.state.hosts.get(hostName);
  const isResting = (host?.service.context.rest ?? null) !== null;
  if (host === undefined || !isResting) return;
  // It may have been put back, and set aside again, meanwhile.
  if (work.turn.steady < host.restsUntil) return wakeRested(work, host);
  hostEvent(work, hostName, { type: 'RESTED' });
}
