// Area: journal upkeep. The stream of a journal loses what its owner needs to start again, while the owner runs: it finds
// that out, and writes all that it knows anew, so that nothing is lost when its process dies. On a real server.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Actor, Message } from '../../actors/actor.ts';
import { snapshotOf } from '../../actors/snapshot.ts';
import type { Rows } from '../../actors/table.ts';
import { connectNats, type NatsBus } from '../../runtime/bus/nats.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { CellwrightError } from '../../runtime/errors.ts';
import { jetStreamJournals } from '../../runtime/journal/jetstream.ts';
import { type Upkeep, upkeepOf } from '../../runtime/journal/upkeep.ts';
import type { Tenure } from '../../runtime/ownership/tenure.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { actorHost } from '../../runtime/turn.ts';
import { type VirtualClock, virtualClock } from '../../runtime/virtual-clock.ts';
import { eventually } from '../e2e/system.ts';
import { beside } from '../support/beside.ts';
import { startTestServer, type TestServer } from '../support/nats-server.ts';
import { startProxy } from '../support/proxy.ts';
import { failureOf, until } from '../support/until.ts';

const test = suite('journal upkeep');
const OWNER = 'cell/c1';
const STREAM = 'cw-cell-c1-journal';
const SUBJECT = 'cw.cell.c1.journal';
const clock = systemClock();

function rowsOf(all: unknown[]): Rows {
  let taken = 0;
  const take = (rows: number) => {
    taken += rows;
    return all.slice(taken - rows, taken);
  };
  return {
    count: all.length,
    take,
    get isOver() {
      return taken >= all.length;
    },
  };
}

type Note = { type: 'note'; n: number };

/** Knows all numbers that it was told. */
const actor: Actor<{ known: number[] }, Note & Message, number> = {
  init: () => ({ known: [] }),
  apply: ({ known }, n) => void known.push(n),
  receive(state, message, _from, turn) {
    if (message.type !== 'note') return;
    state.known.push(message.n);
    turn.record(message.n);
    turn.send('listener', { type: 'welcome', incarnation: `${message.n}` } as never);
  },
  recover() {},
  snapshot: ({ known }) => snapshotOf({}, { known: rowsOf(known.map((n) => [n, 'x'.repeat(4_000)])) }),
  restore: (parts) => ({ known: parts.flatMap((part) => (part as { known: [number][] }).known.map(([n]) => n)) }),
};

interface Owner {
  /** Resolves when what was told is acknowledged. */
  note(...numbers: number[]): Promise<void>;
  /** The codes of what it has said of its journal. */
  readonly told: string[];
  readonly failures: string[];
  /** Ends as a process does that is killed. */
  kill(): Promise<void>;
  /** Ends in order. */
  end(): Promise<void>;
}

interface Stage {
  readonly server: TestServer;
  readonly bus: NatsBus;
  readonly streams: Awaited<ReturnType<NatsBus['connection']['jetstreamManager']>>['streams'];
  /** An owner in a process of its own. */
  owner(more?: { tenure?: Tenure; lookEveryMs?: number; bus?: NatsBus }): Promise<Owner>;
  /** What an owner knows that is opened in a new process. */
  known(): Promise<number[]>;
}

const held: Tenure = { epoch: 1, holds: () => true };

/** They wait for most of their time, each for a server of its own. */
const besideOthers = beside(6);

