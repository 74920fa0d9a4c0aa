// Area: scheduler, hosts that are away. Of those out of service it is said which would do, and when; those of whom nothing
// is heard come last.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Advice } from '../../actors/messages/advice.ts';
import type { RequestSpec, TreeConditions } from '../../actors/messages/common.ts';
import type { FittingHost } from '../../actors/messages/questions.ts';
import type { Where } from '../../actors/messages/where.ts';
import { placementShardOf } from '../../actors/routing.ts';
import { misfitsOf } from '../../actors/scheduler/explaining/all-obstacles.ts';
import { whyNone } from '../../actors/scheduler/explaining/explain.ts';
import { type Survey, surveyOf } from '../../actors/scheduler/explaining/survey.ts';
import { best } from '../../actors/scheduler/picking.ts';
import { emptyRankings } from '../../actors/scheduler/ranking/ranking.ts';
import { noteShard } from '../../actors/scheduler/view/silence.ts';
import { treeOf, type View } from '../../actors/scheduler/view/view.ts';
import { learnHost } from '../../actors/scheduler/view/view-hosts.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { type HostWords, viewOf } from '../support/facts.ts';
import { randomFleet } from '../support/fleets.ts';
import { schedulersOf, selectFor } from '../support/schedulers.ts';
import { rankings, survey, surveyFor, sweepAll, words } from '../support/survey.ts';

const test = suite('scheduler - hosts that are away');

test('scheduler - of several hosts that are away as many are named as are needed', () => {
  const spec = { groups: [{ name: '', resources: { VCPU: 8 } }], groupPolicy: 'none' as const };
  const away = ['a', 'b', 'c'].map((host) => ({ host, state: 'disabled' as const }));
  const namedFor = (count: number, ...more: HostWords[]) =>
    survey(viewOf(...away, ...more), spec, count)
      .advice.filter(({ code }) => code === 'host-state')
      .map(({ hosts, host, needed, named }) => [hosts, host ?? needed, named?.join()]);
  assert.equal(namedFor(1), [[3, 'c1/a', undefined]]);
  assert.equal(namedFor(2), [[3, 2, 'c1/a,c1/b']]);
  assert.equal(namedFor(3), [[3, 3, 'c1/a,c1/b,c1/c']]);
  assert.equal(namedFor(4), []);
  assert.equal(namedFor(2, { host: 'd' }), [[3, 'c1/a', undefined]], 'with the one that is there it is enough');
});

test('scheduler - of hosts that are away and disabled it is said that they have to be enabled, too', () => {
  const spec = { groups: [{ name: '', resources: { VCPU: 8 } }], groupPolicy: 'none' as const };
  const told = (...hosts: HostWords[]) => survey(viewOf(...hosts), spec, 1).advice.map(words);
  const down = { host: 'a', state: 'down', reason: 'new disk' } as const;
  assert.equal(told(down), ['with c1/a, which is down and disabled, it would fit']);
  const fenced = { host: 'b', state: 'fenced', reason: 'nothing runs there', disabled: true } as const;
  assert.equal(told(fenced), ['with c1/b, which is fenced and disabled, it would fit']);
  assert.equal(told(down, { host: 'c', state: 'down' }), ['with c1/c, which is down, it would fit']);
});

