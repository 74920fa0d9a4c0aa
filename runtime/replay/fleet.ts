// The fleet of a replay: one node that plays every role for a workload's cells and hosts, each host with a fake driver
// of the wanted build times and failures. It plays nothing itself.

import { cellAddress } from '../../actors/routing.ts';
import type { OnHost } from '../audit/differences.ts';
import { allPages } from '../audit/pages.ts';
import type { Driver } from '../drivers/driver.ts';
import { type FakeFailure, fakeDriver, type TimeRange } from '../drivers/fake.ts';
import { CellwrightError } from '../errors.ts';
import { type Node, startNode } from '../node.ts';
import { seededRandom } from '../random.ts';
import type { FleetHost } from '../workload/workload.ts';
import type { Stage } from './stage.ts';
import { lookUntil, throwIfInterrupted } from './waiting.ts';

export interface FleetOptions {
  readonly stage: Stage;
  readonly hosts: readonly FleetHost[];
  /** Decides build times and which builds fail. */
  readonly seed: number | string;
  /** The share of builds that fail on every host, 0 to 1; a flaky host's own failures come on top. */
  readonly failRate: number;
  readonly buildMs: TimeRange;
  /** How long deleted instances stay listed, ms: longer than the replay, whose accounts are made of the lists. */
  readonly rememberDeletedMs: number;
  readonly placementShards?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Fleet {
  readonly node: Node;
  readonly cells: readonly string[];
  /** What the drivers themselves say is on the hosts, whatever their computes believe. */
  onHosts(): Promise<OnHost[]>;
}

/** What goes wrong in real builds, and in which proportion; each is worth another host. */
const BUILD_FAILURES = [
  { reason: 'image could not be fetched', share: 0.5 },
  { reason: 'network could not be attached', share: 0.3 },
  { reason: 'guest did not boot', share: 0.2 },
] as const;
const FLAKY_REASON = 'host is flaky';

const UP_LIMIT_MS = 60_000;
const LOOK_EVERY_MS = 100;
const PAGE = 1_000;

/**
 * Starts the fleet and waits until every host may be given instances.
 * @throws CellwrightError `fleet-not-up` when that takes more than a minute; `interrupted`; what `startNode` throws.
 */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const { stage, hosts, seed, failRate, buildMs, rememberDeletedMs, placementShards, signal } = options;
  const cells = [...new Set(hosts.map(({ cell }) => cell))];
  const byName = new Map(hosts.map((host) => [host.host, host]));
  const drivers = new Map<FleetHost, Driver>();
  const random = seededRandom(seed).fork('drivers');

  function driver({ host }: { host: string }): Driver {
    const told = byName.get(host) as FleetHost;
    const made = fakeDriver({
      host: told.tree,
      clock: stage.clock,
      random,
      buildMs,
      failures: failuresOf(failRate, told.failureRate ?? 0),
      ...(told.traits === undefined ? {} : { traits: told.traits }),
    });
    drivers.set(told, made);
    return made;
  }

  throwIfInterrupted(signal);
  const node = await startNode({
    ...stage.nodeOptions,
    // A name of its own would order equal hosts differently in every run.
    name: 'fleet',
    roles: [
      'placement',
      'scheduler',
      'conductor',
      ...cells.map((cell) => `cell:${cell}`),
      ...hosts.map(({ cell, host }) => `compute:${cell}/${host}`),
    ],
    driver,
    ...(placementShards === undefined ? {} : { placementShards }),
    conductor: { rememberDeletedMs },
  });
  try {
    await untilUp(stage, cells, hosts.length, signal);
  } catch (error) {
    await node.stop();
    throw error;
  }
  return {
    node,
    cells,
    async onHosts() {
      const lists = [...drivers].map(async ([{ cell, host }, one]) =>
        (await one.list()).map(({ instance, attempt }) => ({ cell, host, instance, attempt })),
      );
      return (await Promise.all(lists)).flat();
    },
  };
}

/** The two kinds of failure are independent, as the fake driver wants rates that exclude each other. */
export function failuresOf(failRate: number, flakyRate: number): FakeFailure[] {
  const failures: FakeFailure[] = [];
  if (failRate > 0) {
    for (const { reason, share } of BUILD_FAILURES) failures.push({ reason, rate: failRate * share, kind: 'failed' });
  }
  const flaky = flakyRate * (1 - failRate);
  if (flaky > 0) failures.push({ reason: FLAKY_REASON, rate: flaky, kind: 'failed' });
  return failures;
}

async function untilUp(
  { asking, clock }: Stage,
  cells: readonly string[],
  wanted: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  async function countUp(cell: string): Promise<number> {
    const all = await allPages(PAGE, async (page) => {
      const { hosts, next } = await asking.ask(cellAddress(cell), { type: 'list-hosts', ...page }, 'hosts');
      return [hosts, next];
    });
    return all.filter(({ state }) => state === 'up').length;
  }
  const countAll = async () => (await Promise.all(cells.map(countUp))).reduce((sum, up) => sum + up, 0);
  const limits = { clock, limitMs: UP_LIMIT_MS, firstMs: LOOK_EVERY_MS, mostMs: LOOK_EVERY_MS, signal };
  const up = await lookUntil(countAll, (count) => count === wanted, limits);
  if (up === wanted) return;
  throw new CellwrightError('fleet-not-up', `only ${up} of ${wanted} hosts were up after ${UP_LIMIT_MS} ms`);
}
