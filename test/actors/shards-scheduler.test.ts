// Area: shards, as a scheduler asks them: in rounds, in their order, and for what an earlier round was granted.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Inventory, ProvidersChanged } from '../../actors/messages/placement.ts';
import { unpackDecision } from '../../actors/messages/stored-decision.ts';
import { everyPlacement, placementOf } from '../../actors/routing.ts';
import { OUTWAITS_MS } from '../../actors/scheduler/rivals.ts';
import { scheduler } from '../../actors/scheduler/scheduler.ts';
import { emptyView, forgetGenerations, forgetUnlisted, learnChanges } from '../../actors/scheduler/view/view.ts';
import { bench, sentOf, type Turned, told } from '../support/turn.ts';

const test = suite('shards and a scheduler');

const LATE = 10_000_000;
const PATIENCE = { firstMs: 1_000, mostMs: 4_000 };
const SPEC = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' } as const;
const inventory: Inventory = {
  total: 1,
  reserved: 0,
  min_unit: 1,
  max_unit: 1_000,
  step_size: 1,
  allocation_ratio: 1,
};

const schedulerActor = scheduler({
  name: 's',
  incarnation: () => 's-1',
  placementShards: 3,
  warmUpMs: 0,
  patience: PATIENCE,
});
/** One host with each shard, by shard. */
const HOSTS = everyPlacement(3).map((shard) => {
  for (let n = 0; ; n += 1) if (placementOf(`host-${n}`, 3) === shard) return `host-${n}`;
});

function schedulerWithAll() {
  const on = bench(schedulerActor);
  for (const [shard, host] of HOSTS.entries()) {
    const provider = {
      id: host,
      name: host,
      parent: null,
      inventories: { VCPU: inventory },
      traits: [],
      aggregates: [],
    };
    const ask = on.state.followers.get(`placement ${shard}`)?.ask ?? -1;
    const providers = [{ ...provider, root: host, generation: 0, used: {} }];
    on.tell({ type: 'providers', ask, shard, epoch: 1, sequence: 0, providers, next: null }, `placement/${shard}`);
  }
  const hosts = HOSTS.map((host) => ({ host, provider: host, state: 'up' as const }));
  const ofCell = { cell: 'c1', epoch: 1, sequence: 1, hosts };
  on.tell({ type: 'hosts-changed', ...ofCell }, 'cell/c1');
  const ask = on.state.followers.get('cell c1')?.ask ?? -1;
  on.tell({ type: 'hosts', ask, ...ofCell, next: null }, 'cell/c1');
  return on;
}

const selectOf = (round: number) =>
  ({
    type: 'select',
    request: 'web',
    round,
    instances: ['web'],
    spec: SPEC,
    alternates: 0,
    expiresAt: LATE,
  }) as never;

test('shards - a scheduler claims nothing before it has the round, and then one shard after the other', () => {
  const on = schedulerWithAll();
  const asked = on.tell(selectOf(1), 'conductor/0');
  assert.equal(told(asked), ['taking to conductor/0']);
  const taker = sentOf(asked, 'taking')[0]?.message.taker ?? '';
  assert.equal(told(on.tell({ type: 'take', request: 'web', round: 1, taker: 'another' }, 'conductor/0')), []);
  let turned = on.tell({ type: 'take', request: 'web', round: 1, taker }, 'conductor/0');
  assert.equal(told(on.tell({ type: 'take', request: 'web', round: 1, taker }, 'conductor/0')), []);
  const claimed: string[] = [];
  for (let claims = 0; claims < 6; claims += 1) {
    // Others were quicker at all three: it looks once more a while later.
    if (claims === 3) turned = on.pass(OUTWAITS_MS.empty).find(({ sent }) => sent.length > 0) ?? turned;
    const [claim] = sentOf(turned, 'claim');
    assert.ok(claim !== undefined && turned.sent.length === 1);
    const { order = 0, allocations } = claim.message;
    assert.is(claim.to, placementOf(allocations[0]?.provider ?? '', 3));
    claimed.push(claim.to);
    const refusal = { code: 'exceeds-capacity', message: 'full' } as const;
    const refused = { type: 'claim-refused' as const, consumer: 'web', attempt: 1, refusal, usages: [] };
    assert.equal(on.tell({ ...refused, order: order - 1 }, claim.to).sent, [], 'of another claim');
    turned = on.tell({ ...refused, order }, claim.to);
  }
  for (const tried of [claimed.slice(0, 3), claimed.slice(3)]) assert.equal(tried.sort(), everyPlacement(3));
  assert.equal(told(turned), ['no-valid-host to conductor/0'], 'a first round has nothing to recall');
});

