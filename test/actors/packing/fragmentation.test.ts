// Area: fragmentation. How much of what is free is of no use to the typical requests, against the published formula
// taken word for word, on hosts that change; and what the policy makes of it.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fit } from '../../../actors/fitting/fit.ts';
import type { RequestSpec } from '../../../actors/messages/common.ts';
import { adjustUse, type Provider } from '../../../actors/placement/providers.ts';
import {
  deviceRequestOf,
  type TypicalRequest,
  typicalRequests,
} from '../../../actors/scheduler/weighers/packing/fragmentation.ts';
import { fragmentationGradient } from '../../../actors/scheduler/weighers/packing/fragmentation-gradient.ts';
import { MILLI_SCALE } from '../../../actors/scheduler/weighers/packing/load.ts';
import {
  bringUpToDate,
  fragmentationAfter,
  newStanding,
  typicalTable,
} from '../../../actors/scheduler/weighers/packing/standing.ts';
import { type Random, seededRandom } from '../../../runtime/random.ts';
import { devicesOf, specOf, treeOf } from './hosts.ts';

const test = suite('fragmentation');

const MODELS = ['T4', 'V100'];

/** The formula as it is published: amounts of a host, one sum over the typical requests, each as often as it was seen. */
function published(typical: readonly TypicalRequest[], processor: number, free: readonly number[], model: string) {
  const all = free.reduce((sum, one) => sum + one, 0);
  return typical.reduce((sum, request) => {
    const wrongModel = !request.anyOf.every((list) => list.includes(`CUSTOM_GPU_${model}`));
    const able = free.filter((one) => one >= request.share).length;
    if (request.devices === 0 || wrongModel || able < request.devices || processor < request.processor) {
      return sum + request.times * all;
    }
    const useless = free.filter((one) => one < request.share).reduce((left, one) => left + one, 0);
    return sum + request.times * useless;
  }, 0);
}

function randomTypical(random: Random): TypicalRequest[] {
  const requests = Array.from({ length: random.integer(1, 12) }, () => {
    const devices = random.pick([0, 1, 1, 1, 2, 4]);
    const share = devices === 1 ? random.pick([100, 250, 500, 1_000]) : devices === 0 ? 0 : 1_000;
    const anyOf = devices > 0 && random.chance(0.4) ? [[`CUSTOM_GPU_${random.pick(MODELS)}`]] : [];
    return { processor: random.integer(0, 12) * 1_000, devices, share, anyOf };
  });
  return typicalRequests(requests, 1);
}

const freeOf = (provider: Provider, resourceClass: string) => {
  const { capacity, used } = provider.stocks.get(resourceClass) as { capacity: number; used: number };
  return capacity - used;
};

function take(provider: Provider, resourceClass: string, amount: number): void {
  adjustUse(provider, { [resourceClass]: amount }, 1);
}

test('fragmentation - as published, for 300 random hosts that change again and again', () => {
  const random = seededRandom('fragmentation');
  let compared = 0;
  for (let host = 0; host < 300; host += 1) {
    const typical = randomTypical(random);
    const table = typicalTable(typical);
    const model = random.pick(MODELS);
    const tree = treeOf({
      processor: 16_000,
      processorFree: 16_000,
      free: Array.from({ length: random.integer(1, 8) }, () => 1_000),
      model,
    });
    const [root, ...devices] = tree as [Provider, ...Provider[]];
    const standing = newStanding(tree, table, MILLI_SCALE);
    for (let change = 0; change < 10; change += 1) {
      const processor = freeOf(root, 'CUSTOM_CPU_MILLI');
      const free = devices.map((device) => freeOf(device, 'CUSTOM_GPU_MILLI'));
      bringUpToDate(standing, table);
      assert.is(standing.fragmentation, published(typical, processor, free, model));

      const processorTaken = random.integer(0, processor);
      const amounts = free.map((one) => (random.chance(0.5) ? random.integer(0, one) : 0));
      const taken = standing.devices
        .map((device, position) => ({ device, amount: amounts[position] as number }))
        .filter(({ amount }) => amount > 0);
      const left = free.map((one, position) => one - (amounts[position] as number));
      assert.is(
        fragmentationAfter(standing, table, processorTaken, taken),
        published(typical, processor - processorTaken, left, model),
      );
      compared += 1;

      // Now and then something is given back as well.
      take(root, 'CUSTOM_CPU_MILLI', random.chance(0.3) ? processor - 16_000 : Math.floor(processorTaken / 2));
      const changed = random.pick(devices);
      const now = freeOf(changed, 'CUSTOM_GPU_MILLI');
      take(changed, 'CUSTOM_GPU_MILLI', random.chance(0.2) ? now - 1_000 : random.integer(0, now));
    }
  }
  assert.is(compared, 3_000);
});

