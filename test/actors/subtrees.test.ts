// Area: groups of one subtree. The scheduler finds allocations whenever trying out everything does, and none that would
// not do; placement grants exactly what plain reckoning allows, so that what is granted is final.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ancestryOf, isBelow, meetOf } from '../../actors/fitting/ancestry.ts';
import { fit } from '../../actors/fitting/fit.ts';
import type { RequestSpec, ResourceGroup } from '../../actors/messages/common.ts';
import type { Claim, ProviderSpec, Refusal } from '../../actors/messages/placement.ts';
import { placement } from '../../actors/placement/placement.ts';
import { makeProvider, type Provider } from '../../actors/placement/providers.ts';
import { isBelow as isBelowInPlacement } from '../../actors/placement/subtree.ts';
import { misfitOf } from '../../actors/scheduler/ranking/misfit.ts';
import type { Allocation } from '../../machines/instance-build.ts';
import { seededRandom } from '../../runtime/random.ts';
import { bench, sentOf } from '../support/turn.ts';

const test = suite('groups of one subtree');

const inventory = (total: number) => {
  return { total, reserved: 0, min_unit: 1, max_unit: 100, step_size: 1, allocation_ratio: 1 };
};

function provider(id: string, parent: string | null, told: Record<string, number> = {}, traits: string[] = []) {
  const inventories = Object.fromEntries(Object.entries(told).map(([name, total]) => [name, inventory(total)]));
  return { id, name: id, parent, inventories, traits, aggregates: [] } satisfies ProviderSpec;
}

const viewOf = (tree: readonly ProviderSpec[]) => tree.map((spec) => makeProvider(spec, (tree[0] as ProviderSpec).id));

// --- plain reckoning, which shares no code with the actors

/** The ids from a provider up to the root. */
function pathOf(tree: readonly ProviderSpec[], id: string): string[] {
  const parent = tree.find((spec) => spec.id === id)?.parent ?? null;
  return parent === null ? [id] : [id, ...pathOf(tree, parent)];
}

/** Whether the groups can be served as the providers, one for each, are given. */
function mayBeServed(spec: RequestSpec, tree: readonly ProviderSpec[], given: readonly string[]): boolean {
  const server = (name: string) => given[spec.groups.findIndex((group) => group.name === name)] as string;
  const root = tree[0] as ProviderSpec;
  const left = new Map<string, number>(
    tree.flatMap(({ id, inventories }) =>
      Object.entries(inventories).map(([name, { total }]) => [`${id} ${name}`, total] as const),
    ),
  );
  for (const { name, resources, required = [], forbidden = [] } of spec.groups) {
    const traits = tree.find(({ id }) => id === server(name))?.traits ?? [];
    if (!required.every((trait) => traits.includes(trait)) || forbidden.some((trait) => traits.includes(trait)))
      return false;
    for (const [resourceClass, amount] of Object.entries(resources)) {
      const key = `${server(name)} ${resourceClass}`;
      left.set(key, (left.get(key) ?? -1) - amount);
      if ((left.get(key) as number) < 0) return false;
    }
  }
  if (spec.groupPolicy === 'isolate' && new Set(given).size < given.length) return false;
  if (!(spec.rootRequired ?? []).every((trait) => root.traits.includes(trait))) return false;
  if ((spec.rootForbidden ?? []).some((trait) => root.traits.includes(trait))) return false;
  return (spec.sameSubtree ?? []).every((names) => {
    const servers = names.map(server);
    return servers.some((top) => servers.every((one) => pathOf(tree, one).includes(top)));
  });
}

function* everyWay(ids: readonly string[], count: number): Generator<string[]> {
  if (count === 0) return yield [];
  for (const rest of everyWay(ids, count - 1)) for (const id of ids) yield [...rest, id];
}

// --- what is asked of what

const CLASSES = ['VCPU', 'PGPU'];
const TRAITS = ['CUSTOM_A', 'HW_NUMA_ROOT'];

const anyTrees = fc
  .array(
    fc.record({
      above: fc.nat(5),
      told: fc.dictionary(fc.constantFrom(...CLASSES), fc.integer({ min: 1, max: 3 }), { minKeys: 1, maxKeys: 1 }),
      traits: fc.subarray(TRAITS),
    }),
    { minLength: 2, maxLength: 6 },
  )
  .map((nodes) =>
    nodes.map(({ above, told, traits }, at) => provider(`n${at}`, at === 0 ? null : `n${above % at}`, told, traits)),
  );

