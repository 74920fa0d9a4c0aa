// Area: journal writer. One entry is under way at a time, and one that is not acknowledged is sent again. What an owner
// does and tells when a stream stores nothing, against a server that is played on virtual time.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { BusMessage } from '../../runtime/bus/bus.ts';
import { memoryBus } from '../../runtime/bus/memory.ts';
import type { NatsBus } from '../../runtime/bus/nats.ts';
import { journalWriter, type StoredTail } from '../../runtime/journal/writer.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { bytes } from '../support/bus.ts';

const test = suite('journal writer');

const JOURNAL = 'journal';

/** A writer, and a server that answers each entry with what `answer` says, if anything. */
function played() {
  const clock = virtualClock();
  const bus = Object.assign(memoryBus({ clock }), { connected: true, inbox: () => 'inbox' }) as unknown as NatsBus;
  const told: string[] = [];
  const stored: number[] = [];
  const broken: string[] = [];
  const expected: string[] = [];
  const noted: number[] = [];
  const regainedFrom: number[] = [];
  let tail: StoredTail | null = null;
  let answer: (entry: BusMessage) => object | null = () => null;
  let isOwned = false;
  let sent = 0;
  const { publish } = bus;
  bus.publish = (subject, body, options) => {
    if (subject === JOURNAL) sent += 1;
    publish(subject, body, options);
  };
  const server = bus.subscribe(JOURNAL, (entry) => {
    expected.push(`${entry.headers['Nats-Msg-Id']} after ${entry.headers['Nats-Expected-Last-Sequence']}`);
    const said = answer(entry);
    if (said !== null) bus.publish(entry.reply as string, bytes(JSON.stringify(said)));
  });
  const writer = journalWriter({
    bus,
    clock,
    stream: JOURNAL,
    subject: JOURNAL,
    epoch: 1,
    begun: 1,
    readTail: async () => tail,
    noteRefused: async (sequence) => void noted.push(sequence),
    async regain(last, before) {
      regainedFrom.push(before);
      return isOwned ? (last?.sequence ?? before) : null;
    },
    onRefused: (reason) => told.push(reason),
    onBroken: ({ code }) => broken.push(code),
  });
  return {
    told,
    stored,
    broken,
    expected,
    noted,
    /** The last numbers that it knew of when it asked whether to go on. */
    regainedFrom,
    /** What stands last in the stream. */
    stands(last: StoredTail | null) {
      tail = last;
    },
    /** Nobody else owns the journal, whatever was lost of it. */
    owns() {
      isOwned = true;
    },
    sent: () => sent,
    refusal: () => writer.refusal,
    /** From now on nobody hears what is written. */
    goAway: () => server.unsubscribe(),
    append: () => writer.append(bytes('x'), (sequence) => stored.push(sequence)),
    /** From now on, for so long. */
    answers(by: (entry: BusMessage) => object | null, forMs: number) {
      answer = by;
      clock.advanceTo(clock.now() + forMs);
    },
    pending: () => clock.pending,
    close: () => writer.close(),
  };
}

const refusing = (description: string) => () => ({ error: { err_code: 10047, description } });

test('journal writer - an entry that nothing answers is sent again, which is told once, and again in the next outage', () => {
  const { append, answers, told, stored, sent, pending, close } = played();
  append();
  answers(() => null, 9_000);
  assert.equal(told, []);
  answers(() => null, 30_000);
  assert.equal(told, ['nothing is acknowledged for 10 s']);
  assert.ok(sent() > 5 && sent() < 15, `sent ${sent()} times`);
  answers(() => ({ seq: 2 }), 60_000);
  assert.equal(stored, [2]);
  assert.is(told.length, 1);
  append();
  answers(() => null, 12_000);
  assert.is(told.length, 2);
  answers(() => ({ seq: 3 }), 5_000);
  assert.equal(stored, [2, 3]);
  close();
  assert.is(pending(), 0);
});

test('journal writer - each reason why an entry is not stored is told once, and again once something was stored', () => {
  const { append, answers, told, stored, refusal, close } = played();
  append();
  assert.is(refusal(), undefined);
  answers(() => null, 15_000);
  for (const reason of ['no room', 'no leader', 'no room']) {
    answers(refusing(reason), 15_000);
    assert.is(refusal(), reason);
  }
  answers(() => null, 15_000);
  assert.is(refusal(), 'nothing is acknowledged for 10 s');
  assert.equal(told.splice(0), ['nothing is acknowledged for 10 s', 'no room', 'no leader']);
  answers(() => ({ seq: 7 }), 5_000);
  assert.equal(stored, [7]);
  assert.is(refusal(), undefined);
  append();
  answers(refusing('no room'), 15_000);
  assert.equal(told, ['no room']);
  close();
  assert.is(refusal(), undefined);
});

