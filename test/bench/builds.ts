// Builds end to end on 5,000 hosts in 10 cells, from the request to active, every one claimed and recorded, with events
// for people unless a figure says otherwise: in memory, and over NATS with journals on JetStream (file storage, one
// replica), all in one process, and with owners, hosts and callers in one each.

import { present } from '../../actors/present.ts';
import type { Bus } from '../../runtime/bus/bus.ts';
import { memoryBus } from '../../runtime/bus/memory.ts';
import { connectNats } from '../../runtime/bus/nats.ts';
import type { Client } from '../../runtime/client.ts';
import { HEADERS } from '../../runtime/frames.ts';
import { startNatsServer } from '../../runtime/nats-server/server.ts';
import { startNode } from '../../runtime/node.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { type Fleet, fleetApart, fleetInOne, HOSTS } from './fleet.ts';
import { aRequest, aStep, type Limits, manySteps, plainRecords, storing } from './limits.ts';
import { ASKED, closedLoop, type Outcome, steadily, watchEvents } from './load.ts';
import { type Figure, progress, type Report } from './report.ts';
import { ownUsage, type Usage, usageOf } from './usage.ts';

const WARM_UP_MS = 5_000;
const FOR_MS = 5_000;
const STEADY_FOR_MS = 8_000;
/** How much of the top rate the latency is taken at. */
const STEADY_SHARE = 0.7;
/** A pace that does not go by the top rate, so that latencies of different versions compare: builds a second. */
const STEADY_PACE = 3_500;
const SCHEDULERS = 4;
/** As many as there are in a public trace of jobs (openb). */
const SIZES = 151;
const COUNT_EVERY_MS = 1;

/** Requests under way, and instances of each; of the last, many more than can be done in good time. */
const LOADS = [
  [1, 1],
  [64, 1],
  [512, 1],
  [2_048, 1],
  [2, 100],
  [8, 100],
  [40, 100],
  [16_384, 1],
] as const;

interface Measured {
  readonly where: string;
  readonly bus: Bus;
  readonly fleet: Fleet;
  readonly report: Report;
  /** The process of the NATS server, if there is one. */
  readonly server?: number;
  readonly limits: Limits;
}

export async function buildsInMemory(limits: Limits, report: Report): Promise<void> {
  progress('a fleet in memory');
  const clock = systemClock();
  const bus = memoryBus({ clock });
  const before = ownUsage(true);
  const fleet = await fleetInOne({ bus, clock });
  try {
    const [after] = await fleet.usage(true);
    const value = ((after as Usage).heapBytes - before.heapBytes) / HOSTS;
    const beside = plainRecords(limits, 1, 1_024);
    report({ name: 'memory for each host', value: value / 1_024, unit: 'KiB', beside });
    const measured = { where: 'in memory', bus, fleet, report, limits };
    await warmUp(measured);
    await allLoads(measured);
  } finally {
    await fleet.stop();
    await bus.close();
  }
}

export async function buildsOverNats(limits: Limits, report: Report): Promise<void> {
  for (const [where, start] of [
    ['over NATS, one process', fleetInOne],
    ['over NATS, owners and hosts apart', fleetApart],
  ] as const) {
    progress(`a fleet ${where}`);
    const server = await startNatsServer({});
    const bus = await connectNats({ servers: server.url, name: 'bench-watch' });
    const fleet = await start({ nats: { servers: server.url } });
    try {
      const measured = { where, bus, fleet, report, server: server.pid, limits };
      await warmUp(measured);
      if (start === fleetApart) await atPace(STEADY_PACE, measured);
      const top = await allLoads(measured);
      await atPace(top * STEADY_SHARE, measured, `${STEADY_SHARE * 100} % of the top rate`);
      if (start === fleetInOne) await memoryOfBuilds(measured);
      else {
        await manySizes(measured);
        await manySchedulers(server.url, measured);
      }
    } finally {
      await fleet.stop();
      await bus.close();
      await server.stop();
    }
  }
  await withoutEvents(limits, report);
}

async function warmUp({ where, bus, fleet }: Measured): Promise<void> {
  const watch = await watchEvents(bus);
  progress(`builds ${where}: warming up`);
  await closedLoop({ client: fleet.client, watch, label: 'warm' }, { inFlight: 512, forMs: WARM_UP_MS });
  watch.stop();
}

/** Answers the top rate of single builds. */
async function allLoads(measured: Measured): Promise<number> {
  const { bus, fleet } = measured;
  const watch = await watchEvents(bus);
  const { client } = fleet;
  let top = 0;
  for (const [inFlight, count] of LOADS) {
    const label = `n${inFlight}c${count}`;
    const name = loadName(inFlight, count);
    const outcome = await used(
      measured,
      name,
      () => closedLoop({ client, watch, label, count }, { inFlight, forMs: FOR_MS }),
      inFlight * count,
    );
    if (count === 1) top = Math.max(top, outcome.perSecond);
  }
  watch.stop();
  return top;
}