test('shards - asked a second time in one round, a scheduler takes it as another would', () => {
  const on = schedulerWithAll();
  const first = sentOf(on.tell(selectOf(1), 'conductor/0'), 'taking')[0]?.message.taker ?? '';
  const [claim] = sentOf(on.tell({ type: 'take', request: 'web', round: 1, taker: first }, 'conductor/0'), 'claim');
  const { allocations = [] } = claim?.message ?? {};
  const granted = on.tell(
    { type: 'claim-granted', consumer: 'web', attempt: 1, allocations: allocations as never, usages: [] },
    claim?.to,
  );
  assert.equal(told(granted), ['selected to conductor/0']);
  const second = sentOf(on.tell(selectOf(1), 'conductor/0'), 'taking')[0]?.message.taker ?? '';
  assert.is.not(second, first);
  assert.equal(on.tell({ type: 'take', request: 'web', round: 1, taker: first }, 'conductor/0').sent, []);
});

test('shards - in a later round every shard is asked first what it holds, and nothing is claimed before all have said', () => {
  const on = schedulerWithAll();
  const taker = sentOf(on.tell(selectOf(2), 'conductor/0'), 'taking')[0]?.message.taker ?? '';
  const recalls = sentOf(on.tell({ type: 'take', request: 'web', round: 2, taker }, 'conductor/0'), 'recall');
  assert.equal(
    recalls.map(({ to }) => to),
    everyPlacement(3),
  );
  const order = recalls[0]?.message.order ?? 0;
  const nothing = { type: 'nothing-held', consumer: 'web', attempt: 1 } as const;
  assert.equal(on.tell({ ...nothing, order: order - 128 }, 'placement/1').sent, [], 'of an earlier round');
  assert.equal(on.tell({ ...nothing, order }, 'placement/0').sent, []);
  assert.equal(on.tell({ ...nothing, order }, 'placement/0').sent, []);
  const again = on.pass(1_100).flatMap((turned) => sentOf(turned, 'recall').map(({ to }) => to));
  assert.equal(again, ['placement/1', 'placement/2']);
  assert.equal(on.tell({ ...nothing, order }, 'placement/2').sent, []);
  const [claim] = sentOf(on.tell({ ...nothing, order }, 'placement/1'), 'claim');
  assert.ok((claim?.message.order ?? 0) > order);
});

test('shards - whoever asked is told which have not answered, what is said again each time', () => {
  const on = schedulerWithAll();
  const awaited = () =>
    on
      .pass(1_100)
      .flatMap((turned) => sentOf(turned, 'awaiting'))
      .map(({ to, message: { type: _, ...told } }) => [to, told]);
  const taker = sentOf(on.tell(selectOf(2), 'conductor/0'), 'taking')[0]?.message.taker ?? '';
  assert.equal(awaited(), [], 'the round is not its own yet, and that is not up to placement');
  const recalls = sentOf(on.tell({ type: 'take', request: 'web', round: 2, taker }, 'conductor/0'), 'recall');
  const order = recalls[0]?.message.order ?? 0;
  const nothing = { type: 'nothing-held', consumer: 'web', attempt: 1, order } as const;
  on.tell(nothing, 'placement/1');
  const told = (shards: number[]) => [['conductor/0', { request: 'web', round: 2, shards }]];
  on.pass(900);
  assert.equal(awaited(), told([0, 2]));
  on.tell(nothing, 'placement/0');
  const [claim] = sentOf(on.tell(nothing, 'placement/2'), 'claim');
  const shard = everyPlacement(3).indexOf(claim?.to ?? '');
  on.pass(2_900);
  assert.equal(awaited(), told([shard]));
  const { allocations = [] } = claim?.message ?? {};
  const granted = { type: 'claim-granted' as const, consumer: 'web', attempt: 1, order: claim?.message.order };
  on.tell({ ...granted, allocations, usages: [] } as never, claim?.to);
  assert.equal(awaited(), []);
});

