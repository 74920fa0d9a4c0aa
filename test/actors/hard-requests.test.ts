// Area: requests that are hard to tell. Where groups nearly fit very many hosts, these are searched a few a turn: others
// are served in between, a host that serves such a request is found all the same, and what is said of the rest is true.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { effort } from '../../actors/fitting/effort.ts';
import { fit } from '../../actors/fitting/fit.ts';
import type { RequestSpec } from '../../actors/messages/common.ts';
import type { Select } from '../../actors/messages/scheduler.ts';
import { present } from '../../actors/present.ts';
import { standing } from '../../actors/scheduler/explaining/standing.ts';
import { type Survey, surveyOf } from '../../actors/scheduler/explaining/survey.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { best } from '../../actors/scheduler/picking.ts';
import { emptyRankings, shapeOf, unsearchedOf } from '../../actors/scheduler/ranking/ranking.ts';
import { weighAnew } from '../../actors/scheduler/ranking/weighing.ts';
import { requestKey } from '../../actors/scheduler/request.ts';
import { scheduler } from '../../actors/scheduler/scheduler.ts';
import type { Work } from '../../actors/scheduler/state.ts';
import { beginSweep, goOnSweeping } from '../../actors/scheduler/sweeps.ts';
import { learnMembers } from '../../actors/scheduler/view/groups-view.ts';
import { emptyView, learnProvider, treeOf, type View, type ViewHost } from '../../actors/scheduler/view/view.ts';
import { learnHost } from '../../actors/scheduler/view/view-hosts.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { free } from '../../actors/scheduler/weighers/free.ts';
import { seededRandom } from '../../runtime/random.ts';
import { inventory, tellView } from '../support/facts.ts';
import { type HostPlan, type Rig, rig } from '../support/scheduler-desk.ts';
import { named, selectFor } from '../support/schedulers.ts';
import { applied, emptied, survey as surveyed } from '../support/survey.ts';
import { bench, type Sent, sentOf } from '../support/turn.ts';

const test = suite('hard requests');

const DEVICES = 15;
const TRAITS = ['CUSTOM_FAST', 'CUSTOM_SLOW'];
/** More looks than one turn takes that searches, and the one host with which it ends. */
const MOST_IN_A_TURN = 150_000;

/**
 * No two groups share a device, and none is like another, so that it is hard to see that there is one device too few. The
 * last ones need the first devices, which the others would take first.
 */
const HARD: RequestSpec = {
  groups: Array.from({ length: DEVICES + 1 }, (_, at) => {
    const trait = TRAITS[DEVICES - at];
    return { name: `g${at}`, resources: { PGPU: 51 + at }, ...(trait === undefined ? {} : { required: [trait] }) };
  }),
  groupPolicy: 'none',
};

const hardHosts = (count: number): HostPlan[] =>
  Array.from({ length: count }, (_, n) => ({ cell: 'c1', host: `h${n}`, devices: DEVICES, traits: TRAITS }));
const FITTING: HostPlan = { cell: 'c1', host: 'fitting', devices: DEVICES + 1, traits: TRAITS };

const hardSelect = (request: string) => ({ ...selectFor(request), spec: HARD });

/** Lets time pass until something is said; answers it, and the most looks that a turn took. */
function untilSaid({ on }: Rig): { said: readonly Sent[]; turns: number; most: number } {
  let most = 0;
  for (let turns = 1; turns <= 10_000; turns += 1) {
    const before = effort.looks;
    const said = on.pass(1).flatMap(({ sent }) => sent);
    most = Math.max(most, effort.looks - before);
    const heard = said.filter(({ message }) => ['claim', 'recall', 'no-valid-host'].includes(message.type));
    if (heard.length > 0) return { said: heard, turns, most };
  }
  throw new Error('nothing was said');
}

test('hard requests - the only host that fits is found behind many that nearly do, and others are served meanwhile', () => {
  const desk = rig([...hardHosts(200), FITTING]);
  const before = effort.looks;
  const asked = desk.hear(hardSelect('hard'), 'conductor/0');
  assert.ok(effort.looks - before < 1_300_000, `${effort.looks - before} looks`);
  assert.equal(asked.sent, [], 'it is not known yet');
  const other = desk.hear(selectFor('other'), 'conductor/0');
  assert.is(sentOf(other, 'claim')[0]?.message.consumer, 'other', 'it does not wait');
  const { said, turns, most } = untilSaid(desk);
  assert.ok(turns > 10, `${turns} turns`);
  assert.ok(most < MOST_IN_A_TURN, `${most} looks in a turn`);
  const [claim] = sentOf({ sent: said }, 'claim');
  assert.is(claim?.message.consumer, 'hard');
  assert.ok(claim?.message.allocations.every(({ provider }) => provider.startsWith('p-fitting-')));
});

