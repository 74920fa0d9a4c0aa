// Area: placement. Its rules, one by one: capacity and units, trees and traits, moves, deleted consumers, claims that come
// too late, and what its feed tells.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { effort } from '../../actors/fitting/effort.ts';
import type { RequestSpec } from '../../actors/messages/common.ts';
import type { Claim, Inventory, PlacementMessage, ProviderSpec } from '../../actors/messages/placement.ts';
import { placement } from '../../actors/placement/placement.ts';
import type { StoredPlacement } from '../../actors/placement/store.ts';
import { encode } from '../../runtime/codec.ts';
import {
  actor,
  claimOf,
  heldIn,
  hostTree,
  inventoryOf,
  providerOf,
  providersOf,
  put,
  refusalIn,
  release,
  shardWith,
} from '../support/placement-desk.ts';
import { beginSlices } from '../support/slices.ts';
import { bench, replayed, sentOf, type Turned } from '../support/turn.ts';

const test = suite('placement');

test('placement - capacity is (total - reserved) * allocation_ratio, and not rounded', () => {
  const cases: [Partial<Inventory>, number][] = [
    [{ total: 8 }, 8],
    [{ total: 8, reserved: 3 }, 5],
    [{ total: 8, allocation_ratio: 2 }, 16],
    [{ total: 8, reserved: 2, allocation_ratio: 1.5 }, 9],
    [{ total: 3, allocation_ratio: 0.5 }, 1],
    [{ total: 3, allocation_ratio: 1.1 }, 3],
    [{ total: 10, reserved: 3, allocation_ratio: 0.7 }, 4],
    [{ total: 8, reserved: 8 }, 0],
  ];
  for (const [told, most] of cases) {
    const shard = shardWith([providerOf('a', { inventories: { VCPU: inventoryOf(told) } })]);
    for (let claimed = 0; claimed < most; claimed += 1) {
      assert.is(refusalIn(shard.tell(claimOf(`c${claimed}`, { vcpu: 1 }))), null);
    }
    const refusal = refusalIn(shard.tell(claimOf('one-more', { vcpu: 1 })));
    assert.is(refusal?.code, 'exceeds-capacity', JSON.stringify(told));
    // Amounts are whole, so one more is what it takes, and none is what is left.
    assert.is(refusal?.short, 1);
    const free = most === 0 ? '0' : `0 of ${most}`;
    assert.is(refusal?.message, `1 VCPU exceeds what is free on provider 'a': ${free} (short by 1)`);
  }
});

test('placement - of a host with more taken than there is a refusal says so, and its numbers add up', () => {
  const shard = shardWith([providerOf('a', { inventories: { VCPU: inventoryOf({ total: 8 }) } })]);
  assert.is(refusalIn(shard.tell(claimOf('before', { vcpu: 8 }))), null);
  shard.tell(put([providerOf('a', { inventories: { VCPU: inventoryOf({ total: 7 }) } })]));
  const refusal = refusalIn(shard.tell(claimOf('after', { vcpu: 1 })));
  assert.is(refusal?.short, 2);
  const words = /^1 VCPU exceeds .* 'a': 0 of 7, with 1 taken or being claimed beyond what there is \(short by 2\)$/;
  assert.match(refusal?.message ?? '', words);
});

test('placement - min_unit, max_unit and step_size bound one allocation', () => {
  const units = { min_unit: 2, max_unit: 6, step_size: 2, total: 100 };
  const shard = shardWith([providerOf('a', { inventories: { VCPU: inventoryOf(units) } })]);
  for (const [vcpu, violated, short] of [
    [1, 'min_unit 2 and step_size 2 (nearest amount 2)', 1],
    [2, null],
    [3, 'step_size 2 (nearest amounts 2 and 4)', 1],
    [6, null],
    [8, 'max_unit 6 (off by 2)', 2],
    [9, 'max_unit 6 and step_size 2 (off by 3)', 3],
  ] as const) {
    const refusal = refusalIn(shard.tell(claimOf(`c${vcpu}`, { vcpu })));
    assert.is(refusal?.code ?? null, violated === null ? null : 'unit-constraint', `${vcpu} VCPU`);
    assert.is(refusal?.short, short, 'by how much it differs from the nearest amount that can be had');
    if (violated !== null) {
      assert.is(
        refusal?.message,
        `${vcpu} VCPU on provider 'a' ${vcpu === 1 ? 'violates' : 'violate'} its inventory's ${violated}`,
      );
    }
  }
  assert.is(refusalIn(shard.tell(claimOf('rest', { vcpu: 6 }))), null);
  shard.tell(put([providerOf('a', { inventories: { VCPU: inventoryOf({ ...units, total: 18 }) } })]));
  const more = refusalIn(shard.tell(claimOf('more', { vcpu: 7 })));
  assert.is(more?.short, 3, 'so much is free beside 14 that are used');
  const violated = "violate its inventory's max_unit 6 and step_size 2";
  assert.is(more?.message, `7 VCPU on provider 'a' ${violated} (off by 3, as 4 of 18 are free)`);
  assert.is(refusalIn(shard.tell(claimOf('all', { vcpu: 4 }))), null);
  const full = refusalIn(shard.tell(claimOf('none', { vcpu: 7 })));
  assert.is(full?.message, `7 VCPU on provider 'a' ${violated} (off by 7, as 0 of 18 are free)`);
});

