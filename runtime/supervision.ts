// Starts an actor again when it fails, a few times; then, or when another owner has written to its journal, gives it up.

import type { Logger } from 'pino';
import type { Address } from '../actors/actor.ts';
import type { Clock, Timer } from './clock.ts';
import { CellwrightError } from './errors.ts';
import { eachOnce } from './patience.ts';

export interface SupervisionOptions {
  readonly address: Address;
  /** The name of the node. */
  readonly node: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Starts the actor again. */
  start(): Promise<void>;
  /** The actor stays stopped here: it is for others now, or needs somebody who looks into it. */
  giveUp(error: Error): void;
  /** Whether a start that fails counts as one more failure; otherwise it is tried until it succeeds. */
  readonly countsStarts: boolean;
  onError(error: unknown, what: string): void;
}

export interface Supervision {
  failed(error: Error): void;
  /** Starts nothing from now on. */
  end(): void;
  /** Begins to count anew. */
  renew(): void;
}

/** How often an actor that fails is started again before it stays stopped and its place is left to others. */
const MAX_RESTARTS = 5;
/** One that ran for this long without failing, ms, is given all its restarts again. */
const CALM_MS = 600_000;
/** How long to wait, ms, when the journal cannot be read to start an actor again: a server may be on its way back. */
const RESTART_PAUSE_MS = 1_000;

export function supervision(options: SupervisionOptions): Supervision {
  const { address, node, clock, logger, onError } = options;
  let ended = false;
  let restarts = 0;
  let failedAt = 0;
  let pause: Timer | undefined;
  /** Counts the beginnings: what was begun before the last one means nothing any more. */
  let life = 0;
  let tellOnce = eachOnce(onError);

  function restart(): void {
    if (ended) return;
    const mine = life;
    options.start().catch((error) => {
      if (ended || mine !== life) return;
      if (isFenced(error)) return options.giveUp(error);
      tellOnce(error, `the restart of '${address}'`);
      if (options.countsStarts && !mayRestart()) return options.giveUp(error);
      pause = clock.after(RESTART_PAUSE_MS, restart);
    });
  }

  function mayRestart(): boolean {
    restarts += 1;
    return restarts <= MAX_RESTARTS;
  }

  return {
    failed(error) {
      if (ended) return;
      logger.error({ node, actor: address, error: error.stack }, error.message);
      // Another owner has taken over: what still comes here is for that one.
      if (isFenced(error)) return options.giveUp(error);
      tellOnce = eachOnce(onError);
      if (clock.monotonic() - failedAt > CALM_MS) restarts = 0;
      failedAt = clock.monotonic();
      if (mayRestart()) return restart();
      logger.fatal({ node, actor: address }, `'${address}' fails again and again; it stays stopped`);
      // Still served, it would keep every other node from taking it up.
      options.giveUp(error);
    },
    end() {
      ended = true;
      life += 1;
      pause?.cancel();
    },
    renew() {
      ended = false;
      life += 1;
      restarts = 0;
    },
  };
}

function isFenced(error: unknown): boolean {
  return error instanceof CellwrightError && error.code === 'fenced';
}
