// Area: search of a fit. The scheduler finds allocations exactly when some choice of providers is granted by placement's
// own check, and what it finds is granted; it says what really stands in the way when there is none.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { effort } from '../../actors/fitting/effort.ts';
import { fit, fitAtOnce } from '../../actors/fitting/fit.ts';
import { planOf } from '../../actors/fitting/fit-choices.ts';
import { serve } from '../../actors/fitting/fit-search.ts';
import type { RequestSpec, ResourceGroup } from '../../actors/messages/common.ts';
import type { Claim, ProviderSpec, Refusal } from '../../actors/messages/placement.ts';
import { refusalOfClaim, unmet } from '../../actors/placement/conditions.ts';
import { placement } from '../../actors/placement/placement.ts';
import { adjustUse, countsOf, makeProvider, type Provider } from '../../actors/placement/providers.ts';
import { misfitsOf } from '../../actors/scheduler/explaining/all-obstacles.ts';
import { misfitOf, plainMisfitOf } from '../../actors/scheduler/ranking/misfit.ts';
import { treeOf } from '../../actors/scheduler/view/view.ts';
import type { Allocation } from '../../machines/instance-build.ts';
import { seededRandom } from '../../runtime/random.ts';
import { drawFleet, drawRequest, viewOfFleet } from '../support/advice-oracle.ts';

const test = suite('search of a fit');

function provider(
  id: string,
  parent: string | null,
  told: Record<string, number> = {},
  { traits = [], aggregates = [] }: Partial<Pick<ProviderSpec, 'traits' | 'aggregates'>> = {},
): ProviderSpec {
  const inventory = (total: number) => {
    return { total, reserved: 0, min_unit: 1, max_unit: total, step_size: 1, allocation_ratio: 1 };
  };
  const inventories = Object.fromEntries(Object.entries(told).map(([name, total]) => [name, inventory(total)]));
  return { id, name: id, parent, inventories, traits, aggregates };
}

const viewOf = (tree: readonly ProviderSpec[]): Provider[] =>
  tree.map((spec) => makeProvider(spec, (tree[0] as ProviderSpec).id));

/** What placement, to which the providers belong, says of a claim. */
function refusalBy(tree: readonly Provider[], spec: RequestSpec, allocations: readonly Allocation[]): Refusal | null {
  const state = placement({ shard: 0 }).init();
  for (const one of tree) state.providers.set(one.spec.id, one);
  const claim: Claim = { type: 'claim', consumer: 'c', attempt: 1, spec, keep: [], expiresAt: 1e12, allocations: [] };
  return refusalOfClaim({ ...claim, allocations: [...allocations] }, state);
}

/** All ways to choose a provider for each class of the unnamed group and one for each named group. */
function* everyWay(groups: readonly ResourceGroup[], tree: readonly Provider[]): Generator<Allocation[]> {
  const [group, ...others] = groups;
  if (group === undefined) return yield [];
  const parts =
    group.name === ''
      ? Object.entries(group.resources).map(([resourceClass, amount]) => ({ [resourceClass]: amount }))
      : [group.resources];
  for (const rest of everyWay(others, tree)) {
    let ways: Allocation[][] = [[]];
    for (const resources of parts) {
      ways = ways.flatMap((way) =>
        tree.map(({ spec }) => [...way, { provider: spec.id, group: group.name, resources: { ...resources } }]),
      );
    }
    for (const way of ways) yield [...way, ...rest];
  }
}

function isGranted(spec: RequestSpec, tree: readonly Provider[]): boolean {
  for (const way of everyWay(spec.groups, tree)) if (refusalBy(tree, spec, way) === null) return true;
  return false;
}

const TRAITS = ['CUSTOM_A', 'CUSTOM_B'];
const sometimes = <T>(values: readonly T[]): fc.Arbitrary<T[]> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<T[]>([]) },
    { weight: 1, arbitrary: fc.subarray([...values], { minLength: 1 }) },
  );

const trees = fc
  .array(
    fc.record({
      above: fc.nat(4),
      told: fc.dictionary(fc.constantFrom('VCPU', 'PGPU'), fc.integer({ min: 1, max: 4 }), { minKeys: 1 }),
      used: fc.nat(1),
      traits: sometimes(TRAITS),
      aggregates: sometimes(['a1', 'a2']),
    }),
    { minLength: 1, maxLength: 5 },
  )
  .map((nodes) =>
    nodes.map(({ above, told, used, ...conditions }, at) => {
      const made = makeProvider(provider(`n${at}`, at === 0 ? null : `n${above % at}`, told, conditions), 'n0');
      for (const stock of countsOf(made).values()) stock.used = used;
      return made;
    }),
  );

const conditions = {
  required: sometimes(TRAITS),
  anyOf: fc.nat(5).map((draw) => (draw === 0 ? [TRAITS] : [])),
  forbidden: sometimes(TRAITS),
  memberOf: sometimes([['a1'], ['a1', 'a2']]),
};

