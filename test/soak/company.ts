// Load beside the workload: requests that wait for a host, whole hosts among them, groups of instances that keep together
// or apart, deletes at any moment, and an operator who takes hosts out of service and puts them back.

import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '../../runtime/client.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import type { BuildRequest } from '../../runtime/gateway/requests.ts';
import type { Random } from '../../runtime/random.ts';
import { type FleetHost, instanceIds } from '../../runtime/workload/workload.ts';

export interface CompanyOptions {
  readonly client: Client;
  readonly hosts: readonly FleetHost[];
  readonly random: Random;
  /** Requests a second. */
  readonly rate: number;
  readonly signal: AbortSignal;
}

export interface Company {
  /** The instances of requests that were accepted. */
  readonly accepted: readonly string[];
  /** Requests that were not. */
  readonly refused: number;
}

const GROUPS = [
  { name: 'apart', policy: 'anti-affinity', maxPerHost: 1 },
  { name: 'pairs', policy: 'anti-affinity', maxPerHost: 2 },
  { name: 'close', policy: 'affinity' },
  { name: 'near', policy: 'soft-affinity' },
  { name: 'far', policy: 'soft-anti-affinity' },
] as const;
/** From one host that is taken out of service to the next, in requests. */
const SERVICE_EVERY = 12;
const RETRY_FOR_MS = 60_000;
const RETRY_PAUSE_MS = 250;
const MEAN_LIFE_MS = 8_000;

/** Goes on until the signal; then all hosts are put back, and it ends when all its calls are answered. */
export async function keepCompany({ client, hosts, random, rate, signal }: CompanyOptions): Promise<Company> {
  const accepted: string[] = [];
  const open = new Set<Promise<void>>();
  let refused = 0;
  setMaxListeners(0, signal);
  const whole = Math.min(...hosts.map(({ tree }) => tree.inventories.VCPU?.total ?? Number.POSITIVE_INFINITY));

  function go(work: Promise<void>): void {
    const done: Promise<void> = work.finally(() => open.delete(done));
    open.add(done);
  }

  function requestOf(position: number): BuildRequest {
    const isWhole = random.chance(0.15);
    return {
      id: `x-${position}`,
      count: isWhole ? 1 : random.pick([1, 1, 1, 2, 4]),
      alternates: random.integer(0, 3),
      resources: { VCPU: isWhole ? whole : random.integer(1, 3), MEMORY_MB: 64 },
      project: random.pick(['p1', 'p2']),
      ...(random.chance(0.6) ? { wait: { forMs: random.integer(1_000, 20_000) } } : {}),
      ...(isWhole || random.chance(0.5) ? {} : { instanceGroup: random.pick(GROUPS) }),
    };
  }

  async function build(request: BuildRequest, isDeleted: boolean, lifeMs: number): Promise<void> {
    if (!(await answered(() => client.build(request)))) {
      refused += 1;
      return;
    }
    const instances = instanceIds({ id: request.id as string, count: request.count as number });
    accepted.push(...instances);
    if (!isDeleted) return;
    await delay(lifeMs, undefined, { signal }).catch(() => undefined);
    for (const id of instances) await answered(() => client.delete(id));
  }

  async function outOfService({ cell, host }: FleetHost, forMs: number): Promise<void> {
    await answered(() => client.host({ cell, host, enabled: false, reason: 'soak' }));
    await delay(forMs, undefined, { signal }).catch(() => undefined);
    await answered(() => client.host({ cell, host, enabled: true }));
  }

  for (let position = 0; !signal.aborted; position += 1) {
    await delay(random.integer(0, 2_000 / rate), undefined, { signal }).catch(() => undefined);
    if (signal.aborted) break;
    if (position % SERVICE_EVERY === 0) go(outOfService(random.pick(hosts), random.integer(500, 8_000)));
    go(build(requestOf(position), random.chance(0.85), random.exponential(MEAN_LIFE_MS)));
  }
  await Promise.all(open);
  return { accepted, refused };
}

/** Calls until it is answered for good: true when it was done. All of these may be asked for twice. */
export async function answered(call: () => Promise<unknown>): Promise<boolean> {
  const deadline = Date.now() + RETRY_FOR_MS;
  for (;;) {
    try {
      await call();
      return true;
    } catch (error) {
      if (!(error instanceof CellwrightError)) throw error;
      if (!error.retryable) return false;
      if (Date.now() > deadline) return false;
      await delay(Math.max(RETRY_PAUSE_MS, error.retryAfterMs ?? 0));
    }
  }
}