test('hard requests - when none fits it is said of each why, once all are searched', () => {
  const desk = rig(hardHosts(160));
  assert.equal(desk.hear(hardSelect('hard'), 'conductor/0').sent, []);
  const { said } = untilSaid(desk);
  assert.is(sentOf({ sent: said }, 'recall').length, 1, 'an earlier question may have been granted something');
  const answered = desk.hear({ type: 'nothing-held', consumer: 'hard', attempt: 1 }, 'placement/0');
  const [failed] = [
    ...sentOf(answered, 'no-valid-host'),
    ...sentOf({ sent: desk.on.pass(2_000).flatMap(({ sent }) => sent) }, 'no-valid-host'),
  ];
  assert.match(failed?.message.reason ?? '', /none of 160 hosts: 160 exceeds-capacity/);
});

test('hard requests - asked for anew, it waits for the search too, whatever an earlier round may hold', () => {
  const desk = rig([...hardHosts(200), FITTING]);
  const again = { ...hardSelect('hard'), ordered: true as const, round: 2 };
  const [asked] = sentOf(desk.hear(again, 'conductor/0'), 'taking');
  assert.ok(asked);
  const { taker, round } = asked.message;
  const taken = desk.hear({ type: 'take', request: 'hard', round, taker }, 'conductor/0');
  const [recall] = sentOf(taken, 'recall');
  assert.ok(recall?.message.order !== undefined);
  const held = { type: 'nothing-held', consumer: 'hard', attempt: 1, order: recall.message.order } as const;
  assert.equal(sentOf(desk.hear(held, 'placement/0'), 'no-valid-host'), []);
  const [claim] = sentOf({ sent: untilSaid(desk).said }, 'claim');
  assert.is(claim?.message.consumer, 'hard');
});

test('hard requests - shapes of which there is no room to keep all are not searched without end', () => {
  const { view } = rig(hardHosts(200)).on.state;
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { maxShapes: 2 });
  const [first, ...others] = HARD.groups;
  assert.ok(first);
  const spec = (name: string): RequestSpec => ({ ...HARD, groups: [{ ...first, name }, ...others] });
  let searched = 0;
  for (let times = 0; times < 2; times += 1) {
    for (const name of ['x', 'y', 'z']) searched = shapeOf({ rankings, view }, { spec: spec(name) }).searched.looks;
  }
  assert.ok(searched > 1_000_000, `${searched} looks are on account of what is made anew`);
});

test('hard requests - a shape that is let go is held by nothing that is still to be searched, whoever is searched before it', () => {
  const { view } = rig(hardHosts(200)).on.state;
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { maxShapes: 2 });
  const fleet = { rankings, view };
  const [first, ...others] = HARD.groups;
  assert.ok(first);
  const of = (name: string) => shapeOf(fleet, { spec: { ...HARD, groups: [{ ...first, name }, ...others] } });
  const busy = of('busy');
  for (const name of ['v', 'w', 'x', 'y', 'z']) {
    of(name);
    of('busy');
    // The next to be searched is the busy one each time.
    for (const next of unsearchedOf(rankings)) {
      assert.is(next, busy);
      break;
    }
    assert.is(rankings.unsearched.size, rankings.shapes.size);
  }
});

test('hard requests - a host that was searched counts from then on among those with room for several, too', () => {
  const { state } = rig([...hardHosts(200), FITTING]).on;
  const shape = shapeOf(state, { spec: HARD });
  const hasRoom = () => shape.first.severalOf(2, () => true, false).has('p-fitting');
  assert.equal([shape.unsearched.has('p-fitting'), hasRoom()], [true, false]);
  weighAnew(state, shape, 'p-fitting');
  assert.equal([shape.unsearched.has('p-fitting'), hasRoom()], [false, true]);
});