const WRONG_LAST_SEQUENCE = () => ({ error: { err_code: 10071, description: 'wrong last sequence' } });
/** Lets what waits for no time happen. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('journal writer - an entry is sent when the one before it is stored, and expects that one to be the last', () => {
  const { append, answers, expected, stored, close } = played();
  for (let n = 0; n < 3; n += 1) append();
  answers(() => null, 10);
  assert.equal(expected.splice(0), ['1-1 after 1']);
  let sequence = 1;
  answers(() => ({ seq: ++sequence }), 4_000);
  assert.equal(expected, ['1-1 after 1', '1-2 after 2', '1-3 after 3']);
  assert.equal(stored, [2, 3, 4]);
  close();
});

test('journal writer - an entry is stored though its acknowledgement was lost', async () => {
  const { append, answers, stands, stored, expected, broken, close } = played();
  append();
  append();
  stands({ id: '1-1', sequence: 2 });
  answers(WRONG_LAST_SEQUENCE, 10);
  await settle();
  assert.equal(stored, [2]);
  answers(() => ({ seq: 3 }), 10);
  assert.equal(stored, [2, 3]);
  assert.is(expected.at(-1), '1-2 after 2');
  assert.equal(broken, []);
  close();
});

test('journal writer - it breaks off when another owner has written, or what it acknowledged is gone', async () => {
  for (const [last, code] of [
    [{ id: '2-0', sequence: 2 }, 'fenced'],
    [{ id: '', sequence: 2 }, 'fenced'],
    [{ id: 'hello', sequence: 2 }, 'fenced'],
    [{ id: '1-hello', sequence: 2 }, 'fenced'],
    [{ id: '1-1', sequence: 2, removed: 3 }, 'fenced'],
    [{ id: '1-0', sequence: 1, removed: 2 }, 'journal-lost'],
    [{ id: '1-0', sequence: 1 }, 'journal-lost'],
    [null, 'journal-lost'],
  ] as const) {
    const { append, answers, stands, broken, pending } = played();
    append();
    answers(() => ({ seq: 2 }), 10);
    append();
    stands(last);
    answers(WRONG_LAST_SEQUENCE, 10);
    await settle();
    assert.equal(broken, [code]);
    assert.is(pending(), 0);
    append();
    assert.equal(broken, [code, code], 'whoever goes on is told again');
  }
});

test('journal writer - an entry that is refused though nothing stands in its way is told of, and sent again', async () => {
  const { append, answers, stands, stored, told, sent, close } = played();
  append();
  stands({ id: '1-0', sequence: 1 });
  answers(WRONG_LAST_SEQUENCE, 10);
  await settle();
  assert.equal(told, ['it refuses what follows entry 1, which is the last']);
  answers(() => ({ seq: 3 }), 2_000);
  assert.is(sent(), 1, 'not in a hurry');
  answers(() => ({ seq: 3 }), 2_000);
  assert.equal(stored, [3]);
  close();
});

test('journal writer - where the last entry was stored once more, the next one is sent after that', async () => {
  const { append, answers, stands, stored, told, expected, broken, close } = played();
  append();
  answers(() => ({ seq: 2 }), 10);
  append();
  stands({ id: '1-1', sequence: 4 });
  answers(WRONG_LAST_SEQUENCE, 10);
  await settle();
  answers(() => ({ seq: 5 }), 10);
  assert.is(expected.at(-1), '1-2 after 4');
  assert.equal([stored, told, broken], [[2, 5], [], []]);
  close();
});

test('journal writer - and so after the beginning of its epoch, whichever of its tries that was', async () => {
  for (const id of ['1-0', '1-0.00']) {
    const { append, answers, stands, stored, told, expected, close } = played();
    append();
    stands({ id, sequence: 2 });
    answers(WRONG_LAST_SEQUENCE, 10);
    await settle();
    answers(() => ({ seq: 3 }), 10);
    assert.equal([expected, stored, told], [['1-1 after 1', '1-1 after 2'], [3], []]);
    close();
  }
});

test('journal writer - a server that knows an entry and has not stored it is waited for', async () => {
  for (const answer of [
    { seq: 0, duplicate: true },
    { error: { err_code: 10158, description: 'duplicate message id is in process' } },
  ]) {
    const { append, answers, stands, stored, told, expected, broken, close } = played();
    append();
    append();
    stands({ id: '1-0', sequence: 1 });
    answers(() => answer, 10);
    await settle();
    assert.equal([stored, told, broken], [[], [], []]);
    stands({ id: '1-1', sequence: 2 });
    answers(() => answer, 4_000);
    await settle();
    assert.equal(stored, [2], 'it is found in the stream');
    answers(() => null, 10);
    assert.is(expected.at(-1), '1-2 after 2');
    close();
  }
});

const ACCOUNT_IS_FULL = () => ({ error: { err_code: 10002, description: 'resource limits exceeded for account' } });

test('journal writer - an entry that was given a number, refused for want of room and removed is noted, and sent after that number', async () => {
  const { append, answers, stands, stored, told, expected, noted, broken, close } = played();
  append();
  answers(() => ({ seq: 2 }), 10);
  append();
  for (const removed of [3, 4]) {
    stands({ id: '1-1', sequence: 2, removed });
    answers(ACCOUNT_IS_FULL, 4_000);
    await settle();
  }
  assert.equal([noted, broken], [[3, 4], []]);
  assert.equal(told, ['resource limits exceeded for account']);
  // That the numbers are missing is found out again, and is no reason to stop.
  answers(() => ({ seq: 0, duplicate: true }), 4_000);
  await settle();
  answers(() => ({ seq: 5 }), 4_000);
  assert.equal([stored, broken], [[2, 5], []]);
  assert.equal(
    expected.filter((one, at) => one !== expected[at - 1]),
    ['1-1 after 1', '1-2 after 2', '1-2 after 3', '1-2 after 4'],
  );
  close();
});

test('journal writer - what was removed and is not the entry that was refused ends it, also where an account has no room', async () => {
  for (const last of [
    { id: '1-1', sequence: 2, removed: 4 },
    { id: '1-0', sequence: 1, removed: 3 },
    { id: '2-0', sequence: 3 },
  ]) {
    const { append, answers, stands, noted, broken } = played();
    append();
    answers(() => ({ seq: 2 }), 10);
    append();
    stands(last);
    answers(ACCOUNT_IS_FULL, 10);
    await settle();
    assert.equal([noted, broken], [[], ['fenced']]);
  }
});

test('journal writer - what nobody hears is sent again within a second, and not in a hurry', async () => {
  const { append, answers, stands, sent, told, goAway, close } = played();
  goAway();
  stands({ id: '1-0', sequence: 1 });
  append();
  for (let second = 1; second <= 5; second += 1) {
    answers(() => null, 1_000);
    await settle();
    assert.ok(sent() >= second && sent() <= second + 1, `sent ${sent()} times in ${second} s`);
  }
  assert.equal(told, []);
  close();
});

test('journal writer - a stream that was looked at before an entry was stored says nothing of the next one', async () => {
  const { append, answers, stands, stored, told, broken, close } = played();
  append();
  append();
  stands({ id: '1-0', sequence: 1 });
  let answered = 0;
  // The first entry is refused, then stored when it is sent again, while the stream is looked at.
  answers(() => (answered++ === 0 ? WRONG_LAST_SEQUENCE() : { seq: 1 + answered }), 20_000);
  await settle();
  assert.equal([told, broken], [[], []]);
  assert.equal(stored, [3, 4]);
  close();
});

test('journal writer - what was stored once is not stored again as what follows, after a server told of a tail of before', async () => {
  const { append, answers, stands, owns, stored, expected, close } = played();
  owns();
  append();
  answers(() => ({ seq: 2 }), 10);
  append();
  // It is stored, and its acknowledgement lost.
  answers(() => null, 10);
  stands({ id: '1-0', sequence: 1 });
  const server = ({ headers }: BusMessage) =>
    headers['Nats-Expected-Last-Sequence'] === '3' ? { seq: 4 } : WRONG_LAST_SEQUENCE();
  answers(server, 4_500);
  await settle();
  stands({ id: '1-2', sequence: 3 });
  for (let times = 0; times < 4; times += 1) {
    answers(server, 10);
    await settle();
  }
  assert.equal(stored, [2, 4]);
  // Whoever reads the journal sees that something is missing between the two, and waits for a snapshot.
  const [, sent] = /^1-(\d+) after 3$/.exec(expected.at(-1) ?? '') ?? [];
  assert.ok(Number(sent) > 3, expected.join());
  close();
});

test('journal writer - in an empty stream the number of an entry that was refused for want of room is known to it', async () => {
  const { append, answers, stands, owns, stored, regainedFrom, close } = played();
  owns();
  append();
  stands(null);
  answers(() => ({ error: { err_code: 10002, description: 'no room' } }), 10);
  await settle();
  assert.equal(regainedFrom, [2]);
  answers(() => ({ seq: 3 }), 10);
  assert.equal(stored, [3]);
  append();
  answers(WRONG_LAST_SEQUENCE, 10);
  await settle();
  assert.equal(regainedFrom, [2, 3]);
  close();
});

test.run();
