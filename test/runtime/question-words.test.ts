// Area: explanations in words. What is said of one host and of all when nothing was heard of its cell, or the rule of an
// instance group came before weights, and that numbers are said once, in few digits.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Advice, adviceWords } from '../../actors/messages/advice.ts';
import { clipped, type RequestSpec } from '../../actors/messages/common.ts';
import type { Decision } from '../../actors/messages/decision.ts';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import { MAX_ABOUT_LENGTH } from '../../actors/messages/stored-decision.ts';
import type { Where } from '../../actors/messages/where.ts';
import { unmet } from '../../actors/placement/conditions.ts';
import type { Provider } from '../../actors/placement/providers.ts';
import { outsideWords } from '../../actors/placement/tree-conditions.ts';
import { present } from '../../actors/present.ts';
import { cells } from '../../actors/scheduler/filters/cells.ts';
import type { HostFacts } from '../../actors/scheduler/view/host-facts.ts';
import { aggregatesOf } from '../../runtime/aggregates.ts';
import { lineOf, setWords } from '../../runtime/cli/perform-host.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import { adviceOnBuild, alternatesUntried } from '../../runtime/gateway/advice-on-builds.ts';
import { refusedWords, wordsOfExplanation } from '../../runtime/gateway/explanation-words.ts';
import { placingOf } from '../../runtime/gateway/placing.ts';
import { fitWords, whyNotWords } from '../../runtime/gateway/question-words.ts';
import { questioningOf } from '../../runtime/gateway/questioning.ts';
import { failureOf } from '../support/until.ts';

const test = suite('explanations in words');

/** Answers why-not where that is known of an instance, and schedulers answer so. */
const whyNotOf = (told: object, ask: (...asked: never[]) => unknown) => {
  const known = async () => ({ decision: null, spec: undefined, where: undefined, ...told });
  return questioningOf({ asking: { ask }, known, aggregates: aggregatesOf(undefined) } as never).whyNot;
};

const weighing = (cell: string, weight: number) => ({ cell, host: 'h1', weight, parts: { 'free-share': weight } });
const view = { instance: 'web', request: 'web', state: 'active', cell: 'c1', host: 'h1' };

test('words - where no single change is known that would help, an explanation says so', () => {
  const failed = { instance: 'web', request: 'web', state: 'failed' };
  const decision = { at: 0, scheduler: 's', hosts: 2, fits: 0, claimsRefused: 0, refusedClaims: [], alternates: [] };
  const none = { refused: [{ code: 'exceeds-capacity', about: 'VCPU', hosts: 2 }], weights: [], narrowedBy: [] };
  const told = (advice: Decision['advice']) =>
    wordsOfExplanation(failed, { ...decision, ...none, silentCells: [], advice }).slice(-2);
  assert.equal(told([]), ['claimed: none', 'no single change is known with which it would fit']);
  const less = { code: 'less' as const, about: 'VCPU', from: 3, to: 2, hosts: 1 };
  const dry = { ...none, fit: false, certain: true, count: 1, hosts: 2, fits: 0, times: 0, silentCells: [], best: [] };
  assert.is(fitWords({ ...dry, advice: [] }).at(-1), 'no single change is known with which it would fit');
  assert.equal(told([less]), ['claimed: none', 'with 1 VCPU less (2 instead of 3) it would fit on 1 host']);
});

test('words - of a long list the first names are told, and how many more there are', () => {
  const names = Array.from({ length: 64 }, (_, n) => `n${n}`);
  const [list, first] = [names.join(', '), 'n0, n1, n2, n3, n4, n5, n6, n7 and 56 more'];
  const wordsOf = (advice: Partial<Advice>) => adviceWords({ hosts: 1, about: list, ...advice } as Advice, String);
  assert.is(refusedWords({ code: 'not-in-aggregate', about: list, hosts: 2 }), `2 not-in-aggregate ${first}`);
  assert.is(refusedWords({ code: 'not-in-aggregate', about: 'r1, r2', hosts: 2 }), '2 not-in-aggregate r1, r2');
  assert.is(wordsOf({ code: 'without-cells' }), `if it need not be in cells ${first}, it would fit on 1 host`);
  assert.is(
    wordsOf({ code: 'without-any-of', group: '' }),
    `if none of the traits ${first} were required, it would fit on 1 host`,
  );
  assert.match(wordsOf({ code: 'without-zones' }), /^if it need not be in zones 'n0', .* 'n7' and 56 more, it would/);
  assert.is(
    wordsOf({ code: 'without-avoid-zones' }),
    `if zones ${first.replaceAll(/n\d/g, "'$&'")} need not be avoided, it would fit on 1 host`,
  );
  const codes = [
    'without-member-of',
    'without-avoid-aggregates',
    'without-confinement',
    'without-avoid-cells',
  ] as const;
  for (const code of [...codes, 'without-avoid-hosts', 'without-same-subtree'] as const)
    assert.ok(wordsOf({ code }).includes(`${first}`), code);
  const root = { spec: { id: 'p', name: 'h1' }, traits: new Set() } as unknown as Provider;
  assert.is(
    unmet({ name: '', resources: {}, anyOf: [names] }, [root], root)?.message,
    `provider 'h1' has none of the traits ${first}`,
  );
  assert.is(outsideWords(names), `is in none of the aggregates ${first}`);
  assert.is(
    cells.refusal({ cell: 'c1', host: 'h1' } as HostFacts, { cells: names })?.message,
    `host 'h1' is in cell 'c1', not in ${first}`,
  );
});

test('words - of a long list that a record has cut it is not said how many more there are', () => {
  const about = clipped(Array.from({ length: 64 }, (_, n) => `n${n}`).join(', '), MAX_ABOUT_LENGTH);
  assert.is(
    refusedWords({ code: 'not-in-aggregate', about, hosts: 2 }),
    '2 not-in-aggregate n0, n1, n2, n3, n4, n5, n6, n7 and more',
  );
  const few = clipped(Array.from({ length: 6 }, (_, n) => `n${n}`.padEnd(40, 'x')).join(', '), MAX_ABOUT_LENGTH);
  assert.is(refusedWords({ code: 'not-in-aggregate', about: few, hosts: 2 }), `2 not-in-aggregate ${few}`);
});

test('words - what a filter has computed of a host that falls short is told without the digits of its errors', () => {
  const nearest = (short: number) => ({ cell: 'c1', host: 'h1', short });
  const words = (short: number) => refusedWords({ code: 'too-hot', hosts: 2, nearest: nearest(short) });
  assert.is(words(0.1 + 0.2), '2 too-hot; nearest c1/h1, short by 0.3');
  assert.is(words(2_147_483_647), '2 too-hot; nearest c1/h1, short by 2147483647');
});

test('words - of a deleted instance the last attempt is said to be cleared away, if only an earlier one is left', () => {
  const attempts = [{ attempt: 1, host: 'h1', outcome: 'timed-out', reason: 'no word', mayRun: true }];
  const of = (attempt: number, host: string) => ({ attempt, host, state: 'destroying', since: 0 });
  const words = (state: string, more: object = {}) =>
    wordsOfExplanation({ ...view, state, attempt: 2, host: 'h2', attempts, ...more }, null).at(-1);
  const told = (...left: ReturnType<typeof of>[]) => words('deleting', { left });
  assert.is(told(of(1, 'h1')), 'attempt 2 on c1/h2: cleared away');
  assert.match(told(of(1, 'h1'), of(2, 'h2')) ?? '', /^attempt 2 on c1\/h2: deleting, to be cleared away since /);
  assert.is(words('deleting'), 'attempt 2 on c1/h2: deleting', 'it is not told what is left');
  assert.is(words('active', { left: [of(1, 'h1')] }), 'attempt 2 on c1/h2: active');
});

test('words - of an instance that had waited for its host it is said for how long', () => {
  const active = { instance: 'web', request: 'web', state: 'active', cell: 'c1', host: 'h1' };
  const record = { at: 90_000, scheduler: 's', claimsRefused: 0, refusedClaims: [], alternates: [], weights: [] };
  const told = { hosts: 1, fits: 1, refused: [], advice: [], silentCells: [], narrowedBy: [] };
  const chosen = { cell: 'c1', host: 'h1' };
  const said = wordsOfExplanation(active, { ...record, ...told, chosen, waitedSince: 5_000 });
  const waited = 'it waited for a host from 1970-01-01T00:00:05.000Z to 1970-01-01T00:01:30.000Z';
  assert.is(said[said.findIndex((line) => line.startsWith("scheduler 's' decided")) - 1], waited);
  assert.not.ok(wordsOfExplanation(active, { ...record, ...told, chosen }).some((line) => line.includes('waited')));
});

test('words - what runs out of several, and by what a group is held, is said once in an explanation, and in a dry run', () => {
  const failed = { instance: 'web-0', request: 'web', state: 'failed' };
  const runsOut = { instances: 7, of: 10, hosts: 2, classes: [{ about: 'MEMORY_MB', hosts: 2 }] };
  const groupHeld = { group: 'db', cell: 'c1', host: 'h1', state: 'disabled', members: 1, named: ['db-0'] };
  const told = { hosts: 2, fits: 2, refused: [], advice: [], silentCells: [], runsOut, groupHeld };
  const record = { at: 0, scheduler: 's', claimsRefused: 0, refusedClaims: [], alternates: [], weights: [] };
  const lines = wordsOfExplanation(failed, { ...told, ...record, narrowedBy: [] });
  const dry = fitWords({ ...told, fit: false, certain: true, count: 10, times: 7, best: [] });
  const held =
    "instance group 'db' is held on c1/h1, which is disabled, by db-0, until that host is enabled, or it is deleted";
  for (const words of [lines, dry])
    for (const line of ['MEMORY_MB runs out after 7 of 10', held])
      assert.is(words.filter((one) => one === line).length, 1);
});

test('words - a dry run says of the hosts that are named what `why-not` would say of each, and how many more there are', () => {
  const dry = { fit: false, certain: true, count: 1, hosts: 9, fits: 0, times: 0, silentCells: [], best: [] };
  const aside = { code: 'host-set-aside', message: "host 'h1' is set aside: it fails", until: 60_000, lacksMore: true };
  const full = { code: 'exceeds-capacity', about: 'VCPU', short: 2, message: '4 VCPU exceed what is free: 2' };
  const told = [
    { cell: 'c1', host: 'h1', refusal: { ...aside, lacksMore: true as const }, also: [full], partly: true as const },
    { cell: 'c1', host: 'h2', refusal: { ...full, lacksMore: true as const }, partly: true as const },
  ];
  const words = fitWords({ ...dry, refused: [], advice: [], onNamed: { told, more: 1 } });
  assert.equal(words.slice(1, -1), [
    "c1/h1, which it names, would be refused: host-set-aside: host 'h1' is set aside: it fails; it comes back by itself at 1970-01-01T00:01:00.000Z",
    '  also exceeds-capacity: 4 VCPU exceed what is free: 2 (short by 2)',
    '  and more stands in its way',
    'c1/h2, which it names, would be refused: exceeds-capacity: 4 VCPU exceed what is free: 2 (short by 2), and more stands in its way',
    'so would 1 more of the hosts that it names',
  ]);
});

