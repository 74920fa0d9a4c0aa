// Area: gateway. Few requests never wait; very many set out together, in order, each after a beat at most.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { BEAT_MS, MANY, MS_FOR_EACH, pacingOf } from '../../runtime/gateway/pacing.ts';
import { seededRandom } from '../../runtime/random.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';

const test = suite('pacing');

interface Left {
  readonly request: number;
  readonly cameAt: number;
  readonly at: number;
}

/** Lets a request come at each of these times, those of one moment in one tick; tells when each left, in that order. */
async function leaving(times: readonly number[]): Promise<Left[]> {
  const clock = virtualClock();
  const pacing = pacingOf(clock);
  const left: Left[] = [];
  let request = 0;
  for (const cameAt of new Set(times)) {
    clock.after(cameAt, () => {
      for (; times[request] === cameAt; request += 1) {
        const own = request;
        const leaves = () => left.push({ request: own, cameAt, at: clock.now() });
        const inLine = pacing.join();
        if (inLine === null) leaves();
        else void inLine.then(leaves);
      }
    });
  }
  await clock.runAsync(() => left.length === times.length);
  return left;
}

/** Requests a millisecond, for so long. */
const steadily = (eachMs: number, forMs: number, from = 0): number[] =>
  Array.from({ length: Math.round(eachMs * forMs) }, (_, request) => from + request / eachMs);

const departures = (left: readonly Left[]): number => new Set(left.map(({ at }) => at)).size;

test('pacing - a request that comes alone, or among few, does not wait', async () => {
  for (const times of [[0], steadily(0.4, 1_000), steadily((MANY - 1) / BEAT_MS, 1_000)]) {
    for (const { cameAt, at } of await leaving(times)) assert.is(at, cameAt);
  }
});

test('pacing - a burst after a calm does not wait', async () => {
  const burst = Array.from({ length: 500 }, () => 1_000);
  for (const { cameAt, at } of await leaving([...steadily(0.1, 900), ...burst])) assert.is(at, cameAt);
});

test('pacing - many set out once a beat, in order, and wait for no longer', async () => {
  const left = await leaving(steadily(3.5, 1_000));
  const requests = left.map(({ request }) => request);
  assert.equal(
    requests,
    requests.toSorted((one, other) => one - other),
  );
  for (const { cameAt, at } of left) assert.ok(at - cameAt <= BEAT_MS, `waited ${at - cameAt} ms`);
  const later = left.filter(({ cameAt }) => cameAt >= 2 * BEAT_MS);
  assert.ok(departures(later) <= 1_000 / BEAT_MS, `${departures(later)} departures`);
});

test('pacing - the fewer come, the shorter they wait', async () => {
  const left = await leaving(steadily(1, 1_000));
  const waitMs = BEAT_MS * MS_FOR_EACH;
  for (const { cameAt, at } of left) assert.ok(at - cameAt <= waitMs + 1e-6, `waited ${at - cameAt} ms`);
  assert.ok(departures(left) < 400, `${departures(left)} departures`);
});

test('pacing - what comes together when a beat has passed goes at once, together', async () => {
  const waves = Array.from({ length: 40 }, (_, wave) => Array.from({ length: 64 }, () => wave * BEAT_MS)).flat();
  for (const { cameAt, at } of await leaving(waves)) assert.is(at, cameAt);
});

test('pacing - when many no longer come, none waits', async () => {
  const busy = steadily(3.5, 500);
  const calm = steadily(0.2, 500, 500 + 3 * BEAT_MS);
  const left = await leaving([...busy, ...calm]);
  for (const { cameAt, at } of left.filter((one) => one.cameAt > 500)) assert.is(at, cameAt);
});

test('pacing - what must not overtake a request waits only behind one', async () => {
  const clock = virtualClock();
  const pacing = pacingOf(clock);
  for (let question = 0; question < 20; question += 1) assert.is(pacing.behind(), null);
  for (let request = 0; request < 20; request += 1) assert.is(pacing.join(), null, 'questions do not count');
  clock.advanceTo(BEAT_MS);
  const left: string[] = [];
  void pacing.join()?.then(() => left.push('request'));
  void pacing.behind()?.then(() => left.push('question'));
  assert.equal(left, []);
  await clock.runAsync(() => left.length === 2);
  assert.equal(left, ['request', 'question']);
  assert.is(pacing.behind(), null);
});

test('pacing - whatever the times, all leave in order, within a beat', async () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const random = seededRandom(seed);
    const times: number[] = [];
    for (let at = 0; times.length < 300; at += random.integer(0, random.integer(0, 3) === 0 ? 30 : 1)) times.push(at);
    const left = await leaving(times);
    const requests = left.map(({ request }) => request);
    assert.equal(
      requests,
      requests.toSorted((one, other) => one - other),
      `seed ${seed}`,
    );
    for (const { cameAt, at } of left) assert.ok(at >= cameAt && at - cameAt <= BEAT_MS, `seed ${seed}`);
  }
});

test.run();
