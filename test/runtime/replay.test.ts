// Area: replay. Whole replays in memory, in virtual time: everything accounted for, nothing over-committed or leaked,
// and the same seed gives the same record to the byte. Then the parts: timetable, player, tally, accounts.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { summaryOf } from '../../runtime/cli/summary.ts';
import type { Client } from '../../runtime/client.ts';
import { CellwrightError, OverloadedError } from '../../runtime/errors.ts';
import { accountsOf } from '../../runtime/replay/accounts.ts';
import { failuresOf } from '../../runtime/replay/fleet.ts';
import { play } from '../../runtime/replay/player.ts';
import { type ReplayOptions, replay } from '../../runtime/replay/replay.ts';
import { problemsOf, type ReplayResult, recordOf } from '../../runtime/replay/result.ts';
import { type Story, storyOf } from '../../runtime/replay/story.ts';
import { tallyOf } from '../../runtime/replay/tally.ts';
import { timetable } from '../../runtime/replay/timetable.ts';
import { pause } from '../../runtime/replay/waiting.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { generatedWorkload } from '../../runtime/workload/generated.ts';
import type { Arrival, Workload } from '../../runtime/workload/workload.ts';
import { failureOf } from '../support/until.ts';

const test = suite('replay');

const REQUESTS = 200;
/** Short beside the lifetimes, so that few are deleted before they were built. */
const BUILD_MS = { min: 1, max: 50 };

/** Of which hosts are few enough to fill up, and none is flaky. */
function smallWorkload(seed: number, requests = REQUESTS): Workload {
  return generatedWorkload({ cells: 3, hostsPerCell: 4, requests, seed, durationMs: 60_000, flakyShare: 0 });
}

function replayed(
  seed: number,
  failRate: number,
  {
    alternates = 2,
    deletes = 'after-build',
    placementShards = 1,
  }: Pick<ReplayOptions, 'alternates' | 'deletes' | 'placementShards'> = {},
): Promise<ReplayResult> {
  return replay(smallWorkload(seed), {
    deletes,
    seed,
    on: 'memory',
    failRate,
    alternates,
    placementShards,
    speed: 10,
    buildMs: BUILD_MS,
  });
}

function checkSound(result: ReplayResult): void {
  const { accounts, faults } = result;
  assert.equal(problemsOf(result), []);
  assert.equal(faults, []);
  assert.is(accounts.requested, REQUESTS);
  assert.is(accounts.active + accounts.deleted + accounts.failed, REQUESTS);
  const record = recordOf(result);
  assert.is(record.overcommitted, 0);
  assert.is(record.leaked, 0);
}

test('in memory - all requests are accounted for when no build fails', async () => {
  const result = await replayed(1, 0);
  checkSound(result);
  assert.ok(result.accounts.active > 0 && result.accounts.deleted > 0);
  assert.is(result.figures.attemptsFailed['guest did not boot'], undefined);
});

test('in memory - a speed at which it would not end in a hundred years is refused by its name, before anything is started', async () => {
  const lastsMs = smallWorkload(1).endMs;
  const at = (speed: number) => replay(smallWorkload(1), { seed: 1, on: { servers: ['nats://127.0.0.1:1'] }, speed });
  const refused = await at(lastsMs / 4e12).catch((error) => error);
  assert.equal([refused.code, refused.field], ['bad-option', 'speed']);
});

test('in memory - and when 30 % fail, with reschedules, and failures for the reason that the alternates ran out', async () => {
  const result = await replayed(1, 0.3);
  checkSound(result);
  assert.ok(result.figures.reschedules > REQUESTS * 0.1, `only ${result.figures.reschedules} reschedules`);
  assert.ok((result.accounts.failedByReason['alternates-exhausted'] ?? 0) > 0);
});

test('in memory - and when deletes come in the midst of builds', async () => {
  const result = await replayed(1, 0.3, { deletes: 'prompt' });
  checkSound(result);
  assert.ok(result.figures.built < (await replayed(1, 0.3)).figures.built);
});

test('in memory - and when placement is four shards, between which builds that fail are moved', async () => {
  const result = await replayed(5, 0.3, { placementShards: 4 });
  checkSound(result);
  assert.ok(result.accounts.active + result.accounts.deleted > REQUESTS / 2);
});