/** Two nodes with processors, and GPUs below one of them or the host: often what is asked is there, and apart. */
const numaTrees = fc
  .record({
    vcpu: fc.tuple(fc.nat(3), fc.nat(3)),
    gpus: fc.array(fc.constantFrom(0, 1, 1, 2), { minLength: 1, maxLength: 2 }),
  })
  .map(({ vcpu, gpus }) => [
    provider('n0', null),
    ...vcpu.map((total, at) => provider(`n${at + 1}`, 'n0', total === 0 ? {} : { VCPU: total })),
    ...gpus.map((above, at) => provider(`n${at + 3}`, `n${above}`, { PGPU: 1 })),
  ]);

const trees = fc.oneof(anyTrees, numaTrees);

const rarely = (trait: string): fc.Arbitrary<string[]> => fc.nat(11).map((draw) => (draw === 0 ? [trait] : []));

const specs: fc.Arbitrary<RequestSpec> = fc
  .record({
    groups: fc.array(
      fc.record({
        resources: fc.constantFrom<Record<string, number>>(
          { VCPU: 1 },
          { VCPU: 2 },
          { PGPU: 1 },
          { PGPU: 1 },
          { PGPU: 2 },
          {},
        ),
        required: rarely('HW_NUMA_ROOT'),
        forbidden: rarely('CUSTOM_A'),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    lists: fc.array(fc.subarray([0, 1, 2, 3], { minLength: 2 }), { maxLength: 2 }),
    isolate: fc.boolean(),
    rootRequired: rarely('CUSTOM_A'),
    rootForbidden: rarely('CUSTOM_A'),
  })
  .map(({ groups, lists, isolate, rootRequired, rootForbidden }) => {
    const named: ResourceGroup[] = groups.map((group, at) => ({ name: `g${at}`, ...group }));
    const sameSubtree = lists
      .map((list) => list.filter((at) => at < named.length).map((at) => `g${at}`))
      .filter((list) => list.length > 0);
    return {
      groups: named,
      groupPolicy: isolate ? ('isolate' as const) : ('none' as const),
      sameSubtree,
      rootRequired,
      rootForbidden,
    };
  });

const allocationsOf = (spec: RequestSpec, given: readonly string[]): Allocation[] =>
  spec.groups.map(({ name, resources }, at) => ({ provider: given[at] as string, group: name, resources }));

interface Answer {
  readonly refusal: Refusal | null;
  /** The providers of what was granted, in the order of the groups. */
  readonly granted: readonly string[];
}

function answerTo(tree: ProviderSpec[], spec: RequestSpec, allocations: readonly Allocation[]): Answer {
  const shard = bench(placement({ shard: 0 }));
  shard.tell({ type: 'put-tree', ask: 1, providers: tree });
  const message: Claim = {
    ...{
      type: 'claim',
      consumer: 'c',
      attempt: 1,
      spec,
      keep: [],
      expiresAt: 1e12,
      root: (tree[0] as ProviderSpec).id,
    },
    allocations: allocations.map((one) => ({ ...one, resources: { ...one.resources } })),
  };
  const turned = shard.tell(message);
  const refusal = (sentOf(turned, 'claim-refused')[0]?.message.refusal as Refusal | undefined) ?? null;
  const given = (sentOf(turned, 'claim-granted')[0]?.message.allocations ?? []) as Allocation[];
  return { refusal, granted: given.map(({ provider }) => provider) };
}

const claim = (tree: ProviderSpec[], spec: RequestSpec, allocations: readonly Allocation[]): Refusal | null =>
  answerTo(tree, spec, allocations).refusal;

test('subtrees - the scheduler fits a request if and only if trying out everything does', () => {
  const met = new Set<string>();
  fc.assert(
    fc.property(trees, specs, (tree, spec) => {
      const ways = [
        ...everyWay(
          tree.map(({ id }) => id),
          spec.groups.length,
        ),
      ];
      const found = ways.some((given) => mayBeServed(spec, tree, given));
      const allocations = fit(spec, viewOf(tree));
      assert.is(allocations !== null, found);
      if (allocations === null) {
        const { code } = misfitOf(spec, viewOf(tree));
        met.add(code);
        const { sameSubtree: _, ...loose } = spec;
        const isOfSubtree = ways.some((given) => mayBeServed(loose, tree, given));
        assert.is(code === 'not-one-subtree', isOfSubtree, `${code} is said`);
        return;
      }
      met.add('fits');
      assert.equal(
        allocations.map(({ group }) => group),
        spec.groups.map(({ name }) => name),
        'in the order of the request',
      );
      const given = allocations.map((one) => one.provider);
      assert.ok(mayBeServed(spec, tree, given));
      assert.is(claim(tree, spec, allocations), null, 'and placement grants it');
    }),
    { numRuns: 600, seed: 1 },
  );
  for (const code of ['fits', 'not-one-subtree', 'not-isolated']) assert.ok(met.has(code), code);
});

test('subtrees - placement grants a claim as plain reckoning allows it, of other providers of the tree if need be', () => {
  const met = new Set<string>();
  fc.assert(
    fc.property(trees, specs, fc.array(fc.nat(5), { minLength: 4, maxLength: 4 }), (tree, spec, picks) => {
      const given = spec.groups.map((_, at) => (tree[(picks[at] as number) % tree.length] as ProviderSpec).id);
      const { refusal, granted } = answerTo(tree, spec, allocationsOf(spec, given));
      const isAsNamed = mayBeServed(spec, tree, given);
      met.add(refusal?.code ?? (isAsNamed ? 'granted' : 'granted of others'));
      if (isAsNamed) assert.equal(granted, given, refusal?.message);
      else if (refusal === null) assert.ok(mayBeServed(spec, tree, granted), `granted of ${granted}`);
      // What a claim does not keep apart itself is not put right for it.
      else if (refusal.code !== 'not-isolated') {
        const ids = tree.map(({ id }) => id);
        const ways = [...everyWay(ids, spec.groups.length)];
        assert.not.ok(
          ways.some((way) => mayBeServed(spec, tree, way)),
          refusal.message,
        );
      }
      if (refusal?.code === 'not-one-subtree') {
        assert.not.ok(mayBeServed({ ...spec, sameSubtree: spec.sameSubtree ?? [] }, tree, given));
        assert.ok(mayBeServed({ ...spec, sameSubtree: [] }, withRoom(tree), given), 'nothing before it was broken');
      }
    }),
    { numRuns: 600, seed: 1 },
  );
  const codes = ['granted', 'granted of others', 'not-one-subtree', 'not-isolated', 'trait-missing'];
  for (const code of codes) assert.ok(met.has(code), code);
});

/** Room is looked at last. */
function withRoom(tree: readonly ProviderSpec[]): ProviderSpec[] {
  return tree.map((spec) => ({ ...spec, inventories: { VCPU: inventory(100), PGPU: inventory(100) } }));
}

/** Two NUMA nodes with processors, a GPU below each, and one that is attached to neither. */
const NUMA = [
  provider('h', null, { DISK_GB: 100 }),
  provider('numa-0', 'h', { VCPU: 8 }, ['HW_NUMA_ROOT']),
  provider('gpu-0', 'numa-0', { PGPU: 1 }),
  provider('numa-1', 'h', { VCPU: 8 }, ['HW_NUMA_ROOT']),
  provider('gpu-1', 'numa-1', { PGPU: 1 }),
  provider('gpu-2', 'h', { PGPU: 1 }),
];

const TWO_NODES: RequestSpec = {
  groups: [
    { name: 'node-0', resources: { VCPU: 4 } },
    { name: 'node-1', resources: { VCPU: 4 } },
    { name: 'gpu', resources: { PGPU: 1 } },
  ],
  groupPolicy: 'isolate',
  sameSubtree: [['node-1', 'gpu']],
};

test('subtrees - two NUMA nodes and a GPU below one of them', () => {
  const allocations = fit(TWO_NODES, viewOf(NUMA)) ?? [];
  const [one, two, gpu] = allocations.map((allocation) => allocation.provider);
  assert.equal([one, two].sort(), ['numa-0', 'numa-1']);
  assert.is(gpu, two?.replace('numa', 'gpu'));
});

test('subtrees - the refusal names the providers that are apart, and the misfit the groups', () => {
  const given = ['numa-0', 'numa-1', 'gpu-2'];
  const loose = NUMA.filter(({ id }) => id !== 'gpu-0' && id !== 'gpu-1');
  assert.equal(claim(loose, TWO_NODES, allocationsOf(TWO_NODES, given)), {
    code: 'not-one-subtree',
    message: "groups 'node-1', 'gpu' must be served by one subtree, not by 'numa-1', 'gpu-2'",
    provider: 'numa-1',
  });
  assert.equal(misfitOf(TWO_NODES, viewOf(loose)), {
    code: 'not-one-subtree',
    message: "no subtree of 'h' serves the groups that must share one: node-1, gpu",
  });
});

test('subtrees - a group that asks for traits alone may be what the others are below', () => {
  const tree = [
    provider('h', null),
    provider('numa-0', 'h', {}, ['HW_NUMA_ROOT']),
    provider('cpu-0', 'numa-0', { VCPU: 8 }),
    provider('numa-1', 'h', {}, ['HW_NUMA_ROOT']),
    provider('cpu-1', 'numa-1', { VCPU: 8 }),
    provider('gpu-1', 'numa-1', { PGPU: 1 }),
  ];
  const spec: RequestSpec = {
    groups: [
      { name: 'cpu', resources: { VCPU: 4 } },
      { name: 'gpu', resources: { PGPU: 1 } },
      { name: 'node', resources: {}, required: ['HW_NUMA_ROOT'] },
    ],
    groupPolicy: 'none',
    sameSubtree: [['node', 'cpu', 'gpu']],
  };
  const allocations = fit(spec, viewOf(tree)) ?? [];
  assert.equal(
    allocations.map((one) => one.provider),
    ['cpu-1', 'gpu-1', 'numa-1'],
  );
  assert.is(claim(tree, spec, allocations), null);
});

test('subtrees - in a large tree the search does not try out everything', () => {
  const nodes = Array.from({ length: 8 }, (_, node) => [
    provider(`numa-${node}`, 'h', { VCPU: 8 }),
    ...Array.from({ length: 8 }, (__, gpu) => provider(`gpu-${node}-${gpu}`, `numa-${node}`, { PGPU: 1 })),
  ]);
  const tree = [provider('h', null), ...nodes.flat()];
  const groups = Array.from({ length: 8 }, (_, at) => [
    { name: `node-${at}`, resources: { VCPU: 8 } },
    { name: `gpu-${at}`, resources: { PGPU: 1 } },
  ]).flat();
  const sameSubtree = Array.from({ length: 8 }, (_, at) => [`node-${at}`, `gpu-${at}`]);
  const allocations = fit({ groups, groupPolicy: 'isolate', sameSubtree }, viewOf(tree));
  assert.is(allocations?.length, 16);
});

test('subtrees - in trees of any depth it is told alike which provider is below which, and where two meet', () => {
  const random = seededRandom('depth');
  const met = new Set<boolean>();
  for (let draw = 0; draw < 60; draw += 1) {
    const reach = random.pick([1, 2, 40]);
    // Of some the parent is not told of.
    const parentOf = (at: number) =>
      random.chance(0.05) ? 'untold' : `n${random.integer(Math.max(0, at - reach), at - 1)}`;
    const specs = Array.from({ length: 40 }, (_, at) => provider(`n${at}`, at === 0 ? null : parentOf(at)));
    const tree = viewOf(random.shuffle(specs));
    const ancestry = ancestryOf(tree);
    const byId = new Map(tree.map((one) => [one.spec.id, one]));
    const above = (one: Provider) => tree.filter((top) => isBelowInPlacement(one, top, byId));
    for (const one of tree) {
      for (const other of tree) {
        const isSo = isBelowInPlacement(one, other, byId);
        assert.is(isBelow(ancestry, one, other), isSo);
        met.add(isSo);
        const both = above(one).filter((top) => above(other).includes(top));
        const lowest = both.find((top) => both.every((another) => isBelowInPlacement(top, another, byId)));
        assert.is(meetOf(ancestry, one, other), lowest);
      }
    }
  }
  assert.is(met.size, 2);
});

test('groups of one subtree - where providers stand is told of a tree of any depth', () => {
  const levels = 20_000;
  const tree = viewOf(Array.from({ length: levels }, (_, at) => provider(`n${at}`, at === 0 ? null : `n${at - 1}`)));
  const ancestry = ancestryOf(tree);
  const [top, middle, last] = [0, levels / 2, levels - 1].map((at) => tree[at] as Provider);
  assert.ok(isBelow(ancestry, last as Provider, top as Provider));
  assert.ok(isBelow(ancestry, last as Provider, middle as Provider));
  assert.not.ok(isBelow(ancestry, middle as Provider, last as Provider));
  assert.is(meetOf(ancestry, last as Provider, middle as Provider), middle);
});

test('subtrees - many groups of one find their place below one of many nodes', () => {
  const nodes = Array.from({ length: 16 }, (_, n) => provider(`n${n}`, 'host', { VCPU: 8 }));
  const ports = Array.from({ length: 32 }, (_, n) => provider(`port${n}`, `n${n >> 1}`, { SRIOV_NET_VF: 8 }));
  const gpus = Array.from({ length: 8 }, (_, n) => provider(`gpu${n}`, `n${2 * n}`, { VGPU: 2 }));
  const functions = Array.from({ length: 10 }, (_, n) => ({ name: `vf${n}`, resources: { SRIOV_NET_VF: 1 } }));
  const groups: ResourceGroup[] = [
    { name: 'node', resources: { VCPU: 4 } },
    { name: 'gpu0', resources: { VGPU: 1 } },
    { name: 'gpu1', resources: { VGPU: 1 } },
    ...functions,
  ];
  const sameSubtree = [groups.map(({ name }) => name)];
  const tree = viewOf([provider('host', null), ...nodes, ...ports, ...gpus]);
  assert.is(fit({ groups, groupPolicy: 'none', sameSubtree }, tree)?.length, groups.length);
});

test.run();
