// How a soak goes: for how long each instance waited from its request to the end of its build, and so for how long a
// blow held up anything at all.

import type { Bus } from '../../runtime/bus/bus.ts';
import type { Client } from '../../runtime/client.ts';
import type { Struck } from './chaos.ts';

/** One instance, from its request to the end of its build, ms since the epoch. */
interface Span {
  readonly from: number;
  readonly to: number;
}

/** How long an instance waited, ms, and what was struck meanwhile. */
export interface Wait {
  readonly ms: number;
  readonly blows: readonly Struck[];
}

export interface Progress {
  /** An instance is asked for now. */
  asked(instance: string): void;
  /** The waits that touched any of these blows, longest first. */
  waitsNear(blows: readonly Struck[]): Wait[];
  stop(): void;
}

const ENDED = new Set(['active', 'failed', 'deleted', 'lost']);
/** Events may be lost with the server, so those that wait for long are looked at too, ms. */
const LOOK_EVERY_MS = 500;
const MOST_LOOKED_AT = 50;

export function watchProgress(bus: Bus, client: Client): Progress {
  const waits: Span[] = [];
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
    waitsNear(blows) {
      const touches = ({ from, to }: Span, { at, healedAt }: Struck) => at <= to && from <= healedAt;
      return waits
        .map((span) => ({ ms: span.to - span.from, blows: blows.filter((blow) => touches(span, blow)) }))
        .filter(({ blows: touched }) => touched.length > 0)
        .sort((one, other) => other.ms - one.ms);
    },
    stop() {
      clearInterval(timer);
      for (const subscription of subscriptions) subscription.unsubscribe();
    },
  };
}
