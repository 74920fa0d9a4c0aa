// Area: ranking, the first of parts of the hosts. Whatever changes between two choices, they are the ones that a look at all
// hosts finds; and where the cells that are silent have more hosts than there are cells, no choice looks at each cell.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { fullByRule, groupAllows } from '../../actors/scheduler/group-rules.ts';
import { pickOfGroup } from '../../actors/scheduler/grouping.ts';
import { best, bestOfAll, type Ranked } from '../../actors/scheduler/picking.ts';
import { before } from '../../actors/scheduler/ranking/heap.ts';
import { emptyRankings, shapeOf } from '../../actors/scheduler/ranking/ranking.ts';
import { weighAnew } from '../../actors/scheduler/ranking/weighing.ts';
import type { Request } from '../../actors/scheduler/request.ts';
import { promiseMember } from '../../actors/scheduler/view/groups-view.ts';
import { isShardSilent, noteCell, noteShard, SILENCE } from '../../actors/scheduler/view/silence.ts';
import { emptyView, learnUsage } from '../../actors/scheduler/view/view.ts';
import { forgetHost } from '../../actors/scheduler/view/view-hosts.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { free } from '../../actors/scheduler/weighers/free.ts';
import { seededRandom } from '../../runtime/random.ts';
import { tellHost, tellView, viewOf } from '../support/facts.ts';
import { NOBODY, specOf } from '../support/ranking.ts';

const test = suite('ranking, the first of parts of the hosts');

const CELLS = 30;

test('first of parts - of all cells, or those that are heard, they are the ones that a look at all hosts finds', () => {
  let found = 0;
  for (let seed = 1; seed <= 16; seed += 1) {
    const random = seededRandom(`heard ${seed}`);
    const view = emptyView(2);
    const tell = (n: number) =>
      tellView(view, { host: `h${n}`, cell: `c${random.integer(0, CELLS - 1)}`, used: { VCPU: random.integer(0, 6) } });
    for (let n = 0; n < 400; n += 1) tell(n);
    const weighers = random.pick([DEFAULT_WEIGHERS, [{ ...free('VCPU'), multiplier: -1 }]]);
    const fleet = { rankings: emptyRankings(weighers, 's'), view };
    const group = { id: 'g', policy: 'anti-affinity' as const };
    const avoidCells = ['c1', 'c2'];
    const requests: Request[] = [
      ...[{ spec: specOf(1) }, { spec: specOf(3) }, { spec: { ...specOf(1), instanceGroup: group } }],
      { spec: specOf(1), where: { avoidCells } },
    ];
    let generation = 0;
    const changeOne = (): void => {
      const host = `h${random.integer(0, 399)}`;
      const root = `p-${host}`;
      const what = random.integer(0, 9);
      generation += 1;
      const groups = random.chance(0.5) ? { g: 1 } : {};
      if (what < 6) learnUsage(view, { id: root, generation, used: { VCPU: random.integer(0, 8) }, groups });
      else if (what < 9) tellHost(view, { host, cell: `c${random.integer(0, CELLS - 1)}`, state: 'up' });
      else forgetHost(view, view.hosts.get(root)?.cell ?? '', root);
    };
    for (let round = 0; round < 100; round += 1) {
      for (let change = random.pick([0, 0, 1, 5, 60]); change > 0; change -= 1) changeOne();
      if (random.chance(0.2)) noteCell(view, `c${random.integer(0, CELLS - 1)}`, random.chance(0.7));
      if (random.chance(0.1)) noteShard(view, 0, random.chance(0.2));
      const request = random.pick(requests);
      const skip = (root: string) => !groupAllows(view, request.spec, root);
      const silence = random.pick([SILENCE.ofNobody, SILENCE.ofNobody, SILENCE.ofShard]);
      const isSilent = (root: string, cell: string) => view.silentCells.has(cell) || isShardSilent(view, root);
      const isOut = (root: string, cell: string) =>
        (silence === SILENCE.ofNobody && isSilent(root, cell)) ||
        (request.where !== undefined && avoidCells.includes(cell));
      const most = random.pick([1, 2, 3, 5, 40]);
      const chosen = bestOfAll(fleet, request, most, skip, silence, fullByRule(request.spec));
      const all = [...shapeOf(fleet, request).current.values()];
      const expected = all.filter(({ root, cell }) => !isOut(root, cell) && !skip(root));
      expected.sort((one, other) => (before(one, other) ? -1 : 1));
      assert.equal(
        chosen.map(({ root }) => root),
        expected.slice(0, most).map(({ root }) => root),
        `seed ${seed}, round ${round}`,
      );
      if (view.silentCells.size > 2) found += chosen.length;
    }
  }
  assert.ok(found > 1_000, `${found}`);
});

