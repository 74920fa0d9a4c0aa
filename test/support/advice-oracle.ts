// What a request would get of a small fleet, found by trying everything: no search, no census, no figures that are kept.
// Fleets and requests are drawn by a seed, and both are plain data.

import type { RequestSpec, ResourceGroup } from '../../actors/messages/common.ts';
import type { Inventory, ProviderSpec } from '../../actors/messages/placement.ts';
import type { HostState } from '../../actors/messages/scheduler.ts';
import type { Company, Request } from '../../actors/scheduler/request.ts';
import { emptyView, learnProvider, type View } from '../../actors/scheduler/view/view.ts';
import { learnHost } from '../../actors/scheduler/view/view-hosts.ts';
import { aggregatesOf } from '../../runtime/aggregates.ts';
import { type PlacementRequest, placingOf } from '../../runtime/gateway/placing.ts';
import { type Random, seededRandom } from '../../runtime/random.ts';
import { canServe } from './fit-oracle.ts';

interface Node {
  readonly id: string;
  readonly parent: string | null;
  readonly inventories: Readonly<Record<string, Inventory>>;
  readonly used: Readonly<Record<string, number>>;
  readonly traits: readonly string[];
  readonly aggregates: readonly string[];
}

export interface PlainHost {
  readonly cell: string;
  readonly host: string;
  readonly state: HostState['state'];
  /** The root first. */
  readonly nodes: readonly Node[];
  readonly instances: number;
  /** Members of the one instance group. */
  readonly members: number;
}

export interface Fleet {
  readonly hosts: readonly PlainHost[];
  /** The most instances that a host may have. */
  readonly most: number;
}

export interface Asked {
  readonly spec: RequestSpec;
  readonly where?: { readonly cells?: string[]; readonly avoidCells?: string[] };
  readonly company?: Company;
  readonly said?: Said;
}

/** What is wished of zones and aggregates, in a request's own words; absent where the conditions alone are known. */
export interface Said extends Pick<PlacementRequest, 'zones' | 'avoidZones' | 'aggregates' | 'avoidAggregates'> {
  /** The aggregates that are kept for other projects. */
  readonly kept: readonly string[];
  /** Those that are kept for requests that require some traits, and which. */
  readonly reserved: Readonly<Record<string, readonly string[]>>;
  /** Those that its project is confined to, if it is to any. */
  readonly confined: readonly string[];
}

export const GROUP = '/apart';
/** Hosts with it are refused by the filter `old`, a filter of a deployment's own. */
export const OLD = 'CUSTOM_OLD';
/** Hosts with it are kept for requests for devices, by the filter `devices` of a deployment's own. */
export const FOR_DEVICES = 'CUSTOM_FOR_DEVICES';
const TRAITS = ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C'];
const AGGREGATES = ['r1', 'r2', 'r3'];
const ZONES: Readonly<Record<string, readonly string[]>> = { north: ['r1', 'r2'], south: ['r3'] };
const DEFAULT_ZONE = 'nova';
const PROJECT = 'mine';
const STATES: HostState['state'][] = ['up', 'up', 'up', 'up', 'up', 'up', 'up', 'disabled', 'set-aside', 'down'];

/** The request as a scheduler is sent it. */
export function sentOf({ spec, where, company, said }: Asked): Request {
  if (said === undefined) return { spec, where, company };
  const { kept, reserved, confined, ...placement } = said;
  const options = AGGREGATES.map((id) => {
    const zone = Object.keys(ZONES).find((name) => ZONES[name]?.includes(id));
    const projects = kept.includes(id) ? { projects: ['others'] } : {};
    const confines = confined.includes(id) ? { projects: [PROJECT, 'others'], confines: true } : {};
    const traits = reserved[id] === undefined ? {} : { traits: [...reserved[id]] };
    return [id, { ...(zone && { zone }), ...projects, ...confines, ...traits }] as const;
  });
  const asking = { project: PROJECT, spec };
  const made = placingOf(placement, asking, aggregatesOf(Object.fromEntries(options), DEFAULT_ZONE));
  return { spec: { ...spec, tree: { ...spec.tree, ...made.tree } }, where: { ...where, ...made.where }, company };
}

