// Journals: what they keep, and that only one owner writes. The same contract in memory and on a real server; fencing,
// restarts and snapshots on the real server.

import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Actor, Message } from '../../actors/actor.ts';
import { snapshotOf } from '../../actors/snapshot.ts';
import { connectNats, type NatsBus } from '../../runtime/bus/nats.ts';
import type { Clock } from '../../runtime/clock.ts';
import { encode } from '../../runtime/codec.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import {
  assembler,
  ENTRY_VERSION,
  type Entry,
  entriesOf,
  partEntries,
  readEntry,
} from '../../runtime/journal/entries.ts';
import { jetStreamJournals } from '../../runtime/journal/jetstream.ts';
import type { Journal, Journals, SnapshotWriter } from '../../runtime/journal/journal.ts';
import { memoryJournals } from '../../runtime/journal/memory.ts';
import { readStream } from '../../runtime/journal/reading.ts';
import { SnapshotsDue } from '../../runtime/journal/snapshots-due.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { actorHost } from '../../runtime/turn.ts';
import { startTestServer, type TestServer } from '../support/nats-server.ts';
import { failureOf, until } from '../support/until.ts';

interface Noted {
  n: number;
  text?: string;
}

const OWNER = 'placement/0';
const clock = systemClock();

/** Journals that were opened, to be closed at the end of each test, whatever became of them. */
const opened: Journal<unknown>[] = [];

async function onServer(body: (server: TestServer, bus: NatsBus) => Promise<void>): Promise<void> {
  const server = await startTestServer();
  const bus = await connectNats({ servers: server.url, name: 'journal-test', reconnectWaitMs: 50, onError() {} });
  try {
    await body(server, bus);
  } finally {
    await Promise.all(opened.splice(0).map((journal) => journal.close()));
    await bus.close();
    await server.stop();
  }
}

function onJetStream(bus: NatsBus, snapshotEvery?: number): Journals {
  const limit = snapshotEvery === undefined ? {} : { snapshotEvery };
  const journals = jetStreamJournals({ bus, clock, subjects: subjectsOf('cw'), ...limit });
  return <R>(owner: string): Journal<R> => {
    const journal = journals<R>(owner);
    opened.push(journal as Journal<unknown>);
    return journal;
  };
}

/** Appends one turn and waits for its acknowledgement. */
function append(journal: Journal<Noted>, ...records: Noted[]): Promise<void> {
  return new Promise((resolve, reject) => {
    journal.append(records, (error) => (error === null ? resolve() : reject(error)));
  });
}

/** Saves a snapshot in one part and waits until it is safe. */
function save(journal: Journal<Noted>, state: object): Promise<void> {
  return new Promise((resolve) => void journal.beginSnapshot().add(state, true, resolve));
}

/** Adds a part to a snapshot and waits until it is safe. */
function add(writer: SnapshotWriter, part: object, isLast: boolean): Promise<void> {
  return new Promise((resolve) => void writer.add(part, isLast, resolve));
}

/** What entries come to, in the order in which they stand. */
function assemble(entries: Iterable<Entry>) {
  const read = assembler<Noted>();
  for (const entry of entries) read.take(entry);
  return read.assembled();
}

async function keepsWhatIsAppended(journals: Journals): Promise<void> {
  const first = journals<Noted>(OWNER);
  assert.equal([...(await first.open()).records], []);
  await append(first, { n: 1 }, { n: 2 });
  await append(first, { n: 3 });
  await first.close();
  const second = journals<Noted>(OWNER);
  const { snapshot, records } = await second.open();
  assert.is(snapshot, null);
  assert.equal([...records], [{ n: 1 }, { n: 2 }, { n: 3 }]);
  const other = journals<Noted>('placement/1');
  assert.equal([...(await other.open()).records], []);
  await Promise.all([second.close(), other.close()]);
}

test('journal - in memory it keeps what is appended, for each owner', () =>
  keepsWhatIsAppended(memoryJournals({ clock })));