test('words - of attempts nothing is said twice, what may run still is told, and no alternate of one that has ended', async () => {
  const attempt = { attempt: 1, host: 'h1', outcome: 'timed-out', reason: 'timed-out', mayRun: true };
  const attempts = [attempt, { attempt: 2, host: 'h2', outcome: 'build-aborted', reason: 'no disk', mayRun: false }];
  const wordsOf = (state: string) =>
    wordsOfExplanation({ instance: 'web', request: 'web', state, attempts, alternates: ['h3'] }, null).slice(2);
  const tried = [
    'attempt 1 on h1: timed-out; something of it may run there: ' +
      'its resources stay held until that host says otherwise',
    'attempt 2 on h2: build-aborted: no disk',
  ];
  assert.equal(wordsOf('failed'), tried);
  assert.is(wordsOf('deleted')[0], 'attempt 1 on h1: timed-out', 'nothing is held any more');
  assert.equal(wordsOf('active'), tried);
  assert.equal(wordsOf('rescheduling'), [...tried, 'alternates left: h3']);
  const then = { verdict: 'failed' as const, code: 'timed-out', message: 'timed-out' };
  const why = whyNotWords({ id: 'web', cell: 'c1', host: 'h2', there: false, then, now: null }, view, false);
  assert.is(why[1], 'then: it was tried: timed-out');
});

test('words - of an attempt that may run on a host it is said there, and that it holds what it was given', async () => {
  const attempt = { attempt: 1, host: 'h1', outcome: 'timed-out', reason: 'timed-out', mayRun: true };
  const failed = { instance: 'web', request: 'web', state: 'failed', cell: 'c1', attempts: [attempt] };
  const spec = { groups: [{ name: '', resources: { VCPU: 2 } }], groupPolicy: 'none' };
  const refusal = { code: 'exceeds-capacity', about: 'VCPU', message: '2 VCPU too few' };
  const answered = async (view: object, cell: string, more: object = {}) => {
    const standing = { cell, host: 'h1', hosts: 1, fits: 0, refusal };
    const ask = async () => ({ standing });
    const whyNot = whyNotOf({ view, spec: { ...spec, ...more } }, ask);
    return whyNot({ id: 'web', host: 'h1', cell });
  };
  const { there, mayRun, words } = await answered(failed, 'c1');
  assert.equal([there, mayRun], [false, true]);
  assert.is(
    words[0],
    "instance 'web' is not on c1/h1: it has failed, but attempt 1 of it may still run there, and holds what it was given",
  );
  assert.match(words[2] ?? '', /^now: another like it would be refused: exceeds-capacity: /);
  const elsewhere = await answered(failed, 'c2');
  assert.equal([elsewhere.there, elsewhere.mayRun], [false, undefined]);
  assert.match(elsewhere.words[2] ?? '', /^now: it would be refused: /);
  const instanceGroup = { id: '/web', policy: 'anti-affinity' };
  assert.match((await answered(failed, 'c2', { instanceGroup })).words[2] ?? '', /^now: another like it would /);

  const left = [{ attempt: 1, host: null, state: 'releasing' }];
  const released = { ...failed, state: 'deleting', attempts: [{ ...attempt, mayRun: false }], left };
  const held = await answered(released, 'c1');
  assert.equal([held.there, held.mayRun], [false, undefined]);
  assert.is(
    held.words[0],
    "instance 'web' is not on c1/h1: it is deleting, but what attempt 1 of it was given there is not given back yet",
  );
  assert.match(held.words[2] ?? '', /^now: another like it would be refused: /);
});

test('words - of one on which no scheduler has decided, it is not said that none has answered', () => {
  const requested = { instance: 'web', request: 'web', state: 'requested' };
  const tells = 'waits for the answer to a claim, `cellwright why-not web HOST` says which';
  assert.is(wordsOfExplanation(requested, null)[1], `no scheduler has decided on it yet; if one ${tells}`);
  assert.is(
    wordsOfExplanation({ ...requested, scheduler: 's' }, null)[1],
    `no scheduler has decided on it yet; scheduler 's' is at it; if it ${tells}`,
  );
  const asking = { times: 4, since: 0, asOf: 12_000 };
  const linesOf = (more: object) => wordsOfExplanation({ ...requested, asking: { ...asking, ...more } }, null).slice(2);
  assert.equal(linesOf({}), ['no scheduler has decided on it yet'], 'with none running `why-not` has nobody to ask');
  assert.equal(linesOf({ answersOthers: 's' }), [`no scheduler has decided on it yet; if one ${tells}`]);
});

test('words - where a scheduler waits for placement shards, they are what to look at', () => {
  const view = { instance: 'web', request: 'web', state: 'requested', scheduler: 's', asking: { times: 2, asOf: 9 } };
  const see = '(`nats micro ls` lists who is there)';
  assert.equal(wordsOfExplanation({ ...view, awaits: [1] }, null).slice(1), [
    `no scheduler has decided on it yet: scheduler 's' waits for placement/1, which has not answered it: see that it is served ${see}`,
  ]);
  assert.match(
    wordsOfExplanation({ ...view, awaits: [0, 2] }, null)[1] ?? '',
    /waits for placement\/0 and placement\/2, which have not answered it: see that they are served/,
  );
});

test('words - of an alternate of a build that was aborted it is said why it was not tried', async () => {
  const kept = { at: 0, scheduler: 's', hosts: 9, fits: 9, refused: [], silentCells: [], weights: [], advice: [] };
  const more = { claimsRefused: 0, refusedClaims: [], narrowedBy: [], alternates: ['h2'] };
  const decision = { ...kept, ...more, chosen: { cell: 'c1', host: 'h1' } };
  const thenOf = async (code: string) => {
    const failed = { instance: 'web', request: 'web', state: 'failed', cell: 'c1', failure: { code, message: 'no' } };
    const ask = () => Promise.reject(new CellwrightError('not-found', 'gone'));
    const whyNot = whyNotOf({ view: failed, decision }, ask);
    return (await whyNot({ id: 'web', host: 'c1/h2' })).words.find((line) => line.startsWith('then: '));
  };
  const alternate = 'then: it was an alternate, to be tried should the build fail';
  const why = 'it was not tried, as the driver of another host said that none would succeed';
  assert.is(await thenOf('build-aborted'), `${alternate}; ${why}`);
  assert.is(await thenOf('deleted'), alternate);
});

test('words - of hosts that a record names in its advice, as the home of a group or with room for some, why-not says so', async () => {
  const none = { alternates: [], refusedClaims: [], silentCells: [], weights: [], claimsRefused: 0, narrowedBy: [] };
  const advice = [
    { code: 'host-state', about: 'set-aside', hosts: 3, needed: 2, named: ['c1/h1', 'c2/h2'] },
    { code: 'host-state', about: 'disabled', hosts: 1, host: 'c2/h3' },
    { code: 'without-required', about: 'CUSTOM_A', group: '', hosts: 4 },
    { code: 'when-empty', hosts: 3, instances: 5, needed: 2, named: ['c6/h8', 'c4/h5'] },
    { code: 'when-empty', hosts: 1, named: ['c6/h9'] },
    { code: 'when-empty', hosts: 1, instancesTogether: 2, named: ['c6/h10'] },
    { code: 'without-avoid-hosts', about: 'c7/h11, c7/h12', hosts: 2 },
    { code: 'without-avoid-hosts', hosts: 2 },
  ];
  const groupHeld = { group: 'db', cell: 'c3', host: 'h4', state: 'down', members: 1, named: [] };
  const roomy = ['h5', 'h15'].map((host) => ({ cell: 'c4', host, instances: 2 }));
  const room = { instances: 4, of: 5, hosts: 2, named: roomy };
  const onNamed = {
    told: [
      {
        cell: 'c5',
        host: 'h6',
        refusal: { code: 'host-down', message: "host 'h6' is down", lacksMore: true as const },
      },
      { cell: 'c5', host: 'h7', refusal: { code: 'exceeds-capacity', about: 'VCPU', short: 2, message: 'too few' } },
      {
        cell: 'c5',
        host: 'h13',
        refusal: { code: 'host-down', message: "host 'h13' is down", lacksMore: true as const },
        also: [{ code: 'exceeds-capacity', about: 'VCPU', short: 2, message: 'too few' }],
        partly: true as const,
      },
    ],
  };
  const decision = { ...none, at: 0, scheduler: 's', hosts: 9, fits: 0, refused: [], advice, groupHeld, room, onNamed };
  const view = { instance: 'web', request: 'web', state: 'failed' };
  // Nobody knows these hosts any more: they are where the record has them.
  const ask = () => Promise.reject(new CellwrightError('not-found', 'no such host'));
  const whyNot = whyNotOf({ view, decision }, ask);
  const thenOf = async (host: string) => {
    const { cell, words } = await whyNot({ id: 'web', host });
    return `${cell} ${words.find((line) => line.startsWith('then: '))}`;
  };
  assert.is(await thenOf('h1'), 'c1 then: it was refused: host-set-aside');
  assert.is(await thenOf('h2'), 'c2 then: it was refused: host-set-aside');
  assert.is(await thenOf('h3'), 'c2 then: it was refused: host-disabled');
  assert.is(await thenOf('h4'), 'c3 then: it was refused: host-down');
  for (const host of ['h5', 'h15'])
    assert.is(await thenOf(host), 'c4 then: it fitted, but it had room for 2 of 5 instances alone');
  const down = "c5 then: it was refused: host-down: host 'h6' is down, and more stood in its way";
  assert.is(await thenOf('h6'), down);
  const { then, words } = await whyNot({ id: 'web', host: 'h13' });
  assert.equal(words.slice(1, 4), [
    "then: it was refused: host-down: host 'h13' is down",
    '  also exceeds-capacity: too few (short by 2)',
    '  and more stood in its way',
  ]);
  assert.equal([then?.also?.length, then?.partly], [1, true]);
  assert.is(await thenOf('h7'), 'c5 then: it was refused: exceeds-capacity: too few (short by 2)');
  assert.is(await thenOf('h8'), 'c6 then: it was refused: it would have held some if it had been empty');
  assert.is(await thenOf('h9'), 'c6 then: it was refused: it would have fitted if it had been empty');
  assert.is(await thenOf('h10'), 'c6 then: it was refused: it would have held them all if it had been empty');
  assert.is(await thenOf('h12'), 'c7 then: it was refused: avoided-provider');
});

test('words - of a deleted instance the cell must be named as well, where there are hosts of one name in several', async () => {
  const whyNotBut = (code: 'ambiguous' | 'no-owner', host: { host: string; cell?: string }) => {
    const ask = () => Promise.reject(new CellwrightError(code, 'told', { retryable: code === 'no-owner' }));
    return whyNotOf(
      { view: { instance: 'web', request: 'web', state: 'deleted', cell: 'c1', host: 'h1' } },
      ask,
    )({ id: 'web', ...host });
  };
  const refused = await whyNotBut('ambiguous', { host: 'h1' }).catch((error: CellwrightError) => error);
  assert.is(refused instanceof CellwrightError && refused.code, 'ambiguous');
  // Where no scheduler answers, what is on record is told all the same.
  assert.is((await whyNotBut('no-owner', { host: 'h1' })).cell, 'c1');
});

