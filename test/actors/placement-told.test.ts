// Area: placement, trees that computes tell and callers of the Placement API change. A compute tells its whole tree
// whenever it starts: what others have set meanwhile stays, and what the compute tells otherwise than before is so.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ProviderSpec } from '../../actors/messages/placement.ts';
import { placement } from '../../actors/placement/placement.ts';
import { type Provider, revisionOf } from '../../actors/placement/providers.ts';
import { seededRandom } from '../../runtime/random.ts';
import { checkHolding } from '../support/holding-scan.ts';
import {
  claimOf,
  hostTree,
  inventoryOf,
  providerOf,
  put,
  refusalIn,
  release,
  shardWith,
} from '../support/placement-desk.ts';
import { randomMessage } from '../support/placement-messages.ts';
import { beginSlices } from '../support/slices.ts';
import { bench, replayed, restored, sentOf } from '../support/turn.ts';

const test = suite('placement - told trees');
const actor = placement({ shard: 0 });

type Shard = ReturnType<typeof shardWith>;

function api(shard: Shard, message: object): void {
  const { sent } = shard.tell({ ask: 1, ...message } as never, 'gateway/test');
  assert.not.match(sent.map((one) => (one.message as { text?: string }).text ?? '').join(), /"refused"/);
}
const specOf = ({ state }: Shard, id: string) => state.providers.get(id)?.spec;
const OPERATORS = '11111111-2222-4333-8444-555555555555';

/** All inventories of a provider from now on. */
function inventories(shard: Shard, id: string, all: object): void {
  api(shard, { type: 'inventories-put', id, how: 'all', inventories: all, removed: [], allReserved: true });
}

/** What an operator sets on a host by the API: an aggregate, a trait, a ratio, a class of his own, and a device. */
function operatorsWork(shard: Shard): void {
  api(shard, { type: 'trait-put', name: 'CUSTOM_OPS' });
  api(shard, { type: 'class-put', name: 'CUSTOM_LICENSE' });
  api(shard, { type: 'aggregates-put', id: 'a', aggregates: [OPERATORS], counted: true });
  api(shard, { type: 'traits-put', id: 'a', traits: ['HW_TOLD', 'CUSTOM_OPS'] });
  inventories(shard, 'a', { VCPU: inventoryOf({ allocation_ratio: 4 }), CUSTOM_LICENSE: inventoryOf({ total: 2 }) });
  api(shard, { type: 'provider-create', id: 'fpga', name: 'fpga', parent: 'a' });
  inventories(shard, 'fpga', { FPGA: inventoryOf({ total: 1 }) });
}

test('placement - what callers of the Placement API set on a host stays when its compute starts again', () => {
  const tree = hostTree('a', { traits: ['HW_TOLD'] });
  const shard = shardWith(tree);
  operatorsWork(shard);
  const before = ['a', 'a-gpu-0', 'fpga'].map((id) => specOf(shard, id));
  assert.equal(before[0]?.aggregates, [OPERATORS]);
  assert.equal(shard.tell(put(tree)).records, [], 'nothing is other than it was told before');
  assert.equal(
    ['a', 'a-gpu-0', 'fpga'].map((id) => specOf(shard, id)),
    before,
  );
});

