// Area: snapshots that are taken while their owner goes on: whatever happens between two parts of one, what is read back
// is what was recorded.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Actor, Message } from '../../actors/actor.ts';
import { joined, snapshotOf } from '../../actors/snapshot.ts';
import { Table } from '../../actors/table.ts';
import type { Clock } from '../../runtime/clock.ts';
import { assembler, type Entry, entriesOf, epochEntry, partEntries, readEntry } from '../../runtime/journal/entries.ts';
import type { Journal, SnapshotWriter } from '../../runtime/journal/journal.ts';
import { type Slicer, slicerOf, takeSnapshot } from '../../runtime/journal/slices.ts';
import type { Outbox } from '../../runtime/outbox.ts';
import { type Random, seededRandom } from '../../runtime/random.ts';
import { type ActorHost, actorHost } from '../../runtime/turn.ts';
import { type VirtualClock, virtualClock } from '../../runtime/virtual-clock.ts';
import { journaled } from '../support/turn.ts';

const test = suite('snapshots');

interface Add extends Message {
  readonly type: 'add';
  readonly key: string;
  readonly by: number;
}

type Added = readonly [string, number];
type Sums = Table<{ sum: number }>;

/** Sums by key; a sum of nought is gone. */
const adder: Actor<Sums, Add, Added> = {
  init: () => new Table(({ sum }, key) => [key, sum]),
  apply(sums, [key, by]) {
    sums.touch(key);
    const one = sums.get(key);
    if (one === undefined) sums.set(key, { sum: by });
    else if (one.sum + by === 0) sums.delete(key);
    else one.sum += by;
  },
  receive(sums, message, _from, turn) {
    if (message.type !== 'add') return;
    adder.apply(sums, [message.key, message.by]);
    turn.record([message.key, message.by]);
  },
  recover() {},
  snapshot: (sums) => snapshotOf({}, { sums: sums.capture() }),
  restore(parts) {
    const sums = adder.init();
    for (const [key, sum] of (joined(parts) as { sums: Added[] }).sums) sums.set(key, { sum });
    return sums;
  },
};

const sumsOf = (sums: Sums): Added[] => [...sums].map(([key, { sum }]): Added => [key, sum]).sort();

/** The sums to which records lead. */
function folded(records: Iterable<Added>): Added[] {
  const sums = adder.init();
  for (const record of records) adder.apply(sums, record);
  return sumsOf(sums);
}

/** A stream that stores what is sent to it, one entry after the other, when it is told to. */
class Stream {
  bodies: Uint8Array[] = [];
  /** All records that were ever stored. */
  readonly records: Added[] = [];
  epoch = 0;
  tally = { ended: 0, parts: 0, purged: 0 };
  #underWay: { epoch: number; store: () => void; done: () => void }[] = [];

  send(epoch: number, store: () => void, done: () => void): void {
    this.#underWay.push({ epoch, store, done });
  }

  /** Stores the oldest entries under way. What was sent in an earlier epoch is refused. */
  store(most: number): void {
    for (const { epoch, store, done } of this.#underWay.splice(0, most)) {
      if (epoch !== this.epoch) continue;
      store();
      done();
    }
  }

  read() {
    const read = assembler<Added>();
    this.bodies.forEach((body, position) => {
      read.take(readEntry(body, 'sums', position));
    });
    return read.assembled();
  }
}

const LIMITS = { pieceBytes: 48 };

function journalOn(stream: Stream, random: Random): Journal<Added> {
  let epoch = 0;
  let since = 0;
  let isSaving = false;
  function beginSnapshot(): SnapshotWriter {
    const mine = epoch;
    let part = 0;
    let first = 0;
    since = 0;
    isSaving = true;
    return {
      add(value, last, stored) {
        const mark = { part, last };
        part += 1;
        const bodies = partEntries(value, mark, { ...LIMITS, epoch: mine });
        const store = () => {
          if (mark.part === 0) first = stream.bodies.length;
          stream.bodies.push(...bodies);
          stream.tally.parts += 1;
          if (!last) return;
          stream.tally.ended += 1;
          if (random.chance(0.7)) {
            stream.bodies.splice(0, first);
            stream.tally.purged += 1;
          }
        };
        stream.send(mine, store, () => {
          if (last && mine === epoch) isSaving = false;
          stored();
        });
        return bodies.reduce((sum, { length }) => sum + length, 0);
      },
    };
  }
  return {
    async open() {
      const read = stream.read();
      stream.epoch += 1;
      epoch = stream.epoch;
      stream.bodies.push(epochEntry(epoch));
      since = read.recordsSince;
      isSaving = false;
      return read;
    },
    append(records, done) {
      since += records.length;
      const bodies = entriesOf(records, { ...LIMITS, epoch });
      const copy = journaled([...records]);
      const store = () => {
        stream.bodies.push(...bodies);
        stream.records.push(...copy);
      };
      stream.send(epoch, store, () => done(null));
    },
    get wantsSnapshot() {
      return !isSaving && since >= 7;
    },
    beginSnapshot,
    close: async () => {},
  };
}