test('words - a host on record is gone only where its cell was heard of and has it no more, whoever named the cell', async () => {
  const view = { instance: 'web', request: 'web', state: 'active', cell: 'c1', host: 'h2' };
  const attempts = [{ attempt: 1, host: 'h1', outcome: 'build-failed', reason: 'no image' }];
  const spec = { groups: [], groupPolicy: 'none' };
  /** @param code What is said of the host in its cell, `field` telling whether it is the cell that nobody knows. */
  const askAbout = (host: string, code: 'not-found' | 'no-owner', field: string, isKnown: boolean) => {
    const cells: unknown[] = [];
    const ask = (_to: string, { cell }: { cell?: string }) => {
      cells.push(cell);
      // Of one that is named alone nobody says whether its cell was heard of.
      const isAlone = cell === undefined && code === 'not-found';
      const told = { field: isAlone ? 'host' : field, retryable: code === 'no-owner' };
      return Promise.reject(new CellwrightError(code, 'told', told));
    };
    const whyNot = whyNotOf({ view: { ...view, attempts }, spec: isKnown ? spec : undefined }, ask);
    return whyNot({ id: 'web', host }).then(
      ({ hostGone }) => [hostGone, ...cells],
      (error: CellwrightError) => [error.code, error.field, ...cells],
    );
  };
  assert.equal(await askAbout('h1', 'not-found', 'host', true), [true, undefined, 'c1']);
  assert.equal(await askAbout('h1', 'not-found', 'cell', true), ['not-found', 'host', undefined, 'c1']);
  assert.equal(await askAbout('h1', 'not-found', 'cell', false), [undefined, undefined, 'c1']);
  assert.equal(await askAbout('c1/h1', 'not-found', 'cell', false), [undefined, 'c1']);
  assert.equal(await askAbout('c1/h1', 'not-found', 'host', true), [true, 'c1']);
  // Where what it asked for is known, whoever compares is waited for; and of a host that no record has there is nothing
  // to tell.
  assert.equal(await askAbout('h1', 'no-owner', 'host', true), ['no-owner', 'host', undefined]);
  assert.equal(await askAbout('h9', 'no-owner', 'host', false), ['no-owner', 'host', undefined]);
  assert.equal(await askAbout('h9', 'not-found', 'host', true), ['not-found', 'host', undefined]);
  assert.equal(await askAbout('c9/h1', 'not-found', 'host', true), ['not-found', 'host', 'c9'], 'nor of another cell');
});

test('words - why-not asks by what the operator says of zones now, and for the project of the instance', async () => {
  const plain = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' as const };
  const then = aggregatesOf({ e1: { zone: 'east' } });
  const now = aggregatesOf({ e1: { zone: 'east' }, e2: { zone: 'east' } });
  const accepted = placingOf({ zones: ['east'], cells: ['c1'] }, { project: 'red', spec: plain }, then);
  const asked: unknown[] = [];
  const ask = async (_to: string, { spec, where, project }: { spec: RequestSpec; where?: Where; project?: string }) => {
    asked.push(spec.tree, where?.cells, project);
    return { standing: { cell: 'c1', host: 'h1', hosts: 1, fits: 1 } };
  };
  const known = async () => ({
    view: { ...view, project: 'red' },
    decision: null,
    spec: { ...plain, ...present({ tree: accepted.tree }) },
    where: accepted.where,
  });
  const { whyNot } = questioningOf({ asking: { ask }, known, aggregates: now } as never);
  await whyNot({ id: 'web', host: 'h1' });
  assert.equal(asked, [{ memberOf: [['e1', 'e2']] }, ['c1'], 'red']);
});

test('words - of hosts of one name in several cells it is said what the record has of each', async () => {
  const weights = [weighing('c1', 0.9), weighing('c2', 0.8), { ...weighing('c1', 0.7), host: 'h3' }];
  const refused = [
    { code: 'exceeds-capacity', about: 'VCPU', hosts: 2, nearest: { cell: 'c1', host: 'h5', short: 1 } },
    { code: 'exceeds-capacity', about: 'DISK_GB', hosts: 2, nearest: { cell: 'c1', host: 'h6', short: 2 } },
  ];
  const refusedClaims = [{ cell: 'c2', host: 'h2', code: 'capacity', message: 'taken' }];
  const none = { narrowedBy: [], silentCells: [], advice: [], at: 0, scheduler: 's', hosts: 9, fits: 5 };
  const decision = { ...none, weights, refused, refusedClaims, claimsRefused: 1, alternates: ['h2'] };
  const attempts = [{ attempt: 1, host: 'h3', outcome: 'build-failed', reason: 'no image', mayRun: true }];
  const thenOf = async (named: string, chosen: object | undefined, at: object = { host: 'h1' }) => {
    const [cell = '', host = ''] = named.split('/');
    const ask = async () => ({ standing: { cell, host, hosts: 9, fits: 9 } });
    const whyNot = whyNotOf(
      { view: { ...view, attempts, ...at }, decision: { ...decision, ...present({ chosen }) } },
      ask,
    );
    return whyNot({ id: 'web', host: named });
  };
  const chosen = { cell: 'c1', host: 'h1' };
  const verdictOf = async (named: string) => {
    const { then } = await thenOf(named, chosen);
    return [then?.verdict, then?.code, then?.about, then?.message].filter((one) => one !== undefined).join(' ');
  };
  assert.is(await verdictOf('c1/h1'), 'chosen');
  assert.is(await verdictOf('c2/h1'), 'runner-up');
  assert.is(await verdictOf('c1/h2'), 'alternate');
  assert.equal((await thenOf('c1/h2', chosen)).then, { verdict: 'alternate' }, 'what it weighed is not on record');
  assert.is(await verdictOf('c2/h2'), 'claim-refused capacity taken');
  assert.is(await verdictOf('c1/h3'), 'failed build-failed no image');
  assert.is(await verdictOf('c2/h3'), 'not-recorded');
  assert.is(await verdictOf('c3/h2'), 'not-recorded');
  assert.is(await verdictOf('c1/h5'), 'refused exceeds-capacity VCPU');
  assert.is(await verdictOf('c1/h6'), 'refused exceeds-capacity DISK_GB');
  const { then: unplaced } = await thenOf('c2/h1', undefined);
  assert.is(unplaced?.message, 'no host was taken: the claim of c2/h2 was refused with capacity');
  assert.equal([unplaced?.weight, unplaced?.bestWeight, unplaced?.chosenWeight], [0.8, 0.9, undefined]);
  // On the host where it is, nothing that came before may run beside it; and how it stands its cell alone tells.
  const back = await thenOf('c1/h3', chosen, { host: 'h3' });
  assert.equal([back.there, back.mayRun, back.silentCell], [true, undefined, undefined]);
  const left = await thenOf('c1/h3', chosen);
  assert.equal([left.there, left.mayRun], [false, true]);
  const silent = await thenOf('c1/h3', chosen, { failure: { code: 'cell-silent', message: 'no word' } });
  assert.equal([silent.there, silent.silentCell], [null, 'c1']);
});

test('words - the rule of a soft group tells why another was chosen only where it did', async () => {
  const weights = [weighing('c1', 0.9), { ...weighing('c1', 0.8), host: 'h2' }, { ...weighing('c1', 0.8), host: 'h3' }];
  const none = { narrowedBy: [], silentCells: [], advice: [], at: 0, scheduler: 's', hosts: 3, fits: 3 };
  const taken = {
    refused: [],
    refusedClaims: [],
    claimsRefused: 0,
    alternates: [],
    chosen: { cell: 'c1', host: 'h2' },
  };
  const membersOn = async (host: string, policy: string, members: readonly number[], more: object = {}) => {
    const ask = async () => ({ standing: { cell: 'c1', host, hosts: 3, fits: 3 } });
    const decision = { ...none, ...taken, weights, group: { policy, members }, ...more };
    const whyNot = whyNotOf({ view: { ...view, host: 'h2' }, decision }, ask);
    const { then } = await whyNot({ id: 'web', host });
    return [then?.members, then?.chosenMembers, then?.message];
  };
  const byWeight = [undefined, undefined, undefined];
  assert.equal(await membersOn('h1', 'soft-affinity', [0, 1, 1]), [0, 1, undefined]);
  assert.equal(await membersOn('h3', 'soft-affinity', [0, 1, 1]), byWeight);
  assert.equal(await membersOn('h1', 'soft-affinity', [2, 1, 1]), byWeight);
  assert.equal(await membersOn('h1', 'soft-anti-affinity', [1, 0, 0]), [1, 0, undefined]);
  assert.equal(await membersOn('h3', 'soft-anti-affinity', [1, 0, 0]), byWeight);
  assert.equal(await membersOn('h1', 'soft-anti-affinity', [0, 1, 1]), byWeight);
  assert.equal(await membersOn('h1', 'soft-anti-affinity', []), byWeight);
  const chosen = { cell: 'c2', host: 'h9' };
  assert.equal(await membersOn('h1', 'soft-anti-affinity', [1, 0, 0], { chosen }), byWeight, 'it is none of these');
  const where = { preferCells: ['c2'] };
  const inAnother = [weights[0], { ...weights[1], cell: 'c2' }];
  const preferred = { chosen: { cell: 'c2', host: 'h2' }, where, weights: inAnother };
  assert.equal(await membersOn('h1', 'soft-affinity', [1, 1], preferred), [
    undefined,
    undefined,
    'the request prefers cell c2',
  ]);
  assert.equal(await membersOn('h1', 'soft-affinity', [0, 1], preferred), [0, 1, undefined], 'its rule comes first');
});

test('words - of a request for several with room for some it is said where, the first few, and for how many there', () => {
  const kept = { at: 0, scheduler: 's', claimsRefused: 0, refusedClaims: [], alternates: [], narrowedBy: [] };
  const decision = { hosts: 9, fits: 2, refused: [], silentCells: [], weights: [], advice: [], ...kept };
  const named = [
    { cell: 'c1', host: 'h1', instances: 2 },
    { cell: 'c1', host: 'h4', instances: 1 },
  ];
  const toldOf = (hosts: number) =>
    wordsOfExplanation(view, { ...decision, room: { instances: 3, of: 5, hosts, named } })[2];
  assert.is(toldOf(2), 'room for 3 of 5 instances: c1/h1 (2), c1/h4 (1)');
  assert.is(toldOf(3), 'room for 3 of 5 instances: c1/h1 (2), c1/h4 (1) and 1 more host');
});

