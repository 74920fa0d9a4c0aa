// Area: packing policies. What each weighs a host at, worked by hand from the published formulas.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fit } from '../../../actors/fitting/fit.ts';
import type { RequestSpec } from '../../../actors/messages/common.ts';
import { adjustUse, countsOf, type Provider } from '../../../actors/placement/providers.ts';
import {
  PACKING_POLICIES,
  type PackingPolicy,
  type PackingPolicyName,
  packingPolicy,
} from '../../../actors/scheduler/weighers/packing/policies.ts';
import { devicesOf, specOf, treeOf } from './hosts.ts';

const test = suite('packing policies');

const policyOf = (name: PackingPolicyName) => packingPolicy(name, { typical: [], seed: 'test' });

/** What a policy's weigher says of a request on a host, in hundredths as the published scheduler counts. */
function scoreOf(policy: PackingPolicy, spec: RequestSpec, tree: readonly Provider[]): number {
  const [weigher] = policy.weighers;
  const allocations = fit(spec, tree, weigher.prefers);
  assert.ok(allocations !== null, 'the request fits');
  return Math.round(weigher.weigh({ tree, allocations } as never, null) * 100 * 1e9) / 1e9;
}

/** Takes what a request is given on a host, and tells the policy. */
function place(policy: PackingPolicy, spec: RequestSpec, tree: readonly Provider[]): void {
  const [{ prefers, granted }] = policy.weighers;
  const allocations = fit(spec, tree, prefers) ?? [];
  for (const { provider, resources } of allocations) {
    const one = tree.find(({ spec: { id } }) => id === provider);
    if (one !== undefined) adjustUse(one, resources, 1);
  }
  granted?.(allocations);
}

test('dot product - the fuller the host and the less of it is asked, the better', () => {
  const score = (spec: RequestSpec, tree: Provider[]) => scoreOf(policyOf('dot-product'), spec, tree);
  // (64/128 * 32/128 + 4/8 * 1/8) / 2 = (0.125 + 0.0625) / 2 = 0.09375
  assert.is(score(specOf(32_000, 1), treeOf({ processorFree: 64_000, free: [1_000, 1_000, 1_000, 1_000] })), 90);
  // (32/128 * 32/128 + 1/8 * 1/8) / 2 = 0.0390625
  assert.is(score(specOf(32_000, 1), treeOf({ processorFree: 32_000, free: [1_000, 0, 0, 0] })), 96);
  // Without devices asked only the processor counts: (1/4 * 1/4) / 2 = 0.03125
  assert.is(score(specOf(32_000), treeOf({ processorFree: 32_000, free: [1_000, 1_000] })), 96);
});

test('best fit - the less would be left, of processor and devices alike, the better', () => {
  const score = (spec: RequestSpec, tree: Provider[]) => scoreOf(policyOf('best-fit'), spec, tree);
  // 1 - (0.5 * 32/128 + 0.5 * 3/8) = 0.6875
  assert.is(score(specOf(32_000, 1), treeOf({ processorFree: 64_000, free: [1_000, 1_000, 1_000, 1_000] })), 68);
  assert.is(score(specOf(32_000, 1), treeOf({ processorFree: 32_000, free: [1_000, 0] })), 100);
  // 1 - 0.5 * 600/8000 = 0.9625
  assert.is(score(specOf(0, 1, 400), treeOf({ processorFree: 0, free: [1_000] })), 96);
});

test('best fit - the order goes on among hosts that are larger than the scale', () => {
  const spec = specOf(1_000, 1);
  const scores = [8, 16, 24].map((gpus) =>
    scoreOf(policyOf('best-fit'), spec, treeOf({ processorFree: 32_000 * gpus, free: Array(gpus).fill(1_000) })),
  );
  assert.equal(
    scores,
    [...scores].sort((one, other) => other - one),
  );
  assert.is(new Set(scores).size, 3);
  assert.ok(
    scores.every((score) => score > 0 && score < 1),
    `${scores}`,
  );
});

