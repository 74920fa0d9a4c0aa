// Area: fit. Which provider within a host serves a group: the one that is left with least, or the one that is
// preferred; and that a request for more devices than there are is refused without trying their orders.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fit } from '../../actors/fitting/fit.ts';
import { timesIn } from '../../actors/fitting/fit-times.ts';
import type { RequestSpec } from '../../actors/messages/common.ts';
import { adjustUse, countsOf, makeProvider } from '../../actors/placement/providers.ts';
import { devicesOf, specOf, treeOf } from './packing/hosts.ts';

const test = suite('fit');

test('fit - a share goes to the device that is left with least', () => {
  const tree = treeOf({ processorFree: 8_000, free: [1_000, 600, 300, 700] });
  assert.equal(devicesOf(fit(specOf(1_000, 1, 250), tree)), [2]);
  assert.equal(devicesOf(fit(specOf(1_000, 1, 301), tree)), [1]);
  assert.is(fit(specOf(1_000, 1, 1_001), tree), null);
  assert.is(fit(specOf(8_001, 1, 250), tree), null);
});

test('fit - a preference decides among those with room, and equals are taken in order', () => {
  const tree = treeOf({ processorFree: 8_000, free: [200, 1_000, 600, 1_000] });
  const seen: unknown[] = [];
  const widest = fit(specOf(500, 1, 300), tree, ({ allocations }, server) => {
    seen.push(allocations.map(({ provider, group, resources }) => ({ provider, group, ...resources })));
    return server.stocks.get('CUSTOM_GPU_MILLI')?.used === 0 ? 1 : 0;
  });
  assert.equal(devicesOf(widest), [1]);
  const tried = (provider: string) => [
    { provider: 'h', group: '', CUSTOM_CPU_MILLI: 500 },
    { provider, group: 'gpu0', CUSTOM_GPU_MILLI: 300 },
  ];
  assert.equal(seen, [tried('h-1'), tried('h-2'), tried('h-3')], 'those before are told, and the one in question last');
  assert.equal(devicesOf(fit(specOf(0, 1, 100), tree, () => 0)), [0]);
});

test('fit - whole devices that are preferred are all different', () => {
  const tree = treeOf({ processorFree: 8_000, free: [1_000, 0, 1_000, 1_000] });
  const last = fit(specOf(0, 2), tree, (_, server) => Number(server.spec.id.at(-1)));
  assert.equal(devicesOf(last), [3, 2]);
});

test('fit - more devices than are idle are refused without a look at any by itself', () => {
  const tree = treeOf({ processorFree: 8_000, free: [1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 999] });
  let looks = 0;
  const count = () => {
    looks += 1;
    return 0;
  };
  assert.is(fit(specOf(0, 8), tree, count), null);
  assert.is(looks, 0, 'none was weighed');
  assert.equal(devicesOf(fit(specOf(0, 7), tree)), [0, 1, 2, 3, 4, 5, 6]);
});

test('fit - groups that ask for different things are still tried in every order', () => {
  const [root, ...devices] = treeOf({ processorFree: 0, free: [500, 1_000] });
  const spec = {
    groupPolicy: 'isolate' as const,
    groups: [
      { name: 'small', resources: { CUSTOM_GPU_MILLI: 400 } },
      { name: 'large', resources: { CUSTOM_GPU_MILLI: 900 } },
    ],
  };
  const tree = [root, ...devices] as Parameters<typeof fit>[1];
  // The small one is led astray to the device that the large one needs, and has to come back.
  const astray = fit(spec, tree, ({ allocations }, server) => (allocations.length === 1 && server === tree[2] ? 1 : 0));
  assert.equal(devicesOf(astray), [0, 1]);
});

test('fit - how many times it fits is as often as it can be claimed, where a claim changes what serves the next', () => {
  const holding = (...devices: readonly (readonly [total: number, ...traits: string[]])[]) =>
    [[0] as const, ...devices].map(([total, ...traits], position) => {
      const id = position === 0 ? 'h' : `h-${position}`;
      const one = { total, reserved: 0, min_unit: 1, max_unit: total, step_size: 1, allocation_ratio: 1 };
      const inventories = position === 0 ? {} : { VGPU: one };
      return makeProvider(
        { id, name: id, parent: position === 0 ? null : 'h', inventories, traits, aggregates: [] },
        'h',
      );
    });
  const asking = (groupPolicy: RequestSpec['groupPolicy'], ...amounts: readonly (readonly [number, ...string[]])[]) => {
    const groups = amounts.map(([VGPU, ...required], n) => ({ name: `g${n}`, resources: { VGPU }, required }));
    return { groups, groupPolicy };
  };
  for (const [spec, tree] of [
    [asking('none', [1], [2, 'CUSTOM_B']), holding([5, 'CUSTOM_B'], [4, 'CUSTOM_B'], [3])],
    [asking('isolate', [1], [2], [2]), holding([5], [5], [5])],
  ] as const) {
    assert.equal(
      [3, 4, 1_000].map((most) => timesIn(spec, tree, most)),
      [3, 3, 3],
    );
  }
  // Given out as often at once, these would leave ends that serve none.
  for (const [spec, tree, times] of [
    [asking('isolate', [1], [2]), holding([108], [95]), 67],
    [asking('isolate', [2], [3]), holding([77], [67], [67]), 28],
  ] as const) {
    let claimed = 0;
    for (let taken = fit(spec, tree); taken !== null; taken = fit(spec, tree)) {
      for (const { provider, resources } of taken) {
        const one = tree.find(({ spec: { id } }) => id === provider);
        if (one !== undefined) adjustUse(one, resources, 1);
      }
      claimed += 1;
    }
    assert.is(claimed, times);
    for (const provider of tree) for (const stock of countsOf(provider).values()) stock.used = 0;
    assert.is(timesIn(spec, tree, 1_000), times);
  }
});

test.run();