test('scheduler - of hosts that are disabled with their cell it is said that the cell has to be put back', () => {
  const spec = { groups: [{ name: '', resources: { VCPU: 8 } }], groupPolicy: 'none' as const };
  const withCell = { state: 'disabled', reason: 'its cell is out of service', withCell: true } as const;
  const own = { state: 'disabled', reason: 'new disk' } as const;
  const hosts: HostWords[] = [
    { host: 'a', ...withCell },
    { host: 'b', ...withCell },
    { host: 'c', ...own, cell: 'c3' },
  ];
  const told = (count: number, ...more: HostWords[]) => survey(viewOf(...hosts, ...more), spec, count).advice;
  assert.equal(told(2), [{ code: 'cell-state', about: 'c1', hosts: 2, instances: 2 }]);
  assert.equal(told(1).map(words), [
    'if cell c1 were back in service, it would fit on 2 hosts',
    'with c3/c, which is disabled, it would fit',
  ]);
  assert.equal(told(3).map(words), [], 'enabling one thing is not enough');
  const together = told(3, { cell: 'c2', host: 'd' }).find(({ code }) => code === 'cell-state');
  assert.equal(together, { code: 'cell-state', about: 'c1', hosts: 3, instances: 3 });
  const both = survey(viewOf({ host: 'a', ...withCell, ...own, disabled: true }), spec, 1).advice;
  assert.equal(both, [], 'neither is enough where the host is disabled by itself, too');
  const rests = survey(viewOf({ host: 'a', ...withCell, asideUntil: 2_000_000_000_000 }), spec, 1).advice;
  assert.equal(rests, [], 'nor where it is set aside, too');
  for (const state of ['down', 'fenced'] as const) {
    const away = survey(viewOf({ host: 'a', ...withCell, state, disabled: true }), spec, 1).advice;
    assert.equal(away, [], `nor where it is ${state}, too: to enable it would not be enough`);
  }
});

test('scheduler - those that only have to come back are named, and others with them where they are too few', () => {
  const spec = { groups: [{ name: '', resources: { VCPU: 2 } }], groupPolicy: 'none' as const };
  const view = viewOf(
    { host: 'a', has: { VCPU: 8 }, state: 'down', reason: 'new disk' },
    { host: 'b', has: { VCPU: 4 }, state: 'down' },
    { host: 'c', has: { VCPU: 8 }, state: 'down', reason: 'new disk' },
  );
  const told = (count: number) => survey(view, spec, count).advice.map(words)[0];
  assert.is(told(1), 'with c1/b, which is down, it would fit');
  assert.is(told(2), 'with c1/b, which is down, both instances would fit');
  assert.is(told(4), 'with c1/a, which is down and disabled, all 4 instances would fit (one of 3 such hosts)');
  assert.is(told(8), 'with 2 of 3 hosts that are down and disabled (c1/a, c1/c) all 8 instances would fit');
  assert.is(
    told(10),
    'with 3 hosts that are down, 2 of them disabled, too (c1/a, c1/c, c1/b) all 10 instances would fit',
  );
  const alike = viewOf(
    { host: 'a', has: { VCPU: 8 }, state: 'down', reason: 'new disk' },
    { host: 'b', has: { VCPU: 8 }, state: 'down', reason: 'new disk' },
    { host: 'z', has: { VCPU: 8 }, state: 'down' },
  );
  assert.is(
    survey(alike, spec, 8).advice.map(words)[0],
    'with 2 of 3 hosts that are down, 1 of them disabled, too (c1/z, c1/a) all 8 instances would fit',
  );
});

