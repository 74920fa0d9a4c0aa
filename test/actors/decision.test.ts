// Area: scheduler, the records of its decisions. Their numbers add up to all hosts whatever the fleet and the request,
// they are kept in bounded room, and they read back as they were made.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { clipped, type InstanceGroup } from '../../actors/messages/common.ts';
import type { Decision } from '../../actors/messages/decision.ts';
import {
  MAX_DECISION_LENGTH,
  packDecision,
  StoredDecision,
  textOfWeighing,
  unpackDecision,
} from '../../actors/messages/stored-decision.ts';
import {
  decided,
  emptyDraft,
  noteAll,
  noteRanked,
  noteRefused,
  noteStanding,
} from '../../actors/scheduler/decision.ts';
import { whyNone } from '../../actors/scheduler/explaining/explain.ts';
import { standing } from '../../actors/scheduler/explaining/standing.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { pickOfGroup } from '../../actors/scheduler/grouping.ts';
import { best, bestOfAll } from '../../actors/scheduler/picking.ts';
import { allFiltersFor, judge } from '../../actors/scheduler/ranking/judging.ts';
import { emptyRankings } from '../../actors/scheduler/ranking/ranking.ts';
import type { Request } from '../../actors/scheduler/request.ts';
import { learnMembers } from '../../actors/scheduler/view/groups-view.ts';
import type { HostFacts } from '../../actors/scheduler/view/host-facts.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { checkOf } from '../../runtime/schemas.ts';
import { viewOf } from '../support/facts.ts';
import { randomFleet } from '../support/fleets.ts';
import { surveyFor } from '../support/survey.ts';

const test = suite('scheduler - decisions');
const check = checkOf(StoredDecision, 'the record');
const pack = (decision: Decision): string =>
  packDecision({ ...decision, weights: decision.weights.map(textOfWeighing) });
const read = (text: string): Decision => {
  const stored = JSON.parse(text);
  assert.is(check(stored), null);
  return unpackDecision(stored);
};

test('scheduler - what fits and what is refused add up to all hosts, after every change, as counted one by one', () => {
  let refusedAny = 0;
  for (let seed = 0; seed < 60; seed += 1) {
    const fleet = randomFleet(`census ${seed}`, 40);
    const { view } = fleet;
    const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
    const specs = [fleet.spec(), fleet.spec()];
    for (let round = 0; round < 15; round += 1) {
      for (const spec of specs) {
        const { hosts, fits, refused } = standing({ rankings, view }, { spec }, 1);
        assert.is(hosts, view.hosts.size);
        assert.is(
          refused.reduce((sum, one) => sum + one.hosts, fits),
          hosts,
        );
        const counts = new Map<string, number>();
        const shortest = new Map<string, number>();
        for (const host of view.hosts.values()) {
          const { obstacle } = judge(view, allFiltersFor(rankings.filters, { spec }), spec, host);
          if (obstacle === null) continue;
          const { code, about = '', short } = obstacle;
          const key = `${code} ${about}`;
          counts.set(key, (counts.get(key) ?? 0) + 1);
          if (short !== undefined) shortest.set(key, Math.min(short, shortest.get(key) ?? Number.POSITIVE_INFINITY));
        }
        refusedAny += counts.size;
        assert.equal(
          new Map(refused.map(({ code, about = '', hosts: n }) => [`${code} ${about}`, n] as const)).size,
          counts.size,
        );
        for (const { code, about = '', hosts: n, nearest } of refused) {
          assert.is(n, counts.get(`${code} ${about}`), `${code} ${about}`);
          assert.is(nearest?.short, shortest.get(`${code} ${about}`), `the nearest of ${code} ${about}`);
        }
      }
      for (let changes = 0; changes < 5; changes += 1) fleet.change();
    }
  }
  assert.ok(refusedAny > 500, `${refusedAny}`);
});

