// Area: requests that are hard to tell. Groups that nearly fit every host of many are searched for as long as is fair to
// those who wait: hosts that serve them are found all the same, and what was not searched to the end is said to be so.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RequestSpec } from '../../actors/messages/common.ts';
import { standing } from '../../actors/scheduler/decision.ts';
import { effort } from '../../actors/scheduler/fit-search.ts';
import { best } from '../../actors/scheduler/picking.ts';
import { emptyRankings } from '../../actors/scheduler/ranking.ts';
import type { Work } from '../../actors/scheduler/state.ts';
import { type Survey, surveyOf } from '../../actors/scheduler/survey.ts';
import { begin, goOn } from '../../actors/scheduler/sweeps.ts';
import { emptyView, learnProvider, type View } from '../../actors/scheduler/view.ts';
import { learnHost } from '../../actors/scheduler/view-hosts.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { inventory } from '../support/facts.ts';

const test = suite('hard requests');

const HOSTS = 1_500;
const DEVICES = 8;

/** Hosts with as many devices of 100 each, and one with some more, which comes last. */
function fleet(): View {
  const view = emptyView();
  for (let n = 0; n < HOSTS; n += 1) {
    const root = `r${n}`;
    const learn = (id: string, parent: string | null, inventories: Record<string, ReturnType<typeof inventory>>) =>
      learnProvider(view, {
        id,
        name: id,
        parent,
        inventories,
        traits: [],
        aggregates: [],
        root,
        generation: 1,
        used: {},
      });
    learn(root, null, { VCPU: inventory(64) });
    const devices = DEVICES + (n === HOSTS - 1 ? 4 : 0);
    for (let device = 0; device < devices; device += 1) learn(`${root}-d${device}`, root, { PGPU: inventory(100) });
    learnHost(view, 'c1', { host: `h${n}`, provider: root, state: 'up' });
  }
  return view;
}

/** No two of them share a device, and none is like another: one more than there are devices is hard to refute. */
const specOf = (groups: number): RequestSpec => ({
  groups: Array.from({ length: groups }, (_, at) => ({ name: `g${at}`, resources: { PGPU: 51 + at } })),
  groupPolicy: 'none',
});

test('hard requests - ranking them takes a bounded effort, and finds the host that serves them', () => {
  const view = fleet();
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  const request = { spec: specOf(DEVICES + 1) };
  const before = effort.looks;
  assert.is(best(rankings, view, request, () => false)?.host, `h${HOSTS - 1}`);
  const looks = effort.looks - before;
  assert.ok(looks > 1_000_000 && looks < 2_000_000, `${looks} looks`);
  const { fits, refused } = standing(rankings, view, request, 1);
  assert.is(fits, 1);
  assert.is(
    refused.reduce((sum, { hosts }) => sum + hosts, fits),
    HOSTS,
  );
  const codes = refused.map(({ code }) => code).sort();
  assert.equal(codes, ['exceeds-capacity', 'hard-to-tell']);
});

test('hard requests - a host that has changed is searched to the end', () => {
  const view = fleet();
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  const request = { spec: specOf(DEVICES + 1) };
  const countOf = (code: string) =>
    standing(rankings, view, request, 1).refused.find((one) => one.code === code)?.hosts ?? 0;
  const hard = countOf('hard-to-tell');
  assert.ok(hard > 0);
  view.changes.push(`r${HOSTS - 2}`);
  assert.is(countOf('hard-to-tell'), hard - 1);
});

test('hard requests - what fits every host is found on each', () => {
  const view = fleet();
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  assert.is(standing(rankings, view, { spec: specOf(DEVICES) }, 1).fits, HOSTS);
});

test('hard requests - a look at all hosts is a bounded effort in each turn, and in all', () => {
  const view = fleet();
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  let told: Survey | undefined;
  const survey = surveyOf(rankings, view, { request: { spec: specOf(DEVICES + 1) }, count: 1, limit: 3 }, (found) => {
    told = found;
  });
  const turn = { now: 0, wakeAt() {} };
  const work = { state: { view, sweeps: [] }, turn } as unknown as Work;
  const first = effort.looks;
  let most = 0;
  let turns = 0;
  for (let before = first; told === undefined; before = effort.looks) {
    if (turns === 0) assert.ok(begin(work, survey));
    else goOn(work);
    most = Math.max(most, effort.looks - before);
    turns += 1;
  }
  assert.ok(turns > 10, `${turns} turns`);
  // What one host takes comes on top: it is searched to the end, with the reasons and what would let it fit.
  assert.ok(most < 100_000, `${most} looks in one turn`);
  assert.ok(effort.looks - first < 5_000_000, `${effort.looks - first} looks`);
  assert.is(told.hosts, HOSTS);
  assert.is(told.fits, 1);
  assert.is(
    told.refused.reduce((sum, { hosts }) => sum + hosts, told.fits),
    HOSTS,
  );
});

test.run();