test('shards - one that holds an instance on a host that nobody has told of has answered', () => {
  const on = schedulerWithAll();
  const taker = sentOf(on.tell(selectOf(2), 'conductor/0'), 'taking')[0]?.message.taker ?? '';
  on.tell({ type: 'take', request: 'web', round: 2, taker }, 'conductor/0');
  const awaited = () =>
    on.pass(4_500).flatMap((turned) => sentOf(turned, 'awaiting').map(({ message }) => message.shards));
  assert.equal(awaited()[0], [0, 1, 2]);
  const allocations = [{ provider: 'unheard-of', group: '', resources: { VCPU: 1 } }];
  on.tell({ type: 'claim-granted', consumer: 'web', attempt: 1, allocations, usages: [] }, 'placement/1');
  assert.equal(awaited()[0], [], 'the word of a cell is waited for');
  assert.equal(awaited(), [], 'which is said once');
});

test('shards - what an earlier round was granted is the home', () => {
  const on = schedulerWithAll();
  const taker = sentOf(on.tell(selectOf(2), 'conductor/0'), 'taking')[0]?.message.taker ?? '';
  on.tell({ type: 'take', request: 'web', round: 2, taker }, 'conductor/0');
  const allocations = [{ provider: HOSTS[1] as string, group: '', resources: { VCPU: 1 } }];
  const turned = on.tell(
    { type: 'claim-granted', consumer: 'web', attempt: 1, allocations, usages: [] },
    'placement/1',
  );
  const [selected] = sentOf(turned, 'selected');
  const { selection, decision } = selected?.message.selections[0] ?? {};
  assert.is(selection?.provider, HOSTS[1]);
  const { hosts, fits, refused, weights } = unpackDecision(JSON.parse(decision ?? ''));
  assert.equal([hosts, fits, refused, weights], [3, 3, [], []], 'how hosts stand is said, though none was ranked');
});

/** A member of a group on the first host, with a rule, and a request for another member with another one. */
function withOtherRule() {
  const on = schedulerWithAll();
  const usage = { id: HOSTS[0] ?? '', generation: 1, used: { VCPU: 0 }, groups: { '/db': 1 } };
  const used = [{ ...usage, groupRules: { '/db': 'affinity' } }];
  const change = { shard: 0, epoch: 1, sequence: 1, changed: [], used, removed: [] };
  on.tell({ type: 'providers-changed', ...change }, 'placement/0');
  const spec = { ...SPEC, instanceGroup: { id: '/db', policy: 'soft-anti-affinity' } };
  const taking = on.tell({ ...(selectOf(1) as object), spec } as never, 'conductor/0');
  const taker = sentOf(taking, 'taking')[0]?.message.taker ?? '';
  const asked = sentOf(on.tell({ type: 'take', request: 'web', round: 1, taker }, 'conductor/0'), 'locate');
  assert.equal(
    asked.map(({ to, message: { group, consumers } }) => [to, group, consumers]),
    everyPlacement(3).map((to) => [to, '/db', ['web']]),
  );
  const ask = asked[0]?.message.ask ?? -1;
  const answer = (shard: number, rule: object) =>
    on.tell({ type: 'located', ask, shard, consumers: [], members: [], ...rule }, `placement/${shard}`);
  return { answer };
}