const nobody: Outbox = { send() {}, publish() {}, local() {}, setEpoch() {} };

async function begin(stream: Stream, random: Random, clock: VirtualClock): Promise<ActorHost> {
  const host = actorHost({
    address: 'sums/0',
    actor: adder,
    journal: journalOn(stream, random),
    clock,
    outbox: nobody,
    maxMailbox: 1_000,
    slicer: slicerOf(clock, { firstRows: 1, mostRows: 4, pauseMs: 5, share: 0.2, records: 40, leastMs: 1, mostMs: 8 }),
    onFailure: (error) => {
      throw error;
    },
  });
  await host.start();
  return host;
}

test('appends, parts of snapshots, crashes and openings in any order: the state is what all records lead to', async () => {
  const total = { ended: 0, parts: 0, purged: 0, crashes: 0 };
  for (let run = 0; run < 150; run += 1) {
    const random = seededRandom(`snapshots ${run}`);
    const clock = virtualClock();
    const stream = new Stream();
    let host = await begin(stream, random, clock);
    for (let step = 0; step < 300; step += 1) {
      const what = random.next();
      if (what < 0.4) {
        for (let n = random.integer(1, 3); n > 0; n -= 1) {
          const message: Add = { type: 'add', key: `k${random.integer(0, 20)}`, by: random.pick([-1, 1, 2]) };
          assert.ok(host.deliver(message, 'test'));
        }
        clock.runUntilIdle({ untilMs: clock.now() });
      } else if (what < 0.7) {
        stream.store(random.integer(1, 6));
      } else if (what < 0.99) {
        clock.advanceTo(clock.now() + random.integer(1, 12));
      } else {
        total.crashes += 1;
        // Another owner opens it while this one still sends; or this one ends first.
        if (random.chance(0.5)) await host.stop();
        const stored = stream.read();
        const before = stored.snapshot === null ? adder.init() : adder.restore(stored.snapshot);
        for (const record of stored.records) adder.apply(before, record);
        assert.equal(sumsOf(before), folded(stream.records), `run ${run}, step ${step}`);
        const stale = host;
        host = await begin(stream, random, clock);
        stream.store(random.integer(0, 5));
        await stale.stop();
      }
    }
    await host.stop();
    const { snapshot, records } = stream.read();
    const last = snapshot === null ? adder.init() : adder.restore(snapshot);
    for (const record of records) adder.apply(last, record);
    assert.equal(sumsOf(last), folded(stream.records), `run ${run}`);
    for (const what of ['ended', 'parts', 'purged'] as const) total[what] += stream.tally[what];
  }
  assert.ok(total.ended > 300 && total.purged > 200 && total.crashes > 300, JSON.stringify(total));
  assert.ok(total.parts > 3 * total.ended, JSON.stringify(total));
});

const RECORDS = { epoch: 1, pieceBytes: 1_000 };

function entry(body: Uint8Array): Entry {
  return readEntry(body, 'sums', 1);
}

const recorded = (by: number, epoch = 1) => entriesOf([['k', by]], { ...RECORDS, epoch }).map(entry);
const part = (number: number, last: boolean, epoch = 1) =>
  partEntries({ sums: [[`p${number}`, 1]] }, { part: number, last }, { ...RECORDS, epoch }).map(entry);

function read(...entries: Entry[][]) {
  const all = assembler<Added>();
  for (const one of entries.flat()) all.take(one);
  const { snapshot, records, recordsSince } = all.assembled();
  return { parts: snapshot?.length ?? 0, records: [...records].map(([, by]) => by), recordsSince };
}