test('placement - of a tree that is told otherwise than before just that is changed', () => {
  const shard = shardWith(hostTree('a', { traits: ['HW_TOLD', 'HW_GONE'] }));
  operatorsWork(shard);
  const [root, ...devices] = hostTree('a', { traits: ['HW_NEW', 'HW_TOLD'] }) as [ProviderSpec, ...ProviderSpec[]];
  const grown = { ...root, inventories: { VCPU: inventoryOf({ total: 16 }), DISK_GB: inventoryOf() } };
  shard.tell(put([grown, devices[1] as ProviderSpec]));
  const now = specOf(shard, 'a');
  assert.equal(now?.inventories.VCPU, inventoryOf({ total: 16, allocation_ratio: 4 }));
  assert.equal(Object.keys(now?.inventories ?? {}).sort(), ['CUSTOM_LICENSE', 'DISK_GB', 'VCPU']);
  assert.equal([...(now?.traits ?? [])].sort(), ['CUSTOM_OPS', 'HW_NEW', 'HW_TOLD']);
  assert.equal(now?.aggregates, [OPERATORS]);
  assert.equal([...shard.state.providers.keys()].sort(), ['a', 'a-gpu-1', 'fpga']);

  shard.tell(put([{ ...root, traits: [], inventories: {} }]));
  assert.equal(Object.keys(specOf(shard, 'a')?.inventories ?? {}), ['CUSTOM_LICENSE']);
  assert.equal(specOf(shard, 'a')?.traits, ['CUSTOM_OPS']);
  assert.equal([...shard.state.providers.keys()].sort(), ['a', 'fpga']);
  assert.equal(replayed(actor, shard.entries), shard.stored());
  assert.equal(restored(actor, shard.stored()), shard.stored());
});

test('placement - what a tree tells as it was is not changed by what it tells otherwise: callers may go on with what they read', () => {
  const shard = shardWith(hostTree('a', { traits: ['HW_TOLD'] }));
  operatorsWork(shard);
  const revisions = () =>
    ['a', 'a-gpu-0', 'a-gpu-1', 'fpga'].map((id) => revisionOf(shard.state.providers.get(id) as Provider));
  const [host, ...others] = revisions();
  shard.tell(put(hostTree('a', { traits: ['HW_TOLD', 'HW_NEW'] })));
  const [after, ...same] = revisions();
  assert.ok(Number(after) > Number(host));
  assert.equal(same, others);
});

test('placement - whoever follows the feed hears just what a tree tells otherwise: what is new, what is empty and what is gone', () => {
  const [host, gpu, other] = hostTree('a') as [ProviderSpec, ProviderSpec, ProviderSpec];
  const shard = shardWith([host, gpu, other]);
  const fed = (message: Parameters<Shard['tell']>[0]) => {
    const told = sentOf(shard.tell(message), 'providers-changed').map(({ message: { changed, removed } }) => {
      return [changed.map(({ id, inventories }) => [id, Object.keys(inventories)]), removed];
    });
    assert.is(told.length, 1);
    return told[0];
  };
  const held = { PGPU: 1 };
  const groups = [{ name: '', resources: held }];
  const allocations = [{ provider: gpu.id, group: '', resources: held }];
  assert.is(refusalIn(shard.tell(claimOf('c1', { spec: { groups, groupPolicy: 'none' }, allocations }))), null);
  const added = providerOf('a-fpga', { parent: 'a', inventories: { FPGA: inventoryOf() } });
  assert.equal(fed(put([host, added])), [
    [
      [added.id, ['FPGA']],
      [gpu.id, []],
    ],
    [other.id],
  ]);
  assert.equal(fed(put([host, gpu, added])), [[[gpu.id, ['PGPU']]], []]);
});

test('placement - a trait that a caller set first goes with what the compute tells later, once that has told it too', () => {
  const shard = shardWith(hostTree('a'));
  api(shard, { type: 'trait-put', name: 'CUSTOM_OPS' });
  api(shard, { type: 'traits-put', id: 'a', traits: ['CUSTOM_OPS'] });
  const told = (...traits: string[]) => shard.tell(put(hostTree('a', { traits })));
  told();
  assert.equal(specOf(shard, 'a')?.traits, ['CUSTOM_OPS'], 'it is the caller’s alone');
  told('CUSTOM_OPS');
  assert.equal(specOf(shard, 'a')?.traits, ['CUSTOM_OPS']);
  told();
  assert.equal(specOf(shard, 'a')?.traits, []);
  assert.equal(replayed(actor, shard.entries), shard.stored());
});

