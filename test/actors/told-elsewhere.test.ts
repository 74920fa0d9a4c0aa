// Area: placement, several shards. What a compute tells and a caller has made or moved under the same id with another shard:
// it is there once, whoever came first, and is its host's when the caller's is gone.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Part } from '../../actors/messages/transactions.ts';
import { inventoryOf, providerOf, put } from '../support/placement-desk.ts';
import { hostOf, rig, SHARDS } from '../support/shards.ts';

const test = suite('told elsewhere');

type Rig = ReturnType<typeof rig>;

const device = (id: string, parent = hostOf(0)) =>
  providerOf(id, { parent, inventories: { PGPU: inventoryOf({ total: 1 }) } });
const host = providerOf(hostOf(0), { inventories: { VCPU: inventoryOf({ total: 4 }) } });
const GPU = [host, device('gpu')];

/** The first host tells its tree. */
function tell(on: Rig, tree = GPU, life = 1, ask = 1): void {
  on.say(0, { ...put(tree), ask, incarnation: `life-${life}` });
  on.deliver();
}

const parts = (contentOf: (shard: number) => Omit<Part, 'shard' | 'consumers'>): Part[] =>
  Array.from({ length: SHARDS }, (_, shard) => ({ shard, consumers: [], ...contentOf(shard) }));

function together(on: Rig, given: Part[]): void {
  on.say(0, { type: 'change-together', ask: 1, key: JSON.stringify(given), parts: given, brief: true });
}

/** A caller makes a provider, as fronts of the Placement API do. */
function make(on: Rig, id: string, own: number, parent: string | null = null): void {
  const change = { type: 'provider-create', ask: 0, id, name: id, parent } as const;
  together(
    on,
    parts((shard) => (shard === own ? { change } : { absent: { id, name: id } })),
  );
}

function remove(on: Rig, id: string, shard: number): void {
  on.say(shard, { type: 'provider-delete', ask: 90, id });
}

function move(on: Rig, id: string, from: number, to: number): void {
  const { generation = -1 } = on.shards[from]?.state.providers.get(id) ?? {};
  const kept = { inventories: {}, traits: [], aggregates: [], quiet: 0, changedAt: 0 };
  const moving = { id, name: id, parent: hostOf(to), generation, ...kept };
  together(
    on,
    parts((shard) => {
      if (shard === from) return { leaves: { id, generations: { [id]: generation } }, wide: true };
      return shard === to ? { joins: { parent: hostOf(to), providers: [moving] }, wide: true } : {};
    }),
  );
  on.deliver();
}

function moveWithin(on: Rig, id: string, shard: number, parent: string): void {
  on.say(shard, { type: 'provider-update', ask: 90, id, name: id, parent, reparent: true });
}

/** In which shards it is, and in whose tree. */
const places = ({ shards }: Rig, id: string) =>
  shards.flatMap(({ state }) => state.providers.get(id) ?? []).map(({ root }) => root);

function checkQuiet(on: Rig): void {
  for (const { state } of on.shards) {
    const { open, locks, parked } = state.holds;
    const { known, coming } = state.transactions;
    assert.equal([open.size, locks.size, parked.length, known.size, coming.size], [0, 0, 0, 0, 0]);
  }
  assert.equal(
    on.answers.map(({ outcome }) => ('refused' in outcome ? outcome.refused.code : 'ok')).filter((one) => one !== 'ok'),
    [],
  );
  on.check();
}

