// Area: ranking, how many hosts have room and what the others lack. What is put right by the hosts that changed is what a
// count of all says, whatever comes, goes and changes; and it takes as many looks as hosts have changed, however many there are.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RequestSpec } from '../../actors/messages/common.ts';
import type { HostState } from '../../actors/messages/scheduler.ts';
import { OF_COLUMN } from '../../actors/scheduler/ranking/columns.ts';
import type { FamilyHosts } from '../../actors/scheduler/ranking/family-hosts.ts';
import { Moves } from '../../actors/scheduler/ranking/moves.ts';
import { emptyRankings, shapeOf } from '../../actors/scheduler/ranking/ranking.ts';
import { Rows } from '../../actors/scheduler/ranking/rows.ts';
import type { Shape } from '../../actors/scheduler/ranking/shape.ts';
import { Tally } from '../../actors/scheduler/ranking/tally.ts';
import { noteShard } from '../../actors/scheduler/view/silence.ts';
import { emptyView, learnProvider, learnUsage, type View } from '../../actors/scheduler/view/view.ts';
import { forgetHost, learnHost } from '../../actors/scheduler/view/view-hosts.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { seededRandom } from '../../runtime/random.ts';
import { inventoryOf } from '../support/placement-desk.ts';

const test = suite('tally');

const CELLS = 5;
const [ROOM, TRAIT] = [40, 'CUSTOM_FAST'];

/** A fleet whose hosts change by chance. */
function fleetOf(hosts: number, seed: number) {
  const random = seededRandom(seed);
  const view: View = { ...emptyView(3), statsMatter: false };
  let generation = 0;
  const use = () => ({ VCPU: random.integer(0, ROOM + 2), MEMORY_MB: 64 * random.integer(0, ROOM + 2) });
  const stock = (total: number) => ({
    total,
    reserved: random.integer(0, 9) === 0 ? 3 : 0,
    min_unit: random.integer(0, 30) === 0 ? 2 : 1,
    max_unit: random.integer(0, 5) === 0 ? Math.ceil(total / 4) : total,
    step_size: 1,
    allocation_ratio: random.integer(0, 9) === 0 ? 1.15 : 1,
  });
  const learn = (n: number) => {
    generation += 1;
    const id = `p${n}`;
    const inventories = { VCPU: stock(ROOM), ...(random.integer(0, 20) > 0 ? { MEMORY_MB: stock(64 * ROOM) } : {}) };
    const traits = random.integer(0, 3) > 0 ? [TRAIT] : [];
    const spec = { id, name: `h${n}`, parent: null, inventories, traits, aggregates: [] };
    learnProvider(view, { ...spec, root: id, generation, used: use() });
  };
  const tell = (n: number, state: HostState['state'] = 'up', cell = `c${n % CELLS}`) =>
    learnHost(view, cell, { host: `h${n}`, provider: `p${n}`, state });
  const useAnew = (n: number) => {
    generation += 1;
    learnUsage(view, { id: `p${n}`, generation, used: use() });
  };
  for (let n = 0; n < hosts; n += 1) {
    learn(n);
    tell(n);
  }
  const change = () => {
    const n = random.integer(0, hosts - 1);
    const what = random.integer(0, 99);
    if (what < 5) learn(n);
    else if (what < 10) tell(n, random.next() < 0.5 ? 'up' : 'down');
    else if (what < 13) tell(n, 'up', `c${random.integer(0, CELLS - 1)}`);
    else if (what < 16) forgetHost(view, view.hosts.get(`p${n}`)?.cell ?? '', `p${n}`);
    else if (what < 19) tell(hosts + random.integer(0, hosts));
    else if (what < 22) learn(hosts + random.integer(0, hosts));
    else if (what < 23) noteShard(view, random.integer(0, 2), random.next() < 0.5);
    else useAnew(n);
  };
  return { view, random, change, useAnew };
}