test('placement - max_unit bounds what one claim takes of a provider in all, as the API does', () => {
  const shard = shardWith([providerOf('a', { inventories: { VCPU: inventoryOf({ max_unit: 4, total: 100 }) } })]);
  const parts = (consumer: string, ...amounts: number[]) => {
    const named = amounts.map((VCPU, n) => ({ name: `g${n}`, resources: { VCPU } }));
    const allocations = named.map(({ name: group, resources }) => ({ provider: 'a', group, resources }));
    return claimOf(consumer, { spec: { groups: named, groupPolicy: 'none' }, allocations } as never);
  };
  assert.is(refusalIn(shard.tell(parts('fits', 3, 1))), null);
  const refusal = refusalIn(shard.tell(parts('more', 3, 2)));
  assert.equal([refusal?.code, refusal?.resourceClass, refusal?.short], ['unit-constraint', 'VCPU', 1]);
});

test('placement - an inventory that shrinks below its use keeps what is held and takes nothing new', () => {
  const shard = shardWith(hostTree('a'));
  assert.is(refusalIn(shard.tell(claimOf('c1', { vcpu: 6 }))), null);
  shard.tell(put(hostTree('a', { inventories: { VCPU: inventoryOf({ total: 4 }) } })));
  assert.equal(Object.keys(heldIn(shard)), ['c1']);
  assert.is(refusalIn(shard.tell(claimOf('c2', { vcpu: 1 })))?.code, 'exceeds-capacity');
  shard.tell(release('c1', { attempt: 1 }));
  assert.is(refusalIn(shard.tell(claimOf('c2', { vcpu: 1 }))), null);
});

test('placement - use that is told no more is remembered, also when the state was stored meanwhile', () => {
  const shard = shardWith(hostTree('a'));
  shard.tell(claimOf('c1', { vcpu: 6 }));
  shard.tell(put(hostTree('a', { inventories: { MEMORY_MB: inventoryOf() } })));
  const back = bench({ ...actor, init: () => actor.restore([shard.stored()]) });
  for (const one of [shard, back]) {
    one.tell(put(hostTree('a')));
    assert.is(refusalIn(one.tell(claimOf('c2', { vcpu: 4 })))?.code, 'exceeds-capacity');
  }
});

test('placement - several providers of a tree are taken together or not at all', () => {
  const shard = shardWith(hostTree('a'));
  const both = (consumer: string, gpus: number): Claim =>
    claimOf(consumer, {
      spec: {
        groups: [
          { name: '', resources: { VCPU: 1 } },
          { name: 'g', resources: { PGPU: gpus } },
        ],
        groupPolicy: 'none',
      },
      allocations: [
        { provider: 'a', group: '', resources: { VCPU: 1 } },
        { provider: 'a-gpu-0', group: 'g', resources: { PGPU: gpus } },
      ],
    });
  assert.is(refusalIn(shard.tell(both('c1', 5)))?.code, 'exceeds-capacity');
  assert.equal(
    providersOf(shard).map(({ used }) => Object.values(used)),
    [[0], [0], [0]],
  );
  assert.is(refusalIn(shard.tell(both('c2', 4))), null);
  assert.equal(
    providersOf(shard).map(({ used }) => Object.values(used)),
    [[1], [4], [0]],
  );
});

