// Area: ranking, hosts that a group fills. However members, hosts and amounts change, so many hosts are told to be refused by
// the rule of a group as are, and of a group on thousands of hosts each choice looks only at those that changed.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { effort } from '../../actors/fitting/effort.ts';
import type { RequestSpec } from '../../actors/messages/common.ts';
import { present } from '../../actors/present.ts';
import { alternatesFor, selectionOf } from '../../actors/scheduler/alternates.ts';
import { emptyDraft, noteStanding } from '../../actors/scheduler/decision.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { fullByRule, groupAllows } from '../../actors/scheduler/group-rules.ts';
import { firstOfGroup, type Picked, pickOfGroup } from '../../actors/scheduler/grouping.ts';
import { best, bestOfAll, bestOfCell } from '../../actors/scheduler/picking.ts';
import { emptyRankings, type Fleet, shapeOf } from '../../actors/scheduler/ranking/ranking.ts';
import { weighAnew } from '../../actors/scheduler/ranking/weighing.ts';
import { type FullBy, membersOn, promiseMember } from '../../actors/scheduler/view/groups-view.ts';
import { stockOf } from '../../actors/scheduler/view/host-facts.ts';
import { noteCell, SILENCE } from '../../actors/scheduler/view/silence.ts';
import { emptyView, forgetGenerations, learnUsage, type View } from '../../actors/scheduler/view/view.ts';
import { forgetHost } from '../../actors/scheduler/view/view-hosts.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { free } from '../../actors/scheduler/weighers/free.ts';
import type { Weigher } from '../../actors/scheduler/weighers/weigher.ts';
import { seededRandom } from '../../runtime/random.ts';
import { tellHost, tellView, viewOf } from '../support/facts.ts';
import { NOBODY, specOf } from '../support/ranking.ts';

const test = suite('ranking, hosts that a group fills');

const apart = (id: string, maxPerHost: number, vcpu = 1): RequestSpec => ({
  ...specOf(vcpu),
  instanceGroup: { id, policy: 'anti-affinity', maxPerHost },
});

const softly = (id: string): RequestSpec => ({ ...specOf(1), instanceGroup: { id, policy: 'soft-anti-affinity' } });

/** How many hosts a record says that the rule of the group refuses, and how many fit. */
function told(fleet: Fleet, spec: RequestSpec): [number, number] {
  const draft = emptyDraft({});
  noteStanding(draft, fleet, { spec }, 1);
  const refused = draft.refused.find(({ code }) => code === 'group-anti-affinity')?.hosts ?? 0;
  return [refused, draft.fits];
}

function lookedAt(fleet: Fleet, spec: RequestSpec): [number, number] {
  const all = [...shapeOf(fleet, { spec }).current.keys()];
  const refused = all.filter((root) => !groupAllows(fleet.view, spec, root)).length;
  return [refused, all.length - refused];
}

const hosts = (count: number) => Array.from({ length: count }, (_, n) => ({ host: `h${n}`, cell: `c${n % 3}` }));

function fleetOf(count: number, ...weighers: readonly Weigher[]): Fleet {
  return {
    rankings: emptyRankings(weighers.length > 0 ? weighers : DEFAULT_WEIGHERS, 's'),
    view: viewOf(...hosts(count)),
  };
}