test('placement - what callers took away stays away until something else is told of it, and a reservation fits what there is', () => {
  const shard = shardWith(hostTree('a', { traits: ['HW_TOLD'] }));
  api(shard, { type: 'traits-put', id: 'a', traits: [] });
  inventories(shard, 'a', {});
  shard.tell(put(hostTree('a', { traits: ['HW_TOLD', 'HW_NEW'] })));
  assert.equal([specOf(shard, 'a')?.traits, specOf(shard, 'a')?.inventories], [['HW_NEW'], {}]);
  const told = (VCPU: object) => put(hostTree('a', { inventories: { VCPU: inventoryOf(VCPU) } }));
  shard.tell(told({ total: 12 }));
  assert.is(specOf(shard, 'a')?.inventories.VCPU?.total, 12);
  inventories(shard, 'a', { VCPU: inventoryOf({ total: 12, reserved: 6, min_unit: 6 }) });
  shard.tell(told({ total: 4, max_unit: 4 }));
  assert.equal(specOf(shard, 'a')?.inventories.VCPU, inventoryOf({ total: 4, reserved: 4, min_unit: 4, max_unit: 4 }));
});

test('placement - a provider that comes back counts on in its feed, and from the start for callers of the Placement API', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  shard.tell(claimOf('c1'));
  shard.tell(release('c1', { deleted: true }));
  const generationOf = (id: string) => shard.state.providers.get(id)?.generation ?? -1;
  const before = generationOf('a');
  shard.tell({ type: 'withdraw-tree', ask: 1, root: 'a' });
  assert.is(shard.state.providers.has('a'), false);
  const stored = shard.stored();
  shard.tell(put(hostTree('a')));
  api(shard, { type: 'provider-create', id: 'c', name: 'c', parent: null });
  for (const id of ['a', 'a-gpu-0', 'c']) {
    assert.ok(generationOf(id) > before, `${id}: ${generationOf(id)} after ${before}`);
    assert.is(revisionOf(shard.state.providers.get(id) as Provider), 0);
  }
  assert.is(generationOf('b'), 0);
  assert.equal(replayed(actor, shard.entries), shard.stored());
  assert.equal(restored(actor, stored), stored, 'it is kept in snapshots while the provider is gone');
});

test('placement - a device that is told no more stays, empty, while one that a caller made is below it', () => {
  const shard = shardWith(hostTree('a'));
  api(shard, { type: 'provider-create', id: 'part', name: 'part', parent: 'a-gpu-0' });
  const [root] = hostTree('a') as [ProviderSpec];
  shard.tell(put([root]));
  assert.equal([...shard.state.providers.keys()].sort(), ['a', 'a-gpu-0', 'part']);
  assert.equal(specOf(shard, 'a-gpu-0')?.inventories, {});
  assert.equal(shard.tell(put([root])).records, []);
  api(shard, { type: 'provider-delete', id: 'part' });
  shard.tell(put([root]));
  assert.equal([...shard.state.providers.keys()], ['a']);
  shard.tell(put(hostTree('a')));
  assert.equal(specOf(shard, 'a-gpu-0'), hostTree('a')[1]);
});

test('placement - all that a provider of a caller is below stays while it is there, though it is told no more, and is nothing but its place', () => {
  const [root] = hostTree('a') as [ProviderSpec];
  const node = providerOf('a-node', { parent: 'a', traits: ['HW_NODE'] });
  const port = providerOf('a-port', { parent: node.id, aggregates: [OPERATORS] });
  const shard = shardWith([root, node, port]);
  api(shard, { type: 'provider-create', id: 'function', name: 'function', parent: port.id });
  shard.tell(put([root]));
  assert.equal([...shard.state.providers.keys()].sort(), ['a', node.id, port.id, 'function']);
  assert.equal([specOf(shard, node.id)?.traits, specOf(shard, port.id)?.aggregates], [[], []]);
  assert.equal(replayed(actor, shard.entries), shard.stored());
});

test('placement - a name that a caller gave stays until the compute tells another one', () => {
  const shard = shardWith(hostTree('a'));
  api(shard, { type: 'provider-update', id: 'a', name: 'oslo-1', parent: null, reparent: false });
  shard.tell(put(hostTree('a', { traits: ['HW_NEW'] })));
  assert.equal([specOf(shard, 'a')?.name, specOf(shard, 'a')?.traits], ['oslo-1', ['HW_NEW']]);
  shard.tell(put(hostTree('a', { name: 'a-renamed' })));
  assert.is(specOf(shard, 'a')?.name, 'a-renamed');
});