/** Runs a load and reports it with what it took. */
async function used(
  { where, fleet, report, server, limits }: Measured,
  name: string,
  load: () => Promise<Outcome>,
  inFlight: number,
): Promise<Outcome> {
  progress(`builds ${where}, ${name}`);
  const before = await fleet.usage();
  const serverUsage = () => (server === undefined ? null : usageOf(server));
  const serverBefore = serverUsage();
  const outcome = await load();
  const after = await fleet.usage();
  const serverAfter = serverUsage();
  const ofServer = serverBefore === null || serverAfter === null ? [] : ([[serverBefore, serverAfter]] as const);
  const { builds, perSecond, p50Ms, p99Ms } = outcome;
  const note = `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms${overloadedWords(outcome)}`;
  const beside = server === undefined ? manySteps(limits) : storing(limits, inFlight);
  const of = `builds ${where}, ${name}`;
  report({ name: of, value: perSecond, unit: 'a second', note, beside });
  report(processorTime(of, [...pairs(before, after), ...ofServer], builds, limits));
  return outcome;
}

const loadName = (inFlight: number, count: number) =>
  `${inFlight} in flight${count === 1 ? '' : `, batches of ${count}`}`;

type BeforeAndAfter = readonly [Usage, Usage];

const pairs = (before: readonly Usage[], after: readonly Usage[]): BeforeAndAfter[] =>
  after.map((one, part) => [before[part] as Usage, one]);

/** By how many processes there are, which they are. */
const PROCESSES: Readonly<Record<number, readonly string[]>> = {
  2: ['the process', 'the server'],
  3: ['callers', 'owners', 'hosts'],
  4: ['callers', 'owners', 'hosts', 'the server'],
};

/** The processor time of each build of a load in all processes together, and in each. */
function processorTime(of: string, processes: readonly BeforeAndAfter[], builds: number, limits: Limits): Figure {
  const each = processes.map(([before, after]) => (after.cpuUs - before.cpuUs) / builds);
  const note = PROCESSES[each.length]?.map((whose, part) => `${Math.round(each[part] as number)} of ${whose}`);
  const value = each.reduce((sum, one) => sum + one, 0);
  const name = `processor time of ${of}`;
  return { name, value, unit: 'us a build', beside: aStep(limits), ...present({ note: note?.join(' + ') }) };
}

/** The latency at a steady pace. */
async function atPace(
  perSecond: number,
  { bus, fleet, where, report, limits }: Measured,
  share?: string,
): Promise<void> {
  const watch = await watchEvents(bus);
  // What earlier loads have left is not this one's.
  await fleet.usage(true);
  const pace = `at ${Math.round(perSecond).toLocaleString('en')} a second`;
  progress(`builds ${where} ${pace}`);
  const load = (label: string) => ({
    client: fleet.client,
    watch,
    label: `${label}${share === undefined ? '' : 'share'}`,
  });
  await steadily(load('warmsteady'), { perSecond, forMs: WARM_UP_MS });
  const outcome = await steadily(load('steady'), { perSecond, forMs: STEADY_FOR_MS });
  watch.stop();
  const beside = aRequest(limits);
  for (const [which, value] of [
    ['p50', outcome.p50Ms],
    ['p99', outcome.p99Ms],
  ] as const) {
    const name = share === undefined ? `builds ${where} ${pace}, ${which}` : `builds ${where}, ${which}`;
    const note = `${share === undefined ? 'steady' : `${pace}, ${share}`}${overloadedWords(outcome)}`;
    report({ name, value, unit: 'ms', note, beside });
  }
}

function overloadedWords({ turnedAway }: Outcome): string {
  return turnedAway === 0 ? '' : `; ${turnedAway} turned away: the machine was much slower than before`;
}

async function memoryOfBuilds({ where, bus, fleet, report, limits }: Measured): Promise<void> {
  const watch = await watchEvents(bus);
  progress('memory of builds');
  const before = await fleet.usage(true);
  const total = 50_000;
  const load = { client: fleet.client, watch, label: 'kept', count: 100 };
  await closedLoop(load, { inFlight: 16, total });
  const after = await fleet.usage(true);
  watch.stop();
  const sum = (usages: readonly Usage[]) => usages.reduce((bytes, { heapBytes }) => bytes + heapBytes, 0);
  const value = (sum(after) - sum(before)) / total / 1_024;
  const note = 'of active instances, all actors';
  const beside = plainRecords(limits, 1, 1_024);
  report({ name: `memory for each build, ${where}`, value, unit: 'KiB', note, beside });
}