test('scheduler - the parts of a weight add up to it, and the best host comes first', () => {
  let weighed = 0;
  for (let seed = 0; seed < 40; seed += 1) {
    const fleet = randomFleet(`weights ${seed}`, 30);
    const spec = fleet.spec();
    const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
    const found = best({ rankings, view: fleet.view }, { spec }, () => false);
    if (found === null) continue;
    const draft = emptyDraft({ where: undefined });
    noteRanked(draft, { rankings, view: fleet.view }, { spec }, { found, soft: null });
    const { fits } = standing({ rankings, view: fleet.view }, { spec }, 1);
    const { weights } = read(decided(draft, 1_234, 's', null, []));
    assert.is(weights.length, Math.min(fits, 3));
    assert.is(weights[0]?.host, found.host);
    for (const [position, { weight, parts }] of weights.entries()) {
      weighed += 1;
      const sum = Object.values(parts).reduce((one, other) => one + other, 0);
      assert.ok(Math.abs(sum - weight) < 1e-5, 'but for what numbers of six digits are rounded by');
      assert.ok(weight <= (weights[position - 1]?.weight ?? Number.POSITIVE_INFINITY));
    }
  }
  assert.ok(weighed > 10);
});

test('scheduler - hosts that the request does not want, or its group may not use, are counted; of very many they are named', () => {
  const standingOf = (hosts: number, request: Request, filters: readonly Filter[] = [late]) => {
    const view = viewOf(...Array.from({ length: hosts }, (_, n) => ({ host: `h${n}`, has: { VCPU: 4 } })));
    learnMembers(view.groups, 'p-h0', { g: 1 }, undefined);
    const draft = emptyDraft({ where: undefined });
    noteStanding(draft, { rankings: emptyRankings(DEFAULT_WEIGHERS, 's', { filters }), view }, request, 1);
    const { fits, refused, narrowedBy } = read(decided(draft, 0, 's', null, []));
    return { fits, refused: refused.map(({ code, hosts }) => `${hosts} ${code}`).sort(), narrowedBy };
  };
  const late: Filter = {
    name: 'mine',
    late: true,
    goesBy: () => ({}),
    refusal: ({ host }) => (host === 'h1' ? { code: 'not-mine', message: 'no' } : null),
  };
  const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' as const };
  const inGroup = { ...spec, instanceGroup: { id: 'g', policy: 'anti-affinity' as const } };
  const not = { ...spec, tree: { noneOf: ['p-h2', 'p-h3'] } };
  assert.equal(standingOf(10, { spec: not }), {
    fits: 7,
    refused: ['1 not-mine', '2 avoided-provider'],
    narrowedBy: [],
  });
  assert.equal(standingOf(10, { spec: inGroup }), {
    fits: 8,
    refused: ['1 group-anti-affinity', '1 not-mine'],
    narrowedBy: [],
  });
  assert.equal(standingOf(300, { spec: inGroup }), { fits: 300, refused: [], narrowedBy: ['mine', 'instance-group'] });
  const refusedByGroup = (policy: InstanceGroup['policy']) =>
    standingOf(300, { spec: { ...spec, instanceGroup: { id: 'g', policy } } }, []);
  assert.equal(refusedByGroup('anti-affinity'), { fits: 299, refused: ['1 group-anti-affinity'], narrowedBy: [] });
  const first = { ...spec, instanceGroup: { id: 'of nobody yet', policy: 'affinity' as const } };
  assert.equal(standingOf(300, { spec: first }, []), { fits: 300, refused: [], narrowedBy: [] });
  const twoEach = { ...spec, instanceGroup: { id: 'g', policy: 'anti-affinity' as const, maxPerHost: 2 } };
  assert.equal(standingOf(300, { spec: twoEach }, []), { fits: 300, refused: [], narrowedBy: [] });
  assert.equal(refusedByGroup('affinity'), { fits: 1, refused: ['299 group-affinity'], narrowedBy: [] });
  assert.equal(refusedByGroup('soft-affinity'), { fits: 300, refused: [], narrowedBy: [] });
});