test('placement - a device that is told no more, and held, serves no group that asks for its traits or aggregates alone', () => {
  const [root, gpu, other] = hostTree('a') as [ProviderSpec, ProviderSpec, ProviderSpec];
  const fast = { ...gpu, traits: ['CUSTOM_FAST'], aggregates: ['rack'] };
  const shard = shardWith([root, fast, other]);
  api(shard, { type: 'traits-put', id: fast.id, traits: ['CUSTOM_FAST', 'HW_NUMA_ROOT'] });
  const held = { PGPU: 1 };
  const claim = claimOf('c1', {
    spec: { groups: [{ name: '', resources: held }], groupPolicy: 'none' },
    allocations: [{ provider: fast.id, group: '', resources: held }],
  });
  assert.is(refusalIn(shard.tell(claim)), null);
  shard.tell(put([root, other]));
  const { traits, aggregates } = specOf(shard, fast.id) ?? {};
  assert.equal([traits, aggregates], [['HW_NUMA_ROOT'], []], 'what callers have set stays');
  assert.equal(shard.tell(put([root, other])).records, []);
  for (const asked of [{ required: ['CUSTOM_FAST'] }, { memberOf: [['rack']] }]) {
    const groups = [
      { name: '', resources: { VCPU: 1 } },
      { name: 'near', resources: {}, ...asked },
    ];
    const allocations = [
      { provider: 'a', group: '', resources: { VCPU: 1 } },
      { provider: fast.id, group: 'near', resources: {} },
    ];
    const refusal = refusalIn(shard.tell(claimOf('c2', { spec: { groups, groupPolicy: 'none' }, allocations })));
    assert.ok(refusal, 'it is not there');
  }
  shard.tell(put([root, fast, other]));
  assert.equal(specOf(shard, fast.id)?.traits.toSorted(), ['CUSTOM_FAST', 'HW_NUMA_ROOT']);
  assert.equal(specOf(shard, fast.id)?.aggregates, ['rack']);
  assert.equal(replayed(actor, shard.entries), shard.stored());
});

test('placement - a device that is told no more, and held, comes back whole when it is told again', () => {
  const shard = shardWith(hostTree('a'));
  const claim = claimOf('c1', {
    spec: { groups: [{ name: '', resources: { PGPU: 1 } }], groupPolicy: 'none' },
    allocations: [{ provider: 'a-gpu-0', group: '', resources: { PGPU: 1 } }],
  });
  assert.is(refusalIn(shard.tell(claim)), null);
  const [root] = hostTree('a') as [ProviderSpec];
  shard.tell(put([root]));
  assert.equal(specOf(shard, 'a-gpu-0')?.inventories, {});
  const again = { ...actor, init: () => actor.restore([shard.stored()]) };
  for (const one of [shard, bench(again)] as Shard[]) {
    one.tell(put(hostTree('a')));
    assert.equal(specOf(one, 'a-gpu-0'), hostTree('a')[1]);
    assert.is(one.state.providers.get('a-gpu-0')?.stocks.get('PGPU')?.used, 1);
    one.tell(release('c1', { deleted: true }));
    one.tell(put([root]));
    assert.equal([...one.state.providers.keys()], ['a']);
  }
});

test('placement - a device that a caller moved is where its compute tells when the tree is told otherwise', () => {
  const device = (id: string, parent: string, total = 4) =>
    providerOf(id, { parent, inventories: { PGPU: inventoryOf({ total }) } });
  const root = providerOf('a', { inventories: { VCPU: inventoryOf() } });
  const tree = [root, device('x', 'a'), device('y', 'a')];
  const move = (shard: Shard, id: string, parent: string) =>
    api(shard, { type: 'provider-update', id, name: id, parent, reparent: true });
  const parents = ({ state }: Shard) =>
    [...state.providers.values()].map(({ spec }) => `${spec.id} below ${spec.parent}`).sort();
  const ring = shardWith(tree);
  move(ring, 'x', 'y');
  assert.equal(ring.tell(put(tree)).records, []);
  assert.equal(parents(ring), ['a below null', 'x below y', 'y below a']);
  ring.tell(put([root, device('x', 'a'), device('y', 'x')]));
  assert.equal(parents(ring), ['a below null', 'x below a', 'y below x']);
  const orphan = shardWith(tree);
  move(orphan, 'x', 'y');
  orphan.tell(put([root, device('x', 'a')]));
  assert.equal(parents(orphan), ['a below null', 'x below a']);
});

