// A bus of the caller's outlives the node that it is lent to. For the client of that node it ends with the node, as a
// bus of the node's own does: else whoever waits for a build waits on, for minutes, and keeps the process alive.

import { CellwrightError } from '../errors.ts';
import { withResolvers } from '../with-resolvers.ts';
import type { Bus } from './bus.ts';

/** What a client needs of a bus. */
export type ClientBus = Pick<Bus, 'request' | 'subscribe' | 'maxPayloadBytes' | 'ending'>;

/** The bus until `end`; from then on it is `closed`. What was asked before is still answered. */
export function lentBus(bus: ClientBus): { bus: ClientBus; end(): void } {
  let hasEnded = false;
  const over = withResolvers();
  const leave = whenEnding(bus, over.resolve);
  const closed = () => new CellwrightError('closed', 'the node has stopped');
  return {
    bus: {
      ending: over.promise,
      get maxPayloadBytes() {
        return bus.maxPayloadBytes;
      },
      async request(subject, data, options) {
        if (hasEnded) throw closed();
        return bus.request(subject, data, options);
      },
      subscribe(subject, handler, options) {
        if (hasEnded) throw closed();
        return bus.subscribe(subject, handler, options);
      },
    },
    end() {
      hasEnded = true;
      leave();
      over.resolve();
    },
  };
}

/** By the ending of each bus: a promise would keep whoever waits for it, though he has left. */
const waiting = new WeakMap<Promise<void>, Set<() => void>>();

/** Calls `act` when the bus is being closed, unless it is left before. */
function whenEnding({ ending }: ClientBus, act: () => void): () => void {
  if (ending === undefined) return () => {};
  const acts = waiting.get(ending) ?? new Set();
  if (!waiting.has(ending)) {
    waiting.set(ending, acts);
    void ending.then(() => {
      // Whoever comes from now on waits anew, and is told at once.
      waiting.delete(ending);
      for (const each of acts) each();
    });
  }
  acts.add(act);
  return () => void acts.delete(act);
}
