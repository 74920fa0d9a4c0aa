// Area: scheduler, several instances that keep together. What is said of room for them is what they get, however their
// host's devices are chosen; and it takes a bounded effort.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { effort } from '../../actors/fitting/effort.ts';
import type { Advice } from '../../actors/messages/advice.ts';
import type { RequestSpec, ResourceGroup } from '../../actors/messages/common.ts';
import type { Fitted } from '../../actors/messages/questions.ts';
import { unpackDecision } from '../../actors/messages/stored-decision.ts';
import { present } from '../../actors/present.ts';
import { newAdviser } from '../../actors/scheduler/advice/adviser.ts';
import { roomOf } from '../../actors/scheduler/advice/rooms.ts';
import { roomTogether } from '../../actors/scheduler/explaining/room-together.ts';
import { standing } from '../../actors/scheduler/explaining/standing.ts';
import { instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { emptyRankings, shapeOf } from '../../actors/scheduler/ranking/ranking.ts';
import { learnProvider, treeOf } from '../../actors/scheduler/view/view.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { packingPolicy } from '../../actors/scheduler/weighers/packing/policies.ts';
import type { Weigher } from '../../actors/scheduler/weighers/weigher.ts';
import { seededRandom } from '../../runtime/random.ts';
import { inventory, viewOf } from '../support/facts.ts';
import { type Answer, chosenIn, named, type SchedulerWords, schedulersOf, selectFor } from '../support/schedulers.ts';
import { rankings, survey, words } from '../support/survey.ts';

const test = suite('scheduler - several together');

type On = ReturnType<typeof schedulersOf>;
interface Device {
  readonly has: number;
  readonly traits?: readonly string[];
}

const inAffinity = (groups: readonly ResourceGroup[]): RequestSpec => ({
  groups: [...groups],
  groupPolicy: 'none',
  instanceGroup: { id: 'p/g', policy: 'affinity' },
});

/** The record of the first instance that has a host. */
function recordIn(answer: Answer | undefined) {
  assert.ok(answer?.type === 'selected');
  return unpackDecision(JSON.parse(answer.selections[0]?.decision ?? ''));
}

function tellDevices(on: On, host: string, devices: readonly Device[], cell = 'c1'): void {
  const root = { id: `p-${host}`, name: host, parent: null, inventories: {}, traits: [], aggregates: [] };
  const below = devices.map(({ has, traits = [] }, n) => ({
    id: `p-${host}-d${n}`,
    name: `d${n}`,
    parent: root.id,
    inventories: { VGPU: inventory(has) },
    traits: [...traits],
    aggregates: [],
  }));
  on.ask({ type: 'put-tree', ask: 1, providers: [root, ...below] });
  on.tellHost({ host, cell });
}

/** Hosts with devices below them, by their names. */
function hostsOf(hosts: Readonly<Record<string, readonly Device[]>>, words: Partial<SchedulerWords> = {}): On {
  const on = schedulersOf([], [{ name: 's', ...words }]);
  for (const [host, devices] of Object.entries(hosts)) tellDevices(on, host, devices);
  on.deliver();
  on.run(3_000, 10);
  return on;
}

function placed(on: On, spec: RequestSpec, count: number, request = 'r'): { hosts: string[]; reason: string } {
  const before = on.answers.length;
  on.choose({ ...selectFor(request, { instances: named(count, request) }), spec, ordered: true });
  on.run(5_000, 10);
  const told = on.answers.slice(before);
  return {
    hosts: told.flatMap((one) =>
      one.type === 'selected' ? one.selections.map(({ selection }) => selection.host) : [],
    ),
    reason: told.flatMap((one) => (one.type === 'selected' ? [] : [one.reason])).join(),
  };
}

function fitted(on: On, spec: RequestSpec, count: number): Fitted {
  const before = on.answers.length;
  on.hear({ type: 'fit', ask: 1, spec, count, limit: 3 });
  on.run(500, 10);
  return on.answers[before] as unknown as Fitted;
}

test('scheduler - several that keep together get the host that holds them, whichever devices a policy prefers', () => {
  const spec = inAffinity([
    { name: 'g0', resources: { VGPU: 1 } },
    { name: 'g1', resources: { VGPU: 1 }, required: ['CUSTOM_A'] },
  ]);
  for (let seed = 0; seed < 20; seed += 1) {
    const { weighers } = packingPolicy('random', { seed: `s${seed}`, typical: [] });
    const on = hostsOf({ h0: [{ has: 3, traits: ['CUSTOM_A'] }, { has: 3 }, { has: 2 }] }, { weighers });
    assert.is(fitted(on, spec, 3).times, 3);
    assert.equal(placed(on, spec, 3), { hosts: ['h0', 'h0', 'h0'], reason: '' }, `seed ${seed}`);
  }
});

test('scheduler - a dry run of several that keep together says what they get', () => {
  const devices = [{ has: 36 }, { has: 35, traits: ['CUSTOM_A'] }, { has: 34 }];
  const spec = inAffinity([
    { name: 'g0', resources: { VGPU: 2 } },
    { name: 'g1', resources: { VGPU: 3 }, required: ['CUSTOM_A'] },
  ]);
  for (let count = 6; count < 14; count += 1) {
    const told = fitted(hostsOf({ h0: devices }), spec, count);
    const { hosts, reason } = placed(hostsOf({ h0: devices }), spec, count);
    assert.is(hosts.length, told.times >= count ? count : 0, `${count} of ${told.times}`);
    assert.not.match(reason, /refused the claim/);
  }
});

test('scheduler - a full host is not nearer to several than one with some room, for all that they lack', () => {
  const spec = inAffinity([{ name: '', resources: { VCPU: 4 } }]);
  const used = (full: number, other: number) => [
    { host: 'full', used: { VCPU: full } },
    { host: 'other', used: { VCPU: other } },
  ];
  const [ofBoth] = survey(viewOf(...used(8, 7)), spec, 3).refused;
  assert.equal(ofBoth?.nearest, { cell: 'c1', host: 'other', short: 11 });
  const [ofTwo] = survey(viewOf(...used(8, 5)), spec, 2).refused;
  assert.equal(ofTwo?.nearest, { cell: 'c1', host: 'other', short: 5 }, 'with one VCPU more it would hold one of them');
});

test('scheduler - what a host without room for any lacks is counted for all that keep together', () => {
  const spec = inAffinity([{ name: '', resources: { VCPU: 4, MEMORY_MB: 1_024 } }]);
  const told = (memory: number, asked: RequestSpec = spec) => {
    const on = schedulersOf([
      { host: 'h1', has: { VCPU: 2, MEMORY_MB: memory } },
      { host: 'h2', has: { VCPU: 1, MEMORY_MB: memory } },
    ]);
    const answer = on.choose({ ...selectFor('r', { instances: named(3) }), spec: asked });
    assert.ok(answer?.type === 'no-valid-host');
    const question = { type: 'fit', ask: 1, spec: asked, count: 3, limit: 1 } as const;
    const [fit] = on.desks[0]?.tell(question, 'gateway/g').sent ?? [];
    assert.ok(fit?.message.type === 'fitted');
    const { refused, onNamed } = unpackDecision(JSON.parse(answer.decision ?? ''));
    assert.equal(fit.message.refused, refused);
    assert.equal(fit.message.onNamed, onNamed);
    return { reason: answer.reason, refused, onNamed };
  };
  const near = { cell: 'c1', host: 'h1', short: 10 };
  const vcpu = "12 VCPU, which 3 instances ask together, exceed the most that they can have on 'h1': 2 (short by 10)";
  const ofVcpu = told(3_072);
  assert.equal(ofVcpu.refused, [{ code: 'exceeds-capacity', about: 'VCPU', hosts: 2, nearest: near }]);
  assert.match(ofVcpu.reason, `none of 2 hosts: 2 exceeds-capacity VCPU; nearest c1/h1: ${vcpu}; `);
  const ofBoth = told(2_048);
  assert.equal(ofBoth.refused[0]?.nearest, { ...near, lacksMore: true }, 'memory for two of them');
  assert.match(ofBoth.reason, `nearest c1/h1: ${vcpu}, and more stands in its way; `);
  const onNamed = told(2_048, { ...spec, tree: { oneOf: ['p-h1'] } });
  const memory =
    "3072 MEMORY_MB, which 3 instances ask together, exceed the most that they can have on 'h1': 2048 (short by 1024)";
  assert.match(onNamed.reason, `c1/h1, which it names: ${vcpu}; and ${memory}; `);
  assert.equal(
    [onNamed.onNamed?.told[0]?.refusal.short, onNamed.onNamed?.told[0]?.also?.map(({ short }) => short)],
    [10, [1_024]],
  );
});

test('scheduler - with as much more as a host is said to lack all that keep together fit it, and not with less', () => {
  const random = seededRandom('short for all');
  const below = (most: number) => Math.floor(random.next() * most);
  let [alone, notAlone] = [0, 0];
  for (let round = 0; round < 300; round += 1) {
    const count = 2 + below(3);
    const spec = inAffinity([
      { name: '', resources: { VCPU: 2 + below(4) } },
      ...(below(3) === 0 ? [{ name: 'more', resources: { VCPU: 1 + below(3), MEMORY_MB: 64 } }] : []),
    ]);
    const hosts = Array.from({ length: 4 }, (_, n) => ({
      host: `h${n}`,
      has: { VCPU: 8, MEMORY_MB: 64 * below(6) },
      // Of more than it has, where some of it was taken away.
      used: { VCPU: 4 + below(7) },
    }));
    const view = viewOf(...hosts);
    const seen = survey(view, spec, count);
    const stands = standing({ rankings, view }, { spec }, count);
    for (const { refused, fits } of [seen, stands]) {
      assert.is(
        refused.reduce((sum, one) => sum + one.hosts, fits),
        hosts.length,
        `round ${round}`,
      );
      const { nearest } = refused.find(({ code, about }) => code === 'exceeds-capacity' && about === 'VCPU') ?? {};
      if (nearest === undefined) continue;
      const { has, used } = hosts.find(({ host }) => host === nearest.host) as (typeof hosts)[number];
      const fitsWith = (more: number) =>
        survey(viewOf({ host: 'h', has: { ...has, VCPU: has.VCPU + more }, used }), spec, count).fits > 0;
      assert.is(fitsWith(nearest.short), nearest.lacksMore !== true, `round ${round}`);
      assert.not(fitsWith(nearest.short - 1), `round ${round}`);
      if (nearest.lacksMore === true) notAlone += 1;
      else alone += 1;
    }
  }
  assert.ok(alone > 50 && notAlone > 5, `${alone}, ${notAlone}`);
});

test('scheduler - what is taken beyond what a host has must come too before all that keep together fit', () => {
  const spec = inAffinity([{ name: '', resources: { VCPU: 4 } }]);
  const ofTaken = (taken: number, asked: RequestSpec = spec, count = 3) =>
    survey(viewOf({ host: 'h1', has: { VCPU: 4 }, used: { VCPU: taken } }), asked, count).refused[0]?.nearest;
  const near = { cell: 'c1', host: 'h1' };
  assert.equal(
    [ofTaken(4), ofTaken(6)],
    [
      { ...near, short: 12 },
      { ...near, short: 14 },
    ],
  );
  const ofGroups = inAffinity(['a', 'b'].map((name) => ({ name, resources: { VCPU: 2 } })));
  assert.equal(ofTaken(6, ofGroups, 1), { ...near, short: 6 }, 'so it is of the groups of one');
});

test('scheduler - what devices lack for all that keep together is counted by what each of them gives', () => {
  const spec = inAffinity([{ name: 'g', resources: { VGPU: 4 } }]);
  const lacking = (...devices: number[]) => {
    const on = hostsOf({ h0: devices.map((has) => ({ has })) });
    return fitted(on, spec, 3).refused[0]?.nearest;
  };
  const near = { cell: 'c1', host: 'h0' };
  assert.equal(lacking(3), { ...near, short: 9 });
  assert.equal(lacking(3, 3, 3, 3), { ...near, short: 3 }, 'if each of them asked for one less, they would fit');
  assert.equal(lacking(3, 1), { ...near, short: 8 }, 'with so many more on the first');
  assert.equal(
    lacking(3, 3),
    { ...near, short: 6, lacksMore: true },
    'of two less each device holds one, and they are three',
  );
});

test('scheduler - what is taken beyond what devices have must come too before one of all that keep together fits', () => {
  const view = viewOf({ host: 'h1' });
  for (const name of ['p-gpu-0', 'p-gpu-1']) {
    const told = { id: name, name, parent: 'p-h1', root: 'p-h1', traits: [], aggregates: [], generation: 1 };
    learnProvider(view, { ...told, inventories: { VGPU: inventory(4) }, used: { VGPU: 104 } });
  }
  const { refused } = survey(view, inAffinity([{ name: 'g', resources: { VGPU: 1 } }]), 2);
  assert.is(refused[0]?.nearest?.short, 101, 'two more would be taken by what is there');
});

test('scheduler - where it was not counted to the end how many a host holds, it is not said how many it does not', () => {
  const devices = Array.from({ length: 400 }, (_, n) => ({ has: 1_000, traits: n % 2 === 0 ? ['CUSTOM_A'] : [] }));
  const groups = Array.from({ length: 12 }, (_, n) => ({
    name: `g${n}`,
    resources: { VGPU: 10 + n },
    required: n % 3 === 0 ? ['CUSTOM_A'] : [],
  }));
  const spec: RequestSpec = { ...inAffinity(groups), groupPolicy: 'isolate' };
  const on = hostsOf({ h0: devices }, { filters: [instanceLimit(75)] });
  const told = fitted(on, spec, 80);
  assert.equal(told.refused, [{ code: 'no-room-together', hosts: 1 }]);
  assert.is(told.partly, true);
  const before = effort.looks;
  assert.match(placed(on, spec, 80).reason, /^no room for 80 instances at once: none of 1 host: 1 no-room-together/);
  assert.ok(effort.looks - before < 2_000_000, `${effort.looks - before} looks`);
});

test('scheduler - room that advice counts takes a bounded effort in all', () => {
  const view = viewOf({ host: 'h1' }, { host: 'h2' });
  const spec = inAffinity([1, 2].map((VCPU) => ({ name: `g${VCPU}`, resources: { VCPU } })));
  const trees = ['p-h1', 'p-h2'].map((root) => treeOf(view, root));
  const known = {
    membersAllowed: () => Number.POSITIVE_INFINITY,
    instancesAllowed: () => Number.POSITIVE_INFINITY,
    limits: [],
    limitersOn: () => [],
    group: { hasMembers: false },
    mustStay: () => false,
  };
  const counted = (looksLeft: number) => {
    const adviser = newAdviser(spec, 2, known);
    adviser.looksLeft = looksLeft;
    const steps = roomOf(adviser, spec, trees);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    return [step.value.hosts, adviser.isCut];
  };
  assert.equal(
    [counted(100), counted(1), counted(-1)],
    [
      [2, false],
      [1, true],
      [0, true],
    ],
  );
});

test('scheduler - several that keep together get the one host that holds them, behind however many that hold nearly all', () => {
  const nearly = Array.from(
    { length: 150 },
    (_, n) => [`b${n}`, Array.from({ length: 32 }, () => ({ has: 3 }))] as const,
  );
  const spec = inAffinity(Array.from({ length: 8 }, (_, n) => ({ name: `g${n}`, resources: { VGPU: 2 } })));
  for (const waits of [undefined, { since: 1 }]) {
    const on = hostsOf({ ...Object.fromEntries(nearly) });
    const good = Array.from({ length: 40 }, () => ({ has: 3 }));
    tellDevices(on, 'good', good, 'c2');
    on.deliver();
    on.run(3_000, 10);
    const before = on.shard.entries.flat().length;
    const where = { preferCells: ['c1'] };
    const asked = { ...selectFor('r', { instances: named(5) }), spec, ordered: true, where, ...present({ waits }) };
    on.choose(asked as never);
    on.run(2_000, 10);
    assert.equal(new Set(on.answers.map((one) => chosenIn(one))), new Set(['good']));
    assert.is(on.shard.entries.flat().length - before, 5, 'nothing is claimed in vain');
  }
});

test('scheduler - several that keep together go elsewhere where one of them was granted a host that has since been filled', () => {
  for (const count of [2, 3]) {
    const hosts = ['h1', 'h2'].map((host) => ({ host, has: { VCPU: 3 } }));
    const on = schedulersOf(hosts, [{ name: 's' }, { name: 't' }]);
    const spec = inAffinity([{ name: '', resources: { VCPU: 1 } }]);
    const select = { ...selectFor('r', { instances: named(count), ordered: true }), spec };
    on.hear(select);
    on.deliver(undefined, ({ message }) => message.type !== 'claim' || message.consumer === 'r-0');
    const provider = on.shard.state.consumers.holding.get('r-0')?.held[0]?.allocations[0]?.provider ?? '';
    on.drop(({ message }) => message.type !== 'providers-changed');
    on.take('rival', provider.slice('p-'.length), 2);
    on.deliver();
    on.answers.length = 0;
    on.hear({ ...select, round: 2 }, 'scheduler/t');
    on.deliver();
    on.run(3_000, 10);
    const other = provider === 'p-h1' ? 'h2' : 'h1';
    const [answer] = on.answers;
    assert.ok(answer?.type === 'selected', JSON.stringify(answer));
    assert.equal(new Set(answer.selections.map(({ selection }) => selection.host)), new Set([other]));
  }
});

test('scheduler - several that would rather keep together get one host whichever devices a policy prefers', () => {
  const groups = [
    { name: 'g0', resources: { VGPU: 1 } },
    { name: 'g1', resources: { VGPU: 1 }, required: ['CUSTOM_A'] },
  ];
  const spec: RequestSpec = { groups, groupPolicy: 'none', instanceGroup: { id: 'p/g', policy: 'soft-affinity' } };
  const devices = [{ has: 3, traits: ['CUSTOM_A'] }, { has: 3 }, { has: 2 }];
  for (let seed = 0; seed < 20; seed += 1) {
    const { weighers } = packingPolicy('random', { seed: `s${seed}`, typical: [] });
    const { hosts, reason } = placed(hostsOf({ h0: devices, h1: devices }, { weighers }), spec, 3);
    assert.equal([hosts.length, new Set(hosts).size], [3, 1], `seed ${seed} ${reason}`);
  }
});

test('scheduler - that several that keep together were counted not to fit keeps out no others, whom a policy places otherwise', () => {
  const groups = ['g0', 'g1'].map((name) => ({ name, resources: { VGPU: 1 } }));
  const apart = { groups, groupPolicy: 'isolate' as const };
  const roomiest: Weigher = {
    name: 'roomiest',
    multiplier: 1,
    weigh: () => 0,
    prefers(_, { stocks }) {
      const { capacity = 0, used = 0 } = stocks.get('VGPU') ?? {};
      return capacity - used;
    },
  };
  const on = hostsOf({ h0: [{ has: 1 }, { has: 1 }, { has: 2 }] }, { weighers: [roomiest] });
  assert.equal(placed(on, { ...inAffinity(groups), ...apart }, 2, 'together').hosts, []);
  assert.equal(placed(on, apart, 2), { hosts: ['h0', 'h0'], reason: '' });
});

test('scheduler - whether a host has room for all that would rather keep together is asked of the first in rank only', () => {
  const hosts = Array.from({ length: 400 }, (_, n) => ({ host: `h${n}`, has: { VCPU: n === 399 ? 8 : 4 } }));
  const spec: RequestSpec = {
    groups: [{ name: '', resources: { VCPU: 1 } }],
    groupPolicy: 'none',
    instanceGroup: { id: 'p/g', policy: 'soft-affinity' },
  };
  const chosen = (few: number, { preferred = 'c1', pickAmong = 1, avoided = 0 } = {}) => {
    const all = hosts.slice(-few).map((one) => ({ ...one, cell: one.host === 'h399' ? 'c2' : 'c1' }));
    const on = schedulersOf(all, [{ name: 's', pickAmong }]);
    const tree = avoided === 0 ? {} : { tree: { noneOf: all.slice(0, avoided).map(({ host }) => `p-${host}`) } };
    const where = { preferCells: [preferred] };
    on.choose({ ...selectFor('r', { instances: named(5), ordered: true }), spec: { ...spec, ...tree }, where });
    return new Set(
      on.answers.flatMap((one) => (one.type === 'selected' ? one.selections : [])).map((one) => one.selection.host),
    );
  };
  const roomy = new Set(['h399']);
  assert.equal(chosen(100), roomy);
  assert.is(chosen(400).size, 2);
  assert.equal(chosen(400, { preferred: 'c2', pickAmong: 3 }), roomy, 'chance does not lose it');
  assert.equal(chosen(400, { avoided: 300 }), roomy, 'those that it may not have do not count');
});

test('scheduler - that many were not counted to the end is not said of few', () => {
  const view = viewOf({ host: 'h1' });
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  const request = { spec: inAffinity([{ name: '', resources: { VCPU: 1 } }]) };
  const ranked = shapeOf({ rankings, view }, request).current.get('p-h1');
  assert.ok(ranked);
  const isRoom = (count: number) => roomTogether({ rankings, view }, request, 'p-h1', count, effort.looks);
  ranked.holds = { count: 8, times: 4, isWhole: false };
  assert.equal([isRoom(4), isRoom(8)], [true, undefined]);
  assert.is(isRoom(6), true, 'it is counted again');
  assert.equal([isRoom(9), ranked.most, isRoom(10)], [false, 8, false]);
  ranked.tooMany = 7;
  assert.equal([isRoom(6), isRoom(7)], [true, false], 'what is known is not looked at again');
});

test('scheduler - the record of several that keep together counts the hosts with room for all, or says that it does not', () => {
  const recordOf = (hosts: number, count: number) => {
    const has = (n: number) => (n % 2 === 0 ? 8 : 4);
    const on = schedulersOf(Array.from({ length: hosts }, (_, n) => ({ host: `h${n}`, has: { VCPU: has(n) } })));
    on.choose({
      ...selectFor('r', { instances: named(count), ordered: true }),
      spec: inAffinity([{ name: '', resources: { VCPU: 4 } }]),
    });
    const { fits, refused, narrowedBy } = recordIn(on.answers[0]);
    return { fits, refused, narrowedBy };
  };
  assert.equal(recordOf(5, 2), { fits: 3, refused: [{ code: 'no-room-together', hosts: 2 }], narrowedBy: [] });
  assert.equal(recordOf(100, 2), { fits: 100, refused: [], narrowedBy: ['room-together'] });
});

test('scheduler - several that would rather keep together get one host if any has room for all, before cells and weights', () => {
  const hosts = [
    { host: 'h1', cell: 'c1', has: { VCPU: 3 } },
    { host: 'h2', cell: 'c1', has: { VCPU: 3 } },
    { host: 'h3', cell: 'c2', has: { VCPU: 4 } },
  ];
  const spec: RequestSpec = {
    groups: [{ name: '', resources: { VCPU: 1 } }],
    groupPolicy: 'none',
    instanceGroup: { id: 'p/g', policy: 'soft-affinity' },
  };
  const chosen = (count: number, preferCells: string[]) => {
    const on = schedulersOf(hosts);
    on.choose({ ...selectFor('r', { instances: named(count), ordered: true }), spec, where: { preferCells } });
    const { narrowedBy, weights } = recordIn(on.answers[0]);
    const selections = on.answers.flatMap((one) => (one.type === 'selected' ? one.selections : []));
    return { on: selections.map(({ selection }) => selection.host), narrowedBy, weighed: weights.length };
  };
  assert.equal(chosen(4, ['c1']), { on: ['h3', 'h3', 'h3', 'h3'], narrowedBy: ['room-together'], weighed: 1 });
  const { on, narrowedBy } = chosen(3, ['c1']);
  assert.equal(
    [new Set(on).size, on[0] !== 'h3', narrowedBy],
    [1, true, ['room-together']],
    'the preferred cell has room',
  );
  assert.equal(chosen(5, ['c1']).on.length, 5, 'no host has room for all, and they get several');
  assert.equal(chosen(5, ['c1']).narrowedBy, []);
});

test('scheduler - of a group with another rule it is said with what several would fit, whatever was claimed meanwhile', () => {
  const on = schedulersOf([{ host: 'h1' }]);
  const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' as const };
  on.choose({ ...selectFor('first'), spec: { ...spec, instanceGroup: { id: 'p/g', policy: 'anti-affinity' } } });
  const { reason } = placed(on, inAffinity([{ name: '', resources: { VCPU: 3 } }]), 2);
  assert.match(
    reason,
    /^group-policy-conflict: .*; if they were not members of instance group 'g', both instances would fit on/,
  );
});

test('scheduler - of a group with another rule it is advised to say its own, where it would fit by that', () => {
  const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' as const };
  const group = { id: 'p/g', policy: 'anti-affinity' } as const;
  const toldOf = (maxPerHost: number, hosts: number, count: number) => {
    const on = schedulersOf(Array.from({ length: hosts }, (_, n) => ({ host: `h${n}` })));
    on.choose({ ...selectFor('first'), spec: { ...spec, instanceGroup: { ...group, maxPerHost } } });
    return placed(on, { ...spec, instanceGroup: { id: 'p/g', policy: 'soft-anti-affinity' } }, count).reason;
  };
  assert.match(
    toldOf(1, 3, 1),
    /; if it said the rule that the instance group has, 'anti-affinity', it would fit on 2 /,
  );
  assert.match(
    toldOf(2, 2, 3),
    /; if they said the rule .*, 'anti-affinity, 2 per host', all 3 instances would fit on 2 /,
  );
  assert.match(toldOf(1, 1, 1), /; if it were not a member of instance group 'g', it would fit on 1 host$/);
});

test('scheduler - more members on each host are advised while their group has none, for its rule stays that of the first', () => {
  const hosts = ['h1', 'h2', 'h3'].map((host, n) => ({ host, has: { VCPU: 4 - n } }));
  const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' as const };
  const apart = { ...spec, instanceGroup: { id: 'p/g', policy: 'anti-affinity' as const } };
  const codesOf = (on: ReturnType<typeof schedulersOf>, count: number) => {
    const [told] = on.desks[0]?.tell({ type: 'fit', ask: 1, spec: apart, count, limit: 0 }, 'gateway/g').sent ?? [];
    return told?.message.type === 'fitted' ? told.message.advice : [];
  };
  const on = schedulersOf(hosts);
  const [, more] = codesOf(on, 8);
  assert.equal(more, { code: 'more-per-host', about: 'g', from: 1, to: 3, hosts: 3, instances: 8 });
  assert.is(
    words(more as Advice),
    "with 3 of instance group 'g' on each host instead of 1, all 8 instances would fit on 3 hosts",
  );
  const raised = { ...apart, instanceGroup: { ...apart.instanceGroup, maxPerHost: 3 } };
  assert.is(placed(schedulersOf(hosts), raised, 8).hosts.length, 8);
  assert.not.ok(
    codesOf(on, 10).some(({ code }) => code === 'more-per-host'),
    'there is no room for so many at all',
  );
  on.choose({ ...selectFor('first'), spec: apart });
  assert.not.ok(codesOf(on, 4).some(({ code }) => code === 'more-per-host'));
});

test('scheduler - the record of a success tells of the nearest whether more stands in its way', () => {
  const hosts = [
    { host: 'h1', traits: ['CUSTOM_A'] },
    { host: 'h2', has: { VCPU: 1 } },
  ];
  const nearestOf = (required: string[], second = hosts[1] as (typeof hosts)[number]) => {
    const on = schedulersOf([hosts[0] as (typeof hosts)[number], second]);
    const choose = (request: string) => {
      const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 2 }, required }], groupPolicy: 'none' };
      return recordIn(on.choose({ ...selectFor(request), spec })).refused[0]?.nearest;
    };
    const first = choose('one');
    on.put({ ...second, traits: ['CUSTOM_A'] });
    on.deliver();
    return [first, choose('two')];
  };
  const near = { cell: 'c1', host: 'h2', short: 1 };
  assert.equal(nearestOf([]), [near, near]);
  assert.equal(
    nearestOf(['CUSTOM_A']),
    [{ ...near, lacksMore: true }, near],
    'it is asked anew when the host has changed',
  );
});

test('scheduler - the record of a success counts what a host at its limit lacks for all that keep together, as a dry run does', () => {
  const on = schedulersOf([{ host: 'h1', instances: 3 }, { host: 'h2' }], [{ name: 's', filters: [instanceLimit(3)] }]);
  const spec = inAffinity([{ name: '', resources: { VCPU: 1 } }]);
  const nearest = { cell: 'c1', host: 'h1', short: 3 };
  assert.equal(fitted(on, spec, 3).refused[0]?.nearest, nearest);
  const chosen = on.choose({ ...selectFor('r', { instances: ['r-0', 'r-1', 'r-2'] }), spec });
  assert.equal(recordIn(chosen).refused[0]?.nearest, nearest);
});

test.run();
