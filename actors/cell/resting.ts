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
  armRest(work, host);
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

/** Asks to be woken when a host has rested, if it rests. */
function armRest({ turn, resting }: Work, { host, service }: Host): void {
  const { rest } = service.context;
  // The clock may have been set back since it was set aside.
  if (rest !== null) turn.wakeAt(wakeId(RESTED_WAKE, host), Math.min(rest.until, turn.now + resting.mostMs));
}

export function rested(work: Work, hostName: string): void {
  const host = work.state.hosts.get(hostName);
  const rest = host?.service.context.rest ?? null;
  if (host === undefined || rest === null) return;
  // It may have been put back, and set aside again, meanwhile; or the clock was set.
  const isOver = rest.until <= work.turn.now || rest.until > work.turn.now + work.resting.mostMs;
  if (isOver) hostEvent(work, hostName, { type: 'RESTED' });
  else armRest(work, host);
}