test('placement - a device that a caller moved to another host does not go when that tells its tree', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  api(shard, { type: 'provider-update', id: 'a-gpu-0', name: 'a-gpu-0', parent: 'b', reparent: true });
  assert.equal(shard.tell(put(hostTree('b'))).records, []);
  shard.tell(put(hostTree('b', { traits: ['HW_NEW'] })));
  assert.is(specOf(shard, 'a-gpu-0')?.parent, 'b');
  assert.equal(replayed(actor, shard.entries), shard.stored());
  assert.equal(restored(actor, shard.stored()), shard.stored());
});

test('placement - records of trees of before what others set was kept lead to the state of then', () => {
  const shard = shardWith(hostTree('a', { traits: ['HW_TOLD'] }));
  operatorsWork(shard);
  const tree = hostTree('a', { traits: ['HW_TOLD'] });
  const entries = [...shard.entries, [{ type: 'tree' as const, providers: tree }]];
  const old = bench(actor, { entries }) as Shard;
  assert.equal([...old.state.providers.keys()].sort(), ['a', 'a-gpu-0', 'a-gpu-1']);
  assert.equal(specOf(old, 'a'), tree[0]);
  assert.equal(restored(actor, old.stored()), old.stored());
  operatorsWork(old);
  assert.equal(old.tell(put(tree)).records, [], 'from then on it is kept');
});

test('placement - records of moves of before they were left to callers lead to the state of then', () => {
  const device = { type: 'provider-updated' as const, id: 'a-gpu-0', name: 'a-gpu-0', at: 1 };
  const entries = [
    ...shardWith(hostTree('a'), hostTree('b')).entries,
    [{ ...device, parent: 'b' }],
    [{ type: 'tree' as const, providers: hostTree('b'), keepsOthers: true as const }],
    [{ type: 'tree' as const, providers: hostTree('a', { traits: ['HW_NEW'] }), keepsOthers: true as const }],
  ];
  const old = bench(actor, { entries }) as Shard;
  assert.equal(old.state.trees.get('a'), ['a', 'a-gpu-0', 'a-gpu-1']);
  assert.equal(old.state.trees.get('b'), ['b', 'b-gpu-0', 'b-gpu-1']);
  assert.equal(restored(actor, old.stored()), old.stored());
});

test('placement - trees told between random changes of callers lead to the same state again, and to what is told in the end', () => {
  for (let seed = 0; seed < 25; seed += 1) {
    const random = seededRandom(`told-${seed}`);
    const shard = bench(actor) as Shard;
    let slice = beginSlices(actor, shard.state);
    for (let n = 0; n < 150; n += 1) {
      if (slice(random.integer(1, 3))) slice = beginSlices(actor, shard.state);
      if (random.next() > 0.2) {
        shard.tell(randomMessage(random, shard.state, n) as never, 'gateway/test');
        continue;
      }
      const total = random.integer(1, 8);
      const traits = random.next() < 0.5 ? ['CUSTOM_RED'] : [];
      const root = providerOf('p0', { inventories: { VCPU: inventoryOf({ total }) }, traits });
      // Devices below each other in any order, and not always all of them.
      const names = random.shuffle(['p1', 'p2', 'p3']).slice(0, random.integer(0, 3));
      const below = names.map((id, n) => {
        const parent = n === 0 || random.next() < 0.5 ? 'p0' : (names[n - 1] as string);
        return providerOf(id, {
          parent,
          inventories: { VCPU: inventoryOf({ total: random.next() < 0.5 ? 4 : total }) },
        });
      });
      const tree = [root, ...below];
      const wasTold = shard.state.providers.get('p0')?.told?.inventories.VCPU?.total;
      const isPut = shard.tell(put(tree)).sent.some(({ message }) => message.type === 'tree-put');
      if (!isPut) continue;
      const now = shard.state.providers.get('p0');
      assert.equal(now?.told, root);
      if (wasTold !== total) assert.is(now?.spec.inventories.VCPU?.total, total);
      for (const { spec, root: top } of shard.state.providers.values()) {
        let above = spec;
        for (let steps = 0; above.parent !== null; steps += 1) {
          assert.ok(steps < 10, `${spec.id} stands below itself`);
          const parent = shard.state.providers.get(above.parent);
          assert.ok(parent, `the parent of ${above.id} is there`);
          above = parent.spec;
        }
        assert.is(above.id, top);
      }
    }
    assert.equal(replayed(actor, shard.entries), shard.stored(), `seed ${seed}`);
    assert.equal(restored(actor, shard.stored()), shard.stored(), `seed ${seed}`);
    checkHolding(shard.state);
  }
});

