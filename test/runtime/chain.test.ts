// Area: chain. Entries that are not acknowledged are sent again. What an owner tells of a stream that stores nothing, against a server that is played on virtual time.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { BusMessage } from '../../runtime/bus/bus.ts';
import { memoryBus } from '../../runtime/bus/memory.ts';
import type { NatsBus } from '../../runtime/bus/nats.ts';
import { chain } from '../../runtime/journal/chain.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { bytes } from '../support/bus.ts';

const test = suite('chain');

const JOURNAL = 'journal';

/** A chain, and a server that answers each entry with what `answer` says, if anything. */
function played() {
  const clock = virtualClock();
  const bus = Object.assign(memoryBus({ clock }), { connected: true, inbox: () => 'inbox' }) as unknown as NatsBus;
  const told: string[] = [];
  const stored: number[] = [];
  let answer: (entry: BusMessage) => object | null = () => null;
  let sent = 0;
  bus.subscribe(JOURNAL, (entry) => {
    sent += 1;
    const said = answer(entry);
    if (said !== null) bus.publish(entry.reply as string, bytes(JSON.stringify(said)));
  });
  const entries = chain({
    bus,
    clock,
    stream: JOURNAL,
    subject: JOURNAL,
    epoch: 1,
    readTail: async () => null,
    onRefused: (reason) => told.push(reason),
    onBroken(error) {
      throw error;
    },
  });
  return {
    told,
    stored,
    sent: () => sent,
    append: () => entries.append(bytes('x'), (sequence) => stored.push(sequence)),
    /** From now on, for so long. */
    answers(by: (entry: BusMessage) => object | null, forMs: number) {
      answer = by;
      clock.advanceTo(clock.now() + forMs);
    },
    pending: () => clock.pending,
    close: () => entries.close(),
  };
}

const refusing = (description: string) => () => ({ error: { err_code: 10047, description } });

test('chain - an entry that nothing answers is sent again, which is told once, and again in the next outage', () => {
  const { append, answers, told, stored, sent, pending, close } = played();
  append();
  answers(() => null, 9_000);
  assert.equal(told, []);
  answers(() => null, 30_000);
  assert.equal(told, ['nothing is acknowledged for 10 s']);
  assert.ok(sent() > 5, `sent ${sent()} times`);
  answers(() => ({ seq: 1 }), 60_000);
  assert.equal(stored, [1]);
  assert.is(told.length, 1);
  append();
  answers(() => null, 12_000);
  assert.is(told.length, 2);
  answers(() => ({ seq: 2 }), 5_000);
  assert.equal(stored, [1, 2]);
  close();
  assert.is(pending(), 0);
});

test('chain - each reason why an entry is not stored is told once, and again once something was stored', () => {
  const { append, answers, told, stored, close } = played();
  append();
  answers(() => null, 15_000);
  answers(refusing('no room'), 15_000);
  answers(refusing('no leader'), 15_000);
  answers(refusing('no room'), 15_000);
  assert.equal(told.splice(0), ['nothing is acknowledged for 10 s', 'no room', 'no leader']);
  answers(() => ({ seq: 7 }), 5_000);
  assert.equal(stored, [7]);
  append();
  answers(refusing('no room'), 15_000);
  assert.equal(told, ['no room']);
  close();
});

test.run();