const specs: fc.Arbitrary<RequestSpec> = fc
  .record({
    unnamed: fc.option(
      fc.record({
        resources: fc.constantFrom<Record<string, number>>({ VCPU: 1 }, { VCPU: 2, PGPU: 1 }, { PGPU: 2 }, {}),
        ...conditions,
      }),
    ),
    named: fc.array(
      fc.record({
        resources: fc.constantFrom<Record<string, number>>(
          { VCPU: 1 },
          { PGPU: 1 },
          { PGPU: 1 },
          { PGPU: 2 },
          { VCPU: 1, PGPU: 1 },
          {},
        ),
        ...conditions,
      }),
      { maxLength: 3 },
    ),
    /** How many groups are as the first is. */
    alike: fc.nat(3),
    lists: fc.array(fc.subarray([0, 1, 2], { minLength: 2 }), { maxLength: 2 }),
    isolate: fc.boolean(),
  })
  .map(({ unnamed, named, alike, lists, isolate }) => {
    const [first] = named;
    const groups: ResourceGroup[] = named.map((group, at) => {
      return { ...(first !== undefined && at < alike ? first : group), name: `g${at}` };
    });
    const sameSubtree = lists.map((list) => list.filter((at) => at < groups.length).map((at) => `g${at}`));
    return {
      groups: unnamed === null ? groups : [{ name: '', ...unnamed }, ...groups],
      groupPolicy: isolate ? ('isolate' as const) : ('none' as const),
      sameSubtree: sameSubtree.filter((list) => list.length > 0),
    };
  })
  // Placement has no tree to look at when nothing is claimed.
  .filter(({ groups }) => groups.some(({ name, resources }) => name !== '' || Object.keys(resources).length > 0));

test('search - it finds allocations exactly when placement grants some, and the reason when not', () => {
  const met = new Set<string>();
  const metAtOnce = new Set<string>();
  fc.assert(
    fc.property(trees, specs, (tree, spec) => {
      const allocations = fit(spec, tree);
      const thorough = serve(planOf(spec), spec, tree, undefined, 0);
      const ofHost = planOf(spec).ofHost.every((group) => unmet(group, tree.slice(0, 1), tree[0] as Provider) === null);
      assert.is(ofHost && thorough !== null, allocations !== null, 'both ways to search find some, or none');
      if (allocations !== null) {
        met.add('fits');
        for (const found of [allocations, thorough ?? []]) assert.is(refusalBy(tree, spec, found), null);
        return;
      }
      assert.is(isGranted(spec, tree), false);
      const { code, message } = misfitOf(spec, tree);
      met.add(code);
      const eachAlone = spec.groups.every((group) =>
        isGranted({ groups: [group, ...besides(group)], groupPolicy: 'none' }, tree),
      );
      const loose = isGranted({ ...spec, sameSubtree: [] }, tree);
      assert.is(code === 'not-one-subtree', loose, message);
      const together = isGranted({ ...spec, sameSubtree: [], groupPolicy: 'none' }, tree);
      if (code === 'not-isolated') assert.ok(spec.groupPolicy === 'isolate' && together, message);
      else if (!loose) assert.not.ok(spec.groupPolicy === 'isolate' && together, `${code}: ${message}`);
      if (eachAlone && !together) assert.is(code, 'exceeds-capacity', message);
      // What is seen at once may say less, and nothing that is not so.
      const atOnce = plainMisfitOf(spec, tree);
      metAtOnce.add(atOnce.code);
      if (atOnce.code === 'not-one-subtree') assert.ok(loose, atOnce.message);
      if (atOnce.code === 'not-isolated') assert.ok(spec.groupPolicy === 'isolate' && together, atOnce.message);
      if (eachAlone && !together) assert.is(atOnce.code, 'exceeds-capacity', atOnce.message);
    }),
    // The rarest reason is one in some hundreds: what is met must not hang on luck.
    { numRuns: 1_200, seed: 1 },
  );
  assert.ok(met.has('fits'));
  for (const code of ['not-one-subtree', 'not-isolated', 'exceeds-capacity', 'trait-missing', 'trait-forbidden']) {
    assert.ok(met.has(code), code);
    assert.ok(metAtOnce.has(code), code);
  }
});

test('search - one provider gives no more to all groups of a request than its max_unit', () => {
  const node = (id: string): ProviderSpec => {
    const VCPU = { total: 16, reserved: 0, min_unit: 1, max_unit: 4, step_size: 1, allocation_ratio: 1 };
    return { ...provider(id, 'h'), inventories: { VCPU } };
  };
  const groups = ['g0', 'g1'].map((name) => ({ name, resources: { VCPU: 3 } }));
  const spec: RequestSpec = { groups, groupPolicy: 'none' };
  const two = viewOf([provider('h', null), node('n0'), node('n1')]);
  const found = fit(spec, two) ?? [];
  assert.equal(found.map((one) => one.provider).sort(), ['n0', 'n1']);
  assert.is(refusalBy(two, spec, found), null);
  const one = viewOf([provider('h', null), node('n0')]);
  assert.is(fit(spec, one), null);
  assert.match(misfitOf(spec, one).message, /6 VCPU, which the groups ask together, exceed .*: 4 \(short by 2\)/);
  const both = [0, 1].map((n) => ({ provider: 'n0', group: `g${n}`, resources: { VCPU: 3 } }));
  assert.is(refusalBy(one, spec, both)?.code, 'unit-constraint');
});

