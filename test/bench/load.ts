// The load: builds asked for one after the other by so many callers, or at a steady pace whatever becomes of them; each
// is timed from the call until it is told to be active.

import type { Bus } from '../../runtime/bus/bus.ts';
import type { Client } from '../../runtime/client.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import { quantile } from './report.ts';

export const ASKED = { alternates: 2, resources: { VCPU: 1, MEMORY_MB: 512 } } as const;

export interface Outcome {
  readonly builds: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** How often requests were turned away, because what was asked is more than can be done. */
  readonly turnedAway: number;
}

/** Hears which builds become active. */
export interface Watch {
  /** Resolves when as many instances of a request are active. */
  active(request: string, count: number): Promise<void>;
  /** Nobody waits for it any more. */
  forget(request: string): void;
  stop(): void;
}

/** How long a build may take before the benchmark fails, ms. */
const BUILT_WITHIN_MS = 60_000;

export async function watchEvents(bus: Bus): Promise<Watch> {
  const waiting = new Map<string, { left: number; resolve(): void }>();
  const { unsubscribe } = bus.subscribe('cw.cell.*.build.*.active', ({ subject }) => {
    const end = subject.lastIndexOf('.');
    const instance = subject.slice(subject.lastIndexOf('.', end - 1) + 1, end);
    const request = instance.includes('-') ? instance.slice(0, instance.lastIndexOf('-')) : instance;
    const one = waiting.get(request);
    if (one === undefined) return;
    one.left -= 1;
    if (one.left > 0) return;
    waiting.delete(request);
    one.resolve();
  });
  await bus.flush();
  return {
    active: (request, left) => new Promise((resolve) => waiting.set(request, { left, resolve })),
    forget: (request) => void waiting.delete(request),
    stop: unsubscribe,
  };
}

export interface Load {
  readonly client: Client;
  readonly watch: Watch;
  /** Names the requests, differently for each load. */
  readonly label: string;
  /** Instances of each request; default 1. */
  readonly count?: number;
  /** How many different amounts of resources are asked for, in no order; default 1. */
  readonly sizes?: number;
}

/** A stride that visits all sizes, in no order that could help. */
const STRIDE = 7_919;

/** What the request of a number asks for, where there are so many sizes. */
export function resourcesOf(n: number, sizes: number): { readonly VCPU: number; readonly MEMORY_MB: number } {
  if (sizes === 1) return ASKED.resources;
  const size = (n * STRIDE) % sizes;
  return { VCPU: 1 + (size % 10), MEMORY_MB: 256 * (1 + Math.floor(size / 10)) };
}

/** Builds with so many requests under way, for so long or until so many are built. */
export async function closedLoop(
  { client, watch, label, count = 1, sizes = 1 }: Load,
  { inFlight, forMs = Infinity, total = Infinity }: { inFlight: number; forMs?: number; total?: number },
  onBuilt: (built: number) => void = () => {},
): Promise<Outcome> {
  const tookMs: number[] = [];
  const begun = performance.now();
  const end = begun + forMs;
  let asked = 0;
  let built = 0;
  let turnedAway = 0;
  const onTurnedAway = () => {
    turnedAway += 1;
  };
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (performance.now() < end && asked * count < total) {
        const resources = resourcesOf(asked, sizes);
        tookMs.push(await once(client, watch, `${label}x${asked++}`, count, resources, onTurnedAway));
        built += count;
        onBuilt(built);
      }
    }),
  );
  return { ...outcomeOf(tookMs, count, begun), turnedAway };
}

/** Asks at a steady pace, however long the answers take: a build is timed from when it was due. */
export async function steadily(
  { client, watch, label }: Load,
  { perSecond, forMs }: { perSecond: number; forMs: number },
): Promise<Outcome> {
  const tookMs: number[] = [];
  const begun = performance.now();
  const underWay: Promise<void>[] = [];
  let turnedAway = 0;
  const isTurnedAway = (error: unknown) => {
    insistPassing(error);
    turnedAway += 1;
    return BUILT_WITHIN_MS;
  };
  for (let asked = 0; ; ) {
    const elapsed = performance.now() - begun;
    if (elapsed >= forMs) break;
    for (; asked < (elapsed / 1_000) * perSecond; asked += 1) {
      const lateMs = elapsed - (asked / perSecond) * 1_000;
      const took = once(client, watch, `${label}x${asked}`, 1).catch(isTurnedAway);
      underWay.push(took.then((ms) => void tookMs.push(ms + lateMs)));
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(underWay);
  return { ...outcomeOf(tookMs, 1, begun), turnedAway };
}

/** @throws What asking again would not help. */
function insistPassing(error: unknown): asserts error is CellwrightError {
  if (!(error instanceof CellwrightError) || !error.retryable) throw error;
}

/** @param onTurnedAway Told of each time that it is to be asked again, which it is; default: it fails. */
async function once(
  client: Client,
  watch: Watch,
  id: string,
  count: number,
  resources: Readonly<Record<string, number>> = ASKED.resources,
  onTurnedAway?: () => void,
): Promise<number> {
  const begun = performance.now();
  const active = watch.active(id, count);
  const late = setTimeout(() => {
    throw new Error(`the builds of '${id}' are not active after ${BUILT_WITHIN_MS} ms`);
  }, BUILT_WITHIN_MS);
  try {
    for (;;) {
      try {
        await client.build({ id, count, ...ASKED, resources });
        break;
      } catch (error) {
        if (onTurnedAway === undefined) throw error;
        insistPassing(error);
        onTurnedAway();
        await new Promise((resolve) => setTimeout(resolve, error.retryAfterMs ?? 0));
      }
    }
    await active;
  } finally {
    clearTimeout(late);
    watch.forget(id);
  }
  return performance.now() - begun;
}

function outcomeOf(tookMs: readonly number[], count: number, begun: number): Outcome {
  const seconds = (performance.now() - begun) / 1_000;
  const builds = tookMs.length * count;
  const perSecond = builds / seconds;
  return { builds, seconds, perSecond, p50Ms: quantile(tookMs, 0.5), p99Ms: quantile(tookMs, 0.99), turnedAway: 0 };
}