test('placement - a tree that is told again changes nothing, unless its root is gone', () => {
  const shard = shardWith(hostTree('a'));
  const again = () => shard.tell({ type: 'put-tree', ask: 4, providers: hostTree('a'), again: true });
  api(shard, { type: 'provider-delete', id: 'a-gpu-1' });
  const told = again();
  assert.equal([told.records, sentOf(told, 'tree-put').length], [[], 1]);
  assert.not.ok(shard.state.providers.has('a-gpu-1'), 'what a caller took away stays away');
  for (const id of ['a-gpu-0', 'a']) api(shard, { type: 'provider-delete', id });
  assert.is(sentOf(again(), 'tree-put').length, 1);
  assert.equal([...shard.state.providers.keys()], ['a', 'a-gpu-0', 'a-gpu-1']);
});

test('placement - a tree that is told again counts where what was told before it came late', () => {
  const [root, ...devices] = hostTree('a');
  const now = [{ ...(root as ProviderSpec), traits: ['CUSTOM_NEW'] }, ...devices];
  const shard = shardWith(now, hostTree('a'));
  assert.equal(shard.state.providers.get('a')?.spec.traits, root?.traits);
  const told = shard.tell({ type: 'put-tree', ask: 4, providers: now, again: true });
  assert.equal([told.records.length, sentOf(told, 'tree-put').length], [1, 1]);
  assert.equal(shard.state.providers.get('a')?.spec.traits, ['CUSTOM_NEW']);
});

test('placement - a tree that is told again takes away a device that is in it no more, be it that it came late or was held', () => {
  const [root, gpu, other] = hostTree('a') as [ProviderSpec, ProviderSpec, ProviderSpec];
  const now = [root, other];
  const again = (shard: Shard) => shard.tell({ type: 'put-tree', ask: 4, providers: now, again: true });
  const late = shardWith(now, hostTree('a'));
  again(late);
  assert.equal(
    [...late.state.providers.keys()],
    now.map(({ id }) => id),
  );
  assert.equal(again(late).records, []);

  const shard = shardWith(hostTree('a'));
  const held = { PGPU: 1 };
  const claim = claimOf('c1', {
    spec: { groups: [{ name: '', resources: held }], groupPolicy: 'none' },
    allocations: [{ provider: gpu.id, group: '', resources: held }],
  });
  assert.is(refusalIn(shard.tell(claim)), null);
  shard.tell(put(now));
  assert.equal(again(shard).records, [], 'it stays while it is held');
  shard.tell(release('c1'));
  again(shard);
  assert.not.ok(shard.state.providers.has(gpu.id), 'it has been given back');
  assert.equal(replayed(actor, shard.entries), shard.stored());
});

