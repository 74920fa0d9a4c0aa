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

const test = suite('admission');

function entrance() {
  const clock = virtualClock();
  const admission = new Admission(clock, 'conductor/0');
  const admitted: string[] = [];
  const refused: [string, CellwrightError][] = [];
  let joined = 0;
  const join = (count: number) => {
    for (const end = joined + count; joined < end; joined += 1) {
      const request = `r${joined}`;
      const inLine = admission.join(request);
      if (inLine === null) admitted.push(request);
      else
        inLine.then(
          () => admitted.push(request),
          (error) => refused.push([request, error]),
        );
    }
  };
  const pass = async (ms: number) => {
    let isOver = false;
    clock.after(ms, () => {
      isOver = true;
    });
    await clock.runAsync(() => isOver);
  };
  return { clock, admission, admitted, refused, join, pass };
}

const names = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, at) => `r${from + at}`);

test('admission - who comes while few are under way does not wait; the others go on in order as those are over', async () => {
  const { admission, admitted, refused, join, pass } = entrance();
  join(1_000);
  assert.equal(admitted, names(0, 512));
  for (let over = 0; over < 1_000; over += 1) {
    await pass(1);
    assert.ok(over < admitted.length, 'whatever is admitted can be over, and whoever waits is admitted then');
    admission.over(`r${over}`);
  }
  await pass(1);
  assert.equal(admitted, names(0, 1_000));
  assert.equal(refused, []);
});

test('admission - nobody overtakes those who wait', async () => {
  const { admission, admitted, join, pass } = entrance();
  join(513);
  admission.over('r0');
  join(1);
  await pass(1);
  assert.is(admitted.at(-1), 'r512');
  admission.over('r1');
  await pass(1);
  assert.equal(admitted.slice(-2), ['r512', 'r513']);
});

test('admission - what is asked about a build that waits, waits for it, and for no other', async () => {
  const { admission, join, pass } = entrance();
  join(514);
  assert.is(admission.behind('r0'), null);
  let isBehind = true;
  void admission.behind('r513')?.then(() => {
    isBehind = false;
  });
  admission.over('r0');
  await pass(1);
  assert.ok(isBehind);
  admission.over('r1');
  await pass(1);
  assert.not(isBehind);
  assert.is(admission.behind('r513'), null);
});

test('admission - while the shard does not answer, some are admitted each second, and who has waited for ten is told to come back', async () => {
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

test('admission - when a hundred thousand wait the next is turned away at once', () => {
  const { admission, join } = entrance();
  join(512 + 100_000);
  assert.throws(
    () => admission.join('one more'),
    (error: unknown) => error instanceof CellwrightError && error.code === 'overloaded',
  );
});

test('admission - a copy of a build that is not answered yet is put to no conductor, and gets the same answer', async () => {
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
