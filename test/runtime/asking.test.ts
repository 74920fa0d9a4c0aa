// Area: asking. A question finds its actor though the owner changes: it is put again while nobody listens and when its
// hearer dies, one answer counts, and when the time is up the asker is told who has no owner.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { SCHEDULERS } from '../../actors/routing.ts';
import { type MemoryBus, memoryServer } from '../../runtime/bus/memory.ts';
import { encode } from '../../runtime/codec.ts';
import type { CellwrightError } from '../../runtime/errors.ts';
import { decodeFrame } from '../../runtime/frames.ts';
import { asking } from '../../runtime/gateway/asking.ts';
import { type Outbox, outboxOf } from '../../runtime/outbox.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { outboxInMemory } from '../support/outbox.ts';
import { failureOf, settled } from '../support/until.ts';

const test = suite('asking');
const CELL = 'cell/c1';
const LIMIT_MS = 8_000;

function rig(heldUpBy: (to: string) => string | undefined = () => undefined) {
  const { clock, server, subjects, bus, onError, outbox } = outboxInMemory();
  const asker = asking({ name: 'n1', bus, clock, outbox, subjects, timeoutMs: LIMIT_MS, heldUpBy, onError });
  const heard: { readonly ask: number; readonly at: number }[] = [];

  function say(own: MemoryBus, message: object, to = asker.address, from = CELL): void {
    own.publish(subjects.of(to), encode([{ from, messages: [message] }]));
  }

  /** Serves the cell; `answers` it, or only hears. */
  function serve(answers: boolean): MemoryBus {
    const own = server.connect();
    own.subscribe(subjects.of(CELL), ({ data }) => {
      for (const { from, messages } of decodeFrame(data, own.maxPayloadBytes)) {
        for (const message of messages) {
          const { ask } = message as unknown as { ask: number };
          heard.push({ ask, at: clock.now() });
          if (answers) say(own, { type: 'shown', ask, view: null }, from);
        }
      }
    });
    return own;
  }

  /** A scheduler, asked as one of the group and by its name; it answers, or only hears. */
  function schedule(name: string, answers: boolean): { readonly heard: string[]; kill(): void } {
    const own = server.connect();
    const asked: string[] = [];
    const address = `${SCHEDULERS}/${name}`;
    for (const [served, queue] of [
      [SCHEDULERS, { queue: 'schedulers' }],
      [address, {}],
    ] as const) {
      const hear = ({ data }: { readonly data: Uint8Array }) => {
        for (const { from, messages } of decodeFrame(data, own.maxPayloadBytes)) {
          for (const message of messages) {
            asked.push(served);
            const { ask } = message as unknown as { ask: number };
            if (answers) say(own, { type: 'cells', ask, cells: [] }, from, address);
          }
        }
      };
      own.subscribe(subjects.of(served), hear, queue);
    }
    return { heard: asked, kill: () => own.kill() };
  }

  const done = <T>(work: Promise<T>) => settled(clock, work);

  return {
    clock,
    asker,
    serve,
    schedule,
    say,
    done,
    heard,
    ask: () => asker.ask(CELL, { type: 'show', instance: 'i1' }, 'shown'),
    askSchedulers: () => asker.ask(SCHEDULERS, { type: 'list-cells' }, 'cells'),
  };
}

test('asking - a question that is answered is put once, and leaves no timer', async () => {
  const { ask, serve, done, heard, clock } = rig();
  serve(true);
  assert.is((await done(ask())).view, null);
  assert.is(heard.length, 1);
  clock.runUntilIdle();
  assert.is(clock.now(), 0);
});

test('asking - while nobody serves the actor the question waits, and reaches the next owner at once', async () => {
  const { ask, serve, done, heard, clock } = rig();
  const asked = ask();
  asked.catch(() => undefined);
  clock.runUntilIdle({ untilMs: 3_000 });
  const from = clock.now();
  serve(true);
  await done(asked);
  assert.is(heard.length, 1);
  assert.ok(clock.now() - from <= 200, `${clock.now() - from} ms`);
});

test('asking - a question whose hearer died is put to the next owner', async () => {
  const { ask, serve, done, heard, clock } = rig();
  const dying = serve(false);
  const asked = ask();
  asked.catch(() => undefined);
  clock.runUntilIdle({ untilMs: 100 });
  assert.is(heard.length, 1);
  dying.kill();
  clock.runUntilIdle({ untilMs: 4_000 });
  serve(true);
  await done(asked);
  assert.is(heard.length, 2);
});

test('asking - a question is not put again while its hearer says that it is at it, and soon after it has died', async () => {
  const { ask, serve, done, heard, clock, say } = rig();
  const dying = serve(false);
  const asked = ask();
  asked.catch(() => undefined);
  for (let at = 400; at <= 3_600; at += 400) {
    clock.advanceTo(at);
    say(dying, { type: 'answering', ask: heard.at(-1)?.ask ?? 0 });
  }
  clock.advanceTo(4_000);
  assert.is(heard.length, 1);
  dying.kill();
  serve(true);
  await done(asked);
  assert.equal([heard.length, heard[1]?.at], [2, 4_600]);
});