test('scheduler - of hosts that are down and were set aside it is said until when they are, and others come before them', () => {
  const spec = { groups: [{ name: '', resources: { VCPU: 2 } }], groupPolicy: 'none' as const };
  const resting = (host: string, asideUntil: number) => ({ host, state: 'down' as const, asideUntil });
  const alone = viewOf(resting('a', 9_000));
  const [first] = survey(alone, spec, 1).advice;
  assert.equal(first, {
    code: 'host-state',
    about: 'down',
    hosts: 1,
    host: 'c1/a',
    setAside: 1,
    asideUntil: 9_000,
  });
  assert.is(words(first as Advice), 'with c1/a, which is down and set aside until 9000, it would fit');
  assert.match(
    whyNone({ rankings, view: alone }, { spec: { ...spec, tree: { oneOf: ['p-a'] } } }),
    /host 'a' is down; when it comes back it is set aside until 00:00:09Z/,
  );
  const saysNothing = { ...alone, now: 9_000 };
  assert.is(survey(saysNothing, spec, 1).advice[0]?.setAside, undefined, 'its cell has not said that its time is over');
  learnHost(alone, 'c1', { host: 'a', provider: 'p-a', state: 'down' });
  assert.is(survey(alone, spec, 1).advice[0]?.setAside, undefined, 'its time is over');

  const view = viewOf(
    resting('a', 9_000),
    resting('b', 7_000),
    { host: 'c', has: { VCPU: 2 }, state: 'down' },
    { host: 'd', state: 'down', reason: 'new disk' },
  );
  const told = (count: number) => survey(view, spec, count).advice.map(words)[0];
  assert.is(told(1), 'with c1/c, which is down, it would fit');
  assert.is(
    told(4),
    'with c1/b, which is down and set aside until 7000, all 4 instances would fit (one of 3 such hosts)',
  );
  assert.is(told(8), 'with 2 of 3 hosts that are down and set aside until 9000 (c1/b, c1/a) all 8 instances would fit');
  assert.is(
    told(9),
    'with 3 hosts that are down, 2 of them set aside until 9000, too (c1/b, c1/a, c1/c) all 9 instances would fit',
  );
  assert.is(
    told(13),
    'with 4 hosts that are down, 1 of them disabled and 2 of them set aside until 9000, too (c1/b, c1/a, c1/d, c1/c) all 13 instances would fit',
  );
});

test('scheduler - those with most room are named first, but those before that come back first by themselves', () => {
  const view = viewOf(
    { host: 'a', has: { VCPU: 2 }, state: 'disabled' },
    { host: 'b', has: { VCPU: 8 }, state: 'disabled' },
    { host: 'c', has: { VCPU: 6 }, state: 'disabled' },
    { host: 'd', has: { VCPU: 4 } },
    { host: 'e', has: { VCPU: 8 } },
    { host: 'f', has: { VCPU: 4 } },
  );
  for (const [host, until] of [
    ['d', 5_000],
    ['e', 9_000],
    ['f', 7_000],
  ] as const) {
    learnHost(view, 'c1', { host, provider: `p-${host}`, state: 'set-aside', until });
  }
  const spec = { groups: [{ name: '', resources: { VCPU: 2 } }], groupPolicy: 'none' as const };
  const toldOf = (count: number) => survey(view, spec, count).advice.map(words);
  assert.equal(toldOf(4), [
    'with 2 of 3 hosts that are set aside (c1/d, c1/f), the first until 5000, all 4 instances would fit',
    'with c1/b, which is disabled, all 4 instances would fit (one of 3 such hosts)',
  ]);
  assert.equal(toldOf(7), [
    'with 3 hosts that are set aside (c1/d, c1/f, c1/e), the first until 5000, all 7 instances would fit',
    'with 2 of 3 hosts that are disabled (c1/b, c1/c) all 7 instances would fit',
  ]);
  const many = {
    code: 'host-state',
    about: 'down',
    hosts: 9,
    instances: 40,
    needed: 7,
    named: ['c1/a', 'c1/b'],
  } as const;
  assert.match(
    words({ ...many, named: [...many.named] }),
    / 7 of 9 hosts that are down \(c1\/a, c1\/b and 5 more\) all /,
  );
});

