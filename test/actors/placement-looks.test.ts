// Area: placement, looks. What is asked of a few costs a few looks, however many providers and consumers there are.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ApiOutcome, CandidateGroup, PlacementApiMessage } from '../../actors/messages/placement-api.ts';
import type { Candidates } from '../../actors/placement/api/candidates/find.ts';
import {
  actor,
  candidateGroup,
  candidatesFor,
  claimOf,
  inventoryOf,
  providerOf,
  put,
  refusalIn,
  shardWith,
} from '../support/placement-desk.ts';
import { sentOf } from '../support/turn.ts';

const test = suite('placement, looks');
const HOSTS = 1_000;

type Shard = ReturnType<typeof shardWith>;

/** Every hundredth host has a trait and is in an aggregate; all are in another. */
function fleet(): Shard {
  return shardWith(
    ...Array.from({ length: HOSTS }, (_, n) => [
      providerOf(`h${n}`, {
        inventories: { VCPU: inventoryOf({ total: 100 }) },
        traits: n % 100 === 0 ? ['CUSTOM_RARE'] : [],
        aggregates: n % 100 === 0 ? ['all', 'few'] : ['all'],
      }),
    ]),
  );
}

function ask(shard: Shard, question: object): unknown {
  const turned = shard.tell({ ask: 1, ...question } as PlacementApiMessage);
  const text = sentOf(turned, 'placement-answer').map(({ message }) => message.text);
  const outcome = JSON.parse(text.join('')) as ApiOutcome;
  return 'refused' in outcome ? outcome.refused : outcome.ok;
}

/** How often something is read of a map while `work` is done: an entry, or one of all. */
function looksAt(map: ReadonlyMap<string, unknown>, work: () => void): number {
  let looks = 0;
  const counted = <Of>(of: Iterable<Of>): Of[] => {
    const all = [...of];
    return Object.assign([], {
      *[Symbol.iterator]() {
        for (const one of all) {
          looks += 1;
          yield one;
        }
      },
    });
  };
  const { get, keys, values, entries } = map;
  const listed = { keys: () => counted(keys.call(map)), values: () => counted(values.call(map)) };
  const counting = {
    ...listed,
    entries: () => counted(entries.call(map)),
    [Symbol.iterator]: () => counted(entries.call(map))[Symbol.iterator](),
    get(key: string) {
      looks += 1;
      return get.call(map, key);
    },
  };
  Object.assign(map, counting);
  work();
  for (const name of Reflect.ownKeys(counting)) Reflect.deleteProperty(map, name);
  return looks;
}

const candidates = (told: Partial<CandidateGroup> = {}, limit = 2) => ({
  type: 'candidates',
  ...candidatesFor([candidateGroup(told)], { limit }),
});

function hostsIn(found: unknown): string[] {
  return (found as Candidates).requests.flatMap(({ allocations }) => Object.keys(allocations)).sort();
}

test('placement, looks - candidates of an aggregate are looked for among its members', () => {
  const shard = fleet();
  let found: unknown;
  const looks = looksAt(shard.state.providers, () => {
    found = ask(shard, candidates({ memberOf: [['all'], ['few']] }, 50));
  });
  assert.equal(
    hostsIn(found),
    Array.from({ length: 10 }, (_, n) => `h${n * 100}`),
  );
  assert.ok(looks < 60, `${looks} looks`);
});

test('placement, looks - with what is shared by all hosts, candidates are looked for in as many trees as without', () => {
  const shard = fleet();
  const storage = providerOf('storage', {
    inventories: { DISK_GB: inventoryOf() },
    traits: ['MISC_SHARES_VIA_AGGREGATE'],
    aggregates: ['all'],
  });
  shard.tell(put([storage]));
  const both = { resources: { VCPU: 1, DISK_GB: 1 } };
  const found: unknown[] = [];
  const looks = looksAt(shard.state.providers, () => {
    found.push(ask(shard, candidates(both)), ask(shard, candidates({ inTree: 'h7' })));
  });
  assert.equal(found.map(hostsIn), [['h0', 'h1', 'storage', 'storage'], ['h7']]);
  assert.ok(looks < 60, `${looks} looks`);
  const inStorage = ask(shard, candidates({ suffix: '_1', resources: { DISK_GB: 1 }, inTree: 'storage' }, 2_000));
  assert.is(hostsIn(inStorage).length, 1, 'each way once, though it is one of each host');
});