test('asking - what a scheduler of the queue group is asked in vain, the one that was heard last is asked next', async () => {
  const { askSchedulers, schedule, done, clock } = rig();
  const alive = schedule('d', true);
  await done(askSchedulers());
  const silent = ['a', 'b', 'c'].map((name) => schedule(name, false));
  for (let question = 0; question < 8; question += 1) {
    const from = clock.now();
    await done(askSchedulers());
    assert.ok(clock.now() - from <= 1_000, `${clock.now() - from} ms`);
  }
  assert.ok(silent.flatMap(({ heard }) => heard).length >= 3, 'they were dealt to');
  assert.ok(alive.heard.includes('scheduler/d'), 'by its name');
});

test('asking - when the scheduler that was heard last has died, the next of the queue group is asked soon', async () => {
  const { askSchedulers, schedule, done, clock } = rig();
  const dying = schedule('a', true);
  await done(askSchedulers());
  dying.kill();
  const silent = schedule('b', false);
  const asked = askSchedulers();
  asked.catch(() => undefined);
  clock.runUntilIdle({ untilMs: clock.now() + 500 });
  assert.is(silent.heard.length, 1);
  silent.kill();
  schedule('c', true);
  await done(asked);
  assert.ok(clock.now() <= 1_500, `${clock.now()} ms`);
});

test('asking - when nobody serves the actor for all the time, the error names it and may be tried again', async () => {
  const { ask, done, clock } = rig();
  const { code, message, retryable } = (await failureOf(() => done(ask()))) as CellwrightError;
  assert.equal([code, retryable], ['no-owner', true]);
  assert.match(message, /'cell\/c1'/);
  assert.is(clock.now(), LIMIT_MS);
});

test('asking - when the owner hears and is silent, the outcome is unknown, and it was asked a few times only', async () => {
  const { ask, serve, done, heard } = rig();
  serve(false);
  assert.is(((await failureOf(() => done(ask()))) as CellwrightError).code, 'timeout');
  assert.ok(heard.length >= 2 && heard.length <= 4, `${heard.length} times`);
});

test('asking - where a question that nobody heard at first is heard at last, and not answered, the outcome is unknown', async () => {
  const { ask, serve, done, heard, clock } = rig();
  const asked = ask();
  asked.catch(() => undefined);
  clock.runUntilIdle({ untilMs: 3_000 });
  serve(false);
  clock.runUntilIdle({ untilMs: 6_000 });
  assert.is(heard.length, 2);
  assert.is(((await failureOf(() => done(asked))) as CellwrightError).code, 'timeout');
});

test('asking - nor is one known to be unheard whose hearer said that it was at it, and died', async () => {
  const { ask, serve, done, heard, clock, say } = rig();
  const asked = ask();
  asked.catch(() => undefined);
  clock.runUntilIdle({ untilMs: 3_000 });
  const dying = serve(false);
  clock.runUntilIdle({ untilMs: 3_500 });
  for (let at = 4_000; at <= 7_900; at += 300) {
    clock.advanceTo(at);
    say(dying, { type: 'answering', ask: heard.at(-1)?.ask ?? 0 });
  }
  dying.kill();
  assert.is(((await failureOf(() => done(asked))) as CellwrightError).code, 'timeout');
  assert.is(heard.length, 1);
});

test('asking - when the time is up, a question is not put any more, and leaves no timer', async () => {
  const { ask, serve, done, heard, clock } = rig();
  serve(false);
  await failureOf(() => done(ask()));
  const asked = heard.length;
  clock.runUntilIdle({ untilMs: 10 * LIMIT_MS });
  assert.equal([heard.length, clock.now()], [asked, LIMIT_MS]);
});

test('asking - when it stops, whoever waits is told so, and nothing is put any more', async () => {
  const { ask, asker, serve, done, heard, clock } = rig();
  serve(false);
  const asked = ask();
  asked.catch(() => undefined);
  clock.runUntilIdle({ untilMs: 100 });
  asker.stop();
  const at = clock.now();
  for (const waits of [() => asked, ask]) {
    const { code, retryable } = (await failureOf(() => done(waits()))) as CellwrightError;
    assert.equal([code, retryable], ['closed', true]);
  }
  clock.runUntilIdle();
  assert.equal([heard.length, clock.now()], [1, at]);
});

test('asking - it is told why the owner is silent, where that is known here', async () => {
  const { ask, serve, done } = rig((to) => `the journal of ${to} is full`);
  serve(false);
  const { code, message, retryable } = (await failureOf(() => done(ask()))) as CellwrightError;
  assert.equal([code, retryable], ['timeout', true]);
  assert.match(
    message,
    /'cell\/c1' did not answer within 8000 ms, as the journal of cell\/c1 is full; the outcome is unknown$/,
  );
});

