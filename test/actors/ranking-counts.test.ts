// Area: ranking, by what is counted. What is used, how many instances a host has and what it builds is known at once of what
// this scheduler claims, and of what others do as placement and the cells tell; each counts once.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildLimit, instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { best } from '../../actors/scheduler/picking.ts';
import { emptyRankings, statsMatter } from '../../actors/scheduler/ranking/ranking.ts';
import { endPromise, promise } from '../../actors/scheduler/view/promises.ts';
import { changesEnd, learnProvider, learnUsage, treeOf, type View } from '../../actors/scheduler/view/view.ts';
import { expectNoMore, promiseBuild } from '../../actors/scheduler/view/view-hosts.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { passTo, stateOf, tellHost, tellView, viewOf } from '../support/facts.ts';
import { NOBODY, oneCpuOf, specOf } from '../support/ranking.ts';

const test = suite('ranking, by what is counted');

const generationOf = (view: View): number => view.providers.get('p-h1')?.generation ?? 0;

/** Placement tells how many instances the host has. */
function has(view: View, tenants: number): void {
  learnUsage(view, { id: 'p-h1', generation: generationOf(view) + 1, used: {}, tenants });
}

/** The build of an instance is claimed there, and granted: with it there are so many. */
function claim(view: View, tenants: number, instance = `i${tenants}`): void {
  promiseBuild(view, instance, 'p-h1', [oneCpuOf('h1')]);
  const told = { id: 'p-h1', generation: generationOf(view) + 1, used: {}, tenants };
  endPromise(view, 'p-h1', [oneCpuOf('h1')], [told], 0);
}

test('ranking - a host that was given what was promised is not weighed anew; one of which more or less is used is', () => {
  for (const [used, generation, usedThen, isWeighed, isFreed] of [
    [1, 1, 1, false, false],
    [3, 1, 3, true, false],
    [0, 1, 0, true, true],
    // What is known already is of this claim or a later one.
    [1, 0, 0, true, true],
  ] as const) {
    const view = viewOf({ host: 'h1', cell: 'c1' });
    const freed = new Set<string>();
    view.freed = freed;
    promise(view, 'p-h1', [oneCpuOf('h1')], 1);
    const [provider] = treeOf(view, 'p-h1');
    assert.equal([provider?.stocks.get('VCPU')?.used, provider?.tenants], [1, 1]);
    const before = changesEnd(view);
    const told = { id: 'p-h1', generation, used: { VCPU: used }, ...(used === 0 ? {} : { tenants: used }) };
    endPromise(view, 'p-h1', [oneCpuOf('h1')], [told], 0);
    assert.equal([provider?.stocks.get('VCPU')?.used, provider?.tenants], [usedThen, usedThen]);
    assert.equal([view.promised.size, view.promisedTenants.size], [0, 0]);
    assert.is(changesEnd(view) > before, isWeighed);
    assert.equal([...freed], isFreed ? ['p-h1'] : []);
  }
});

test('ranking - a host where one left and another came may be what somebody waits for, though as much is used', () => {
  const view = viewOf({ host: 'h1', cell: 'c1' });
  const told = { id: 'p-h1', used: { VCPU: 1 } };
  learnUsage(view, { ...told, generation: 1, groups: { g: 1 } });
  const freed = new Set<string>();
  view.freed = freed;
  const before = changesEnd(view);
  learnUsage(view, { ...told, generation: 3 });
  assert.equal([...freed], ['p-h1']);
  assert.is(changesEnd(view), before, 'it is weighed as before');
  freed.clear();
  learnUsage(view, { ...told, generation: 2, groups: { g: 1 } });
  assert.equal([...freed], [], 'what is old news changes nothing');
  learnUsage(view, { ...told, generation: 4, used: { VCPU: 2 }, groups: { g: 1 } });
  assert.equal([...freed], [], 'nobody can have waited for that');
});

test('ranking - an instance that is claimed counts towards a limit at once, and no longer than placement has it', () => {
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [instanceLimit(2)] });
  const view = viewOf({ host: 'h1', instances: 1 });
  const fits = () => best({ rankings, view }, { spec: specOf(1) }, NOBODY) !== null;
  const claim = () => promise(view, 'p-h1', [oneCpuOf('h1')], 1);
  const answer = (generation: number, tenants: number) =>
    endPromise(view, 'p-h1', [oneCpuOf('h1')], [{ id: 'p-h1', generation, used: { VCPU: 1 }, tenants }], 0);
  assert.ok(fits());
  claim();
  assert.not(fits());
  answer(0, 1);
  assert.ok(fits(), 'the claim was refused');
  claim();
  answer(1, 2);
  assert.not(fits(), 'it was granted');
  learnUsage(view, { id: 'p-h1', generation: 2, used: {}, tenants: 1 });
  assert.ok(fits(), 'one has left, whatever the cell has told');
  learnUsage(view, { id: 'p-h1', generation: 3, used: {}, tenants: 2 });
  assert.not(fits(), 'another scheduler has claimed there');
});