/** Nodes and GPUs that are alike but for where they are. */
const alikeTrees = fc
  .record({ vcpu: fc.integer({ min: 2, max: 3 }), pgpu: fc.integer({ min: 1, max: 3 }), above: fc.array(fc.nat(1)) })
  .map(({ vcpu, pgpu, above }) =>
    viewOf([
      provider('h', null),
      provider('n0', 'h', { VCPU: vcpu }),
      provider('n1', 'h', { VCPU: vcpu }),
      ...above.slice(0, 3).map((node, at) => provider(`g${at}`, `n${node}`, { PGPU: pgpu })),
    ]),
  );

const alikeSpecs: fc.Arbitrary<RequestSpec> = fc
  .record({
    asked: fc.array(
      fc.constantFrom<Record<string, number>>({ VCPU: 1 }, { VCPU: 2 }, { PGPU: 1 }, { PGPU: 1 }, { PGPU: 2 }),
      { minLength: 2, maxLength: 5 },
    ),
    lists: fc.array(fc.subarray([0, 1, 2, 3, 4], { minLength: 2, maxLength: 3 }), { maxLength: 2 }),
    isolate: fc.boolean(),
  })
  .map(({ asked, lists, isolate }) => {
    const groups = asked.map((resources, at) => ({ name: `g${at}`, resources }));
    const sameSubtree = lists.map((list) => list.map((at) => `g${at % groups.length}`));
    return { groups, groupPolicy: isolate ? ('isolate' as const) : ('none' as const), sameSubtree };
  });

test('search - what is found without a search, for the unnamed group and one other, is what the search finds', () => {
  let found = 0;
  for (let seed = 0; seed < 800; seed += 1) {
    const random = seededRandom(`simply ${seed}`);
    const fleet = drawFleet(random);
    const { groups } = drawRequest(random, fleet).spec;
    const named = groups.find(({ name }) => name !== '') ?? { name: 'g', resources: { VGPU: 1 } };
    const spec: RequestSpec = { groups: [...groups.filter(({ name }) => name === ''), named], groupPolicy: 'none' };
    const view = viewOfFleet(fleet);
    for (const root of view.hosts.keys()) {
      const simply = fit(spec, treeOf(view, root));
      // To be in one subtree with itself is no condition, but is seen to by the search alone.
      const searched = fit({ ...spec, sameSubtree: [[named.name]] }, treeOf(view, root));
      assert.equal(simply, searched, JSON.stringify([spec, treeOf(view, root).map(({ spec: { id } }) => id)]));
      if (simply !== null) found += 1;
    }
  }
  assert.ok(found > 200, `${found} fit`);
});

test('search - what is alike is not taken for the same', () => {
  const met = { fits: 0, not: 0 };
  fc.assert(
    fc.property(alikeTrees, alikeSpecs, (tree, spec) => {
      const found = serve(planOf(spec), spec, tree, undefined, 0);
      assert.is(found !== null, fit(spec, tree) !== null);
      met[found === null ? 'not' : 'fits'] += 1;
      if (found === null) assert.is(isGranted(spec, tree), false);
      else assert.is(refusalBy(tree, spec, found), null);
    }),
    { numRuns: 400 },
  );
  assert.ok(met.fits > 50 && met.not > 50, JSON.stringify(met));
});

test('search - what is left out because it is alike would have found nothing more', () => {
  const met = { fits: 0, not: 0 };
  const sizes = fc.array(fc.integer({ min: 2, max: 6 }), { minLength: 4, maxLength: 9 });
  fc.assert(
    fc.property(sizes, fc.integer({ min: 2, max: 4 }), fc.nat(4), (asked, devices, spare) => {
      const whole = Math.max(6, Math.ceil((asked.reduce((sum, one) => sum + one, 0) + spare) / devices));
      const tree = viewOf([
        provider('h', null),
        ...Array.from({ length: devices }, (_, at) => provider(`g${at}`, 'h', { PGPU: whole })),
      ]);
      const groups = asked.map((amount, at) => ({ name: `d${at}`, resources: { PGPU: amount } }));
      const spec: RequestSpec = { groups, groupPolicy: 'none' };
      const found = serve(planOf(spec), spec, tree, undefined, 0);
      met[found === null ? 'not' : 'fits'] += 1;
      assert.is(found !== null, canBePacked(asked, Array(devices).fill(whole)));
      if (found !== null) assert.is(refusalBy(tree, spec, found), null);
    }),
    { numRuns: 1_000 },
  );
  assert.ok(met.fits > 100 && met.not > 20, JSON.stringify(met));
});

/** Plain reckoning: whether the amounts can be dealt to what is free, each to one. */
function canBePacked([amount, ...others]: readonly number[], free: readonly number[]): boolean {
  if (amount === undefined) return true;
  return free.some((left, at) => left >= amount && canBePacked(others, free.with(at, left - amount)));
}

/** Something that is claimed beside a group that asks for conditions alone. */
function besides({ name, resources }: ResourceGroup): ResourceGroup[] {
  return name === '' && Object.keys(resources).length === 0 ? [{ name: 'other', resources: {} }] : [];
}

/** Fitted, and granted by placement. */
function fitted(spec: RequestSpec, tree: readonly Provider[]): string[] {
  const allocations = fit(spec, tree);
  assert.ok(allocations !== null);
  assert.is(refusalBy(tree, spec, allocations), null);
  return allocations.map(({ provider: id, group }) => `${group}@${id}`);
}

