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
  return new Supervisor(options);
}

/** A class, for a process may have thousands of them: its methods are made once. */
class Supervisor implements Supervision {
  readonly #options: SupervisionOptions;
  #isEnded = false;
  #restarts = 0;
  #failedAt = 0;
  #pause: Timer | undefined;
  /** Counts the beginnings: what was begun before the last one means nothing any more. */
  #life = 0;
  #tellOnce: SupervisionOptions['onError'];

  constructor(options: SupervisionOptions) {
    this.#options = options;
    this.#tellOnce = options.onError;
  }

  failed(error: Error): void {
    if (this.#isEnded) return;
    const { address, node, clock, logger, onError, giveUp } = this.#options;
    logger.error({ node, actor: address, error: error.stack }, error.message);
    // Another owner has taken over: what still comes here is for that one.
    if (isFenced(error)) return giveUp(error);
    this.#tellOnce = eachOnce(onError);
    if (clock.monotonic() - this.#failedAt > CALM_MS) this.#restarts = 0;
    this.#failedAt = clock.monotonic();
    if (this.#mayRestart()) return this.#restart();
    logger.fatal({ node, actor: address }, `'${address}' fails again and again; it stays stopped`);
    // Still served, it would keep every other node from taking it up.
    giveUp(error);
  }

  end(): void {
    this.#isEnded = true;
    this.#life += 1;
    this.#pause?.cancel();
  }

  renew(): void {
    this.#isEnded = false;
    this.#life += 1;
    this.#restarts = 0;
  }

  #restart(): void {
    if (this.#isEnded) return;
    const { address, clock, start, countsStarts, giveUp } = this.#options;
    const life = this.#life;
    start().catch((error) => {
      if (this.#isEnded || life !== this.#life) return;
      if (isFenced(error)) return giveUp(error);
      this.#tellOnce(error, `the restart of '${address}'`);
      if (countsStarts && !this.#mayRestart()) return giveUp(error);
      this.#pause = clock.after(RESTART_PAUSE_MS, () => this.#restart());
    });
  }

  #mayRestart(): boolean {
    this.#restarts += 1;
    return this.#restarts <= MAX_RESTARTS;
  }
}

function isFenced(error: unknown): boolean {
  return error instanceof CellwrightError && error.code === 'fenced';
}