test('journal - in memory a snapshot takes the place of what is before it, in parts between appends', async () => {
  const journals = memoryJournals({ clock, snapshotEvery: 3 });
  const journal = journals<Noted>(OWNER);
  await journal.open();
  await append(journal, { n: 1 }, { n: 2 });
  assert.not(journal.wantsSnapshot);
  await append(journal, { n: 3 });
  assert.ok(journal.wantsSnapshot);
  const writer = journal.beginSnapshot();
  const rows = [{ n: 1 }];
  await add(writer, { rows }, false);
  await append(journal, { n: 4 });
  assert.not(journal.wantsSnapshot, 'one is being taken');
  await add(writer, { rows: [] }, true);
  const restored = await journals<Noted>(OWNER).open();
  assert.equal([restored.snapshot, [...restored.records]], [[{ rows }, { rows: [] }], [{ n: 4 }]]);
  // Whoever is restored may change what it has read.
  (restored.snapshot as { rows: unknown[] }[])[0]?.rows.pop();
  const again = await journals<Noted>(OWNER).open();
  assert.equal(again.snapshot, [{ rows }, { rows: [] }]);
});

test('journal - in memory a large state is not written again before as much is recorded, across owners too', async () => {
  const journals = memoryJournals({ clock, snapshotEvery: 2 });
  const journal = journals<Noted>(OWNER);
  await journal.open();
  await append(journal, { n: 1 }, { n: 2 });
  await save(journal, { rows: Array.from({ length: 20 }, (_, n) => ({ n })) });
  await append(journal, { n: 3 }, { n: 4 });
  assert.not(journal.wantsSnapshot);
  const next = journals<Noted>(OWNER);
  await next.open();
  let records = 2;
  for (; !next.wantsSnapshot && records < 1_000; records += 1) await append(next, { n: records });
  assert.ok(records > 20 && records < 200, `after ${records} records`);
});

test('journal - in memory who opened it last writes alone, and a snapshot that another began counts for nothing', async () => {
  const journals = memoryJournals({ clock, snapshotEvery: 2 });
  const first = journals<Noted>(OWNER);
  await first.open();
  await append(first, { n: 1 }, { n: 2 });
  const writer = first.beginSnapshot();
  await add(writer, { lost: 0 }, false);
  const next = journals<Noted>(OWNER);
  await next.open();
  assert.ok(next.wantsSnapshot);
  writer.add({ lost: 1 }, true, () => {});
  const refusal = await append(first, { n: 666 }).catch((error) => error as CellwrightError);
  assert.is(refusal?.code, 'fenced');
  await append(next, { n: 3 });
  const { snapshot, records } = await journals<Noted>(OWNER).open();
  assert.equal([snapshot, [...records]], [null, [{ n: 1 }, { n: 2 }, { n: 3 }]]);
});

test('journal - in memory it is not taken from its owner by one whose lease is in doubt', async () => {
  const journals = memoryJournals({ clock });
  const next = journals<Noted>(OWNER);
  await next.open({ epoch: 2, holds: () => true });
  const before = journals<Noted>(OWNER);
  const refusal = await failureOf(() => before.open({ epoch: 1, holds: () => false }));
  assert.is(refusal.code, 'fenced');
  await append(next, { n: 1 });
});

test('journal - on JetStream it keeps what is appended, for each owner', () =>
  onServer((_, bus) => keepsWhatIsAppended(onJetStream(bus))));

test('journal - many appends at once are stored and acknowledged in order', () =>
  onServer(async (_, bus) => {
    const journal = onJetStream(bus)<Noted>(OWNER);
    await journal.open();
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 2_000 }, (_each, n) => append(journal, { n }).then(() => void order.push(n))),
    );
    assert.equal(
      order,
      [...order].sort((one, other) => one - other),
    );
    await journal.close();
    const { records } = await onJetStream(bus)<Noted>(OWNER).open();
    assert.is([...records].length, 2_000);
  }));

test('journal - once another owner has opened it, nothing of the old owner is stored', () =>
  onServer(async (_, bus) => {
    const stale = onJetStream(bus)<Noted>(OWNER);
    await stale.open();
    await append(stale, { n: 1 });
    const fresh = onJetStream(bus)<Noted>(OWNER);
    await fresh.open();
    let refusal: unknown;
    await append(stale, { n: 666 }).catch((error) => {
      refusal = error;
    });
    assert.ok(refusal instanceof CellwrightError);
    assert.is(refusal.code, 'fenced');
    await append(fresh, { n: 2 });
    await fresh.close();
    const { records } = await onJetStream(bus)<Noted>(OWNER).open();
    assert.equal([...records], [{ n: 1 }, { n: 2 }]);
  }));