test('hard requests - a filter that says the same word refuses, and nobody waits for a search', () => {
  const { view } = rig(hardHosts(3)).on.state;
  const filter: Filter = { name: 'own', refusal: () => ({ code: 'hard-to-tell', message: 'no' }) };
  const shape = shapeOf(
    { rankings: emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [filter] }), view },
    { spec: HARD },
  );
  assert.equal([shape.refusals.hosts, shape.unsearched.size], [3, 0]);
});

test('hard requests - one that waits is served when the host that fits has been searched', () => {
  const desk = rig(hardHosts(200));
  const waiting = { ...hardSelect('patient'), waits: { since: 1 }, expiresAt: 1e12 };
  desk.hear(waiting, 'conductor/0');
  untilSaid(desk);
  desk.hear({ type: 'nothing-held', consumer: 'patient', attempt: 1 }, 'placement/0');
  assert.ok(desk.on.pass(3_000).some((turned) => sentOf(turned, 'parked').length > 0) || isParked(desk));
  desk.put(FITTING);
  const told = desk.hear(
    {
      type: 'hosts-changed',
      cell: 'c1',
      epoch: 1,
      sequence: 201,
      hosts: [{ host: 'fitting', provider: 'p-fitting', state: 'up' }],
    },
    'cell/c1',
  );
  assert.equal(sentOf(told, 'claim'), [], 'placement has not told of it yet');
  const { view, rankings } = desk.on.state;
  assert.is(
    best({ rankings, view }, { spec: HARD }, () => false),
    null,
  );
  for (const root of view.hosts.keys()) view.changes.push(root);
  for (const message of desk.fed()) desk.hear(message, 'placement/0');
  const [shape] = rankings.shapes.values();
  assert.ok(shape?.unsearched.has('p-fitting'), 'others were searched before it');
  desk.on.pass(3_000);
  const claimed = desk.on.state.open.get(requestKey('conductor/0', 'patient'))?.promised.get('patient');
  assert.is(claimed?.host, 'fitting');
});

const isParked = ({ on }: Rig) => on.state.parking.byRequest.has(requestKey('conductor/0', 'patient'));

function viewOf(plan: readonly HostPlan[]): View {
  return rig(plan).on.state.view;
}

test('hard requests - what fits every host is found on each, however much it asks', () => {
  const view = viewOf(Array.from({ length: 300 }, (_, n) => ({ cell: 'c1', host: `h${n}`, devices: 40 })));
  for (const [groups, groupPolicy] of [
    [8, 'none'],
    [31, 'isolate'],
  ] as const) {
    const asked = Array.from({ length: groups }, (_, at) => ({ name: `g${at}`, resources: { PGPU: 51 + at } }));
    const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
    assert.is(standing({ rankings, view }, { spec: { groups: asked, groupPolicy } }, 1).fits, 300);
  }
});

test('hard requests - one that fitted is not lost when all hosts change, and the numbers add up meanwhile', () => {
  const { view } = rig([...hardHosts(220), FITTING]).on.state;
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  const request = { spec: HARD };
  const count = () => {
    const { hosts, fits, refused } = standing({ rankings, view }, request, 1);
    assert.is(
      refused.reduce((sum, one) => sum + one.hosts, fits),
      hosts,
    );
    return refused.find(({ code }) => code === 'hard-to-tell')?.hosts ?? 0;
  };
  assert.ok(count() > 50, `${count()}`);
  view.changes.push('p-fitting');
  assert.is(best({ rankings, view }, request, () => false)?.host, 'fitting');
  for (const root of view.hosts.keys()) view.changes.push(root);
  assert.is(best({ rankings, view }, request, () => false)?.host, 'fitting');
  assert.ok(count() > 50, `${count()}`);
});