test('placement - a host whose device a caller moved to another host is told without it, until it is back', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  const move = (id: string, parent: string) =>
    api(shard, { type: 'provider-update', id, name: id, parent, reparent: true });
  const rootOf = (id: string) => shard.state.providers.get(id)?.root;
  move('a-gpu-1', 'b');
  const below = providerOf('a-slice', { parent: 'a-gpu-1' });
  const larger = hostTree('a', { inventories: { VCPU: inventoryOf({ total: 16 }) } });
  assert.is(sentOf(shard.tell(put([...larger, below])), 'tree-put').length, 1);
  assert.is(specOf(shard, 'a')?.inventories.VCPU?.total, 16);
  assert.equal(['a-gpu-0', 'a-gpu-1', 'a-slice'].map(rootOf), ['a', 'b', undefined]);
  move('a-gpu-1', 'a');
  shard.tell(put([...larger, below]));
  assert.equal(['a-gpu-1', 'a-slice'].map(rootOf), ['a', 'a']);
  assert.equal(replayed(actor, shard.entries), shard.stored());
});

test('placement - a device that comes back from another host has what its compute told of it meanwhile', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  const move = (parent: string) =>
    api(shard, { type: 'provider-update', id: 'a-gpu-1', name: 'a-gpu-1', parent, reparent: true });
  move('b');
  const [root, gpu, other] = hostTree('a') as [ProviderSpec, ProviderSpec, ProviderSpec];
  const providers = [root, gpu, { ...other, inventories: { PGPU: inventoryOf({ total: 1 }) } }];
  const again = () => shard.tell({ type: 'put-tree', ask: 4, providers, again: true });
  shard.tell(put(providers));
  assert.equal(again().records, []);
  assert.equal(specOf(shard, other.id)?.inventories, other.inventories, 'while it is there it is as it was');
  move('a');
  again();
  assert.is(specOf(shard, other.id)?.inventories.PGPU?.total, 1);
  assert.equal(again().records, []);
});

// --- trees whose hosts do not come back

const withdraw = (shard: Shard, root = 'a') => shard.tell({ type: 'withdraw-tree', ask: 3, root }, 'cell/c1');

test('placement - a tree that is withdrawn goes with what callers have put there, and is told to be gone', () => {
  const shard = shardWith(hostTree('a', { traits: ['HW_TOLD'] }), hostTree('b'));
  operatorsWork(shard);
  const gone = withdraw(shard);
  assert.equal(sentOf(gone, 'tree-withdrawn')[0]?.message.root, 'a');
  assert.equal(sentOf(gone, 'providers-changed')[0]?.message.removed.toSorted(), ['a', 'a-gpu-0', 'a-gpu-1', 'fpga']);
  assert.equal([...shard.state.providers.keys()], ['b', 'b-gpu-0', 'b-gpu-1']);
  assert.equal(sentOf(withdraw(shard), 'tree-withdrawn').length, 1, 'said twice');
  assert.equal(replayed(actor, shard.entries), shard.stored());
  assert.equal(restored(actor, shard.stored()), shard.stored());
  assert.is(sentOf(shard.tell(put(hostTree('a'))), 'tree-put').length, 1, 'it may come again');
});

test('placement - a tree of which something is held is not withdrawn, and it is said who holds it', () => {
  const shard = shardWith(hostTree('a'));
  const consumers = ['c1', 'c2', 'c3', 'c4'];
  for (const consumer of consumers) shard.tell(claimOf(consumer, { vcpu: 1 }));
  const reason = () => sentOf(withdraw(shard), 'tree-kept')[0]?.message.reason;
  assert.is(reason(), "'c1', 'c2', 'c3' and 1 more still hold something there");
  for (const consumer of consumers.slice(1)) shard.tell(release(consumer, { deleted: true }));
  assert.is(reason(), "'c1' still holds something there");
  shard.tell(release('c1', { deleted: true }));
  assert.is(reason(), undefined);
  assert.is(shard.state.providers.size, 0);
});

test('placement - a tree that has been put below another is not withdrawn', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  api(shard, { type: 'provider-update', id: 'a', name: 'a', parent: 'b', reparent: true });
  assert.is(sentOf(withdraw(shard), 'tree-kept')[0]?.message.reason, "provider 'a' has been put below another, 'b'");
  assert.ok(shard.state.providers.has('a-gpu-0'));
});

