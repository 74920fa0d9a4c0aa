// Area: placement. Allocation candidates: what serves a request, found by a search that is compared with plain
// enumeration, and the rules of each parameter.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ApiOutcome, CandidateGroup, CandidatesRequest } from '../../actors/messages/placement-api.ts';
import { placementApiMessages } from '../../actors/messages/placement-api.ts';
import { partsOf } from '../../actors/placement/api/answer.ts';
import { type Candidates, lookForCandidates } from '../../actors/placement/api/candidates/find.ts';
import { placement } from '../../actors/placement/placement.ts';
import { atOnce } from '../../actors/snapshot.ts';
import { seededRandom } from '../../runtime/random.ts';
import { checkOfProtocol } from '../../runtime/schemas.ts';
import { candidateGroup, candidatesFor } from '../support/placement-desk.ts';
import { bench } from '../support/turn.ts';

const test = suite('placement - candidates');
const check = checkOfProtocol(placementApiMessages);
const SHARES = 'MISC_SHARES_VIA_AGGREGATE';

interface Part {
  id: string;
  parent?: string;
  has?: Record<string, number>;
  traits?: string[];
  aggregates?: string[];
}

function shardOf(parts: readonly Part[]) {
  const one = bench(placement({ shard: 0 }));
  const ask = (question: object) => {
    const message = { ...question, ask: 0 } as never;
    check(message);
    one.tell(message, 'gateway/test');
  };
  for (const { id, parent = null, has = {}, traits = [], aggregates = [] } of parts) {
    ask({ type: 'provider-create', id, name: id, parent });
    const inventories = Object.fromEntries(
      Object.entries(has).map(([name, total]) => [
        name,
        { total, reserved: 0, min_unit: 1, max_unit: total, step_size: 1, allocation_ratio: 1 },
      ]),
    );
    for (const name of traits) if (name.startsWith('CUSTOM_')) ask({ type: 'trait-put', name });
    ask({ type: 'inventories-put', id, how: 'all', inventories, removed: [], allReserved: true });
    ask({ type: 'traits-put', id, traits });
    ask({ type: 'aggregates-put', id, aggregates, counted: false });
  }
  return one.state;
}

const group = (suffix: string, resources: Record<string, number>, more: Partial<CandidateGroup> = {}) =>
  candidateGroup({ suffix, resources, ...more });

function find(
  state: ReturnType<typeof shardOf>,
  groups: CandidateGroup[],
  more: Partial<CandidatesRequest> = {},
): Candidates {
  const request = candidatesFor(groups, more);
  const text = atOnce(partsOf(atOnce(lookForCandidates(state, request).steps)));
  const outcome = JSON.parse(text.join('')) as ApiOutcome;
  assert.ok('ok' in outcome, JSON.stringify(outcome));
  return (outcome as { ok: Candidates }).ok;
}

/** Each candidate as text: `p1 VCPU=2 + p2 DISK_GB=1`. */
function said({ requests }: Candidates): string[] {
  return requests
    .map(({ allocations }) =>
      Object.entries(allocations)
        .map(([id, amounts]) =>
          [
            id,
            ...Object.entries(amounts)
              .map(([name, n]) => `${name}=${n}`)
              .sort(),
          ].join(' '),
        )
        .sort()
        .join(' + '),
    )
    .sort();
}

const nodes = (state: Candidates) => state.requests.map(({ mappings }) => mappings);