const sizeOf = (n: number, required?: string[]): RequestSpec => {
  const memory = { MEMORY_MB: 16 + ((640 * n) % 2_000) };
  const cpus = { VCPU: 1 + ((7 * n) % 39) };
  const resources = n % 2 === 0 ? { ...cpus, ...memory } : { ...memory, ...cpus };
  return { groups: [{ name: '', resources, ...(required ? { required } : {}) }], groupPolicy: 'none' };
};

const figuresOf = (tally: Tally, cells: readonly string[]) => {
  const { fits, refused } = tally;
  return { fits, refused, fitsIn: cells.map((cell) => tally.fitsIn(cell)), refusing: tally.refusing() };
};

/** As if it had never counted before. */
const countedAnew = ({ member }: Shape): Tally => {
  assert.ok(member);
  const tally = new Tally(member);
  tally.catchUp();
  return tally;
};

test('tally - what is put right by hosts that changed is what a count of all says, after whatever changes', () => {
  const cells = Array.from({ length: CELLS }, (_, n) => `c${n}`);
  let [followed, anew, kept, sought, unmet, beyondUnit] = [0, 0, 0, 0, 0, 0];
  for (let seed = 0; seed < 6; seed += 1) {
    const { view, random, change } = fleetOf([40, 300, 1_200][seed % 3] as number, seed);
    const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
    const required = seed % 2 === 0 ? [TRAIT] : undefined;
    const specs = Array.from({ length: 12 }, (_, n) => sizeOf(n, required));
    // The first is ranked by itself till there is a second.
    for (const spec of specs) shapeOf({ rankings, view }, { spec });
    const looksSoFar = new Map<Tally, number>();
    const most = [2, 12, 60][random.integer(0, 2)] as number;
    for (let round = 0; round < 150; round += 1) {
      for (let changes = random.integer(0, round % 40 === 39 ? 600 : most); changes > 0; changes -= 1) change();
      const spec = specs[random.integer(0, round % 20 < 15 ? 3 : specs.length - 1)] as RequestSpec;
      const shape = shapeOf({ rankings, view }, { spec });
      if (shape.member === null) continue;
      const told = shape.tallied() as Tally;
      const { looks } = told;
      const counted = countedAnew(shape);
      const looksNow = looks - (looksSoFar.get(told) ?? 0);
      if (looksNow >= counted.looks) anew += 1;
      else if (looksNow > 0) followed += 1;
      const figures = figuresOf(told, cells);
      looksSoFar.set(told, told.looks);
      assert.equal(figures, figuresOf(counted, cells), `seed ${seed}, round ${round}`);
      const { others, refused } = shape.member.known.hosts;
      assert.is(figures.fits + figures.refused + others.size + refused.refused, view.hosts.size);
      assert.is(shape.fits + shape.refusals.hosts, view.hosts.size);
      if (told.looks === looks) kept += 1;
      else sought += 1;
      for (const { reason } of figures.refusing) {
        if (reason.code === 'unit-constraint') beyondUnit += 1;
        if (reason.about === TRAIT) unmet += 1;
      }
    }
  }
  const seen = [followed, anew, kept, sought, unmet, beyondUnit];
  assert.ok(Math.min(...seen) > 50, `${seen}`);
});

test('tally - it takes as many looks as hosts have changed, however many there are', () => {
  for (const hosts of [1_000, 16_000]) {
    const { view, random, useAnew } = fleetOf(hosts, 1);
    const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
    const shape = (n: number) => shapeOf({ rankings, view }, { spec: sizeOf(n) });
    for (const n of [2, 3, 4]) assert.ok(shape(n).current.size > 0);
    const { looks } = shape(4).tallied() as Tally;
    assert.ok(looks > 100, 'it was counted once');
    for (let round = 1; round <= 50; round += 1) {
      // Others ask meanwhile.
      for (let changes = 0; changes < 10; changes += 1) {
        useAnew(random.integer(0, hosts - 1));
        assert.ok(shape(3).current.size > 0);
      }
      assert.ok(shape(4).current.size > 0);
      assert.ok(shape(4).refusals.hosts > 0);
      assert.ok(shape(4).fitsIn('c1') > 0);
      const since = (shape(4).tallied() as Tally).looks - looks;
      assert.ok(since <= 20 * round, `${since} looks at ${10 * round} hosts of ${hosts} that changed`);
    }
  }
});