test('in memory - without alternates a failed build is a failed request', async () => {
  const result = await replayed(1, 0.3, { alternates: 0 });
  checkSound(result);
  assert.is(result.figures.reschedules, 0);
  assert.ok(result.accounts.failed > REQUESTS * 0.15, `only ${result.accounts.failed} failed`);
});

test('in memory - the same seed gives the same record to the byte, another seed another', async () => {
  const [first, again, other] = [await replayed(7, 0.3), await replayed(7, 0.3), await replayed(8, 0.3)];
  assert.is(JSON.stringify(recordOf(again)), JSON.stringify(recordOf(first)));
  assert.is.not(JSON.stringify(recordOf({ ...other, settings: first.settings })), JSON.stringify(recordOf(first)));
});

test('in memory - it can be interrupted, and ends in order', async () => {
  const controller = new AbortController();
  const failure = await failureOf(() =>
    replay(smallWorkload(1), {
      seed: 1,
      on: 'memory',
      signal: controller.signal,
      onStart: () => controller.abort(),
    }),
  );
  assert.is(failure.code, 'interrupted');
});

// Parts

const arrival = (id: string, atMs: number, endAtMs: (number | undefined)[], count = endAtMs.length): Arrival => ({
  id,
  atMs,
  endAtMs,
  count,
  spec: { resources: { VCPU: 1 } },
  kind: 'cpu',
});

test('timetable - ends stand between arrivals in order of time, and before an arrival of the same time', () => {
  const arrivals = [arrival('a', 0, [50]), arrival('b', 10, [30, undefined, 20]), arrival('c', 30, [undefined])];
  const told = [...timetable(arrivals)].map((entry) =>
    entry.type === 'arrival' ? `${entry.atMs} +${entry.arrival.id}` : `${entry.atMs} -${entry.instance}`,
  );
  assert.equal(told, ['0 +a', '10 +b', '20 -b-2', '30 -b-0', '30 +c', '50 -a']);
});

/** A client of which only builds and deletes are called; each answers what the script says, in virtual time. */
function scriptedClient(
  answers: (what: string, time: number) => Promise<unknown>,
  clock: { now(): number },
): { client: Client; calls: string[] } {
  const calls: string[] = [];
  const call = (what: string) => {
    calls.push(`${clock.now()} ${what}`);
    return answers(what, calls.filter((one) => one.endsWith(` ${what}`)).length);
  };
  const client = {
    build: ({ id }: { id: string }) => call(`build ${id}`),
    delete: (id: string) => call(`delete ${id}`),
  };
  return { client: client as unknown as Client, calls };
}

async function played(
  arrivals: Arrival[],
  answers: (what: string, time: number, pause: (ms: number) => Promise<void>) => Promise<unknown>,
  options: {
    maxInFlight?: number;
    failed?: string;
    speed?: number;
    untilBuilt?: (instance: string, pause: (ms: number) => Promise<void>) => Promise<void>;
  } = {},
) {
  const clock = virtualClock();
  const { untilBuilt } = options;
  const { client, calls } = scriptedClient((what, time) => answers(what, time, (ms) => pause(clock, ms)), clock);
  let outcome: Awaited<ReturnType<typeof play>> | undefined;
  const playing = play(arrivals, {
    client,
    clock,
    speed: options.speed ?? 1,
    alternates: 1,
    hasFailed: (instance) => instance === options.failed,
    ...(untilBuilt === undefined
      ? {}
      : { untilBuilt: (instance: string) => untilBuilt(instance, (ms) => pause(clock, ms)) }),
    ...(options.maxInFlight === undefined ? {} : { maxInFlight: options.maxInFlight }),
  }).then((done) => {
    outcome = done;
  });
  await clock.runAsync(() => outcome !== undefined);
  await playing;
  return { calls, ...(outcome as NonNullable<typeof outcome>) };
}

test('player - plays in compressed time, and lets what has failed alone', async () => {
  const arrivals = [arrival('a', 1_000, [3_000]), arrival('b', 2_000, [4_000])];
  const { calls } = await played(arrivals, async () => ({}), { speed: 10, failed: 'a' });
  assert.equal(calls, ['100 build a', '200 build b', '400 delete b']);
});