/** A scheduler to which the first shard has said nothing for long. */
function withSilentShard() {
  const on = schedulerWithAll();
  for (let sequence = 1; sequence <= 6; sequence += 1) {
    on.pass(1_000);
    for (const shard of [1, 2])
      on.tell(
        { type: 'providers-changed', shard, epoch: 1, sequence, changed: [], used: [], removed: [] },
        `placement/${shard}`,
      );
  }
  assert.equal([...on.state.view.silentShards], [0]);
  const located = (ask: number, shard: number, held: Record<string, readonly string[]>) =>
    on.tell(
      {
        type: 'located',
        ask,
        shard,
        consumers: Object.entries(held).map(([consumer, roots]) => ({ consumer, roots: [...roots] })),
      },
      `placement/${shard}`,
    );
  /** What it asks of placement for a request that names others. */
  const select = (tree: object) => {
    const taking = on.tell({ ...(selectOf(1) as object), spec: { ...SPEC, tree } } as never, 'conductor/0');
    const locate = sentOf(taking, 'locate');
    assert.is(locate.length, 3);
    const taker = sentOf(taking, 'taking')[0]?.message.taker ?? '';
    on.tell({ type: 'take', request: 'web', round: 1, taker }, 'conductor/0');
    return locate[0]?.message.ask ?? -1;
  };
  const fit = (tree: object) => {
    const asked = on.tell({ type: 'fit', ask: 7, spec: { ...SPEC, tree }, count: 1, limit: 3 } as never, 'gateway/g');
    return sentOf(asked, 'locate')[0]?.message.ask ?? -1;
  };
  return { on, located, select, fit };
}

test('shards - a scheduler that does not know the whole fleet yet says that it is at a request, so that none asks anew', () => {
  const on = bench(
    scheduler({ name: 's', incarnation: () => 's-1', placementShards: 3, warmUpMs: 2_500, patience: PATIENCE }),
  );
  const taker = sentOf(on.tell(selectOf(1), 'conductor/0'), 'taking')[0]?.message.taker ?? '';
  const saidIn = (...turned: Turned<unknown>[]) =>
    turned.flatMap((one) => sentOf(one, 'selecting').map(({ message }) => message.request));
  assert.equal(saidIn(on.tell({ type: 'take', request: 'web', round: 1, taker }, 'conductor/0')), ['web'], 'at once');
  assert.equal([saidIn(...on.pass(1_200)), saidIn(...on.pass(1_200))], [['web'], ['web']]);
  on.pass(2_500);
  assert.is(on.state.isForming, false);
});

test('shards - one that is silent is not waited for by whoever wants to be apart from others: it would refuse the claim', () => {
  const { located, select } = withSilentShard();
  const ask = select({ notHeldBy: ['db'] });
  assert.equal(told(located(ask, 1, {})), []);
  const [claim] = sentOf(located(ask, 2, { db: [HOSTS[2] as string] }), 'claim');
  assert.equal([claim?.to, claim?.message.spec.tree?.notHeldBy], ['placement/1', ['db']]);
  const dry = withSilentShard();
  const question = dry.fit({ notHeldBy: ['db'] });
  dry.located(question, 2, { db: [HOSTS[2] as string] });
  const [fitted] = sentOf(dry.located(question, 1, {}), 'fitted');
  const { fits, silentShards, unknown } = fitted?.message ?? {};
  assert.equal([fits, silentShards, unknown], [2, [0], undefined]);
});

test('shards - whoever wants to be with another waits for one that is silent only while no other shard knows where that is', () => {
  const { on, located, select } = withSilentShard();
  const ask = select({ heldBy: ['db', 'cache'] });
  assert.equal([told(located(ask, 1, {})), told(located(ask, 2, {}))], [[], []]);
  const [claim] = sentOf(located(ask, 0, { db: [HOSTS[0] as string] }), 'claim');
  assert.is(claim?.to, 'placement/0');
  on.tell({ ...(selectOf(2) as object), spec: SPEC } as never, 'conductor/0');
  const other = withSilentShard();
  const again = other.select({ heldBy: ['cache'] });
  other.located(again, 1, {});
  assert.is(sentOf(other.located(again, 2, { cache: [HOSTS[2] as string] }), 'claim')[0]?.to, 'placement/2');
});