test('scheduler - no host is to come back that is not needed, and where fewer of another state are enough those are told first', () => {
  const spec = { groups: [{ name: '', resources: { VCPU: 2 } }], groupPolicy: 'none' as const };
  const told = (view: View, count: number) => survey(view, spec, count).advice.map(words);
  const view = viewOf(
    { host: 'a', has: { VCPU: 2 } },
    { host: 'b', has: { VCPU: 2 } },
    { host: 'c', has: { VCPU: 6 } },
  );
  for (const [host, until] of [
    ['a', 3_000],
    ['b', 4_000],
    ['c', 5_000],
  ] as const) {
    learnHost(view, 'c1', { host, provider: `p-${host}`, state: 'set-aside', until });
  }
  assert.equal(told(view, 2), [
    'with 2 of 3 hosts that are set aside (c1/a, c1/b), the first until 3000, both instances would fit',
  ]);
  assert.equal(told(view, 3), [
    'with c1/c, which is set aside until 5000, all 3 instances would fit (one of 3 such hosts)',
  ]);
  assert.equal(told(view, 4), [
    'with 2 of 3 hosts that are set aside (c1/a, c1/c), the first until 3000, all 4 instances would fit',
  ]);

  const down = ['d', 'e', 'f'].map((host) => ({ host, has: { VCPU: 2 }, state: 'down' as const }));
  const disabled = { host: 'g', has: { VCPU: 4 }, state: 'disabled' as const };
  assert.equal(told(viewOf(...down, disabled), 2), [
    'with c1/g, which is disabled, both instances would fit',
    'with 2 of 3 hosts that are down (c1/d, c1/e) both instances would fit',
  ]);
  const off = ['d', 'e'].map((host) => ({ host, has: { VCPU: 4 }, state: 'down' as const, reason: 'new disk' }));
  assert.equal(told(viewOf(...off, disabled), 2), [
    'with c1/g, which is disabled, both instances would fit',
    'with c1/d, which is down and disabled, both instances would fit (one of 2 such hosts)',
  ]);
});

test('scheduler - of hosts that are away, the first to come back or the one with most room is named', () => {
  const view = viewOf(
    { host: 'a', has: { VCPU: 2 }, state: 'disabled' },
    { host: 'b', has: { VCPU: 9 }, state: 'disabled' },
    { host: 'less', has: { VCPU: 4 }, state: 'disabled' },
    { host: 'c', has: { VCPU: 8 } },
    { host: 'd', has: { VCPU: 8 } },
  );
  for (const [host, until] of [
    ['c', 9_000],
    ['d', 5_000],
  ] as const) {
    learnHost(view, 'c1', { host, provider: `p-${host}`, state: 'set-aside', until });
  }
  const spec = { groups: [{ name: '', resources: { VCPU: 2 } }], groupPolicy: 'none' as const };
  const { advice } = survey(view, spec, 2);
  assert.equal(advice, [
    { code: 'host-state', about: 'set-aside', hosts: 2, instances: 2, until: 5_000, host: 'c1/d' },
    { code: 'host-state', about: 'disabled', hosts: 3, instances: 2, host: 'c1/b' },
  ]);
  assert.equal(advice.map(words), [
    'with c1/d, which is set aside until 5000, both instances would fit (one of 2 such hosts)',
    'with c1/b, which is disabled, both instances would fit (one of 3 such hosts)',
  ]);
  const [alone] = survey(view, spec, 1).advice;
  assert.is(words(alone as Advice), 'with c1/d, which is set aside until 5000, it would fit (one of 2 such hosts)');
  // As schedulers of the version before tell it.
  const [{ host: _, instances: __, ...first } = { code: 'host-state' as const, hosts: 0 }] = advice;
  assert.is(words(first), 'with 2 hosts that are set aside, the first until 5000, it would fit');
  assert.is(
    words({ ...first, instances: 9 }),
    'with 2 hosts that are set aside, the first until 5000, all 9 instances would fit',
  );
  assert.is(words({ ...first, hosts: 1 }), 'with 1 host that is set aside until 5000 it would fit');
});