test('the unnamed group may be spread over a tree, a named one may not', () => {
  const state = shardOf([
    { id: 'h', has: { DISK_GB: 10 } },
    { id: 'n1', parent: 'h', has: { VCPU: 4, MEMORY_MB: 8 } },
    { id: 'n2', parent: 'h', has: { VCPU: 4 } },
  ]);
  const asked = { VCPU: 2, MEMORY_MB: 2 };
  assert.equal(said(find(state, [group('', asked)])), ['n1 MEMORY_MB=2 + n2 VCPU=2', 'n1 MEMORY_MB=2 VCPU=2'].sort());
  const named = find(state, [group('_A', asked)]);
  assert.equal(said(named), ['n1 MEMORY_MB=2 VCPU=2']);
  assert.equal(nodes(named), [{ _A: ['n1'] }]);
  assert.equal(Object.keys(named.summaries).sort(), ['h', 'n1', 'n2']);
  assert.equal(said(find(state, [group('', asked)], { nested: false })), ['n1 MEMORY_MB=2 VCPU=2']);
});

test('a shared pool serves the trees of its aggregate, whole or in part', () => {
  const state = shardOf([
    { id: 'h1', has: { VCPU: 4 }, aggregates: ['a'] },
    { id: 'h2', has: { VCPU: 4, DISK_GB: 5 }, aggregates: ['a'] },
    { id: 'h3', has: { VCPU: 4 } },
    { id: 'pool', has: { DISK_GB: 100 }, traits: [SHARES], aggregates: ['a'] },
  ]);
  const found = find(state, [group('', { VCPU: 1, DISK_GB: 2 })]);
  assert.equal(said(found), ['h1 VCPU=1 + pool DISK_GB=2', 'h2 DISK_GB=2 VCPU=1', 'h2 VCPU=1 + pool DISK_GB=2']);
  const apart = find(state, [group('', { VCPU: 1 }), group('_D', { DISK_GB: 2 })]);
  assert.equal(said(apart), said(found));
  assert.equal(said(find(state, [group('', { DISK_GB: 50 })])), ['pool DISK_GB=50']);
  assert.equal(said(find(state, [group('', { VCPU: 1, DISK_GB: 2 }, { inTree: 'h1' })])), []);
});

test('traits are collective in the unnamed group and single in a named one', () => {
  const state = shardOf([
    { id: 'h', has: { VCPU: 4 }, traits: ['CUSTOM_RED'] },
    { id: 'd', parent: 'h', has: { DISK_GB: 4 }, traits: ['CUSTOM_BLUE'] },
  ]);
  const both = { required: [['CUSTOM_RED'], ['CUSTOM_BLUE']] };
  assert.is(find(state, [group('', { VCPU: 1, DISK_GB: 1 }, both)]).requests.length, 1);
  assert.is(find(state, [group('', { VCPU: 1 }, both)]).requests.length, 0);
  assert.is(find(state, [group('_A', { VCPU: 1 }, both)]).requests.length, 0);
  assert.is(find(state, [group('_A', { VCPU: 1 }, { required: [['CUSTOM_RED', 'CUSTOM_BLUE']] })]).requests.length, 1);
  assert.is(find(state, [group('', { VCPU: 1, DISK_GB: 1 }, { forbidden: ['CUSTOM_BLUE'] })]).requests.length, 0);
  const apart = [group('', { VCPU: 1 }, { required: [['CUSTOM_BLUE']] }), group('_A', { DISK_GB: 1 })];
  assert.is(find(state, apart).requests.length, 0, 'a trait of what serves another group does not count');
  assert.is(find(state, [group('', { VCPU: 1 })], { rootRequired: ['CUSTOM_RED'] }).requests.length, 1);
  assert.is(find(state, [group('', { DISK_GB: 1 })], { rootForbidden: ['CUSTOM_RED'] }).requests.length, 0);
});

test('named groups are kept apart, and not what the unnamed one asks of one provider', () => {
  const state = shardOf([
    { id: 'h', has: { VCPU: 4, MEMORY_MB: 8 } },
    { id: 'g', parent: 'h', has: { VGPU: 1 } },
  ]);
  const groups = [group('', { VCPU: 1, MEMORY_MB: 1 }), group('_G', { VGPU: 1 })];
  for (const sameSubtree of [[], [['_G']]]) {
    const found = find(state, groups, { groupPolicy: 'isolate', sameSubtree });
    assert.equal(said(found), ['g VGPU=1 + h MEMORY_MB=1 VCPU=1']);
  }
});