test('GPU packing - devices in use, then idle ones of hosts in use, then idle hosts', () => {
  const score = (spec: RequestSpec, free: number[]) =>
    scoreOf(policyOf('gpu-packing'), spec, treeOf({ processorFree: 9_000, free }));
  assert.is(score(specOf(100, 1, 300), [1_000, 460, 0]), 96, '46 % of the device are free: 100 - 4');
  assert.is(score(specOf(100, 1, 300), [1_000, 290, 0]), 49, 'a device of a host in use has to be opened: 50 - 1');
  assert.is(score(specOf(100, 3), [1_000, 1_000, 1_000, 0]), 47);
  assert.is(score(specOf(100, 1, 300), [1_000, 1_000]), 31, 'an idle host with two devices: 33 - 2');
  assert.is(score(specOf(100, 1, 300), [1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000]), 25);
  assert.is(score(specOf(100), [1_000, 460]), 0, 'who asks for no device goes anywhere');
  const idle = (devices: number) =>
    score(
      specOf(100, 1),
      Array.from({ length: devices }, () => 1_000),
    );
  assert.equal([20, 33, 64].map(idle), [20, 33, 33], 'an idle host comes last, however many devices it has');
});

test('GPU clustering - its class alone, its class among others, nobody, others', () => {
  const policy = policyOf('gpu-clustering');
  const share = specOf(10, 1, 400);
  const one = specOf(10, 1);
  const two = specOf(10, 2);
  const idle = () => treeOf({ processorFree: 1_000, free: [1_000, 1_000, 1_000, 1_000] });
  // 25 * (8000 - 4000) / 8000 = 12, and 25 for an idle host
  const tree = idle();
  assert.is(scoreOf(policy, share, tree), 37);
  place(policy, share, tree);
  // 25 * (8000 - 3600) / 8000 = 13
  assert.is(scoreOf(policy, share, tree), 75 + 13);
  assert.is(scoreOf(policy, one, tree), 13);
  place(policy, one, tree);
  // 25 * (8000 - 2600) / 8000 = 16
  assert.equal(
    [share, one, two].map((spec) => scoreOf(policy, spec, tree)),
    [50 + 16, 50 + 16, 16],
  );
  assert.is(scoreOf(policy, specOf(10), tree), 0, 'who asks for no device goes anywhere');

  const pair = treeOf({ name: 'pair', processorFree: 1_000, free: [1_000, 1_000, 1_000, 1_000] });
  place(policy, two, pair);
  // 25 * (8000 - 2000) / 8000 = 18: two devices that were taken together are of another class than one by itself
  assert.equal(
    [two, one].map((spec) => scoreOf(policy, spec, pair)),
    [75 + 18, 18],
  );
});

test('GPU clustering - a device that shares have filled is of their class', () => {
  const policy = policyOf('gpu-clustering');
  const half = specOf(10, 1, 500);
  const tree = treeOf({ processorFree: 1_000, free: [1_000, 1_000] });
  for (let times = 0; times < 2; times += 1) place(policy, half, tree);
  // 25 * (8000 - 1000) / 8000 = 21
  assert.equal(
    [half, specOf(10, 1)].map((spec) => scoreOf(policy, spec, tree)),
    [75 + 21, 21],
  );
});

test('GPU clustering - shares of several devices are of the class of as many whole ones, not of the shares of one', () => {
  const policy = policyOf('gpu-clustering');
  const tree = treeOf({ processorFree: 1_000, free: [1_000, 1_000, 1_000, 1_000] });
  const score = (spec: RequestSpec) => scoreOf(policy, spec, tree);
  place(policy, specOf(10, 2, 460), tree);
  // 25 * (8000 - 3080) / 8000 = 15
  assert.equal([specOf(10, 2, 460), specOf(10, 2), specOf(10, 1, 460), specOf(10, 1)].map(score), [90, 90, 15, 15]);
  // It goes to the tightest device, which then has both classes.
  place(policy, specOf(10, 1, 540), tree);
  // 25 * (8000 - 2540) / 8000 = 17
  assert.equal([specOf(10, 2, 460), specOf(10, 1, 460)].map(score), [50 + 17, 50 + 17]);
});

