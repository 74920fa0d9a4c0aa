// Area: gateway. A conductor shard is asked for no more builds than it takes in good time; the others wait in line, in
// order, and whoever has waited for too long is told when to come back.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { LEAST } from '../../actors/asking-window.ts';
import { aggregatesOf } from '../../runtime/aggregates.ts';
import type { Bus, BusMessage } from '../../runtime/bus/bus.ts';
import { decode, encode } from '../../runtime/codec.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import { Admission } from '../../runtime/gateway/admission.ts';
import type { Asking } from '../../runtime/gateway/asking.ts';
import { gatewayOf } from '../../runtime/gateway/gateway.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { failureOf } from '../support/until.ts';

const test = suite('admission');

function entrance() {
  const clock = virtualClock();
  const admission = new Admission(clock, 'conductor/0');
  const admitted: string[] = [];
  const refused: [string, CellwrightError][] = [];
  const ends = new Map<string, () => void>();
  let joined = 0;
  const enter = (request: string) =>
    admission.enter(request, () => {
      admitted.push(request);
      return new Promise<void>((resolve) => ends.set(request, resolve));
    });
  const join = (count: number) => {
    for (const end = joined + count; joined < end; joined += 1) {
      const request = `r${joined}`;
      enter(request).catch((error) => refused.push([request, error]));
    }
  };
  /** The shard has answered what a request asked. */
  const over = (request: string) => ends.get(request)?.();
  const pass = async (ms: number) => {
    let isOver = false;
    clock.after(ms, () => {
      isOver = true;
    });
    await clock.runAsync(() => isOver);
  };
  return { admission, admitted, refused, enter, join, over, pass };
}

const names = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, at) => `r${from + at}`);

test('admission - who comes while few are under way does not wait; the others go on in order as those are over', async () => {
  const { admitted, refused, join, over, pass } = entrance();
  join(1_000);
  assert.equal(admitted, names(0, LEAST));
  for (let next = 0; next < 1_000; next += 1) {
    await pass(1);
    assert.ok(next < admitted.length, 'whatever is admitted can be over, and whoever waits is admitted then');
    over(`r${next}`);
  }
  await pass(1);
  assert.equal(admitted, names(0, 1_000));
  assert.equal(refused, []);
});

test('admission - nobody overtakes those who wait', async () => {
  const { admitted, join, over, pass } = entrance();
  join(LEAST + 3);
  over('r0');
  join(1);
  await pass(1);
  // One in the place of the first, and one more as that was answered in time.
  assert.equal(admitted, names(0, LEAST + 2));
  over('r1');
  await pass(1);
  assert.equal(admitted, names(0, LEAST + 4));
});

test('admission - what is asked about a build that waits, waits for it, and for no other', async () => {
  const { admission, join, over, pass } = entrance();
  join(LEAST + 3);
  const last = `r${LEAST + 2}`;
  assert.is(admission.behind('r0'), null);
  let isBehind = true;
  void admission.behind(last)?.then(() => {
    isBehind = false;
  });
  over('r0');
  await pass(1);
  assert.ok(isBehind);
  over('r1');
  await pass(1);
  assert.not(isBehind);
  assert.is(admission.behind(last), null);
});

test('admission - while the shard does not answer, some are admitted each second, and who has waited for eight is told to come back', async () => {
  const { admitted, refused, join, pass } = entrance();
  join(6_000);
  await pass(1_000);
  assert.is(admitted.length, 2 * LEAST);
  await pass(30_000);
  assert.is(admitted.length + refused.length, 6_000);
  assert.ok(refused.length > 0);
  for (const [, { retryAfterMs = 0 }] of refused) assert.ok(retryAfterMs >= 1_000, `${retryAfterMs} ms`);
  const [[request, error] = ['', undefined]] = refused;
  assert.is(request, `r${admitted.length}`);
  assert.ok(error instanceof CellwrightError);
  assert.equal([error.code, error.retryable], ['overloaded', true]);
  assert.ok(Number.isInteger(error.retryAfterMs) && (error.retryAfterMs as number) <= 10_000, error.message);
});

test('admission - when a hundred thousand wait the next is turned away at once', async () => {
  const { enter, join } = entrance();
  join(LEAST + 100_000);
  const { code } = (await failureOf(() => enter('one more'))) as CellwrightError;
  assert.is(code, 'overloaded');
});

interface Question {
  readonly type: string;
  readonly request?: string;
  readonly instance?: string;
  readonly count?: number;
}

