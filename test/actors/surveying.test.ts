// Area: scheduler, why requests have no host. What was found out for one is told of others only as long as it is true: not
// of hosts that have changed meanwhile. A burst of requests that ask for the same costs little all the same.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { effort } from '../../actors/fitting/effort.ts';
import { MAX_REASON_LENGTH } from '../../actors/messages/common.ts';
import { classesApart, type Decision, withClasses } from '../../actors/messages/decision.ts';
import type { Select } from '../../actors/messages/scheduler.ts';
import { unpackDecision } from '../../actors/messages/stored-decision.ts';
import { likeHosts } from '../../actors/scheduler/explaining/like-hosts.ts';
import { lookForLike, lookForNames, unknownWords } from '../../actors/scheduler/explaining/unknown-names.ts';
import { instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { companyOf } from '../../actors/scheduler/locating.ts';
import { SWEEP_WAKE } from '../../actors/scheduler/sweeps.ts';
import { emptyView, learnProvider } from '../../actors/scheduler/view/view.ts';
import { learnHost } from '../../actors/scheduler/view/view-hosts.ts';
import { countingFilter } from '../support/counting.ts';
import { type HostWords, stateOf, viewOf } from '../support/facts.ts';
import { type Answer, schedulersOf, selectFor } from '../support/schedulers.ts';
import { surveyFor } from '../support/survey.ts';

const test = suite('scheduler - surveying');

const NOTHING = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' as const };
/** Looking at all of so many hosts takes several turns. */
const MANY = 1_200;

/** A scheduler that counts how often it looks at a host. */
function countingRig(hosts: readonly HostWords[]) {
  const { filter, looks } = countingFilter();
  const all = schedulersOf(hosts, [{ name: 's', filters: [filter] }]);
  const looksAt = (run: () => void): number => {
    const before = looks();
    run();
    return looks() - before;
  };
  return { ...all, looksAt };
}

type Rig = Pick<ReturnType<typeof countingRig>, 'answers' | 'hear' | 'deliver' | 'run'>;

const hostsOf = (count: number, vcpu = 8): HostWords[] =>
  Array.from({ length: count }, (_, n) => ({ host: `h${n}`, has: { VCPU: vcpu } }));

/** What is said of a request when all that takes time is done. */
function told(all: Rig, asked: Select): Extract<Answer, { reason: string }> & { brief?: true | undefined } {
  const before = all.answers.length;
  all.hear(asked);
  all.deliver();
  for (let step = 0; step < 50 && all.answers.length === before; step += 1) all.run(10);
  const answer = all.answers[before];
  assert.ok(answer !== undefined && answer.type !== 'selected', JSON.stringify(answer));
  return answer;
}

function recordOf(decision = ''): Partial<ReturnType<typeof unpackDecision>> {
  return unpackDecision(JSON.parse(decision));
}

test('surveying - a request that fails a moment after another one is told how hosts stand by then', () => {
  const all = schedulersOf([
    { host: 'a', has: { VCPU: 8 } },
    { host: 'b', has: { VCPU: 4 } },
  ]);
  assert.match(
    told(all, selectFor('p1', { vcpu: 10 })).reason,
    /nearest c1\/a: .*\(short by 2\); no host .*; with 2 VCPU less/,
  );
  assert.is(all.choose(selectFor('use', { vcpu: 6 }))?.type, 'selected');
  const { reason, decision } = told(all, selectFor('p2', { vcpu: 10 }));
  assert.match(
    reason,
    /nearest c1\/b: .*\(short by 6\); no host can give more than 8 VCPU .*; with 6 VCPU less \(4 instead of 10\) it would fit on 1 host$/,
  );
  const { refused = [], advice = [] } = recordOf(decision);
  assert.equal(
    [refused[0]?.nearest?.host, refused[0]?.nearest?.short, advice[0]?.to, advice[0]?.hosts],
    ['b', 6, 4, 1],
  );
});

test('surveying - a host that has been fenced meanwhile is not said to be one that would do', () => {
  const all = schedulersOf([
    { host: 'a', has: { VCPU: 2 } },
    { host: 'b', state: 'down' },
  ]);
  assert.match(told(all, selectFor('p1', { vcpu: 4 })).reason, /; .*1 host/);
  all.tellHost({ host: 'b', state: 'fenced' });
  const { reason } = told(all, selectFor('p2', { vcpu: 4 }));
  assert.match(reason, /1 host fenced/);
  assert.not.match(reason, /down/);
});

for (const [what, vcpu, more] of [
  ['one instance', 10, {}],
  ['several', 10, { instances: ['x', 'y'], ordered: true }],
  ['several, with room for one, that wait', 8, { instances: ['x', 'y'], ordered: true, waits: { since: 1 } }],
] as const) {
  test(`surveying - requests that ask for the same of hosts that do not change look at all of them once: ${what}`, () => {
    const all = countingRig([{ host: 'h', has: { VCPU: 8 } }, ...hostsOf(100, 6)]);
    const ask = (n: number) => {
      const instances = ('instances' in more ? more.instances : ['x']).map((name) => `${name}-${n}`);
      return told(all, selectFor(`x-${n}`, { vcpu, ...more, instances }));
    };
    const { reason } = ask(0);
    assert.match(reason, /; (with \d VCPU less|1 instance instead of 2)/);
    const looks = all.looksAt(() => {
      for (let n = 1; n <= 50; n += 1) assert.is(ask(n).reason, reason);
    });
    assert.ok(looks < 50 * 10, `${looks} looks`);
  });
}

test('surveying - many that ask for the same while it is found out share one look at all hosts', () => {
  const all = countingRig(hostsOf(MANY));
  const looks = all.looksAt(() => {
    for (let n = 0; n < 50; n += 1) {
      all.hear(selectFor(`x-${n}`, { vcpu: 10 }));
      all.deliver();
    }
    assert.is(all.answers.length, 0, 'it takes several turns');
    for (let step = 0; step < 50; step += 1) all.pass(10);
    all.deliver();
  });
  assert.is(all.answers.length, 50);
  for (const answer of all.answers) assert.match((answer as { reason: string }).reason, /it would fit on 1200 hosts$/);
  assert.ok(looks < 5 * MANY, `${looks} looks`);
});

test('surveying - of very many that wait for one look not all are answered in one turn', () => {
  const all = countingRig(hostsOf(MANY));
  const [desk] = all.desks;
  assert.ok(desk);
  const REQUESTS = 450;
  for (let n = 0; n < REQUESTS; n += 1) all.hear(selectFor(`x-${n}`, { vcpu: 10 }));
  all.deliver();
  desk.now += 1_000;
  const answered = desk
    .pass(100)
    .map(({ sent }) => sent.filter(({ message }) => message.type === 'no-valid-host').length);
  assert.is(
    answered.reduce((sum, one) => sum + one, 0),
    REQUESTS,
  );
  assert.ok(Math.max(...answered) <= 100, `${answered}`);
});

test('surveying - while it is found out why requests fail, their askers are told so', () => {
  const all = countingRig(hostsOf(MANY));
  const [desk] = all.desks;
  assert.ok(desk);
  for (const request of ['x', 'y']) all.hear(selectFor(request, { vcpu: 10 }));
  all.deliver();
  assert.is(all.answers.length, 0, 'it takes several turns');
  desk.now += 1_000;
  const { sent } = desk.tell({ type: 'wake', id: SWEEP_WAKE });
  const { round } = selectFor('x');
  assert.equal(sent, [
    { to: 'conductor/0', message: { type: 'selecting', request: 'x', round } },
    { to: 'conductor/0', message: { type: 'selecting', request: 'y', round } },
  ]);
});

test('surveying - a request is answered before its time is over, also where all are not looked at by then', () => {
  const all = countingRig(hostsOf(MANY));
  const [desk] = all.desks;
  assert.ok(desk);
  for (const [request, seconds] of [
    ['short', 3],
    ['long', 60],
  ] as const) {
    all.hear(selectFor(request, { vcpu: 10, expiresAt: desk.now + seconds * 1_000 }));
  }
  all.deliver();
  desk.now += 2_500;
  const { sent } = desk.tell({ type: 'wake', id: SWEEP_WAKE });
  assert.equal(
    sent.map(({ message }) => `${message.type} ${'request' in message ? message.request : ''}`),
    ['no-valid-host short', 'selecting long'],
  );
});

/** What is said of a request while whose hosts are looked at all of them change. */
function toldOfChanging(meanwhileMs: number): Extract<Answer, { type: 'no-valid-host' }> {
  const all = countingRig(hostsOf(MANY));
  all.hear(selectFor('x', { vcpu: 10 }));
  all.deliver();
  assert.is(all.answers.length, 0, 'it takes several turns');
  for (let n = 0; n < MANY; n += 1) if (n !== 7) all.take(`on-h${n}`, `h${n}`, 1);
  all.put({ host: 'h7', has: { VCPU: 9 } });
  all.deliver();
  all.tellHost({ host: 'h0', state: 'disabled' });
  for (const desk of all.desks) desk.now += meanwhileMs;
  for (let step = 0; step < 50; step += 1) all.pass(10);
  all.deliver();
  const [answer] = all.answers;
  assert.ok(answer?.type === 'no-valid-host');
  return answer;
}

test('surveying - of hosts that change while they are looked at it is told how each stood when it was', () => {
  const { reason, decision } = toldOfChanging(0);
  assert.match(
    reason,
    /^none of 1200 hosts: 1200 exceeds-capacity VCPU; no host can give more than 8 VCPU .*; with 2 VCPU less \(8 instead of 10\) it would fit on 1 host$/,
  );
  const { hosts, fits, refused = [] } = recordOf(decision);
  assert.equal([hosts, fits, refused.map((one) => one.hosts)], [MANY, 0, [MANY]]);
});

test('surveying - of hosts that change it is told also where it takes long, and where it takes very long the numbers are of the end', () => {
  assert.match(toldOfChanging(5_000).reason, /; with 2 VCPU less \(8 instead of 10\) it would fit on 1 host/);
  const { reason, decision } = toldOfChanging(12_000);
  assert.match(reason, /1199 exceeds-capacity VCPU, 1 host disabled; nearest c1\/h7[^:]*: .*\(short by 1\)/);
  const { refused = [], advice } = recordOf(decision);
  assert.equal(advice, []);
  assert.equal([refused[0]?.hosts, refused[0]?.nearest?.host], [1_199, 'h7']);
});

test('surveying - where the host that could give most is taken before all have been looked at, it is told how it stood when it was', () => {
  for (const left of [4, 8]) {
    const all = schedulersOf([{ host: 'h', has: { VCPU: 9 } }, ...hostsOf(MANY)]);
    all.hear(selectFor('x', { vcpu: 10 }));
    all.deliver();
    all.take('on-h', 'h', 9 - left);
    all.deliver();
    assert.is(all.answers.length, 0, 'it takes several turns');
    for (let step = 0; step < 50; step += 1) all.pass(10);
    all.deliver();
    const [answer] = all.answers;
    assert.ok(answer?.type === 'no-valid-host');
    assert.match(answer.reason, /; with 1 VCPU less \(9 instead of 10\) it would fit on 1 host$/);
  }
});

/** The reasons that are told of requests when there was time for all. */
function allTold(all: Rig, askAll: () => void): string[] {
  const before = all.answers.length;
  askAll();
  all.run(2_000, 10);
  return all.answers.slice(before).map((answer) => (answer.type === 'selected' ? '' : (answer.reason ?? '')));
}

test('surveying - a flood of requests on hosts that change all the time costs a bounded effort, and each is told what was true after it came', () => {
  const all = countingRig(hostsOf(400));
  told(all, selectFor('first', { vcpu: 10 }));
  const FLOOD = 100;
  let reasons: string[] = [];
  const looks = all.looksAt(() => {
    reasons = allTold(all, () => {
      for (let n = 0; n < FLOOD; n += 1) {
        all.put({ host: `h${n}`, has: { VCPU: 7 } });
        all.deliver();
        all.hear(selectFor(`x-${n}`, { vcpu: 10 }));
        all.deliver();
      }
    });
  });
  assert.is(reasons.length, FLOOD);
  for (const [n, reason] of reasons.entries()) {
    assert.match(reason, /^none of 400 hosts: 400 exceeds-capacity VCPU; .*with 2 VCPU less \(8 instead of 10\)/);
    const [, hosts] = /it would fit on (\d+) hosts$/.exec(reason) ?? [];
    assert.ok(Number(hosts) >= 400 - FLOOD && Number(hosts) < 400 - n, `${hosts} after ${n + 1} have changed`);
  }
  assert.ok(looks < 45_000 * 2, `${looks} looks`);
});

test('surveying - however many ask for different things on hosts that change all the time, the effort is bounded', () => {
  const all = countingRig(hostsOf(400));
  const KINDS = 20;
  const ask = (n: number) => selectFor(`x-${n}`, { vcpu: 10 + (n % KINDS) });
  const first = all.looksAt(() => {
    for (let n = 0; n < KINDS; n += 1) assert.match(told(all, ask(n)).reason, /VCPU less/, 'each is advised once');
  });
  let reasons: string[] = [];
  const looks = all.looksAt(() => {
    reasons = allTold(all, () => {
      for (let n = KINDS; n < 11 * KINDS; n += 1) {
        all.put({ host: `h${n}`, has: { VCPU: 7 } });
        all.deliver();
        all.hear(ask(n));
        all.deliver();
      }
    });
  });
  assert.is(reasons.length, 10 * KINDS);
  for (const reason of reasons) assert.match(reason, /VCPU less/);
  assert.ok(looks < 4 * first, `${looks} looks after ${first}`);
});

test('surveying - one who waits for his turn is answered in time, however many ask all the time for what nobody has asked for', () => {
  const all = countingRig(hostsOf(400));
  const [desk] = all.desks;
  assert.ok(desk);
  told(all, selectFor('first', { vcpu: 10 }));
  const ended = new Map<string, number>();
  const from = desk.now;
  /** When it was said of the one who waits for longest that he is not forgotten. */
  const assured: number[] = [];
  for (let n = 0; ended.size < 3 && n < 1_200; n += 1) {
    all.put({ host: `h${n % 400}`, has: { VCPU: 7 + (n % 2) } });
    all.deliver();
    all.hear(selectFor(`other-${n}`, { vcpu: 100 + n }));
    if (n === 60) {
      for (const [request, seconds] of [
        ['brief', 1],
        ['short', 6],
        ['long', 60],
      ] as const) {
        const expiresAt = desk.now + seconds * 1_000;
        all.hear(selectFor(request, { vcpu: 10, expiresAt }));
      }
    }
    all.run(10);
    if (all.selecting.delete('long')) assured.push(desk.now - from - 600);
    for (const { request } of all.answers.splice(0)) {
      if (!/^(other|first)/.test(request)) ended.set(request, desk.now - from - 600);
    }
  }
  const most = { brief: 1_000, short: 3_500, long: 10_500 };
  for (const [request, ms] of Object.entries(most)) {
    assert.ok((ended.get(request) ?? Number.POSITIVE_INFINITY) < ms, `${request}: ${ended.get(request)} ms`);
  }
  const pauses = [...assured, ended.get('long') ?? 0].map((ms, at) => ms - (assured[at - 1] ?? 0));
  assert.ok(Math.max(...pauses) < 1_000, `${pauses}`);
});

test('surveying - who asks when it is time to look again brings along those who wait for that', () => {
  const all = countingRig(hostsOf(MANY));
  const [desk] = all.desks;
  assert.ok(desk);
  const change = (n: number) => {
    all.put({ host: `h${n}`, has: { VCPU: 7 } });
    all.deliver();
  };
  told(all, selectFor('first', { vcpu: 10 }));
  const KINDS = 60;
  for (let n = 0; n < KINDS; n += 1) told(all, selectFor(`kind-${n}`, { vcpu: 20 + n }));
  all.answers.splice(0);
  change(0);
  told(all, selectFor('again', { vcpu: 10 }));
  change(1);
  all.hear(selectFor('waits', { vcpu: 10 }));
  all.deliver();
  all.answers.splice(0);
  all.pass(1_000);
  assert.is(all.answers.length, 0, 'it is not its turn');
  const looks = all.looksAt(() => {
    all.hear(selectFor('comes', { vcpu: 10 }));
    all.deliver();
    for (let step = 0; step < 20; step += 1) all.pass(10);
    all.deliver();
    assert.equal(
      all.answers.map(({ request }) => request),
      ['waits', 'comes'],
    );
    all.run(20_000);
  });
  assert.ok(looks < 5 * MANY, `${looks} looks`);
});

test('surveying - one who waits for room does not miss it because others are looked for before', () => {
  const all = countingRig(hostsOf(MANY));
  const waits = { since: 1 };
  const ofWaiting = (round: number) => told(all, selectFor('waits', { vcpu: 10, waits, round }));
  assert.match(ofWaiting(1).reason, /VCPU less/);
  for (let n = 0; n < 100; n += 1) told(all, selectFor(`other-${n}`, { vcpu: 20 + n }));
  all.put({ host: 'h0', has: { VCPU: 7 } });
  all.deliver();
  told(all, selectFor('same', { vcpu: 10 }));
  all.put({ host: 'h1', has: { VCPU: 7 } });
  all.deliver();
  assert.is(ofWaiting(2).brief, true, 'who was told more keeps that');
  all.answers.splice(0);
  all.put({ host: 'h7', has: { VCPU: 16 } });
  all.deliver();
  all.pass(10);
  all.hear(selectFor('late', { vcpu: 10 }));
  all.deliver();
  assert.equal(
    all.answers.map(({ type, request }) => `${type} ${request}`),
    ['selected waits'],
  );
});

test('surveying - where many wait for different things and hosts change, each is looked into less often, and is told so', () => {
  const all = countingRig(hostsOf(MANY));
  const KINDS = 20;
  const waits = { since: 1 };
  const ask = (kind: number, round: number, more: Partial<Select> = {}) => {
    const { brief, reason } = told(all, selectFor(`x-${kind}`, { vcpu: 10 + kind, waits, round, ...more }));
    return { brief: brief === true, isAdvised: reason.includes('VCPU less') };
  };
  const kinds = Array.from({ length: KINDS }, (_, kind) => kind);
  const whole = { brief: false, isAdvised: true };
  for (const kind of kinds) assert.equal(ask(kind, 1), whole);
  assert.equal(ask(0, 2), whole, 'what was found is told as long as nothing has changed');
  all.put({ host: 'h0', has: { VCPU: 7 } });
  all.deliver();
  const looks = all.looksAt(() => {
    for (const kind of kinds.slice(10)) assert.equal(ask(kind, 2), { brief: true, isAdvised: false });
  });
  assert.ok(looks < MANY, `${looks} looks`);
  assert.equal(ask(19, 3, { waits: { ...waits, last: true } }), whole, 'that is the last word');
  const { now = 0 } = all.desks[0] ?? {};
  const other = selectFor('other', { vcpu: 10 + 18, waits: { since: now }, where: { cells: ['c1'] } });
  assert.is(told(all, other).brief, undefined, 'of what it asks for nothing was told');
  all.put({ host: 'h0', has: { VCPU: 8 } });
  all.deliver();
  const later = { ...other, request: 'later', instances: ['later'], waits: { since: now + 10_000 } };
  assert.is(told(all, later).brief, true, 'it is in line at once, behind another');
  all.run(1_500, 10);
  const latest = all.answers.findLast(({ request }) => request === 'later');
  assert.equal(
    [latest?.type, (latest as { brief?: true }).brief],
    ['parked', undefined],
    'it came after that was told',
  );
  all.pass((KINDS * MANY) / 15);
  assert.equal(ask(12, 3), whole);
});

test('surveying - each is looked into less often also where thousands wait for different things', () => {
  const all = schedulersOf(hostsOf(40));
  const KINDS = 2_200;
  const waits = { since: 1 };
  const askAll = (round: number) => {
    for (let kind = 0; kind < KINDS; kind += 1) {
      all.hear(selectFor(`x-${kind}`, { vcpu: 10 + kind, waits, round }));
      all.deliver();
    }
  };
  askAll(1);
  assert.is(all.answers.splice(0).length, KINDS);
  all.put({ host: 'h0', has: { VCPU: 7 } });
  all.deliver();
  askAll(2);
  const brief = all.answers.filter((answer) => answer.type === 'parked' && answer.brief === true);
  assert.is(brief.length, KINDS);
});

test('surveying - of several that wait for the same each is told in full, in line meanwhile, whenever it is asked for on hosts that change', () => {
  const all = countingRig(hostsOf(MANY));
  const { now: since = 0 } = all.desks[0] ?? {};
  const asks = ['first', 'second', 'third'];
  for (let round = 1; round <= 3; round += 1) {
    all.put({ host: `h${round}`, has: { VCPU: 7 } });
    all.deliver();
    const before = all.answers.length;
    for (const [place, request] of asks.entries()) {
      all.hear(selectFor(request, { vcpu: 10, round, waits: { since: since + place } }));
    }
    all.deliver();
    const inLine = [...(all.desks[0]?.state.parking.byRequest.keys() ?? [])];
    if (round > 1) assert.is(inLine.length, asks.length, 'none has to wait for that to be in line');
    all.run(4_000, 10);
    for (const request of asks) {
      const last = all.answers.slice(before).findLast((answer) => answer.request === request);
      assert.ok(last?.type === 'parked' && last.brief === undefined, `${request} in round ${round}`);
      assert.match(last.reason, /^none of 1200 hosts: .*with 2 VCPU less/);
    }
  }
});

test('surveying - many in line that are asked for one after the other, on hosts that change, share a look at all hosts a second', () => {
  const all = countingRig(hostsOf(MANY));
  const { now: since = 0 } = all.desks[0] ?? {};
  const ask = (place: number, round: number) => {
    const waits = { since: since + place };
    all.hear(selectFor(`w${place}`, { vcpu: 10, round, waits }));
    all.deliver();
  };
  const ASKED = 100;
  for (let place = 0; place < ASKED; place += 1) ask(place, 1);
  all.pass(2_000);
  all.answers.splice(0);
  const looks = all.looksAt(() => {
    for (let place = 0; place < ASKED; place += 1) {
      all.put({ host: `h${place}`, has: { VCPU: 7 } });
      all.deliver();
      ask(place, 2);
      all.pass(50);
    }
    all.pass(2_000);
  });
  const inFull = all.answers.filter((answer) => answer.type === 'parked' && answer.brief === undefined);
  assert.is(new Set(inFull.map(({ request }) => request)).size, ASKED, 'each is told in full');
  // In seven seconds; of each host several things are found out.
  assert.ok(looks < 8 * 4 * MANY, `${looks} looks`);
});

test('surveying - what stands in the way is said beside advice that names very much', () => {
  const long = Array.from({ length: 64 }, (_, n) => String(n).padStart(64, 'a'));
  const all = schedulersOf([{ host: 'h', has: { VCPU: 8 }, aggregates: long }]);
  const where = { origins: { avoidAggregates: long.map((_, place) => place) } };
  const { reason } = told(all, selectFor('x', { vcpu: 2, where, tree: { notMemberOf: long } }));
  assert.match(reason, /^none of 1 host: 1 in-avoided-aggregate; if aggregates a+0, a+1, /);
});

test('surveying - hosts that are gone before all have been looked at disturb nobody', () => {
  const hosts = [...hostsOf(4), ...hostsOf(MANY, 6).slice(4)];
  for (const filters of [[], [instanceLimit()]]) {
    for (const vcpu of [10, 8]) {
      const all = schedulersOf(hosts, [{ name: 's', filters }]);
      const instances = ['v', 'w', 'x', 'y', 'z'];
      const asked = selectFor('several', { vcpu, instances, ordered: true, waits: { since: 1 } });
      all.hear(asked);
      all.deliver();
      assert.is(all.answers.length, 0, 'it takes several turns');
      const { epoch = 0, sequence = 0 } = all.desks[0]?.state.followers.get('placement 0') ?? {};
      const gone = { shard: 0, epoch, sequence: sequence + 1, changed: [], used: [], removed: ['p-h2', 'p-h3'] };
      all.hear({ type: 'providers-changed', ...gone }, 'scheduler/s', 'placement/0');
      all.run(500, 10);
      assert.equal(
        all.answers.map(({ type }) => type),
        ['parked'],
      );
    }
  }
});

/** The names that are told to be carried by nothing, as `kind name`. */
const namesIn = (unknown: Decision['unknown']) => (unknown ?? []).map(({ kind, name }) => `${kind} ${name}`);

test('surveying - names of a request that nothing known carries are told of each kind, however the request uses them', () => {
  const view = viewOf(
    { host: 'h1', cell: 'c1', traits: ['CUSTOM_A'], aggregates: ['rack', 'rack-2'], state: 'down' },
    { host: 'h2', cell: 'c2', traits: ['CUSTOM_B'] },
  );
  const group = {
    name: '',
    resources: { VCPU: 1 },
    required: ['CUSTOM_A', 'CUSTOM_R'],
    anyOf: [['CUSTOM_B', 'CUSTOM_O']],
    forbidden: ['CUSTOM_F'],
    memberOf: [['rack', 'rack-9']],
  };
  const spec = {
    groups: [group],
    groupPolicy: 'none' as const,
    rootRequired: ['CUSTOM_R', 'CUSTOM_RR'],
    rootForbidden: ['CUSTOM_RF', 'CUSTOM_B'],
    tree: {
      memberOf: [['zone-rack'], ['rack-2', 'rack-8']],
      notMemberOf: ['rack-7', 'rack', 'kept'],
      oneOf: ['p-h1', 'p-h9'],
      noneOf: ['p-h8', 'p-h2'],
    },
  };
  const where = {
    cells: ['c1', 'c9'],
    avoidCells: ['c8'],
    preferCells: ['c2', 'c7', 'c6'],
    origins: {
      zones: { names: ['north'], list: 0 },
      avoidAggregates: [0, 1],
      kept: [2],
      hosts: ['c1/h1', 'c1/h9'],
      avoidHosts: ['c1/h8', 'c2/h2'],
    },
  };
  const roots = new Map([['web', new Set(['p-h1'])]]);
  const company = companyOf(
    { ...spec, tree: { heldBy: ['web', 'wbe'], notHeldBy: ['db'] } },
    { roots, homes: roots, waiting: new Set() },
  );
  const { unknown } = surveyFor(view, { spec, where, company }, 1, 10, (cell) => cell === 'c6');
  assert.equal(namesIn(unknown), [
    'trait CUSTOM_R',
    'trait CUSTOM_O',
    'trait CUSTOM_F',
    'trait CUSTOM_RR',
    'trait CUSTOM_RF',
    'cell c9',
    'cell c8',
    'cell c7',
    'host c1/h9',
    'host c1/h8',
    'aggregate rack-8',
    'aggregate rack-7',
    'aggregate rack-9',
    'instance wbe',
    'instance db',
  ]);
  learnProvider(view, { ...stateOf({ host: 'shared', traits: ['CUSTOM_F'], aggregates: ['rack-9'] }) });
  const told = namesIn(surveyFor(view, { spec, where, company }).unknown);
  assert.not.ok(
    told.includes('trait CUSTOM_F') || told.includes('aggregate rack-9'),
    'a provider that is no host has it',
  );
  assert.is(surveyFor(emptyView(), { spec, where, company }).unknown, undefined, 'that no host is known says it');
  assert.is(
    surveyFor(view, { spec: { groups: [{ ...group, required: [], anyOf: [] }], groupPolicy: 'none' } }).unknown,
    undefined,
  );
  const many = Array.from({ length: 60 }, (_, n) => `CUSTOM_N${n}`);
  const forbidding = { groups: [{ name: '', resources: { VCPU: 1 }, forbidden: many }], groupPolicy: 'none' as const };
  assert.equal(
    namesIn(surveyFor(view, { spec: forbidding }).unknown),
    many.slice(0, 20).map((name) => `trait ${name}`),
  );
});

test('surveying - beside a name that nothing carries stands the one that is most like it, if one is much like it', () => {
  const traits = ['HW_CPU_X86_AVX2', 'HW_CPU_X86_SSE42', 'CUSTOM_RACK_17'];
  for (const others of [0, 5_000]) {
    const view = viewOf(
      ...hostsOf(others + 2).map((one) => ({ ...one, cell: 'region-north', traits, aggregates: ['nvme-local'] })),
    );
    const required = ['HW_CPU_X86_AXV2', 'HW_CPU_X86_SSE41', 'CUSTOM_RACK_18', 'CUSTOM_SOMETHING_ELSE'];
    const group = { name: '', resources: { VCPUS: 1, GPU: 1 }, required, memberOf: [['nmve-local']] };
    const where = { cells: ['region-nroth', 'c1'] };
    const { unknown = [] } = surveyFor(view, { spec: { groups: [group], groupPolicy: 'none' }, where });
    assert.equal(
      unknown.map(({ name, like }) => (like === undefined ? name : `${name} for ${like}`)),
      [
        'VCPUS for VCPU',
        'GPU',
        'HW_CPU_X86_AXV2 for HW_CPU_X86_AVX2',
        'HW_CPU_X86_SSE41',
        'CUSTOM_RACK_18',
        'CUSTOM_SOMETHING_ELSE',
        'region-nroth for region-north',
        'c1',
        'nmve-local for nvme-local',
      ],
    );
    const both = { ...group, resources: { CUSTOM_GPUX: 1 }, required: ['CUSTOM_GPUX'], memberOf: [] };
    const sized = viewOf({ host: 'h1', has: { CUSTOM_GPU: 8 } }, { host: 'h2' });
    const told = surveyFor(sized, { spec: { groups: [both], groupPolicy: 'none' } }).unknown ?? [];
    const { classes, others: names, like } = classesApart(told);
    assert.equal(withClasses(classes, names, like), told);
    assert.equal(
      told.map((one) => [one.kind, one.like]),
      [
        ['class', 'CUSTOM_GPU'],
        ['trait', undefined],
      ],
    );
    const swapped = surveyFor(viewOf({ aggregates: ['gold'] }), {
      spec: {
        groups: [{ name: '', resources: { VCPU: 1 }, memberOf: [['glod'], ['gild'], ['gdlo']] }],
        groupPolicy: 'none',
      },
    }).unknown;
    assert.equal(
      swapped?.map((one) => one.like),
      ['gold', 'gold', undefined],
      'two neighbours that are swapped count as one change',
    );
    assert.match(unknownWords(unknown), /trait HW_CPU_X86_AXV2 \(HW_CPU_X86_AVX2 is known\), trait HW_CPU_X86_SSE41,/);
  }
});

test('surveying - beside a standard name, and one that is more like another of those, stands none that is carried', () => {
  const likeOf = (required: string[], traits: string[]) => {
    const groups = [{ name: '', resources: { NUMA_CORE: 1 }, required }];
    const view = viewOf({ has: { VCPU: 8, NUMA_CORES: 8 }, traits });
    return surveyFor(view, { spec: { groups, groupPolicy: 'none' } }).unknown?.map(({ like }) => like);
  };
  const traits = ['HW_CPU_X86_AVX2', 'HW_CPU_X86_AVX512F'];
  const none = undefined;
  assert.equal(likeOf(['HW_CPU_X86_AVX512BW', 'HW_CPU_X86_AVX', 'HW_CPU_X86_AMX'], traits), [none, none, none, none]);
  assert.equal(likeOf(['HW_CPU_X86_AVX512G', 'HW_CPU_X86_VAX2'], traits), [none, ...traits.toReversed()]);
});

test('surveying - what is like a name is found in steps that are not long, and on all providers of a host', () => {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
  const names = (alike: string) =>
    Array.from(
      { length: 676 },
      (_, n) => `CUSTOM_${alike.repeat(24)}_${letters[n % 26]}${letters[Math.floor(n / 26)]}`,
    );
  const view = viewOf({ host: 'h1', traits: names('XY') }, { host: 'h2' });
  const none = {
    cells: new Set<string>(),
    cellsMet: new Set<string>(),
    classes: new Set<string>(),
    aggregates: new Set<string>(),
  };
  let [looks, most] = [0, 0];
  for (const steps = lookForLike({ ...none, traits: new Set(names('XZ').slice(0, 20)) }, view, { spec: NOTHING }); ; ) {
    const before = effort.looks;
    if (steps.next().done === true) break;
    looks += effort.looks - before;
    most = Math.max(most, effort.looks - before);
  }
  assert.ok(looks >= 20 * 676 && most < 5_000, `${looks} looks, ${most} in one step`);

  const roots = Array.from({ length: 2_048 }, (_, n) => ({ host: `h${n}`, cell: n === 7 ? 'region-north' : 'c1' }));
  const wide = viewOf(...roots);
  for (const { host } of roots) {
    const root = `p-${host}`;
    for (let child = 0; child < 7; child += 1)
      learnProvider(wide, { ...stateOf({ host: `${host}-${child}`, has: { VGPU: 1 } }), parent: root, root });
  }
  const { unknown = [] } = surveyFor(wide, {
    spec: { groups: [{ name: '', resources: { VCPUS: 1, VGPUS: 1 } }], groupPolicy: 'none' },
    where: { cells: ['region-norht'] },
  });
  assert.equal(
    unknown.map(({ name, like }) => [name, like]),
    [
      ['VCPUS', 'VCPU'],
      ['VGPUS', 'VGPU'],
      ['region-norht', 'region-north'],
    ],
  );
});

test('surveying - beside a host that is not known stands the one that may be meant by it, to be used or avoided', () => {
  for (const others of [0, 5_000]) {
    const view = viewOf(
      ...hostsOf(others).map((one) => ({ ...one, cell: 'south' })),
      { host: 'compute-007', cell: 'north' },
      { host: 'compute-008', cell: 'north' },
    );
    const one = view.hosts.get('p-compute-007');
    assert.ok(one);
    view.hosts.set('p-other', { ...one, cell: 'south', root: 'p-other' });
    const hosts = ['north/copmute-007', 'nroth/compute-008', 'north/compute-8', 'south/compute-008'];
    const avoidHosts = ['south/cmopute-007', 'north/compute-009', 'west/compute-007', 'west/x', 'north/copmute-007'];
    const idsOf = (names: readonly string[]) => names.map((name) => `p-${name}`);
    const spec = { ...NOTHING, tree: { oneOf: idsOf(hosts), noneOf: idsOf(avoidHosts) } };
    const { unknown = [] } = surveyFor(view, { spec, where: { origins: { hosts, avoidHosts } } });
    assert.equal(
      unknown.map(({ kind, name, like }) => [kind, name, like]),
      [
        ['host', 'north/copmute-007', 'north/compute-007'],
        ['host', 'nroth/compute-008', 'north/compute-008'],
        ['host', 'north/compute-8', 'north/compute-008'],
        ['host', 'south/compute-008', 'north/compute-008'],
        ['host', 'south/cmopute-007', 'south/compute-007'],
        ['host', 'north/compute-009', undefined],
        ['host', 'west/compute-007', undefined],
        ['host', 'west/x', undefined],
      ],
    );
    assert.match(unknownWords(unknown), /host north\/copmute-007 \(north\/compute-007 is known\), host nroth/);
  }
});

test('surveying - hosts that may be meant are found in steps that are not long, however many there are and are asked for', () => {
  const FLEET = 20_000;
  const letters = (n: number) =>
    Array.from({ length: 4 }, (_, at) => 'abcdefghijklmnop'[(n >> (4 * at)) & 15]).join('');
  for (const nameOf of [(n: number) => `node-${n}`, letters]) {
    const view = viewOf(...Array.from({ length: FLEET }, (_, n) => ({ host: nameOf(n), cell: 'north' })));
    const sought = Array.from({ length: 20 }, (_, n) => `nrtoh/${nameOf(FLEET - 1 - n)}`);
    const steps = likeHosts(sought, view);
    const before = effort.looks;
    let [most, count] = [0, 0];
    for (let last = before; ; last = effort.looks, count += 1) {
      const { done, value } = steps.next();
      most = Math.max(most, effort.looks - last);
      if (done !== true) continue;
      if (nameOf !== letters) assert.is(value.get(`nrtoh/node-${FLEET - 1}`), `north/node-${FLEET - 1}`);
      break;
    }
    assert.ok(count >= FLEET / 16 && most < 2_000, `${count} steps, ${most} looks in one`);
    assert.ok(effort.looks - before < 400_000, `${effort.looks - before} looks`);
  }
});

test('surveying - to look for names that nothing carries is done in small steps, and ends where all were met', () => {
  const view = viewOf(...hostsOf(MANY).map((one) => ({ ...one, traits: ['CUSTOM_A'], aggregates: ['rack'] })));
  const stepsFor = (traits: string[]) => {
    const none = { cells: new Set<string>(), cellsMet: new Set<string>(), classes: new Set<string>() };
    const names = { ...none, traits: new Set(traits), aggregates: new Set(['rack']) };
    return [[...lookForNames(names, view)].length, [...names.traits]];
  };
  assert.equal(stepsFor(['CUSTOM_A']), [0, []]);
  const many = Array.from({ length: 1_000 }, (_, n) => `CUSTOM_N${n}`);
  const [steps = 0, left] = stepsFor(many);
  assert.equal(left, many);
  assert.ok(Number(steps) > (2 * MANY) / 70 && Number(steps) < (3 * MANY) / 64, `${steps} steps`);
});

test('surveying - the record of a failure tells names that nothing known carries, also those to be avoided', () => {
  for (const hosts of [3, MANY]) {
    const all = schedulersOf(hostsOf(hosts));
    const where = { avoidCells: ['c9'], origins: { avoidHosts: ['c1/h-x'] } };
    const { decision, reason } = told(
      all,
      selectFor('x', { vcpu: 10, where, tree: { noneOf: ['p-h-x'], notHeldBy: ['nobody'] } }),
    );
    const record = recordOf(decision);
    assert.equal(namesIn(record.unknown), ['cell c9', 'host c1/h-x', 'instance nobody']);
    const names = 'cell c9, host c1/h-x, instance nobody (holds nothing)';
    assert.match(reason, /; nothing known carries these names of the request: /);
    assert.is(
      reason.split(`; nothing known carries these names of the request: ${names}; with 2 VCPU less `).length,
      2,
    );
    assert.equal(record.where, { avoidCells: ['c9'] }, 'names of hosts are not kept once more');
    const other = told(all, selectFor('y', { vcpu: 10 }));
    assert.is(recordOf(other.decision).unknown, undefined);
    assert.not.match(other.reason, /nothing known/);
  }
});

test('surveying - however many and long the names are that nothing known carries, a failure says the rest as well', () => {
  const all = schedulersOf(hostsOf(3));
  const forbidden = Array.from({ length: 30 }, (_, n) => `CUSTOM_${'T'.repeat(240)}_${n}`);
  const spec = { groups: [{ name: '', resources: { VCPU: 10 }, forbidden }], groupPolicy: 'none' as const };
  const { reason } = told(all, { ...selectFor('x'), spec });
  assert.ok(reason.length <= MAX_REASON_LENGTH, String(reason.length));
  assert.match(reason, /^none of 3 hosts: 3 exceeds-capacity VCPU; nearest .*; nothing known carries these names /);
  assert.match(reason, /…; with 2 VCPU less \(8 instead of 10\) it would fit on 3 hosts$/);
});

test('surveying - a host is not called unknown of which its cell or placement has told alone', () => {
  const view = viewOf({ host: 'h1' });
  const { cell } = view.hosts.get('p-h1') as { cell: string };
  learnProvider(view, { ...stateOf({ host: 'placed' }), generation: 0 });
  learnHost(view, cell, { host: 'told', provider: 'p-told', state: 'up' });
  const unknownOf = (...hosts: string[]) => {
    const spec = { ...NOTHING, tree: { oneOf: hosts.map((host) => `p-${host}`) } };
    const { unknown = [] } = surveyFor(view, {
      spec,
      where: { origins: { hosts: hosts.map((host) => `c1/${host}`) } },
    });
    return unknown;
  };
  assert.equal(unknownOf('placed', 'told'), []);
  const unknown = unknownOf('placed', 'nowhere');
  assert.equal(unknown, [{ kind: 'host', name: 'c1/nowhere' }]);
  assert.is(unknownWords(unknown), 'nothing known carries this name of the request: host c1/nowhere');
  const two = [{ kind: 'class' as const, name: 'CUSTOM_A', like: 'CUSTOM_B' }, ...unknown];
  assert.is(
    unknownWords(two),
    'nothing known carries these names of the request: resource class CUSTOM_A (CUSTOM_B is known), host c1/nowhere',
  );
});

test('surveying - no host is told beside the name of one that has come since', () => {
  const view = viewOf({ host: 'compute-1' }, { host: 'compute-2' });
  const steps = likeHosts(['c1/compute-2', 'c1/copmute-1'], view);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  assert.equal([...step.value], [['c1/copmute-1', 'c1/compute-1']]);
});

test.run();