test('words - of schedulers that are asked in vain it is said how often and for how long', () => {
  const requested = { instance: 'web', request: 'web', state: 'requested' };
  const toldOf = (asking: InstanceView['asking']) =>
    wordsOfExplanation({ ...requested, ...present({ asking }) }, null)[1];
  assert.is(
    toldOf({ times: 4, since: 10_000, asOf: 22_000 }),
    'schedulers were asked 4 times in 12 s, and none has answered: is one running?',
  );
  assert.is(
    toldOf({ times: 4, since: 10_000, asOf: 22_000, answersOthers: 's' }),
    "schedulers were asked 4 times in 12 s, and none has answered; scheduler 's' has answered others meanwhile",
  );
  assert.is(toldOf({ times: 1, since: 10_000, asOf: 10_260 }), 'a scheduler was asked 0.3 s ago, and has not answered');
  assert.is(
    toldOf({ times: 0, asOf: 10_000 }),
    'no scheduler was asked for it yet, as those that came before have no answer',
  );
  assert.match(toldOf(undefined) ?? '', /^no scheduler has decided/);
  const waiting = { since: 0, until: 90_000, reason: 'none of 3 hosts' };
  const parked = { at: 0, scheduler: 's', hosts: 0, fits: 0, claimsRefused: 0, refusedClaims: [], alternates: [] };
  const decision = { ...parked, refused: [], weights: [], narrowedBy: [], silentCells: [], advice: [] };
  const waits = (times: number) =>
    wordsOfExplanation({ ...requested, waiting, asking: { times, since: 0, asOf: 5_000 } }, decision)[2];
  assert.match(waits(2) ?? '', /^schedulers were asked 2 times/);
  assert.match(waits(1) ?? '', /^scheduler 's' decided/, 'one that waits is asked for now and then');
});

test('words - of a build under way it is said until when it may take, and of what is left since when it is', () => {
  const lastOf = (state: string, more: object = {}) =>
    wordsOfExplanation({ ...view, state, attempt: 1, deadlineAt: 90_000, ...more }, null).at(-1);
  const at = (seconds: number) => new Date(seconds * 1_000).toISOString();
  assert.is(lastOf('claimed'), `attempt 1 on c1/h1: claimed, until ${at(90)} at most`);
  assert.is(lastOf('building'), `attempt 1 on c1/h1: building, until ${at(90)} at most`);
  assert.is(lastOf('active'), 'attempt 1 on c1/h1: active');
  const begun = { begunAt: 10_000 };
  assert.is(lastOf('building', begun), `attempt 1 on c1/h1 from ${at(10)}: building, until ${at(90)} at most`);
  const built = { ...begun, builtAt: 20_000 };
  assert.is(lastOf('active', built), `attempt 1 on c1/h1 from ${at(10)}: active since ${at(20)}`);
  assert.is(lastOf('lost', built), `attempt 1 on c1/h1 from ${at(10)}: lost`);
  assert.is(lastOf('lost', { ...built, lostAt: 40_000 }), `attempt 1 on c1/h1 from ${at(10)}: lost since ${at(40)}`);
  const leftOf = (state: string) => ({ left: [{ attempt: 1, host: 'h1', state, since: 30_000 }] });
  assert.is(
    lastOf('deleting', leftOf('destroying')),
    `attempt 1 on c1/h1: deleting, to be cleared away since ${at(30)}`,
  );
  assert.is(
    lastOf('deleting', leftOf('releasing')),
    'attempt 1 on c1/h1: deleting; what it held is not given back yet',
  );
  assert.is(
    lastOf('deleting', { left: [{ attempt: 1, host: 'h1', state: 'releasing', awaits: [1, 2] }] }),
    'attempt 1 on c1/h1: deleting; what it held is not given back yet: placement/1, placement/2 have not answered',
  );
  const attempts = [{ attempt: 1, host: 'h1', outcome: 'timed-out', reason: '', mayRun: true }];
  assert.match(lastOf('failed', { attempts, ...leftOf('destroying') }) ?? '', / otherwise; to be cleared away since /);
});

test('words - of hosts that are not up it is said what that means for an instance', () => {
  type HostNotUp = NonNullable<InstanceView['hostsNotUp']>[number];
  const lineOf = (state: string, one: HostNotUp, left: InstanceView['left'] = []) =>
    wordsOfExplanation({ ...view, state, hostsNotUp: [one], left }, null)[1];
  const fence = (host: string) => `fenced as one on which nothing runs any more (\`cellwright host fence c1/${host}\`)`;
  const heard = ', last heartbeat at 1970-01-01T00:00:30.000Z';
  const down = (host: string) => ({ host, state: 'down' as const, heardAt: 30_000 });
  const cleared = (host: string) => [{ attempt: 1, host, state: 'destroying' }];
  assert.is(
    lineOf('deleting', down('h1'), cleared('h1')),
    `its host c1/h1 is down${heard}: what is to be cleared away there waits until it is back, or is ${fence('h1')}`,
  );
  assert.is(
    lineOf('active', down('h2'), cleared('h2')),
    `host c1/h2 is down${heard}: what is to be cleared away there waits until it is back, or is ${fence('h2')}`,
  );
  assert.is(
    lineOf('active', { host: 'h1', state: 'down' }),
    `its host c1/h1 is down: whether the instance runs there is not known until it is back, or is ${fence('h1')}`,
  );
  const releasing = [{ attempt: 1, host: 'h1', state: 'releasing' }];
  assert.is(lineOf('deleting', down('h1'), releasing), `its host c1/h1 is down${heard}`, 'nothing is to be done there');
  assert.is(lineOf('active', down('h2'), cleared('h3')), `host c1/h2 is down${heard}`, 'nor where it is of another');
  const disabled = { host: 'h1', state: 'disabled' as const, reason: 'by an operator' };
  assert.is(lineOf('active', disabled), 'its host c1/h1 is disabled by an operator; it keeps what it has');
  const aside = { host: 'h1', state: 'set-aside' as const, reason: '5 builds failed', until: 30_000 };
  const until = 'until 1970-01-01T00:00:30.000Z';
  assert.is(lineOf('active', aside), `its host c1/h1 is set aside, ${until}: 5 builds failed; it keeps what it has`);
  const fenced = { host: 'h1', state: 'fenced' as const, reason: 'nothing runs there' };
  assert.is(lineOf('lost', fenced), 'its host c1/h1 is fenced: nothing runs there');
});

test('words - of attempts that came to nothing it is said when each was, and of a host since when it is down', () => {
  const none = { reason: '', mayRun: false };
  const attempts = [
    { attempt: 1, host: 'h1', outcome: 'build-failed', ...none, begunAt: 1_000, endedAt: 2_000 },
    { attempt: 2, host: 'h2', outcome: 'claim-refused', ...none, endedAt: 3_000 },
    { attempt: 3, host: 'h3', outcome: 'host-lost', ...none, begunAt: 3_000, endedAt: 18_000 },
  ];
  const failed = { instance: 'web', request: 'web', state: 'failed', cell: 'c1', attempts };
  const at = (seconds: number) => new Date(seconds * 1_000).toISOString();
  assert.equal(wordsOfExplanation(failed, null).slice(2), [
    `attempt 1 on c1/h1 from ${at(1)} to ${at(2)}: build-failed`,
    `attempt 2 on c1/h2 at ${at(3)}: it could not be claimed as an alternate`,
    `attempt 3 on c1/h3 from ${at(3)} to ${at(18)}: host-lost`,
  ]);
  const left = [1, 2].map((attempt) => ({ attempt, host: null, state: 'releasing', awaits: [1] }));
  assert.equal(wordsOfExplanation({ ...failed, left }, null).slice(2, 4), [
    `attempt 1 on c1/h1 from ${at(1)} to ${at(2)}: build-failed; what it held is not given back yet: placement/1 has not answered`,
    `attempt 2 on c1/h2 at ${at(3)}: it could not be claimed as an alternate`,
  ]);
  const down = { host: 'h3', state: 'down' as const, since: 18_000, heardAt: 3_000 };
  const [, line] = wordsOfExplanation({ ...failed, hostsNotUp: [down] }, null);
  assert.is(line, `host c1/h3 is down, since ${at(18)}, last heartbeat at ${at(3)}`);
});

test('words - what drivers said of a build at great length is not told twice: in short first, and in full with its attempts', () => {
  const attempts = ['h1', 'h2', 'h3'].map((host, n) => {
    return { attempt: n + 1, host, outcome: 'build-failed', reason: `${host} ${'x'.repeat(900)}`, mayRun: false };
  });
  const message = `no host is left to try: ${attempts.map(({ reason }) => reason).join('; ')}`;
  const failure = { code: 'alternates-exhausted' as const, message };
  const failed = { instance: 'web', request: 'web', state: 'failed', cell: 'c1', failure, attempts };
  const [first = '', , ...tried] = wordsOfExplanation(failed, null);
  assert.match(
    first,
    /^instance 'web' has failed in cell c1: alternates-exhausted: no host is left to try: h1 x{900}; h2 x+… \(in full with its attempts\)$/,
  );
  assert.ok(first.length < 1_200, `${first.length}`);
  assert.equal(
    tried.map((line) => line.length),
    attempts.map(({ reason }) => `attempt 1 on c1/h1: build-failed: ${reason}`.length),
  );
  // Where there are no attempts, what is said first is all there is.
  assert.ok(wordsOfExplanation({ ...failed, attempts: [] }, null)[0]?.endsWith(message));
});

test('words - of an alternate whose claim was refused, or that was passed over, it is not said that it was tried or built', async () => {
  const refused = { attempt: 2, host: 'h2', outcome: 'claim-refused', reason: '2 VCPU too few', mayRun: false };
  const first = { attempt: 1, host: 'h1', outcome: 'build-failed', reason: '', mayRun: false };
  const passed = { attempt: 4, host: 'h4', outcome: 'passed-over', reason: 'the host is set aside', mayRun: false };
  const attempts = [first, refused, { ...refused, attempt: 3, host: 'h3', reason: '' }, passed];
  const failed = { instance: 'web', request: 'web', state: 'failed', cell: 'c1', attempts };
  assert.equal(wordsOfExplanation(failed, null).slice(2), [
    'attempt 1 on c1/h1: build-failed',
    'attempt 2 on c1/h2: it could not be claimed as an alternate: 2 VCPU too few',
    'attempt 3 on c1/h3: it could not be claimed as an alternate',
    'attempt 4 on c1/h4: it was passed over, to be tried after all others: the host is set aside',
  ]);
  const ask = async () => ({ standing: { cell: 'c1' } });
  const decision = { alternates: ['h2'], refused: [], refusedClaims: [], weights: [], claimsRefused: 0, advice: [] };
  const whyNot = whyNotOf({ view: failed, decision }, ask);
  const { then, words } = await whyNot({ id: 'web', host: 'h2' });
  assert.equal(then, { verdict: 'failed', code: 'claim-refused', message: '2 VCPU too few' });
  assert.is(words[1], 'then: it could not be claimed as an alternate: 2 VCPU too few');
  const later = await whyNot({ id: 'web', host: 'h4' });
  assert.is(later.words[1], 'then: it was passed over, to be tried after all others: the host is set aside');
});