test('player - a delete that is due waits for the end of its build, but not for ever', async () => {
  const arrivals = [arrival('slow', 0, [10]), arrival('silent', 0, [20])];
  const { calls } = await played(arrivals, async () => ({}), {
    untilBuilt: (instance, pause) => pause(instance === 'slow' ? 500 : 1e9),
  });
  assert.equal(calls, ['0 build slow', '0 build silent', '510 delete slow', '30020 delete silent']);
});

test('replay - nothing is deleted before it is built, however long that takes', async () => {
  const options = {
    seed: 1,
    on: 'memory',
    failRate: 0,
    alternates: 2,
    speed: 10,
    buildMs: { min: 40_000, max: 60_000 },
  };
  const { figures, accounts } = await replay(smallWorkload(1, 12), options as ReplayOptions);
  assert.ok(accounts.deleted > 0);
  assert.is(figures.built + accounts.failed, 12);
});

test('player - tries again what may succeed, slower each time, and gives up on the rest', async () => {
  const arrivals = [arrival('busy', 0, [10]), arrival('wrong', 0, [10])];
  const { calls, refused, undeleted } = await played(arrivals, async (what, time) => {
    if (what === 'build wrong') throw new CellwrightError('malformed', 'no');
    if (what === 'build busy' && time <= 3) throw new OverloadedError('conductor/0');
    if (what === 'delete busy') throw new OverloadedError('conductor/0');
    return {};
  });
  assert.equal(calls.slice(0, 5), [
    '0 build busy',
    '0 build wrong',
    '50 build busy',
    '150 build busy',
    '350 build busy',
  ]);
  assert.equal([...refused.keys()], ['wrong'], 'a request that was refused is not deleted either');
  assert.equal([...undeleted], [['busy', 'overloaded']]);
});

test('player - no more calls at once than allowed, and no delete before its build has an answer', async () => {
  let open = 0;
  let most = 0;
  const arrivals = Array.from({ length: 20 }, (_, index) => arrival(`r-${index}`, 0, [1]));
  const answered = new Set<string>();
  const early: string[] = [];
  const { calls } = await played(
    arrivals,
    async (what, _, pause) => {
      const [verb, id] = what.split(' ') as [string, string];
      if (verb === 'delete' && !answered.has(id)) early.push(id);
      open += 1;
      most = Math.max(most, open);
      await pause(5);
      open -= 1;
      answered.add(id);
      return {};
    },
    { maxInFlight: 3 },
  );
  assert.is(calls.length, 40);
  assert.is(most, 3);
  assert.equal(early, []);
});

test('player - an error that is no answer ends the replay', async () => {
  const clock = virtualClock();
  const { client } = scriptedClient(async () => {
    throw new RangeError('a bug');
  }, clock);
  const playing = play([arrival('a', 0, [undefined])], {
    client,
    clock,
    speed: 1,
    alternates: 0,
    hasFailed: () => false,
  });
  assert.match((await failureOf(() => playing)).message, 'a bug');
});

const story = (at: number, instance: string, state: string, more: Partial<Story> = {}): Story => ({
  at,
  instance,
  state,
  cell: 'c1',
  ...more,
});

test('replay - what goes missing from its host, or is found, is no build that has become active', () => {
  const told = (cause: string) => {
    const body = { at: 5, instance: 'a', request: 'a', state: 'active', cause, host: 'h1' };
    return storyOf({ subject: 'x', data: new TextEncoder().encode(JSON.stringify(body)), headers: {} }, 1_000);
  };
  assert.is(told('built')?.state, 'active');
  assert.is(told('missing'), null);
  assert.is(told('found'), null);
});

test('tally - counts states, cells, reschedules, reasons and times', () => {
  const tally = tallyOf();
  tally.take(story(0, 'a', 'requested', { cell: null }));
  tally.take(story(10, 'b', 'requested', { cell: null }));
  assert.is(tally.open(), 2);
  tally.take(story(10, 'a', 'claimed'));
  tally.take(story(20, 'a', 'rescheduling', { lastAttempt: 'guest did not boot' }));
  tally.take(story(100, 'a', 'active'));
  tally.take(story(110, 'b', 'failed', { cell: null, failure: 'no-valid-host' }));
  const { p50Ms, p99Ms, buildsPerSecond, ...figures } = tally.figures();
  assert.equal(figures, {
    states: { active: 1, failed: 1 },
    cells: { c1: { active: 1 } },
    reschedules: 1,
    attemptsFailed: { 'guest did not boot': 1 },
    failed: { 'no-valid-host': 1 },
    built: 1,
  });
  assert.equal([p50Ms, p99Ms, buildsPerSecond], [100, 100, 10]);
  assert.is(tally.open(), 0);
  assert.ok(tally.hasFailed('b') && !tally.hasFailed('a'));
});

