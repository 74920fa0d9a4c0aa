// A look at everything that the owners of a deployment say they have, and the drivers beside them. Whoever does not
// answer is noted as not looked at: what they know is not guessed. It draws no conclusions.

import type { Address } from '../../actors/actor.ts';
import type { InstanceView, RemovalView } from '../../actors/messages/gateway.ts';
import type { ConsumerState, ProviderState } from '../../actors/messages/placement.ts';
import type { HostState } from '../../actors/messages/scheduler.ts';
import { cellAddress, computeAddress, everyPlacement, isConductor } from '../../actors/routing.ts';
import type { Allocation } from '../../machines/instance-build.ts';
import type { Client } from '../client.ts';
import type { Clock } from '../clock.ts';
import { CellwrightError } from '../errors.ts';
import type { Asking } from '../gateway/asking.ts';
import { mergedConsumers } from './consumers.ts';
import type { OnHost } from './differences.ts';
import { allPages, CONDUCTED_PER_PAGE, PROVIDERS_PER_PAGE, VIEWS_PER_PAGE } from './pages.ts';

export interface CellLook {
  readonly instances: readonly InstanceView[];
  readonly removals: readonly RemovalView[];
  readonly hosts: readonly HostState[];
  /** Whether it tells what was on its hosts before it knew them: cells of earlier versions do not. */
  readonly tellsForeign: boolean;
}

interface PlacementLook {
  readonly providers: readonly ProviderState[];
  readonly consumers: readonly ConsumerState[];
  /** What counts as used for changes over several shards that are not decided yet. */
  readonly inDoubt?: readonly Allocation[];
  /** The providers that did not change while this was read, so that their figures belong together. */
  readonly steady: ReadonlySet<string>;
}

/** What was seen; null stands for an owner that did not answer. */
export interface Look {
  /** When it was begun, ms since the epoch. */
  readonly at: number;
  readonly placement: PlacementLook | null;
  /** The placement shards that do not answer, where others do: by their addresses. */
  readonly silentPlacement?: readonly string[];
  readonly cells: ReadonlyMap<string, CellLook | null>;
  /** All instances as the super conductor knows them. */
  readonly conducted: ReadonlyMap<string, InstanceView> | null;
  /** The shards of the super conductor that did not answer, where others did: then nothing is said of what the others know. */
  readonly silentConductors?: readonly string[];
  /** What the drivers say is on their hosts, by `cell/host`; a host that is down or fenced is not asked. */
  readonly driven: ReadonlyMap<string, readonly OnHost[] | null>;
}

export interface LookOptions {
  readonly asking: Asking;
  readonly client: Client;
  readonly clock: Clock;
  /** Cells that are known to be there, besides those that instances are in. */
  readonly cells: Iterable<string>;
  /** How many placement shards the deployment has; default 1. */
  readonly placementShards?: number;
}

const HOSTS_PER_PAGE = 500;
/** Computes that are asked at the same time. */
const COMPUTES_AT_ONCE = 128;

export const placeOf = (cell: string, host: string): string => `${cell}/${host}`;

/** Placement is read before those who account for what it holds, and the drivers last. */
export async function lookAround(options: LookOptions): Promise<Look> {
  const { asking, client, clock, placementShards = 1 } = options;
  const at = clock.now();
  const { placement, silentPlacement } = await placementLook(asking, everyPlacement(placementShards));
  const { conducted, silentConductors } = (await unlessSilent(conductedBy(client))) ?? NOBODY_TOLD;
  const names = new Set(options.cells);
  for (const { cell } of conducted?.values() ?? []) if (cell !== undefined) names.add(cell);
  const cells = new Map<string, CellLook | null>();
  await Promise.all([...names].map(async (cell) => cells.set(cell, await unlessSilent(cellLook(asking, cell)))));
  return { at, placement, silentPlacement, conducted, silentConductors, cells, driven: await drivenOn(asking, cells) };
}

/** Null when nobody answers, or the one who does cannot: that is for a look to note and not for it to fail of. */
async function unlessSilent<Seen>(work: Promise<Seen>): Promise<Seen | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof CellwrightError && error.code !== 'closed') return null;
    throw error;
  }
}

/** All shards or none: of what one of them would not tell, nothing could be said of the others either. */
async function placementLook(
  asking: Asking,
  shards: readonly Address[],
): Promise<Required<Pick<Look, 'placement' | 'silentPlacement'>>> {
  const told = await Promise.all(shards.map((shard) => unlessSilent(shardLook(asking, shard))));
  const looks = told.filter((look) => look !== null);
  const silent = shards.filter((_, at) => told[at] === null);
  if (silent.length > 0) return { placement: null, silentPlacement: looks.length === 0 ? [] : silent };
  const placement = {
    providers: looks.flatMap(({ providers }) => providers),
    consumers: mergedConsumers(looks.flatMap(({ consumers }) => consumers)),
    inDoubt: looks.flatMap(({ inDoubt = [] }) => inDoubt),
    steady: new Set(looks.flatMap(({ steady }) => [...steady])),
  };
  return { placement, silentPlacement: [] };
}

