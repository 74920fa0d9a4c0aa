// How a soak goes: for how long each instance waited from its request to the end of its build, and so for how long a
// blow held up anything at all.

import type { Bus } from '../../runtime/bus/bus.ts';
import type { Client } from '../../runtime/client.ts';
import type { Struck } from './chaos.ts';

/** One instance, from its request to the end of its build, ms since the epoch. */
interface Wait {
  readonly from: number;
  readonly to: number;
}

export interface Progress {
  /** An instance is asked for now. */
  asked(instance: string): void;
  /** The longest wait that touched one of these blows, and none of the others, ms. */
  longestWaitMs(near: readonly Struck[], others?: readonly Struck[]): number;
  stop(): void;
}

const ENDED = new Set(['active', 'failed', 'deleted', 'lost']);
/** Events may be lost with the server, so those that wait for long are looked at too, ms. */
const LOOK_EVERY_MS = 500;
const MOST_LOOKED_AT = 50;

export function watchProgress(bus: Bus, client: Client): Progress {
  const waits: Wait[] = [];
  const waiting = new Map<string, number>();

  function ended(instance: string): void {
    const from = waiting.get(instance);
    if (from === undefined) return;
    waiting.delete(instance);
    waits.push({ from, to: Date.now() });
  }

  const subscriptions = ['cw.cell.*.build.*.*', 'cw.conductor.*.build.*.*'].map((subject) =>
    bus.subscribe(subject, (message) => {
      const [instance = '', state = ''] = message.subject.split('.').slice(-2);
      if (ENDED.has(state)) ended(instance);
    }),
  );
  const timer = setInterval(() => {
    for (const [instance, from] of [...waiting].slice(0, MOST_LOOKED_AT)) {
      if (Date.now() - from < LOOK_EVERY_MS) continue;
      client.show(instance).then(
        ({ state }) => ENDED.has(state) && ended(instance),
        () => undefined,
      );
    }
  }, LOOK_EVERY_MS);

  return {
    asked(instance) {
      if (!waiting.has(instance)) waiting.set(instance, Date.now());
    },
    longestWaitMs(near, others = []) {
      const touches = ({ from, to }: Wait, { at, healedAt }: Struck) => at <= to && from <= healedAt;
      const touched = waits.filter(
        (wait) => near.some((blow) => touches(wait, blow)) && !others.some((blow) => touches(wait, blow)),
      );
      return Math.max(0, ...touched.map(({ from, to }) => to - from));
    },
    stop() {
      clearInterval(timer);
      for (const subscription of subscriptions) subscription.unsubscribe();
    },
  };
}