test('tally - a host that came nearest is sought where hosts lack the class, not where none does', () => {
  const view = emptyView();
  const inventories = { VCPU: inventoryOf({ total: 64 }) };
  const use = (n: number, generation: number, vcpu: number) =>
    learnUsage(view, { id: `p${n}`, generation, used: { VCPU: vcpu } }, 0);
  for (let n = 0; n < 4_000; n += 1) {
    const lacks = n % 100 === 99;
    const told = { id: `p${n}`, name: `h${n}`, parent: null, inventories, traits: [], aggregates: [] };
    learnProvider(view, { ...told, root: `p${n}`, generation: 0, used: { VCPU: lacks ? 50 + (n % 13) : n % 30 } });
    learnHost(view, lacks ? 'last' : `c${n % 4}`, { host: `h${n}`, provider: `p${n}`, state: 'up' });
  }
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  const tallyOf = (vcpu: number) => {
    const spec = { groups: [{ name: '', resources: { VCPU: vcpu } }], groupPolicy: 'none' as const };
    return shapeOf({ rankings, view }, { spec }).tallied() as Tally;
  };
  tallyOf(20);
  shapeOf({ rankings, view }, { spec: { groups: [{ name: '', resources: { VCPU: 22 } }], groupPolicy: 'none' } });
  tallyOf(21).refusing();
  for (let round = 1; round <= 20; round += 1) {
    const nearest = tallyOf(21).refusing()[0]?.nearest;
    assert.ok(nearest !== undefined);
    use(Number((rankings.slots?.roots[nearest.slot] ?? '').slice(1)), round, 60 + (round % 3));
    const tally = tallyOf(21);
    const { looks } = tally;
    tally.refusing();
    assert.ok(tally.looks - looks < 400, `${tally.looks - looks} looks in round ${round}`);
  }
});

test('tally - where more have changed than it takes looks to count all, all are counted anew', () => {
  const { view, useAnew } = fleetOf(300, 1);
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  const told = () => shapeOf({ rankings, view }, { spec: sizeOf(4) }).tallied() as Tally;
  for (const n of [2, 3]) shapeOf({ rankings, view }, { spec: sizeOf(n) });
  const once = told().looks;
  for (let round = 0; round < 5; round += 1) {
    for (let n = 0; n < 300; n += 1) useAnew(n);
    const before = told().looks;
    assert.ok(before <= (round + 2) * 2 * once, `${before} looks after ${once} the first time`);
  }
});

test('tally - of the last changes it is kept how the hosts stood before and after, also while one is looked at again', () => {
  const now = new Rows(5);
  now.widen(2);
  now.values.fill(5);
  const places = [{}, {}];
  const hosts = { placeOf: (slot: number) => places[slot] } as unknown as FamilyHosts;
  const moves = new Moves([{ resourceClass: 'VCPU', at: 0, usedAt: 4 }], now, hosts);
  moves.makeRoom(1);
  const free = (at: number) => moves.stood.values[at * now.width + OF_COLUMN.free];
  const KEPT = 128;
  for (let n = 1; n <= 3 * KEPT; n += 1) {
    moves.note(1, () => {
      now.values[now.width + OF_COLUMN.free] = 5 + n;
    });
    moves.note(0, () => {});
    assert.is(moves.end, n, 'a look that finds nothing new is no change');
    const first = Math.max(0, n - KEPT + 1);
    assert.is(moves.areKeptFrom(first), true);
    assert.is(moves.areKeptFrom(first - 1), false);
    for (let position = first; position < n; position += 1) {
      assert.is(moves.slotOf(position), 1);
      assert.equal(
        [moves.before(position), moves.after(position)].map((at) => [free(at), moves.placeAt(at)]),
        [5 + position, 6 + position].map((left) => [left, places[1]]),
      );
    }
  }
  moves.makeRoom(16 * KEPT);
  assert.equal([moves.areKeptFrom(moves.end - 1), moves.areKeptFrom(moves.end)], [false, true], 'with more room anew');
});

test.run();