/** Requests of many sizes, as those of containers and jobs are: hosts are ranked for each. */
async function manySizes(measured: Measured): Promise<void> {
  const watch = await watchEvents(measured.bus);
  for (const [inFlight, count] of [
    [512, 1],
    [40, 100],
  ] as const) {
    const load = { client: measured.fleet.client, watch, label: `sizes${inFlight}`, count, sizes: SIZES };
    const name = `${loadName(inFlight, count)}, of ${SIZES} sizes`;
    await used(measured, name, () => closedLoop(load, { inFlight, forMs: FOR_MS }), inFlight * count);
  }
  watch.stop();
}

/** How often schedulers that know nothing of each other run into each other. */
async function manySchedulers(url: string, measured: Measured): Promise<void> {
  const { bus, fleet, report } = measured;
  const more = await Promise.all(
    Array.from({ length: SCHEDULERS - 1 }, () => startNode({ roles: ['scheduler'], nats: { servers: url } })),
  );
  let refused = 0;
  const { unsubscribe } = bus.subscribe('cw.placement.claim.*.refused', () => {
    refused += 1;
  });
  const watch = await watchEvents(bus);
  const load = { client: fleet.client, watch, label: 'many' };
  try {
    progress(`${SCHEDULERS} schedulers`);
    await closedLoop({ ...load, label: 'manywarm' }, { inFlight: 512, forMs: 2_000 });
    refused = 0;
    const name = `512 in flight, ${SCHEDULERS} schedulers`;
    const { builds } = await used(measured, name, () => closedLoop(load, { inFlight: 512, forMs: FOR_MS }), 512);
    const value = (refused / builds) * 1_000;
    const beside = { name: 'the claims granted', value: 1_000 };
    report({ name: `claims refused with ${SCHEDULERS} schedulers, in 1,000 builds`, value, unit: '', beside });
  } finally {
    watch.stop();
    unsubscribe();
    await Promise.all(more.map((node) => node.stop()));
  }
}

/** The same without events for people; that builds are over is then seen in what conductors are told. */
async function withoutEvents(limits: Limits, report: Report): Promise<void> {
  for (const { where, start, inFlight, count, total } of [
    { where: 'one process', start: fleetInOne, inFlight: 512, count: 1, total: 30_000 },
    { where: 'owners and hosts apart', start: fleetApart, inFlight: 40, count: 100, total: 60_000 },
  ]) {
    const name = `builds over NATS, ${where}, without events, ${loadName(inFlight, count)}`;
    progress(name);
    const server = await startNatsServer({});
    const bus = await connectNats({ servers: server.url, name: 'bench-watch' });
    const fleet = await start({ nats: { servers: server.url }, events: false });
    try {
      const load = { client: fleet.client, built: countEnded(bus), inFlight, count };
      await bus.flush();
      await builtWithoutEvents({ ...load, label: 'warm', total: total / 2 });
      const before = await fleet.usage();
      const begun = performance.now();
      await builtWithoutEvents({ ...load, label: 'run', total });
      const value = (total / (performance.now() - begun)) * 1_000;
      report({ name, value, unit: 'a second', beside: storing(limits, inFlight * count) });
      report(processorTime(name, pairs(before, await fleet.usage()), total, limits));
    } finally {
      await fleet.stop();
      await bus.close();
      await server.stop();
    }
  }
}

/** Counts the builds of which conductors are told that they have ended, by the headers that say so. */
function countEnded(bus: Bus): () => number {
  let ended = 0;
  bus.subscribe('cw.conductor.*', ({ headers }) => {
    for (const [, many = '1'] of (headers[HEADERS.type] ?? '').matchAll(/(?:^| )ended(?:\*(\d+))?/g))
      ended += Number(many);
  });
  return () => ended;
}

interface LoadWithoutEvents {
  readonly client: Client;
  readonly label: string;
  readonly built: () => number;
  /** Requests under way. */
  readonly inFlight: number;
  /** Instances of each. */
  readonly count: number;
  readonly total: number;
}

async function builtWithoutEvents(load: LoadWithoutEvents): Promise<void> {
  const { client, label, built, inFlight, count, total } = load;
  const before = built();
  const done = () => built() - before;
  for (let asked = 0; done() < total; ) {
    const underWay = Math.ceil((asked * count - done()) / count);
    const free = Math.min(total / count - asked, inFlight - underWay);
    if (free > 0) {
      const ids = Array.from({ length: free }, () => `${label}x${asked++}`);
      await Promise.all(ids.map((id) => client.build({ id, count, ...ASKED })));
    } else {
      await new Promise((resolve) => setTimeout(resolve, COUNT_EVERY_MS));
    }
  }
}