test('hosts that a group fills - their number is the one that a look at each of them finds', () => {
  let most = 0;
  for (let seed = 1; seed <= 12; seed += 1) {
    const random = seededRandom(`full ${seed}`);
    const view = emptyView();
    for (const one of hosts(160)) tellView(view, { ...one, used: { VCPU: random.integer(0, 6) } });
    const fleet = { rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view };
    const groups = ['a', 'b', 'c', 'd', 'e', 'f'];
    const specs = groups.flatMap((id) => [apart(id, 1), apart(id, 2, 3)]);
    const promised: [string, string][] = [];
    let generation = 0;
    const changeOne = (): void => {
      const host = `h${random.integer(0, 159)}`;
      const root = `p-${host}`;
      const group = random.pick(groups);
      const what = random.integer(0, 99);
      if (what < 40) {
        const members = random.integer(0, 3);
        const others = Object.fromEntries(groups.filter(() => random.chance(0.4)).map((one) => [one, 1]));
        const told = members === 0 ? others : { ...others, [group]: members };
        generation += 1;
        learnUsage(view, { id: root, generation, used: { VCPU: random.integer(0, 6) }, groups: told });
      } else if (what < 60) {
        promiseMember(view.groups, group, root, 1);
        promised.push([group, root]);
      } else if (what < 80) {
        const [one] = promised.splice(random.integer(0, Math.max(0, promised.length - 1)), 1);
        if (one !== undefined) promiseMember(view.groups, ...one, -1);
      } else if (what < 98) {
        tellHost(view, { host, cell: `c${random.integer(0, 3)}`, state: random.chance(0.2) ? 'down' : 'up' });
      } else {
        forgetHost(view, view.hosts.get(root)?.cell ?? '', root);
      }
    };
    for (let round = 0; round < 120; round += 1) {
      const changes = random.chance(0.05) ? 400 : random.integer(0, 12);
      for (let change = 0; change < changes; change += 1) changeOne();
      if (random.chance(0.03)) {
        generation += 1;
        endGroup(view, random.pick(groups), generation);
      }
      for (const spec of random.chance(0.5) ? [random.pick(specs)] : specs) {
        const found = told(fleet, spec);
        assert.equal(found, lookedAt(fleet, spec), `seed ${seed}, round ${round}`);
        most = Math.max(most, found[0]);
      }
    }
  }
  assert.ok(most > 64, 'some are followed');
});

/** All of its members leave: another group may come by the same name. */
function endGroup(view: View, group: string, generation: number): void {
  for (const root of [...(view.groups.told.get(group)?.keys() ?? [])]) {
    learnUsage(view, { id: root, generation, used: {} });
  }
  forgetGenerations(view, 0);
}

test('hosts that a group fills - of more changes than are kept they are counted anew', () => {
  const fleet = fleetOf(100);
  const { view } = fleet;
  const spec = apart('g', 1);
  for (let n = 0; n < 80; n += 1) promiseMember(view.groups, 'g', `p-h${n}`, 1);
  assert.equal(told(fleet, spec), [80, 20]);
  promiseMember(view.groups, 'g', 'p-h98', 1);
  for (let n = 0; n < 5_000; n += 1) promiseMember(view.groups, 'g', 'p-h99', n % 2 === 0 ? 1 : -1);
  assert.equal(told(fleet, spec), [81, 19]);
});

test('hosts that a group fills - hosts that come meanwhile count beside those that were there', () => {
  const fleet = fleetOf(100);
  const { view } = fleet;
  const spec = apart('g', 1);
  for (let n = 0; n < 80; n += 1) promiseMember(view.groups, 'g', `p-h${n}`, 1);
  assert.equal(told(fleet, spec), [80, 20]);
  for (let n = 100; n < 140; n += 1) tellView(view, { host: `h${n}`, cell: 'c0' });
  for (let n = 100; n < 140; n += 2) promiseMember(view.groups, 'g', `p-h${n}`, 1);
  assert.equal(told(fleet, spec), [100, 40]);
  for (let n = 0; n < 20; n += 1) promiseMember(view.groups, 'g', `p-h${n}`, -1);
  assert.equal(told(fleet, spec), [80, 60]);
});

test('hosts that a group fills - one that is searched to the end, and fits, counts with them though it has not changed', () => {
  let isSearched = false;
  const filter: Filter = {
    name: 'search',
    refusal: ({ host }) => (host !== 'h0' || isSearched ? null : { code: 'not-searched', message: 'not yet' }),
  };
  const { view } = fleetOf(100);
  const fleet = { view, rankings: emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [filter] }) };
  const spec = apart('g', 1);
  for (let n = 0; n < 80; n += 1) promiseMember(view.groups, 'g', `p-h${n}`, 1);
  assert.equal(told(fleet, spec), [79, 20]);
  isSearched = true;
  weighAnew(fleet, shapeOf(fleet, { spec }), 'p-h0');
  assert.equal(told(fleet, spec), [80, 20]);
});