function isWhereSaid(
  { aggregates: ids }: Node,
  { zones, avoidZones, aggregates, avoidAggregates, kept, reserved, confined }: Said,
  { groups, rootRequired = [] }: RequestSpec,
): boolean {
  const found = Object.keys(ZONES).filter((name) => ZONES[name]?.some((id) => ids.includes(id)));
  const inZones = found.length === 0 ? [DEFAULT_ZONE] : found;
  const isIn = (id: string) => ids.includes(id);
  const isRequired = (trait: string) =>
    rootRequired.includes(trait) || groups.some(({ required = [] }) => required.includes(trait));
  const isAsked = (name: string) => zones?.includes(name) === true;
  // With the default zone a host must not be in one that is not asked for, either.
  const isInZones = zones?.includes(DEFAULT_ZONE) === true ? inZones.every(isAsked) : inZones.some(isAsked);
  return (
    (zones === undefined || isInZones) &&
    !inZones.some((name) => avoidZones?.includes(name)) &&
    aggregates?.some(isIn) !== false &&
    avoidAggregates?.some(isIn) !== true &&
    !kept.some(isIn) &&
    (confined.length === 0 || confined.some(isIn)) &&
    Object.entries(reserved).every(([id, traits]) => !isIn(id) || traits.every(isRequired))
  );
}

/** Why a host would not serve, beside its resources: the names of all that stand in the way. */
export function obstaclesOf({ spec, where, company, said }: Asked, { most }: Fleet, host: PlainHost): string[] {
  const root = host.nodes[0] as Node;
  const { memberOf = [], notMemberOf = [], oneOf, noneOf } = spec.tree ?? {};
  const { instanceGroup: group } = spec;
  const isOf = (ids: readonly string[]) => ids.some((id) => root.aggregates.includes(id));
  return [
    ...(host.state === 'up' ? [] : ['service-state']),
    ...(memberOf.every(isOf) && !isOf(notMemberOf) && (said === undefined || isWhereSaid(root, said, spec))
      ? []
      : ['aggregates']),
    ...((where?.cells?.includes(host.cell) ?? true) && where?.avoidCells?.includes(host.cell) !== true
      ? []
      : ['cells']),
    ...((oneOf?.includes(root.id) ?? true) && noneOf?.includes(root.id) !== true ? [] : ['named-hosts']),
    ...((company?.near?.has(root.id) ?? true) && company?.far.has(root.id) !== true ? [] : ['company']),
    ...(host.instances < most ? [] : ['instance-limit']),
    ...(root.traits.includes(OLD) ? ['old'] : []),
    ...(root.traits.includes(FOR_DEVICES) && !asksForDevices(spec) ? ['devices'] : []),
    ...(group?.policy === 'anti-affinity' && host.members >= (group.maxPerHost ?? 1) ? ['instance-group'] : []),
  ];
}

export const asksForDevices = ({ groups }: Pick<RequestSpec, 'groups'>): boolean =>
  groups.some(({ resources }) => resources.VGPU !== undefined);

/** Whether the resources and conditions of groups would be met. */
export const serves = (spec: RequestSpec, nodes: readonly Node[]): boolean =>
  canServe(
    spec,
    nodes.map(({ used, ...node }) => ({ spec: { ...node, name: node.id } as ProviderSpec, used })),
  );

/** The hosts that the request fits. */
export function fittingHosts(asked: Asked, fleet: Fleet): PlainHost[] {
  return fleet.hosts.filter((host) => obstaclesOf(asked, fleet, host).length === 0 && serves(asked.spec, host.nodes));
}

export function viewOfFleet({ hosts }: Fleet): View {
  const view = emptyView();
  for (const { cell, host, state, nodes, instances, members } of hosts) {
    const root = nodes[0] as Node;
    for (const node of nodes) {
      const ofGroup = node === root && members > 0 ? { groups: { [GROUP]: members } } : {};
      const ofHost = node === root && instances > 0 ? { tenants: instances } : {};
      learnProvider(view, {
        id: node.id,
        name: node.id,
        parent: node.parent,
        root: root.id,
        inventories: node.inventories,
        used: { ...node.used },
        traits: [...node.traits],
        aggregates: [...node.aggregates],
        generation: 1,
        ...ofGroup,
        ...ofHost,
      } as Parameters<typeof learnProvider>[1]);
    }
    learnHost(view, cell, { host, provider: root.id, state, stats: { instances, builds: 0 } });
  }
  return view;
}