test('journal - an epoch has the number of its tenure, and goes up though the leases have begun anew', () =>
  onServer(async (_, bus) => {
    const epochs: string[] = [];
    for (const epoch of [40, 70, 3]) {
      const journal = onJetStream(bus)<Noted>(OWNER);
      await journal.open({ epoch, holds: () => true });
      await append(journal, { n: epoch });
      const manager = await bus.connection.jetstreamManager();
      const tail = await manager.streams.getMessage('cw-placement-0-journal', {
        last_by_subj: 'cw.placement.0.journal',
      });
      epochs.push(tail.header.get('Nats-Msg-Id'));
    }
    assert.equal(epochs, ['40-1', '70-1', '71-1']);
  }));

test('journal - whoever lost the lease while it read does not open it, and disturbs nobody', () =>
  onServer(async (_, bus) => {
    const owner = onJetStream(bus)<Noted>(OWNER);
    await owner.open({ epoch: 5, holds: () => true });
    await append(owner, { n: 1 });
    let refusal: unknown;
    await onJetStream(bus)<Noted>(OWNER)
      .open({ epoch: 4, holds: () => false })
      .catch((error) => {
        refusal = error;
      });
    assert.ok(refusal instanceof CellwrightError);
    assert.is(refusal.code, 'fenced');
    await append(owner, { n: 2 });
  }));

test('journal - a lease that is renewed late is waited for, and nothing is read again for it', () =>
  onServer(async (_, bus) => {
    const before = onJetStream(bus)<Noted>(OWNER);
    await before.open();
    await append(before, { n: 1 });
    const readings: string[] = [];
    bus.connection.subscribe('$JS.API.CONSUMER.CREATE.>', {
      callback: (_fault, { subject }) => readings.push(subject),
    });
    const asked: number[] = [];
    const tenure = {
      get epoch() {
        return 5 + asked.length;
      },
      holds: () => asked.push(0) > 3,
    };
    const { records } = await onJetStream(bus)<Noted>(OWNER).open(tenure);
    await bus.flush();
    assert.equal([[...records], readings.length], [[{ n: 1 }], 1]);
  }));

test('journal - one that is closed while its lease is in doubt waits no longer', () =>
  onServer(async (_, bus) => {
    const journal = onJetStream(bus)<Noted>(OWNER);
    let isAsked = false;
    const holds = () => {
      isAsked = true;
      return false;
    };
    const refused = failureOf(() => journal.open({ epoch: 4, holds }));
    await until('it is in doubt', () => isAsked);
    await journal.close();
    assert.is((await refused).code, 'closed');
  }));

test('journal - what was read is put together in steps, with others heard in between', () =>
  onServer(async (_, bus) => {
    const before = onJetStream(bus)<Noted>(OWNER);
    await before.open();
    for (let n = 0; n < 20; n += 1) await append(before, { n });
    let late = 0;
    let pauses = 0;
    const slow: Clock = {
      ...clock,
      monotonic() {
        // Whatever is done between two looks at it takes so long.
        late += 25;
        return clock.monotonic() + late;
      },
      after(ms, wake) {
        if (ms === 0) pauses += 1;
        return clock.after(ms, wake);
      },
    };
    const journal = jetStreamJournals({ bus, clock: slow, subjects: subjectsOf('cw') })<Noted>(OWNER);
    opened.push(journal as Journal<unknown>);
    const { records } = await journal.open();
    assert.is([...records].length, 20);
    assert.is(pauses, 21, 'one for each entry, and for that which began the epoch');
  }));

