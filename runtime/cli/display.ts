// Shows a replay while it runs: a few lines that are drawn anew on a terminal, a plain line now and then elsewhere.

import { createLogUpdate } from 'log-update';
import type { Timer } from '../clock.ts';
import type { Live } from '../replay/replay.ts';
import type { Counts } from '../replay/tally.ts';
import { systemClock } from '../system-clock.ts';
import { countsText, figure, seconds, table } from './text.ts';

export interface Display {
  /** Draws for the last time and leaves the lines where they are. Idempotent. */
  stop(): void;
}

/** How often a terminal is drawn, ms. */
export const DRAW_EVERY_MS = 200;
/** How often a plain line is written, ms. */
export const WRITE_EVERY_MS = 2_000;
const STATES = ['requested', 'claimed', 'building', 'rescheduling', 'active', 'deleted', 'failed'] as const;
/** More cells than this do not fit on a screen. */
const MOST_CELLS = 12;

/** @param requested How many instances the workload asks for. */
export function showLive(live: Live, requested: number, output: NodeJS.WriteStream): Display {
  const clock = systemClock();
  const isTerminal = output.isTTY === true;
  const update = isTerminal ? createLogUpdate(output) : undefined;
  const rate = rateOf(live);
  let timer: Timer;
  let stopped = false;

  function draw(): void {
    if (update === undefined) output.write(`${headOf(live, requested, rate())}; ${stateText(live)}\n`);
    else update(frameOf(live, requested, rate()).join('\n'));
  }

  function arm(): void {
    timer = clock.after(isTerminal ? DRAW_EVERY_MS : WRITE_EVERY_MS, () => {
      draw();
      arm();
    });
  }

  arm();
  return {
    stop() {
      if (stopped) return;
      stopped = true;
      timer.cancel();
      draw();
      update?.done();
    },
  };
}

/** Builds a second since the last time of asking, in the time of the replay. */
function rateOf(live: Live): () => number {
  let builtBefore = 0;
  let msBefore = 0;
  let rate = 0;
  return () => {
    const { built } = live.figures();
    const ms = live.elapsedMs();
    // Within a short time there is nothing to be counted: the last rate stays.
    if (ms - msBefore >= DRAW_EVERY_MS) {
      rate = ((built - builtBefore) * 1_000) / (ms - msBefore);
      builtBefore = built;
      msBefore = ms;
    }
    return rate;
  };
}

/** One line: the phase, how far it is, and how fast. */
function headOf(live: Live, requested: number, rate: number): string {
  const seen = Object.values(live.figures().states).reduce((sum, count) => sum + count, 0);
  return `${live.phase} ${seconds(live.elapsedMs())}: ${figure(seen)} of ${figure(requested)} requested, ${figure(rate, 1)} builds/s`;
}

function stateText(live: Live): string {
  const { states, reschedules } = live.figures();
  const told = STATES.map((state) => `${state} ${figure(states[state] ?? 0)}`);
  return `${told.join(', ')}; reschedules ${figure(reschedules)}`;
}

function frameOf(live: Live, requested: number, rate: number): string[] {
  const { states, cells, reschedules, attemptsFailed, failed, p50Ms, p99Ms } = live.figures();
  const names = Object.keys(cells);
  const row = (name: string, counts: Counts) => [name, ...STATES.map((state) => figure(counts[state] ?? 0))];
  const shown = names.slice(0, MOST_CELLS).map((name) => row(name, cells[name] ?? {}));
  return [
    headOf(live, requested, rate),
    '',
    ...table([['', ...STATES], row('all', states), ...shown]),
    ...(names.length > MOST_CELLS ? [`and ${names.length - MOST_CELLS} more cells`] : []),
    '',
    `accepted to active  p50 ${figure(p50Ms)} ms, p99 ${figure(p99Ms)} ms`,
    `reschedules         ${figure(reschedules)}`,
    `attempts failed     ${countsText(attemptsFailed) || 'none'}`,
    `failed for good     ${countsText(failed) || 'none'}`,
  ];
}