test('scheduler - a record names the cells that are silent when its hosts are ranked, and those of no earlier ranking', () => {
  const view = viewOf({ host: 'h1', cell: 'c1' }, { host: 'h2', cell: 'c2' });
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  const request: Request = { spec: { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' } };
  for (const note of [noteStanding, noteAll] as const) {
    const draft = emptyDraft({ where: undefined });
    const told = () => {
      note(draft, { rankings, view }, request, 1);
      return read(decided(draft, 0, 's', null, [])).silentCells;
    };
    view.silentCells.add('c2').add('c1');
    assert.equal(told(), ['c1', 'c2']);
    view.silentCells.clear();
    assert.equal(told(), []);
  }
});

test('scheduler - a record reads back as it was made', () => {
  const fleet = randomFleet('record', 40);
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  const spec = { groups: [{ name: '', resources: { VCPU: 2 } }], groupPolicy: 'none' as const };
  const draft = emptyDraft({ where: undefined });
  noteStanding(draft, { rankings, view: fleet.view }, { spec }, 1);
  const found = best({ rankings, view: fleet.view }, { spec }, () => false);
  assert.ok(found);
  noteRanked(draft, { rankings, view: fleet.view }, { spec }, { found, soft: null });
  const { cell, host, root, allocations } = found;
  const chosen = { cell, host, provider: root, allocations };
  noteRefused(draft, { ...chosen, host: 'other' }, 'exceeds-capacity', 'it was full');
  const told = read(decided(draft, 1_234, 'node-1', chosen, [{ ...chosen, host: 'next' }]));
  assert.is(told.at, 1_234);
  assert.is(told.scheduler, 'node-1');
  assert.equal(told.chosen, { cell, host });
  assert.equal(told.alternates, ['next']);
  assert.equal(told.refused, [...draft.refused]);
  assert.is(told.claimsRefused, 1);
  assert.equal(told.refusedClaims, [{ cell, host: 'other', code: 'exceeds-capacity', message: 'it was full' }]);
  assert.equal(
    told.weights.map((one) => one.host),
    bestOfAll({ rankings, view: fleet.view }, { spec }, 3).map((one) => one.host),
  );
});

test('scheduler - a record knows which of the nearest hosts lack more', () => {
  const nearest = { cell: 'c1', host: 'h1', short: 2 };
  const refused = [
    { code: 'no-inventory', about: 'VGPU', hosts: 3 },
    { code: 'exceeds-capacity', about: 'VCPU', hosts: 2, nearest: { ...nearest, lacksMore: true as const } },
    { code: 'exceeds-capacity', about: 'DISK_GB', hosts: 1, nearest },
  ];
  const told = decided({ ...emptyDraft({ where: undefined }), hosts: 6, refused }, 1, 's', null, []);
  assert.equal(read(told).refused, refused);
});

test('scheduler - a record is bounded, whatever is told, and its numbers still add up', () => {
  const place = { cell: 'c'.repeat(64), host: 'h'.repeat(64) };
  const refused = Array.from({ length: 500 }, (_, n) => ({
    code: `code-${n}-${'x'.repeat(200)}`,
    about: 'y'.repeat(300),
    hosts: n + 1,
    nearest: { ...place, short: 123_456.789 },
  }));
  const refusedClaims = Array.from({ length: 8 }, () => ({
    ...place,
    code: 'c'.repeat(99),
    message: 'm'.repeat(4_096),
  }));
  for (const weighers of [12, 200]) {
    const parts = Object.fromEntries(Array.from({ length: weighers }, (_, n) => [`weigher-${n}-${'z'.repeat(40)}`, n]));
    const hosts = (500 * 501) / 2 + 7;
    const text = pack({
      at: 1,
      scheduler: 's'.repeat(64),
      hosts,
      fits: 7,
      refused,
      chosen: place,
      weights: [0, 1, 2].map((weight) => ({ ...place, weight, parts })),
      claimsRefused: 64,
      refusedClaims,
      alternates: Array.from({ length: 19 }, () => place.host),
      alternatesAsked: 20,
      advice: [],
      narrowedBy: [],
      unknown: Array.from({ length: 20 }, () => ({ kind: 'trait', name: 'T'.repeat(255) })),
      silentCells: Array.from({ length: 99 }, () => place.cell),
      where: { cells: Array.from({ length: 32 }, () => place.cell) },
    });
    assert.ok(text.length <= MAX_DECISION_LENGTH, `${text.length}`);
    const told = read(text);
    assert.is(
      told.refused.reduce((sum, one) => sum + one.hosts, told.fits),
      hosts,
    );
    assert.is(told.claimsRefused, 64);
    assert.equal([told.alternates.length, told.alternatesAsked], weighers === 12 ? [19, 20] : [0, undefined]);
  }
});

test('scheduler - of many reasons a record leaves out those that name no host which came near', () => {
  const place = { cell: 'c1', host: 'h1' };
  const many = Array.from({ length: 60 }, (_, n) => ({ code: 'trait-missing', about: `CUSTOM_${n}`, hosts: 2 }));
  const near = { code: 'exceeds-capacity', about: 'VCPU', hosts: 1, nearest: { ...place, short: 1 } };
  const refused = [...many, near];
  const told = read(decided({ ...emptyDraft({ where: undefined }), hosts: 121, refused }, 1, 's', null, [])).refused;
  assert.equal(told.slice(-2), [near, { code: 'other', hosts: 121 - 1 - 2 * (told.length - 2) }]);
  assert.equal(told.slice(0, -2), many.slice(0, told.length - 2));
});

test('scheduler - traits that advice names, however long, leave room on record for all else that is told', () => {
  const long = (name: string) => `CUSTOM_${name}_`.padEnd(255, 'X');
  const advice = ['a', 'b', 'c'].map((about) => {
    const traits = ['A', 'B', 'C'].map(long);
    return { code: 'without-kept' as const, about, traits, ...(about === 'c' ? { needed: 9 } : {}), hosts: 4 };
  });
  const refused = ['a', 'b', 'c'].map((about) => ({ code: 'in-avoided-aggregate', about, hosts: 4 }));
  const hints = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, 'x'.repeat(230)]));
  const unknown = ['P', 'Q', 'R'].map((name) => ({ kind: 'trait' as const, name: long(name) }));
  const draft = { ...emptyDraft({ where: { hints } }), hosts: 12, refused, advice, unknown };
  const told = read(decided(draft, 1, 's', null, []));
  assert.equal(
    told.advice.map(({ about, traits, needed }) => [about, traits, needed]),
    [
      ['a', [long('A')], 3],
      ['b', [long('A')], 3],
      ['c', [long('A')], 9],
    ],
  );
  assert.equal([told.refused, told.unknown, told.where], [refused, unknown, { hints }]);
  const short = advice.map((one) => ({ ...one, traits: ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C'] }));
  assert.equal(read(decided({ ...draft, advice: short }, 1, 's', null, [])).advice, short);
});

test('scheduler - a failure names the host that came nearest however many reasons there are, and adds up', () => {
  const hosts = Array.from({ length: 200 }, (_, n) => ({ host: `h${n}`, has: { VCPU: 8 }, traits: [`CUSTOM_${n}`] }));
  const refusing = {
    name: 'own',
    refusal: ({ host, traits }: HostFacts) =>
      host === 'h9' ? null : { code: 'amiss', about: [...traits].join(), message: 'it is amiss' },
  };
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [refusing] });
  const spec = { groups: [{ name: '', resources: { VCPU: 9 } }], groupPolicy: 'none' as const };
  const [all, nearest] = whyNone({ view: viewOf(...hosts), rankings }, { spec }).split('; ');
  assert.match(all ?? '', /^none of 200 hosts: 1 amiss CUSTOM_\d+, .*, \d+ for other reasons$/);
  const numbers = [...(all ?? '').matchAll(/(?:: |, )(\d+) /g)].map(([, hosts]) => Number(hosts));
  assert.is(
    numbers.reduce((sum, one) => sum + one, 0),
    200,
  );
  assert.match(nearest ?? '', /^nearest c1\/h9: 9 VCPU exceed .*\(short by 1\)$/);
});

