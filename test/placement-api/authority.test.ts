// Area: Placement API. How placement is asked: what changes nothing is put again until it is answered, what changes
// something only where nobody has heard it.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { encode } from '../../runtime/codec.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import { decodeFrame } from '../../runtime/frames.ts';
import { authorityOf } from '../../runtime/placement-api/authority.ts';
import { outboxInMemory } from '../support/outbox.ts';
import { failureOf, settled } from '../support/until.ts';

const test = suite('Placement API - asking placement');
const SHARD = 'placement/0';

function rig() {
  const { clock, server, subjects, bus, onError, outbox } = outboxInMemory();
  const closed = () => new CellwrightError('closed', 'closed');
  /** When something was put, heard or not. */
  const sent: number[] = [];
  const noting: typeof outbox = {
    ...outbox,
    send(...told) {
      sent.push(clock.now());
      outbox.send(...told);
    },
  };
  const authority = authorityOf({
    name: 'a',
    bus,
    clock,
    outbox: noting,
    subjects,
    timeoutMs: 10_000,
    closed,
    onError,
  });
  const heard: string[] = [];
  const put: { type: string; ask?: number; again?: number }[] = [];

  /** Serves the shard from now on, until what it answers is called; `take` is handed what says something to whoever put the `nth` question. */
  function hear(take: (nth: number, say: (...answers: readonly object[]) => void) => void): () => void {
    const own = server.connect();
    const { unsubscribe } = own.subscribe(subjects.of(SHARD), ({ data }) => {
      for (const { from, messages } of decodeFrame(data, own.maxPayloadBytes)) {
        for (const { type, ...more } of messages) {
          heard.push(type);
          put.push({ type, ...more });
          const { ask } = more as unknown as { ask: number };
          take(heard.length, (...answers) => {
            const messages = answers.map((answer) => ({ ...answer, ask }));
            own.publish(subjects.of(from), encode([{ from: SHARD, messages }]));
          });
        }
      }
    });
    return unsubscribe;
  }

  /** The same, and answers each question in parts, of those it is put the `nth` time only these. */
  function serve(partsOf: (nth: number) => readonly (readonly [part: number, text: string])[]): void {
    hear((nth, say) =>
      say(...partsOf(nth).map(([part, text]) => ({ type: 'placement-answer', part, parts: 2, text }))),
    );
  }

  return { clock, authority, heard, put, sent, hear, serve };
}

const WHOLE = [
  [0, '{"ok":'],
  [1, '[]}'],
] as const;

test('what only reads is answered by who serves the shard next, and a change that may have been made is not made twice', async () => {
  const { clock, authority, heard, hear } = rig();
  let isAway = true;
  hear((_nth, say) => {
    if (!isAway) say({ type: 'placement-answer', part: 0, parts: 1, text: '{"ok":[]}' });
  });
  const read = authority.ask({ type: 'classes-list' });
  const changed = failureOf(() => authority.ask({ type: 'class-put', name: 'CUSTOM_A' }));
  clock.runUntilIdle({ untilMs: 500 });
  isAway = false;
  assert.equal(await settled(clock, read), { ok: [] });
  assert.is((await settled(clock, changed)).code, 'timeout');
  assert.equal(heard, ['classes-list', 'class-put', 'classes-list']);
  assert.is(clock.pending, 0);
  authority.stop();
});

test('what may take long says that it is put again, so that it is not looked for twice; what is short need not', async () => {
  const { clock, authority, put, hear } = rig();
  hear((nth, say) => {
    if (nth === 5) say(...WHOLE.map(([part, text]) => ({ type: 'placement-answer', part, parts: 2, text })));
  });
  const nothing = { memberOf: [], notMemberOf: [], required: [], forbidden: [], resources: {} };
  const found = authority.ask({ type: 'providers-find', ...nothing });
  const short = failureOf(() => authority.ask({ type: 'classes-list' }));
  assert.equal(await settled(clock, found), { ok: [] });
  await settled(clock, short);
  const [first] = put.filter(({ type }) => type === 'providers-find');
  const ofKind = (type: string) => put.filter((one) => one.type === type).map(({ again }) => again);
  assert.equal(ofKind('providers-find'), [undefined, first?.ask, first?.ask]);
  assert.equal(ofKind('classes-list'), Array(4).fill(undefined), 'more and more seldom, in ten seconds');
  assert.is(clock.pending, 0);
  authority.stop();
});

test('a change that nobody has heard is made by who serves the shard next, and none that was heard with it', async () => {
  const { clock, authority, heard, hear } = rig();
  let leave = hear(() => {});
  const lost = failureOf(() => authority.ask({ type: 'class-put', name: 'CUSTOM_LOST' }));
  clock.runUntilIdle({ untilMs: 100 });
  leave();
  const read = authority.ask({ type: 'classes-list' });
  const changed = authority.ask({ type: 'class-put', name: 'CUSTOM_A' });
  const other = authority.ask({ type: 'class-put', name: 'CUSTOM_B' });
  clock.runUntilIdle({ untilMs: 400 });
  assert.equal(heard.splice(0), ['class-put']);
  leave = hear((_nth, say) => say({ type: 'placement-answer', part: 0, parts: 1, text: '{"ok":[]}' }));
  const askedAt = clock.now();
  assert.equal(await settled(clock, Promise.all([read, changed, other])), [{ ok: [] }, { ok: [] }, { ok: [] }]);
  assert.ok(clock.now() - askedAt <= 200, `${clock.now() - askedAt} ms`);
  assert.equal(heard.sort(), ['class-put', 'class-put', 'classes-list']);
  assert.is((await settled(clock, lost)).code, 'timeout');
  assert.equal([heard.length, clock.pending], [3, 0]);
  leave();
  authority.stop();
});