test('fragmentation - by hand: half the requests want a share of 400, half a whole device', () => {
  const typical = typicalRequests([share(1_000, 400), share(4_000, 1_000)]);
  const table = typicalTable(typical);
  const fragmentationOf = (processorFree: number, free: number[]) => {
    const standing = newStanding(treeOf({ processorFree, free }), table, MILLI_SCALE);
    bringUpToDate(standing, table);
    return standing.fragmentation;
  };
  assert.is(fragmentationOf(8_000, [1_000, 600, 300]), 300 + 900);
  assert.is(fragmentationOf(8_000, [600, 300]), 300 + 900, 'nothing whole: all is lost on the second');
  assert.is(fragmentationOf(3_000, [1_000, 600, 300]), 300 + 1_900, 'no processor for the second');
  assert.is(fragmentationOf(0, [1_000, 600, 300]), 2 * 1_900);
  assert.is(fragmentationOf(8_000, [0, 0]), 0);
});

test('fragmentation - requests without devices make use of none', () => {
  const typical = typicalRequests([{ processor: 0, devices: 0, share: 0, anyOf: [] }]);
  const table = typicalTable(typical);
  const standing = newStanding(treeOf({ processorFree: 8_000, free: [1_000] }), table, MILLI_SCALE);
  bringUpToDate(standing, table);
  assert.is(standing.fragmentation, 1_000);
});

test('fragmentation - requests that want the same of devices are looked at as one, however many amounts of processor', () => {
  const random = seededRandom('processors');
  const amounts = random.shuffle(Array.from({ length: 1_000 }, (_, step) => 10 * step));
  const requests = amounts.flatMap((processor) => [share(processor, 400), { ...share(processor, 1_000), devices: 2 }]);
  const typical = typicalRequests([...requests, { processor: 0, devices: 0, share: 0, anyOf: [] }], 1);
  const table = typicalTable(typical);
  assert.is(table.size, 2);
  for (const processor of [0, 9, 10, 11, 5_000, 9_989, 9_990, 20_000]) {
    const free = [1_000, 600, 300, 1_000];
    const standing = newStanding(treeOf({ processorFree: processor, free }), table, MILLI_SCALE);
    bringUpToDate(standing, table);
    assert.is(standing.fragmentation, published(typical, processor, free, 'T4'), `${processor}`);
  }
});

test('fgd - a share goes to the device that it fragments least, not to the tightest', () => {
  // What is left of the third device can serve a share of 400 again, and 100 left of the second nobody.
  const typical = typicalRequests([share(0, 400), share(0, 400), share(0, 1_000)]);
  const { weigh, prefers } = fragmentationGradient(typical, MILLI_SCALE);
  const tree = treeOf({ processorFree: 8_000, free: [1_000, 500, 800] });
  const spec = specOf(1_000, 1, 400);
  assert.equal(devicesOf(fit(spec, tree)), [1]);
  const allocations = fit(spec, tree, prefers) ?? [];
  assert.equal(devicesOf(allocations), [2]);
  // Before: a third of 1,300 that are of no use to the whole one. After: a third of 900; the fall is 133.3.
  const expected = Math.trunc(100 / (1 + Math.exp(-(1_300 / 3 - 900 / 3) / 1_000))) / 100;
  assert.is(weigh({ tree, allocations } as never, null), expected);
});