test('scheduler - of a request with an instance group the hosts that it may use are told as its rule orders them', () => {
  const view = viewOf(...['h1', 'h2', 'h3', 'h4'].map((host, n) => ({ host, cell: 'c1', used: { VCPU: n } })));
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  learnMembers(view.groups, 'p-h1', { '/g': 1 }, {});
  learnMembers(view.groups, 'p-h3', { '/g': 2 }, {});
  const toldOf = (policy: InstanceGroup['policy'], count = 1, groupAt?: string) => {
    const groups = [{ name: '', resources: { VCPU: 1 } }];
    const spec = { groups, groupPolicy: 'none' as const, instanceGroup: { id: '/g', policy } };
    const request = { spec, ...(groupAt === undefined ? {} : { groupAt }) };
    const draft = emptyDraft({ where: undefined });
    const picked = pickOfGroup({ rankings, view }, request, { count, isOfSeveral: count > 1 }, () => false, '');
    assert.ok(picked);
    noteRanked(draft, { rankings, view }, request, picked, count);
    const { weights, group } = read(decided(draft, 0, 's', null, []));
    assert.is(weights[0]?.host, picked.found.host);
    assert.is(group?.policy, policy);
    return weights.map(({ host }, position) => [host, group?.members[position]]);
  };
  assert.equal(toldOf('soft-affinity'), [
    ['h3', 2],
    ['h1', 1],
    ['h2', 0],
  ]);
  assert.equal(toldOf('soft-anti-affinity'), [
    ['h2', 0],
    ['h4', 0],
    ['h1', 1],
  ]);
  assert.equal(toldOf('anti-affinity'), [
    ['h2', 0],
    ['h4', 0],
  ]);
  learnMembers(view.groups, 'p-h1', undefined, undefined);
  assert.equal(toldOf('affinity'), [['h3', 2]]);
  assert.equal(toldOf('affinity', 2), [['h3', 2]]);
  learnMembers(view.groups, 'p-h3', undefined, undefined);
  assert.equal(toldOf('affinity').length, 3, 'the first of a group may go anywhere');
  assert.equal(toldOf('affinity', 2), [['h1', 0]]);
  assert.equal(toldOf('affinity', 1, 'p-h4'), [['h4', 0]], 'placement has told where the group is');
});