test('GPU clustering - of very many devices it is forgotten what was given longest ago, for some are gone for good', () => {
  const policy = policyOf('gpu-clustering');
  const two = specOf(10, 2);
  const tree = treeOf({ processorFree: 1_000, free: [1_000, 1_000, 1_000, 1_000] });
  place(policy, two, tree);
  // 25 * (8000 - 2000) / 8000 = 18
  assert.is(scoreOf(policy, two, tree), 75 + 18);
  const [{ granted }] = policy.weighers;
  for (let n = 0; n < 200_000; n += 1) {
    granted?.([{ group: '', provider: `gone-${n}`, resources: { CUSTOM_GPU_MILLI: 1_000 } }]);
  }
  assert.is(scoreOf(policy, two, tree), 18, 'they count as taken each by itself');
});

test('GPU clustering - what was given of a device is forgotten once it is idle', () => {
  const policy = policyOf('gpu-clustering');
  const tree = treeOf({ processorFree: 1_000, free: [1_000, 1_000] });
  const [, first, second] = tree as [Provider, Provider, Provider];
  place(policy, specOf(10, 2, 460), tree);
  for (const one of [first, second]) for (const stock of countsOf(one).values()) stock.used = 0;
  // 25 * (8000 - 2000) / 8000 = 18
  assert.is(scoreOf(policy, specOf(10, 1, 460), tree), 25 + 18);
  place(policy, specOf(10, 1, 460), tree);
  assert.equal(
    [specOf(10, 1, 460), specOf(10, 2, 460)].map((spec) => scoreOf(policy, spec, tree)),
    [75 + 20, 20],
  );
});

test('GPU clustering - of what it was not told, a device that is used whole was taken by itself', () => {
  const tree = treeOf({ processorFree: 1_000, free: [0, 0, 1_000, 1_000] });
  const score = (spec: RequestSpec) => scoreOf(policyOf('gpu-clustering'), spec, tree);
  assert.equal([score(specOf(10, 1)), score(specOf(10, 2))], [75 + 18, 18]);
});

test('random - any device with room, each as often as the others, and any host', () => {
  const policy = policyOf('random');
  const [{ prefers }] = policy.weighers;
  const counts = [0, 0, 0, 0];
  for (let use = 0; use < 3_000; use += 1) {
    const tree = treeOf({ processor: 4_000, processorFree: 4_000 - use, free: [1_000, 100, 700, 800] });
    const [device = 0] = devicesOf(fit(specOf(10, 1, 300), tree, prefers)) ?? [];
    assert.equal(devicesOf(fit(specOf(10, 1, 300), tree, prefers)), [device], 'the same as long as nothing changes');
    counts[device] = (counts[device] as number) + 1;
  }
  const [first, small, third, fourth] = counts as [number, number, number, number];
  assert.is(small, 0);
  for (const count of [first, third, fourth]) assert.ok(count > 900 && count < 1_100, `${counts}`);
  assert.is(policy.pickAmong, Number.POSITIVE_INFINITY);
});

test('all policies - each is there by its name, and says something from 0 to 1', () => {
  for (const name of PACKING_POLICIES) {
    const policy = policyOf(name);
    const [weigher] = policy.weighers;
    assert.is(weigher.name, name);
    const tree = treeOf({ processorFree: 90_000, free: [1_000, 300] });
    const allocations = fit(specOf(90_000, 1, 300), tree, weigher.prefers) ?? [];
    const said = weigher.weigh({ tree, allocations } as never, null);
    assert.ok(said >= 0 && said <= 1, `${name} says ${said}`);
  }
});

test.run();