test('a snapshot stands where it began: what was recorded between its parts comes after it', () => {
  assert.equal(
    read(recorded(1), part(0, false), recorded(2), part(1, false), recorded(3), part(2, true), recorded(4)),
    {
      parts: 3,
      records: [2, 3, 4],
      recordsSince: 3,
    },
  );
  assert.equal(read(recorded(1), part(0, true), recorded(2)), { parts: 1, records: [2], recordsSince: 1 });
});

test('a snapshot that was not ended, or of which a part is missing, counts for nothing', () => {
  const all = [1, 2, 3];
  const none = { parts: 0, records: all, recordsSince: 3 };
  assert.equal(read(recorded(1), part(0, false), recorded(2), part(1, false), recorded(3)), none);
  assert.equal(read(recorded(1), part(0, false), recorded(2), part(2, true), recorded(3)), none);
  assert.equal(read(recorded(1), recorded(2), part(1, true), recorded(3)), none);
  const next = [entry(epochEntry(2))];
  assert.equal(read(recorded(1), part(0, false), next, recorded(2, 2), part(1, true, 2), recorded(3, 2)), none);
  // The one before it still counts, and so does one that is begun anew.
  assert.equal(read(recorded(1), part(0, true), recorded(2), part(0, false), recorded(3)), {
    parts: 1,
    records: [2, 3],
    recordsSince: 2,
  });
  assert.equal(read(part(0, false), part(1, false), recorded(1), part(0, false), recorded(2), part(1, true)), {
    parts: 2,
    records: [2],
    recordsSince: 1,
  });
});

/** A clock on which a row takes some time, and other work as long as is said. */
function workClock(rowMs: number) {
  const virtual = virtualClock();
  let spentMs = 0;
  const clock: Clock = { ...virtual, monotonic: () => virtual.now() + spentMs };
  return {
    virtual,
    clock,
    work(rows: number) {
      spentMs += rows * rowMs;
    },
    spend(ms: number) {
      spentMs += ms;
    },
  };
}

interface Slice {
  readonly owner: string;
  readonly at: number;
  readonly rows: number;
}

/** Takes a snapshot of so many rows, and notes its slices. */
function slicing(
  { virtual, work }: Pick<ReturnType<typeof workClock>, 'virtual' | 'work'>,
  slicer: Slicer,
  slices: Slice[],
) {
  return (owner: string, count: number, isWanted = () => true, rowBytes = 10, recordBytes?: number) => {
    const table = new Table<number>((value, key) => [key, value]);
    for (let n = 0; n < count; n += 1) table.set(`k${n}`, n);
    const writer: SnapshotWriter = {
      add(part, _isLast, stored) {
        const { length } = (part as { all?: unknown[] }).all ?? [];
        slices.push({ owner, at: virtual.now(), rows: length });
        work(length);
        virtual.soon(stored);
        return length * rowBytes;
      },
      ...(recordBytes === undefined ? {} : { recordBytes }),
    };
    const onFailure = (error: unknown) => {
      throw error;
    };
    return takeSnapshot({ snapshot: snapshotOf({}, { all: table.capture() }), writer, slicer, isWanted, onFailure });
  };
}

const USUAL = { firstRows: 10, mostRows: 5_000, pauseMs: 5, share: 0.2, records: 1_000_000, leastMs: 1, mostMs: 8 };
const ofOwner = (slices: readonly Slice[], owner: string) => slices.filter((one) => one.owner === owner);
const rowsIn = (slices: readonly Slice[]) => slices.reduce((sum, { rows }) => sum + rows, 0);

test('slices take about a millisecond each and one at a time, whoever they are of, and end with their owner', () => {
  const on = workClock(0.01);
  const slices: Slice[] = [];
  const take = slicing(on, slicerOf(on.clock, USUAL), slices);
  let isWanted = true;
  take('a', 2_000);
  take('b', 20_000, () => isWanted);
  take('c', 5);
  assert.equal(
    slices.map(({ owner, rows }) => [owner, rows]),
    [
      ['a', 10],
      ['b', 10],
      ['c', 5],
    ],
  );
  on.virtual.advanceTo(200);
  isWanted = false;
  on.virtual.runUntilIdle();
  const later = slices.slice(3);
  assert.is(new Set(later.map(({ at }) => at)).size, later.length);
  assert.ok(
    later.every(({ rows }) => rows <= 160),
    'as many as take a fifth of the time since the last slice',
  );
  assert.is(rowsIn(ofOwner(slices, 'a')), 2_000);
  const ofB = rowsIn(ofOwner(slices, 'b'));
  assert.ok(ofB > 1_000 && ofB < 20_000, `${ofB} rows of one who was stopped`);
});