test('scheduler - a record in which the request says much of where it may go loses that, and nothing else', () => {
  const hints = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`hint-${n}`, 'x'.repeat(255)]));
  const decision: Decision = {
    at: 1,
    scheduler: 's',
    hosts: 8,
    fits: 2,
    refused: [{ code: 'no-room', about: 'VCPU', hosts: 6 }],
    chosen: { cell: 'c1', host: 'h1' },
    weights: [{ cell: 'c1', host: 'h1', weight: 1, parts: { even: 1 } }],
    claimsRefused: 1,
    refusedClaims: [{ cell: 'c1', host: 'h2', code: 'no-room', message: 'full' }],
    alternates: ['h3'],
    advice: [],
    narrowedBy: ['named'],
    silentCells: [],
  };
  assert.equal(read(pack({ ...decision, where: { hints } })), decision);
  const origins = { avoidAggregates: Array.from({ length: 64 }, (_, place) => 1_000_000_000_000_000 + place) };
  assert.equal(read(pack({ ...decision, where: { origins } })), decision);
  assert.equal(read(pack({ ...decision, where: { cells: ['c1'], origins } })), {
    ...decision,
    where: { cells: ['c1'] },
  });
  assert.equal(read(pack({ ...decision, where: { cells: ['c1'] } })), {
    ...decision,
    where: { cells: ['c1'] },
  });
  const zones = { names: ['north'], list: 0 };
  const avoidHosts = Array.from({ length: 8 }, (_, n) => `${'c'.repeat(63)}/${'h'.repeat(62)}${n}`);
  assert.equal(
    read(pack({ ...decision, where: { cells: ['c1'], origins: { zones, avoidHosts } } })),
    { ...decision, where: { cells: ['c1'], origins: { zones } } },
    'names of hosts go first',
  );
});

test('scheduler - why no host was left is said in numbers that add up to all hosts', () => {
  for (let seed = 0; seed < 40; seed += 1) {
    const fleet = randomFleet(`none ${seed}`, 25);
    const spec = fleet.spec();
    const reason = whyNone({ rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view: fleet.view }, { spec });
    const [, total, told] = /^none of (\d+) hosts: ([^;]+)/.exec(reason) ?? [];
    assert.is(Number(total), fleet.view.hosts.size, reason);
    const sum = [...(told ?? '').matchAll(/(?:^|, )(\d+) /g)].reduce((so, [, count]) => so + Number(count), 0);
    assert.is(sum, fleet.view.hosts.size, reason);
  }
});