test('placement - a claim over two trees, of an unknown provider or of another amount is refused', () => {
  const shard = shardWith(
    hostTree('a', { inventories: { VCPU: inventoryOf(), DISK_GB: inventoryOf() } }),
    hostTree('b'),
  );
  const spec: RequestSpec = {
    groups: [
      { name: '', resources: { VCPU: 1 } },
      { name: 'g', resources: { PGPU: 1 } },
    ],
    groupPolicy: 'none',
  };
  const ofTwo = {
    ...spec,
    groups: spec.groups.map((one) => (one.name === 'g' ? { ...one, resources: { PGPU: 2 } } : one)),
  };
  const vcpu = { provider: 'a', group: '', resources: { VCPU: 1 } };
  const gpu = (provider: string) => ({ provider, group: 'g', resources: { PGPU: 1 } });
  const cases: [string, Partial<Claim>][] = [
    ['not-one-tree', { spec, allocations: [vcpu, gpu('b-gpu-0')] }],
    ['unknown-provider', { spec, allocations: [{ ...vcpu, provider: 'c' }, gpu('c-gpu-0')] }],
    ['does-not-serve-request', { spec, allocations: [vcpu] }],
    ['does-not-serve-request', { spec, allocations: [vcpu, gpu('a-gpu-0'), gpu('a-gpu-1')] }],
    ['does-not-serve-request', { spec, allocations: [vcpu, gpu('a-gpu-0'), { ...vcpu, group: 'h' }] }],
    // What is not asked for, and what one device must give given by two.
    [
      'does-not-serve-request',
      { spec, allocations: [{ ...vcpu, resources: { VCPU: 1, DISK_GB: 1 } }, gpu('a-gpu-0')] },
    ],
    ['does-not-serve-request', { spec: ofTwo, allocations: [vcpu, gpu('a-gpu-0'), gpu('a-gpu-1')] }],
  ];
  for (const [code, told] of cases) assert.is(refusalIn(shard.tell(claimOf('c1', told)))?.code, code);
  assert.equal(heldIn(shard), {});
});

/** A VCPU of host `a` and four GPUs of the device that is named. */
function claimOfDevice(consumer: string, device: string, told: Partial<Claim> = {}): Claim {
  const groups = [
    { name: '', resources: { VCPU: 1 } },
    { name: 'g', resources: { PGPU: 4 } },
  ];
  const allocations = [
    { provider: 'a', group: '', resources: { VCPU: 1 } },
    { provider: device, group: 'g', resources: { PGPU: 4 } },
  ];
  return claimOf(consumer, { spec: { groups, groupPolicy: 'none' }, allocations, root: 'a', ...told });
}

test('placement - where the device that a claim names is taken or gone, another of its tree is granted, while there is one', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  const deviceIn = (turned: Turned<unknown>) => sentOf(turned, 'claim-granted')[0]?.message.allocations[1]?.provider;
  assert.is(deviceIn(shard.tell(claimOfDevice('c1', 'a-gpu-0'))), 'a-gpu-0');
  const { root: _, ...named } = claimOfDevice('c2', 'a-gpu-0');
  assert.is(refusalIn(shard.tell(named))?.code, 'exceeds-capacity', 'not to one who wants that, or nothing');
  const second = claimOfDevice('c2', 'a-gpu-0');
  assert.is(deviceIn(shard.tell(second)), 'a-gpu-1');
  assert.is(deviceIn(shard.tell(second)), 'a-gpu-1', 'said again it is answered alike');
  assert.is(refusalIn(shard.tell(claimOfDevice('c3', 'a-gpu-0')))?.code, 'exceeds-capacity');
  // A move gives back what it leaves, which may be what serves it then.
  assert.is(deviceIn(shard.tell(claimOfDevice('c2', 'a-gpu-0', { attempt: 2 }))), 'a-gpu-1');
  shard.tell(release('c1'));
  assert.is(deviceIn(shard.tell(claimOfDevice('c3', 'a-gpu-9'))), 'a-gpu-0');
  assert.equal(Object.keys(heldIn(shard)), ['c2', 'c3']);
  assert.equal(replayed(actor, shard.entries), shard.stored());
});

test('placement - a claim is not served otherwise than its request asks, nor by another tree', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  shard.tell(claimOfDevice('c1', 'a-gpu-0'));
  const forbidding = claimOfDevice('c2', 'a-gpu-0');
  const groups = forbidding.spec.groups.map((group) =>
    group.name === 'g' ? { ...group, required: ['CUSTOM_FAST'] } : group,
  );
  assert.is(refusalIn(shard.tell({ ...forbidding, spec: { ...forbidding.spec, groups } }))?.code, 'trait-missing');
  const scattered = [forbidding.allocations[0], { provider: 'b-gpu-0', group: 'g', resources: { PGPU: 4 } }];
  assert.is(refusalIn(shard.tell({ ...forbidding, allocations: scattered as never }))?.code, 'not-one-tree');
  const moved = [{ provider: 'b-gpu-0', group: 'g', resources: { PGPU: 4 } }];
  const spec: RequestSpec = { groups: [{ name: 'g', resources: { PGPU: 4 } }], groupPolicy: 'none' };
  shard.tell(claimOf('c9', { spec, allocations: moved }));
  assert.is(refusalIn(shard.tell(claimOf('c2', { spec, allocations: moved, root: 'a' })))?.code, 'exceeds-capacity');
  const gone = [{ provider: 'a-gpu-9', group: 'g', resources: { PGPU: 4 } }];
  assert.is(refusalIn(shard.tell(claimOf('c2', { spec, allocations: gone, root: 'x' })))?.code, 'unknown-provider');
  assert.is(
    refusalIn(shard.tell(claimOf('c8', { spec, allocations: gone, root: 'a' }))),
    null,
    'all that it names is gone',
  );
  const less = [forbidding.allocations[0], { provider: 'a-gpu-0', group: 'g', resources: { PGPU: 3 } }];
  assert.is(refusalIn(shard.tell({ ...forbidding, allocations: less as never }))?.code, 'does-not-serve-request');
});

