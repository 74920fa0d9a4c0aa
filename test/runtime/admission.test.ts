// Area: gateway. A conductor shard is asked for no more builds than it takes in good time; the others wait in line, in
// order, and whoever has waited for too long is told when to come back.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { aggregatesOf } from '../../runtime/aggregates.ts';
import type { Bus, BusMessage } from '../../runtime/bus/bus.ts';
import { decode, encode } from '../../runtime/codec.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import { Admission } from '../../runtime/gateway/admission.ts';
import type { Asking } from '../../runtime/gateway/asking.ts';
import { gatewayOf } from '../../runtime/gateway/gateway.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
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
  assert.equal(admitted, names(0, 512));
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
  join(513);
  over('r0');
  join(1);
  await pass(1);
  assert.is(admitted.at(-1), 'r512');
  over('r1');
  await pass(1);
  assert.equal(admitted.slice(-2), ['r512', 'r513']);
});

test('admission - what is asked about a build that waits, waits for it, and for no other', async () => {
  const { admission, join, over, pass } = entrance();
  join(514);
  assert.is(admission.behind('r0'), null);
  let isBehind = true;
  void admission.behind('r513')?.then(() => {
    isBehind = false;
  });
  over('r0');
  await pass(1);
  assert.ok(isBehind);
  over('r1');
  await pass(1);
  assert.not(isBehind);
  assert.is(admission.behind('r513'), null);
});

test('admission - while the shard does not answer, some are admitted each second, and who has waited for eight is told to come back', async () => {
  const { admitted, refused, join, pass } = entrance();
  join(6_000);
  await pass(1_000);
  assert.is(admitted.length, 1_024);
  await pass(30_000);
  assert.is(admitted.length + refused.length, 6_000);
  assert.ok(refused.length > 0);
  const [[request, error] = ['', undefined]] = refused;
  assert.is(request, `r${admitted.length}`);
  assert.ok(error instanceof CellwrightError);
  assert.equal([error.code, error.retryable], ['overloaded', true]);
  assert.ok(Number.isInteger(error.retryAfterMs) && (error.retryAfterMs as number) <= 10_000, error.message);
});

test('admission - when a hundred thousand wait the next is turned away at once', async () => {
  const { enter, join } = entrance();
  join(512 + 100_000);
  const { code } = (await failureOf(() => enter('one more'))) as CellwrightError;
  assert.is(code, 'overloaded');
});

test('admission - a copy of what is not answered yet is put to no conductor, and gets the same answer', async () => {
  const asked: { request: string; count: number; settle(error?: Error): void }[] = [];
  const answers: [string, unknown][] = [];
  const { endpoints } = gatewayOf({
    asking: {
      ask: (_: string, { request, count }: { request: string; count: number }) =>
        new Promise((resolve, reject) => {
          const settle = (error?: Error) => (error === undefined ? resolve({ instances: [request] }) : reject(error));
          asked.push({ request, count, settle });
        }),
    } as unknown as Asking,
    bus: {
      maxPayloadBytes: 1_000_000,
      publish: (to: string, data: Uint8Array) => answers.push([to, decode(data)]),
    } as unknown as Bus,
    aggregates: aggregatesOf(),
    subjects: subjectsOf('cw'),
    clock: systemClock(),
    conductorShards: 1,
    isInMemory: true,
    onError: (error) => assert.unreachable(String(error)),
  });
  const build = endpoints.find(({ name }) => name === 'build');
  const bring = (reply: string, request: object) =>
    build?.handler({ subject: 'cw.api.build', reply, headers: {}, data: encode(request) } as BusMessage);
  const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
  const web = { id: 'web', resources: { VCPU: 1 } };
  bring('first', web);
  bring('copy', web);
  bring('other', { ...web, count: 2 });
  await settled();
  assert.equal(
    asked.map(({ request, count }) => [request, count]),
    [
      ['web', 1],
      ['web', 2],
    ],
  );
  asked[0]?.settle();
  asked[1]?.settle(new CellwrightError('already-exists', 'it exists'));
  await settled();
  const accepted = { request: 'web', instances: ['web'] };
  assert.equal(answers.slice(0, 2).toSorted(), [
    ['copy', accepted],
    ['first', accepted],
  ]);
  assert.match(JSON.stringify(answers[2]), /already-exists/);
  bring('later', web);
  await settled();
  assert.is(asked.length, 3, 'what was answered is asked for again');
});

test.run();