test('search - each class of the unnamed group is served where its traits can be met', () => {
  const gpus = (first: string[], second: string[]) =>
    viewOf([
      provider('h', null, { VCPU: 8 }),
      provider('g0', 'h', { VGPU: 1 }, { traits: first }),
      provider('g1', 'h', { VGPU: 1 }, { traits: second }),
    ]);
  const asked = (more: Partial<ResourceGroup>): RequestSpec => {
    return { groups: [{ name: '', resources: { VCPU: 1, VGPU: 1 }, ...more }], groupPolicy: 'none' };
  };
  assert.equal(fitted(asked({ required: ['CUSTOM_A100'] }), gpus([], ['CUSTOM_A100'])), ['@h', '@g1']);
  assert.equal(fitted(asked({ forbidden: ['CUSTOM_BAD'] }), gpus(['CUSTOM_BAD'], [])), ['@h', '@g1']);
  assert.is(misfitOf(asked({ required: ['CUSTOM_A100'] }), gpus([], [])).code, 'trait-missing');
  const barred = misfitOf(asked({ forbidden: ['CUSTOM_BAD'] }), gpus(['CUSTOM_BAD'], ['CUSTOM_BAD']));
  assert.is(barred.code, 'trait-forbidden');
  assert.is(barred.condition, 'CUSTOM_BAD');
  // Each trait is there, but of the one class that is served by a GPU there is only one server.
  const both = misfitOf(asked({ required: ['CUSTOM_A', 'CUSTOM_B'] }), gpus(['CUSTOM_A'], ['CUSTOM_B']));
  assert.is(both.code, 'trait-missing');
  assert.is(both.condition, 'CUSTOM_B');
});

test('search - of classes that a group asks of one provider, and none has together, all are told', () => {
  const tree = viewOf([
    provider('h', null, { VCPU: 8, MEMORY_MB: 4_096, DISK_GB: 100 }),
    provider('gpu', 'h', { VGPU: 1 }),
  ]);
  const beside = (resources: Record<string, number>) =>
    misfitOf({ groups: [{ name: 'a', resources }], groupPolicy: 'none' }, tree).message;
  const asked = "which group 'a' asks of one";
  assert.is(beside({ VGPU: 1, VCPU: 1 }), `no provider of host 'h' has VGPU beside VCPU, ${asked}`);
  assert.is(
    beside({ VGPU: 1, VCPU: 1, MEMORY_MB: 1, DISK_GB: 1 }),
    `no provider of host 'h' has VGPU beside VCPU, MEMORY_MB and DISK_GB, ${asked}`,
  );
});

test('search - a device of the wanted kind that is full is told before one of another kind that is free', () => {
  const gpu = (id: string, kind: string) => provider(id, 'h', { VGPU: 2 }, { traits: [kind] });
  const gpus = viewOf([provider('h', null, { VCPU: 8 }), gpu('g0', 'CUSTOM_T4'), gpu('g1', 'CUSTOM_A100')]);
  const asked = (kind: string, VGPU: number): RequestSpec => {
    return { groups: [{ name: 'gpu', resources: { VGPU }, required: [kind] }], groupPolicy: 'none' };
  };
  adjustUse(gpus[2] as Provider, { VGPU: 2 }, 1);
  const full = misfitOf(asked('CUSTOM_A100', 1), gpus);
  assert.equal([full.code, full.provider, full.short], ['exceeds-capacity', 'g1', 1]);
  assert.is(misfitOf(asked('CUSTOM_V100', 1), gpus).code, 'trait-missing');
  // One of the wanted kind that never gives so little, beside one of another kind that is full.
  const VGPU = { total: 8, reserved: 0, min_unit: 2, max_unit: 8, step_size: 1, allocation_ratio: 1 };
  const pairs = viewOf([
    provider('h', null, { VCPU: 8 }),
    gpu('g0', 'CUSTOM_T4'),
    { ...gpu('g1', 'CUSTOM_A100'), inventories: { VGPU } },
  ]);
  const coarse = { ...gpu('g1', 'CUSTOM_A100'), inventories: { VGPU: { ...VGPU, min_unit: 8, step_size: 8 } } };
  const devices = viewOf([
    provider('h', null, { VCPU: 8 }),
    { ...gpu('g0', 'CUSTOM_T4'), inventories: { VGPU } },
    coarse,
  ]);
  adjustUse(devices[2] as Provider, { VGPU: 8 }, 1);
  // One that can never give as much is farther than one that would not do, whatever the amount.
  for (const amount of [2, 3, 4]) {
    assert.is(misfitOf(asked('CUSTOM_A100', amount), devices).code, 'trait-missing', String(amount));
    const unnamed = { name: '', resources: { VCPU: 1, VGPU: amount }, required: ['CUSTOM_A100'] };
    assert.is(misfitOf({ groups: [unnamed], groupPolicy: 'none' }, devices).code, 'trait-missing', String(amount));
  }
  for (const [place, used] of [2, 8].entries()) adjustUse(pairs[place + 1] as Provider, { VGPU: used }, 1);
  const never = misfitOf(asked('CUSTOM_A100', 1), pairs);
  assert.equal([never.code, never.provider], ['unit-constraint', 'g1']);
  // One that lacks a class altogether can serve nothing, whichever class is looked at first.
  const nodes = viewOf([
    provider('h', null, { DISK_GB: 8 }),
    provider('n0', 'h', { VCPU: 8, MEMORY_MB: 16 }),
    provider('n1', 'h', { VCPU: 1 }, { traits: ['CUSTOM_X'] }),
  ]);
  for (const resources of [
    { VCPU: 2, MEMORY_MB: 4 },
    { MEMORY_MB: 4, VCPU: 2 },
  ]) {
    const groups = [{ name: 'node', resources, required: ['CUSTOM_X'] }];
    assert.is(misfitOf({ groups, groupPolicy: 'none' }, nodes).code, 'trait-missing');
  }
});

