// Ctrl-C and its kin as an AbortSignal, so that a command ends what it began. A second one ends the process at once,
// as if nobody had listened.

import { setMaxListeners } from 'node:events';

export interface Interrupt {
  readonly signal: AbortSignal;
  /** Resolves when the signal has come. */
  readonly happened: Promise<void>;
  /** Stops listening. */
  dispose(): void;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

export function onInterrupt(): Interrupt {
  const controller = new AbortController();
  // Every connection, wait and process of a command listens to it.
  setMaxListeners(0, controller.signal);
  const dispose = () => {
    for (const name of SIGNALS) process.off(name, abort);
  };
  const abort = () => {
    dispose();
    controller.abort();
  };
  for (const name of SIGNALS) process.on(name, abort);
  const happened = new Promise<void>((resolve) => {
    controller.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  return { signal: controller.signal, happened, dispose };
}