test('words - of an instance that is deleted it is said that its attempts are not kept', () => {
  const none = { hosts: 1, fits: 1, refused: [], weights: [], claimsRefused: 0, refusedClaims: [], alternates: ['h2'] };
  const chosen = { cell: 'c1', host: 'h1' };
  const decision = { at: 0, scheduler: 's', ...none, advice: [], narrowedBy: [], silentCells: [], chosen };
  const lastOf = (state: string) =>
    wordsOfExplanation({ instance: 'web', request: 'web', state, cell: 'c1' }, decision).at(-1);
  assert.is(lastOf('deleted'), 'what came of its attempts is not kept once it is deleted');
  assert.is(lastOf('active'), 'alternates: c1/h2');
});

test('words - of one of several that have no room together it is said that it alone would fit', () => {
  const standing = { cell: 'c1', host: 'h1', hosts: 1, fits: 1, rank: 1, weighing: weighing('c1', 1) };
  const then = { verdict: 'not-recorded' as const };
  const nowOf = (view: { instance: string; request: string; state: string }, now: typeof standing) =>
    whyNotWords({ id: 'web-0', cell: 'c1', host: 'h1', there: false, then, now }, view, false)[2];
  const failed = { instance: 'web-0', request: 'web', state: 'failed' };
  assert.match(nowOf(failed, standing) ?? '', /^now: it alone would fit, number 1 of 1/);
  assert.match(nowOf({ ...failed, request: 'web-0' }, standing) ?? '', /^now: it would fit/);
  const refusal = { code: 'exceeds-capacity', message: 'too little', short: 1 };
  const refused = whyNotWords(
    {
      id: 'web-0',
      cell: 'c1',
      host: 'h1',
      there: false,
      then,
      now: { cell: 'c1', host: 'h1', hosts: 1, fits: 0, refusal },
    },
    failed,
    false,
  );
  assert.match(refused[2] ?? '', /^now: it alone would be refused/);
});

test('words - where no host is known nothing is counted, and of one that waits it is said', () => {
  const dry = { fit: false, certain: true, count: 1, hosts: 0, fits: 0, times: 0, silentCells: [], best: [] };
  assert.equal(fitWords({ ...dry, refused: [], advice: [] }), ['it would not fit; no host is known']);
  const waiting = { since: 1, until: 2, reason: 'no room', asOf: 1 };
  const web = { instance: 'web', request: 'web', state: 'requested' };
  const [then, now] = [null, null];
  const whereOf = (view: typeof web) =>
    whyNotWords({ id: 'web', cell: 'c1', host: 'h1', there: false, then, now }, view, false)[0];
  assert.is(whereOf(web), "instance 'web' is not on c1/h1: it is requested");
  assert.is(whereOf({ ...web, state: 'failed' }), "instance 'web' is not on c1/h1: it has failed");
  const waits = { ...web, waiting };
  assert.is(whereOf(waits), "instance 'web' is not on c1/h1: it waits for a host");
});

test('words - in a list of hosts what a driver said on several lines stands in one', () => {
  const host = { host: 'h1', provider: 'p', state: 'set-aside' as const, until: 0, reason: 'no disk\n  is left' };
  assert.is(lineOf(host), 'h1  set-aside until 1970-01-01T00:00:00.000Z: no disk is left');
  const down = { host: 'h2', provider: 'p', state: 'down' as const, reason: 'new\ndisk', disabled: true as const };
  assert.is(lineOf(down), 'h2  down, and disabled: new disk');
  const rests = { host: 'h3', provider: 'p', state: 'down' as const, asideUntil: 0 };
  assert.is(lineOf(rests), 'h3  down; when it comes back it is set aside until 1970-01-01T00:00:00.000Z');
});

test('words - of a host that is not up that is said, also where the instance is on it', () => {
  const hostsNotUp = [
    { host: 'h1', state: 'down' as const, reason: 'new disk' },
    { host: 'h2', state: 'disabled' as const },
  ];
  const web = { instance: 'web', request: 'web', state: 'active', cell: 'c1', host: 'h1', hostsNotUp };
  const [then, now] = [null, null];
  const linesOf = (cell: string, host: string) =>
    whyNotWords({ id: 'web', cell, host, there: host === 'h1', then, now }, web, false).slice(1, -2);
  assert.match(
    linesOf('c1', 'h1').join(),
    /^its host c1\/h1 is down, and disabled: new disk: whether the instance runs there is not known /,
  );
  assert.equal(linesOf('c1', 'h2'), ['host c1/h2 is disabled; it keeps what it has']);
  assert.equal(linesOf('c2', 'h2'), []);
});

test('words - what drivers and filters say on several lines stands in one', () => {
  const reason = 'no disk:\n  pool\tis\r\n\r\nfull\u2028\n';
  const attempts = [{ attempt: 1, host: 'h1', outcome: 'build-failed', reason, mayRun: false }];
  const failure = { code: 'build-aborted' as const, message: reason };
  const explained = wordsOfExplanation({ ...view, state: 'failed', attempts, failure }, null);
  assert.is(explained[0], "instance 'web' has failed on c1/h1: build-aborted: no disk: pool is full");
  assert.is(explained.at(-1), 'attempt 1 on c1/h1: build-failed: no disk: pool is full');
  const then = { verdict: 'failed' as const, code: 'build-failed', message: reason };
  const refusal = { code: 'too-hot', message: reason };
  const now = { cell: 'c1', host: 'h2', hosts: 1, fits: 0, refusal };
  const why = whyNotWords({ id: 'web', cell: 'c1', host: 'h2', there: false, then, now }, view, false);
  assert.equal(why.slice(1), [
    'then: it was tried: build-failed: no disk: pool is full',
    'now: it would be refused: too-hot: no disk: pool is full ; of 1 host, 0 fit and 1 was refused',
  ]);
});

test('words - hosts are counted in words, and codes stay codes', () => {
  const told = { fit: false, certain: true, count: 1, fits: 0, times: 0, silentCells: [], best: [], advice: [] };
  const refused = [
    { code: 'host-disabled', hosts: 6 },
    { code: 'host-set-aside', hosts: 2 },
    { code: 'host-down', hosts: 1 },
    { code: 'unknown-provider', hosts: 1 },
    { code: 'trait-missing', about: 'CUSTOM_HOST', hosts: 3 },
    { code: 'other', hosts: 2 },
  ];
  assert.equal(fitWords({ ...told, hosts: 15, refused }).slice(1, 7), [
    '  6 hosts disabled',
    '  2 hosts set aside',
    '  1 host down',
    '  1 not known to placement',
    '  3 trait-missing CUSTOM_HOST',
    '  2 for other reasons',
  ]);
});

test('words - that nothing of what is named is known is said where the scheduler says so', () => {
  const numbers = { hosts: 9, fits: 0, refused: [{ code: 'not-in-cell', hosts: 9 }], silentCells: [], advice: [] };
  const dry = { ...numbers, fit: false, certain: true, count: 1, times: 0, best: [] };
  const kept = { at: 0, scheduler: 's', claimsRefused: 0, refusedClaims: [], alternates: [], narrowedBy: [] };
  const failed = { instance: 'web', request: 'web', state: 'failed' };
  const told = (absent: Decision['absent']) => [
    fitWords({ ...dry, ...present({ absent }) }).filter((line) => line.startsWith('there is')),
    wordsOfExplanation(failed, { ...numbers, ...kept, weights: [], ...present({ absent }) }).filter((line) =>
      line.startsWith('there is'),
    ),
  ];
  const noCell = ['there is no such cell, or it has told of no host since the scheduler came up'];
  const noHost = ['there is no such host, or its cell has not told of it since the scheduler came up'];
  assert.equal(
    [told('cells'), told('hosts'), told(undefined)],
    [
      [noCell, noCell],
      [noHost, noHost],
      [[], []],
    ],
  );
});

test('words - names that nothing known carries are said in one line, also where it fits', () => {
  const unknown: NonNullable<Decision['unknown']> = [
    { kind: 'trait', name: 'HW_CPU_X86_AXV2' },
    { kind: 'host', name: 'c9/x' },
    { kind: 'instance', name: 'wbe' },
  ];
  const numbers = { hosts: 9, fits: 9, refused: [], silentCells: [], advice: [] };
  const dry = { ...numbers, fit: true, certain: true, count: 1, times: 9, best: [] };
  const line =
    'nothing known carries these names of the request: trait HW_CPU_X86_AXV2, host c9/x, instance wbe (holds nothing)';
  assert.ok(fitWords({ ...dry, unknown }).includes(line));
  const instance = [{ kind: 'instance' as const, name: 'wbe-0', like: 'web-0' }];
  assert.ok(
    fitWords({ ...dry, unknown: instance }).includes(
      'nothing known carries this name of the request: instance wbe-0 (holds nothing; web-0 is known)',
    ),
  );
  const kept = {
    at: 0,
    scheduler: 's',
    claimsRefused: 0,
    refusedClaims: [],
    alternates: [],
    narrowedBy: [],
    weights: [],
  };
  const failed = { instance: 'web', request: 'web', state: 'failed' };
  assert.ok(wordsOfExplanation(failed, { ...numbers, ...kept, unknown }).includes(line));
  const [one] = unknown;
  assert.ok(
    fitWords({ ...dry, unknown: [one as never] }).includes(
      'nothing known carries this name of the request: trait HW_CPU_X86_AXV2',
    ),
  );
  const many = Array.from({ length: 20 }, (_, n) => ({ kind: 'cell' as const, name: `c${n}` }));
  assert.ok(fitWords({ ...dry, unknown: many }).some((said) => said.endsWith('cell c19, and maybe more')));
});

test('words - of instances that keep together it is said that room is on one host, and why they have no alternates', () => {
  const fits = { hosts: 2, fits: 2, refused: [], silentCells: [], advice: [] };
  const dry = { ...fits, fit: false, certain: true, count: 10, times: 8, best: [] };
  assert.match(fitWords(dry, true)[0] ?? '', /; there is room for 8 on one host$/);
  assert.match(fitWords(dry)[0] ?? '', /; there is room for 8$/);
  const chosen = weighing('c1', 0.5);
  const kept = { at: 0, scheduler: 's', claimsRefused: 0, refusedClaims: [], narrowedBy: [], chosen };
  const toldOf = (instance: string, policy: string, members: number, alternates: string[] = []) => {
    const group = { policy, members: [members] };
    const decision: Decision = { ...fits, ...kept, weights: [chosen], group, alternates };
    return wordsOfExplanation({ ...view, instance }, decision).find((line) => line.startsWith('alternates'));
  };
  const why = 'alternates: none: members of a group that must keep together have none of their own';
  assert.equal([toldOf('web-0', 'affinity', 0), toldOf('web', 'affinity', 1)], [why, why]);
  assert.equal(
    [toldOf('web', 'affinity', 0), toldOf('web-0', 'soft-affinity', 1)],
    Array(2).fill('alternates: none were asked for'),
  );
  assert.is(toldOf('web-0', 'affinity', 0, ['h2']), 'alternates: c1/h2');
});

test('words - of the best hosts it is said how many are named, if several and not all are', () => {
  const told = { fit: true, certain: true, count: 1, hosts: 3, times: 9, refused: [], advice: [], silentCells: [] };
  const best = ['c1', 'c2', 'c3'].map((cell) => ({ ...weighing(cell, 0.5), times: 3 }));
  const headOf = (fits: number, named: number) => fitWords({ ...told, fits, best: best.slice(0, named) })[1];
  assert.equal([headOf(3, 1), headOf(3, 2), headOf(3, 3)], ['the best:', 'the best 2:', 'the best first:']);
});