test('ranking - one that is claimed no longer counts no longer, though the device that it was to have is gone', () => {
  const view = viewOf({ host: 'h1', cell: 'c1' });
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [instanceLimit(1)] });
  const isThere = () => best({ rankings, view }, { spec: specOf(1) }, NOBODY) !== null;
  const ofDevice = [{ provider: 'gone', group: 'g', resources: { VGPU: 1 } }];
  assert.ok(isThere());
  promise(view, 'p-h1', ofDevice, 1);
  assert.not(isThere());
  promise(view, 'p-h1', ofDevice, -1);
  assert.ok(isThere());
});

test('ranking - who goes by the number of instances is told when it changed, though as much is used', () => {
  for (const [filters, isWeighed] of [
    [[instanceLimit(2)], true],
    [[], false],
  ] as const) {
    const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters });
    const view = { ...viewOf({ host: 'h1', instances: 2 }), statsMatter: statsMatter(rankings) };
    const before = changesEnd(view);
    view.freed = new Set();
    learnUsage(view, { id: 'p-h1', generation: 1, used: {}, tenants: 1 });
    assert.is(changesEnd(view) > before, isWeighed);
    assert.equal([...view.freed], ['p-h1']);
  }
});

test('ranking - a build that was just claimed counts towards a limit, until the cell has had the time to tell', () => {
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [buildLimit(2)] });
  const view = viewOf({ host: 'h1', instances: 1, builds: 1, ordered: 1 });
  passTo(view, 10_000);
  const fits = () => best({ rankings, view }, { spec: specOf(1) }, NOBODY) !== null;
  assert.ok(fits());
  promiseBuild(view, 'refused', 'p-h1', [oneCpuOf('h1')]);
  assert.not(fits());
  endPromise(view, 'p-h1', [oneCpuOf('h1')], [], 0);
  expectNoMore(view, 'refused');
  assert.ok(fits(), 'the claim was refused');
  claim(view, 2, 'deleted');
  assert.not(fits());
  has(view, 1);
  assert.not(fits(), 'another one is gone');
  expectNoMore(view, 'deleted');
  assert.ok(fits(), 'it was deleted before it came to its cell, which will not tell of it');
  claim(view, 2, 'lost');
  assert.not(fits());
  passTo(view, 20_000);
  assert.ok(fits(), 'nothing came of it');
});

test('ranking - a build that was just claimed counts, too, where the cell has more instances than placement', () => {
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [buildLimit(2), instanceLimit(9)] });
  const view = viewOf({ host: 'h1' });
  tellHost(view, { instances: 5 });
  const fits = () => best({ rankings, view }, { spec: specOf(1) }, NOBODY) !== null;
  claim(view, 1);
  assert.ok(fits());
  claim(view, 2);
  assert.not(fits());
  tellHost(view, { instances: 7, builds: 0, ordered: 2 });
  assert.ok(fits(), 'they are built');
  tellHost(view, { instances: 9, builds: 0, ordered: 2 });
  assert.not(fits(), 'what its cell has there is there');
});

test('ranking - whoever waits for a host is tried where a claim came to nothing, though only its device was told', () => {
  const view = viewOf({ host: 'h1', instances: 1 });
  learnProvider(view, { ...stateOf({ host: 'gpu', has: { VGPU: 2 } }), parent: 'p-h1', root: 'p-h1' });
  const allocations = [{ provider: 'p-gpu', group: '', resources: { VGPU: 1 } }];
  promise(view, 'p-h1', allocations, 1);
  view.freed = new Set();
  const before = changesEnd(view);
  endPromise(view, 'p-h1', allocations, [{ id: 'p-gpu', generation: 1, used: { VGPU: 1 } }], 0);
  assert.is(treeOf(view, 'p-h1')[0]?.tenants, 1);
  assert.equal([[...view.freed], changesEnd(view) > before], [['p-h1'], true]);
});

test('ranking - what a cell has counted is not counted again, however many claims follow each other', () => {
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [buildLimit(2)] });
  const view = viewOf({ host: 'h1' });
  passTo(view, 10_000);
  const fits = () => best({ rankings, view }, { spec: specOf(1) }, NOBODY) !== null;
  for (let ordered = 1; ordered < 20; ordered += 1) {
    assert.ok(fits(), `${ordered - 1} were built there and are gone`);
    claim(view, 1);
    passTo(view, view.now + 500);
    tellView(view, { host: 'h1', ordered }, generationOf(view) + 1);
  }
  claim(view, 1);
  claim(view, 2);
  assert.not(fits(), 'two are claimed');
  tellHost(view, { instances: 1, builds: 1, ordered: 20 });
  assert.not(fits(), 'one of them is told of');
  tellHost(view, { instances: 1, builds: 0, ordered: 20 });
  assert.ok(fits(), 'and is built');
  claim(view, 3);
  assert.not(fits());
  tellHost(view, { instances: 1, builds: 0, ordered: 0 });
  assert.ok(fits(), 'a cell that came up anew has counted all that it knows of');
});

test.run();