test('scheduler - what keeps most hosts from a request is said first, its group and filters that are asked late too', () => {
  const view = viewOf(
    { host: 'down', state: 'down' },
    ...['h1', 'h2', 'h3', 'h4'].map((host) => ({ host, has: { VCPU: 4 } })),
  );
  for (const host of ['h1', 'h2', 'h3']) learnMembers(view.groups, `p-${host}`, { g: 1 }, undefined);
  const mine: Filter = {
    name: 'mine',
    late: true,
    goesBy: () => ({}),
    refusal: ({ host }) => (host === 'h3' || host === 'h4' ? { code: 'not-mine', message: 'no' } : null),
  };
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [mine] });
  const apart = { id: 'g', policy: 'anti-affinity', maxPerHost: 1 } as const;
  const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none', instanceGroup: apart } as const;
  assert.match(whyNone({ rankings, view }, { spec: spec as never }), /: 2 \S+, 2 \S+, 1 host down$/);
});

test('scheduler - reasons that refuse as many hosts stand in one order, in records of either kind and where all are asked', () => {
  const view = viewOf(
    { host: 'down', state: 'down' },
    { host: 'small', has: { VCPU: 1 } },
    { host: 'avoided' },
    { host: 'taken' },
    { host: 'free' },
  );
  learnMembers(view.groups, 'p-taken', { g: 1 }, undefined);
  const fleet = { rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view };
  const groups = [{ name: '', resources: { VCPU: 4 } }];
  const spec = { groups, groupPolicy: 'none' as const, instanceGroup: { id: 'g', policy: 'anti-affinity' as const } };
  const codesOf = (refused: readonly { readonly code: string }[]) => refused.map(({ code }) => code);
  const draftOf = (request: Request) => {
    const draft = emptyDraft({ where: undefined });
    noteStanding(draft, fleet, request, 1);
    return codesOf(draft.refused);
  };
  const codes = ['exceeds-capacity', 'group-anti-affinity', 'host-down'];
  assert.equal(draftOf({ spec }), codes);
  assert.equal(codesOf(surveyFor(view, { spec }).refused), codes);
  const avoiding = { spec: { ...spec, tree: { noneOf: ['p-avoided'] } } };
  assert.equal(draftOf(avoiding), ['avoided-provider', ...codes]);
  assert.equal(codesOf(standing(fleet, avoiding, 1).refused), ['avoided-provider', ...codes]);
  assert.equal(codesOf(surveyFor(view, avoiding).refused), ['avoided-provider', ...codes]);
});

test('scheduler - that nothing of what is named is there is said of what is not known, however hosts are refused', () => {
  const view = viewOf(
    { host: 'h1', cell: 'c1', state: 'disabled' },
    { host: 'h2', cell: 'c2', aggregates: ['closed'] },
    { host: 'h3', cell: 'c3' },
  );
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');
  const groups = [{ name: '', resources: { VCPU: 9 } }];
  const absence = (where: Request['where'], oneOf?: string[]) => {
    const tree = { notMemberOf: ['closed'], ...(oneOf === undefined ? {} : { oneOf }) };
    const request = { where, spec: { groups, groupPolicy: 'none' as const, tree } };
    return [/there is no such (\w+)/.exec(whyNone({ rankings, view }, request))?.[1], surveyFor(view, request).absent];
  };
  assert.equal(absence({ cells: ['c9', 'c8'] }), ['cell', 'cells']);
  assert.equal(absence({ cells: ['c9', 'c1'] }), [undefined, undefined], 'a host that is disabled is in it');
  assert.equal(absence({ cells: ['c2'] }), [undefined, undefined], 'the cell has one, in an aggregate that is closed');
  assert.equal(absence(undefined, ['p-h9', 'p-h8']), ['host', 'hosts']);
  assert.equal(absence(undefined, ['p-h9', 'p-h1']), [undefined, undefined], 'it is known, if disabled');
  assert.equal(absence(undefined, ['p-h2']), [undefined, undefined]);
  assert.equal(absence(undefined), [undefined, undefined]);
});