async function shardLook(asking: Asking, shard: Address): Promise<PlacementLook> {
  const before = await providersOf(asking, shard);
  let inDoubt: readonly Allocation[] = [];
  const consumers = await allPages(PROVIDERS_PER_PAGE, async (page) => {
    const answer = await asking.ask(shard, { type: 'list-consumers', ...page }, 'consumers');
    inDoubt = answer.inDoubt ?? [];
    return [answer.consumers, answer.next];
  });
  const after = await providersOf(asking, shard);
  // A provider counts its changes, in one life of placement: with the same count nothing has changed in between.
  const counts = new Map(before.providers.map(({ id, generation }) => [id, generation]));
  const isSameLife = before.epochs.size === 1 && [...after.epochs].join() === [...before.epochs].join();
  const steady = after.providers.filter(({ id, generation }) => isSameLife && counts.get(id) === generation);
  return { providers: after.providers, consumers, inDoubt, steady: new Set(steady.map(({ id }) => id)) };
}

async function providersOf(
  asking: Asking,
  shard: Address,
): Promise<{ providers: ProviderState[]; epochs: Set<number> }> {
  const epochs = new Set<number>();
  const providers = await allPages(PROVIDERS_PER_PAGE, async (page) => {
    const answer = await asking.ask(shard, { type: 'list-providers', ...page }, 'providers');
    epochs.add(answer.epoch);
    return [answer.providers, answer.next];
  });
  return { providers, epochs };
}

type Conducted = Required<Pick<Look, 'conducted' | 'silentConductors'>>;

const NOBODY_TOLD: Conducted = { conducted: null, silentConductors: [] };

/** All shards or none, as of placement: what a silent one knows would else be taken for what nobody knows. */
async function conductedBy(client: Client): Promise<Conducted> {
  let silentConductors: readonly string[] = [];
  const views = await allPages(CONDUCTED_PER_PAGE, async (page) => {
    const { instances, next, silent = [] } = await client.list(page);
    silentConductors = silent.filter(isConductor);
    return [instances, silentConductors.length > 0 ? null : next];
  });
  if (silentConductors.length > 0) return { conducted: null, silentConductors };
  return { conducted: new Map(views.map((view) => [view.instance, view])), silentConductors };
}

async function cellLook(asking: Asking, cell: string): Promise<CellLook> {
  const address = cellAddress(cell);
  // Hosts first: silence is told early, and not found out by every further question.
  let tellsForeign = true;
  const hosts = await allPages(HOSTS_PER_PAGE, async (page) => {
    const answer = await asking.ask(address, { type: 'list-hosts', ...page }, 'hosts');
    tellsForeign &&= answer.tellsForeign === true;
    return [answer.hosts, answer.next];
  });
  const removals = await allPages(HOSTS_PER_PAGE, async (page) => {
    const answer = await asking.ask(address, { type: 'list-removals', ...page }, 'removals');
    return [answer.removals, answer.next];
  });
  const instances = await allPages(VIEWS_PER_PAGE, async (page) => {
    const answer = await asking.ask(address, { type: 'list', ...page }, 'listed');
    return [answer.instances, answer.next];
  });
  return { hosts, removals, instances, tellsForeign };
}

async function drivenOn(
  asking: Asking,
  cells: ReadonlyMap<string, CellLook | null>,
): Promise<Map<string, readonly OnHost[] | null>> {
  const places = [...cells].flatMap(([cell, look]) =>
    (look?.hosts ?? []).filter(isThere).map(({ host }) => ({ cell, host })),
  );
  const driven = new Map<string, readonly OnHost[] | null>();
  for (let first = 0; first < places.length; first += COMPUTES_AT_ONCE) {
    const some = places.slice(first, first + COMPUTES_AT_ONCE).map(async ({ cell, host }) => {
      const question = { type: 'list-driven' } as const;
      const answer = await unlessSilent(asking.ask(computeAddress(cell, host), question, 'instances-running'));
      const found = answer?.running.map(({ instance, attempt }) => ({ cell, host, instance, attempt }));
      driven.set(placeOf(cell, host), found ?? null);
    });
    await Promise.all(some);
  }
  return driven;
}

/** The providers of all hosts that cells have shown. */
export function hostProvidersOf(cells: Look['cells']): Set<string> {
  return new Set([...cells.values()].flatMap((cell) => cell?.hosts.map(({ provider }) => provider) ?? []));
}

/** Whether a host has a compute that can be asked. */
export function isThere({ state }: HostState): boolean {
  return state !== 'down' && state !== 'fenced';
}