export function drawFleet(random: Random): Fleet {
  const chance = (share: number) => random.next() < share;
  const one = <T>(items: readonly T[]) => items[random.integer(0, items.length - 1)] as T;
  const some = <T>(items: readonly T[], share: number) => items.filter(() => chance(share));
  const stockOf = (total: number): { inventory: Inventory; used: number } => {
    const reserved = chance(0.2) ? random.integer(0, 2) : 0;
    const allocation_ratio = chance(0.3) ? one([0.7, 1.1, 1.5, 2]) : 1;
    const step_size = chance(0.2) ? one([2, 3]) : 1;
    const min_unit = chance(0.2) ? random.integer(1, Math.min(4, total)) : 1;
    const max_unit = chance(0.25) ? random.integer(min_unit, total) : total;
    const inventory = {
      total,
      reserved,
      allocation_ratio,
      step_size,
      min_unit,
      max_unit: Math.max(min_unit, max_unit),
    };
    return { inventory, used: chance(0.5) ? random.integer(0, total) : 0 };
  };
  const node = (id: string, parent: string | null, totals: Record<string, number>): Node => {
    const stocks = Object.entries(totals).map(([name, total]) => [name, stockOf(total)] as const);
    return {
      id,
      parent,
      inventories: Object.fromEntries(stocks.map(([name, { inventory }]) => [name, inventory])),
      used: Object.fromEntries(stocks.map(([name, { used }]) => [name, used])),
      traits: [...some(TRAITS, 0.4), ...(parent === null ? some([OLD, FOR_DEVICES], 0.1) : [])],
      aggregates: some(AGGREGATES, 0.35),
    };
  };
  const hosts = Array.from({ length: random.integer(1, 6) }, (_, n) => {
    const id = `p${n}`;
    const cpus = { VCPU: random.integer(4, 12), ...(chance(0.9) ? { MEMORY_MB: random.integer(4, 16) } : {}) };
    const isNuma = chance(0.3);
    const nodes = [node(id, null, isNuma ? { DISK_GB: 10 } : { ...cpus, DISK_GB: 10 })];
    const tops = isNuma ? [`${id}-n0`, ...(chance(0.5) ? [`${id}-n1`] : [])] : [id];
    for (const top of tops) {
      if (top !== id) nodes.push(node(top, id, cpus));
      if (chance(0.5)) nodes.push(node(`${top}-g`, top, { VGPU: random.integer(1, 4) }));
    }
    return {
      cell: `c${random.integer(1, 2)}`,
      host: `h${n}`,
      state: one(STATES),
      nodes,
      instances: random.integer(0, 3),
      members: chance(0.25) ? random.integer(1, 2) : 0,
    };
  });
  return { hosts, most: chance(0.4) ? 3 : 50 };
}