test('scheduler - a record reads back as it was made, whatever the numbers and names in it', () => {
  const decision: Decision = {
    at: 1_700_000_000_000,
    scheduler: 'node "7"',
    hosts: 4,
    fits: 2,
    refused: [{ code: 'no-room', about: 'CUSTOM_"A"', hosts: 2, nearest: { cell: 'c1', host: 'h1', short: 0.5 } }],
    chosen: { cell: 'c1', host: 'h2' },
    weights: [
      { cell: 'c1', host: 'h2', weight: 1e300, parts: { 'free "share"': 1e300, odd: Number.NaN } },
      { cell: 'c1', host: 'h3', weight: 1 / 3, parts: { 'free "share"': Number.POSITIVE_INFINITY, odd: -1e-9 } },
    ],
    claimsRefused: 1,
    refusedClaims: [{ cell: 'c1', host: 'h9', code: 'no-room', message: 'line\nand "quote"' }],
    alternates: ['h3'],
    alternatesAsked: 2,
    furtherInCell: 0,
    furtherElsewhere: 7,
    room: { instances: 3, of: 5, hosts: 9, named: [{ cell: 'c1', host: 'h1', instances: 2 }] },
    runsOut: {
      ...{ instances: 3, of: 5, hosts: 9, classes: [{ about: 'CUSTOM_"A"', hosts: 7 }] },
      rules: [{ code: 'too-many-builds', hosts: 2 }],
    },
    tooLarge: [
      { about: 'CUSTOM_"A"', asked: 8, most: 7 },
      { about: 'VCPU', asked: 8, most: 4, onOne: true },
    ],
    groupHeld: {
      ...{ group: 'db', cell: 'c1', host: 'h1', state: 'set-aside', members: 7, named: ['db-0', 'db-1'] },
      withCell: true,
      freedBy: ['members'],
    },
    onNamed: {
      told: [
        { cell: 'c1', host: 'h1', refusal: { code: 'host-down', message: 'it is "down"' } },
        {
          cell: 'c1',
          host: 'h2',
          refusal: { code: 'exceeds-capacity', about: 'VCPU', short: 2, message: 'too few', lacksMore: true },
          also: [{ code: 'trait-missing', about: 'HW_X', message: 'it lacks HW_X' }],
          partly: true,
        },
      ],
    },
    advice: [],
    narrowedBy: ['named-hosts'],
    silentCells: ['c9'],
    silentShards: [1, 3],
    shards: [0, 3],
    absent: 'hosts',
    unknown: [
      { kind: 'class', name: 'CUSTOM_LICENCE', like: 'CUSTOM_LICENSE' },
      { kind: 'host', name: 'c9/h1' },
      { kind: 'aggregate', name: 'a "rack" 7', like: 'a "rock" 7' },
    ],
    where: { cells: ['c1'], hints: { kind: 'a "word"' } },
  };
  const { y, z } = JSON.parse(pack(decision)) as StoredDecision;
  assert.equal(
    [y, z?.length],
    [['CUSTOM_LICENCE'], 2],
    'earlier versions refuse a record with a kind that is new to them',
  );
  assert.equal(read(pack(decision)), {
    ...decision,
    weights: [
      { cell: 'c1', host: 'h2', weight: 1e300, parts: { 'free "share"': 1e300, odd: 0 } },
      { cell: 'c1', host: 'h3', weight: 0.333333, parts: { 'free "share"': 0, odd: -0 } },
    ],
  });
});

test('decision - a text that is too long has a mark at its end, and none where there is no room', () => {
  assert.equal(
    ['abc', 'abcd', 'ab\u{1F600}d'].map((text) => clipped(text, 3)),
    ['abc', 'ab…', 'ab…'],
  );
  assert.equal([clipped('abc', 1), clipped('abc', 0)], ['…', '']);
});

test('scheduler - a reason names the nearest host without a look through all hosts', () => {
  const view = viewOf(
    { host: 'h1', used: { VCPU: 8 } },
    { host: 'h2', used: { VCPU: 3 } },
    { host: 'h3', state: 'down' },
  );
  const known = { rankings: emptyRankings(DEFAULT_WEIGHERS, 's'), view };
  const request: Request = { spec: { groups: [{ name: '', resources: { VCPU: 6 } }], groupPolicy: 'none' } };
  const reason = whyNone(known, request);
  assert.match(reason, /; nearest c\d\/h2: 6 VCPU exceed what is free on provider 'h2': 5 of 8 \(short by 1\)$/);
  view.hosts.values = () => assert.unreachable('it looked through all hosts') as never;
  assert.is(whyNone(known, request), reason);
});

test.run();