function onStage(body: (stage: Stage) => Promise<void>): () => Promise<void> {
  return besideOthers(async () => {
    const server = await startTestServer();
    const bus = await connectNats({ servers: server.url, name: 'upkeep', reconnectWaitMs: 20, onError() {} });
    const { streams } = await bus.connection.jetstreamManager();
    const owners: Owner[] = [];
    async function owner({ tenure = held, lookEveryMs = 50, bus: by = bus } = {}): Promise<Owner> {
      const told: string[] = [];
      const failures: string[] = [];
      const out: string[] = [];
      const onError = ({ code }: CellwrightError) => void told.push(code);
      const journals = jetStreamJournals({ bus: by, clock, subjects: subjectsOf('cw'), lookEveryMs, onError });
      const send = (_from: string, _to: string, message: object) =>
        void out.push((message as { incarnation: string }).incarnation);
      const host = actorHost({
        address: OWNER,
        actor,
        journal: journals<number>(OWNER),
        clock,
        outbox: { send, publish() {}, local() {}, setEpoch() {} },
        maxMailbox: 100_000,
        onFailure: ({ message }) => failures.push(message),
      });
      await host.start(tenure);
      // As whoever keeps its lease does.
      const renewals = setInterval(() => host.resume(), 20);
      const one: Owner = {
        told,
        failures,
        async note(...numbers) {
          for (const n of numbers) {
            host.deliver({ type: 'note', n } as never, 'test');
            await until('it is acknowledged', () => failures.length > 0 || out.includes(`${n}`));
            assert.equal(failures, []);
          }
        },
        async kill() {
          clearInterval(renewals);
          await host.stop();
        },
        async end() {
          await host.drained();
          await one.kill();
        },
      };
      owners.push(one);
      return one;
    }
    async function known(): Promise<number[]> {
      const journal = jetStreamJournals({ bus, clock, subjects: subjectsOf('cw') })<number>(OWNER);
      const { snapshot, records } = await journal.open();
      await journal.close();
      return [...(snapshot === null ? [] : actor.restore(snapshot).known), ...records];
    }
    try {
      await body({ server, bus, streams, owner, known });
    } finally {
      await Promise.all(owners.map((one) => one.kill()));
      await bus.close();
      await server.stop();
    }
  });
}

const MENDED = ['journal-damaged', 'journal-mended'];
const mended = (owner: Owner, times = 1) =>
  until('it is mended', () => owner.told.filter((code) => code === 'journal-mended').length >= times, 15_000);

const DAMAGES: readonly (readonly [string, (stage: Stage) => Promise<unknown>])[] = [
  ['purged', ({ streams }) => streams.purge(STREAM)],
  ['purged in part', ({ streams }) => streams.purge(STREAM, { seq: 3 })],
  ['robbed of an entry', ({ streams }) => streams.deleteMessage(STREAM, 3)],
  ['robbed of its last entry', ({ streams }) => streams.deleteMessage(STREAM, 4)],
  ['deleted', ({ streams }) => streams.delete(STREAM)],
  [
    'deleted and made anew',
    async ({ streams }) => {
      await streams.delete(STREAM);
      await streams.add({ name: STREAM, subjects: [SUBJECT] });
    },
  ],
];