test('placement - what serves a claim instead is held to all else that the claim asks of the host', () => {
  const shard = shardWith(hostTree('a'));
  const instanceGroup = { id: 'p/web', policy: 'anti-affinity' as const };
  const asking = (consumer: string, device: string, more: Partial<RequestSpec>, told: Partial<Claim> = {}) => {
    const claim = claimOfDevice(consumer, device, told);
    return shard.tell({ ...claim, spec: { ...claim.spec, ...more } });
  };
  assert.is(refusalIn(asking('c1', 'a-gpu-0', { instanceGroup })), null);
  // The device is gone, and the other one of the host is free.
  assert.is(
    refusalIn(asking('c2', 'a-gpu-9', { instanceGroup }))?.code,
    'unknown-provider',
    'the host has one of its group',
  );
  assert.is(
    refusalIn(asking('c2', 'a-gpu-9', {}, { maxInstances: 1 }))?.code,
    'unknown-provider',
    'it has as many as it may',
  );
  assert.is(refusalIn(asking('c2', 'a-gpu-9', { tree: { notHeldBy: ['c1'] } }))?.code, 'unknown-provider');
  assert.equal(Object.keys(heldIn(shard)), ['c1']);
  assert.is(refusalIn(asking('c2', 'a-gpu-9', { instanceGroup: { ...instanceGroup, id: 'p/db' } })), null);
  assert.equal(Object.keys(heldIn(shard)), ['c1', 'c2']);
});

test('placement - where only a long search would tell what serves a claim instead, it is refused for what it names', () => {
  // No two groups share a device; the last two need the first devices, which the others would take first.
  const count = 16;
  const traits = ['CUSTOM_FAST', 'CUSTOM_SLOW'];
  const groups = Array.from({ length: count }, (_, at) => {
    const trait = traits[count - 1 - at];
    return { name: `g${at}`, resources: { PGPU: 51 + at }, ...(trait === undefined ? {} : { required: [trait] }) };
  });
  const spec: RequestSpec = { groups, groupPolicy: 'none' };
  const device = (at: number) => {
    const inventories = { PGPU: inventoryOf({ total: 100 }) };
    return providerOf(`d${at}`, { parent: 'a', inventories, traits: traits.slice(at, at + 1) });
  };
  const tree = [providerOf('a'), ...Array.from({ length: count + 1 }, (_, at) => device(at))];
  const shard = shardWith(tree);
  const of = (consumer: string, served: number[], taken: readonly (typeof groups)[number][]): Claim => {
    const allocations = taken.map(({ name: group, resources }, at) => ({
      provider: `d${served[at]}`,
      group,
      resources,
    }));
    return claimOf(consumer, { spec: { ...spec, groups: [...taken] }, allocations, root: 'a' });
  };
  const last = groups.slice(0, 1);
  assert.is(refusalIn(shard.tell(of('rival', [count], last))), null);
  const serving = groups.map((_, at) => count - 1 - at);
  const before = effort.looks;
  assert.is(refusalIn(shard.tell(of('web', [count, ...serving.slice(1)], groups)))?.code, 'exceeds-capacity');
  const looks = effort.looks - before;
  const most = Math.max(1_000, 2 * groups.length * tree.length);
  assert.ok(looks > 0 && looks <= most + 1, `${looks} looks`);
  assert.is(refusalIn(shard.tell(of('web', serving, groups))), null, 'it fits, as whoever searches for long finds out');
});

test('placement - isolated groups are on providers of their own', () => {
  const shard = shardWith(hostTree('a'));
  const two = (groupPolicy: RequestSpec['groupPolicy'], second: string): Claim =>
    claimOf('c1', {
      spec: { groups: ['g', 'h'].map((name) => ({ name, resources: { PGPU: 1 } })), groupPolicy },
      allocations: [
        { provider: 'a-gpu-0', group: 'g', resources: { PGPU: 1 } },
        { provider: second, group: 'h', resources: { PGPU: 1 } },
      ],
    });
  assert.is(refusalIn(shard.tell(two('isolate', 'a-gpu-0')))?.code, 'not-isolated');
  assert.is(refusalIn(shard.tell({ ...two('none', 'a-gpu-0'), consumer: 'c2' })), null);
  assert.is(refusalIn(shard.tell(two('isolate', 'a-gpu-1'))), null);
});