/** A gateway, and what it asks; each question is settled by the test. */
function gateway({ isInMemory = true, onError = (error: unknown): void => assert.unreachable(String(error)) } = {}) {
  const clock = virtualClock();
  const asked: { question: Question; settle(answer: object): void }[] = [];
  const answers: [string, unknown][] = [];
  const ask = (_: string, question: Question) =>
    new Promise((resolve, reject) => {
      const settle = (answer: object) => (answer instanceof Error ? reject(answer) : resolve(answer));
      asked.push({ question, settle });
    });
  const { endpoints, stop, answered } = gatewayOf({
    asking: { ask } as unknown as Asking,
    bus: {
      maxPayloadBytes: 1_000_000,
      publish: (to: string, data: Uint8Array) => answers.push([to, decode(data)]),
    } as unknown as Bus,
    aggregates: aggregatesOf(),
    subjects: subjectsOf('cw'),
    clock,
    conductorShards: 1,
    isInMemory,
    onError,
  });
  const bring = (verb: string, reply: string, request: object) =>
    endpoints
      .find(({ name }) => name === verb)
      ?.handler({ subject: `cw.api.${verb}`, reply, headers: {}, data: encode(request) } as BusMessage);
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  return { clock, asked, answers, bring, settled, stop, answered };
}

const WEB = { id: 'web', resources: { VCPU: 1 } };
const notFound = new CellwrightError('not-found', 'there is none');

test('admission - a copy of what is not answered yet is put to no conductor, and gets the same answer', async () => {
  const { asked, answers, bring, settled } = gateway();
  bring('build', 'first', WEB);
  bring('build', 'copy', WEB);
  bring('build', 'other', { ...WEB, count: 2 });
  await settled();
  assert.equal(
    asked.map(({ question: { request, count } }) => [request, count]),
    [
      ['web', 1],
      ['web', 2],
    ],
  );
  asked[0]?.settle({ instances: ['web'] });
  asked[1]?.settle(new CellwrightError('already-exists', 'it exists'));
  await settled();
  const accepted = { request: 'web', instances: ['web'] };
  assert.equal(answers.slice(0, 2).toSorted(), [
    ['copy', accepted],
    ['first', accepted],
  ]);
  assert.match(JSON.stringify(answers[2]), /already-exists/);
  bring('build', 'later', WEB);
  await settled();
  assert.is(asked.length, 3, 'what was answered is asked for again');
});

test('admission - what comes one after the other is put one after the other, and no deletion shares the answer of one from before the build', async () => {
  for (const [build, instance] of [
    [WEB, 'web'],
    [{ ...WEB, count: 2 }, 'web-1'],
  ] as const) {
    const { asked, answers, bring, settled } = gateway();
    bring('delete', 'early', { id: instance });
    bring('build', 'build', build);
    await settled();
    assert.equal(
      asked.map(({ question: { type } }) => type),
      ['delete', 'build'],
    );
    bring('delete', 'late', { id: instance });
    await settled();
    assert.is(asked[2]?.question.type, 'delete');
    asked[0]?.settle(notFound);
    asked[2]?.settle({ state: 'deleting' });
    await settled();
    assert.equal(answers, [['late', { id: instance, state: 'deleting' }]]);
  }
});

/** What is asked about `web` when that sets out together with others, at a beat of many requests. */
async function askedAtBeat(bringTwo: (bring: ReturnType<typeof gateway>['bring']) => void): Promise<string[]> {
  const { clock, asked, bring } = gateway({ isInMemory: false });
  for (let beat = 0; beat < 3; beat += 1) {
    clock.after(beat * 10 + 1, () => {
      for (let one = 0; one < 20; one += 1) bring('build', 'other', { ...WEB, id: `o${beat}x${one}` });
      if (beat === 2) bringTwo(bring);
    });
  }
  const ofWeb = () => asked.filter(({ question }) => (question.instance ?? question.request) === 'web');
  await clock.runAsync(() => ofWeb().length === 2);
  return ofWeb().map(({ question: { type } }) => type);
}

test('admission - nor where requests set out together, at a beat', async () => {
  const asked = await askedAtBeat((bring) => {
    bring('delete', 'delete', { id: 'web' });
    bring('build', 'build', WEB);
  });
  assert.equal(asked, ['delete', 'build']);
});