test('scheduler - hosts of a cell or placement shard that is silent come last in a dry run, as in a choice, and it is named', () => {
  let compared = 0;
  for (let seed = 0; seed < 20; seed += 1) {
    const view = { ...randomFleet(`silent ${seed}`, 30).view, shards: 3 };
    view.silentCells.add('c1');
    noteShard(view, 2, true);
    const isUnclaimed = (host: string) => placementShardOf(host.replace('h', 'p'), 3) === 2;
    const silenceOf = ({ cell, host }: FittingHost) => (isUnclaimed(host) ? 2 : Number(cell === 'c1'));
    const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };
    const all = survey(view, spec, 1, 100);
    assert.equal([all.silentCells, all.silentShards], [['c1'], [2]]);
    assert.is(all.best.length, all.fits);
    for (const { host, silentShard } of all.best) assert.is(silentShard, isUnclaimed(host) ? 2 : undefined);
    const silences = all.best.map(silenceOf);
    assert.equal(silences, [...silences].sort(), 'the silent ones are last');
    for (const silence of [0, 1, 2]) {
      const weights = all.best.filter((one) => silenceOf(one) === silence).map(({ weight }) => weight);
      assert.equal(
        weights,
        [...weights].sort((one, other) => other - one),
      );
      compared += weights.length;
    }
    const few = survey(view, spec, 1, 3);
    assert.equal(few.best, all.best.slice(0, 3));
    const chosen = best({ rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view }, { spec }, () => false);
    assert.is(chosen?.cell === 'c1', all.best[0]?.cell === 'c1');
    if (chosen !== null) assert.is(isUnclaimed(chosen.host), silences[0] === 2);
  }
  assert.ok(compared > 100, `${compared}`);
});

test('scheduler - whether the shards that are heard have room for all is told, and where only one is there nobody comes last', () => {
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };
  const hosts = ['a', 'b', 'c', 'd'].map((host) => ({ host, has: { VCPU: 2 } }));
  const silentShardsOf = (view: View) => survey(view, spec).best.map(({ silentShard }) => silentShard);
  const needs = (view: View, count: number) => survey(view, spec, count).needsSilentShards;
  const several = { ...viewOf(...hosts), shards: 2 };
  noteShard(several, 1, true);
  const heard = hosts.filter(({ host }) => placementShardOf(`p-${host}`, 2) === 0).length;
  assert.ok(heard > 0 && heard < hosts.length, `${heard}`);
  assert.equal([needs(several, heard * 2), needs(several, heard * 2 + 1)], [undefined, true]);
  assert.is(needs(several, 9), undefined, 'it does not fit at all');

  const alone = viewOf(...hosts, { host: 'e', cell: 'c2', has: { VCPU: 9 } });
  alone.silentCells.add('c2');
  const before = survey(alone, spec);
  noteShard(alone, 0, true);
  const { silentShards, best: told } = survey(alone, spec);
  assert.equal([silentShards, needs(alone, 1), silentShardsOf(alone)], [[0], true, [0, 0, 0, 0, 0]]);
  const hostsOf = (found: readonly FittingHost[]) => found.map(({ host }) => host);
  assert.equal(hostsOf(told), hostsOf(before.best), 'one of a silent cell comes last all the same');
  assert.is(told.at(-1)?.host, 'e');
  noteShard(alone, 0, false);
  assert.equal(survey(alone, spec), before);
});

test('scheduler - whether there is room for all without cells that are silent is told, also where a shard is silent too', () => {
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };
  const needs = (view: View, count: number, asked = spec) => {
    const { needsSilentCells, needsSilentShards } = survey(view, asked, count);
    return [needsSilentCells, needsSilentShards];
  };
  const hosts = ['a', 'b', 'c', 'd'].map((host) => ({ host, cell: 'c1', has: { VCPU: 2 } }));
  const view = viewOf(...hosts, { host: 'e', cell: 'c2', has: { VCPU: 3 } });
  assert.equal(needs(view, 11), [undefined, undefined], 'nobody is silent');
  view.silentCells.add('c2');
  assert.equal(needs(view, 8), [undefined, undefined]);
  assert.equal(needs(view, 9), [true, undefined]);
  assert.equal(needs(view, 12), [undefined, undefined], 'it does not fit at all');
  const together = { ...spec, instanceGroup: { id: '/g', policy: 'affinity' as const } };
  assert.equal(needs(view, 2, together), [undefined, undefined]);
  assert.equal(needs(view, 3, together), [true, undefined], 'only the host of the silent cell holds all three');

  const several = { ...viewOf(...hosts, { host: 'e', cell: 'c2', has: { VCPU: 3 } }), shards: 2 };
  several.silentCells.add('c2');
  noteShard(several, 1 - placementShardOf('p-e', 2), true);
  const kept = hosts.filter(({ host }) => placementShardOf(`p-${host}`, 2) === placementShardOf('p-e', 2)).length;
  assert.ok(kept > 0 && kept < hosts.length, `${kept}`);
  assert.equal(needs(several, 2 * kept), [undefined, undefined]);
  assert.equal(needs(several, 2 * kept + 1), [true, undefined], 'those of the silent cell come before the others');
  assert.equal(needs(several, 2 * kept + 4), [undefined, true]);
  assert.equal(needs(several, 11), [true, true]);
});