test('placement - traits and aggregates are checked where the claim is decided', () => {
  const host = { traits: ['HW_SSD', 'CUSTOM_OLD'], aggregates: ['row-1'] };
  const shard = shardWith(hostTree('a', { ...hostTree('a')[0], ...host }));
  const asks: [string | null, Omit<RequestSpec['groups'][number], 'name' | 'resources'>][] = [
    [null, { required: ['HW_SSD'] }],
    ['trait-missing', { required: ['HW_SSD', 'HW_NVME'] }],
    [null, { anyOf: [['HW_NVME', 'HW_SSD']] }],
    ['trait-missing', { anyOf: [['HW_SSD'], ['HW_NVME']] }],
    ['trait-forbidden', { forbidden: ['CUSTOM_OLD'] }],
    [null, { forbidden: ['CUSTOM_NEW'] }],
    [null, { memberOf: [['row-2', 'row-1']] }],
    ['not-in-aggregate', { memberOf: [['row-1'], ['row-2']] }],
  ];
  for (const [position, [code, conditions]] of asks.entries()) {
    const spec: RequestSpec = {
      groups: [{ name: '', resources: { VCPU: 1 }, ...conditions }],
      groupPolicy: 'none',
    };
    const refusal = refusalIn(shard.tell(claimOf(`c${position}`, { vcpu: 1, spec })));
    assert.is(refusal?.code ?? null, code, JSON.stringify(conditions));
  }
});

test('placement - traits of a group may be spread over the providers that serve it, and a forbidden one is on none', () => {
  const [root, device] = hostTree('a') as [ProviderSpec, ProviderSpec];
  const shard = shardWith([
    { ...root, traits: ['HW_SSD'] },
    { ...device, traits: ['CUSTOM_FAST'] },
  ]);
  const asks: [string | null, Omit<RequestSpec['groups'][number], 'name' | 'resources'>][] = [
    [null, { required: ['HW_SSD', 'CUSTOM_FAST'] }],
    [null, { anyOf: [['HW_SSD', 'HW_NVME'], ['CUSTOM_FAST']] }],
    ['trait-missing', { required: ['HW_SSD', 'CUSTOM_SLOW'] }],
    ['trait-forbidden', { forbidden: ['HW_SSD'] }],
    ['trait-forbidden', { forbidden: ['CUSTOM_FAST'] }],
  ];
  const resources = { VCPU: 1, PGPU: 1 };
  const allocations = [
    { provider: root.id, group: '', resources: { VCPU: 1 } },
    { provider: device.id, group: '', resources: { PGPU: 1 } },
  ];
  for (const [position, [code, conditions]] of asks.entries()) {
    const spec: RequestSpec = { groups: [{ name: '', resources, ...conditions }], groupPolicy: 'none' };
    const refusal = refusalIn(shard.tell(claimOf(`c${position}`, { spec, allocations })));
    assert.is(refusal?.code ?? null, code, JSON.stringify(conditions));
  }
});

test('placement - a device is in the aggregates of its own, which the rest of its host is not', () => {
  const [root, gpu, other] = hostTree('a', { aggregates: ['rack-1'] }) as [ProviderSpec, ProviderSpec, ProviderSpec];
  const shard = shardWith([root, { ...gpu, aggregates: ['pool'] }, other]);
  const of = (device: string, ...memberOf: string[][]) => {
    const groups = [{ name: 'g', resources: { PGPU: 1 }, memberOf }];
    const allocations = [{ provider: device, group: 'g', resources: { PGPU: 1 } }];
    return refusalIn(
      shard.tell(claimOf(`c-${device}-${memberOf}`, { spec: { groups, groupPolicy: 'none' }, allocations })),
    );
  };
  assert.is(of(gpu.id, ['pool']), null);
  assert.is(of(gpu.id, ['pool'], ['rack-1', 'rack-2']), null, 'in one by itself, in the other with its host');
  assert.equal([of(other.id, ['pool'])?.code, of(other.id, ['pool'])?.provider], ['not-in-aggregate', other.id]);
});

test('placement - a named group that is given nothing is served by the host, below which all devices are of one subtree', () => {
  const shard = shardWith(hostTree('a'));
  const of = (consumer: string, sameSubtree: string[][]) => {
    const groups = [
      { name: 'g0', resources: { PGPU: 1 } },
      { name: 'g1', resources: { PGPU: 1 } },
      { name: 'host', resources: {} },
    ];
    const spec: RequestSpec = { groups, groupPolicy: 'none', sameSubtree };
    const allocations = ['g0', 'g1'].map((group, at) => ({ provider: `a-gpu-${at}`, group, resources: { PGPU: 1 } }));
    return refusalIn(shard.tell(claimOf(consumer, { spec, allocations })));
  };
  assert.is(of('c1', [['g0', 'g1']])?.code, 'not-one-subtree');
  assert.is(of('c1', [['g0', 'g1', 'nobody']])?.code, 'not-one-subtree', 'what is not asked for joins nothing');
  assert.is(of('c1', [['g0', 'g1', 'host']]), null, 'both are below the host');
});