test('first of parts - no choice looks at each cell where those that are silent have more hosts than there are cells', () => {
  const cells = 500;
  const hosts = Array.from({ length: 4 * cells }, (_, n) => ({ host: `h${n}`, cell: `c${n % cells}` }));
  const view = viewOf(...hosts);
  for (let n = 0; n < 200; n += 1) noteCell(view, `c${n}`, true);
  const fleet = { rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view };
  let looks = 0;
  const has = view.silentCells.has.bind(view.silentCells);
  view.silentCells.has = (cell) => {
    looks += 1;
    return has(cell);
  };
  for (let choice = 0; choice < 200; choice += 1) {
    const found = best(fleet, { spec: specOf(1) }, NOBODY);
    assert.ok(found !== null && !has(found.cell));
    learnUsage(view, { id: found?.root ?? '', generation: choice + 1, used: { VCPU: 1 } });
  }
  assert.ok(looks < 200 * 50, `${looks}`);
});

test('first of parts - of very many cells none is looked at again for a few dozens of changes', () => {
  const cells = 800;
  for (const silent of [0, 500]) {
    const fleet = {
      rankings: emptyRankings(DEFAULT_WEIGHERS, 's'),
      view: viewOf(...Array.from({ length: 2 * cells }, (_, n) => ({ host: `h${n}`, cell: `c${n % cells}` }))),
    };
    for (let n = 0; n < silent; n += 1) noteCell(fleet.view, `c${n}`, true);
    const { own } = shapeOf(fleet, { spec: specOf(1) });
    let looks = 0;
    const heaps = own.heaps.bind(own);
    own.heaps = (hearing, cells) => {
      looks += 1;
      return heaps(hearing, cells);
    };
    for (let choice = 0; choice < 50; choice += 1) {
      assert.ok(best(fleet, { spec: specOf(1) }, NOBODY) !== null);
      for (let n = 0; n < 40; n += 1) {
        const id = `p-h${(choice * 40 + n) % (2 * cells)}`;
        learnUsage(fleet.view, { id, generation: choice + 1, used: { VCPU: 2 } });
      }
    }
    assert.ok(looks > 0 && looks < 25, `${looks} where ${silent} are silent`);
  }
});

test('first of parts - a host that is searched to the end, and fits, is among them though it has not changed', () => {
  let isSearched = false;
  const filter: Filter = {
    name: 'search',
    refusal: ({ host }) => (host !== 'h0' || isSearched ? null : { code: 'not-searched', message: 'not yet' }),
  };
  const packed = { ...free('VCPU'), multiplier: -1 };
  const group = { id: 'g', policy: 'anti-affinity' as const };
  for (const silent of [[], ['c2']]) {
    for (const spec of [specOf(1), { ...specOf(1), instanceGroup: group }]) {
      const usedOn = (n: number) => (n === 0 ? 5 : n <= 100 ? 4 : 0);
      const hosts = Array.from({ length: 300 }, (_, n) => ({
        host: `h${n}`,
        cell: `c${n % 3}`,
        used: { VCPU: usedOn(n) },
      }));
      const fleet = { rankings: emptyRankings([packed], 's', { filters: [filter] }), view: viewOf(...hosts) };
      const { view } = fleet;
      for (let n = 1; n <= 100; n += 1) promiseMember(view.groups, 'g', `p-h${n}`, 1);
      for (const cell of silent) noteCell(view, cell, true);
      const skip = (root: string) => !groupAllows(view, spec, root);
      const pick = () => best(fleet, { spec }, skip, '', undefined, fullByRule(spec))?.host;
      isSearched = false;
      for (let choice = 0; choice < 3; choice += 1) assert.ok(![undefined, 'h0'].includes(pick()));
      isSearched = true;
      weighAnew(fleet, shapeOf(fleet, { spec }), 'p-h0');
      assert.is(pick(), 'h0');
    }
  }
});

test('first of parts - where hosts with room for several are looked for, others are still found by who asks for one', () => {
  const packed = { ...free('VCPU'), multiplier: -1 };
  const hosts = Array.from({ length: 40 }, (_, n) => ({ host: `h${n}`, cell: 'c1', used: { VCPU: n < 20 ? 7 : 0 } }));
  const fleet = { rankings: emptyRankings([packed], 's'), view: viewOf(...hosts) };
  const together = { spec: { ...specOf(1), instanceGroup: { id: 'g', policy: 'affinity' as const } } };
  const usedOn = (picked: Ranked | null | undefined) =>
    fleet.view.providers.get(picked?.root ?? '')?.stocks.get('VCPU')?.used;
  for (let time = 0; time < 2; time += 1) {
    assert.is(usedOn(pickOfGroup(fleet, together, { count: 4, isOfSeveral: true }, NOBODY, '')?.found), 0);
    assert.is(usedOn(best(fleet, { spec: specOf(1) }, NOBODY)), 7);
  }
});

test.run();