test('placement, looks - where nobody of a tree has a trait that is asked for, no amounts are looked at', () => {
  const shard = fleet();
  let looks = 0;
  for (const { stocks } of shard.state.providers.values()) {
    Object.assign(stocks, {
      get(resourceClass: string) {
        looks += 1;
        return Map.prototype.get.call(stocks, resourceClass);
      },
    });
  }
  const found = ask(shard, candidates({ required: [['CUSTOM_RARE']] }, 50));
  assert.is(hostsIn(found).length, 10);
  assert.ok(looks < 100, `${looks} looks`);
});

test('placement, looks - a provider is found by its name, and those of an aggregate are, without a look at the others', () => {
  const shard = fleet();
  const find = (told: object) =>
    ask(shard, {
      type: 'providers-find',
      memberOf: [],
      notMemberOf: [],
      required: [],
      forbidden: [],
      resources: {},
      ...told,
    }) as { id: string }[];
  let found: { id: string }[][] = [];
  const looks = looksAt(shard.state.providers, () => {
    found = [find({ name: 'h7' }), find({ name: 'h1', memberOf: [['few']] }), find({ memberOf: [['few']] })];
  });
  assert.equal(
    found.map((one) => one.map(({ id }) => id)),
    [['h7'], [], Array.from({ length: 10 }, (_, n) => `h${n * 100}`)],
  );
  assert.ok(looks < 20, `${looks} looks`);
});

test('placement, looks - a name is found for as long as a provider has it', () => {
  const shard = shardWith([providerOf('a', { name: 'one' })], [providerOf('b', { name: 'one' })]);
  const named = (name: string) => {
    const nothing = { memberOf: [], notMemberOf: [], required: [], forbidden: [], resources: {} };
    return (ask(shard, { type: 'providers-find', name, ...nothing }) as { id: string }[]).map(({ id }) => id).sort();
  };
  assert.equal(named('one'), ['a', 'b']);
  ask(shard, { type: 'provider-update', id: 'a', name: 'two', reparent: false });
  assert.equal([named('one'), named('two')], [['b'], ['a']]);
  ask(shard, { type: 'provider-delete', id: 'b' });
  assert.equal(named('one'), []);
});

test('placement, looks - which traits are in use is told, and a trait that is not is deleted, without a look at a provider', () => {
  const shard = fleet();
  const associated = () => (ask(shard, { type: 'traits-list' }) as { associated: string[] }).associated;
  const drop = (name: string) => ask(shard, { type: 'trait-delete', name }) as { code: string; message: string } | null;
  const looks = looksAt(shard.state.providers, () => {
    assert.equal(associated(), ['CUSTOM_RARE']);
    ask(shard, { type: 'trait-put', name: 'CUSTOM_UNUSED' });
    assert.is(drop('CUSTOM_UNUSED'), null);
  });
  assert.is(looks, 0);
  assert.is(drop('CUSTOM_RARE')?.message, "provider 'h0' has the trait CUSTOM_RARE");
  for (let n = 0; n < HOSTS; n += 100) ask(shard, { type: 'traits-put', id: `h${n}`, traits: [] });
  assert.equal(associated(), []);
  assert.is(drop('CUSTOM_RARE'), null);
});