test('hard requests - a look at all hosts takes a bounded effort in each turn and in all, and says no less than is true', () => {
  const { view } = rig([...hardHosts(200), FITTING]).on.state;
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  let told: Survey | undefined;
  const survey = surveyOf(rankings, view, { request: { spec: HARD }, count: 3, limit: 3 }, (found) => {
    told = found;
  });
  const work = { state: { view, sweeps: [] }, turn: { now: 0, steady: 0, wakeAfter() {} } } as unknown as Work;
  const first = effort.looks;
  let most = 0;
  let turns = 0;
  for (let before = first; told === undefined; before = effort.looks) {
    if (turns === 0) assert.ok(beginSweep(work, survey));
    else goOnSweeping(work);
    most = Math.max(most, effort.looks - before);
    turns += 1;
  }
  assert.ok(turns > 10, `${turns} turns`);
  assert.ok(most < MOST_IN_A_TURN, `${most} looks in one turn`);
  assert.ok(effort.looks - first < 6_000_000, `${effort.looks - first} looks`);
  assert.is(told.hosts, 201);
  assert.is(
    told.refused.reduce((sum, { hosts }) => sum + hosts, told.fits),
    201,
  );
  assert.not(
    told.advice.some(({ code }) => code === 'fewer-instances'),
    'there may be more that fit',
  );
  assert.ok(
    told.advice.every(({ partly }) => partly === true),
    'it may fit on more hosts than those that were searched to the end',
  );
});

test('hard requests - what would help on one host is looked for with a bounded effort, however many groups there are', () => {
  let [most, isolated] = [0, 0];
  for (let seed = 0; seed < 60; seed += 1) {
    const random = seededRandom(`one host ${seed}`);
    const view = emptyView();
    const shared = { root: 'p', generation: 1, aggregates: [] };
    const [nodes, gpus] = [random.integer(1, 4), random.integer(2, 8)];
    learnProvider(view, { ...shared, id: 'p', name: 'h', parent: null, traits: [], inventories: {}, used: {} });
    for (let n = 0; n < nodes; n += 1) {
      const node = { ...shared, id: `n${n}`, name: `n${n}`, parent: 'p', traits: [] };
      learnProvider(view, { ...node, inventories: { VCPU: inventory(32) }, used: { VCPU: random.integer(0, 20) } });
      for (let g = 0; g < gpus; g += 1) {
        const id = `n${n}-g${g}`;
        const traits = [random.pick(TRAITS)];
        const inventories = { PGPU: inventory(100) };
        const used = { PGPU: random.integer(0, 90) };
        learnProvider(view, { ...shared, id, name: id, parent: `n${n}`, traits, inventories, used });
      }
    }
    learnHost(view, 'c1', { host: 'h', provider: 'p', state: 'up' });
    const groups = Array.from({ length: random.integer(4, Math.min(30, nodes * gpus + 2)) }, (_, at) => ({
      name: `g${at}`,
      resources: { PGPU: random.integer(10, 60) },
      ...(random.next() < 0.3 ? { required: [random.pick(TRAITS)] } : {}),
    }));
    const spec: RequestSpec = {
      groups: [...groups, { name: '', resources: { VCPU: 8 } }],
      groupPolicy: random.pick(['isolate', 'none'] as const),
      sameSubtree: [
        ['g0', 'g1'],
        ['g2', 'g3'],
      ],
    };
    const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
    const before = effort.looks;
    surveyOf(rankings, view, { request: { spec }, count: 1, limit: 3 }, () => {}).visit(
      view.hosts.get('p') as ViewHost,
      true,
    );
    most = Math.max(most, effort.looks - before);
    const { fits, advice } = surveyed(view, spec);
    const tree = treeOf(view, 'p');
    for (const one of advice) {
      const on = one.code === 'when-empty' ? treeOf(emptied(view), 'p') : tree;
      assert.not.equal(fit(applied(spec, one) ?? spec, on), null, JSON.stringify(one));
    }
    if (fits > 0 || spec.groupPolicy === 'none' || fit({ ...spec, groupPolicy: 'none' }, tree) === null) continue;
    assert.ok(advice.length === 3 || advice.some(({ code }) => code === 'without-isolation'), `seed ${seed}`);
    isolated += 1;
  }
  assert.ok(isolated > 5, `${isolated}`);
  assert.ok(most > 20_000 && most < MOST_IN_A_TURN, `${most} looks`);
});

