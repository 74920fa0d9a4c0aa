// The plan of a run, drawn from its seed before it begins: the fleet, what callers ask for and when, who crashes or is
// held up and when, and how bad the weather is.

import type { InstanceGroup, RequestSpec } from '../../actors/messages/common.ts';
import { everyPlacement, instanceNames } from '../../actors/routing.ts';
import { type Random, seededRandom } from '../../runtime/random.ts';
import { burstOf } from './burst.ts';
import { devicesOf } from './devices.ts';
import { lossesOf } from './losses.ts';
import { namesOf } from './names.ts';
import type { HostPlan, Operation } from './operations.ts';
import { togetherOf } from './together.ts';

/** What befalls actors. `steps` is how many more steps the actor takes after `at` before it does. */
export interface Incident {
  readonly id: string;
  readonly at: number;
  readonly steps: number;
  readonly what: 'crash' | 'pause' | 'cut' | 'set-clock';
  readonly address: string;
  /** How long it lasts, ms. */
  readonly forMs: number;
  /** Of a pause: after how long another owner takes over, ms. */
  readonly takenOverMs: number;
  /** By how much a clock is set forward, or back when it is negative, ms. */
  readonly byMs?: number;
}

/** How likely each fault is. */
export interface Weather {
  readonly drop: number;
  readonly double: number;
  readonly slow: number;
  /** The longest delay of a slow message, ms. */
  readonly slowMs: number;
  /** Of an order to build: every time that it is sent, to the end. */
  readonly deaf: number;
  readonly journalSlow: number;
  readonly journalFails: number;
  readonly openFails: number;
  readonly buildFails: number;
  readonly buildAborts: number;
  readonly buildHangs: number;
  readonly buildSlow: number;
  readonly driverUnknown: number;
  readonly driverSilent: number;
  readonly destroyFails: number;
}

export interface Plan {
  readonly seed: string;
  readonly conductorShards: number;
  readonly placementShards: number;
  readonly schedulers: number;
  readonly hosts: readonly HostPlan[];
  readonly cells: readonly string[];
  readonly operations: readonly Operation[];
  readonly incidents: readonly Incident[];
  readonly weather: Weather;
  /** When all faults end, ms from the start. */
  readonly healAt: number;
  /** Who, at the end, is away at first, while the others bring what they have to its end: of these kinds of actor. */
  readonly awayAtFirst: readonly string[];
  /** After how many records a snapshot is due; 0 for never. */
  readonly snapshotEvery: number;
  readonly maxMailbox: number;
  /** How often a turn leaves what waits to the next, as if it had taken long: a share of its messages. */
  readonly turnsEnd: number;
  /** Whether messages are encoded, decoded and held against their schemas, which takes a quarter of the time. */
  readonly encoded: boolean;
  /** How far clocks may be off, ms. */
  readonly skewMs: number;
  /** How long what is deleted is remembered, ms. */
  readonly rememberMs: number;
}

export interface PlanLimits {
  /** Operations and incidents that are left out, by id. */
  readonly without?: ReadonlySet<string>;
  /** How many placement shards there are; default: as the seed has it. */
  readonly placementShards?: number;
}

/** The numbers of placement shards that a seed chooses from. */
const PLACEMENT_SHARDS = [1, 1, 4];