test('scheduler - what would help with hosts of those that are silent alone comes last, and names them', () => {
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 9 } }], groupPolicy: 'none' };
  const inC3 = { spec, where: { cells: ['c3'] } };
  const view = viewOf(
    { host: 'a', cell: 'c1', has: { VCPU: 16 } },
    { host: 'b', cell: 'c3', has: { VCPU: 4 } },
    { host: 'c', cell: 'c3', has: { VCPU: 16 }, state: 'disabled' },
  );
  const toldOf = (on = view) => surveyFor(on, inC3).advice.map(words);
  const less = 'with 5 VCPU less (4 instead of 9) it would fit on 1 host';
  const elsewhere = 'if it need not be in cell c3, it would fit on 1 host';
  const back = 'with c3/c, which is disabled, it would fit';
  assert.equal(toldOf(), [less, elsewhere, back]);
  view.silentCells.add('c3');
  const notWithout = (advice: string) => `${advice}, but not without hosts of cell c3, which is silent`;
  assert.equal(toldOf(), [elsewhere, notWithout(less), notWithout(back)]);
  view.silentCells.add('c1');
  assert.is(toldOf()[0], notWithout(less), 'not of c1, which it may not use');

  const alone = viewOf({ host: 'b', has: { VCPU: 4 } });
  noteShard(alone, 0, true);
  const [first] = survey(alone, spec).advice;
  assert.equal(first?.silentShards, [0], 'of the only placement shard all rests on it');
  assert.is(words(first as Advice), `${less}, but not without hosts of placement/0, which is silent`);
});

test('scheduler - of several, fewer are advised with the hosts that are heard, and then with those that are not', () => {
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };
  const view = viewOf({ host: 'a', cell: 'c1', has: { VCPU: 2 } }, { host: 'b', cell: 'c2', has: { VCPU: 3 } });
  view.silentCells.add('c2');
  const fewer = { code: 'fewer-instances', from: 6 } as const;
  const silentCells = ['c2'];
  assert.equal(survey(view, spec, 6).advice, [
    { ...fewer, to: 2, hosts: 1 },
    { ...fewer, to: 5, hosts: 2, silentCells },
  ]);
});