/** How a caller's provider comes to another shard under an id that the compute of the first host tells. */
const WAYS: Record<string, (on: Rig) => void> = {
  'is made there before it is told': (on) => make(on, 'gpu', 1, hostOf(1)),
  'is moved there before it is told': (on) => {
    make(on, 'mine', 0);
    on.deliver();
    make(on, 'gpu', 0, 'mine');
    on.deliver();
    move(on, 'gpu', 0, 1);
  },
  'is moved there when it was told, and left out': (on) => {
    make(on, 'mine', 0);
    on.deliver();
    make(on, 'gpu', 0, 'mine');
    on.deliver();
    tell(on);
    assert.equal(places(on, 'gpu'), ['mine']);
    move(on, 'gpu', 0, 1);
  },
  'is moved there when it was told': (on) => {
    tell(on);
    move(on, 'gpu', 0, 1);
  },
  'is moved there from another host of its shard when it was told': (on) => {
    tell(on);
    make(on, 'mine', 0);
    on.deliver();
    moveWithin(on, 'gpu', 0, 'mine');
    move(on, 'gpu', 0, 1);
  },
  'is made there when it was told and deleted': (on) => {
    tell(on);
    remove(on, 'gpu', 0);
    make(on, 'gpu', 1, hostOf(1));
  },
  'is made anew and moved there when it was told and deleted': (on) => {
    tell(on);
    remove(on, 'gpu', 0);
    make(on, 'mine', 0);
    on.deliver();
    make(on, 'gpu', 0, 'mine');
    on.deliver();
    move(on, 'gpu', 0, 1);
  },
};

for (const [way, come] of Object.entries(WAYS)) {
  test(`told elsewhere - what ${way} is there once, and is its host's when it is gone there`, () => {
    for (const dies of [false, true]) {
      const on = rig(SHARDS);
      come(on);
      on.deliver();
      assert.equal(places(on, 'gpu'), [hostOf(1)]);
      if (dies) on.replace(0);
      const larger = { ...host, inventories: { VCPU: inventoryOf({ total: 16 }) } };
      tell(on, [larger, device('gpu'), device('slice', 'gpu'), device('fpga')], 2);
      assert.equal(
        ['gpu', 'slice', 'fpga'].map((id) => places(on, id).join()),
        [hostOf(1), '', hostOf(0)],
      );
      assert.is(on.shards[0]?.state.providers.get(hostOf(0))?.spec.inventories.VCPU?.total, 16);
      assert.is(on.said.at(-1)?.type, 'tree-put');
      remove(on, 'gpu', 1);
      tell(on, [larger, device('gpu'), device('slice', 'gpu'), device('fpga')], 3);
      assert.equal(
        ['gpu', 'slice', 'fpga'].map((id) => places(on, id).join()),
        Array(3).fill(hostOf(0)),
      );
      checkQuiet(on);
    }
  });
}

test("told elsewhere - a device that was moved to another shard is its host's again when it is moved back", () => {
  const on = rig(SHARDS);
  const tree = (total: number, ...more: ReturnType<typeof device>[]) => [
    host,
    { ...device('gpu'), inventories: { PGPU: inventoryOf({ total }) } },
    ...more,
  ];
  tell(on, tree(1));
  move(on, 'gpu', 0, 1);
  tell(on, tree(2, device('slice', 'gpu')), 1, 2);
  assert.equal([places(on, 'gpu'), places(on, 'slice')], [[hostOf(1)], []]);
  on.say(0, { ...put(tree(2, device('slice', 'gpu'))), ask: 2, incarnation: 'life-1', again: true });
  on.deliver();
  assert.equal(places(on, 'gpu'), [hostOf(1)], 'told again');
  move(on, 'gpu', 1, 0);
  on.say(0, { ...put(tree(2, device('slice', 'gpu'))), ask: 2, incarnation: 'life-1', again: true });
  on.deliver();
  assert.equal([places(on, 'gpu'), places(on, 'slice')], [[hostOf(0)], [hostOf(0)]]);
  assert.is(on.shards[0]?.state.providers.get('gpu')?.spec.inventories.PGPU?.total, 2);
  tell(on, [host], 1, 3);
  assert.equal([places(on, 'gpu'), places(on, 'slice')], [[], []], 'told no more');
  checkQuiet(on);
});