test('a change that nobody hears is given up in time, and put to nobody from then on', async () => {
  const { clock, authority, heard, serve } = rig();
  const changed = failureOf(() => authority.ask({ type: 'class-put', name: 'CUSTOM_A' }));
  assert.is((await settled(clock, changed)).code, 'timeout');
  serve(() => WHOLE);
  assert.is(clock.pending, 0);
  assert.equal(heard, []);
  authority.stop();
});

test('what nobody hears is put again soon, then more seldom; what is heard and not answered, after a second and later', async () => {
  const { clock, authority, heard, hear, sent } = rig();
  const changed = failureOf(() => authority.ask({ type: 'class-put', name: 'CUSTOM_A' }));
  assert.is((await settled(clock, changed)).code, 'timeout');
  assert.ok(sent.length > 50 && sent.length < 60, `${sent.length} times`);
  const read = failureOf(() => authority.ask({ type: 'classes-list' }));
  clock.runUntilIdle({ untilMs: clock.now() + 400 });
  hear(() => {});
  sent.length = 0;
  assert.is((await settled(clock, read)).code, 'timeout');
  assert.equal(
    sent.map((at) => at - (sent[0] as number)),
    [0, 1_000, 3_000, 7_000],
  );
  assert.is(heard.length, 4);
  authority.stop();
});

test('a change that is turned away by whoever hears it first is refused at once', async () => {
  const { clock, authority, hear } = rig();
  const changed = failureOf(() => authority.ask({ type: 'class-put', name: 'CUSTOM_A' }));
  clock.runUntilIdle({ untilMs: 400 });
  hear((_nth, say) => say({ type: 'declined', code: 'overloaded', reason: 'full' }));
  assert.is((await settled(clock, changed)).code, 'overloaded');
  assert.ok(clock.now() <= 600, `${clock.now()} ms`);
  authority.stop();
});

test('a question waits for no longer than its asker does, and none is put once asking has stopped', async () => {
  const { clock, authority, heard, hear } = rig();
  hear(() => {});
  const hasty = failureOf(() => authority.ask({ type: 'classes-list' }, 0, 300));
  assert.is((await settled(clock, hasty)).code, 'timeout');
  assert.is(clock.now(), 300);
  authority.stop();
  const late = failureOf(() => authority.ask({ type: 'classes-list' }));
  assert.is((await settled(clock, late)).code, 'closed');
  assert.equal([heard.length, clock.pending], [1, 0]);
});

test('a change that is to be put again is refused when asking stops, and put to nobody from then on', async () => {
  const { clock, authority, heard, serve } = rig();
  const changed = failureOf(() => authority.ask({ type: 'class-put', name: 'CUSTOM_A' }));
  clock.runUntilIdle({ untilMs: 200 });
  authority.stop();
  assert.is(clock.pending, 0);
  assert.is((await settled(clock, changed)).code, 'closed');
  serve(() => WHOLE);
  clock.runUntilIdle({ untilMs: 20_000 });
  assert.equal(heard, []);
});

test('an answer that was broken off is not put together with the one to the same question asked again', async () => {
  const { clock, authority, heard, serve } = rig();
  serve((nth) => (nth === 1 ? [[0, '{"ok":["']] : WHOLE));
  assert.equal(await settled(clock, authority.ask({ type: 'classes-list' })), { ok: [] });
  assert.equal([heard.length, clock.pending], [2, 0]);
  authority.stop();
});

test('a question that waits in line is answered, though the same asked again is turned away there', async () => {
  const { clock, authority, heard, hear } = rig();
  hear((nth, say) => {
    if (nth > 1) return say({ type: 'declined', code: 'overloaded', reason: 'full' });
    clock.after(1_500, () => say({ type: 'placement-answer', part: 0, parts: 1, text: '{"ok":[]}' }));
  });
  assert.equal(await settled(clock, authority.ask({ type: 'classes-list' })), { ok: [] });
  assert.equal([heard.length, clock.pending], [2, 0]);
  authority.stop();
});

test('a question that is turned away each time is refused as that, or at last for the time that it took', async () => {
  for (const [lost, code] of [
    [0, 'overloaded'],
    [1, 'timeout'],
  ] as const) {
    const { clock, authority, hear } = rig();
    hear((nth, say) => {
      if (nth > lost) say({ type: 'declined', code: 'overloaded', reason: 'full' });
    });
    const fault = await settled(
      clock,
      failureOf(() => authority.ask({ type: 'classes-list' })),
    );
    assert.equal([fault.code, clock.pending], [code, 0]);
    authority.stop();
  }
});

test.run();
