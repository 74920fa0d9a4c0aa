// Area: fit. What the search finds for requests and hosts made by chance, beside a reckoning that tries every way.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fit, fitAtOnce } from '../../actors/fitting/fit.ts';
import type { RequestSpec, ResourceGroup } from '../../actors/messages/common.ts';
import type { Inventory } from '../../actors/messages/placement.ts';
import { countsOf, makeProvider } from '../../actors/placement/providers.ts';
import { type Random, seededRandom } from '../../runtime/random.ts';
import { canServe, isServedBy, type Used, waysIn } from '../support/fit-oracle.ts';

const test = suite('fit by hand');

const CLASSES = ['VCPU', 'MEMORY_MB', 'VGPU'] as const;
const TRAITS = ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C'] as const;
const AGGREGATES = ['a1', 'a2'] as const;
const CASES = 6_000;
/** More ways than this are not all tried. */
const MOST_WAYS = 10_000;

const some = <T>(random: Random, all: readonly T[], share: number): T[] => all.filter(() => random.chance(share));

function drawInventory(random: Random): Inventory {
  const total = random.integer(1, 12);
  return {
    total,
    reserved: random.chance(0.2) ? random.integer(0, total) : 0,
    min_unit: random.pick([1, 1, 1, 2]),
    max_unit: random.chance(0.4) ? random.integer(2, 12) : 24,
    step_size: random.pick([1, 1, 1, 2, 3]),
    allocation_ratio: random.pick([1, 1, 1, 1.5, 0.7, 2]),
  };
}

function drawTree(random: Random): Used[] {
  // Whether one is below another is found otherwise in trees that are deep.
  const isDeep = random.chance(0.15);
  return Array.from({ length: isDeep ? random.integer(10, 12) : random.integer(1, 6) }, (_, n) => {
    const inventories: Record<string, Inventory> = {};
    const used: Record<string, number> = {};
    for (const name of some(random, CLASSES, 0.65)) {
      inventories[name] = drawInventory(random);
      if (random.chance(0.4)) used[name] = random.integer(1, 6);
    }
    const traits = some(random, TRAITS, 0.3);
    const parent = n === 0 ? null : `p${isDeep && random.chance(0.85) ? n - 1 : random.integer(0, n - 1)}`;
    return {
      spec: { id: `p${n}`, name: `p${n}`, parent, inventories, traits, aggregates: some(random, AGGREGATES, 0.25) },
      used,
    };
  });
}

function drawGroup(random: Random, name: string): ResourceGroup {
  const asked = some(random, CLASSES, 0.4);
  const isOf = (share: number) => random.chance(share);
  return {
    name,
    resources: Object.fromEntries((asked.length === 0 ? ['VCPU'] : asked).map((one) => [one, random.integer(1, 4)])),
    ...(isOf(0.12) ? { required: [random.pick(TRAITS)] } : {}),
    ...(isOf(0.08) ? { anyOf: [[TRAITS[0], TRAITS[1]]] } : {}),
    ...(isOf(0.1) ? { forbidden: [random.pick(TRAITS)] } : {}),
    ...(isOf(0.1) ? { memberOf: [[random.pick(AGGREGATES)]] } : {}),
  };
}

function drawSpec(random: Random): RequestSpec {
  const names = ['g0', 'g1', 'g2', 'g3'].slice(0, random.integer(0, 4));
  const groups = names.map((name) => drawGroup(random, name));
  // Two that ask for the same are searched otherwise than two that do not.
  if (groups.length > 1 && random.chance(0.4)) groups[1] = { ...(groups[0] as ResourceGroup), name: 'g1' };
  if (groups.length === 0 || random.chance(0.5)) groups.unshift(drawGroup(random, ''));
  return {
    groups,
    groupPolicy: random.chance(0.35) ? 'isolate' : 'none',
    ...(names.length > 1 && random.chance(0.4)
      ? { sameSubtree: [names.slice(0, random.integer(2, names.length))] }
      : {}),
    ...(random.chance(0.05) ? { rootRequired: [random.pick(TRAITS)] } : {}),
    ...(random.chance(0.05) ? { rootForbidden: [random.pick(TRAITS)] } : {}),
  };
}

test('fit by hand - what is found is allowed, and nothing is found only where no way is', () => {
  const random = seededRandom('fit by hand');
  const tried = { fits: 0, refused: 0 };
  for (let n = 0; n < CASES; n++) {
    const tree = drawTree(random);
    const spec = drawSpec(random);
    if (waysIn(spec, tree) > MOST_WAYS) continue;
    const providers = tree.map(({ spec, used }) => {
      const provider = makeProvider(spec, 'p0');
      for (const [name, stock] of countsOf(provider)) stock.used = used[name] ?? 0;
      return provider;
    });
    const isPossible = canServe(spec, tree);
    const which = () => JSON.stringify({ n, spec, tree });
    const found = fit(spec, providers);
    assert.is(found !== null, isPossible, which());
    if (found !== null) assert.ok(isServedBy(spec, tree, found), which());
    const atOnce = fitAtOnce(spec, providers);
    if (atOnce !== undefined) assert.is(atOnce !== null, isPossible, which());
    if (atOnce) assert.ok(isServedBy(spec, tree, atOnce), which());
    tried[isPossible ? 'fits' : 'refused'] += 1;
  }
  assert.ok(tried.fits > CASES / 10 && tried.refused > CASES / 10, JSON.stringify(tried));
});

test.run();