test('told elsewhere - of several devices only those stay out that another shard has', () => {
  const on = rig(SHARDS);
  for (const id of ['gpu', 'nic', 'fpga']) {
    make(on, id, 2, hostOf(2));
    on.deliver();
  }
  remove(on, 'nic', 2);
  tell(on, [host, device('gpu'), device('nic'), device('fpga')]);
  assert.equal(
    ['gpu', 'nic', 'fpga'].map((id) => places(on, id)),
    [[hostOf(2)], [hostOf(0)], [hostOf(2)]],
  );
  checkQuiet(on);
});

test('told elsewhere - while a shard is away a host is put in without what may be there, which comes when it is back', () => {
  const on = rig(SHARDS);
  make(on, 'gpu', 2, hostOf(2));
  on.deliver();
  remove(on, 'gpu', 2);
  const isThere = (_: unknown, to: string) => to !== 'placement/1';
  on.say(0, put([host, device('gpu'), device('fpga')]));
  on.deliver(isThere);
  assert.equal([on.said.at(-1)?.type, places(on, 'fpga'), places(on, 'gpu')], ['tree-put', [hostOf(0)], []]);
  for (let waits = 0; waits < 20; waits += 1) {
    on.pass(2_500);
    on.lose((to) => to === 'placement/1');
    on.deliver(isThere);
  }
  on.replace(0);
  assert.equal(places(on, 'gpu'), []);
  for (let waits = 0; waits < 20; waits += 1) {
    on.pass(2_500);
    on.deliver();
  }
  assert.equal(places(on, 'gpu'), [hostOf(0)]);
  checkQuiet(on);
});

test('told elsewhere - a tree whose root a caller has with another shard is refused, as it is with one, and put in when that is gone', () => {
  const on = rig(SHARDS);
  make(on, 'new', 1, hostOf(1));
  on.deliver();
  const tree = [providerOf('new'), device('gpu', 'new')];
  tell(on, tree);
  assert.equal(
    on.said.slice(-1).map(({ type, ...told }) => [type, (told as { reason?: string }).reason]),
    [['tree-refused', "there is a provider 'new'"]],
  );
  assert.equal(places(on, 'new'), [hostOf(1)]);
  remove(on, 'new', 1);
  tell(on, tree);
  assert.is(on.said.at(-1)?.type, 'tree-put');
  assert.equal([places(on, 'new'), places(on, 'gpu')], [['new'], ['new']]);
  checkQuiet(on);
});

test('told elsewhere - what a compute tells waits for who makes the same elsewhere just now', () => {
  for (const isMade of [true, false]) {
    const on = rig(SHARDS);
    if (!isMade) make(on, 'gpu', 2, hostOf(2));
    on.deliver();
    make(on, 'gpu', 1, hostOf(1));
    on.deliver(({ type }, to) => !(type === 'hold' && to === 'placement/1'));
    on.say(0, put(GPU));
    assert.equal(places(on, 'gpu'), isMade ? [] : [hostOf(2)], 'it waits');
    on.deliver();
    assert.equal(places(on, 'gpu'), [isMade ? hostOf(1) : hostOf(2)]);
    on.answers.length = 0;
    checkQuiet(on);
  }
});

test('told elsewhere - what was told before does not come in after what is told now', () => {
  const on = rig(SHARDS);
  make(on, 'gpu', 2, hostOf(2));
  on.deliver();
  remove(on, 'gpu', 2);
  make(on, 'nothing', 1);
  on.deliver();
  // The shard of the host comes last here.
  const own = providerOf(hostOf(2), { inventories: { VCPU: inventoryOf({ total: 4 }) } });
  on.say(2, { type: 'put-tree', ask: 1, incarnation: 'life-1', providers: [own, device('nothing', hostOf(2))] });
  on.say(1, { type: 'provider-delete', ask: 90, id: 'nothing' });
  on.say(2, { type: 'put-tree', ask: 2, incarnation: 'life-1', providers: [own] });
  on.deliver();
  assert.equal(places(on, 'nothing'), []);
  checkQuiet(on);
});