export function planOf(seed: string, { without = new Set(), ...limits }: PlanLimits = {}): Plan {
  const random = seededRandom(seed);
  const cells = ['quartz', 'basalt'].slice(0, random.chance(0.6) ? 2 : 1);
  const fleet = cells.flatMap((cell) => fleetOf(cell, random.fork(`fleet ${cell}`)));
  const conductorShards = random.pick([1, 1, 2, 3]);
  const schedulers = random.pick([1, 2, 2, 3]);
  const placementShards = limits.placementShards ?? random.fork('placement shards').pick(PLACEMENT_SHARDS);
  const healAt = random.integer(5_000, 13_000);
  const { hosts, operations: ofDevices, buildFails } = devicesOf(fleet, healAt, random.fork('devices'));
  const losses = lossesOf(hosts, healAt, random.fork('losses')).filter(({ id }) => !without.has(id));
  // What callers hold on one that is to be removed they would have to give back.
  const staying = hosts.filter(({ host }) => !losses.some((one) => one.host === host && one.removes));
  const isOfLost = (one: Operation) =>
    (one.what === 'inventory' || one.what === 'device') && losses.some(({ host }) => host === one.host);
  const operations = [
    ...losses,
    ...vanishingsOf(hosts, healAt, random.fork('vanishings')),
    ...cellsSet(cells, healAt, random.fork('cells')),
    ...operationsOf(hosts, healAt, random.fork('operations')).filter((one) => !isOfLost(one)),
    ...togetherOf(staying, healAt, random.fork('together')),
    ...namesOf(healAt, random.fork('names')),
    ...ofDevices.filter((one) => !isOfLost(one)),
    ...burstOf(healAt, placementShards > 1, random.fork('burst')),
  ].sort((one, other) => one.at - other.at);
  const owners = [
    ...everyPlacement(placementShards),
    ...Array.from({ length: conductorShards }, (_, shard) => `conductor/${shard}`),
    ...cells.map((cell) => `cell/${cell}`),
  ];
  const addresses = [
    ...owners,
    ...owners,
    ...Array.from({ length: schedulers }, (_, position) => `scheduler/s${position}`),
    ...hosts.map(({ cell, host }) => `compute/${cell}/${host}`),
  ];
  const weather = weatherOf(random.fork('weather'));
  const rememberMs = random.fork('memory').pick([25_000, 120_000]);
  const incidents = [
    ...incidentsOf(addresses, healAt, random.fork('incidents')),
    ...clocksSet(addresses, healAt, rememberMs / 3, random.fork('clocks')),
  ];
  return {
    seed,
    conductorShards,
    placementShards,
    schedulers,
    hosts,
    cells,
    operations: operations.filter(({ id }) => !without.has(id)),
    incidents: incidents.filter(({ id }) => !without.has(id)),
    weather: { ...weather, buildFails: Math.max(weather.buildFails, buildFails) },
    healAt,
    awayAtFirst: random.pick([[], [], [], [], ['conductor', 'scheduler'], ['scheduler']]),
    snapshotEvery: random.pick([0, 3, 10]),
    maxMailbox: random.pick([6, 1_000, 1_000]),
    turnsEnd: random.fork('turns').pick([0, 0, 0, 0.3]),
    encoded: random.chance(0.25),
    skewMs: random.pick([0, 50, 1_000]),
    rememberMs,
  };
}

function fleetOf(cell: string, random: Random): HostPlan[] {
  const count = random.pick([1, 2, 3, 3, 4, 5]);
  return Array.from({ length: count }, (_, position) => ({
    cell,
    host: `${cell === 'quartz' ? 'q' : 'b'}${position}`,
    vcpu: random.integer(2, 8),
    gpus: random.chance(0.3) ? random.integer(1, 2) : 0,
    fast: random.chance(0.5),
  }));
}

/** Most members of a group say its rule; a few say another one. */
const INSTANCE_GROUPS: readonly InstanceGroup[] = [
  ...Array.from({ length: 6 }, () => ({ id: '/apart', policy: 'anti-affinity' as const, maxPerHost: 1 })),
  ...Array.from({ length: 6 }, () => ({ id: '/close', policy: 'affinity' as const })),
  { id: '/apart', policy: 'soft-anti-affinity' },
  { id: '/pairs', policy: 'anti-affinity', maxPerHost: 2 },
  { id: '/near', policy: 'soft-affinity' },
];

function specOf(random: Random): RequestSpec {
  const needsFast = random.chance(0.15);
  const groups: RequestSpec['groups'] = [
    { name: '', resources: { VCPU: random.integer(1, 3) }, ...(needsFast ? { required: ['CUSTOM_FAST'] } : {}) },
  ];
  if (random.chance(0.12)) groups.push({ name: 'gpu', resources: { PGPU: 1 } });
  const spec: RequestSpec = { groups, groupPolicy: 'none' };
  return random.chance(0.4) ? { ...spec, instanceGroup: random.pick(INSTANCE_GROUPS) } : spec;
}

/** Some requests may wait for a host, a moment or for as long as it takes. */
function waitsOf(random: Random): { waitMs?: number; project?: string } {
  if (!random.chance(0.3)) return {};
  return { waitMs: random.integer(500, 20_000), project: random.pick(['p1', 'p2']) };
}

/** Some requests want to be where another request is, or where it is not. */
function companyOf(position: number, random: Random): Pick<RequestSpec, 'tree'> {
  const others = [`r${random.integer(0, position)}`, `r${random.integer(0, position)}-0`];
  if (position === 0 || random.chance(0.85)) return {};
  return { tree: random.chance(0.3) ? { heldBy: others } : { notHeldBy: others } };
}