test('hosts that a group fills - a group that has ended, and begun again, is another one', () => {
  const fleet = fleetOf(200);
  const { view } = fleet;
  const spec = apart('g', 1);
  const all = (sign: 1 | -1, first: number) => {
    for (let n = first; n < first + 100; n += 1) promiseMember(view.groups, 'g', `p-h${n}`, sign);
  };
  all(1, 0);
  assert.equal(told(fleet, spec), [100, 100]);
  all(-1, 0);
  assert.is(view.groups.movements.size, 0, 'nothing is kept of it');
  all(1, 50);
  promiseMember(view.groups, 'g', 'p-h0', 1);
  assert.equal(told(fleet, spec), [101, 99]);
});

test('hosts that a group fills - a choice looks at those that changed alone, however many there are', () => {
  const fleet = fleetOf(3_000);
  const { view } = fleet;
  const spec = apart('g', 1);
  for (let n = 0; n < 2_500; n += 1) promiseMember(view.groups, 'g', `p-h${n}`, 1);
  assert.equal(told(fleet, spec), [2_500, 500]);
  const looks = looksAt(view, 'g');
  for (const [root, full] of [
    ['p-h2999', 2_501],
    ['p-h2998', 2_502],
  ] as const) {
    promiseMember(view.groups, 'g', root, 1);
    looks.length = 0;
    assert.equal(told(fleet, spec), [full, 3_000 - full]);
    assert.equal(looks, [root]);
  }
  assert.is.not(best(fleet, { spec }, NOBODY), null);
});

test('hosts that a group fills - so it is of dozens of groups in turn, and what is kept of each counts as hosts that are ranked do', () => {
  const fleet = fleetOf(400);
  const { view } = fleet;
  const groups = Array.from({ length: 40 }, (_, n) => `g${n}`);
  const ranked = shapeOf(fleet, { spec: apart('g', 1) }).size;
  const looks = groups.map((group) => {
    for (let n = 0; n < 100; n += 1) promiseMember(view.groups, group, `p-h${n}`, 1);
    assert.equal(told(fleet, apart(group, 1)), [100, 300]);
    return looksAt(view, group);
  });
  assert.ok(shapeOf(fleet, { spec: apart('g', 1) }).size >= ranked + 40);
  for (const group of groups) promiseMember(view.groups, group, 'p-h399', 1);
  for (const some of looks) some.length = 0;
  for (const group of groups) assert.equal(told(fleet, apart(group, 1)), [101, 299]);
  assert.equal(looks, Array(40).fill(['p-h399']));
});

/** Hosts are packed, as numbers tell or as each of them is asked. */
const PACKING: readonly Weigher[] = [
  { ...free('VCPU'), multiplier: -1 },
  { name: 'used', multiplier: 1, ignoresStats: true, weigh: ({ tree }) => -stockOf(tree, 'VCPU').free },
];

