// Area: asking. What comes to the address of somebody who asks: answers, each to its question, and whatever else.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryServer } from '../../runtime/bus/memory.ts';
import { encodeFrame } from '../../runtime/frames.ts';
import { asking } from '../../runtime/gateway/asking.ts';
import type { Outbox } from '../../runtime/outbox.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { failureOf } from '../support/until.ts';

const test = suite('asking');

test('asking - an answer is heard, though what came along with it is none', async () => {
  const clock = systemClock();
  const bus = memoryServer({ clock }).connect();
  const subjects = subjectsOf();
  const errors: string[] = [];
  const onError = (error: unknown) => errors.push((error as Error).message);
  const outbox = { send() {}, publish() {}, local() {} } as Outbox;
  const asker = asking({ name: 'test', bus, clock, outbox, subjects, timeoutMs: 5_000, onError });
  try {
    const shown = asker.ask('cell/c1', { type: 'show', instance: 'i1' }, 'shown');
    const declined = failureOf(() => asker.ask('cell/c1', { type: 'show', instance: 'i2' }, 'shown'));
    const messages = [
      { type: 'released', consumer: 'i1', deleted: true },
      { type: 'shown', ask: 1, view: null },
      { type: 'shown', ask: 'two', view: null },
      { type: 'declined', ask: 2, code: 'overloaded', reason: 'full', retryAfterMs: 70 },
    ];
    bus.publish(subjects.of(asker.address), encodeFrame([{ from: 'cell/c1', messages }]));
    assert.equal(await shown, { type: 'shown', ask: 1, view: null });
    const { code, retryAfterMs } = (await declined) as { code?: string; retryAfterMs?: number };
    assert.equal([code, retryAfterMs], ['overloaded', 70]);
    assert.is(errors.length, 2, errors.join('; '));
  } finally {
    asker.stop();
    await bus.close();
  }
});

test.run();
