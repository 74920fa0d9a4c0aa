// Area: placement, counting anew. With whom a consumer is, and on how many hosts, is counted while providers change, go and
// come again as it is when all of it is put back from what is stored.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { PlacementMessage } from '../../actors/messages/placement.ts';
import type { PlacementApiMessage } from '../../actors/messages/placement-api.ts';
import type { PlacementState } from '../../actors/placement/state.ts';
import { seededRandom } from '../../runtime/random.ts';
import { checkHolding } from '../support/holding-scan.ts';
import {
  actor,
  claimOf,
  inventoryOf,
  providerOf,
  put,
  refusalIn,
  release,
  shardWith,
} from '../support/placement-desk.ts';
import { replayed } from '../support/turn.ts';

const test = suite('placement, counting anew');

const SHARES = 'MISC_SHARES_VIA_AGGREGATE';
const group = { id: 'p/g', policy: 'anti-affinity' as const, maxPerHost: 9 };
const unnamed = { name: '', resources: { VCPU: 1 } };
const fpga = { name: '_f', resources: {}, required: ['CUSTOM_FPGA'] };

const host = (id: string, traits: string[] = []) => providerOf(id, { inventories: { VCPU: inventoryOf() }, traits });
const device = (parent: string) => providerOf('fpga', { parent, traits: ['CUSTOM_FPGA'] });

type Shard = ReturnType<typeof shardWith>;
const ask = (shard: Shard, question: object) => shard.tell({ ask: 1, ...question } as PlacementApiMessage);

/** A claim of a host, and of the device for its traits alone. */
const withDevice = (consumer: string, of = 'a') =>
  claimOf(consumer, {
    spec: { groups: [unnamed, fpga], groupPolicy: 'none', instanceGroup: group },
    allocations: [
      { provider: of, group: '', resources: { VCPU: 1 } },
      { provider: 'fpga', group: '_f', resources: {} },
    ],
  });
const without = (consumer: string, of: string, instanceGroup: object = group) =>
  claimOf(consumer, { host: of, vcpu: 1, spec: { groups: [unnamed], groupPolicy: 'none', instanceGroup } as never });

function standingIn({ providers, groups, consumers }: PlacementState) {
  const byKey = <Value>(map: ReadonlyMap<string, Value>, shown: (value: Value) => unknown) =>
    Object.fromEntries(
      [...map].sort(([one], [other]) => (one < other ? -1 : 1)).map(([key, value]) => [key, shown(value)]),
    );
  return {
    providers: byKey(providers, ({ groups: of, groupRules, tenants, holders }) => ({
      groups: byKey(of, (count) => count),
      rules: byKey(groupRules, (rule) => rule),
      tenants,
      holders: holders instanceof Map ? Object.fromEntries(holders) : holders.toSorted(),
    })),
    places: byKey(groups.places, ({ home, roots }) => ({ home, roots: roots.toSorted() })),
    homes: byKey(groups.known, ({ homes, members }) => [byKey(homes, (count) => count), [...members].sort()]),
    holding: [...consumers.holding.keys()].sort(),
  };
}

const countsIn = ({ providers }: PlacementState, id: string) => {
  const { tenants, groups } = providers.get(id) ?? {};
  return [tenants, groups?.get('p/g')];
};

/** What is counted on providers, which must be so too when the shard is put back. */
function assertCounts(shard: Shard, told: Record<string, unknown>, what: string): void {
  for (const state of [shard.state, actor.restore([shard.stored()])]) {
    assert.equal(Object.fromEntries(Object.keys(told).map((id) => [id, countsIn(state, id)])), told, what);
  }
  assert.equal(standingIn(shard.state), standingIn(actor.restore([shard.stored()])), what);
}