test('search - what is said to stand in the way is the same in whatever order the providers of a host were heard of', () => {
  const tree = viewOf([
    provider('h', null, { VCPU: 8 }),
    provider('g0', 'h', { VGPU: 2 }, { traits: ['CUSTOM_OLD'] }),
    provider('g1', 'h', { VGPU: 1 }),
    provider('g2', 'h', { VGPU: 1 }),
  ]);
  const [root, ...devices] = tree;
  const asked = (more: Partial<ResourceGroup>): RequestSpec => {
    return { groups: [{ name: 'gpu', resources: { VGPU: 1 }, ...more }], groupPolicy: 'none' };
  };
  for (const spec of [
    asked({ forbidden: ['CUSTOM_OLD'], required: ['CUSTOM_NEW'] }),
    asked({ anyOf: [['CUSTOM_NEW'], ['CUSTOM_OLD']], forbidden: ['CUSTOM_OLD'] }),
    asked({ resources: { VGPU: 3 } }),
    asked({ resources: { VGPU: 2 }, forbidden: ['CUSTOM_OLD'] }),
  ]) {
    assert.equal(misfitOf(spec, [root as Provider, ...devices.toReversed()]), misfitOf(spec, tree));
  }
});

test('search - the unnamed group leaves what a named group cannot do without', () => {
  const tree = viewOf([
    provider('h', null, { DISK_GB: 100 }),
    provider('n0', 'h', { VCPU: 8 }),
    provider('n1', 'h', { VCPU: 2 }),
  ]);
  const spec = (pinned: number, shared = 2): RequestSpec => {
    const groups = [
      { name: '', resources: { VCPU: shared, DISK_GB: 1 } },
      { name: 'pin', resources: { VCPU: pinned } },
    ];
    return { groups, groupPolicy: 'none' };
  };
  assert.equal(fitted(spec(8), tree), ['@n1', '@h', 'pin@n0']);
  assert.equal(
    fitted(spec(6), tree),
    ['@n0', '@h', 'pin@n0'],
    'the first provider with room where nothing speaks against it',
  );
  assert.equal(misfitOf(spec(8, 3), tree), {
    code: 'exceeds-capacity',
    message: "11 VCPU, which the groups ask together, exceed the most that they can have on 'h': 10 (short by 1)",
    provider: 'h',
    resourceClass: 'VCPU',
    short: 1,
  });
});

test('search - a trait that none has is told before how much all groups lack, which is counted as if it were not required', () => {
  const tree = viewOf([
    provider('h', null),
    provider('n0', 'h', { MEMORY_MB: 100 }),
    provider('n1', 'h', { MEMORY_MB: 100 }),
    provider('g0', 'n0', { VGPU: 4 }),
    provider('g1', 'n1', { VGPU: 4 }),
  ]);
  for (const [at, used] of [
    [3, 4],
    [4, 3],
  ] as const) {
    adjustUse(tree[at] as Provider, { VGPU: used }, 1);
  }
  const gpu = (name: string, conditions: Partial<ResourceGroup>) => ({ name, resources: { VGPU: 2 }, ...conditions });
  const asking = (conditions: Partial<ResourceGroup>): RequestSpec => ({
    groups: [{ name: 'mem', resources: { MEMORY_MB: 50 } }, gpu('a', conditions), gpu('b', conditions)],
    groupPolicy: 'none',
    sameSubtree: [['mem', 'a']],
  });
  const told = (spec: RequestSpec, count = 1) => misfitsOf(spec, tree, count).all.map(({ message }) => message);
  const lacking = "4 VGPU, which the groups ask together, exceed the most that they can have on 'h': 1 (short by 3)";
  assert.equal(told(asking({})), [lacking]);
  assert.equal(told(asking({ required: ['HW_GPU_API_VULKAN'] })), [
    "provider 'g1' lacks the required trait HW_GPU_API_VULKAN",
    lacking,
  ]);
  const one: RequestSpec = { groups: [gpu('a', { required: ['HW_GPU_API_VULKAN'] })], groupPolicy: 'none' };
  assert.equal(told(one, 3), [
    "6 VGPU, which 3 instances ask together, exceed the most that they can have on 'h': 1 (short by 5)",
    "provider 'g0' lacks the required trait HW_GPU_API_VULKAN",
  ]);
});

