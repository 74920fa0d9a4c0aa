// Area: ranking, hosts that a group fills. However members, hosts and amounts change, so many hosts are told to be refused by
// the rule of a group as are, and of a group on thousands of hosts each choice looks only at those that changed.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RequestSpec } from '../../actors/messages/common.ts';
import { emptyDraft, noteStanding } from '../../actors/scheduler/decision.ts';
import { groupAllows } from '../../actors/scheduler/group-rules.ts';
import { best } from '../../actors/scheduler/picking.ts';
import { emptyRankings, type Fleet, shapeOf } from '../../actors/scheduler/ranking/ranking.ts';
import { promiseMember } from '../../actors/scheduler/view/groups-view.ts';
import { emptyView, forgetGenerations, learnUsage, type View } from '../../actors/scheduler/view/view.ts';
import { forgetHost } from '../../actors/scheduler/view/view-hosts.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { seededRandom } from '../../runtime/random.ts';
import { tellHost, tellView, viewOf } from '../support/facts.ts';
import { NOBODY, specOf } from '../support/ranking.ts';

const test = suite('ranking, hosts that a group fills');

const apart = (id: string, maxPerHost: number, vcpu = 1): RequestSpec => ({
  ...specOf(vcpu),
  instanceGroup: { id, policy: 'anti-affinity', maxPerHost },
});

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

function fleetOf(count: number): Fleet {
  return { rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view: viewOf(...hosts(count)) };
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
  promiseMember(view.groups, 'g', 'p-h2999', 1);
  looks.length = 0;
  assert.equal(told(fleet, spec), [2_501, 499]);
  assert.equal(looks, ['p-h2999']);
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