test('placement, counting anew - members are on a host that does not share any more, and on none that has come to share beside another', () => {
  const shard = shardWith([host('a')], [host('b')]);
  assert.is(refusalIn(shard.tell(without('i', 'b', { ...group, maxPerHost: 1 }))), null);
  const allocations = ['b', 'a'].map((provider) => ({ provider, resources: { VCPU: 1 } }));
  ask(shard, { type: 'allocations-put', consumers: [{ consumer: 'i', allocations, project: 'p', user: 'u' }] });
  for (const give of [
    (traits: string[]) => ask(shard, { type: 'traits-put', id: 'a', traits }),
    (traits: string[]) => shard.tell(put([host('a', traits)])),
  ]) {
    give([SHARES]);
    assertCounts(shard, { a: [1, undefined] }, 'while it shares');
    give([]);
    assertCounts(shard, { a: [1, 1] }, 'as it does not any more');
    const refused = refusalIn(shard.tell(without('j', 'a', { ...group, maxPerHost: 1 })));
    assert.is(refused?.code, 'group-anti-affinity');
  }
});

test('placement, counting anew - on a host that shares, those are who have no other, until there is none that a compute tells of', () => {
  const apart = { ...group, maxPerHost: 1 };
  const shard = shardWith([host('a', [SHARES])], [host('b')]);
  assert.is(refusalIn(shard.tell(without('i', 'a', apart))), null);
  assertCounts(shard, { a: [1, 1] }, 'it is a host all the same');
  assert.is(refusalIn(shard.tell(without('j', 'a', apart)))?.code, 'group-anti-affinity');
  assert.is(refusalIn(shard.tell(without('j', 'b', apart))), null);
  ask(shard, { type: 'provider-create', id: 'pool', name: 'pool', parent: null });
  ask(shard, { type: 'traits-put', id: 'pool', traits: [SHARES] });
  const inventories = { VCPU: inventoryOf() };
  ask(shard, { type: 'inventories-put', id: 'pool', how: 'all', inventories, removed: [], allReserved: true });
  const hold = (consumer: string, ...providers: string[]) => {
    const allocations = providers.map((provider) => ({ provider, resources: { VCPU: 1 } }));
    ask(shard, { type: 'allocations-put', consumers: [{ consumer, allocations, project: 'p', user: 'u' }] });
  };
  hold('i', 'pool', 'a');
  hold('j', 'b', 'pool', 'a');
  assertCounts(shard, { a: [2, 1], b: [1, 1], pool: [2, undefined] }, 'each has a host, and takes of what is shared');
  for (const consumer of ['i', 'j']) hold(consumer, 'pool');
  assertCounts(shard, { a: [0, undefined], b: [0, undefined], pool: [2, undefined] }, 'a pool is no host');
  shard.tell(put([host('pool', [SHARES])]));
  assertCounts(shard, { pool: [2, 2] }, 'a compute has told of it');
});

test('placement, counting anew - who took of other shards too is on a host that shares once a claim has put him there', () => {
  const apart = { ...group, maxPerHost: 1 };
  const shard = shardWith([host('a', [SHARES])], [host('b', [SHARES])]);
  assert.is(refusalIn(shard.tell(without('i', 'a', apart))), null);
  const allocations = [{ provider: 'a', resources: { VCPU: 1 } }];
  const beside = { several: true, latest: 1, group: apart };
  ask(shard, {
    type: 'allocations-put',
    consumers: [{ consumer: 'i', allocations, project: 'p', user: 'u', ...beside }],
  });
  assertCounts(shard, { a: [1, undefined] }, 'his host may be with another shard');
  for (const keep of [[1], []]) {
    assert.is(refusalIn(shard.tell({ ...without('i', 'b', apart), attempt: 3 - keep.length, keep })), null);
    assertCounts(shard, { a: [keep.length, undefined], b: [1, 1] }, `he keeps ${keep}`);
    assert.is(refusalIn(shard.tell(without('j', 'b', apart)))?.code, 'group-anti-affinity');
  }
});