test('shards - one with which a host is to be shared is where it is, not where an attempt of it left something behind', () => {
  const { on, select } = withSilentShard();
  const ask = select({ heldBy: ['db'] });
  const located = (shard: number, consumers: object[]) =>
    on.tell({ type: 'located', ask, shard, consumers } as never, `placement/${shard}`);
  located(0, []);
  located(1, [{ consumer: 'db', roots: [HOSTS[1]], homes: [] }]);
  const claims = sentOf(located(2, [{ consumer: 'db', roots: [HOSTS[2]] }]), 'claim');
  assert.equal(
    claims.map(({ to }) => to),
    ['placement/2'],
  );
});

test('shards - one with which a host is to be shared is not missed because only another one is known', () => {
  const { on, located, select } = withSilentShard();
  const ask = select({ heldBy: ['db', 'cache'] });
  located(ask, 1, {});
  assert.equal(told(located(ask, 2, { cache: [HOSTS[2] as string] })), []);
  const said = on.pass(8_000).flatMap(({ sent }) => sent.map(({ message }) => message.type));
  assert.not(said.includes('claim') || said.includes('no-valid-host'), said.join());
});

test('shards - a request that waits for one that falls silent goes on without it, and claims once', () => {
  const on = schedulerWithAll();
  const spec = { ...SPEC, tree: { notHeldBy: ['db'] } };
  const taking = on.tell({ ...(selectOf(1) as object), spec } as never, 'conductor/0');
  const ask = sentOf(taking, 'locate')[0]?.message.ask ?? -1;
  const taker = sentOf(taking, 'taking')[0]?.message.taker ?? '';
  on.tell({ type: 'take', request: 'web', round: 1, taker }, 'conductor/0');
  for (const shard of [1, 2]) on.tell({ type: 'located', ask, shard, consumers: [] }, `placement/${shard}`);
  const claims = [1, 2, 3, 4, 5, 6, 7].flatMap((sequence) => {
    const turned = on.pass(1_000);
    for (const shard of [1, 2])
      on.tell(
        { type: 'providers-changed', shard, epoch: 1, sequence, changed: [], used: [], removed: [] },
        `placement/${shard}`,
      );
    return turned.map((one) => sentOf(one, 'claim').length).filter((count) => count > 0);
  });
  assert.is(claims[0], 1, 'in one turn');
});

test('shards - a question that waits for one that falls silent is answered without it, or it is said who does not tell', () => {
  const { on, located, fit } = withSilentShard();
  const question = fit({ heldBy: ['db'] });
  located(question, 1, {});
  located(question, 2, {});
  // Who asks by a tool that waits for a few seconds is to hear of it, too.
  const [declined] = on.pass(1_000).flatMap((turned) => sentOf(turned, 'declined'));
  assert.equal(
    [declined?.message.code, declined?.message.reason],
    ['overloaded', 'placement/0 does not tell where the instances are that it names'],
  );
  assert.is(on.state.questions.size, 0);
  const later = schedulerWithAll();
  const spec = { ...SPEC, tree: { notHeldBy: ['db'] } };
  const asked = later.tell({ type: 'fit', ask: 8, spec, count: 1, limit: 3 } as never, 'gateway/g');
  const ask = sentOf(asked, 'locate')[0]?.message.ask ?? -1;
  for (const shard of [1, 2]) later.tell({ type: 'located', ask, shard, consumers: [] }, `placement/${shard}`);
  const heard = (sequence: number) => {
    const turned = later.pass(1_000);
    for (const shard of [1, 2])
      later.tell(
        { type: 'providers-changed', shard, epoch: 1, sequence, changed: [], used: [], removed: [] },
        `placement/${shard}`,
      );
    return turned.flatMap((one) => sentOf(one, 'fitted'));
  };
  const fitted = [1, 2, 3, 4, 5, 6, 7].flatMap(heard);
  assert.equal(
    fitted.map(({ message }) => message.silentShards),
    [[0]],
  );
});

