// The two stages on which a world runs: in memory, where time passes only as it is needed and the same calls give the
// same run, and over a NATS server, in real time.

import type { Bus } from '../../runtime/bus/bus.ts';
import { memoryServer } from '../../runtime/bus/memory.ts';
import { connectNats } from '../../runtime/bus/nats.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { until } from './until.ts';
import type { Paces, Stage } from './world.ts';

/** No condition of a test takes longer than this, in virtual time. */
const LONGEST_WAIT_MS = 600_000;
/** Times of silence in a row after which nothing is taken to be under way. */
const QUIET_ROUNDS = 4;

/** Deadlines and paces as they are by default, but for a scheduler that need not wait for others. */
export const USUAL_PACES: Paces = {
  conductor: { requestedMs: 120_000 },
  cell: { claimedMs: 40_000, buildingMs: 300_000, silentMs: 15_000 },
  compute: { heartbeatMs: 5_000 },
  scheduler: { warmUpMs: 2_500 },
};

const SHORT_MS = 1_000;
const SILENT_MS = 2_000;
const NEVER_MS = 600_000;

/**
 * For real time: what is to run out runs out soon, and nothing else ever does, however busy the machine is.
 * @param runsOut The state that is to time out, or `silent` for a host that is to be lost.
 */
export function shortPaces(runsOut: 'requested' | 'claimed' | 'building' | 'silent' | null): Paces {
  const limitOf = (what: typeof runsOut) => (what === runsOut ? SHORT_MS : NEVER_MS);
  const patience = { firstMs: 150, mostMs: 300 };
  return {
    conductor: { requestedMs: limitOf('requested'), patience },
    cell: {
      claimedMs: limitOf('claimed'),
      buildingMs: limitOf('building'),
      silentMs: runsOut === 'silent' ? SILENT_MS : NEVER_MS,
      patience,
    },
    compute: { heartbeatMs: 100, patience },
    scheduler: { warmUpMs: 100, patience },
  };
}

export function memoryStage(): Stage {
  const clock = virtualClock({ startMs: 1_700_000_000_000 });
  const server = memoryServer({ clock });
  const tick = () => new Promise((resolve) => setImmediate(resolve));

  async function waitFor(what: string, holds: () => boolean): Promise<void> {
    const deadline = clock.now() + LONGEST_WAIT_MS;
    await clock.runAsync(() => holds() || clock.now() > deadline);
    if (!holds()) throw new Error(`still not so after ${LONGEST_WAIT_MS} ms of virtual time: ${what}`);
  }

  return {
    clock,
    prefix: 'cw',
    connect: async () => server.connect(),
    async run(work) {
      let over = false;
      const end = () => {
        over = true;
      };
      work.then(end, end);
      await waitFor('some work is done', () => over);
      return work;
    },
    until: waitFor,
    async settle() {
      for (let quiet = 0; quiet < QUIET_ROUNDS; quiet += 1) {
        const { pending } = clock;
        clock.advanceTo(clock.now());
        await tick();
        if (clock.pending !== pending) quiet = 0;
      }
    },
  };
}

/** @param prefix Tells deployments on one server apart. */
export function natsStage(servers: string, prefix: string): Stage & { close(): Promise<void> } {
  const buses: Bus[] = [];
  return {
    clock: systemClock(),
    prefix,
    async connect(name) {
      const bus = await connectNats({ servers, name, onError() {} });
      buses.push(bus);
      return bus;
    },
    run: (work) => work,
    until: (what, holds) => until(what, holds),
    async settle() {
      await Promise.all(buses.map((bus) => bus.flush()));
    },
    async close() {
      await Promise.all(buses.map((bus) => bus.close()));
    },
  };
}