test('words - of fewer alternates than were asked for it is said how many were, and why there are no more', () => {
  const fits = { hosts: 2, fits: 2, refused: [], silentCells: [], advice: [] };
  const kept = { at: 0, scheduler: 's', claimsRefused: 0, refusedClaims: [], narrowedBy: [], weights: [] };
  const lastOf = (alternates: string[], alternatesAsked?: number) => {
    const chosen = { cell: 'c1', host: 'h1' };
    return wordsOfExplanation(view, { ...fits, ...kept, chosen, alternates, ...present({ alternatesAsked }) }).at(-1);
  };
  const why = 'and no other host of its cell was found to fit';
  assert.is(lastOf([], 2), `alternates: none; 2 were asked for, ${why}`);
  assert.is(lastOf([], 1), `alternates: none; 1 was asked for, ${why}`);
  assert.is(lastOf(['h2'], 3), `alternates: c1/h2; 3 were asked for, ${why}`);
  assert.is(lastOf([]), 'alternates: none were asked for');
});

test('words - of a build that failed on all its hosts it is said what would have given it more, as far as that is known', () => {
  const kept = { at: 0, scheduler: 's', claimsRefused: 0, refusedClaims: [], narrowedBy: [], weights: [], advice: [] };
  const decision = { hosts: 9, fits: 9, refused: [], silentCells: [], ...kept, chosen: { cell: 'c1', host: 'h1' } };
  const toldOf = (further: Partial<Decision>, alternates = ['h2'], instance = 'web') => {
    const failure = { code: 'alternates-exhausted' as const, message: 'none is left' };
    const failed = { instance, request: 'web', state: 'failed', cell: 'c1', failure };
    const record = { ...decision, alternates, ...further };
    const advice = adviceOnBuild(failed, record);
    return wordsOfExplanation(failed, { ...record, advice }).slice(4);
  };
  const inVain = 'more alternates would not have helped: no other host of cell c1 was found to fit';
  const more = (alternates: string, hosts: string) => `with ${alternates} it would have had ${hosts} of cell c1 to try`;
  assert.equal(toldOf({ furtherInCell: 4 }), [more('5 alternates instead of 1', '4 more hosts')]);
  assert.equal(toldOf({ furtherInCell: 1 }, []), [more('1 alternate instead of none', '1 more host')]);
  const most = more('20 alternates instead of 1', '19 more hosts');
  assert.equal(toldOf({ furtherInCell: 400 }), [most], 'no more can be asked for');
  const elsewhere = 'outside cell c1 it would have had 7 hosts to go to';
  assert.equal(toldOf({ furtherInCell: 0, furtherElsewhere: 7 }), [inVain, elsewhere]);
  assert.equal(toldOf({ furtherInCell: 0, furtherElsewhere: 7 }, ['h2'], 'web-0'), [
    `${inVain} beside those of the request's other instances`,
  ]);
  assert.equal(toldOf({ furtherInCell: 0, furtherElsewhere: 0 }), [inVain]);
  assert.equal(toldOf({}), [], 'the record does not know');
  const untriedOf = (alternates: string[], ...tried: [host: string, outcome: string][]) => {
    const failure = { code: 'build-aborted' as const, message: 'no such image' };
    const attempts = tried.map(([host, outcome], n) => ({
      attempt: n + 1,
      host,
      outcome,
      reason: 'why',
      mayRun: false,
    }));
    const failed = { instance: 'web', request: 'web', state: 'failed', cell: 'c1', failure, attempts };
    return alternatesUntried(failed, { ...decision, alternates });
  };
  const untried = 'not tried, as the driver said that no host would succeed: ';
  assert.equal(untriedOf(['h2'], ['h1', 'aborted']), [`${untried}c1/h2`]);
  assert.equal(untriedOf([], ['h1', 'aborted']), []);
  const passedOver = untriedOf(['h2', 'h3'], ['h1', 'passed-over'], ['h2', 'aborted']);
  assert.equal(passedOver, [`${untried}c1/h1, c1/h3`], 'nothing was tried there');
});

test('words - of a cell that is silent it is said that its hosts come last', () => {
  const told = { fit: true, certain: true, count: 1, hosts: 2, fits: 2, times: 9, refused: [], advice: [] };
  const best = [
    { ...weighing('c1', 0.5), times: 4 },
    { ...weighing('c2', 0.9), times: 5 },
  ];
  assert.equal(fitWords({ ...told, best, silentCells: ['c2'] }), [
    'it would fit; of 2 hosts, 2 fit and 0 were refused; there is room for 9',
    'nothing was heard lately of cell c2: its hosts are chosen only when no other fits',
    'the best first:',
    '  c1/h1 0.5 = free-share 0.5; room for 4',
    '  c2/h1 0.9 = free-share 0.9; room for 5',
  ]);
  const since = Date.UTC(2026, 2, 1);
  const needed = { ...told, certain: false, best, silentCells: ['c2'], needsSilentCells: true as const };
  assert.equal(fitWords({ ...needed, silence: [{ cell: 'c2', since }] }).slice(0, 3), [
    'it is not known whether it would fit; of 2 hosts, 2 fit and 0 were refused; there is room for 9',
    'nothing was heard lately of cell c2: its hosts are chosen only when no other fits',
    'it goes by what was heard last: of cell c2 at 2026-03-01T00:00:00.000Z',
  ]);
  assert.is(
    fitWords({ ...told, best, silentCells: [], untold: 2 })[1],
    'placement knows 2 more providers with room, of which no cell has told since the scheduler came up: a cell may be down',
  );
  const many = Array.from({ length: 10 }, (_, shard) => ({ shard, since }));
  assert.match(fitWords({ ...needed, silence: many })[2] ?? '', /^it goes .*, of placement\/7 at \S+, of 2 more$/);
  const standing = {
    cell: 'c2',
    host: 'h1',
    hosts: 2,
    fits: 2,
    rank: 2,
    best: weighing('c1', 0.5),
    silent: true as const,
  };
  const then = {
    verdict: 'runner-up' as const,
    message: 'nothing was heard lately of cell c2',
    weight: 1 / 3,
    bestWeight: 2 / 3,
  };
  const words = whyNotWords(
    { id: 'web', cell: 'c2', host: 'h1', there: false, then, now: { ...standing, weighing: weighing('c2', 0.9) } },
    view,
    false,
  );
  assert.is(
    words[1],
    'then: it fitted, but nothing was heard lately of cell c2; it weighed 0.3333 against 0.6667 of the best',
  );
  assert.match(
    words[2] ?? '',
    /^now: it would fit, number 2 of 2: .*; nothing was heard lately of cell c2, so its hosts come last;/,
  );
  const silence = [
    { cell: 'c2', since },
    { shard: 3, since: since + 1 },
  ];
  const asOf = '  it goes by what was heard last: of cell c2 at 2026-03-01T00:00:00.000Z, of placement/3 at ';
  const down = { code: 'host-down', message: 'nothing is heard of it' };
  for (const [now, says] of [
    [{ ...standing, weighing: weighing('c2', 0.9) }, /^now: it would fit as far as is known, number 2 of 2/],
    [{ ...standing, refusal: down }, /^now: it would be refused: host-down/],
  ] as const) {
    const asked = { id: 'web', cell: 'c2', host: 'h1', there: false, then, now: { ...now, silence } };
    const lines = whyNotWords(asked, view, false);
    assert.match(lines[2] ?? '', says);
    assert.is(lines[3], `${asOf}2026-03-01T00:00:00.001Z`);
  }
});

test('words - a record says whose hosts come last, what narrowed the choice, and which claims were refused, the last of many', () => {
  const refusal = { cell: 'c1', code: 'exceeds-capacity', message: '4 VCPU exceed what is free: 2' };
  const decision: Decision = {
    ...{ at: 0, scheduler: 's', hosts: 3, fits: 2, refused: [{ code: 'host-down', hosts: 1 }], advice: [] },
    ...{ silentCells: ['c2'], silentShards: [3], narrowedBy: ['lately'], claimsRefused: 9, alternates: [] },
    refusedClaims: ['h8', 'h9'].map((host) => ({ ...refusal, host })),
    group: { policy: 'soft-anti-affinity', members: [0, 1] },
    weights: [weighing('c1', 0.25), weighing('c2', 0.75)],
    chosen: { cell: 'c1', host: 'h1' },
  };
  const refusedClaims = [
    '  c1/h8: exceeds-capacity: 4 VCPU exceed what is free: 2',
    '  c1/h9: exceeds-capacity: 4 VCPU exceed what is free: 2',
  ];
  const told = wordsOfExplanation({ ...view, attempt: 2 }, decision);
  assert.equal(told, [
    "instance 'web' is active on c1/h1 (attempt 2)",
    "scheduler 's' decided at 1970-01-01T00:00:00.000Z; of 3 hosts, 2 fit and 1 was refused",
    '  1 host down',
    'of those that fit, these filters narrowed the choice: lately',
    'nothing was heard lately of cell c2: its hosts are chosen only when no other fits',
    'nothing was heard lately of placement/3: the hosts kept there are chosen only when no other fits, and their claims wait',
    'weighed, those with the fewest members of its instance group first:',
    '  c1/h1 0.25 = free-share 0.25; no member of its group there',
    '  c2/h1 0.75 = free-share 0.75; 1 member of its group there',
    'claims refused: 9, the last 2 of them',
    ...refusedClaims,
    'claimed: c1/h1',
    'alternates: none were asked for',
    'attempt 2 on c1/h1: active',
  ]);
  const few = wordsOfExplanation({ ...view, attempt: 1 }, { ...decision, claimsRefused: 2 });
  assert.is(few[0], "instance 'web' is active on c1/h1");
  assert.equal(few.slice(9, 12), ['claims refused: 2', ...refusedClaims]);
  const none = wordsOfExplanation(view, { ...decision, claimsRefused: 0, refusedClaims: [], narrowedBy: [] });
  assert.not(none.some((line) => /claims refused|narrowed/.test(line)));
});