test('of several whose slices are due at the same time each comes to its end, the last one too', () => {
  const on = workClock(0.01);
  const slices: Slice[] = [];
  const take = slicing(on, slicerOf(on.clock, USUAL), slices);
  for (const owner of ['a', 'b', 'c']) take(owner, 1_000);
  on.virtual.runUntilIdle();
  for (const owner of ['a', 'b', 'c']) assert.is(rowsIn(ofOwner(slices, owner)), 1_000, owner);
});

test('what a later slice fails of is told to its owner, and costs the others nothing', () => {
  const on = workClock(0.01);
  const slices: Slice[] = [];
  const slicer = slicerOf(on.clock, USUAL);
  const table = new Table<number>((value, key) => [key, value]);
  for (let n = 0; n < 100; n += 1) table.set(`k${n}`, n);
  const failures: unknown[] = [];
  let parts = 0;
  const add: SnapshotWriter['add'] = (_part, _isLast, stored) => {
    parts += 1;
    if (parts === 2) throw new Error('no room');
    on.virtual.soon(stored);
    return 100;
  };
  takeSnapshot({
    snapshot: snapshotOf({}, { all: table.capture() }),
    writer: { add },
    slicer,
    isWanted: () => true,
    onFailure: (error) => failures.push(error),
  });
  slicing(on, slicer, slices)('other', 1_000);
  on.virtual.runUntilIdle();
  assert.equal([failures.map(String), parts], [['Error: no room'], 2]);
  assert.is(rowsIn(slices), 1_000);
});

test('an owner that records fast has its snapshot before it has recorded too much, though no time goes by', () => {
  const on = workClock(0);
  const slices: Slice[] = [];
  const take = slicing(on, slicerOf(on.clock, { ...USUAL, records: 2_000 }), slices);
  const few = take('few', 500);
  const many = take('many', 5_000);
  let recorded = 0;
  for (; rowsIn(slices) < 5_500; recorded += 10) {
    few.recorded(10);
    many.recorded(10);
    if (recorded === 2_400) assert.is(rowsIn(ofOwner(slices, 'few')), 500, 'in about as many records as are allowed');
    assert.ok(recorded <= 2_600, 'or in half as many as there are rows');
  }
  assert.is(on.virtual.now(), 0);
  assert.ok(recorded > 2_300, `${recorded} records`);
  assert.ok(slices.length < 80, `${slices.length} slices`);
  const count = slices.length;
  few.recorded(10_000);
  on.virtual.runUntilIdle();
  assert.is(slices.length, count, 'nothing more when it is over');
});

test('of large rows no more is written for what an owner records than that takes, a little at a time', () => {
  const on = workClock(0);
  const slices: Slice[] = [];
  const [rowBytes, recordBytes] = [10_000, 500];
  const taking = slicing(on, slicerOf(on.clock, { ...USUAL, records: 1 }), slices)(
    'a',
    1_000,
    undefined,
    rowBytes,
    recordBytes,
  );
  let recorded = 0;
  for (; rowsIn(slices) < 1_000; recorded += 500) {
    taking.recorded(500);
    assert.ok(rowsIn(slices) * rowBytes <= 10 * rowBytes + (recorded + 500) * recordBytes);
  }
  assert.ok(recorded <= 22_000, `${recorded} records`);
  assert.ok(Math.max(...slices.map(({ rows }) => rows)) * rowBytes <= 512 * 1_024);
});

test('slices are larger when there is little time between them, but never long, and small when rows are large', () => {
  const busy = workClock(0.01);
  const slices: Slice[] = [];
  const slicer = slicerOf(busy.clock, USUAL);
  slicing(busy, slicer, slices)('busy', 10_000);
  while (rowsIn(slices) < 10_000) {
    // A turn that takes long.
    busy.spend(100);
    busy.virtual.advanceTo(busy.virtual.now() + 5);
  }
  assert.is(Math.max(...slices.map(({ rows }) => rows)), 800);
  const idle = workClock(0);
  const large: Slice[] = [];
  slicing(idle, slicerOf(idle.clock, USUAL), large)('large', 1_000, undefined, 64 * 1_024);
  idle.virtual.runUntilIdle();
  assert.equal([...new Set(large.slice(1, -1).map(({ rows }) => rows))], [8]);
});

test.run();