test('placement, counting anew - who holds a device for its traits alone is where it comes again', () => {
  const shard = shardWith([host('a'), device('a')], [host('b')]);
  assert.is(refusalIn(shard.tell(withDevice('i'))), null);
  ask(shard, { type: 'provider-delete', id: 'fpga' });
  assertCounts(shard, { a: [1, 1], b: [0, undefined] }, 'it is gone');
  ask(shard, { type: 'provider-create', id: 'fpga', name: 'fpga', parent: 'b' });
  assertCounts(shard, { a: [1, 1], b: [1, 1] }, 'it has come again below another host');
  assert.is(shard.state.absent.size, 0);
  shard.tell(put([host('a'), device('a')]));
  ask(shard, { type: 'provider-delete', id: 'fpga' });
  assertCounts(shard, { a: [1, 1], b: [0, undefined] }, 'it is gone again');
  shard.tell(put([host('b'), device('b')]));
  assertCounts(shard, { a: [1, 1], b: [1, 1] }, 'a compute tells of it');
  shard.tell(put([host('b')]));
  assertCounts(shard, { a: [1, 1], b: [0, undefined] }, 'a compute tells of it no more');
  shard.tell(release('i'));
  assert.is(shard.state.absent.size, 0);
  ask(shard, { type: 'provider-create', id: 'fpga', name: 'fpga', parent: 'b' });
  assertCounts(shard, { a: [0, undefined], b: [0, undefined] }, 'given back while the device was gone');
  ask(shard, { type: 'provider-delete', id: 'fpga' });
  assert.is(shard.state.absent.size, 0);
});

test('placement, counting anew - whatever changes, goes and comes again, it is as it is when it is put back', () => {
  const traitsOf = (id: string) => (id === 'fpga' ? ['CUSTOM_FPGA'] : []);
  for (let seed = 1; seed <= 60; seed += 1) {
    const random = seededRandom(seed);
    const one = <Item>(...items: Item[]) => items[random.integer(0, items.length - 1)] as Item;
    const shard = shardWith([host('a'), device('a')], [host('b')]);
    const steps: (() => object)[] = [
      () => withDevice(one('i', 'j'), one('a', 'b')),
      () => ({ ...withDevice(one('i', 'j'), one('a', 'b')), attempt: random.integer(1, 4), keep: one([], [1, 2]) }),
      () => without(one('k', 'l'), one('a', 'b'), one<object>(group, { id: 'p/t', policy: 'soft-affinity' })),
      () => release(one('i', 'j', 'k', 'l'), one({}, { attempt: 1 })),
      () => ({ type: 'provider-delete', id: one('fpga', 'fpga', 'a', 'b') }),
      () => ({ type: 'provider-create', id: 'fpga', name: 'fpga', parent: one(null, 'a', 'b') }),
      () => ({ type: 'provider-update', id: 'fpga', name: 'fpga', parent: one(null, 'a', 'b'), reparent: true }),
      () => ({ type: 'provider-update', id: 'a', name: 'a', parent: one(null, 'b'), reparent: true }),
      () => {
        const id = one('fpga', 'a', 'b');
        return { type: 'traits-put', id, traits: [...traitsOf(id), ...one([], [SHARES])] };
      },
      () => {
        const id = one('a', 'b');
        return put([host(id, one([], [SHARES])), ...one([], [device(id)])]);
      },
      () => ({ type: 'withdraw-tree', root: one('a', 'b', 'fpga') }),
      () => ({
        type: 'allocations-put',
        consumers: [
          {
            consumer: one('i', 'k'),
            allocations: one([], [{ provider: one('a', 'b'), resources: { VCPU: 1 } }]),
            project: 'p',
            user: 'u',
          },
        ],
      }),
    ];
    let follower = actor.restore([shard.stored()]);
    for (let step = 0; step < 40; step += 1) {
      const message = one(...steps)();
      const begin = shard.entries.length;
      ask(shard, message as PlacementMessage);
      const what = `seed ${seed}, step ${step}: ${JSON.stringify(message)}`;
      const putBack = actor.restore([shard.stored()]);
      assert.equal(standingIn(shard.state), standingIn(putBack), what);
      for (const record of shard.entries.slice(begin).flat()) actor.apply(follower, record);
      assert.equal(standingIn(follower), standingIn(shard.state), `${what}, after it was put back`);
      if (random.chance(0.2)) follower = putBack;
    }
    checkHolding(shard.state);
    assert.equal(replayed(actor, shard.entries), shard.stored());
  }
});

test.run();