test('placement - a device is in the aggregates of its host', () => {
  const shard = shardWith(hostTree('a', { aggregates: ['row-1'] }));
  const claim = claimOf('c1', {
    spec: { groups: [{ name: 'g', resources: { PGPU: 1 }, memberOf: [['row-1']] }], groupPolicy: 'none' },
    allocations: [{ provider: 'a-gpu-0', group: 'g', resources: { PGPU: 1 } }],
  });
  assert.is(refusalIn(shard.tell(claim)), null);
});

test('placement - a move takes what it gives back, in one decision', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  shard.tell(claimOf('c1', { vcpu: 6 }));
  assert.is(refusalIn(shard.tell(claimOf('c1', { vcpu: 8, attempt: 2 }))), null);
  assert.equal(heldIn(shard), {
    c1: [{ attempt: 2, allocations: [{ provider: 'a', group: '', resources: { VCPU: 8 } }] }],
  });
  assert.is(refusalIn(shard.tell(claimOf('c1', { vcpu: 2, attempt: 3, host: 'b', keep: [2] }))), null);
  assert.equal((heldIn(shard).c1 as unknown[]).length, 2, 'what may still run stays held beside it');
  shard.tell(release('c1', { attempt: 2 }));
  assert.equal(
    (heldIn(shard).c1 as { attempt: number }[]).map(({ attempt }) => attempt),
    [3],
  );
});

test('placement - a snapshot that is being taken while an instance moves has it where it was, with what it held there', () => {
  for (const vcpu of [2, 9]) {
    const shard = shardWith(hostTree('a'), hostTree('b'));
    shard.tell(claimOf('c1', { vcpu: 6 }));
    const slice = beginSlices(actor, shard.state);
    const refusal = refusalIn(shard.tell(claimOf('c1', { vcpu, attempt: 2, host: 'b' })));
    assert.is(refusal?.code, vcpu === 9 ? 'exceeds-capacity' : undefined);
    for (let slices = 1; !slice(1); slices += 1) assert.ok(slices < 100);
  }
});

test('placement - what a move gives back is told as released, whether its claim is granted or refused', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  shard.tell(claimOf('c1'));
  const toldIn = ({ events }: Turned<unknown>) =>
    events.map(({ topic, body }) => `${topic.slice(-2).join(' ')} ${(body as { attempt: number }).attempt}`);
  const moved = shard.tell(claimOf('c1', { attempt: 2, host: 'b' }));
  assert.equal(toldIn(moved), ['a released 1', 'b granted 2']);
  assert.equal(toldIn(shard.tell(claimOf('c1', { attempt: 2, host: 'b' }))), [], 'said again it is answered alone');
  assert.equal(toldIn(shard.tell(claimOf('c1', { attempt: 3, keep: [2] }))), ['a granted 3'], 'what is kept is not');
  const refused = shard.tell(claimOf('c1', { attempt: 4, host: 'b', vcpu: 9, keep: [2] }));
  assert.equal(toldIn(refused), ['a released 3', 'b refused 4']);
});

test('placement - that nothing is held is said with a record, which a shard that was superseded cannot make', () => {
  const shard = shardWith(hostTree('a'));
  const records = (message: PlacementMessage) => shard.tell(message).records.map(({ type }) => type);
  assert.equal(records({ type: 'recall', consumer: 'c1', attempt: 1 }), ['nothing-held']);
  assert.equal(records(release('c1', { attempt: 1 })), ['nothing-held']);
  assert.equal(records(release('c1')), ['nothing-held']);
  shard.tell(claimOf('c1'));
  assert.equal(records({ type: 'recall', consumer: 'c1', attempt: 1 }), ['read']);
  assert.equal(records(release('c1', { attempt: 2 })), ['nothing-held']);
  assert.equal(records(release('c1', { attempt: 1 })), ['released']);
  shard.tell(release('c1', { deleted: true }));
  assert.equal(records(release('c1', { deleted: true })), [], 'what is deleted stays deleted');
  assert.equal(records({ ...claimOf('c2'), expiresAt: -1 }), ['read']);
  assert.equal(records({ type: 'locate', ask: 1, consumers: ['c2'] }), ['read']);
});