test('admission - what is built after a deletion is no copy of what was built before it', async () => {
  for (const [build, instance] of [
    [WEB, 'web'],
    [{ ...WEB, count: 2 }, 'web-1'],
  ] as const) {
    const { asked, bring, settled } = gateway();
    bring('build', 'first', build);
    bring('delete', 'delete', { id: instance });
    bring('build', 'second', build);
    await settled();
    assert.equal(
      asked.map(({ question: { type } }) => type),
      ['build', 'delete', 'build'],
    );
  }
});

test('admission - a deletion behind a build that waits in line comes after it, and waits no longer than others', async () => {
  const { asked, bring, settled } = gateway();
  for (let request = 0; request < LEAST; request += 1) bring('build', `a${request}`, { ...WEB, id: `r${request}` });
  bring('build', 'build', WEB);
  bring('delete', 'delete', { id: 'web' });
  await settled();
  assert.is(asked.length, LEAST);
  asked[0]?.settle({ instances: ['r0'] });
  asked[1]?.settle({ instances: ['r1'] });
  await settled();
  assert.equal(
    asked.slice(LEAST).map(({ question }) => question.type),
    ['build', 'delete'],
  );
});

test('admission - who asks how a build is that waits in line is answered after it, and a dry run at once', async () => {
  const { asked, bring, settled } = gateway();
  for (let request = 0; request < LEAST; request += 1) bring('build', `a${request}`, { ...WEB, id: `r${request}` });
  bring('build', 'build', { ...WEB, count: 2 });
  bring('show', 'show', { id: 'web-1' });
  bring('fit', 'fit', WEB);
  await settled();
  const after = () => asked.slice(LEAST).map(({ question: { type } }) => type);
  assert.equal(after(), ['fit']);
  asked[0]?.settle({ instances: ['r0'] });
  await settled();
  assert.equal(after(), ['fit', 'build', 'show']);
});

test('admission - and of one that waits for others to set out with, after it too', async () => {
  const asked = await askedAtBeat((bring) => {
    bring('build', 'build', WEB);
    bring('show', 'show', { id: 'web' });
  });
  assert.equal(asked, ['build', 'show']);
});

test('admission - nor does it wait for a build and then for its turn, while ever more come and the shard does not answer', async () => {
  const { clock, asked, answers, bring } = gateway();
  for (let second = 0; second < 20; second += 1) {
    clock.after(second * 1_000, () => {
      for (let one = 0; one < 2_000; one += 1) bring('build', 'build', { ...WEB, id: `s${second}x${one}` });
    });
  }
  clock.after(10_500, () => bring('build', 'web', WEB));
  await clock.runAsync(() => clock.monotonic() >= 11_000);
  bring('delete', 'delete', { id: 'web' });
  const isOver = () =>
    answers.some(([to]) => to === 'delete') || asked.some(({ question }) => question.type === 'delete');
  await clock.runAsync(isOver);
  const tookMs = clock.monotonic() - 11_000;
  assert.ok(tookMs <= 9_000, `it was told after ${tookMs} ms`);
});

test('admission - nothing is done for whoever wants the answer where he may not be allowed to publish', async () => {
  const errors: string[] = [];
  const onError = (error: unknown) => void errors.push((error as Error).message);
  const { asked, answers, bring, settled } = gateway({ onError });
  for (const reply of ['cw.cell.c1.conductor', '$JS.API.STREAM.DELETE.x', 'a'.repeat(70_000)])
    bring('build', reply, WEB);
  await settled();
  assert.equal([asked.length, answers.length, errors.length], [0, 0, 3]);
  for (const error of errors)
    assert.match(error, /^the answer is wanted on '.{1,90}', which is no inbox: nothing was done$/);
  bring('build', 'cwx.inbox', WEB);
  await settled();
  assert.is(asked.length, 1);
});

test('admission - when the node stops, whoever waits in line is told so, and nobody is asked any more', async () => {
  const { asked, answers, bring, settled, stop, answered } = gateway();
  for (let request = 0; request < 2_000; request += 1) bring('build', `a${request}`, { ...WEB, id: `r${request}` });
  await settled();
  assert.is(asked.length, LEAST);
  stop();
  for (const { settle } of asked) settle(new CellwrightError('closed', 'the node is stopping'));
  await answered();
  assert.equal([asked.length, answers.length], [LEAST, 2_000]);
  assert.ok(answers.every(([, answer]) => (answer as { error: { code: string } }).error.code === 'closed'));
});

test.run();
