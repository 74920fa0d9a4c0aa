// How the host of a compute comes up and stays up: it learns its tree, tells placement, presents itself to its cell, and
// says by and by that it is alive.

import type { SteadyTime } from '../actor.ts';
import { waitMs } from '../builds.ts';
import type { ProviderSpec } from '../messages/placement.ts';
import { fnv1a } from '../routing.ts';
import { hasLooked, missingNow } from './missing.ts';
import { type Phase, running, type Settings, type Work } from './state.ts';
import { lookAgain, tellTree } from './tree.ts';

export const COME_UP_WAKE = 'come-up';
/** At how many moments of a period computes say that they are alive. */
const BEAT_MOMENTS = 50;

/** Does what the phase asks for, and again until it is answered. Once up, it only says that it is alive. */
export function comeUp(work: Work): void {
  const { settings, state, turn } = work;
  const { host, patience, toCell, toDriver } = settings;
  let awaited = toCell;
  switch (state.phase) {
    case 'describing':
      awaited = toDriver;
      turn.send(awaited, { type: 'describe' });
      break;
    case 'registering':
      awaited = tellTree(work);
      break;
    case 'greeting':
      presentItself(work);
      break;
    case 'up':
      turn.send(toCell, {
        type: 'alive',
        host,
        incarnation: state.incarnation,
        ...(state.metrics === null ? {} : { metrics: state.metrics }),
        ...(hasLooked(state) ? { missing: missingNow(state), listed: state.listed } : {}),
      });
      if (state.measures) turn.send(toDriver, { type: 'measure' });
      if (turn.steady >= state.looksAt) lookAgain(work);
      if (state.owesTree) tellTree(work);
      return turn.wakeAfter(COME_UP_WAKE, untilBeatMs(settings, turn.steady));
    case 'retired':
      return;
  }
  turn.wakeAfter(COME_UP_WAKE, waitMs(patience, state.repeats, host), awaited);
  state.repeats += 1;
}

/**
 * How long it is to the host's own moment in each period. There are few of them, so that of the many computes that one
 * process may have some speak together, and each cell is sent one message by them.
 */
function untilBeatMs({ host, heartbeatMs }: Settings, steady: SteadyTime): number {
  const moment = ((fnv1a(host) % BEAT_MOMENTS) * heartbeatMs) / BEAT_MOMENTS;
  return (Math.floor((steady - moment) / heartbeatMs) + 1) * heartbeatMs + moment - steady;
}

export function enter(work: Work, phase: Phase): void {
  work.state.phase = phase;
  work.state.repeats = 0;
  comeUp(work);
}

export function retire({ settings: { cell, host }, state, turn }: Work): void {
  if (state.phase === 'retired') return;
  state.phase = 'retired';
  turn.cancelWake(COME_UP_WAKE);
  turn.publish({
    topic: ['cell', cell, 'host', host, 'retired'],
    body: { at: turn.now, host, incarnation: state.incarnation },
    cause: 'retired',
  });
}

export function presentItself(work: Work, challenge?: number): void {
  const { host, toCell } = work.settings;
  const { incarnation, listed } = work.state;
  const provider = (work.state.providers[0] as ProviderSpec).id;
  const answering = challenge === undefined ? {} : { challenge };
  const looked = hasLooked(work.state) ? { listed } : {};
  const up = { host, provider, incarnation, ...answering, running: running(work), ...looked };
  work.turn.send(toCell, { type: 'compute-up', ...up });
}

/** Why the host cannot come up, or what it has now is not known: it tries again until somebody has mended it. */
export function tell({ settings: { cell, host }, turn }: Work, what: string, reason: string, cause: string): void {
  turn.publish({ topic: ['cell', cell, 'host', host, what], body: { at: turn.now, host, reason }, cause });
}