test('words - of a host whose placement shard is silent it is said that this is why another was taken, and that it comes last', async () => {
  const weights = [
    { ...weighing('c1', 0.9), host: 'h1' },
    { ...weighing('c2', 0.7), host: 'h2' },
    { ...weighing('c1', 0.5), host: 'h3' },
    { ...weighing('c1', 0.4), host: 'h4' },
  ];
  const none = { alternates: [], refused: [], refusedClaims: [], claimsRefused: 0, advice: [], narrowedBy: [] };
  const chosen = { cell: 'c1', host: 'h3' };
  const silence = { silentCells: ['c2'], silentShards: [2], shards: [2, 0, 1, 2] };
  const decision: Decision = { ...none, at: 0, scheduler: 's', hosts: 4, fits: 4, weights, chosen, ...silence };
  const standing = { hosts: 4, fits: 4, rank: 3, best: { ...weighing('c1', 0.5), host: 'h3' } };
  const askAbout = (one: Decision, host: string, silentShard?: number) => {
    const weighed = weights.find((weight) => weight.host === host) as (typeof weights)[0];
    const told = { ...weighed, ...(silentShard === undefined ? {} : { silentShard }) };
    const ask = async () => ({ standing: { ...standing, cell: weighed.cell, host, weighing: told } });
    return whyNotOf(
      { view: { ...view, host: 'h3' }, decision: one, spec: { groups: [], groupPolicy: 'none' } },
      ask,
    )({ id: 'web', host });
  };
  const { words } = await askAbout(decision, 'h1', 2);
  assert.is(
    words[1],
    'then: it fitted, but nothing was heard lately of placement/2, which keeps it; it weighed as much as the best, 0.9',
  );
  assert.match(
    words[2] ?? '',
    /0.9; nothing was heard lately of placement\/2, so hosts kept there come last and their claims wait; the best: c1/,
  );
  assert.match((await askAbout(decision, 'h2')).words[1] ?? '', /but nothing was heard lately of cell c2; it weighed/);
  // The chosen one is kept there too, or the chosen one's cell is silent as well.
  const sameShard = { ...decision, shards: [2, 0, 2, 2] };
  assert.match((await askAbout(sameShard, 'h4', 2)).words[1] ?? '', /it fitted, and another was better; it weighed/);
  const sameCell = { ...decision, silentCells: ['c1', 'c2'] };
  assert.match((await askAbout(sameCell, 'h2')).words[1] ?? '', /chance decides; it weighed 0.7 against 0.9/);
});

test('words - where hosts were hard to tell and no other fits, it is not said that it would not fit', async () => {
  const told = { type: 'fitted', ask: 1, hosts: 3, best: [], silentCells: [], advice: [] } as const;
  const hard = { code: 'hard-to-tell', hosts: 1 };
  const full = { code: 'exceeds-capacity', about: 'VCPU', hosts: 2 };
  const fitOf = (count: number, fitted: { fits: number; times: number; partly?: true; refused: object[] }) => {
    const ask = async () => ({ ...told, ...fitted });
    return questioningOf({
      asking: { ask },
      known: () => assert.unreachable(),
      aggregates: aggregatesOf(undefined),
    } as never).fit({
      resources: { VCPU: 1 },
      count,
    });
  };
  const unknown = await fitOf(1, { fits: 0, times: 0, refused: [full, hard] });
  assert.equal([unknown.fit, unknown.certain], [false, false]);
  assert.match(unknown.words[0] ?? '', /^it is not known whether it would fit; of 3 hosts, 0 fit/);
  assert.not.match(unknown.words.join(), /no single change/);
  const enough = await fitOf(2, { fits: 1, times: 2, refused: [full, hard] });
  assert.equal([enough.fit, enough.certain], [true, true]);
  const more = await fitOf(5, { fits: 1, times: 2, partly: true, refused: [full] });
  assert.equal([more.fit, more.certain], [false, false], 'hosts that fit were not counted to the end');
  const counted = await fitOf(5, { fits: 1, times: 2, refused: [full] });
  assert.equal([counted.fit, counted.certain], [false, true], 'all that fit were counted');
  const none = await fitOf(1, { fits: 0, times: 0, refused: [full] });
  assert.equal([none.fit, none.certain], [false, true]);
});

test('words - of the nearest host it is said where more stands in its way than what it is short of', async () => {
  const nearest = { cell: 'c1', host: 'h1', short: 2, lacksMore: true as const };
  const refused = [{ code: 'exceeds-capacity', about: 'VCPU', hosts: 2, nearest }];
  const told = {
    fit: false,
    certain: true,
    count: 1,
    hosts: 2,
    fits: 0,
    times: 0,
    silentCells: [],
    best: [],
    advice: [],
  };
  assert.is(
    fitWords({ ...told, refused })[1],
    '  2 exceeds-capacity VCPU; nearest c1/h1, short by 2, and more stands in its way',
  );
  const ask = () => Promise.reject(new CellwrightError('not-found', 'gone'));
  const decision = { ...told, alternates: [], refused, refusedClaims: [], weights: [], claimsRefused: 0 };
  const failed = { instance: 'web', request: 'web', state: 'failed' };
  const whyNot = whyNotOf({ view: failed, decision }, ask);
  const { then, words } = await whyNot({ id: 'web', host: 'h1' });
  const { code, about, short, lacksMore } = then ?? {};
  assert.equal([code, about, short, lacksMore], ['exceeds-capacity', 'VCPU', 2, true]);
  assert.is(
    words[1],
    'then: it was refused: exceeds-capacity VCPU, short by 2, the nearest of its kind, and more stood in its way',
  );
  const refusal = { code: 'exceeds-capacity', about: 'VCPU', short: 2, message: '2 VCPU too few' };
  const now = { cell: 'c1', host: 'h1', hosts: 2, fits: 0, refusal: { ...refusal, lacksMore: true as const } };
  assert.is(
    whyNotWords({ id: 'web', cell: 'c1', host: 'h1', there: false, then, now }, view, false)[2],
    'now: it would be refused: exceeds-capacity: 2 VCPU too few (short by 2), and more stands in its way; ' +
      'of 2 hosts, 0 fit and 2 were refused',
  );
  const also = [{ code: 'trait-missing', about: 'CUSTOM_A', message: "no provider of 'h1' has the trait CUSTOM_A" }];
  const nowWords = (more: object) =>
    whyNotWords({ id: 'web', cell: 'c1', host: 'h1', there: false, then, now: { ...now, ...more } }, view, false).slice(
      2,
    );
  const both = [
    'now: it would be refused: exceeds-capacity: 2 VCPU too few (short by 2); of 2 hosts, 0 fit and 2 were refused',
    "  also trait-missing: no provider of 'h1' has the trait CUSTOM_A",
  ];
  assert.equal(nowWords({ also }), both);
  assert.equal(nowWords({ also, partly: true }), [...both, '  and more stands in its way']);
  const resting = { code: 'host-set-aside', message: "host 'h1' is set aside: 5 builds failed", until: 90_000 };
  assert.is(
    whyNotWords(
      { id: 'web', cell: 'c1', host: 'h1', there: false, then, now: { ...now, refusal: resting } },
      view,
      false,
    )[2],
    "now: it would be refused: host-set-aside: host 'h1' is set aside: 5 builds failed; it comes back by itself at 1970-01-01T00:01:30.000Z; " +
      'of 2 hosts, 0 fit and 2 were refused',
  );
});

test('words - of an amount that units do not allow it is said by how much it is off, and nothing is said to be short', () => {
  const nearest = { cell: 'c1', host: 'h1', short: 68 };
  const refused = { code: 'unit-constraint', about: 'MEMORY_MB', hosts: 1, nearest };
  assert.is(refusedWords(refused), '1 unit-constraint MEMORY_MB; nearest c1/h1, off by 68');
  const refusal = {
    code: 'unit-constraint',
    about: 'MEMORY_MB',
    short: 68,
    message: "700 MEMORY_MB on provider 'h1' violates its inventory's step_size 256 (nearest amounts 512 and 768)",
  };
  const now = { cell: 'c1', host: 'h1', hosts: 1, fits: 0, refusal };
  const then = { verdict: 'refused' as const, code: 'unit-constraint', about: 'MEMORY_MB', short: 68 };
  assert.equal(whyNotWords({ id: 'web', cell: 'c1', host: 'h1', there: false, then, now }, view, false).slice(1), [
    'then: it was refused: unit-constraint MEMORY_MB, off by 68, the nearest of its kind',
    `now: it would be refused: unit-constraint: ${refusal.message}; of 1 host, 0 fit and 1 was refused`,
  ]);
});

test('words - while a claim of it is not answered, that is said, and that it counts where it does', () => {
  const refusal = { code: 'exceeds-capacity', about: 'VCPU', short: 2, message: '2 VCPU too few' };
  const claiming = { cell: 'c1', host: 'h1', shard: 1 };
  const then = null;
  const now = { cell: 'c1', host: 'h1', hosts: 1, fits: 0, refusal, claiming };
  const nowOf = (cell: string, hasGroup = false) =>
    whyNotWords({ id: 'web', cell, host: 'h1', there: false, then, now: { ...now, cell } }, view, hasGroup)[2];
  const refused = 'would be refused: exceeds-capacity: 2 VCPU too few (short by 2); of 1 host, 0 fit and 1 was refused';
  assert.is(
    nowOf('c1'),
    `now: placement/1 has not answered its claim of c1/h1, which counts as used; another like it ${refused}`,
  );
  const elsewhere = 'now: placement/1 has not answered its claim of c1/h1, which counts as used;';
  assert.is(nowOf('c2'), `${elsewhere} it ${refused}`);
  assert.is(nowOf('c2', true), `${elsewhere} another like it ${refused}`);
});

test('words - while placement shards have not said what they know, it is said which are waited for', () => {
  const weighing = { cell: 'c1', host: 'h1', weight: 1, parts: {} };
  const then = null;
  const nowOf = (awaiting: number[]) => {
    const now = { cell: 'c1', host: 'h1', hosts: 1, fits: 1, rank: 1, weighing, awaiting };
    return whyNotWords({ id: 'web', cell: 'c1', host: 'h1', there: false, then, now }, view, false)[2] ?? '';
  };
  assert.match(
    nowOf([2]),
    /^now: placement\/2 has not said yet what was claimed before, and nothing more is claimed until then; it would/,
  );
  assert.match(
    nowOf([0, 2]),
    /^now: placement\/0, placement\/2 have not said yet what was claimed before, and nothing/,
  );
});

test('words - by how much a host is short is said once, and of its own instance that another like it is meant', () => {
  const refusal = {
    code: 'exceeds-capacity',
    about: 'VCPU',
    short: 2,
    message: "4 VCPU exceed what is free on 'h1': 2 (short by 2)",
  };
  const then = null;
  const now = { cell: 'c1', host: 'h1', hosts: 1, fits: 0, refusal };
  const [, , own] = whyNotWords({ id: 'web', cell: 'c1', host: 'h1', there: true, then, now }, view, false);
  assert.is(
    own,
    `now: another like it would be refused: exceeds-capacity: ${refusal.message}; of 1 host, 0 fit and 1 was refused`,
  );
  const hot = { code: 'too-hot', short: 3, message: 'it is hot' };
  const [, , other] = whyNotWords(
    { id: 'web', cell: 'c1', host: 'h1', there: false, then, now: { ...now, refusal: hot } },
    view,
    false,
  );
  assert.match(other ?? '', /^now: it would be refused: too-hot: it is hot \(short by 3\); /);
});