test('groups take of one provider no more together than is free, though each would fit, and both if nothing were used', () => {
  const state = shardOf([
    { id: 'h' },
    { id: 'g1', parent: 'h', has: { VGPU: 4 } },
    { id: 'g2', parent: 'h', has: { VGPU: 4 } },
  ]);
  const stock = state.providers.get('g1')?.stocks.get('VGPU');
  assert.ok(stock);
  Object.assign(stock, { used: 1 });
  const found = find(state, [group('_A', { VGPU: 2 }), group('_B', { VGPU: 2 })], { groupPolicy: 'none' });
  assert.equal(said(found), ['g1 VGPU=2 + g2 VGPU=2', 'g1 VGPU=2 + g2 VGPU=2', 'g2 VGPU=4']);
});

test('a name that nobody knows is refused, whichever group has it, or the root', () => {
  const state = shardOf([{ id: 'h', has: { VCPU: 4 } }]);
  const known = group('_K', { VCPU: 1 });
  const outcomeOf = (groups: CandidateGroup[], more: Partial<CandidatesRequest> = {}) =>
    atOnce(lookForCandidates(state, candidatesFor(groups, more)).steps) as ApiOutcome & { refused?: { code: string } };
  const no = 'CUSTOM_NONE';
  const unknown: [CandidateGroup, string][] = [
    [group('_A', { [no]: 1 }), 'no-class'],
    [group('_A', { VCPU: 1 }, { required: [['HW_CPU_X86_AVX'], [no]] }), 'no-trait'],
    [group('_A', { VCPU: 1 }, { forbidden: [no] }), 'no-trait'],
  ];
  for (const [one, code] of unknown) {
    for (const groups of [[one], [one, known], [known, one]]) assert.is(outcomeOf(groups).refused?.code, code);
  }
  for (const more of [{ rootRequired: [no] }, { rootForbidden: [no] }]) {
    assert.is(outcomeOf([known], more).refused?.code, 'no-trait');
  }
  assert.is(outcomeOf([known]).refused, undefined);
});

test('a tree in several of the aggregates that will do serves once', () => {
  const state = shardOf([
    { id: 'h1', has: { VCPU: 4 }, aggregates: ['a', 'b'] },
    { id: 'h2', has: { VCPU: 4 }, aggregates: ['b'] },
  ]);
  assert.equal(said(find(state, [group('', { VCPU: 1 }, { memberOf: [['a', 'b']] })])), ['h1 VCPU=1', 'h2 VCPU=1']);
});

test('a pool in the aggregate that is asked for serves trees that are not', () => {
  const state = shardOf([
    { id: 'h1', has: { VCPU: 4 }, aggregates: ['a'] },
    { id: 'h2', has: { VCPU: 4 }, aggregates: ['b'] },
    { id: 'pool', has: { DISK_GB: 9 }, traits: [SHARES], aggregates: ['a', 'b2'] },
  ]);
  const ofPool = group('_D', { DISK_GB: 1 }, { memberOf: [['b', 'b2']] });
  assert.equal(said(find(state, [group('', { VCPU: 1 }), ofPool])), ['h1 VCPU=1 + pool DISK_GB=1']);
});

test('aggregates count for the provider or, in the unnamed group, for its root', () => {
  const state = shardOf([
    { id: 'h', aggregates: ['a'] },
    { id: 'c', parent: 'h', has: { VCPU: 4 } },
    { id: 'other', has: { VCPU: 4 }, aggregates: ['b'] },
  ]);
  const inA = { memberOf: [['a', 'x']] };
  assert.equal(said(find(state, [group('', { VCPU: 1 }, inA)])), ['c VCPU=1']);
  assert.equal(said(find(state, [group('_A', { VCPU: 1 }, inA)])), []);
  assert.equal(said(find(state, [group('', { VCPU: 1 }, { notMemberOf: ['a'] })])), ['other VCPU=1']);
});