test('hard requests - to count a thousand instances on one host of hundreds of devices takes a bounded effort, and it is said that more may fit', () => {
  const groups = Array.from({ length: 12 }, (_, at) => ({
    name: `g${at}`,
    resources: { PGPU: 10 + at },
    ...(at % 3 === 0 ? { required: ['CUSTOM_FAST'] } : {}),
  }));
  for (const [size, last] of [
    [1_000, []],
    [100_000, [{ name: 'big', resources: { PGPU: 100_060 } }]],
  ] as const) {
    const view = emptyView();
    const shared = { root: 'p', generation: 1, aggregates: [], used: {} };
    learnProvider(view, { ...shared, id: 'p', name: 'h', parent: null, traits: [], inventories: {} });
    for (let n = 0; n < 400; n += 1) {
      const device = { ...shared, id: `d${n}`, name: `d${n}`, parent: 'p', traits: [TRAITS[n % 2] as string] };
      learnProvider(view, { ...device, inventories: { PGPU: inventory(size + ((n * 7) % 50)) } });
    }
    learnHost(view, 'c1', { host: 'h', provider: 'p', state: 'up' });
    const spec: RequestSpec = {
      groups: [...groups, ...last],
      groupPolicy: 'isolate',
      instanceGroup: { id: 'p/g', policy: 'affinity' },
    };
    let told: Survey | undefined;
    const survey = surveyOf(
      emptyRankings(DEFAULT_WEIGHERS, 's'),
      view,
      { request: { spec }, count: 1_000, limit: 3 },
      (found) => {
        told = found;
      },
    );
    const before = effort.looks;
    survey.visit(view.hosts.get('p') as ViewHost, true);
    assert.ok(effort.looks - before < MOST_IN_A_TURN, `${effort.looks - before} looks`);
    for (const _ of survey.conclude?.() ?? []);
    survey.done({} as Work);
    const { fits = 0, times = 0, refused, partly, advice } = told ?? {};
    assert.is(fits, 0);
    assert.is(refused?.[0]?.code, last.length > 0 ? 'unit-constraint' : 'hard-to-tell');
    if (last.length === 0) assert.ok(partly === true && times > 0, `${times}`);
    assert.ok(advice?.every((one) => one.partly === true));
  }
});

/** A request for as many as there are hosts that may have them, beside very many that may not: what is claimed each turn. */
function claimsOfMany(weight: number, where: Select['where'], byFilter: boolean): { claims: number[]; looks: number } {
  const members = 800;
  const count = 100;
  const isOut = (host: string) => Number(host.slice(1)) < members;
  const late: Filter = {
    name: 'late',
    late: true,
    refusal: ({ host }) => (isOut(host) ? { code: 'out', message: `'${host}' is out` } : null),
  };
  const on = bench(
    scheduler({
      name: 's',
      warmUpMs: 0,
      weighers: [{ ...free('VCPU'), multiplier: weight }],
      filters: byFilter ? [late] : [],
      hostsATurn: 10_000,
    }),
  );
  const { view } = on.state;
  for (let n = 0; n < members + count; n += 1) {
    const host = `h${n}`;
    tellView(view, { host, used: isOut(host) ? { VCPU: 1 } : {} });
    if (isOut(host) && !byFilter) learnMembers(view.groups, `p-${host}`, { '/apart': 1 }, undefined);
  }
  on.state.incomplete.clear();
  on.pass(100);
  const instances = named(count);
  const asked = selectFor('r', { instances });
  const instanceGroup = { id: '/apart', policy: 'anti-affinity' as const, maxPerHost: 1 };
  const before = effort.looks;
  const first = on.tell({ ...asked, ...present({ where }), spec: { ...asked.spec, instanceGroup } }, 'conductor/0');
  const looks = effort.looks - before;
  const claims = [first, ...on.pass(500)].map((turned) => sentOf(turned, 'claim').length);
  const all = claims.reduce((sum, some) => sum + some, 0);
  assert.is(all, count, 'each of those that may have one is claimed');
  return { claims, looks };
}

test('hard requests - where very many that rank first are refused as they are picked, hosts for many are chosen over several turns', () => {
  for (const where of [undefined, { cells: ['c1'] }, { avoidCells: ['c2'] }]) {
    const { claims } = claimsOfMany(-1, where, true);
    assert.ok(Math.max(...claims) <= 26, `${Math.max(...claims)} chosen in one turn`);
  }
});

test('hard requests - hosts for many of a group that is on very many others are chosen at once, whichever rank first', () => {
  for (const [weight, where] of [
    [1, undefined],
    [-1, undefined],
    [-1, { cells: ['c1'] }],
    [-1, { avoidCells: ['c2'] }],
  ] as const) {
    const { claims, looks } = claimsOfMany(weight, where as Select['where'], false);
    assert.is(Math.max(...claims), 100);
    assert.ok(looks < 2 * 800, `${looks} looks`);
  }
});

test.run();