test('words - where hosts weighed the same, none is said to be better', () => {
  const wordsOf = (weight: number, bestWeight: number, chosenWeight: number) => {
    const then = { verdict: 'runner-up' as const, weight, bestWeight, chosenWeight };
    return whyNotWords({ id: 'web', cell: 'c1', host: 'h2', there: false, then, now: null }, view, false)[1];
  };
  assert.is(
    wordsOf(9.75, 9.75, 9.75),
    'then: it fitted, and another of the same weight was taken: among such chance decides; ' +
      'it weighed as much as the best, 9.75',
  );
  assert.is(
    wordsOf(9.5, 9.75, 9.25),
    'then: it fitted, and another of the best was taken: among such chance decides; ' +
      'it weighed 9.5 against 9.75 of the best',
  );
  assert.is(
    wordsOf(9.5, 9.75, 9.75),
    'then: it fitted, and another was better; it weighed 9.5 against 9.75 of the best',
  );
});

test('words - where a host was claimed that is not the best, it is said that chance decides, if nothing else says why', () => {
  const kept = { at: 0, scheduler: 's', hosts: 9, fits: 9, refused: [], refusedClaims: [], alternates: [], advice: [] };
  const weights = [weighing('c1', 0.75), weighing('c2', 0.5), weighing('c3', 0.25)];
  const claimedOf = (cell: string, more: Partial<Decision> = {}) => {
    const none = { weights, claimsRefused: 0, narrowedBy: [], silentCells: [] };
    const words = wordsOfExplanation(view, { ...kept, ...none, chosen: { cell, host: 'h1' }, ...more });
    return words.find((line) => line.startsWith('claimed: '));
  };
  assert.is(claimedOf('c1'), 'claimed: c1/h1');
  assert.is(claimedOf('c3'), 'claimed: c3/h1, one of the best: among such chance decides');
  assert.is(claimedOf('c4'), 'claimed: c4/h1, which an earlier question had been granted');
  assert.is(claimedOf('c2', { claimsRefused: 1 }), 'claimed: c2/h1');
  assert.is(claimedOf('c2', { silentCells: ['c1'] }), 'claimed: c2/h1');
  assert.is(claimedOf('c2', { silentShards: [1] }), 'claimed: c2/h1');
  assert.is(claimedOf('c2', { narrowedBy: ['room-together'] }), 'claimed: c2/h1');
});

test('words - where a soft rule of a group comes before weights, it is said of the order as it is now', () => {
  const told = { fit: true, certain: true, count: 1, hosts: 3, fits: 3, times: 9, refused: [], advice: [] };
  const first = { ...weighing('c1', 0.25), members: 2 };
  const second = { ...weighing('c2', 0.75), members: 0 };
  const best = [
    { ...first, times: 4 },
    { ...second, times: 5 },
  ];
  assert.equal(fitWords({ ...told, best, silentCells: [] }).slice(1), [
    'the best 2, by the rule of its group and then by weight:',
    '  c1/h1 0.25 = free-share 0.25; 2 members of its group there; room for 4',
    '  c2/h1 0.75 = free-share 0.75; no member of its group there; room for 5',
  ]);
  const then = null;
  const now = { cell: 'c2', host: 'h1', hosts: 3, fits: 3, rank: 2, best: first, weighing: second };
  assert.is(
    whyNotWords({ id: 'web', cell: 'c2', host: 'h1', there: false, then, now }, view, true)[2],
    'now: another like it would fit, number 2 of 3, by the rule of its group and then by weight: ' +
      'c2/h1 0.75 = free-share 0.75; no member of its group there; ' +
      'the best: c1/h1 0.25 = free-share 0.25; 2 members of its group there; of 3 hosts, 3 fit and 0 were refused',
  );
});

test('words - where a soft rule of its group came before weights, it is said, and of every host by how many members', async () => {
  const weights = [
    { ...weighing('c1', 0.25), host: 'h1' },
    { ...weighing('c1', 0.75), host: 'h2' },
    { ...weighing('c1', 0.5), host: 'h3' },
  ];
  const whole: Decision = {
    at: 0,
    scheduler: 's',
    hosts: 3,
    fits: 3,
    refused: [],
    chosen: { cell: 'c1', host: 'h1' },
    weights,
    group: { policy: 'soft-affinity', members: [2, 1, 0] },
    claimsRefused: 0,
    refusedClaims: [],
    alternates: ['h3'],
    advice: [],
    narrowedBy: [],
    silentCells: [],
  };
  assert.equal(wordsOfExplanation(view, whole).slice(2, 6), [
    'weighed, those with the most members of its instance group first:',
    '  c1/h1 0.25 = free-share 0.25; 2 members of its group there',
    '  c1/h2 0.75 = free-share 0.75; 1 member of its group there',
    '  c1/h3 0.5 = free-share 0.5; no member of its group there',
  ]);
  const ask = () => Promise.reject(new CellwrightError('not-found', 'gone'));
  const thenOf = async (decision: Decision, host: string) => {
    const whyNot = whyNotOf({ view, decision }, ask);
    return (await whyNot({ id: 'web', host })).words[1];
  };
  assert.is(
    await thenOf(whole, 'h2'),
    'then: it fitted, and another came first by the rule of its group: 2 of its instance group there, against 1 here; ' +
      'it weighed as much as the best, 0.75',
  );
  assert.match(
    (await thenOf(whole, 'h3')) ?? '',
    /^then: it was an alternate, .*; it weighed 0.5 against 0.75 of the best$/,
  );
  const other = { ...whole, group: { policy: 'soft-anti-affinity', members: [2, 1, 0] } };
  assert.match((await thenOf(other, 'h2')) ?? '', /chance decides/, 'the rule would have taken this one');
  const hard = { ...whole, alternates: [], group: { policy: 'anti-affinity', members: [1, 0, 0] } };
  assert.match((await thenOf(hard, 'h3')) ?? '', /another of the best was taken: among such chance decides/);
  assert.is(wordsOfExplanation(view, hard)[2], 'weighed, the best first:');
  const { chosen: __, ...untaken } = hard;
  assert.is(
    await thenOf(untaken, 'h3'),
    'then: it fitted, but no host was taken; it weighed 0.5 against 0.75 of the best',
  );
  const conflict = { cell: 'c1', host: 'h2', code: 'group-policy-conflict', message: 'another rule' };
  assert.is(
    await thenOf({ ...untaken, claimsRefused: 1, refusedClaims: [conflict] }, 'h3'),
    'then: it fitted, but no host was taken: the claim of c1/h2 was refused with group-policy-conflict; ' +
      'it weighed 0.5 against 0.75 of the best',
  );
  const { group: _, ...alone } = whole;
  const far = { ...weighing('c2', 0.9), host: 'h4' };
  const near = { ...alone, where: { preferCells: ['c1'] }, weights: [...weights, far] };
  assert.is(wordsOfExplanation(view, near)[2], 'weighed, those of preferred cells first:');
  assert.is(
    await thenOf(near, 'h4'),
    'then: it fitted, but the request prefers cell c1; it weighed as much as the best, 0.9',
  );
  assert.match((await thenOf(near, 'h2')) ?? '', /chance decides/, 'it is of that cell too');
});

test('words - while its cell is silent, it is not said that an instance is not on its host', async () => {
  const silent = {
    instance: 'web',
    request: 'web',
    state: 'unknown',
    cell: 'c2',
    failure: { code: 'cell-silent' as const, message: "cell 'c2' does not answer; last known: active" },
  };
  const chosen = { cell: 'c2', host: 'big' };
  const none = {
    alternates: ['small'],
    refused: [],
    refusedClaims: [],
    silentCells: [],
    weights: [],
    claimsRefused: 0,
  };
  const decision = { ...none, at: 0, scheduler: 's', hosts: 2, fits: 2, advice: [], narrowedBy: [], chosen };
  const ask = async (_: string, { cell = 'c2' }: { cell?: string }) => ({ standing: { cell } });
  const whyNot = whyNotOf({ view: silent, decision }, ask);
  const big = await whyNot({ id: 'web', host: 'big' });
  assert.equal([big.there, big.then, big.now], [null, { verdict: 'chosen' }, null]);
  const unknown = (place: string) => `it is not known whether 'web' is on ${place}: ${silent.failure.message}`;
  const now = "now: what it asked for is not known while cell 'c2' does not answer";
  assert.equal(big.words, [`${unknown('c2/big')}; the decision chose that host`, 'then: it was chosen', now]);
  const small = await whyNot({ id: 'web', host: 'small' });
  assert.equal([small.there, small.words[0]], [null, `${unknown('c2/small')}; the decision chose c2/big`]);
  const elsewhere = await whyNot({ id: 'web', cell: 'c1', host: 'big' });
  assert.equal([elsewhere.there, elsewhere.words[2]], [false, now]);
  assert.is(elsewhere.words[0], "instance 'web' is not on c1/big: it is in cell c2, which does not answer");
  const orElsewhere = 'whether it went on to an alternate from there, cell c2 alone knows';
  assert.is(wordsOfExplanation(silent, decision)[1], `the decision chose c2/big; ${orElsewhere}`);
  const only = { ...decision, alternates: [] };
  assert.is(wordsOfExplanation(silent, only)[1], 'its last known host is c2/big, which the decision chose');
  const headline = (view: object) => wordsOfExplanation({ ...silent, ...view }, only)[0];
  const why = `is, is not known: cell-silent: ${silent.failure.message}`;
  assert.is(headline({}), `how instance 'web' in cell c2 ${why}`, 'and not that it is not known in that cell');
  assert.is(headline({ host: 'big', attempt: 2 }), `how instance 'web' on c2/big (attempt 2) ${why}`);
});

test('words - a host that nobody knows any more is in the cell in which the record has it', async () => {
  const gone = new CellwrightError('not-found', "no host 'h2' is known", { field: 'host' });
  const ask = () => Promise.reject(gone);
  const weights = [weighing('c1', 2), { ...weighing('c3', 1), host: 'h2' }];
  const decision = {
    alternates: [],
    refused: [],
    refusedClaims: [],
    silentCells: [],
    weights,
    claimsRefused: 0,
    advice: [],
  };
  const whyNot = whyNotOf({ view: { ...view, state: 'deleted' }, decision }, ask);
  const { cell, then } = await whyNot({ id: 'web', host: 'h2' });
  assert.equal([cell, then?.verdict], ['c3', 'runner-up']);
  assert.is(await failureOf(() => whyNot({ id: 'web', host: 'h3' })), gone);
  weights.push({ ...weighing('c4', 1), host: 'h2' });
  const { code, field, message } = (await failureOf(() => whyNot({ id: 'web', host: 'h2' }))) as CellwrightError;
  assert.equal([code, field], ['ambiguous', 'cell']);
  assert.match(message, /in the cells c3, c4: name the cell$/);
  assert.is((await whyNot({ id: 'web', cell: 'c4', host: 'h2' })).then?.verdict, 'runner-up');
});

test('words - of a host that is enabled it is told when that takes, and no more than is known', () => {
  const words = (state: string, disabled?: string) =>
    setWords({ cell: 'c1', host: 'h1', state, ...(disabled === undefined ? {} : { disabled }) }, 'enable');
  assert.is(words('up'), "host 'c1/h1' is up");
  assert.is(words('down'), "host 'c1/h1' is down; when it comes back it is up");
  assert.is(words('disabled', 'its cell'), "host 'c1/h1' is disabled all the same: its cell");
  assert.is(words('disabled'), "host 'c1/h1' is disabled", 'an older version does not tell why');
});

test.run();