test('placement - a late claim of a deleted consumer is refused until it is forgotten', () => {
  const shard = bench(placement({ shard: 0, rememberDeletedMs: 60_000 }));
  shard.tell(put(hostTree('a')));
  shard.tell(release('c1', { deleted: true }));
  shard.pass(50_000);
  assert.is(refusalIn(shard.tell(claimOf('c1')))?.code, 'consumer-deleted');
  shard.pass(100_000);
  assert.is(refusalIn(shard.tell(claimOf('c1'))), null);
});

test('placement - a deleted consumer may still hold what something may run on, until that is given back', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  shard.tell(claimOf('c1'));
  shard.tell(claimOf('c1', { attempt: 2, host: 'b', keep: [1] }));
  shard.tell(release('c1', { keep: [1], deleted: true }));
  assert.equal(
    (heldIn(shard).c1 as { attempt: number }[]).map(({ attempt }) => attempt),
    [1],
  );
  assert.is(refusalIn(shard.tell(claimOf('c1', { attempt: 3 })))?.code, 'consumer-deleted');
  shard.tell(release('c1', { attempt: 1 }));
  assert.equal(heldIn(shard), {});
  assert.is(shard.state.consumers.holding.size, 0);
});

test('placement - what a deleted consumer still holds is not given back by another word of its end', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  shard.tell(claimOf('c1'));
  shard.tell(claimOf('c1', { attempt: 2, host: 'b', keep: [1] }));
  shard.tell(release('c1', { keep: [1], deleted: true }));
  shard.tell(release('c1', { deleted: true }));
  assert.is((heldIn(shard).c1 as unknown[]).length, 1);
});

test('placement - a deleted consumer is remembered for as long as it holds something', () => {
  const shard = bench(placement({ shard: 0, rememberDeletedMs: 60_000 }));
  shard.tell(put(hostTree('a')));
  shard.tell(claimOf('c1'));
  shard.tell(release('c1', { keep: [1], deleted: true }));
  shard.pass(200_000);
  assert.is(refusalIn(shard.tell(claimOf('c1')))?.code, 'consumer-deleted');
  shard.tell(release('c1', { attempt: 1 }));
  shard.pass(200_000);
  assert.equal([shard.state.consumers.holding.size, shard.state.consumers.deleted.size], [0, 0]);
});

test('placement - large providers are listed on more pages, each in the bounds of a message', () => {
  const traits = Array.from({ length: 200 }, (_, position) => `CUSTOM_A_TRAIT_WITH_A_LONG_NAME_${position}`);
  const shard = shardWith(...Array.from({ length: 100 }, (_, position) => hostTree(`h${position}`, { traits })));
  const listed: string[] = [];
  let pages = 0;
  for (let after: string | null | undefined; after !== null; pages += 1) {
    const question = { type: 'list-providers', ask: 1, limit: 500, ...(after === undefined ? {} : { after }) } as const;
    const message = sentOf(shard.tell(question), 'providers')[0]?.message;
    assert.ok(JSON.stringify(message).length < 300_000);
    listed.push(...(message?.providers.map(({ id }) => id) ?? []));
    after = message?.next ?? null;
  }
  assert.ok(pages > 2);
  assert.equal(listed, [...shard.state.providers.keys()].sort());
});

test('placement - an expired claim is refused, and says nothing of the one sent after it', () => {
  const shard = shardWith(hostTree('a'));
  assert.is(refusalIn(shard.tell(claimOf('c1', { expiresAt: shard.now - 1 })))?.code, 'expired');
  assert.is(refusalIn(shard.tell(claimOf('c1'))), null);
  assert.is(refusalIn(shard.tell(claimOf('c1', { expiresAt: shard.now - 1 }))), null, 'what is held is held');
});

test('placement - trees that make no sense are refused by name, and change nothing', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  const [root, device] = hostTree('c') as [ProviderSpec, ProviderSpec];
  const cases: [RegExp, ProviderSpec[]][] = [
    [/must be its root/, [device]],
    [/'c-gpu-0' is told twice/, [root, device, device]],
    [/does not stand before it/, [root, { ...device, parent: 'nobody' }]],
    [/does not stand before it/, [root, { ...device, parent: null }]],
    [/belongs to the tree of 'a'/, [root, { ...device, id: 'a-gpu-0' }]],
    [/more reserved than there is/, [{ ...root, inventories: { VCPU: inventoryOf({ reserved: 9 }) } }]],
  ];
  for (const [why, tree] of cases) {
    const turned = shard.tell(put(tree));
    const [refused] = sentOf(turned, 'tree-refused');
    assert.match(refused?.message.reason ?? '', why);
    assert.equal(turned.records, []);
  }
});

test('placement - a tree told again as it stands records nothing', () => {
  const shard = shardWith(hostTree('a'));
  assert.equal(shard.tell(put(hostTree('a'))).records, []);
});

