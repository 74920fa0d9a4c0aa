// Whether a server has fallen silent: one that hangs, or is away, would have whoever ends wait for each of his last words.

import type { Clock, Timer } from '../clock.ts';
import { within } from '../within.ts';
import type { Bus } from './bus.ts';

export interface Silence {
  /** Resolves once the server has not answered for so long. */
  readonly begun: Promise<void>;
  /** Asks no more. */
  end(): void;
}

/** How soon it is asked again after an answer, ms. */
const AGAIN_MS = 500;

/** Asks the server from now on whether it is there. @param limitMs For how long it may say nothing. */
export function silenceOf(bus: Pick<Bus, 'flush'>, clock: Clock, limitMs: number): Silence {
  let isOver = false;
  let again: Timer | undefined;
  const begun = new Promise<void>((resolve) => {
    const ask = async () => {
      const isAnswered = await within(limitMs, bus.flush(), clock);
      if (!isAnswered) resolve();
      else if (!isOver) again = clock.after(AGAIN_MS, () => void ask());
    };
    void ask();
  });
  return {
    begun,
    end() {
      isOver = true;
      again?.cancel();
    },
  };
}
