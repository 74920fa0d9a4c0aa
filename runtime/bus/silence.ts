// Whether a server has fallen silent: one that hangs, or is away, would have whoever ends wait for each of his last words.

import type { Clock, Timer } from '../clock.ts';
import type { Bus } from './bus.ts';

export interface Silence {
  /** Resolves once the server has not answered for so long, or cannot be asked any more. */
  readonly begun: Promise<void>;
  /** Asks no more, and waits for no answer: the client gives none to what was asked when its connection is closed. */
  end(): void;
}

/** How soon it is asked again after an answer, ms. */
const AGAIN_MS = 500;

/** Asks the server from now on whether it is there. @param limitMs For how long it may say nothing. */
export function silenceOf(bus: Pick<Bus, 'flush'>, clock: Clock, limitMs: number): Silence {
  let isOver = false;
  let timer: Timer | undefined;
  const begun = new Promise<void>((resolve) => {
    const ask = (): void => {
      timer = clock.after(limitMs, over);
      bus.flush().then(answered, over);
    };
    const answered = (): void => {
      if (isOver) return;
      timer?.cancel();
      timer = clock.after(AGAIN_MS, ask);
    };
    const over = (): void => {
      end();
      resolve();
    };
    ask();
  });

  function end(): void {
    isOver = true;
    timer?.cancel();
  }

  return { begun, end };
}