test('a group without resources is served by what it must be or belong to, and by nothing if it says neither', () => {
  const state = shardOf([
    { id: 'h', has: { VCPU: 4 } },
    { id: 'port', parent: 'h', traits: ['CUSTOM_PORT'], aggregates: ['net'] },
    { id: 'other', has: { VCPU: 4 } },
  ]);
  const mapped = (more: Partial<CandidateGroup>) => nodes(find(state, [group('', { VCPU: 1 }), group('_P', {}, more)]));
  const served = [{ '': ['h'], _P: ['port'] }];
  assert.equal(mapped({ required: [['CUSTOM_PORT']] }), served);
  assert.equal(mapped({ memberOf: [['net', 'x']] }), served);
  assert.equal(mapped({}), []);
  assert.equal(mapped({ notMemberOf: ['net'] }), []);
});

test('groups in one subtree stand below one of them', () => {
  const state = shardOf([
    { id: 'h', has: { VCPU: 8 } },
    { id: 'n1', parent: 'h', has: { MEMORY_MB: 8 }, traits: ['CUSTOM_NODE'] },
    { id: 'n2', parent: 'h', has: { MEMORY_MB: 8 }, traits: ['CUSTOM_NODE'] },
    { id: 'g1', parent: 'n1', has: { VGPU: 1 } },
    { id: 'g2', parent: 'n2', has: { VGPU: 1 } },
  ]);
  const groups = [group('_M', { MEMORY_MB: 1 }), group('_G', { VGPU: 1 })];
  assert.is(find(state, groups, { groupPolicy: 'none' }).requests.length, 4);
  const close = find(state, groups, { groupPolicy: 'none', sameSubtree: [['_M', '_G']] });
  assert.equal(said(close), ['g1 VGPU=1 + n1 MEMORY_MB=1', 'g2 VGPU=1 + n2 MEMORY_MB=1']);
  const resourceless = [group('_G', { VGPU: 1 }), group('_N', {}, { required: [['CUSTOM_NODE']] })];
  const below = find(state, resourceless, { groupPolicy: 'none', sameSubtree: [['_N', '_G']] });
  assert.equal(said(below), ['g1 VGPU=1', 'g2 VGPU=1']);
  assert.equal(
    nodes(below)
      .flatMap(({ _N }) => _N)
      .sort(),
    ['n1', 'n2'],
  );
});

test('a limit is spread over hosts', () => {
  const hosts = Array.from({ length: 5 }, (_, n) => `h${n}`);
  const state = shardOf(
    hosts.flatMap((id) => [{ id }, ...[0, 1, 2].map((n) => ({ id: `${id}-${n}`, parent: id, has: { VGPU: 2 } }))]),
  );
  const groups = ['_A', '_B'].map((suffix) => group(suffix, { VGPU: 1 }));
  const found = find(state, groups, { groupPolicy: 'isolate', limit: 7 });
  assert.is(found.requests.length, 7);
  const perHost = hosts.map((id) => said(found).filter((one) => one.startsWith(`${id}-`)).length).sort();
  assert.equal(perHost, [1, 1, 1, 2, 2]);
  assert.is(find(state, groups, { groupPolicy: 'isolate' }).requests.length, 5 * 6);
});