test('placement, looks - where a host in use is put below another, who is elsewhere is not looked at', () => {
  const shard = fleet();
  const group = { id: 'p/g', policy: 'anti-affinity' as const };
  const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' as const, instanceGroup: group };
  for (let n = 0; n < 20; n += 1) shard.tell(claimOf(`i${n}`, { host: `h${n}`, vcpu: 1, spec }));
  ask(shard, { type: 'provider-create', id: 'pod', name: 'pod', parent: null });
  const move = (parent: string | null) =>
    ask(shard, { type: 'provider-update', id: 'h7', name: 'h7', parent, reparent: true });
  const { providers, consumers } = shard.state;
  const standing = () =>
    ['pod', 'h7', 'h8'].map((id) => [id, providers.get(id)?.tenants, providers.get(id)?.groups.get('p/g')]);
  let looks = looksAt(consumers.holding, () => move('pod'));
  assert.equal(standing(), [
    ['pod', 1, 1],
    ['h7', 0, undefined],
    ['h8', 1, 1],
  ]);
  looks += looksAt(consumers.holding, () => move(null));
  assert.equal(standing(), [
    ['pod', 0, undefined],
    ['h7', 1, 1],
    ['h8', 1, 1],
  ]);
  assert.ok(looks < 10, `${looks} looks`);
});

test('placement, looks - who holds a device for its traits alone is where that is, though nothing of the tree it leaves is used', () => {
  const device = providerOf('fpga', { parent: 'a', traits: ['CUSTOM_FPGA'] });
  const vcpu = { inventories: { VCPU: inventoryOf() } };
  const shard = shardWith([providerOf('a', vcpu), device], [providerOf('b', vcpu)]);
  const group = { id: 'p/g', policy: 'anti-affinity' as const };
  const unnamed = { name: '', resources: { VCPU: 1 } };
  const groups = [unnamed, { name: '_f', resources: {}, required: ['CUSTOM_FPGA'] }];
  const spec = { groups, groupPolicy: 'none' as const, instanceGroup: group };
  const allocations = [
    { provider: 'a', group: '', resources: { VCPU: 1 } },
    { provider: 'fpga', group: '_f', resources: {} },
  ];
  assert.is(refusalIn(shard.tell(claimOf('i', { spec, allocations }))), null);
  const standing = ({ providers } = shard.state) =>
    ['a', 'b', 'fpga'].map((id) => [providers.get(id)?.tenants, providers.get(id)?.groups.get('p/g')]);
  const nobody = [0, undefined];
  const move = (parent: string | null) =>
    ask(shard, { type: 'provider-update', id: 'fpga', name: 'fpga', parent, reparent: true });
  for (const [parent, counts] of [
    [null, [[1, 1], nobody, [1, 1]]],
    ['b', [[1, 1], [1, 1], nobody]],
    [null, [[1, 1], nobody, [1, 1]]],
    ['a', [[1, 1], nobody, nobody]],
  ] as const) {
    move(parent);
    assert.equal(standing(), counts, `below ${parent}`);
    assert.equal(standing(actor.restore([shard.stored()])), counts, 'as it is when it is put back');
  }
  move(null);
  move('b');
  const other = claimOf('j', { host: 'b', vcpu: 1, spec: { ...spec, groups: [unnamed] } });
  assert.is(refusalIn(shard.tell(other))?.code, 'group-anti-affinity');
});

test('placement, looks - of members that a caller moves, the others of their group are not looked at', () => {
  for (const policy of ['anti-affinity', 'affinity'] as const) {
    const shard = fleet();
    const spec = {
      groups: [{ name: '', resources: { VCPU: 1 } }],
      groupPolicy: 'none' as const,
      instanceGroup: { id: 'p/g', policy },
    };
    const hostOf = (n: number) => (policy === 'affinity' ? 'h0' : `h${n}`);
    for (let n = 0; n < 90; n += 1) shard.tell(claimOf(`i${n}`, { host: hostOf(n), vcpu: 1, spec }));
    const move = (count: number, to: (n: number) => string) => {
      const consumers = Array.from({ length: count }, (_, n) => ({
        consumer: `i${n}`,
        allocations: [{ provider: to(n), resources: { VCPU: 1 } }],
        project: 'p',
        user: 'u',
      }));
      return ask(shard, { type: 'allocations-put', consumers }) as { message: string } | null;
    };
    const looks = looksAt(shard.state.groups.places, () => assert.is(move(10, hostOf), null));
    assert.ok(looks < 60, `${looks} looks`);
    const words =
      policy === 'affinity'
        ? "instance group 'g' keeps together: 'i0' cannot go to provider 'h500' without 'i10'"
        : "instance group 'g' may have 1 on each host: 'i0' cannot go to provider 'h50' too";
    const refused = move(10, (n) => (policy === 'affinity' ? 'h500' : `h${n + 50}`));
    assert.is(refused?.message, words);
    assert.is(
      move(policy === 'affinity' ? 90 : 10, (n) => (policy === 'affinity' ? 'h500' : `h${n + 500}`)),
      null,
    );
  }
});