test('scheduler - of those that are silent only those are named whose hosts would help, and how many they are', () => {
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 8 } }], groupPolicy: 'none' };
  const cells = Array.from({ length: 11 }, (_, n) => (n === 10 ? 'z9' : `a${n}`));
  const viewWith = (vcpuOf: (cell: string) => number) => {
    const view = viewOf(...cells.map((cell) => ({ host: `h-${cell}`, cell, has: { VCPU: vcpuOf(cell) } })));
    for (const cell of cells) view.silentCells.add(cell);
    return view;
  };
  const less = 'with 4 VCPU less (4 instead of 8) it would fit on';
  const one = survey(
    viewWith((cell) => (cell === 'z9' ? 4 : 0)),
    spec,
  ).advice;
  assert.equal(one.map(words), [`${less} 1 host, but not without hosts of cell z9, which is silent`]);
  assert.equal([one[0]?.silentCells, one[0]?.silent], [['z9'], undefined]);

  const [all] = survey(
    viewWith(() => 4),
    spec,
  ).advice;
  assert.equal([all?.silentCells?.length, all?.silent], [8, 11]);
  assert.is(
    words(all as Advice),
    `${less} 11 hosts, but not without hosts of those that are silent: cell a0, cell a1, cell a2 and 8 more`,
  );

  const view = viewOf({ host: 'x', cell: 'a0', has: { VCPU: 8 } }, { host: 'z', cell: 'z9', has: { VCPU: 4 } });
  view.silentCells.add('a0').add('z9');
  const { advice } = surveyFor(view, { spec, where: { cells: ['z9'] } });
  assert.equal(
    advice.map(({ code, silentCells }) => [code, silentCells]),
    [
      ['less', ['z9']],
      ['without-cells', ['a0']],
    ],
    'each by its own hosts',
  );
  const avoiding = viewOf({ host: 'x', cell: 'a0', has: { VCPU: 16 } }, { host: 'z', cell: 'z9', has: { VCPU: 8 } });
  avoiding.silentCells.add('a0').add('z9');
  const left = surveyFor(avoiding, { spec, where: { avoidCells: ['a0', 'z9'] } }).advice[0];
  assert.equal([left?.about, left?.hosts, left?.silentCells], ['a0', 1, ['a0']], 'the other one is still avoided');
  const back = viewOf(
    { host: 'x', cell: 'a0', has: { VCPU: 8 }, state: 'down' },
    { host: 'z', cell: 'z9', has: { VCPU: 16 }, state: 'down' },
  );
  back.silentCells.add('a0').add('z9');
  const [needed] = survey(back, spec, 2).advice;
  assert.equal([needed?.host, needed?.hosts, needed?.silentCells], ['z9/z', 2, ['z9']], 'the other one is not needed');
  const several = viewOf({ host: 'x', cell: 'a0', has: { VCPU: 4 } }, { host: 'z', cell: 'z9', has: { VCPU: 8 } });
  several.silentCells.add('a0').add('z9');
  const fewer = survey(several, spec, 2).advice.find(({ code }) => code === 'fewer-instances');
  assert.equal(fewer?.silentCells, ['z9']);
});

test('scheduler - who falls silent while hosts are looked at is held to be heard throughout', () => {
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };
  const view = viewOf({ host: 'a', cell: 'c1', has: { VCPU: 2 } }, { host: 'b', cell: 'c2', has: { VCPU: 3 } });
  let told: Survey | undefined;
  const sweep = surveyOf(rankings, view, { request: { spec }, count: 6, limit: 1 }, (found) => {
    told = found;
  });
  view.silentCells.add('c2');
  sweepAll(sweep, view);
  assert.equal(told?.advice, [{ code: 'fewer-instances', from: 6, to: 5, hosts: 2 }]);
});

test('scheduler - a failure names those of whom nothing was heard lately, of those in which the request may go', () => {
  const on = schedulersOf([
    { host: 'a', cell: 'c1', has: { VCPU: 8 } },
    { host: 'b', cell: 'c2', has: { VCPU: 8 } },
  ]);
  const [desk] = on.desks;
  const silenceOf = (where: Where, tree?: TreeConditions) => {
    desk?.state.view.silentCells.add('c1').add('c2');
    const asked = selectFor(`r${on.answers.length}`, { vcpu: 99 });
    const spec = { ...asked.spec, ...(tree === undefined ? {} : { tree }) };
    on.choose({ ...asked, spec, where });
    const reason = (on.answers.at(-1) as { reason?: string }).reason ?? '';
    return /; nothing was heard lately of ([^;]*)/.exec(reason)?.[1];
  };
  assert.is(silenceOf({}), 'cell c1, cell c2');
  assert.is(silenceOf({ cells: ['c2', 'c3'] }), 'cell c2');
  assert.is(silenceOf({ avoidCells: ['c2'] }), 'cell c1');
  assert.is(silenceOf({}, { oneOf: ['p-b'] }), 'cell c2');
  assert.is(silenceOf({ cells: ['c1'] }, { oneOf: ['p-b'] }), undefined);
  assert.is(silenceOf({}, { oneOf: ['not-known'] }), 'cell c1, cell c2', 'it may be in either');
});