test('hosts that a group fills - where they come first in rank, the same ones are chosen as if each had been passed', () => {
  let passed = 0;
  for (let seed = 1; seed <= 12; seed += 1) {
    const random = seededRandom(`passed ${seed}`);
    const view = emptyView();
    for (const one of hosts(500)) tellView(view, { ...one, used: { VCPU: random.integer(0, 4) } });
    const fleet = { rankings: emptyRankings([random.pick(PACKING)], 's'), view };
    const specs = [apart('a', 1), apart('a', 2), apart('b', 1, 3), softly('b')];
    const promised: [string, string][] = [];
    let generation = 0;
    const tell = (n: number, members: Record<string, number>) => {
      generation += 1;
      const used = { VCPU: Object.keys(members).length > 0 ? random.integer(4, 7) : random.integer(0, 8) };
      learnUsage(view, { id: `p-h${n}`, generation, used, groups: members });
    };
    for (let n = 0; n < 300; n += 1) tell(n, random.chance(0.8) ? { a: random.integer(1, 2), b: 1 } : {});
    const changeOne = (): void => {
      const n = random.integer(0, 499);
      const what = random.integer(0, 9);
      if (what < 4) tell(n, random.chance(0.5) ? { a: random.integer(1, 2), b: 1 } : {});
      else if (what < 6) {
        const one = [random.pick(['a', 'b']), `p-h${n}`] as [string, string];
        promiseMember(view.groups, ...one, 1);
        promised.push(one);
      } else if (what < 7) {
        const one = promised.pop();
        if (one !== undefined) promiseMember(view.groups, ...one, -1);
      } else if (what < 9) tellHost(view, { host: `h${n}`, cell: `c${random.integer(0, 3)}`, state: 'up' });
      else forgetHost(view, view.hosts.get(`p-h${n}`)?.cell ?? '', `p-h${n}`);
    };
    for (let round = 0; round < 80; round += 1) {
      if (random.chance(0.1)) noteCell(view, `c${random.integer(0, 3)}`, random.chance(0.5));
      for (let change = random.pick([0, 1, 3, 40, 100]); change > 0; change -= 1) changeOne();
      const spec = random.pick(specs);
      const request = {
        ...present({
          where: random.pick([undefined, { cells: ['c1'] }, { cells: ['c1', 'c3'] }, { avoidCells: ['c2'] }]),
        }),
        spec,
      };
      const most = random.pick([1, 4, 33]);
      const by = fullByRule(spec) as FullBy;
      const skip = (root: string) => membersOn(view.groups, by.group, root) >= by.mostOnHost;
      const part = { cell: `c${random.integer(0, 3)}`, hearing: 'heard' as const };
      const silence = random.pick([SILENCE.ofNobody, SILENCE.ofShard]);
      const chosenBy = (full?: FullBy) => [
        best(fleet, request, skip, '', undefined, full)?.root,
        ...bestOfAll(fleet, request, most, skip, silence, full).map(({ root }) => root),
        ...bestOfCell(fleet, request, part, most, skip, full).map(({ root }) => root),
      ];
      const before = effort.looks;
      const expected = chosenBy();
      const between = effort.looks;
      assert.equal(chosenBy(by), expected, `seed ${seed}, round ${round}`);
      if (between - before > 64 && effort.looks - between < 20) passed += 1;
    }
  }
  assert.ok(passed > 100, `${passed}`);
});

test('hosts that a group fills - of thousands that come first in rank, each choice passes none', () => {
  for (const [weigher, spec] of PACKING.flatMap((one) =>
    [apart('g', 1), softly('g')].map((spec) => [one, spec] as const),
  )) {
    const fleet = fleetOf(5_000, weigher);
    const { view } = fleet;
    const request = { spec };
    let generation = 0;
    const fill = (root: string, vcpu: number) => {
      generation += 1;
      learnUsage(view, { id: root, generation, used: { VCPU: vcpu }, groups: { g: 1 } });
    };
    for (let n = 0; n < 4_000; n += 1) fill(`p-h${n}`, 4);
    let looks = 0;
    for (let choice = 0; choice < 100; choice += 1) {
      const before = effort.looks;
      const picked = pickOfGroup(fleet, request, { count: 1, isOfSeveral: false }, NOBODY, '') as Picked;
      firstOfGroup(fleet, request, 1, 3, picked);
      fill(picked.found.root, 1);
      const chosen = selectionOf(fleet, request, picked.found);
      assert.is(alternatesFor(fleet, request, [chosen], 2)[0]?.length, 2);
      if (choice > 10) looks += effort.looks - before;
    }
    assert.ok(looks < 100 * 100, `${weigher.name}, ${spec.instanceGroup?.policy}: ${looks}`);
  }
});

/** The roots of which it is asked how many members of a group are promised there, from now on. */
function looksAt(view: View, group: string): string[] {
  const byRoot = view.groups.promised.get(group) as Map<string, number>;
  const looks: string[] = [];
  const get = byRoot.get.bind(byRoot);
  byRoot.get = (root) => {
    looks.push(root);
    return get(root);
  };
  return looks;
}

test.run();