test('tally - a build that was deleted on the way did not fail, and stays deleted', () => {
  const tally = tallyOf();
  tally.take(story(0, 'a', 'claimed'));
  tally.take(story(5, 'a', 'failed', { failure: 'deleted', lastAttempt: 'deleted' }));
  tally.take(story(9, 'a', 'deleted'));
  const { states, failed, attemptsFailed } = tally.figures();
  assert.equal([states, failed, attemptsFailed], [{ deleted: 1 }, {}, {}]);
  assert.not.ok(tally.hasFailed('a'));
});

test('accounts - an instance is what its owner says it is, and what nobody answers for is missing', () => {
  const view = (instance: string, state: string, more = {}) => ({ instance, request: instance, state, ...more });
  const conducted = [
    view('active', 'active', { cell: 'c1' }),
    view('gone', 'deleted'),
    view('misfit', 'failed', { failure: { code: 'no-valid-host', message: 'none of 3 hosts' } }),
    view('worn-out', 'failed', { cell: 'c1', failure: { code: 'failed', message: 'all failed' } }),
    view('slow', 'building', { cell: 'c1' }),
    view('vanished', 'active', { cell: 'c1' }),
    view('lingering', 'deleted', { cell: 'c1' }),
  ];
  const inCells = [
    view('active', 'active', { cell: 'c1' }),
    view('worn-out', 'failed', { cell: 'c1', failure: { code: 'alternates-exhausted', message: 'all failed' } }),
    view('slow', 'building', { cell: 'c1' }),
    view('lingering', 'deleting', { cell: 'c1' }),
  ];
  const arrivals = [...conducted.map(({ instance }) => arrival(instance, 0, [undefined])), arrival('lost', 0, [1, 1])];
  const accounts = accountsOf({
    arrivals: [...arrivals, arrival('refused', 0, [undefined])],
    census: { conducted: new Map(conducted.map((one) => [one.instance, one])), inCells },
    refused: new Map([['refused', { code: 'malformed', message: "'id' must be lower-case" }]]),
  });
  const { requested, active, deleted, failed, failedByReason, unfinished, missing } = accounts;
  assert.equal({ requested, active, deleted, failed }, { requested: 10, active: 1, deleted: 1, failed: 3 });
  assert.equal(failedByReason, { 'alternates-exhausted': 1, 'no-valid-host': 1, 'refused-malformed': 1 });
  const why = "'refused': the API did not take the request: 'id' must be lower-case";
  assert.is(accounts.examples['refused-malformed'], why);
  assert.equal(unfinished, ["'slow' is building", "'lingering' is still deleting"]);
  assert.equal(
    missing.map((what) => what.split(':')[0]),
    ["'vanished'", "'lost-0'", "'lost-1'"],
  );
});

test('fleet - the failures of a flaky host come on top of those of all', () => {
  assert.equal(failuresOf(0, 0), []);
  const rates = failuresOf(0.3, 0.5).map(({ rate }) => rate);
  const total = rates.reduce((sum, rate) => sum + rate, 0);
  assert.ok(Math.abs(total - 0.65) < 1e-9, `${total}`);
});

test('replay - the summary says what share of builds was made to fail, and nothing where none was', async () => {
  const firstOf = async (failRate: number) => summaryOf(await replayed(1, failRate))[0] ?? '';
  assert.match(await firstOf(0.05), /, speed 10, 5 % of builds fail, 2 alternates$/);
  assert.match(await firstOf(0), /, speed 10, 2 alternates$/);
});

test('replay - the summary tells how long builds took only where some became active', async () => {
  const tellsOf = async (failRate: number) =>
    summaryOf(await replayed(1, failRate)).find((line) => /^builds /.test(line));
  assert.match((await tellsOf(0)) ?? '', /\/s; accepted to active p50 [\d,]+ ms, p99 [\d,]+ ms$/);
  assert.is(await tellsOf(1), 'builds          0, 0/s');
});

test.run();