test('placement - providers and consumers are listed page by page, each once', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  for (const consumer of ['c1', 'c2', 'c3']) shard.tell(claimOf(consumer, { vcpu: 1 }));
  const seen: string[] = [];
  let after: string | undefined;
  do {
    const from = after === undefined ? {} : { after };
    const [page] = sentOf(shard.tell({ type: 'list-providers', ask: 1, limit: 4, ...from }), 'providers');
    for (const { id } of page?.message.providers ?? []) seen.push(id);
    after = page?.message.next ?? undefined;
  } while (after !== undefined);
  assert.equal(seen, ['a', 'a-gpu-0', 'a-gpu-1', 'b', 'b-gpu-0', 'b-gpu-1']);
  const [page] = sentOf(shard.tell({ type: 'list-consumers', ask: 1, limit: 2 }), 'consumers');
  assert.is(page?.message.next, 'c2');
});

test('placement - the feed tells its last number again, and a new life is told by its epoch', () => {
  const shard = shardWith(hostTree('a'));
  const beats = shard.pass(5_000).flatMap((turned) => sentOf(turned, 'providers-changed'));
  assert.ok(beats.length >= 4);
  assert.ok(beats.every(({ message }) => message.sequence === 1 && message.changed.length === 0));
  const epoch = beats[0]?.message.epoch;
  shard.recover();
  const again = sentOf(shard.tell(put(hostTree('b'))), 'providers-changed')[0];
  assert.is(again?.message.sequence, 1);
  assert.not.equal(again?.message.epoch, epoch);
});

test('placement - its feed tells what very many hosts are in messages that can be sent, and leaves out none', () => {
  const shard = bench(actor);
  const traits = Array.from({ length: 60 }, (_, n) => `HW_CPU_X86_FEATURE_${n}`);
  const names = Array.from({ length: 512 }, (_, n) => `00000000-0000-0000-0000-000000000${n}`);
  const inventories = { VCPU: inventoryOf() };
  const hosts = names.map((name) => ({ message: put([providerOf(name, { traits, inventories })]), from: 'compute' }));
  const told = sentOf(shard.tellAll(hosts), 'providers-changed').map(({ message }) => message);
  assert.equal(
    told.flatMap(({ changed }) => changed.map(({ id }) => id)),
    names,
  );
  const claims = names.map((name) => ({
    message: claimOf(`of-${name}`, { host: name, vcpu: 1 }),
    from: 'scheduler/s',
  }));
  const used = sentOf(shard.tellAll(claims), 'providers-changed').map(({ message }) => message);
  assert.equal(
    used.flatMap((message) => message.used.map(({ id }) => id)),
    names,
  );
  const sequences = [...told, ...used].map(({ sequence }) => sequence);
  assert.equal(
    sequences,
    sequences.map((_, position) => position + 1),
  );
  const sizes = [...told, ...used].map((message) => encode(message).length);
  assert.ok(Math.max(...sizes) < 512 * 1024, `${Math.max(...sizes)} bytes`);
});

test('placement - what its feed tells can be sent, too, of hosts with members of very many groups', () => {
  const shard = bench(actor);
  const names = Array.from({ length: 100 }, (_, n) => `host-${n}`);
  for (const name of names) shard.tell(put([providerOf(name, { inventories: { VCPU: inventoryOf({ total: 64 }) } })]));
  const uuid = (n: number) => `00000000-0000-0000-0000-${1e11 + n}`;
  const claimsOf = (member: number) =>
    names.map((name, n) => {
      const claim = claimOf(`${name}-${member}`, { host: name, vcpu: 1 });
      const instanceGroup = { id: `${uuid(n)}/${uuid(member)}`, policy: 'soft-anti-affinity' as const };
      return { message: { ...claim, spec: { ...claim.spec, instanceGroup } }, from: 'scheduler/s' };
    });
  for (let member = 0; member < 40; member += 1) for (const { message } of claimsOf(member)) shard.tell(message);
  const told = sentOf(shard.tellAll(claimsOf(40)), 'providers-changed').map(({ message }) => message);
  assert.equal(
    told.flatMap(({ used }) => used.map(({ id }) => id)),
    names,
  );
  const sizes = told.map((message) => encode(message).length);
  assert.ok(Math.max(...sizes) < 512 * 1024, `${Math.max(...sizes)} bytes`);
});

test('placement - a snapshot is begun without a look at all providers, however many there are', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  const { providers } = shard.state;
  const { values } = providers;
  providers.values = () => assert.unreachable('all are looked at') as never;
  const snapshot = actor.snapshot(shard.state);
  providers.values = values;
  assert.is((snapshot.next(2) as StoredPlacement).providers.length, 2);
});

test.run();