for (const [what, damage] of DAMAGES) {
  test(
    `journal upkeep - a journal that is ${what} while its owner runs is mended, whether the owner records or not`,
    onStage(async (stage) => {
      const { owner, known } = stage;
      const idle = await owner();
      await idle.note(1, 2, 3);
      await damage(stage);
      await mended(idle);
      assert.equal(idle.told, MENDED);
      assert.equal(await known(), [1, 2, 3]);
      await idle.kill();
      const busy = await owner();
      await busy.note(4, 5, 6);
      const { state } = await stage.streams.info(STREAM);
      await (what.startsWith('robbed')
        ? stage.streams.deleteMessage(STREAM, state.last_seq - (what.includes('last') ? 0 : 1))
        : what.endsWith('part')
          ? stage.streams.purge(STREAM, { seq: state.last_seq })
          : damage(stage));
      await busy.note(7, 8);
      await mended(busy);
      await busy.note(9);
      assert.equal(await known(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }),
  );
}

for (const [what, damage] of DAMAGES) {
  test(
    `journal upkeep - a journal that is ${what} is mended before its owner ends in order, also between two looks`,
    onStage(async (stage) => {
      const one = await stage.owner({ lookEveryMs: 60_000 });
      await one.note(1, 2, 3);
      await damage(stage);
      await one.end();
      assert.equal(one.told, MENDED);
      assert.equal(await stage.known(), [1, 2, 3]);
    }),
  );
}

test(
  'journal upkeep - who ends in order asks once where nothing is missing, and waits a second where nobody answers',
  onStage(async ({ bus, server, owner, known }) => {
    const proxy = await startProxy(server.port);
    const by = await connectNats({ servers: proxy.url, name: 'upkeep', onError() {} });
    try {
      const looks = bus.connection.subscribe(`$JS.API.STREAM.INFO.${STREAM}`);
      const one = await owner({ lookEveryMs: 60_000, bus: by });
      await one.note(1);
      const before = looks.getReceived();
      await one.end();
      assert.is(looks.getReceived(), before + 1);
      const next = await owner({ lookEveryMs: 60_000, bus: by });
      await next.note(2);
      proxy.cut();
      const begun = clock.monotonic();
      await next.end();
      const tookMs = clock.monotonic() - begun;
      assert.ok(tookMs > 900 && tookMs < 4_500, `in ${tookMs} ms`);
      proxy.mend();
      assert.equal(await known(), [1, 2]);
    } finally {
      await by.close();
      await proxy.close();
    }
  }),
);

test(
  'journal upkeep - who ends in order waits for a mend that is under way',
  onStage(async ({ streams, owner, known }) => {
    const one = await owner();
    const numbers = Array.from({ length: 300 }, (_, n) => n);
    await one.note(...numbers);
    await streams.purge(STREAM);
    await until('it is damaged', () => one.told.length > 0, 10_000);
    await one.end();
    assert.equal(one.told, MENDED);
    assert.equal(await known(), numbers);
  }),
);

test(
  'journal upkeep - a snapshot that is removed is taken again, also one that is being taken',
  onStage(async ({ streams, owner, known }) => {
    const one = await owner();
    const numbers = Array.from({ length: 300 }, (_, n) => n);
    await one.note(...numbers);
    for (let times = 1; times < 6; times += 1) {
      await streams.purge(STREAM);
      if (times % 2 === 0)
        await eventually('a part stands', async () => (await streams.info(STREAM)).state.messages > 0);
      if (times % 2 === 0) await streams.purge(STREAM);
      await mended(one, times);
    }
    assert.equal(await known(), numbers);
  }),
);

test(
  'journal upkeep - a stream that is set to lose entries is told of while its owner runs, and what it drops is written anew',
  onStage(async ({ streams, owner, known }) => {
    const one = await owner();
    await one.note(1, 2, 3);
    const { config } = await streams.info(STREAM);
    await streams.update(STREAM, { ...config, max_msgs: 2 });
    await mended(one);
    await one.note(4);
    await one.note(5);
    await one.note(6);
    await mended(one, 2);
    await streams.update(STREAM, config);
    assert.equal(await known(), [1, 2, 3, 4, 5, 6]);
    assert.equal(one.told, ['journal-unfit', ...MENDED, ...MENDED]);
  }),
);

test(
  'journal upkeep - a snapshot for which the stream has no room is not written again without a pause',
  onStage(async ({ bus, streams, owner }) => {
    const one = await owner({ lookEveryMs: 500 });
    await one.note(...Array.from({ length: 150 }, (_, n) => n));
    const { config } = await streams.info(STREAM);
    await streams.update(STREAM, { ...config, max_bytes: 300_000 });
    const looked = bus.connection.subscribe(`$JS.API.STREAM.INFO.${STREAM}`);
    await streams.purge(STREAM);
    await until('it is damaged', () => one.told.includes('journal-damaged'), 10_000);
    const before = looked.getReceived();
    const begun = clock.monotonic();
    await until('it was written often', () => looked.getReceived() >= before + 20, 10_000);
    assert.ok(clock.monotonic() - begun > 2_500, `in ${clock.monotonic() - begun} ms`);
    assert.equal(new Set(one.told), new Set(['journal-unfit', 'journal-damaged']));
  }),
);

test(
  'journal upkeep - who has lost the lease or the journal writes nothing over what the next owner has',
  onStage(async ({ streams, owner, known }) => {
    let holds = true;
    const before = await owner({ tenure: { epoch: 1, holds: () => holds } });
    await before.note(1, 2, 3);
    holds = false;
    await streams.delete(STREAM);
    const { length } = before.told;
    await until('it has looked', () => before.told.length > length || before.failures.length > 0, 300).catch(() => {});
    assert.is((await failureOf(() => streams.info(STREAM))).message, 'stream not found');
    holds = true;
    await mended(before);
    const next = await owner({ tenure: { epoch: 9, holds: () => true } });
    await next.note(4);
    await streams.purge(STREAM);
    await mended(next);
    // It takes itself for the owner still, and is not.
    await eventually('the one before knows that it is replaced', async () => {
      if (before.failures.length === 0) await before.note(666).catch(() => {});
      return before.failures.length > 0;
    });
    assert.equal(await known(), [1, 2, 3, 4]);
  }),
);

test(
  'journal upkeep - who owned a journal before its successor made the stream anew reads it when its turn comes again',
  onStage(async ({ bus, streams, owner }) => {
    const journal = jetStreamJournals({ bus, clock, subjects: subjectsOf('cw') })<number>(OWNER);
    await journal.open(held);
    for (const n of [1, 2, 3, 4, 5, 6, 7]) {
      await new Promise((resolve) => {
        journal.append([n], resolve);
      });
    }
    await journal.close();
    const next = await owner({ tenure: { epoch: 9, holds: () => true } });
    await next.note(8);
    await streams.delete(STREAM);
    await mended(next);
    await next.kill();
    const { snapshot, records } = await journal.open({ epoch: 20, holds: () => true });
    assert.equal([...actor.restore(snapshot ?? []).known, ...records], [1, 2, 3, 4, 5, 6, 7, 8]);
    await journal.close();
    // What is made anew by nobody that knows what was there is none of it.
    await streams.delete(STREAM);
    await streams.add({ name: STREAM, subjects: [SUBJECT] });
    assert.is(((await failureOf(() => journal.open(held))) as CellwrightError).code, 'journal-lost');
  }),
);

for (const isEmpty of [true, false]) {
  test(
    `journal upkeep - who was suspended while another owner came writes nothing into a stream that ${isEmpty ? 'is empty' : 'is gone'} since`,
    onStage(async ({ streams, owner, known }) => {
      let confirmed = 0;
      // Its clock has stood still, and the lease is another's.
      async function confirm(): Promise<boolean> {
        confirmed += 1;
        return false;
      }
      const before = await owner({ tenure: { epoch: 1, holds: () => true, confirm } });
      await before.note(1, 2, 3);
      const next = await owner({ tenure: { epoch: 9, holds: () => true }, lookEveryMs: 60_000 });
      await next.note(4);
      await streams.delete(STREAM);
      if (isEmpty) await streams.add({ name: STREAM, subjects: [SUBJECT] });
      await next.kill();
      await until('it has asked for its lease', () => confirmed > 1, 10_000);
      assert.equal(before.told, []);
      assert.is(((await failureOf(known)) as CellwrightError).code, 'journal-lost');
    }),
  );
}

for (const why of ['has lost its lease', 'was closed']) {
  test(
    `journal upkeep - no stream is made anew once its owner ${why} while the server was asked`,
    onStage(async ({ bus, streams }) => {
      const journal = jetStreamJournals({ bus, clock, subjects: subjectsOf('cw') })<number>(OWNER);
      let isOpen = false;
      let asked = 0;
      // It is asked before the server is, and after.
      function holds(): boolean {
        if (!isOpen) return true;
        asked += 1;
        if (why === 'was closed') void journal.close();
        return why === 'was closed' || asked === 1;
      }
      await journal.open({ epoch: 1, holds });
      isOpen = true;
      await streams.delete(STREAM);
      journal.append([1], () => {});
      await until('it was asked', () => asked > 0);
      for (let times = 0; times < 10; times += 1) {
        assert.is((await failureOf(() => streams.info(STREAM))).message, 'stream not found');
      }
      await journal.close();
    }),
  );
}

test(
  'journal upkeep - before all is written anew nobody takes what is there for the journal',
  onStage(async ({ bus, streams, known }) => {
    const journal = jetStreamJournals({ bus, clock, subjects: subjectsOf('cw') })<number>(OWNER);
    await journal.open(held);
    const append = (n: number) =>
      new Promise<void>((resolve, reject) => {
        journal.append([n], (error) => (error === null ? resolve() : reject(error)));
      });
    for (const n of [1, 2, 3]) await append(n);
    await streams.delete(STREAM);
    await streams.add({ name: STREAM, subjects: [SUBJECT] });
    const empty = (await failureOf(known)) as CellwrightError;
    assert.is(empty.code, 'journal-lost');
    assert.match(empty.message, /is gone.*nats kv del cw_deployment journal\.cell\.c1/);
    await append(4);
    assert.ok(journal.wantsSnapshot);
    assert.is((await streams.info(STREAM)).state.messages, 1);
    assert.is(((await failureOf(known)) as CellwrightError).code, 'journal-lost');
    await new Promise<void>((resolve) => {
      journal.beginSnapshot().add({ known: [1, 2, 3, 4].map((n) => [n]) }, true, resolve);
    });
    assert.equal(await known(), [1, 2, 3, 4]);
    await journal.close();
  }),
);

test(
  'journal upkeep - a journal that has all that is needed is asked about once in a while, and nothing is said of it',
  onStage(async ({ bus, streams, owner, known }) => {
    const asked: string[] = [];
    const subscription = bus.connection.subscribe('$JS.API.>', {
      callback: (_error, { subject }) => void asked.push(subject),
    });
    const one = await owner();
    await one.note(1);
    asked.length = 0;
    await until('it was asked five times', () => asked.length >= 5);
    assert.equal(new Set(asked), new Set([`$JS.API.STREAM.INFO.${STREAM}`]));
    subscription.unsubscribe();
    // What is none of its own may go: it ends with that, as before.
    bus.connection.publish(SUBJECT, 'hello');
    await bus.flush();
    const { state } = await streams.info(STREAM);
    await streams.deleteMessage(STREAM, state.last_seq);
    await one.kill();
    assert.equal(one.told, []);
    const { message } = await failureOf(known);
    const [, key = '', note = ''] = /nats kv put cw_deployment (\S+) '(.+)'$/.exec(message) ?? [];
    await (await bus.connection.jetstream().views.kv('cw_deployment')).put(key, note);
    const next = await owner();
    await next.note(2);
    const looked = bus.connection.subscribe(`$JS.API.STREAM.INFO.${STREAM}`);
    for await (const _ of looked) if (looked.getProcessed() >= 6) break;
    assert.equal(next.told, [], 'of strays that were removed');
    assert.equal(await known(), [1, 2]);
  }),
);

/** As who restores a backup does: the stream is what it was when it had so many entries. */
async function restoreTo({ bus, streams }: Stage, last: number): Promise<void> {
  const entries = [];
  for (let seq = 1; seq <= last; seq += 1) entries.push(await streams.getMessage(STREAM, { seq }));
  await streams.delete(STREAM);
  await streams.add({ name: STREAM, subjects: [SUBJECT] });
  for (const { data, header } of entries) {
    const headers = { 'Nats-Msg-Id': header.get('Nats-Msg-Id') };
    await bus.request(SUBJECT, data, { timeoutMs: 5_000, headers });
  }
}

test(
  'journal upkeep - a backup of its journal that is put in its place while an owner runs is mended, whoever wrote it',
  onStage(async (stage) => {
    const first = await stage.owner();
    await first.note(1, 2);
    await first.kill();
    for (const [times, isBusy] of [false, true].entries()) {
      const next = await stage.owner();
      await next.note(3 + 2 * times);
      await restoreTo(stage, 2);
      if (isBusy) await next.note(4 + 2 * times);
      await mended(next);
      assert.equal(next.told, MENDED);
      if (!isBusy) await next.note(4 + 2 * times);
      assert.equal(await stage.known(), [1, 2, 3, 4, 5, 6].slice(0, 4 + 2 * times));
      await next.kill();
      if (times === 0) {
        // The backup of the next round is to be of an epoch before as well.
        await stage.streams.delete(STREAM);
        await (await stage.bus.connection.jetstream().views.kv('cw_deployment')).delete('journal.cell.c1');
        const again = await stage.owner();
        await again.note(1, 2, 3, 4);
        await again.kill();
      }
    }
  }),
);

test(
  'journal upkeep - who takes itself for the owner still does not go on where its successor was, though all was purged',
  onStage(async ({ streams, owner }) => {
    const before = await owner({ lookEveryMs: 60_000 });
    await before.note(1);
    const next = await owner({ tenure: { epoch: 9, holds: () => true }, lookEveryMs: 60_000 });
    await streams.purge(STREAM);
    await failureOf(() => before.note(666));
    await next.note(2);
    assert.is(before.failures.length, 1);
    assert.equal(next.failures, []);
  }),
);

/** One that needs the entries from 1 to 60. */
function upkeepAt(by: Clock, info: () => Promise<object>, told: string[] = []): Upkeep {
  return upkeepOf({
    clock: by,
    streams: { info } as never,
    stream: STREAM,
    owner: OWNER,
    created: 'then',
    needed: 1,
    everyMs: 20_000,
    lastStored: () => 60,
    straysOf: () => Promise.resolve([]),
    faultOf: () => null,
    lookAtTail: () => Promise.resolve(false),
    wantSnapshot() {},
    onWell() {},
    onError: ({ code }) => told.push(code),
  });
}

/** Lets the next of what waits happen, and what comes of it. */
async function stepped(passing: VirtualClock): Promise<void> {
  passing.step();
  for (let turn = 0; turn < 20; turn += 1) await null;
}

test('journal upkeep - a look that is not answered is given up and soon repeated, and rarely while the server is long away', async () => {
  const passing = virtualClock();
  const asked: number[] = [];
  const upkeep = upkeepAt(passing, () => {
    asked.push(Math.round(passing.monotonic() / 1_000));
    const state = { first_seq: 1, last_seq: 60, messages: 60 };
    const answer = { created: 'then', config: {}, state };
    if (asked.length % 10 === 0) return Promise.resolve(answer);
    return asked.length % 2 === 0 ? Promise.reject(new Error('no leader')) : new Promise(() => {});
  });
  while (asked.length < 12) await stepped(passing);
  upkeep.stop();
  const pauses = asked.slice(1).map((at, look) => at - (asked[look] as number));
  assert.equal(pauses, [3, 2, 6, 8, 18, 20, 22, 20, 22, 20, 3]);
});

test('journal upkeep - a snapshot that was taken because it was due is no reason to look at once', async () => {
  const passing = virtualClock();
  const asked: number[] = [];
  const upkeep = upkeepAt(passing, () => {
    asked.push(Math.round(passing.monotonic() / 1_000));
    return Promise.resolve({ created: 'then', config: {}, state: { first_seq: 1, last_seq: 60, messages: 60 } });
  });
  while (asked.length < 3) {
    const coming = upkeep.begun();
    coming.first = 50;
    assert.ok(upkeep.ended(coming));
    await stepped(passing);
  }
  upkeep.stop();
  const pauses = asked.slice(1).map((at, look) => at - (asked[look] as number));
  assert.equal(pauses, [20, 20]);
});

test('journal upkeep - a loss is believed when it is told of twice, a second apart: a server that leads no more may tell of it', async () => {
  for (const [firsts, expected] of [
    [[1, 50, 1, 50, 1], []],
    [[1, 50, 'nothing', 50, 1], []],
    [[1, 50, 'of before', 50, 1], []],
    [
      [1, 50, 50, 50, 1],
      ['journal-damaged', 'journal-mended'],
    ],
  ] as const) {
    const passing = virtualClock();
    const told: string[] = [];
    let looks = 0;
    const info = () => {
      const said = firsts[Math.min(looks, firsts.length - 1)];
      looks += 1;
      if (said === 'nothing') return Promise.reject(new Error('no answer'));
      const [first_seq, last_seq] = said === 'of before' ? [1, 50] : [said as number, 60];
      const messages = last_seq - first_seq + 1;
      return Promise.resolve({ created: 'then', config: {}, state: { first_seq, last_seq, messages } });
    };
    const upkeep = upkeepAt(passing, info, told);
    while (looks < firsts.length) await stepped(passing);
    upkeep.stop();
    assert.equal(told, expected);
  }
});

test.run();