test('search - of several classes that a provider lacks the one is told of which it lacks the largest part, in any order', () => {
  const tree = viewOf([provider('h', null), provider('n0', 'h', { VCPU: 1, MEMORY_MB: 990 })]);
  for (const resources of [
    { VCPU: 4, MEMORY_MB: 1_000 },
    { MEMORY_MB: 1_000, VCPU: 4 },
  ]) {
    const { resourceClass, short } = misfitOf({ groups: [{ name: 'pin', resources }], groupPolicy: 'none' }, tree);
    assert.equal([resourceClass, short], ['VCPU', 3]);
  }
});

test('search - a trait that none has is told also where it is not the first group that asks for it', () => {
  const gpu = (name: string, trait: string) => ({ name, resources: { VGPU: 2 }, required: [trait] });
  const tree = viewOf([provider('h', null), provider('g0', 'h', { VGPU: 1 }, { traits: ['CUSTOM_A'] })]);
  const groups = [gpu('a', 'CUSTOM_A'), gpu('b', 'CUSTOM_B')];
  const { code, condition } = misfitOf({ groups, groupPolicy: 'none' }, tree);
  assert.equal([code, condition], ['trait-missing', 'CUSTOM_B']);
});

test('search - where there is enough in all, the reason is the group that finds no room beside the others', () => {
  const tree = viewOf([provider('h', null), provider('n0', 'h', { VCPU: 8 }), provider('n1', 'h', { VCPU: 4 })]);
  const groups = [6, 3, 3].map((amount, at) => ({ name: `pin${at}`, resources: { VCPU: amount } }));
  const spec: RequestSpec = { groups, groupPolicy: 'none' };
  assert.is(fit(spec, tree), null);
  assert.equal(misfitOf(spec, tree), {
    code: 'exceeds-capacity',
    message:
      "3 VCPU exceed what is free on provider 'n0' after 6 for another group: 2 of 8 (short by 1), beside the other groups of the request",
    provider: 'n0',
    resourceClass: 'VCPU',
    short: 1,
  });
});

test('search - what finds no room beside the others is said to lack the class of which it lacks the largest part', () => {
  const large = { VCPU: 6, MEMORY_MB: 5_000 };
  const groups = [large, large, { VCPU: 4, MEMORY_MB: 3_010 }].map((resources, at) => ({ name: `${at}`, resources }));
  const told = (n0: Record<string, number>, n1: Record<string, number>) => {
    const tree = viewOf([provider('h', null), provider('n0', 'h', n0), provider('n1', 'h', n1)]);
    const { resourceClass, provider: on, short } = misfitOf({ groups, groupPolicy: 'none' }, tree);
    return { resourceClass, on, short };
  };
  // On either cell many of the CPUs are lacking beside hardly any memory, whatever the figures say.
  const small = { VCPU: 8, MEMORY_MB: 8_000 };
  assert.equal(told(small, small), { resourceClass: 'VCPU', on: 'n0', short: 2 });
  // One cell lacks many CPUs, and the other hardly any memory: that one is nearer.
  const ofMemory = { resourceClass: 'MEMORY_MB', on: 'n1', short: 10 };
  assert.equal(told({ ...small, MEMORY_MB: 20_000 }, { ...small, VCPU: 16 }), ofMemory);
});

/** A host with so many GPUs, of which the first ones have a trait each. */
/** By how much groups lack what providers have free at least, however they are dealt to them. */
function leastLack([amount, ...others]: readonly number[], free: readonly number[]): number {
  if (amount === undefined) return 0;
  const ways = free.map((left, at) => {
    const rest = free.map((one, other) => (other === at ? Math.max(0, left - amount) : one));
    return Math.max(0, amount - left) + leastLack(others, rest);
  });
  return Math.min(amount + leastLack(others, free), ...ways);
}

test('search - groups that ask for one class are told to be short of no more than they lack together', () => {
  const random = seededRandom('lack');
  let exact = 0;
  let all = 0;
  for (let draw = 0; draw < 3_000; draw += 1) {
    const amounts = Array.from({ length: random.integer(2, 4) }, () => random.integer(1, 6));
    const free = Array.from({ length: random.integer(1, 3) }, () => random.integer(1, 8));
    const tree = viewOf([provider('h', null), ...free.map((total, n) => provider(`g${n}`, 'h', { VGPU: total }))]);
    const groups = amounts.map((amount, n) => ({ name: `${n}`, resources: { VGPU: amount } }));
    const spec: RequestSpec = { groups, groupPolicy: 'none' };
    if (fit(spec, tree) !== null) continue;
    const { short = 0, message } = misfitOf(spec, tree);
    const lack = leastLack(amounts, free);
    const about = `${amounts} of ${free}: ${message}, lack ${lack}`;
    assert.ok(short > 0, about);
    // Where there is enough in all, it is beside one way to deal the others: not always the best one where these are several.
    const isOfOneWay = amounts.length > 2 && message.endsWith('beside the other groups of the request');
    if (!isOfOneWay) assert.ok(short <= lack, about);
    all += 1;
    if (short === lack) exact += 1;
  }
  assert.ok(all > 1_000 && exact > 0.9 * all, `${exact} of ${all}`);
});

function gpuHost(gpus: number, traits: readonly string[]): Provider[] {
  const devices = Array.from({ length: gpus }, (_, at) =>
    provider(`g${at}`, 'h', { PGPU: 1 }, { traits: traits.slice(at, at + 1) }),
  );
  return viewOf([provider('h', null, { VCPU: 64 }), ...devices]);
}