/** The shard of the last host comes last here: what it tells is not held there until the others have answered. */
const LAST = providerOf(hostOf(2), { inventories: { VCPU: inventoryOf({ total: 4 }) } });

function makeAndRemove(on: Rig, id: string, shard: number): void {
  make(on, id, shard);
  on.deliver();
  remove(on, id, shard);
}

test('told elsewhere - what an earlier life of a compute has told does not come in after what a later one tells', () => {
  const on = rig(SHARDS);
  makeAndRemove(on, 'nothing', 1);
  on.say(2, { type: 'put-tree', ask: 1, incarnation: 'life-1', providers: [LAST, device('nothing', hostOf(2))] });
  on.say(2, { type: 'put-tree', ask: 7, incarnation: 'life-2', providers: [LAST] });
  on.deliver();
  assert.equal(places(on, 'nothing'), []);
  checkQuiet(on);
});

test('told elsewhere - what a shard that was away kept out does not come in when it was told no more since', () => {
  for (const dies of [false, true]) {
    const on = rig(SHARDS);
    makeAndRemove(on, 'nothing', 1);
    const isThere = (_: unknown, to: string) => to !== 'placement/1';
    const wait = (isMeant?: typeof isThere) => {
      for (let waits = 0; waits < 20; waits += 1) {
        on.pass(2_500);
        if (isMeant !== undefined) on.lose((to) => to === 'placement/1');
        on.deliver(isMeant);
      }
    };
    on.say(2, { type: 'put-tree', ask: 1, incarnation: 'life-1', providers: [LAST, device('nothing', hostOf(2))] });
    wait(isThere);
    on.say(2, { type: 'put-tree', ask: 7, incarnation: 'life-2', providers: [LAST] });
    if (dies) on.replace(2);
    wait();
    assert.equal(places(on, 'nothing'), []);
    checkQuiet(on);
  }
});

test('told elsewhere - a device in use that is told below a new one keeps all it has, and goes there when that comes in', () => {
  for (const isElsewhere of [false, true]) {
    const on = rig(SHARDS);
    tell(on);
    const uses = [{ provider: 'gpu', resources: { PGPU: 1 } }];
    const user = { consumer: 'vm', generation: null, project: 'p', user: 'u', allocations: uses };
    on.say(0, { type: 'allocations-put', ask: 5, consumers: [user] });
    make(on, 'numa', 1);
    on.deliver();
    if (!isElsewhere) remove(on, 'numa', 1);
    const tree = [host, device('numa'), device('slice', 'numa'), device('gpu', 'numa'), device('part', 'gpu')];
    on.say(0, { ...put(tree), ask: 1, incarnation: 'life-2' });
    const gpu = () => on.shards[0]?.state.providers.get('gpu');
    for (const isIn of [false, true]) {
      if (isIn) on.deliver();
      assert.equal(gpu()?.spec.parent, isIn && !isElsewhere ? 'numa' : hostOf(0));
      assert.equal([gpu()?.stocks.get('PGPU')?.used, gpu()?.stocks.get('PGPU')?.capacity], [1, 1]);
    }
    assert.equal(places(on, 'part'), [hostOf(0)]);
    assert.equal(places(on, 'slice'), isElsewhere ? [] : [hostOf(0)]);
    checkQuiet(on);
  }
});

test('told elsewhere - a device stays where it is if what it is told below has been moved under it meanwhile', () => {
  const on = rig(SHARDS);
  const own = hostOf(2);
  const before = [LAST, device('bus', own), device('gpu', own)];
  on.say(2, { type: 'put-tree', ask: 1, incarnation: 'life-1', providers: before });
  makeAndRemove(on, 'numa', 1);
  const after = [LAST, device('bus', own), device('numa', 'bus'), device('gpu', 'numa')];
  on.say(2, { type: 'put-tree', ask: 1, incarnation: 'life-2', providers: after });
  on.say(2, { type: 'provider-update', ask: 5, id: 'bus', name: 'bus', parent: 'gpu', reparent: true });
  on.deliver();
  const parentOf = (id: string) => on.shards[2]?.state.providers.get(id)?.spec.parent;
  assert.equal(['bus', 'numa', 'gpu'].map(parentOf), ['gpu', 'bus', own]);
  checkQuiet(on);
});

