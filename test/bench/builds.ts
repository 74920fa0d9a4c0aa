// Builds end to end, from the request to active, every one claimed and recorded: in memory, and over NATS with journals
// on JetStream (file storage, one replica), everything in this one process beside the server.

import type { Bus } from '../../runtime/bus/bus.ts';
import { memoryBus } from '../../runtime/bus/memory.ts';
import { connectNats } from '../../runtime/bus/nats.ts';
import type { Driver } from '../../runtime/drivers/driver.ts';
import { type Node, type NodeOptions, startNode } from '../../runtime/node.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import type { Figure } from './bench.ts';
import type { Limits } from './limits.ts';

type Report = (figure: Figure) => void;

const HOSTS = 1_000;
const CELLS = 4;
const FOR_MS = 6_000;

/** A driver whose builds are done at once. */
function instantDriver(host: string): Driver {
  const running = new Map<string, { instance: string; attempt: number }>();
  return {
    async build({ instance, attempt }) {
      running.set(`${instance} ${attempt}`, { instance, attempt });
      return { outcome: 'built' };
    },
    async destroy(instance, attempt) {
      running.delete(`${instance} ${attempt}`);
    },
    list: async () => [...running.values()],
    inventory: async () => ({
      name: host,
      inventories: { VCPU: { total: 100_000 }, MEMORY_MB: { total: 100_000_000 } },
    }),
    capabilities: async () => [],
    async close() {},
  };
}

async function fleet(options: Partial<NodeOptions>): Promise<Node> {
  const roles = ['placement', 'scheduler', 'conductor'];
  for (let cell = 1; cell <= CELLS; cell += 1) roles.push(`cell:c${cell}`);
  for (let host = 0; host < HOSTS; host += 1) roles.push(`compute:c${(host % CELLS) + 1}/h${host}`);
  return startNode({ roles, driver: ({ host }) => instantDriver(host), ...options });
}

/** Keeps so many builds under way for a while; with events, counts those that became active. */
async function run(
  bus: Bus,
  node: Node,
  label: string,
  inFlight: number,
  count: number,
): Promise<{ rate: number; p50: number; p99: number; cpuUs: number }> {
  const begunAt = new Map<string, number>();
  const waiting = new Map<string, () => void>();
  const tookMs: number[] = [];
  const subscription = bus.subscribe('cw.cell.*.build.*.active', ({ subject }) => {
    const instance = subject.split('.')[4] ?? '';
    const request = count === 1 ? instance : instance.replace(/-\d+$/, '');
    const at = begunAt.get(request);
    if (at !== undefined) tookMs.push(performance.now() - at);
    waiting.get(instance)?.();
    waiting.delete(instance);
  });
  await bus.flush();
  const end = performance.now() + FOR_MS;
  const cpu = process.cpuUsage();
  const begun = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (performance.now() < end) {
        const id = `${label}${next++}x`;
        const names = count === 1 ? [id] : Array.from({ length: count }, (_, n) => `${id}-${n}`);
        begunAt.set(id, performance.now());
        const active = Promise.all(names.map((name) => new Promise<void>((resolve) => waiting.set(name, resolve))));
        await node.client.build({ id, count, alternates: 2, resources: { VCPU: 1, MEMORY_MB: 512 } });
        await active;
        begunAt.delete(id);
      }
    }),
  );
  const seconds = (performance.now() - begun) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  subscription.unsubscribe();
  tookMs.sort((one, other) => one - other);
  const at = (share: number) => tookMs[Math.floor(tookMs.length * share)] ?? 0;
  return {
    rate: tookMs.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
    cpuUs: (user + system) / Math.max(1, tookMs.length),
  };
}

async function measure(
  where: string,
  bus: Bus,
  node: Node,
  report: Report,
  beside?: (inFlight: number) => Figure['beside'],
): Promise<void> {
  for (const [inFlight, count] of [
    [1, 1],
    [64, 1],
    [512, 1],
    [4, 100],
  ] as const) {
    const { rate, p50, p99, cpuUs } = await run(bus, node, `b${inFlight}c${count}n`, inFlight, count);
    const name = `builds ${where}, ${inFlight} in flight${count === 1 ? '' : `, batches of ${count}`}`;
    const limit = beside?.(inFlight);
    const note = `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${Math.round(cpuUs)} us of this process a build`;
    report({ name, value: rate, unit: 'a second', note, ...(limit === undefined ? {} : { beside: limit }) });
  }
}

export async function buildsInMemory(report: Report): Promise<void> {
  const clock = systemClock();
  const bus = memoryBus({ clock });
  const node = await fleet({ bus, clock });
  try {
    await measure('in memory', bus, node, report);
  } finally {
    await node.stop();
    await bus.close();
  }
}

export async function buildsOverNats(url: string, limits: Limits, report: Report): Promise<void> {
  const node = await fleet({ nats: { servers: url } });
  const bus = await connectNats({ servers: url, name: 'bench-watch' });
  try {
    await measure('over NATS', bus, node, report, (inFlight) => {
      const nearest = inFlight >= 256 ? 256 : inFlight >= 64 ? 64 : 1;
      const value = limits.stored.get(nearest);
      return value === undefined ? undefined : { name: `bare JetStream publish, ${nearest} in flight`, value };
    });
  } finally {
    await bus.close();
    await node.stop();
  }
}