test('shards - nothing is claimed for a member of a group of which another shard has members with another rule', () => {
  const { answer } = withOtherRule();
  assert.equal(told(answer(2, {})), []);
  assert.equal(told(answer(1, {})), []);
  const turned = answer(0, { rule: 'affinity' });
  assert.equal(told(turned), ['no-valid-host to conductor/0']);
  const [{ message } = { message: null }] = sentOf(turned, 'no-valid-host');
  const why = "group-policy-conflict: instance group 'db' has the rule 'affinity', not 'soft-anti-affinity'";
  assert.is(message?.reason.slice(0, why.length), why);
  const { hosts, refused, advice } = unpackDecision(JSON.parse(message?.decision ?? ''));
  assert.equal([hosts, refused.map(({ code, hosts: of }) => [code, of])], [3, [['group-policy-conflict', 3]]]);
  assert.equal(
    advice.map(({ code }) => code),
    ['with-group-policy', 'without-instance-group'],
  );
});

test('shards - a member of a group is placed though its view tells of another rule, when no shard has such members any more', () => {
  const { answer } = withOtherRule();
  assert.equal(told(answer(0, {})), []);
  assert.equal(told(answer(1, {})), []);
  assert.match(told(answer(2, {})).join(), /^claim to placement/);
});

test('shards - a device that has come to a tree of another shard stays known when its former shard tells later that it went', () => {
  const on = schedulerWithAll();
  const [first = '', second = ''] = HOSTS;
  const deviceIn = (root: string, generation: number) => ({
    ...{ id: 'gpu', name: 'gpu', parent: root, root, generation, used: { PGPU: 1 } },
    ...{ inventories: { PGPU: inventory }, traits: [], aggregates: [] },
  });
  const tell = (shard: number, sequence: number, change: object) => {
    const nothing = { changed: [], used: [], removed: [] };
    on.tell({ type: 'providers-changed', shard, epoch: 1, sequence, ...nothing, ...change }, `placement/${shard}`);
  };
  const { view } = on.state;
  const treeIn = (root: string) => view.trees.get(root)?.map(({ spec }) => spec.id);
  tell(0, 1, { changed: [deviceIn(first, 4)] });
  assert.equal([treeIn(first), treeIn(second)], [[first, 'gpu'], [second]]);
  tell(1, 1, { changed: [deviceIn(second, 5)] });
  tell(0, 2, { removed: ['gpu'] });
  assert.equal([treeIn(first), treeIn(second)], [[first], [second, 'gpu']]);
  tell(1, 2, { removed: ['gpu'] });
  assert.equal([treeIn(first), treeIn(second)], [[first], [second]]);
});

test('shards and a scheduler - a root that stays where it was a child once is known until its own shard tells that it is gone', () => {
  const view = emptyView(3);
  const [root] = HOSTS as [string];
  const bare = { name: root, inventories: {}, traits: [], aggregates: [], used: {} };
  const tell = (shard: number, told: Partial<ProvidersChanged>) =>
    learnChanges(view, { changed: [], used: [], removed: [], ...told, shard } as ProvidersChanged);
  tell(1, { changed: [{ ...bare, id: root, parent: HOSTS[1] as string, root: HOSTS[1] as string, generation: 3 }] });
  tell(1, { changed: [{ ...bare, id: root, parent: null, root, generation: 4 }] });
  forgetUnlisted(view, new Set(), 0);
  tell(0, { removed: [root] });
  assert.ok(view.providers.has(root), 'the shard that it would be made with does not have it');
  forgetGenerations(view, 1);
  tell(1, { changed: [{ ...bare, id: root, parent: null, root, generation: 1 }] });
  assert.is(view.providers.get(root)?.generation, 1, 'its shard has begun another life');
  tell(1, { removed: [root] });
  assert.is(view.providers.size + view.toldElsewhere.size, 0);
});

test.run();