test('placement, looks - of a group that would keep together and is on many hosts, a claim that knows of all of them looks at none', () => {
  const shard = fleet();
  const spec = {
    groups: [{ name: '', resources: { VCPU: 1 } }],
    groupPolicy: 'none' as const,
    instanceGroup: { id: 'p/g', policy: 'soft-affinity' as const },
  };
  const join = (n: number, others: number) =>
    refusalIn(shard.tell(claimOf(`i${n}`, { host: `h${n}`, vcpu: 1, spec, groupKnown: { members: 0, others } })));
  for (let n = 0; n < 200; n += 1) assert.is(join(n, n), null);
  const homes = shard.state.groups.known.get('p/g')?.homes as ReadonlyMap<string, number>;
  const looks = looksAt(homes, () => assert.is(join(300, 200), null));
  assert.ok(looks < 5, `${looks} looks`);
  assert.is(join(301, 200)?.provider, 'h300', 'one that it has come to since');
});

test('placement, looks - what a user of a project holds is told without a look at its other users', () => {
  const shard = fleet();
  for (let n = 0; n < 100; n += 1) {
    const allocations = [{ provider: `h${n}`, resources: { VCPU: 2 } }];
    ask(shard, {
      type: 'allocations-put',
      consumers: [{ consumer: `c${n}`, allocations, project: 'p', user: `u${n}` }],
    });
  }
  const users = shard.state.consumers.tallies.owned.get('p') as ReadonlyMap<string, unknown>;
  const usages = (told: object) => ask(shard, { type: 'usages', project: 'p', ...told });
  const looks = looksAt(users, () => {
    assert.equal(usages({ user: 'u7' }), { '': { consumers: 1, resources: { VCPU: 2 } } });
    assert.equal(usages({ user: 'nobody' }), {});
  });
  assert.ok(looks < 5, `${looks} looks`);
  assert.equal(usages({}), { '': { consumers: 100, resources: { VCPU: 200 } } });
});

test('placement, looks - the groups of a host are put together for those who are told of it when they change, not with each claim', () => {
  const shard = fleet();
  const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' as const };
  const join = (consumer: string, id: string) =>
    shard.tell(
      claimOf(consumer, {
        host: 'h0',
        vcpu: 1,
        spec: { ...spec, instanceGroup: { id, policy: 'anti-affinity', maxPerHost: 9 } },
      }),
    );
  for (let n = 0; n < 30; n += 1) join(`i${n}`, `p/g${n}`);
  const groups = shard.state.providers.get('h0')?.groups as ReadonlyMap<string, number>;
  const looks = looksAt(groups, () => {
    for (let n = 0; n < 10; n += 1) assert.is(refusalIn(shard.tell(claimOf(`j${n}`, { host: 'h0', vcpu: 1 }))), null);
  });
  assert.ok(looks <= 30, `${looks} looks`);
  const usages = sentOf(join('k', 'p/g5'), 'claim-granted')[0]?.message.usages;
  assert.equal([usages?.[0]?.groups?.['p/g5'], usages?.[0]?.groups?.['p/g6']], [2, 1]);
});

test.run();