test('told elsewhere - what is told no more while it comes in is not there after', () => {
  const on = rig(SHARDS);
  make(on, 'gpu', 2, hostOf(2));
  on.deliver();
  remove(on, 'gpu', 2);
  on.say(0, put(GPU));
  on.say(0, put([host]));
  on.deliver();
  assert.equal(places(on, 'gpu'), []);
  checkQuiet(on);
});

test('told elsewhere - a tree that is withdrawn while it comes in is not there after', () => {
  const on = rig(SHARDS);
  make(on, 'new', 1, hostOf(1));
  on.deliver();
  remove(on, 'new', 1);
  on.say(0, put([providerOf('new')]));
  on.deliver(({ type }) => type !== 'end-hold');
  on.say(0, { type: 'withdraw-tree', ask: 2, root: 'new' });
  on.deliver();
  assert.ok(on.said.some(({ type }) => type === 'tree-withdrawn'));
  assert.equal(places(on, 'new'), []);
  checkQuiet(on);
});

test('told elsewhere - a tree that is withdrawn before its shard is asked to hold it is not there after', () => {
  const on = rig(SHARDS);
  const root = 'new';
  makeAndRemove(on, root, 1);
  on.say(2, put([providerOf(root)]));
  on.say(2, { type: 'withdraw-tree', ask: 2, root });
  on.deliver();
  assert.equal(
    on.said.map(({ type }) => type),
    ['tree-withdrawn'],
  );
  assert.equal(places(on, root), []);
  checkQuiet(on);
});

test('told elsewhere - what was given up for a word of an earlier life that came late comes in when it is told again', () => {
  const on = rig(SHARDS);
  make(on, 'gpu', 1);
  on.deliver();
  remove(on, 'gpu', 1);
  on.deliver();
  const root = providerOf(hostOf(2));
  const tree = [root, device('gpu', hostOf(2))];
  on.say(2, { ...put(tree), ask: 1, incarnation: 'life-2' });
  on.say(2, { ...put([root]), ask: 1, incarnation: 'life-1' });
  on.say(2, { ...put(tree), ask: 1, incarnation: 'life-2', again: true });
  on.deliver();
  assert.equal(places(on, 'gpu'), [hostOf(2)]);
  checkQuiet(on);
});

test('told elsewhere - what was told before a whole tree came in, and comes late, does not take its place', () => {
  for (const isIn of [true, false]) {
    const on = rig(SHARDS);
    makeAndRemove(on, 'new', 1);
    const tree = [providerOf('new'), device('gpu', 'new')];
    on.say(2, { ...put(tree), ask: 2, incarnation: 'life-1' });
    if (isIn) on.deliver();
    on.say(2, { ...put([providerOf('new')]), ask: 1, incarnation: 'life-1' });
    on.deliver();
    assert.equal([places(on, 'new'), places(on, 'gpu')], [['new'], ['new']], isIn ? 'it is in' : 'it is coming');
    checkQuiet(on);
  }
});

test('told elsewhere - a change is refused that has a provider come twice, below itself', () => {
  const on = rig(SHARDS);
  const providers = [device('one'), device('other', 'one'), device('one', 'other')];
  const comes = { root: hostOf(0), providers, ask: 1 };
  together(
    on,
    parts((shard) => (shard === 0 ? { comes } : { absent: { ids: ['one', 'other'] } })),
  );
  on.deliver();
  assert.equal([places(on, 'one'), places(on, 'other')], [[], []]);
  checkQuiet(on);
});

test.run();