test('placement - what a life of a compute told before changes nothing where it comes after what it tells now', () => {
  const shard = shardWith();
  const device = providerOf('a-gpu', { parent: 'a', inventories: { PGPU: inventoryOf({ total: 1 }) } });
  const put = (incarnation: string, ask: number, ...devices: ProviderSpec[]) =>
    shard.tell({ type: 'put-tree', ask, incarnation, providers: [...hostTree('a'), ...devices] });
  const has = () => shard.state.providers.has('a-gpu');
  put('life-1', 4);
  put('life-1', 5, device);
  const late = put('life-1', 4);
  assert.equal([late.records, sentOf(late, 'tree-put')[0]?.message.ask, has()], [[], 4, true]);
  put('life-1', 6);
  assert.is(has(), false);
  // The next life counts anew, and so does one that comes after the tree was withdrawn.
  put('life-2', 1, device);
  assert.is(has(), true);
  shard.tell({ type: 'withdraw-tree', ask: 9, root: 'a' });
  put('life-2', 0, device);
  assert.is(has(), true);
});

test('placement - where something else was taken since, what is told again is not only looked at but put in', () => {
  const device = providerOf('a-gpu', { parent: 'a', inventories: { PGPU: inventoryOf({ total: 1 }) } });
  const without = { type: 'put-tree' as const, ask: 4, incarnation: 'life-1', providers: hostTree('a') };
  const has = (shard: Shard) => shard.state.providers.has('a-gpu');
  function comesBack(shard: Shard, ask: number, incarnation: string) {
    const now = { ...without, ask, incarnation, providers: [...hostTree('a'), device] };
    shard.tell(without);
    assert.is(has(shard), false);
    shard.tell({ ...now, again: true });
    assert.is(has(shard), true);
    api(shard, { type: 'provider-delete', id: 'a-gpu' });
    shard.tell({ ...now, again: true });
    assert.is(has(shard), false, 'what others take away stays away');
    shard.tell(now);
  }
  const shard = shardWith();
  shard.tell({ ...without, ask: 5, providers: [...hostTree('a'), device] });
  withdraw(shard);
  comesBack(shard, 5, 'life-1');
  comesBack(bench(actor, { entries: shard.entries }), 5, 'life-1');
  // What an earlier life told comes after what the next one tells.
  shard.tell({ ...without, ask: 1, incarnation: 'life-2', providers: [...hostTree('a'), device] });
  comesBack(shard, 1, 'life-2');
});

test('placement - what another life of a compute told is not taken for what this one tells again, though both count alike', () => {
  const device = providerOf('a-gpu', { parent: 'a', inventories: { PGPU: inventoryOf({ total: 1 }) } });
  const told = (incarnation: string, again: boolean, ...devices: ProviderSpec[]) => ({
    type: 'put-tree' as const,
    ask: 4,
    incarnation,
    again,
    providers: [...hostTree('a'), ...devices],
  });
  const shard = shardWith();
  shard.tell(told('life-1', false));
  shard.tell(told('life-2', true, device));
  assert.ok(shard.state.providers.has('a-gpu'));
  // The next life of the shard does not know who told last: it looks at what there is.
  const next = bench(actor, { entries: shard.entries });
  const { records, sent } = next.tell(told('life-2', true, device));
  assert.equal([records, sent.map(({ message }) => message.type)], [[], ['tree-put']]);
});

test('placement - of trees that were refused, or are gone, it is not known any more what was told last', () => {
  const shard = shardWith();
  const [root] = hostTree('a') as [ProviderSpec];
  const lost = providerOf('a-gpu', { parent: 'nobody' });
  shard.tell({ type: 'put-tree', ask: 4, incarnation: 'life-1', providers: [root, lost] });
  assert.is(shard.state.puts.size, 0);
  shard.tell({ type: 'put-tree', ask: 5, incarnation: 'life-1', providers: [root] });
  assert.is(shard.state.puts.size, 1);
  api(shard, { type: 'provider-delete', id: 'a' });
  assert.is(shard.state.puts.size, 0);
});

test.run();