/** Every way to give each group a provider of the tree, tried one by one. */
function enumerated(
  parts: readonly Part[],
  groups: readonly CandidateGroup[],
  isolate: boolean,
  sameSubtree: readonly (readonly string[])[] = [],
): string[] {
  const part = (id: string) => parts.find((one) => one.id === id) as Part;
  const isBelow = (id: string, top: string): boolean => {
    const { parent } = part(id);
    return id === top || (parent !== undefined && isBelow(parent, top));
  };
  const isSubtree = (ids: readonly string[]) => ids.some((top) => ids.every((id) => isBelow(id, top)));
  let ways: string[][] = [[]];
  for (const _ of groups) ways = ways.flatMap((way) => parts.map(({ id }) => [...way, id]));
  const fitting = ways.filter((way) => {
    if (isolate && new Set(way).size < way.length) return false;
    const traitsOf = (n: number) => part(way[n] as string).traits ?? [];
    if (!groups.every(({ required }, n) => required.flat().every((trait) => traitsOf(n).includes(trait)))) return false;
    const servingOf = (list: readonly string[]) => way.filter((_, n) => list.includes(groups[n]?.suffix ?? ''));
    if (!sameSubtree.every((list) => isSubtree(servingOf(list)))) return false;
    return parts.every(({ id, has = {} }) =>
      ['VCPU', 'VGPU'].every((name) => {
        const asked = groups.reduce((sum, one, n) => sum + (way[n] === id ? (one.resources[name] ?? 0) : 0), 0);
        return asked <= (has[name] ?? 0);
      }),
    );
  });
  return fitting.map((way) => way.map((id, n) => `${groups[n]?.suffix}:${id}`).join(' ')).sort();
}

test('the search finds what plain enumeration finds', () => {
  let found = 0;
  for (let seed = 0; seed < 150; seed += 1) {
    const random = seededRandom(`candidates-${seed}`);
    const parts: Part[] = Array.from({ length: random.integer(1, 5) }, (_, n) => ({
      id: `p${n}`,
      ...(n === 0 ? {} : { parent: `p${random.integer(0, n - 1)}` }),
      has: { VCPU: random.integer(1, 4), ...(random.chance(0.6) ? { VGPU: random.integer(1, 3) } : {}) },
    }));
    const groups = Array.from({ length: random.integer(1, 4) }, (_, n) =>
      group(`_${n}`, random.chance(0.5) ? { VCPU: random.integer(1, 3) } : { VCPU: 1, VGPU: 1 }),
    );
    const isolate = random.chance(0.5);
    const answer = find(shardOf(parts), groups, { groupPolicy: isolate ? 'isolate' : 'none' });
    const ways = nodes(answer).map((mappings) => groups.map(({ suffix }) => `${suffix}:${mappings[suffix]}`).join(' '));
    assert.equal(ways.sort(), enumerated(parts, groups, isolate), `seed ${seed}`);
    found += ways.length;
  }
  assert.ok(found > 500);
});

test('the search finds what plain enumeration finds, too, of groups that share subtrees', () => {
  let found = 0;
  for (let seed = 0; seed < 150; seed += 1) {
    const random = seededRandom(`subtrees-${seed}`);
    const parts: Part[] = Array.from({ length: random.integer(2, 7) }, (_, n) => ({
      id: `p${n}`,
      ...(n === 0 ? {} : { parent: `p${random.integer(Math.max(0, n - 4), n - 1)}` }),
      has: { VCPU: random.integer(1, 3), VGPU: random.integer(1, 2) },
      ...(n === 0 || random.chance(0.4) ? { traits: ['CUSTOM_NODE'] } : {}),
    }));
    const required = [['CUSTOM_NODE']];
    const groups = Array.from({ length: random.integer(2, 4) }, (_, n) =>
      random.chance(0.3) ? group(`_${n}`, {}, { required }) : group(`_${n}`, { [random.pick(['VCPU', 'VGPU'])]: 1 }),
    );
    const isolate = random.chance(0.5);
    const suffixes = groups.map(({ suffix }) => suffix);
    const sameSubtree = [suffixes.slice(0, 2), ...(random.chance(0.5) ? [suffixes.slice(1)] : [])];
    const asked = { groupPolicy: isolate ? 'isolate' : 'none', sameSubtree } as const;
    const answer = find(shardOf(parts), groups, asked);
    const ways = nodes(answer).map((mappings) => groups.map(({ suffix }) => `${suffix}:${mappings[suffix]}`).join(' '));
    assert.equal(ways.sort(), enumerated(parts, groups, isolate, sameSubtree), `seed ${seed}`);
    found += ways.length;
  }
  assert.ok(found > 500, `${found}`);
});