test('search - groups that can go anywhere leave a device to one that cannot, however many they are', () => {
  const traits = Array.from({ length: 4 }, (_, at) => `CUSTOM_T${at}`);
  for (const groupPolicy of ['none', 'isolate'] as const) {
    for (const gpus of [6, 8, 16, 31]) {
      const groups: ResourceGroup[] = Array.from({ length: gpus }, (_, at) => {
        const trait = traits[gpus - 1 - at];
        return { name: `d${at}`, resources: { PGPU: 1 }, ...(trait === undefined ? {} : { required: [trait] }) };
      });
      const servers = fitted({ groups, groupPolicy }, gpuHost(gpus, traits)).slice(-4);
      assert.equal(
        servers.map((one) => one.split('@')[1]),
        ['g3', 'g2', 'g1', 'g0'],
      );
    }
  }
});

test('search - that devices are too few for groups of several kinds is found out without trying all orders', () => {
  const traits = Array.from({ length: 16 }, (_, at) => (at < 8 ? 'CUSTOM_FAST' : 'CUSTOM_SLOW'));
  const kinds: Partial<ResourceGroup>[] = [{ required: ['CUSTOM_FAST'] }, { forbidden: ['CUSTOM_SLOW'] }, {}];
  const groups = (counts: readonly number[]): ResourceGroup[] =>
    counts.flatMap((count, kind) =>
      Array.from({ length: count }, (_, at) => ({ name: `k${kind}-${at}`, resources: { PGPU: 1 }, ...kinds[kind] })),
    );
  let looks = 0;
  const count = () => {
    looks += 1;
    return 0;
  };
  for (const groupPolicy of ['none', 'isolate'] as const) {
    assert.ok(fit({ groups: groups([4, 4, 8]), groupPolicy }, gpuHost(16, traits), count) !== null);
    looks = 0;
    assert.is(fit({ groups: groups([5, 4, 1]), groupPolicy }, gpuHost(16, traits), count), null);
    assert.ok(looks < 1_000, `${looks} looks`);
    const { code, resourceClass } = misfitOf({ groups: groups([5, 4, 1]), groupPolicy }, gpuHost(16, traits));
    assert.equal([code, resourceClass], ['exceeds-capacity', 'PGPU']);
  }
});

test('search - the group policy is named as the reason only where it is', () => {
  const two = (groupPolicy: 'none' | 'isolate', amount: number): RequestSpec => {
    const groups = ['a', 'b'].map((name) => ({ name, resources: { VGPU: amount } }));
    return { groups, groupPolicy };
  };
  const tree = viewOf([provider('h', null, { VCPU: 8 }), provider('g0', 'h', { VGPU: 4 })]);
  assert.is(misfitOf(two('isolate', 2), tree).code, 'not-isolated');
  assert.is(misfitOf(two('isolate', 3), tree).code, 'exceeds-capacity');
  assert.is(misfitOf(two('none', 3), tree).code, 'exceeds-capacity');
  assert.equal(fitted(two('none', 2), tree), ['a@g0', 'b@g0']);
});

test('search of a fit - a preference is asked about what is chosen so far, and of no class that is still open', () => {
  const tree = viewOf([
    provider('h', null, { VCPU: 4, MEMORY_MB: 4, DISK_GB: 4 }),
    ...['a', 'b', 'c'].map((id) => provider(id, 'h', { MEMORY_MB: 4, ...(id === 'c' ? {} : { VGPU: 4 }) })),
  ]);
  const spec: RequestSpec = {
    groups: [
      { name: '', resources: { VCPU: 1, MEMORY_MB: 1, DISK_GB: 1 } },
      { name: 'gpu', resources: { VGPU: 1 } },
    ],
    groupPolicy: 'none',
  };
  const offers: (readonly Allocation[])[] = [];
  const found = serve(planOf(spec), spec, tree, ({ allocations }) => offers.push([...allocations]), 0);
  assert.equal(offers[0], [
    { provider: 'h', group: '', resources: { VCPU: 1, DISK_GB: 1 } },
    { provider: 'a', group: 'gpu', resources: { VGPU: 1 } },
  ]);
  assert.equal(found, [
    { provider: 'h', group: '', resources: { VCPU: 1, MEMORY_MB: 1, DISK_GB: 1 } },
    { provider: 'b', group: 'gpu', resources: { VGPU: 1 } },
  ]);
});

test('search of a fit - a preference is asked about all servers of one choice with one object', () => {
  const tree = viewOf([
    provider('h', null, { VCPU: 4 }),
    ...['a', 'b', 'c'].map((id) => provider(id, 'h', { VGPU: 4 })),
  ]);
  const groups = ['gpu1', 'gpu2'].map((name) => ({ name, resources: { VGPU: 1 } }));
  const offers: object[] = [];
  const prefers = (offer: object) => offers.push(offer);
  for (const asked of [groups.slice(1), groups]) {
    const spec: RequestSpec = { groups: asked, groupPolicy: 'isolate' };
    offers.length = 0;
    serve(planOf(spec), spec, tree, prefers);
    assert.is(new Set(offers).size, asked.length);
    assert.ok(offers.length > 2 * asked.length, `${offers.length}`);
  }
});

/** What is read of a provider at one look: some for each condition and class that is asked for. */
const READS_A_LOOK = 16;