test('journal - an owner that goes on writing while another one opens the journal is fenced in the middle', () =>
  onServer(async (_, bus) => {
    const rival = onJetStream(bus)<Noted>(OWNER);
    const winner = onJetStream(bus)<Noted>(OWNER);
    await rival.open();
    let asked = 0;
    let stored = 0;
    let refusal: unknown;
    const writing = (async () => {
      // Some are under way or wait for that whenever the other one comes; a slow machine needs longer to come between.
      for (let pauseMs = 10; refusal === undefined; pauseMs += 1) {
        for (let more = 0; more < 5; more += 1) {
          append(rival, { n: asked++ }).then(
            () => (stored += 1),
            (error) => (refusal = error),
          );
        }
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    })();
    await until('the first owner writes', () => stored > 20);
    await winner.open().catch((error) => {
      refusal = error;
      throw error;
    });
    await Promise.all(Array.from({ length: 500 }, (_each, n) => append(winner, { n: 1_000_000 + n })));
    await writing;
    assert.ok(refusal instanceof CellwrightError);
    assert.is(refusal.code, 'fenced');
    await winner.close();
    const records = [...(await onJetStream(bus)<Noted>(OWNER).open()).records].map(({ n }) => n);
    const ofWinner = Array.from({ length: 500 }, (_each, n) => 1_000_000 + n);
    const ofRival = Array.from({ length: records.length - 500 }, (_each, n) => n);
    assert.equal(records, [...ofRival, ...ofWinner]);
    assert.ok(stored <= ofRival.length, 'what was acknowledged to the old owner is stored');
  }));

test('journal - an append made while the server is down is stored when it is back, once', () =>
  onServer(async (server, bus) => {
    const journal = onJetStream(bus)<Noted>(OWNER);
    await journal.open();
    await append(journal, { n: 1 });
    await server.kill();
    const during = append(journal, { n: 2 });
    await server.restart();
    await during;
    await append(journal, { n: 3 });
    await journal.close();
    const { records } = await onJetStream(bus)<Noted>(OWNER).open();
    assert.equal([...records], [{ n: 1 }, { n: 2 }, { n: 3 }]);
  }));

test('journal - a large state is not written again before as much is recorded, across owners too', () =>
  onServer(async (_, bus) => {
    const journal = onJetStream(bus, 2)<Noted>(OWNER);
    await journal.open();
    await append(journal, { n: 1 }, { n: 2 });
    assert.ok(journal.wantsSnapshot);
    await save(journal, { large: 'x'.repeat(1_000) });
    await append(journal, { n: 3 }, { n: 4 });
    assert.not(journal.wantsSnapshot);
    await journal.close();
    const next = onJetStream(bus, 2)<Noted>(OWNER);
    await next.open();
    assert.not(next.wantsSnapshot);
    let records = 2;
    for (; !next.wantsSnapshot && records < 1_000; records += 1) await append(next, { n: records });
    assert.ok(records > 40 && records < 600, `after ${records} records`);
  }));

test('journal - a snapshot stands for what is before it, and that is purged', () =>
  onServer(async (_, bus) => {
    const journal = onJetStream(bus, 10)<Noted>(OWNER);
    await journal.open();
    for (let n = 1; n <= 10; n += 1) await append(journal, { n });
    assert.ok(journal.wantsSnapshot);
    await save(journal, { sum: 55 });
    assert.not.ok(journal.wantsSnapshot);
    await append(journal, { n: 11 });
    await journal.close();
    const again = onJetStream(bus)<Noted>(OWNER);
    const { snapshot, records } = await again.open();
    assert.equal(snapshot, [{ sum: 55 }]);
    assert.equal([...records], [{ n: 11 }]);
    const manager = await bus.connection.jetstreamManager();
    const { state } = await manager.streams.info('cw-placement-0-journal');
    assert.ok(state.first_seq > 10, `the stream begins at ${state.first_seq}`);
    // The epoch goes on counting though the entry that began the first one is purged.
    await append(again, { n: 12 });
    await again.close();
  }));

test('journal - the first snapshots of owners that record alike are due at different times, and later ones after all records', () =>
  onServer(async (_, bus) => {
    const every = 40;
    const journals = onJetStream(bus, every);
    const dueAfter = async (journal: Journal<Noted>) => {
      let records = 0;
      for (; !journal.wantsSnapshot; records += 1) await append(journal, { n: records });
      return records;
    };
    const first = new Set<number>();
    for (let cell = 1; cell <= 6; cell += 1) {
      const journal = journals<Noted>(`cell/c${cell}`);
      await journal.open();
      const due = await dueAfter(journal);
      assert.ok(due > every / 2 && due <= every, `after ${due} records`);
      first.add(due);
      await save(journal, {});
      assert.is(await dueAfter(journal), every);
    }
    assert.ok(first.size > 3, `due after ${[...first]} records`);
  }));

async function storedOf(bus: NatsBus): Promise<{ from: number; messages: number }> {
  const manager = await bus.connection.jetstreamManager();
  const { state } = await manager.streams.info('cw-placement-0-journal');
  return { from: state.first_seq, messages: state.messages };
}

test('journal - an owner that is started again and again has a snapshot in time, though it records nothing', () =>
  onServer(async (_, bus) => {
    const journals = onJetStream(bus, 10);
    for (let life = 0; life < 12; life += 1) {
      const journal = journals<Noted>(OWNER);
      await journal.open();
      await journal.close();
    }
    assert.is((await storedOf(bus)).messages, 12);
    const idle: Actor<null, Message, Noted> = {
      init: () => null,
      receive() {},
      apply() {},
      recover() {},
      snapshot: () => snapshotOf({ sum: 0 }, {}),
      restore: () => null,
    };
    const outbox = { send() {}, publish() {}, local() {}, setEpoch() {} };
    const host = actorHost({
      address: OWNER,
      actor: idle,
      journal: journals<Noted>(OWNER),
      clock,
      outbox,
      maxMailbox: 10,
      onFailure: (error) => assert.unreachable(error.message),
    });
    await host.start();
    let left = 12;
    for (let looks = 0; looks < 2_000 && left !== 1; looks += 1) left = (await storedOf(bus)).messages;
    await host.stop();
    assert.is(left, 1, 'what is before the snapshot is gone');
    const again = journals<Noted>(OWNER);
    assert.equal((await again.open()).snapshot, [{ sum: 0 }]);
    assert.not(again.wantsSnapshot);
  }));

test('journal - openings count from the last snapshot on, also before what it stands for is gone, and against its size', () => {
  const opening = (epoch: number): Entry => ({ v: ENTRY_VERSION, kind: 'epoch', epoch });
  const EVERY = 10;
  const due = new SnapshotsDue(EVERY, OWNER);
  const epochs = Array.from({ length: EVERY }, (_, n) => n + 1);
  const isDueAfter = (entries: readonly Entry[]): boolean => {
    due.begin(assemble(entries));
    return due.isDue;
  };
  const before = epochs.map(opening);
  assert.ok(isDueAfter(before));
  const [body = new Uint8Array()] = partEntries(
    { sum: 0 },
    { part: 0, last: true },
    { epoch: EVERY, pieceBytes: 1_000 },
  );
  const saved = [...before, readEntry(body, 's', EVERY + 1)];
  assert.is(assemble(saved).openingsSince, 0);
  assert.not(isDueAfter(saved));
  assert.ok(isDueAfter([...saved, ...epochs.map((n) => opening(EVERY + n))]));
});

test('journal - a snapshot is taken in parts between appends, and has what was recorded before it began', () =>
  onServer(async (_, bus) => {
    const journal = onJetStream(bus, 3)<Noted>(OWNER);
    await journal.open();
    await append(journal, { n: 1 }, { n: 2 }, { n: 3 });
    const writer = journal.beginSnapshot();
    // The second part is larger than a message.
    const large = 'x'.repeat(3_000_000);
    const parts = [add(writer, { part: 0 }, false), append(journal, { n: 4 }, { n: 5 }), append(journal, { n: 6 })];
    assert.not(journal.wantsSnapshot, 'one is being taken');
    parts.push(add(writer, { part: 1, large }, false), append(journal, { n: 7 }));
    await Promise.all(parts);
    const { from } = await storedOf(bus);
    assert.is(from, 1, 'nothing is purged before the last part is safe');
    await add(writer, { part: 2 }, true);
    await append(journal, { n: 8 });
    // It is asked for when the last part is safe, and answered a moment later.
    for (let asked = 0; (await storedOf(bus)).from !== 3; asked += 1) assert.ok(asked < 5_000, 'nothing is purged');
    await journal.close();
    const { snapshot, records } = await onJetStream(bus)<Noted>(OWNER).open();
    assert.equal(snapshot, [{ part: 0 }, { part: 1, large }, { part: 2 }]);
    assert.equal(
      [...records].map(({ n }) => n),
      [4, 5, 6, 7, 8],
    );
  }));

test('journal - a snapshot whose owner ends before it counts for nothing, and the next owner takes one', () =>
  onServer(async (_, bus) => {
    const first = onJetStream(bus, 3)<Noted>(OWNER);
    await first.open();
    await append(first, { n: 1 });
    await save(first, { sum: 1 });
    await append(first, { n: 2 }, { n: 3 }, { n: 4 });
    const writer = first.beginSnapshot();
    await add(writer, { lost: 0 }, false);
    await append(first, { n: 5, text: 'as much again and more' });
    const next = onJetStream(bus, 3)<Noted>(OWNER);
    const { snapshot, records } = await next.open();
    assert.equal(snapshot, [{ sum: 1 }]);
    assert.equal(
      [...records].map(({ n }) => n),
      [2, 3, 4, 5],
    );
    assert.ok(next.wantsSnapshot);
    // The old owner does not know yet: what it adds is refused.
    let isAdded = false;
    writer.add({ lost: 1 }, true, () => {
      isAdded = true;
    });
    let refusal: unknown;
    await append(first, { n: 666 }).catch((error) => {
      refusal = error;
    });
    assert.is((refusal as CellwrightError).code, 'fenced');
    assert.not(isAdded);
    await save(next, { sum: 15 });
    await append(next, { n: 6 });
    await next.close();
    const again = await onJetStream(bus)<Noted>(OWNER).open();
    assert.equal([again.snapshot, [...again.records]], [[{ sum: 15 }], [{ n: 6 }]]);
  }));

test('journal - journals larger than a server lets wait for one connection are read, several at once too', async () => {
  const [owners, entries] = [['cell/c1', 'cell/c2'], 150];
  const server = await startTestServer({ config: 'max_pending: 52MB' });
  const bus = await connectNats({ servers: server.url, name: 'journal-test', onError() {} });
  try {
    const text = 'x'.repeat(450_000);
    for (const owner of owners) {
      const journal = onJetStream(bus)<Noted>(owner);
      await journal.open();
      for (let n = 0; n < entries; n += 1) await append(journal, { n, text });
    }
    const journals = onJetStream(bus);
    const read = await Promise.all(owners.map((owner) => journals<Noted>(owner).open()));
    assert.equal(
      read.map(({ records }) => [...records].length),
      owners.map(() => entries),
    );
  } finally {
    await Promise.all(opened.splice(0).map((one) => one.close()));
    await bus.close();
    await server.stop();
  }
});

/** A bus whose consumers bring entries of the given numbers, one consumer after the other. */
function bringing(...consumers: readonly (readonly number[])[]): NatsBus {
  let made = 0;
  const entry = (seq: number) => {
    const [data] = entriesOf([{ n: seq }], { epoch: 1, pieceBytes: 1_000 });
    return { data, headers: new Map([['Nats-Msg-Id', `1-${seq - 1}`]]) };
  };
  const left = new Map(consumers.map((numbers, n) => [`consumer${n}`, numbers]));
  let callback: (error: null, message: object) => void = () => {};
  const connection = {
    jetstreamManager: async () => ({
      consumers: { add: async () => ({ name: `consumer${made++}` }), delete: async () => true },
    }),
    isClosed: () => false,
    subscribe(_: string, options: { callback: typeof callback }) {
      callback = options.callback;
      return { unsubscribe() {} };
    },
    publish(subject: string) {
      const name = subject.split('.').at(-1) as string;
      const to = callback;
      queueMicrotask(() => {
        for (const seq of left.get(name) ?? [])
          to(null, { ...entry(seq), reply: `$JS.ACK.one.${name}.1.${seq}.1.0.0` });
        left.delete(name);
        to(null, { headers: Object.assign(new Map(), { code: 409 }) });
      });
    },
  };
  return { connection, maxPayloadBytes: 1_000, inbox: () => 'inbox' } as unknown as NatsBus;
}

test('journal - an entry that is lost on its way is asked for again, wherever a consumer began', async () => {
  const read = async (...consumers: readonly (readonly number[])[]) => {
    const reading = readStream({ bus: bringing(...consumers), clock, stream: 'one', last: 5 });
    return (await reading.entries).map(({ afterGap = false }) => afterGap);
  };
  const whole = [false, false, false, false, false];
  assert.equal(await read([1, 2, 4, 5], [3, 4, 5]), whole);
  assert.equal(await read([1, 2, 4], [5], [4, 5], [3, 4, 5]), whole);
  assert.equal(await read([3], [1, 2, 3, 4, 5]), whole);
  assert.equal(await read([1, 2, 4], [4, 5], [4, 5]), [false, false, true, false], 'entry 3 is gone');
});

test('journal - one that is closed, or opened again, while it waits until others are read gives that up at once', () =>
  onServer(async (_, bus) => {
    const text = 'x'.repeat(450_000);
    const large = ['cell/large1', 'cell/large2', 'cell/large3'];
    for (const [owner, records] of [...large.map((one) => [one, 20] as const), ['cell/small', 1] as const]) {
      const journal = onJetStream(bus)<Noted>(owner);
      await journal.open();
      for (let n = 0; n < records; n += 1) await append(journal, { n, text });
    }
    const { connection } = bus;
    const { publish } = connection;
    // Of the large ones nothing comes.
    const asked = new Set<string>();
    connection.publish = (subject, ...more) => {
      const [, stream = ''] = /MSG\.NEXT\.([^.]*large[^.]*)/.exec(subject) ?? [];
      if (stream === '') publish.call(connection, subject, ...more);
      else asked.add(stream);
    };
    const journals = onJetStream(bus);
    const stuck = large.map((owner) => journals<Noted>(owner));
    const stalled = stuck.map((journal) => failureOf(() => journal.open()));
    await until('they are read', () => asked.size === large.length);
    const small = journals<Noted>('cell/small');
    const ended: string[] = [];
    const openings = [1, 2].map(async (nth) => {
      const { code } = await failureOf(() => small.open());
      ended.push(`${nth} ${code}`);
    });
    await until('the first is over', () => ended.length === 1);
    await small.close();
    await until('the second is over', () => ended.length === 2);
    assert.equal(ended, ['1 closed', '2 closed']);
    await Promise.all(openings);
    const third = small.open();
    await stuck[0]?.close();
    assert.is((await stalled[0])?.code, 'journal-stalled');
    assert.is([...(await third).records].length, 1);
    await Promise.all([...stuck.map((journal) => journal.close()), ...stalled]);
  }));

test('journal - one that is closed while its epoch begins stays closed', () =>
  onServer(async (_, bus) => {
    const journal = onJetStream(bus)<Noted>(OWNER);
    const { request } = bus;
    bus.request = async (...what) => {
      const answer = await request.apply(bus, what);
      await journal.close();
      return answer;
    };
    assert.is((await failureOf(() => journal.open())).code, 'closed');
  }));

test('journal - a snapshot is due after many bytes, too, however few records they are', () =>
  onServer(async (_, bus) => {
    const journal = onJetStream(bus)<Noted>(OWNER);
    await journal.open();
    const text = 'x'.repeat(450_000);
    let records = 0;
    for (; !journal.wantsSnapshot && records < 1_000; records += 1) await append(journal, { n: records, text });
    assert.ok(records > 100 && records < 200, `after ${records} records`);
    await save(journal, { large: 'x'.repeat(1_000) });
    assert.not(journal.wantsSnapshot);
  }));

test('journal - a turn larger than a message travels in pieces and is read as one', () =>
  onServer(async (_, bus) => {
    const journal = onJetStream(bus)<Noted>(OWNER);
    await journal.open();
    const large = Array.from({ length: 30 }, (_each, n) => ({ n, text: 'x'.repeat(100_000) }));
    await append(journal, ...large);
    await journal.close();
    const { records } = await onJetStream(bus)<Noted>(OWNER).open();
    assert.equal([...records], large);
  }));

test('journal - pieces whose last one is missing did not happen', () => {
  const limits = { epoch: 1, pieceBytes: 8 };
  const bodies = entriesOf([{ n: 1, text: 'long enough for several pieces' }], limits);
  assert.ok(bodies.length > 2);
  const whole = bodies.map((body, position) => readEntry(body, 's', position));
  const next: Entry = { v: ENTRY_VERSION, kind: 'epoch', epoch: 2 };
  assert.is([...assemble(whole).records].length, 1);
  assert.is([...assemble([...whole.slice(0, -1), next]).records].length, 0);
  assert.is([...assemble([...whole.slice(1), next]).records].length, 0);
});

test('journal - an entry of a version that is not read is refused by name', () => {
  for (const v of [0, 2, ENTRY_VERSION + 1, 99, undefined]) {
    assert.throws(
      () => entryOf(v),
      new RegExp(`entry 7 of journal 'cw-placement-0-journal' is of version ${v}; this program reads 1, 3, 4, 5, 6`),
    );
  }
});

test('journal - entries of the versions before are read, and written are such as its programs refuse', () => {
  for (const v of [1, 3, 4, 5]) assert.is(entryOf(v).v, v);
  const [body = new Uint8Array()] = entriesOf([{ n: 1 }], { epoch: 1, pieceBytes: 100 });
  assert.is(readEntry(body, 's', 1).v, 6);
});

function entryOf(v: unknown): Entry {
  const body = encode({ v, kind: 'records', epoch: 1, piece: 0, of: 1, data: new Uint8Array() });
  return readEntry(body, 'cw-placement-0-journal', 7);
}

test('journal - an entry of an earlier epoch after a later one is refused', () => {
  const entries: Entry[] = [
    { v: ENTRY_VERSION, kind: 'epoch', epoch: 2 },
    { v: ENTRY_VERSION, kind: 'epoch', epoch: 1 },
  ];
  assert.throws(() => assemble(entries), /epoch 1 follows one of epoch 2/);
});

test('journal - while the server has no room an append waits, which is told once, and is stored when there is', async () => {
  const config = 'jetstream { max_file_store: 400KB }';
  const server = await startTestServer({ config });
  const bus = await connectNats({ servers: server.url, name: 'journal-test', onError() {} });
  const told: CellwrightError[] = [];
  const onError = (error: CellwrightError) => void told.push(error);
  const journal = jetStreamJournals({ bus, clock, subjects: subjectsOf('cw'), onError })<Noted>(OWNER);
  try {
    await journal.open();
    await append(journal, { n: 1 });
    const { streams } = await bus.connection.jetstreamManager();
    await streams.add({ name: 'filler', subjects: ['filler'], storage: 'file' as never });
    for (let full = false; !full; ) {
      const { data } = await bus.request('filler', new Uint8Array(40_000), { timeoutMs: 5_000 });
      full = Buffer.from(data).includes('"error"');
    }
    let stored = 0;
    const waiting = [2, 3, 4].map((n) => append(journal, { n, text: 'x'.repeat(50_000) }).then(() => (stored += 1)));
    await until('the refusal is told', () => told.length > 0);
    assert.is(stored, 0);
    assert.equal([told[0]?.code, told[0]?.retryable], ['journal-refused', true]);
    assert.match(told[0]?.message ?? '', /journal 'cw-placement-0-journal': .*(resource|storage|space)/);
    assert.ok(told[0]?.message.startsWith(`${journal.refusal}; `), journal.refusal);
    await streams.delete('filler');
    await Promise.all(waiting);
    assert.is(journal.refusal, undefined);
    assert.is(told.length, 1);
    const { records } = await onJetStream(bus)<Noted>(OWNER).open();
    assert.equal(
      [...records].map(({ n }) => n),
      [1, 2, 3, 4],
    );
  } finally {
    await Promise.all([journal, ...opened.splice(0)].map((one) => one.close()));
    await bus.close();
    await server.stop();
  }
});

test('journal - an account without JetStream is told so by name', async () => {
  const server = await startTestServer({ jetstream: false });
  const bus = await connectNats({ servers: server.url, name: 'journal-test', onError() {} });
  try {
    let refusal: unknown;
    await onJetStream(bus)<Noted>(OWNER)
      .open()
      .catch((error) => {
        refusal = error;
      });
    assert.ok(refusal instanceof CellwrightError);
    assert.is(refusal.code, 'no-jetstream');
    assert.match(refusal.message, /needs JetStream, for which nobody answers here: the server has none/);
  } finally {
    await bus.close();
    await server.stop();
  }
});

test.run();