test('a host with too few devices near each other left does not hide those on others', () => {
  const host = (name: string, taken: number) => [
    { id: name },
    ...[0, 1].flatMap((numa) => [
      { id: `${name}-${numa}`, parent: name, has: { VCPU: 16 } },
      ...Array.from({ length: 8 - (numa === 0 ? taken : 0) }, (_, n) => ({
        id: `${name}-${numa}-${n}`,
        parent: `${name}-${numa}`,
        has: { PGPU: 1 },
      })),
    ]),
  ];
  const state = shardOf([...host('h1', 1), ...host('h2', 0)]);
  const groups = [group('_C', { VCPU: 4 }), ...Array.from({ length: 8 }, (_, n) => group(`_${n}`, { PGPU: 1 }))];
  const sameSubtree = [groups.map(({ suffix }) => suffix)];
  const found = find(state, groups, { groupPolicy: 'isolate', sameSubtree, limit: 30 });
  const nodesServing = found.requests.map(({ mappings }) => mappings._C?.join());
  assert.equal([...new Set(nodesServing)].sort(), ['h1-1', 'h2-0']);
});

test('a host on which nothing is found however long it is searched does not cost the others their search', () => {
  const host = (name: string, devices: number) => [
    { id: name },
    ...Array.from({ length: devices }, (_, n) => ({ id: `${name}-${n}`, parent: name, has: { VGPU: 5 } })),
  ];
  // Of 12 times 3, as much as there is in all, only one fits on each device.
  const state = shardOf([...host('hard', 8), ...host('easy', 12)]);
  const groups = Array.from({ length: 12 }, (_, n) => group(`_${n}`, { VGPU: 3 }));
  const found = find(state, groups, { groupPolicy: 'none', limit: 1 });
  assert.match(said(found).join(), /^easy-0 VGPU=3 /);
});

test('hosts with fewer devices than must be apart do not cost the others their search, though they have enough of all', () => {
  const host = (name: string, devices: number) => [
    { id: name },
    ...Array.from({ length: devices }, (_, n) => ({ id: `${name}-${n}`, parent: name, has: { VGPU: 2 } })),
  ];
  const state = shardOf([...Array.from({ length: 35 }, (_, n) => host(`few-${n}`, 7)).flat(), ...host('enough', 8)]);
  const groups = Array.from({ length: 8 }, (_, n) => group(`_${n}`, { VGPU: 1 }));
  assert.match(said(find(state, groups, { groupPolicy: 'isolate', limit: 1 })).join(), /^enough-0 VGPU=1 /);
});

test('a question with millions of combinations is answered, and one without an answer soon found to be so', () => {
  const children = Array.from({ length: 8 }, (_, n) => ({ id: `g${n}`, parent: 'h', has: { VGPU: 1 } }));
  const state = shardOf([{ id: 'h' }, ...children]);
  const groups = Array.from({ length: 9 }, (_, n) => group(`_${n}`, { VGPU: 1 }));
  assert.is(find(state, groups.slice(0, 8), { groupPolicy: 'isolate' }).requests.length, 40_320);
  assert.is(find(state, groups.slice(0, 8), { groupPolicy: 'none', limit: 100 }).requests.length, 100);
  const began = process.cpuUsage();
  for (const groupPolicy of ['isolate', 'none'] as const) {
    assert.is(find(state, groups, { groupPolicy }).requests.length, 0);
  }
  const { user } = process.cpuUsage(began);
  assert.ok(user < 100_000, `it took ${user} microseconds`);
});

test.run();
