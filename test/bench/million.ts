// A million builds on 5,000 hosts in 10 cells, asked for by the hundred, from the request to active, over NATS, claimed
// and recorded on disk, with events, by owners in a process and hosts in another, beside the server and this one.

import { connectNats } from '../../runtime/bus/nats.ts';
import { startNatsServer } from '../../runtime/nats-server/server.ts';
import { fleetApart } from './fleet.ts';
import { type Limits, plainRecords, storingOf } from './limits.ts';
import { closedLoop, watchEvents } from './load.ts';
import type { Report } from './report.ts';
import { type Usage, usageOf } from './usage.ts';

const TOTAL = 1_000_000;
const BATCH = 100;
const BATCHES_IN_FLIGHT = 40;
/** Lets the heap grow by less before what is dead in it is collected: it is the memory that counts here too. */
const FLAGS = ['--heap-growing-percent=30', '--max-semi-space-size=32'];
const TELL_EVERY = 25_000;

export async function million(limits: Limits, report: Report): Promise<void> {
  const server = await startNatsServer({});
  const bus = await connectNats({ servers: server.url, name: 'bench-watch' });
  const fleet = await fleetApart({ nats: { servers: server.url } }, FLAGS);
  const watch = await watchEvents(bus);
  let most = 0;
  const memory = async (): Promise<number> => {
    const usages = [...(await fleet.usage()), usageOf(server.pid)];
    const bytes = usages.reduce((sum: number, one: Usage | null) => sum + (one?.residentBytes ?? 0), 0);
    most = Math.max(most, bytes);
    return bytes;
  };
  try {
    const begun = performance.now();
    let told = 0;
    const load = { client: fleet.client, watch, label: 'million', count: BATCH };
    const outcome = await closedLoop(load, { inFlight: BATCHES_IN_FLIGHT, total: TOTAL }, (built) => {
      if (built < told + TELL_EVERY) return;
      told = built;
      const seconds = (performance.now() - begun) / 1_000;
      void memory().then((bytes) => {
        const gib = (bytes / 2 ** 30).toFixed(2);
        const rate = Math.round(built / seconds).toLocaleString('en');
        console.error(`  ${built.toLocaleString('en')} builds, ${seconds.toFixed(0)} s, ${rate} a second, ${gib} GiB`);
      });
    });
    await memory();
    const { seconds, perSecond, p50Ms, p99Ms, builds } = outcome;
    const note = `${Math.round(perSecond).toLocaleString('en')} a second, ${BATCHES_IN_FLIGHT} requests for ${BATCH} each under way, Node with ${FLAGS.join(' ')}, p50 ${p50Ms.toFixed(0)} ms, p99 ${p99Ms.toFixed(0)} ms`;
    const beside = storingOf(limits, TOTAL);
    report({ name: `${builds.toLocaleString('en')} builds`, value: seconds, unit: 's', beside, note });
    report({
      name: 'memory of all processes, the server too, at most',
      value: most / 2 ** 30,
      unit: 'GiB',
      beside: plainRecords(limits, TOTAL, 2 ** 30),
    });
  } finally {
    watch.stop();
    await fleet.stop();
    await bus.close();
    await server.stop();
  }
}