test('fgd - of several shares each goes to the device that is left with least, and only one alone looks at each', () => {
  const typical = typicalRequests([share(0, 400), share(0, 400), share(0, 1_000)]);
  const { prefers } = fragmentationGradient(typical, MILLI_SCALE);
  const tree = treeOf({ processorFree: 8_000, free: [1_000, 800, 300, 500, 600] });
  const taken = (spec: RequestSpec) => devicesOf(fit(spec, tree, prefers));
  assert.equal(taken(specOf(1_000, 1, 400)), [1], 'what is left serves a share of 400 again');
  assert.equal(taken(specOf(1_000, 2, 400)), [3, 4]);
  assert.equal(taken(specOf(1_000, 3, 400)), [3, 4, 1]);
  assert.equal(taken({ ...specOf(1_000, 2, 250), groupPolicy: 'none' }), [2, 3]);
  assert.equal(taken({ ...specOf(1_000, 2, 150), groupPolicy: 'none' }), [2, 2], 'what the first takes counts');
});

test('fgd - a host that the claim makes neither better nor worse stands exactly in the middle', () => {
  const typical = typicalRequests([share(1_000, 300), share(2_000, 700), share(7, 1_000)]);
  const { weigh } = fragmentationGradient(typical, MILLI_SCALE);
  const tree = treeOf({ processorFree: 9_000, free: [700, 300, 100] });
  assert.is(weigh({ tree, allocations: fit(specOf(1), tree) ?? [] } as never, null), 0.5);
});

test('fgd - a provider that is told anew with other traits is seen as it is now', () => {
  const wanted = { processor: 0, devices: 1, share: 500, anyOf: [['CUSTOM_GPU_V100']] };
  const { weigh } = fragmentationGradient(typicalRequests([wanted]), MILLI_SCALE);
  const said = (model: string) => {
    const tree = treeOf({ processorFree: 9_000, free: [1_000], model });
    return weigh({ tree, allocations: fit(specOf(0, 1, 600), tree) ?? [] } as never, null);
  };
  // Of no use before and after: it falls by what is taken. Of use before, and the rest of none after: it rises.
  assert.ok(said('T4') > 0.5);
  assert.ok(said('V100') < 0.5);
});

test('typical requests - the most frequent kinds that make up the part, larger ones first among equals', () => {
  const many = (count: number, processor: number) => Array.from({ length: count }, () => share(processor, 500));
  const requests = [...many(1, 1_000), ...many(10, 2_000), ...many(5, 3_000), ...many(4, 5_000), ...many(4, 4_000)];
  const kinds = (part: number) => typicalRequests(requests, part).map(({ processor }) => processor);
  assert.equal(kinds(1), [2_000, 3_000, 5_000, 4_000, 1_000]);
  assert.equal(kinds(0.5), [2_000, 3_000], '10 of 24 are too few');
  const [first, second] = typicalRequests(requests, 0.5);
  assert.equal([first?.times, second?.times], [10, 5]);
});

test('typical requests - one that was seen several times counts as several', () => {
  const seen = [{ ...share(1_000, 500), times: 3 }, share(2_000, 500), share(1_000, 500)];
  assert.equal(typicalRequests(seen, 1), [
    { ...share(1_000, 500), times: 4 },
    { ...share(2_000, 500), times: 1 },
  ]);
});

test('typical requests - what a request asks for, whatever its memory', () => {
  const spec = specOf(4_000, 2, 1_000, ['T4', 'P100']);
  const [unnamed, ...groups] = spec.groups as [(typeof spec.groups)[number]];
  const withMemory = {
    ...spec,
    groups: [{ ...unnamed, resources: { ...unnamed.resources, MEMORY_MB: 7 } }, ...groups],
  };
  const expected = { processor: 4_000, devices: 2, share: 1_000, anyOf: [['CUSTOM_GPU_T4', 'CUSTOM_GPU_P100']] };
  assert.equal(deviceRequestOf(spec, MILLI_SCALE), expected);
  assert.equal(deviceRequestOf(withMemory, MILLI_SCALE), expected);
  assert.equal(deviceRequestOf(specOf(500), MILLI_SCALE), { processor: 500, devices: 0, share: 0, anyOf: [] });
});

function share(processor: number, amount: number) {
  return { processor, devices: 1, share: amount, anyOf: [] };
}

test.run();