test('scheduler - where the nearest host is one of which nothing is heard, that is said', () => {
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 17 } }], groupPolicy: 'none' };
  const nearest = (silent?: string) => {
    const view = viewOf({ host: 'a', has: { VCPU: 8 } }, { host: 'b', cell: 'c2', has: { VCPU: 16 } });
    if (silent !== undefined) view.silentCells.add(silent);
    return whyNone({ rankings, view }, { spec });
  };
  assert.match(nearest(), /nearest c2\/b: 17 VCPU/);
  assert.match(nearest('c1'), /nearest c2\/b: 17 VCPU/);
  assert.match(nearest('c2'), /nearest c2\/b \(of which nothing was heard lately\): 17 VCPU/);
});

test('scheduler - of a named host of which placement has not told nothing more is said to stand in the way', () => {
  const view = viewOf({ host: 'a' });
  learnHost(view, 'c1', { host: 'b', provider: 'p-b', state: 'up' });
  const classes = Array.from({ length: 9 }, (_, n) => [`CUSTOM_${n}`, 1]);
  const asking = (many: number) => ({
    groups: [{ name: '', resources: Object.fromEntries(classes.slice(0, many)) }],
    groupPolicy: 'none' as const,
  });
  const why = (host: string, many: number) =>
    whyNone({ rankings, view }, { spec: { ...asking(many), tree: { oneOf: [`p-${host}`] } } });
  assert.match(why('b', 1), /c1\/b, which it names: placement has not told of host 'b'; /);
  assert.equal(
    [8, 9].map((many) => misfitsOf(asking(many), treeOf(view, 'p-a')).isMore),
    [false, true],
  );
});

test('scheduler - where not all was searched it is said that more hosts may fit', () => {
  const away = { code: 'host-state', about: 'down', partly: true } as const;
  assert.is(
    words({ ...away, hosts: 2, host: 'c1/h1' }),
    'with c1/h1, which is down, it would fit (one of at least 2 such hosts)',
  );
  assert.is(words({ ...away, hosts: 2 }), 'with at least 2 hosts that are down it would fit');
  assert.is(words({ ...away, hosts: 1 }), 'with at least 1 host that is down it would fit');
  assert.match(words({ code: 'without-isolation', hosts: 3, partly: true }), /it would fit on at least 3 hosts$/);
});

test('scheduler - advice of a later version is told as one that is not known, whatever it is about', () => {
  const later = { code: 'with-something' as Advice['code'], hosts: 2 };
  const unknown = 'with a change that this version does not know';
  assert.is(
    words({ ...later, about: 'anti-affinity' }),
    `${unknown} (with-something anti-affinity) it would fit on 2 hosts`,
  );
  assert.is(words(later), `${unknown} (with-something) it would fit on 2 hosts`);
});

test('scheduler - of several that keep together fewer are advised on the silent host that holds most, and no other is named', () => {
  const view = viewOf(
    { host: 'a', cell: 'c1', has: { VCPU: 2 } },
    { host: 'b', cell: 'c2', has: { VCPU: 3 } },
    { host: 'c', cell: 'c3', has: { VCPU: 4 } },
  );
  view.silentCells.add('c2').add('c3');
  const groups = [{ name: '', resources: { VCPU: 1 } }];
  const spec: RequestSpec = { groups, groupPolicy: 'none', instanceGroup: { id: '/g', policy: 'affinity' } };
  const fewer = survey(view, spec, 6).advice.filter(({ code }) => code === 'fewer-instances');
  assert.equal(fewer, [
    { code: 'fewer-instances', from: 6, to: 2, hosts: 1 },
    { code: 'fewer-instances', from: 6, to: 4, hosts: 1, silentCells: ['c3'] },
  ]);
});

test.run();