/** The same providers; what is read of them is counted. */
function watchedTree(tree: readonly Provider[]): { tree: Provider[]; reads: () => number } {
  let reads = 0;
  const get = (provider: Provider, name: string | symbol): unknown => {
    reads += 1;
    return Reflect.get(provider, name);
  };
  return { tree: tree.map((provider) => new Proxy(provider, { get })), reads: () => reads };
}

test('search - where groups ask more together than there is, that is told at once, however many ways there are to deal it', () => {
  const gpus = Array.from({ length: 8 }, (_, n) => provider(`g${n}`, 'r', { VGPU: 1_000 }));
  const tree = viewOf([provider('r', null, { VCPU: 8 }), ...gpus]);
  const groups = Array.from({ length: 16 }, (_, n) => ({ name: `g${n}`, resources: { VGPU: 600 + n } }));
  const before = effort.looks;
  assert.is(fitAtOnce({ groups, groupPolicy: 'none' }, tree), null);
  assert.is(fit({ groups: groups.slice(0, 14), groupPolicy: 'none' }, tree), null);
  assert.ok(effort.looks - before < 100, `${effort.looks - before} looks`);
});

test('search - looks tell what a search costs: at each little is read, and how many there are is bounded', () => {
  const count = 255;
  const range = <Made>(length: number, make: (at: number) => Made) => Array.from({ length }, (_, at) => make(at));
  const classes = range(16, (at) => `CUSTOM_C${at}`);
  const traits = range(16, (at) => `CUSTOM_T${at}`);
  const some = (amount: number) => Object.fromEntries(classes.map((name) => [name, amount]));
  const host = provider('h', null, { VCPU: 8 });
  const named = (length: number) => range(length, (at) => ({ name: `g${at}`, resources: { PGPU: 1 + (at % 9) } }));
  const names = (length: number) => named(length).map(({ name }) => name);
  const flat = [host, ...range(count, (n) => provider(`p${n}`, 'h', { ...some(4), PGPU: 9 }))];
  const last = [...flat.slice(0, -1), provider('last', 'h', { ...some(4), PGPU: 9 }, { traits })];
  const chain = [host, ...range(count, (n) => provider(`p${n}`, n === 0 ? 'h' : `p${n - 1}`, { PGPU: 9 }))];
  const pairs = [host, ...range(count, (n) => provider(`p${n}`, n % 2 === 0 ? 'h' : `p${n - 1}`, { PGPU: 9 }))];
  const spread: ResourceGroup = { name: '', resources: some(1), required: traits };
  const lists = range(8, (list) => names(16).filter((_, at) => at % 8 !== list));
  const cases: [what: string, tree: ProviderSpec[], spec: RequestSpec, found: boolean | undefined][] = [
    ['traits that nobody has', flat, { groups: [spread], groupPolicy: 'none' }, false],
    ['traits that the last has', last, { groups: [spread], groupPolicy: 'none' }, true],
    ['both', last, { groups: [spread, ...named(16)], groupPolicy: 'isolate' }, true],
    ['a deep tree', chain, { groups: named(16), groupPolicy: 'isolate', sameSubtree: [names(16)] }, true],
    ['subtrees too small', pairs, { groups: named(16), groupPolicy: 'isolate', sameSubtree: [names(16)] }, undefined],
    ['many lists', pairs, { groups: named(16), groupPolicy: 'isolate', sameSubtree: lists }, undefined],
  ];
  for (const [what, told, spec, found] of cases) {
    const { tree, reads } = watchedTree(viewOf(told));
    const before = effort.looks;
    const allocations = fitAtOnce(spec, tree);
    const looks = effort.looks - before;
    assert.is(allocations === undefined ? undefined : allocations !== null, found, what);
    if (allocations) assert.is(refusalBy(tree, spec, allocations), null);
    const { choices, kinds } = planOf(spec);
    assert.ok(looks <= 2 * choices.length * tree.length + 1, `${what}: ${looks} looks`);
    // Which providers could serve a choice at all is read once for each kind.
    const most = READS_A_LOOK * (looks + kinds.length * tree.length);
    assert.ok(reads() <= most, `${what}: ${reads()} reads at ${looks} looks`);
  }
});

test('search of a fit - of many groups on many providers, those that serve nothing are not asked again whether they have room', () => {
  const root = provider('r', null);
  const tree = viewOf([root, ...Array.from({ length: 32 }, (_, n) => provider(`r-${n}`, 'r', { VCPU: 8 }))]);
  let asked = 0;
  for (const { stocks } of tree) {
    const get = stocks.get.bind(stocks);
    Object.assign(stocks, {
      get(resourceClass: string) {
        asked += 1;
        return get(resourceClass);
      },
    });
  }
  const groups = Array.from({ length: 31 }, (_, n) => ({ name: `g${n}`, resources: { VCPU: 1 } }));
  assert.is(fit({ groups, groupPolicy: 'isolate' }, tree)?.length, 31);
  // Each of the groups is weighed on each provider that is left; beside that the whole tree is looked at a few times.
  const left = groups.reduce((sum, _, served) => sum + 32 - served, 0);
  assert.ok(asked < 1.3 * left, `providers were asked ${asked} times, to weigh ${left}`);
});

test.run();