export function drawRequest(random: Random, { hosts }: Fleet): Asked {
  const chance = (share: number) => random.next() < share;
  const one = <T>(items: readonly T[]) => items[random.integer(0, items.length - 1)] as T;
  const some = <T>(items: readonly T[], share: number) => items.filter(() => chance(share));
  const conditions = (): Omit<ResourceGroup, 'name' | 'resources'> => {
    const [first, second] = [one(TRAITS), one(TRAITS)];
    return {
      ...(chance(0.2) ? { required: [first] } : {}),
      ...(chance(0.15) ? { anyOf: [[first, second]] } : {}),
      ...(chance(0.1) && first !== second ? { forbidden: [second] } : {}),
      ...(chance(0.1) ? { memberOf: [[one(AGGREGATES)]] } : {}),
    };
  };
  const amounts = () => ({
    VCPU: random.integer(1, chance(0.5) ? 6 : 14),
    ...(chance(0.5) ? { MEMORY_MB: random.integer(1, 14) } : {}),
    ...(chance(0.2) ? { DISK_GB: random.integer(1, 12) } : {}),
  });
  const groups: ResourceGroup[] = chance(0.8) ? [{ name: '', resources: amounts(), ...conditions() }] : [];
  for (let n = groups.length === 0 ? 1 : 0, most = chance(0.5) ? 2 : 0; n < most || groups.length === 0; n += 1) {
    const resources: Record<string, number> = chance(0.6)
      ? { VGPU: random.integer(1, 4) }
      : { VCPU: random.integer(1, 6) };
    const group = { name: `g${n}`, resources, ...conditions() };
    groups.push({ ...group, resources: { ...resources, ...drawBeside(group, hosts) } });
  }
  const named = groups.filter(({ name }) => name !== '').map(({ name }) => name);
  const roots = hosts.map(({ nodes }) => (nodes[0] as Node).id);
  const isSaid = chance(0.6);
  const tree = {
    ...(!isSaid && chance(0.15) ? { memberOf: [[one(AGGREGATES)]] } : {}),
    ...(!isSaid && chance(0.15) ? { notMemberOf: some(AGGREGATES, 0.5) } : {}),
    ...(chance(0.1) ? { oneOf: some(roots, 0.5) } : {}),
    ...(chance(0.1) ? { noneOf: some(roots, 0.5) } : {}),
  };
  const policy = { id: GROUP, policy: 'anti-affinity' as const, maxPerHost: random.integer(1, 2) };
  const spec: RequestSpec = {
    groups,
    groupPolicy: chance(0.3) ? 'isolate' : 'none',
    ...(named.length > 1 && chance(0.5) ? { sameSubtree: [named] } : {}),
    ...(chance(0.1) ? { rootRequired: [one(TRAITS)] } : {}),
    ...(chance(0.1) ? { rootForbidden: [one(TRAITS)] } : {}),
    ...(chance(0.3) ? { instanceGroup: policy } : {}),
    ...(Object.keys(tree).length === 0 ? {} : { tree }),
  };
  const where = { ...(chance(0.1) ? { cells: ['c1'] } : {}), ...(chance(0.1) ? { avoidCells: ['c2'] } : {}) };
  const near = chance(0.1) ? { near: new Set(some(roots, 0.5)) } : {};
  const far = chance(0.2) ? some(roots, 0.5) : [];
  const farFrom = new Map(far.map((root) => [root, chance(0.3) ? [`on-${root}`, 'on-many'] : [`on-${root}`]]));
  const zones = chance(0.2) ? some([...Object.keys(ZONES), DEFAULT_ZONE], 0.5) : [];
  const avoidable = [...Object.keys(ZONES), DEFAULT_ZONE].filter((name) => !zones.includes(name));
  const avoidZones = chance(0.25) ? some(avoidable, 0.5) : [];
  const aggregates = chance(0.1) ? [one(AGGREGATES)] : [];
  const avoidAggregates = chance(0.2) ? some(AGGREGATES, 0.5).filter((id) => !aggregates.includes(id)) : [];
  const said: Said = {
    ...(zones.length === 0 ? {} : { zones }),
    ...(avoidZones.length === 0 ? {} : { avoidZones }),
    ...(aggregates.length === 0 ? {} : { aggregates }),
    ...(avoidAggregates.length === 0 ? {} : { avoidAggregates }),
    kept: chance(0.3) ? some(AGGREGATES, 0.4) : [],
    reserved: {},
    confined: [],
  };
  return {
    spec,
    ...(isSaid ? { said: { ...said, ...drawKept(said) } } : {}),
    ...(Object.keys(where).length === 0 ? {} : { where }),
    ...(Object.keys(near).length === 0 && far.length === 0 ? {} : { company: { ...near, far: new Set(far), farFrom } }),
  };
}

/** Other classes of a named group, now and then. */
function drawBeside(group: ResourceGroup, hosts: Fleet['hosts']): Record<string, number> {
  const random = seededRandom(`beside ${JSON.stringify([group, hosts])}`);
  const others = ['VCPU', 'MEMORY_MB', 'VGPU'].filter((name) => group.resources[name] === undefined);
  const some = others.filter(() => random.next() < 0.2);
  return Object.fromEntries(some.map((name) => [name, random.integer(1, 4)]));
}

/** By a seed of its own, so that all else that is drawn stays as it is. */
function drawKept(said: Said): Pick<Said, 'reserved' | 'confined'> {
  const random = seededRandom(`kept ${JSON.stringify(said)}`);
  const chance = (share: number) => random.next() < share;
  const reserved = AGGREGATES.filter(() => chance(0.15)).map((id) => {
    const traits = TRAITS.filter(() => chance(0.5));
    return [id, traits.length === 0 ? TRAITS.slice(0, 1) : traits] as const;
  });
  const confined = chance(0.1) ? AGGREGATES.filter((id) => chance(0.5) && !said.kept.includes(id)) : [];
  return { reserved: Object.fromEntries(reserved), confined };
}