function operationsOf(hosts: readonly HostPlan[], untilMs: number, random: Random): Operation[] {
  const operations: Operation[] = [];
  const requests = random.integer(2, 14);
  const eager = random.chance(0.4);
  // A stream of its own: what else is drawn stays as it was.
  const company = random.fork('company');
  for (let position = 0; position < requests; position += 1) {
    const request = `r${position}`;
    const at = random.integer(0, eager ? 1_500 : untilMs - 1_000);
    const count = random.chance(0.25) ? random.integer(2, 4) : 1;
    const alternates = random.integer(0, 3);
    const spec = { ...specOf(random), ...companyOf(position, company) };
    const waits = waitsOf(random.fork(`wait ${request}`));
    operations.push({ id: `build-${request}`, at, what: 'build', request, count, alternates, spec, ...waits });
    for (const instance of instanceNames(request, count)) {
      const deleteAt = at + Math.floor(random.exponential(2_500));
      if (random.chance(0.4)) operations.push({ id: `delete-${instance}`, at: deleteAt, what: 'delete', instance });
    }
    if (random.chance(0.3)) operations.push({ id: `look-${request}`, at: at + 500, what: 'look', instance: request });
  }
  for (let position = 0; random.chance(0.35) && position < 3; position += 1) {
    const at = random.integer(0, untilMs);
    const vcpu = random.integer(1, 8);
    operations.push({ id: `inventory-${position}`, at, what: 'inventory', host: random.pick(hosts).host, vcpu });
  }
  for (let position = 0; random.chance(0.25) && position < 2; position += 1) {
    const at = random.integer(0, untilMs);
    const { host } = random.pick(hosts);
    operations.push({ id: `disable-${position}`, at, what: 'service', host, enabled: false });
    operations.push({
      id: `enable-${position}`,
      at: at + random.integer(100, 4_000),
      what: 'service',
      host,
      enabled: true,
    });
  }
  return operations.sort((one, other) => one.at - other.at);
}

/** What goes from hosts by itself, in some runs. */
function vanishingsOf(hosts: readonly HostPlan[], untilMs: number, random: Random): Operation[] {
  if (!random.chance(0.4)) return [];
  return Array.from({ length: random.integer(1, 3) }, (_, position) => ({
    id: `vanish-${position}`,
    at: random.integer(1_000, untilMs),
    what: 'vanish' as const,
    host: random.pick(hosts).host,
    restarts: random.chance(0.5),
  }));
}

/** Cells that are taken out of service as a whole, in some runs; a few stay so. */
function cellsSet(cells: readonly string[], untilMs: number, random: Random): Operation[] {
  if (!random.chance(0.2)) return [];
  const cell = random.pick(cells);
  const at = random.integer(0, untilMs);
  const what = 'cell-service' as const;
  const disabled: Operation = { id: 'disable-cell', at, what, cell, enabled: false };
  const backAt = at + random.integer(100, 5_000);
  return random.chance(0.2) ? [disabled] : [disabled, { id: 'enable-cell', at: backAt, what, cell, enabled: true }];
}

function incidentsOf(addresses: readonly string[], untilMs: number, random: Random): Incident[] {
  const count = random.pick([0, 1, 2, 4, 6, 9]);
  return Array.from({ length: count }, (_, position) => {
    const what = random.pick(['crash', 'crash', 'pause', 'cut'] as const);
    const address = random.pick(addresses);
    return {
      id: `${what}-${position}`,
      at: random.integer(200, untilMs - 200),
      steps: random.integer(0, 12),
      what,
      address,
      forMs: random.integer(1, random.pick([50, 2_000, 7_000])),
      takenOverMs: random.integer(1, random.pick([50, 1_500])),
    };
  }).sort((one, other) => one.at - other.at);
}

/**
 * Clocks that are set while actors work: by no more than a part of the time for which what is deleted is remembered, since
 * what is late by more than the rest of it is taken for new.
 */
function clocksSet(addresses: readonly string[], untilMs: number, mostMs: number, random: Random): Incident[] {
  const count = random.pick([0, 0, 1, 3]);
  return Array.from({ length: count }, (_, position) => ({
    id: `set-clock-${position}`,
    at: random.integer(0, untilMs - 200),
    steps: random.integer(0, 12),
    what: 'set-clock',
    address: random.pick(addresses),
    forMs: random.integer(500, untilMs),
    takenOverMs: 0,
    byMs: random.pick([1, -1]) * random.integer(500, Math.floor(mostMs)),
  }));
}

function weatherOf(random: Random): Weather {
  const rate = (...rates: number[]) => random.pick([0, 0, ...rates]);
  return {
    drop: rate(0.01, 0.05, 0.2),
    double: rate(0.02, 0.1, 0.3),
    slow: rate(0.02, 0.1, 0.3),
    slowMs: random.pick([200, 1_500, 5_000]),
    deaf: rate(0.05, 0.2),
    journalSlow: rate(0.05, 0.3),
    journalFails: rate(0.005, 0.03),
    openFails: rate(0.2),
    buildFails: random.pick([0, 0.2, 0.5, 0.8]),
    buildAborts: rate(0.05, 0.2),
    buildHangs: rate(0.05, 0.2),
    buildSlow: rate(0.2, 0.5),
    driverUnknown: rate(0.05, 0.3),
    driverSilent: rate(0.02, 0.1),
    destroyFails: rate(0.1, 0.4),
  };
}
