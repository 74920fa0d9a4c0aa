// The census: everything that the owners of the system say they have, asked for page by page through their messages.
// It is the truth on which a replay is judged; it draws no conclusions.

import type { Address } from '../../actors/actor.ts';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import type { ConsumerState, ProviderState } from '../../actors/messages/placement.ts';
import { cellAddress, computeAddress, conductorAddress, everyPlacement } from '../../actors/routing.ts';
import { mergedConsumers } from '../audit/consumers.ts';
import type { OnHost } from '../audit/differences.ts';
import { allPages, CONDUCTED_PER_PAGE, PROVIDERS_PER_PAGE, VIEWS_PER_PAGE } from '../audit/pages.ts';
import type { Asking } from '../gateway/asking.ts';
import type { FleetHost } from '../workload/workload.ts';
import type { Fleet } from './fleet.ts';
import { throwIfInterrupted } from './waiting.ts';

export interface Census {
  /** All instances as the super conductor knows them, by name; of those in a cell it knows what the cell said last. */
  readonly conducted: ReadonlyMap<string, InstanceView>;
  /** All instances of all cells. */
  readonly inCells: readonly InstanceView[];
  readonly providers: readonly ProviderState[];
  readonly consumers: readonly ConsumerState[];
  /** What is on the hosts, as their computes say. */
  readonly computing: readonly OnHost[];
  /** What is on the hosts, as their drivers say. */
  readonly driven: readonly OnHost[];
}

export interface CensusOptions {
  readonly asking: Asking;
  readonly fleet: Fleet;
  readonly hosts: readonly FleetHost[];
  readonly signal?: AbortSignal | undefined;
}

/** Computes that are asked at the same time. */
const COMPUTES_AT_ONCE = 256;

/** @throws TimeoutError when an actor does not answer; CellwrightError `interrupted`. */
export async function takeCensus({ asking, fleet, hosts, signal }: CensusOptions): Promise<Census> {
  const shards = everyPlacement(fleet.node.placementShards);
  const inCells: InstanceView[] = [];
  for (const cell of fleet.cells)
    inCells.push(...(await instancesOf(asking, cellAddress(cell), VIEWS_PER_PAGE, signal)));
  return {
    conducted: await conductedOf(asking, signal),
    inCells,
    providers: (await Promise.all(shards.map((shard) => providersOf(asking, shard, signal)))).flat(),
    consumers: mergedConsumers((await Promise.all(shards.map((shard) => consumersOf(asking, shard, signal)))).flat()),
    computing: await computingOf(asking, hosts, signal),
    driven: await fleet.onHosts(),
  };
}

function providersOf(asking: Asking, shard: Address, signal: AbortSignal | undefined): Promise<ProviderState[]> {
  return allPages(PROVIDERS_PER_PAGE, async (page) => {
    throwIfInterrupted(signal);
    const { providers, next } = await asking.ask(shard, { type: 'list-providers', ...page }, 'providers');
    return [providers, next];
  });
}

function consumersOf(asking: Asking, shard: Address, signal: AbortSignal | undefined): Promise<ConsumerState[]> {
  return allPages(PROVIDERS_PER_PAGE, async (page) => {
    throwIfInterrupted(signal);
    const { consumers, next } = await asking.ask(shard, { type: 'list-consumers', ...page }, 'consumers');
    return [consumers, next];
  });
}

async function conductedOf(asking: Asking, signal: AbortSignal | undefined): Promise<Map<string, InstanceView>> {
  const views = await instancesOf(asking, conductorAddress(0), CONDUCTED_PER_PAGE, signal);
  return new Map(views.map((view) => [view.instance, view]));
}

function instancesOf(
  asking: Asking,
  address: Address,
  perPage: number,
  signal: AbortSignal | undefined,
): Promise<InstanceView[]> {
  return allPages(perPage, async (page) => {
    throwIfInterrupted(signal);
    const { instances, next } = await asking.ask(address, { type: 'list', ...page }, 'listed');
    return [instances, next];
  });
}

async function computingOf(
  asking: Asking,
  hosts: readonly FleetHost[],
  signal: AbortSignal | undefined,
): Promise<OnHost[]> {
  const all: OnHost[] = [];
  for (let first = 0; first < hosts.length; first += COMPUTES_AT_ONCE) {
    throwIfInterrupted(signal);
    const some = hosts.slice(first, first + COMPUTES_AT_ONCE).map(async ({ cell, host }) => {
      const question = { type: 'list-instances' } as const;
      const { running } = await asking.ask(computeAddress(cell, host), question, 'instances-running');
      return running.map(({ instance, attempt }) => ({ cell, host, instance, attempt }));
    });
    for (const onHost of await Promise.all(some)) all.push(...onHost);
  }
  return all;
}
