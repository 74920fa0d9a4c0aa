// A bus of the caller's outlives the node that it is lent to. For the client of that node it ends with the node, as a
// bus of the node's own does: else whoever waits for a build waits on, for minutes, and keeps the process alive.

import { CellwrightError } from '../errors.ts';
import type { Bus } from './bus.ts';

/** What a client needs of a bus. */
export type ClientBus = Pick<Bus, 'request' | 'subscribe' | 'maxPayloadBytes' | 'ending'>;

/** The bus until `end`; from then on it is `closed`. What was asked before is still answered. */
export function lentBus(bus: ClientBus): { bus: ClientBus; end(): void } {
  let hasEnded = false;
  let end = () => {};
  const over = new Promise<void>((resolve) => {
    end = () => {
      hasEnded = true;
      resolve();
    };
  });
  const ending = bus.ending === undefined ? over : Promise.race([over, bus.ending]);
  const closed = () => new CellwrightError('closed', 'the node has stopped');
  return {
    bus: {
      ending,
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
    end: () => end(),
  };
}