test('asking - many questions that nobody hears cost few messages', async () => {
  const { asker, done, ask, serve, heard, clock } = rig();
  const asked = Array.from({ length: 500 }, ask);
  for (const one of asked) one.catch(() => undefined);
  clock.runUntilIdle({ untilMs: 5_000 });
  serve(true);
  await done(Promise.all(asked));
  assert.is(heard.length, 500, 'each is heard once');
  asker.stop();
});

/** An outbox that sends nothing, and notes the numbers of what is asked. */
function notingAsks() {
  const asks: number[] = [];
  const outbox: Outbox = {
    send: (_from, _to, message) => void asks.push((message as { ask: number }).ask),
    publish() {},
    setEpoch() {},
    local() {},
  };
  return { asks, outbox };
}

test('asking - what an older version does not know is no fault of whoever asks, and is worth another try later', async () => {
  const { ask, serve, done, heard, clock, say } = rig();
  const own = serve(false);
  const asked = ask();
  asked.catch(() => undefined);
  clock.runUntilIdle({ untilMs: 100 });
  const reason = 'there is no message of type "show" here';
  say(own, { type: 'declined', ask: heard[0]?.ask ?? 0, code: 'malformed', field: 'type', reason });
  const { code, field, retryable, message } = (await failureOf(() => done(asked))) as CellwrightError;
  assert.equal([code, field, retryable], ['unknown-version', undefined, true]);
  assert.is(
    message,
    "an older version serves 'cell/c1' and does not know what it is asked; ask again when it is replaced",
  );
});

test('asking - an answer is heard, though what came along with it is none', async () => {
  const clock = systemClock();
  const bus = memoryServer({ clock }).connect();
  const subjects = subjectsOf();
  const errors: string[] = [];
  const onError = (error: unknown) => errors.push((error as Error).message);
  const { asks, outbox } = notingAsks();
  const asker = asking({ name: 'test', bus, clock, outbox, subjects, timeoutMs: 5_000, onError });
  try {
    const shown = asker.ask('cell/c1', { type: 'show', instance: 'i1' }, 'shown');
    const declined = failureOf(() => asker.ask('cell/c1', { type: 'show', instance: 'i2' }, 'shown'));
    const [first = 0, second = 0] = asks;
    const messages = [
      { type: 'released', consumer: 'i1', deleted: true },
      { type: 'shown', ask: first, view: null },
      { type: 'shown', ask: 'two', view: null },
      { type: 'declined', ask: second, code: 'overloaded', reason: 'full', retryAfterMs: 70 },
    ];
    bus.publish(subjects.of(asker.address), encode([{ from: 'cell/c1', messages }]));
    assert.equal(await shown, { type: 'shown', ask: first, view: null });
    const { code, retryAfterMs } = (await declined) as { code?: string; retryAfterMs?: number };
    assert.equal([code, retryAfterMs], ['overloaded', 70]);
    assert.is(errors.length, 2, errors.join('; '));
  } finally {
    asker.stop();
    await bus.close();
  }
});

test('asking - an answer that is late, to an earlier life of the same name, is none of the new one', async () => {
  const clock = virtualClock();
  const bus = memoryServer({ clock }).connect();
  const subjects = subjectsOf();
  const { asks, outbox } = notingAsks();
  for (let life = 0; life < 3; life += 1) {
    const asker = asking({ name: 'test', bus, clock, outbox, subjects, timeoutMs: 5_000, onError() {} });
    for (let n = 0; n < 100; n += 1) asker.ask(CELL, { type: 'show', instance: 'i1' }, 'shown').catch(() => {});
    asker.stop();
    clock.advanceTo(clock.now() + 1);
  }
  assert.is(new Set(asks).size, 300);
});

test('asking - that nobody listens for one is no reason to look at all others that wait', async () => {
  const { clock, server, subjects: real, bus, onError } = outboxInMemory();
  let looks = 0;
  const unheard = (asker: string, to: string) => {
    looks += 1;
    return real.unheard(asker, to);
  };
  const subjects = { ...real, unheard };
  const outbox = outboxOf({ bus, clock, subjects, events: false, onError });
  const asker = asking({ name: 'n1', bus, clock, outbox, subjects, timeoutMs: LIMIT_MS, onError });
  const ask = (to: string) => asker.ask(to, { type: 'show', instance: 'i' }, 'shown').catch(({ code }) => code);
  server.connect().subscribe(real.of(CELL), () => {});
  const others = Array.from({ length: 200 }, () => ask(CELL));
  clock.advanceTo(clock.now() + 500);
  looks = 0;
  const away = ask('cell/away');
  clock.advanceTo(clock.now() + 400);
  assert.ok(looks > 3, 'it is not put again');
  assert.ok(looks < 20, `looked ${looks} times`);
  asker.stop();
  assert.equal(new Set(await Promise.all([away, ...others])), new Set(['closed']));
});

test.run();
