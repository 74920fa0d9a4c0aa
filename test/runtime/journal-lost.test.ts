// Journals of which something is missing: deleted by an operator, lost with the server's storage, emptied, or set to drop
// what they keep. Whoever opens one is told so by name; nobody goes on with less than was acknowledged.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectNats, type NatsBus } from '../../runtime/bus/nats.ts';
import type { CellwrightError } from '../../runtime/errors.ts';
import { jetStreamJournals } from '../../runtime/journal/jetstream.ts';
import type { Journal, Journals } from '../../runtime/journal/journal.ts';
import { madeJournals } from '../../runtime/journal/made.ts';
import { readStream } from '../../runtime/journal/reading.ts';
import { type StreamOptions, streamOf } from '../../runtime/journal/stream.ts';
import type { NatsServerOptions } from '../../runtime/nats-server/options.ts';
import { type NatsServer, startNatsServer } from '../../runtime/nats-server/server.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { freePort } from '../support/ports.ts';
import { failureOf, until } from '../support/until.ts';

interface Noted {
  n: number;
  text?: string;
}

const test = suite('journal-lost');
const OWNER = 'cell/c1';
const STREAM = 'cw-cell-c1-journal';
const clock = systemClock();
/** Room for the journal of one owner, and the bucket beside it. */
const ACCOUNT_OF_TWO_STREAMS = `accounts { one { jetstream: { max_streams: 2 }, users: [{ user: one, password: one }] } }
no_auth_user: one
`;

const ACCOUNT_OF_60_KB = `accounts { one { jetstream: { max_file: 60000 }, users: [{ user: one, password: one }] } }
no_auth_user: one
`;

interface Stage {
  readonly bus: NatsBus;
  /** The journals of one more process. */
  process(onError?: (error: CellwrightError) => void, replicas?: number, bus?: NatsBus): Journals;
  streams: Awaited<ReturnType<NatsBus['connection']['jetstreamManager']>>['streams'];
  /** Kills the server and starts it again, with other settings, or with nothing left of what it stored. */
  replaceServer(options: { keepsStorage: boolean; meanwhile?: () => void } & NatsServerOptions): Promise<void>;
}

function onStage(body: (stage: Stage) => Promise<void>): () => Promise<void> {
  return async () => {
    const folder = await mkdtemp(join(tmpdir(), 'cellwright-test-'));
    const port = await freePort();
    let server: NatsServer = await startNatsServer({ dataDir: join(folder, 'first'), port });
    const bus = await connectNats({
      servers: server.url,
      name: 'journal-lost',
      reconnectWaitMs: 20,
      reconnectJitterMs: 20,
      onError() {},
    });
    const opened: Journal<unknown>[] = [];
    const { streams } = await bus.connection.jetstreamManager();
    try {
      await body({
        bus,
        streams,
        process(onError = () => {}, replicas = 1, by = bus) {
          const journals = jetStreamJournals({ bus: by, clock, subjects: subjectsOf('cw'), onError, replicas });
          return <R>(owner: string): Journal<R> => {
            const journal = journals<R>(owner);
            opened.push(journal as Journal<unknown>);
            return journal;
          };
        },
        async replaceServer({ keepsStorage, meanwhile, ...options }) {
          globalThis.process.kill(server.pid, 'SIGKILL');
          await server.stop();
          meanwhile?.();
          const dataDir = join(folder, keepsStorage ? 'first' : 'second');
          server = await startNatsServer({ dataDir, port, ...options });
        },
      });
    } finally {
      await Promise.all(opened.map((journal) => journal.close()));
      await bus.close();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    }
  };
}

function append(journal: Journal<Noted>, ...records: Noted[]): Promise<void> {
  return new Promise((resolve, reject) => {
    journal.append(records, (error) => (error === null ? resolve() : reject(error)));
  });
}

/** A journal with three turns, in a process that has it open. */
async function written(journals: Journals): Promise<Journal<Noted>> {
  const journal = journals<Noted>(OWNER);
  await journal.open();
  for (const n of [1, 2, 3]) await append(journal, { n });
  return journal;
}

/** A bus by which something happens as soon as it was told for the first time how a stream stands. */
function withHook(bus: NatsBus, hook: () => Promise<void>): NatsBus {
  const { connection } = bus;
  let isFirst = true;
  const jetstreamManager = async () => {
    const manager = await connection.jetstreamManager();
    const { streams } = manager;
    const info = async (stream: string) => {
      const told = await streams.info(stream);
      if (isFirst) {
        isFirst = false;
        await hook();
      }
      return told;
    };
    return Object.create(manager, { streams: { value: Object.create(streams, { info: { value: info } }) } });
  };
  return Object.create(bus, {
    connection: { value: Object.create(connection, { jetstreamManager: { value: jetstreamManager } }) },
  });
}

/** A bus by which the server that leads a stream says that its entries have other numbers than in the copy that is read. */
function shifted(bus: NatsBus): NatsBus {
  const { connection } = bus;
  const jetstreamManager = async () => {
    const manager = await connection.jetstreamManager();
    const { streams } = manager;
    const getMessage: typeof streams.getMessage = (stream, query) =>
      streams.getMessage(stream, typeof query !== 'number' && 'seq' in query ? { seq: query.seq - 1 } : query);
    return Object.create(manager, {
      streams: { value: Object.create(streams, { getMessage: { value: getMessage } }) },
    });
  };
  return Object.create(bus, {
    connection: { value: Object.create(connection, { jetstreamManager: { value: jetstreamManager } }) },
  });
}

/** A bus by which some consumers are given a copy without the first entries, as of a server that was killed. */
function lacking(bus: NatsBus, consumers: number): NatsBus {
  const { connection } = bus;
  let left = consumers;
  const jetstreamManager = async () => {
    const manager = await connection.jetstreamManager();
    const add: typeof manager.consumers.add = (stream, config) => {
      left -= 1;
      return manager.consumers.add(stream, left < 0 ? config : { ...config, opt_start_seq: 3 });
    };
    return Object.create(manager, { consumers: { value: Object.create(manager.consumers, { add: { value: add } }) } });
  };
  return Object.create(bus, {
    connection: { value: Object.create(connection, { jetstreamManager: { value: jetstreamManager } }) },
  });
}

const refusal = async (work: () => unknown) => (await failureOf(work)) as CellwrightError;

test(
  'journal-lost - an owner whose stream is deleted stops, and nobody begins anew until an operator says so',
  onStage(async ({ bus, streams, process }) => {
    const here = process();
    const journal = await written(here);
    await streams.delete(STREAM);
    const error = await refusal(() => append(journal, { n: 4 }));
    assert.equal([error.code, error.retryable], ['journal-lost', false]);
    for (const journals of [here, process()]) {
      const again = await refusal(() => journals<Noted>(OWNER).open());
      assert.is(again.code, 'journal-lost');
      assert.match(again.message, /journal 'cw-cell-c1-journal' is gone.*nats kv del cw_deployment journal\.cell\.c1/);
    }
    assert.equal([...(await process()<Noted>('cell/c2').open()).records], [], 'a new owner begins with nothing');

    await (await bus.connection.jetstream().views.kv('cw_deployment')).delete('journal.cell.c1');
    const anew = process()<Noted>(OWNER);
    assert.equal([...(await anew.open()).records], []);
    await append(anew, { n: 5 });
    // A process that knows better takes the new stream for what it is.
    assert.is((await refusal(() => here<Noted>(OWNER).open())).code, 'journal-lost');
  }),
);

test(
  'journal-lost - a copy that is read and ends otherwise than that of the server that leads is not taken for the journal',
  onStage(async ({ bus, process }) => {
    await written(process());
    const { code, retryable, message } = await refusal(() => process(undefined, 1, shifted(bus))<Noted>(OWNER).open());
    assert.equal([code, retryable], ['journal-stalled', true]);
    assert.match(
      message,
      /^entry 4 of journal '.*' is '1-3' in one copy and '1-2' in that of the server that leads it/,
    );
    assert.is([...(await process()<Noted>(OWNER).open()).records].length, 3);
  }),
);

test(
  'journal-lost - nor are strays of such a copy told or kept in mind, whose numbers are those of other entries elsewhere',
  onStage(async ({ bus, process }) => {
    await written(process());
    await bus.request('cw.cell.c1.journal', Buffer.from('stray'), { timeoutMs: 5_000 });
    const { code } = await refusal(() => process(undefined, 1, shifted(bus))<Noted>(OWNER).open());
    const made = madeJournals({ bus, subjects: subjectsOf('cw'), replicas: 1 });
    assert.equal([code, await made.straysOf(OWNER)], ['journal-stalled', []]);
    const { message } = await refusal(() => process()<Noted>(OWNER).open());
    assert.match(message, /^entry 5 of journal '.*' is one that no owner wrote/);
    assert.equal(await made.straysOf(OWNER), [[5, 5]]);
  }),
);

test(
  'journal-lost - entries that one copy lacks are looked for in another before they count as lost',
  onStage(async ({ bus, process }) => {
    await written(process());
    // What two consumers leave out counts as not there.
    const { code } = await refusal(() => process(undefined, 1, lacking(bus, 100))<Noted>(OWNER).open());
    assert.is(code, 'journal-lost');
    const { records } = await process(undefined, 1, lacking(bus, 2))<Noted>(OWNER).open();
    assert.equal([...records], [{ n: 1 }, { n: 2 }, { n: 3 }]);
  }),
);

for (const [what, bodyOf] of [
  ['the same', 4],
  ['something else', 3],
] as const) {
  test(
    `journal-lost - an entry that the server has stored once more, which says ${what}`,
    onStage(async ({ bus, streams, process }) => {
      await written(process());
      const { config } = await streams.info(STREAM);
      await streams.update(STREAM, { ...config, duplicate_window: 100_000_000 });
      const last = await streams.getMessage(STREAM, { seq: 4 });
      const { data: body } = await streams.getMessage(STREAM, { seq: bodyOf });
      const headers = { 'Nats-Msg-Id': last.header.get('Nats-Msg-Id') };
      for (let isStored = false; !isStored; ) {
        const { data } = await bus.request('cw.cell.c1.journal', body, { timeoutMs: 5_000, headers });
        isStored = JSON.parse(Buffer.from(data).toString()).duplicate !== true;
      }
      assert.is((await streams.info(STREAM)).state.last_seq, 5);
      const journal = process()<Noted>(OWNER);
      if (bodyOf !== last.seq) return assert.is((await refusal(() => journal.open())).code, 'journal-lost');
      assert.equal([...(await journal.open()).records], [{ n: 1 }, { n: 2 }, { n: 3 }]);
      await append(journal, { n: 4 });
      const again = await process()<Noted>(OWNER).open();
      assert.equal([...again.records], [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
    }),
  );
}

test(
  'journal-lost - after a server lost its storage those who had a journal open miss it',
  onStage(async ({ process, replaceServer }) => {
    const here = process();
    const journal = await written(here);
    await replaceServer({ keepsStorage: false });
    assert.is((await refusal(() => append(journal, { n: 4 }))).code, 'journal-lost');
    assert.is((await refusal(() => here<Noted>(OWNER).open())).code, 'journal-lost');
  }),
);

test(
  'journal-lost - a journal that was emptied, or lacks an entry, is not opened',
  onStage(async ({ streams, process }) => {
    await written(process());
    await streams.deleteMessage(STREAM, 3);
    const lacks = await refusal(() => process()<Noted>(OWNER).open());
    assert.equal(
      [lacks.code, lacks.message],
      ['journal-lost', `journal '${STREAM}' lacks entries that no snapshot stands for`],
    );
    await streams.purge(STREAM, { seq: 3 });
    assert.is((await refusal(() => process()<Noted>(OWNER).open())).code, 'journal-lost', 'its beginning is gone');
    await streams.purge(STREAM);
    const empty = await refusal(() => process()<Noted>(OWNER).open());
    assert.equal([empty.code, empty.message], ['journal-lost', `journal '${STREAM}' had 4 entries and has none`]);
  }),
);

test(
  'journal-lost - what no owner wrote is named, with the way to remove it, and the journal goes on without it',
  onStage(async ({ bus, streams, process }) => {
    const journal = await written(process());
    const publish = (text: string) => bus.connection.publish('cw.cell.c1.journal', text);
    publish('hello');
    publish('{"v":1,"kind":"epoch","epoch":99}');
    const fenced = await refusal(() => append(journal, { n: 4 }));
    assert.equal(
      [fenced.code, fenced.message],
      ['fenced', `an entry that no owner wrote stands in journal '${STREAM}': entry 6`],
    );
    const unreadable = await refusal(() => process()<Noted>(OWNER).open());
    assert.equal([unreadable.code, unreadable.retryable], ['journal-unreadable', false]);
    assert.match(
      unreadable.message,
      /entry 5 .* no owner wrote.* nats stream rmm cw-cell-c1-journal 5; and so 1 more$/,
    );
    await streams.deleteMessage(STREAM, 6);
    assert.is((await refusal(() => process()<Noted>(OWNER).open())).code, 'journal-unreadable');
    await streams.deleteMessage(STREAM, 5);
    const mended = process()<Noted>(OWNER);
    assert.is([...(await mended.open()).records].length, 3);
    await append(mended, { n: 4 });
    assert.is([...(await process()<Noted>(OWNER).open()).records].length, 4);

    publish('again');
    await bus.flush();
    const { state } = await streams.info(STREAM);
    await refusal(() => process()<Noted>(OWNER).open());
    await streams.deleteMessage(STREAM, state.last_seq);
    assert.is([...(await process()<Noted>(OWNER).open()).records].length, 4, 'more than once');
  }),
);

test(
  'journal-lost - of whatever number strays are, the journal goes on once they are removed',
  onStage(async ({ bus, streams, process }) => {
    await written(process());
    for (let n = 0; n < 1_100; n += 1) bus.connection.publish('cw.cell.c1.journal', 'hello');
    await bus.flush();
    const { message } = await refusal(() => process()<Noted>(OWNER).open());
    assert.match(message, /entry 5 .*; and so 1099 more$/);
    await Promise.all(Array.from({ length: 1_100 }, (_, n) => streams.deleteMessage(STREAM, 5 + n)));
    assert.is([...(await process()<Noted>(OWNER).open()).records].length, 3);
  }),
);

test(
  'journal-lost - one in which nothing but strays ever stood goes on once they are removed',
  onStage(async ({ bus, streams, process }) => {
    await streams.add({ name: STREAM, subjects: ['cw.cell.c1.journal'], duplicate_window: 120e9 } as never);
    for (let n = 0; n < 2; n += 1) bus.connection.publish('cw.cell.c1.journal', 'hello');
    await bus.flush();
    const { code } = await refusal(() => process()<Noted>(OWNER).open());
    assert.is(code, 'journal-unreadable');
    for (const seq of [1, 2]) await streams.deleteMessage(STREAM, seq);
    assert.equal([...(await process()<Noted>(OWNER).open()).records], []);
    await written(process());
    assert.is([...(await process()<Noted>(OWNER).open()).records].length, 3, 'what begins after them lacks nothing');
    await streams.deleteMessage(STREAM, 3);
    assert.is((await refusal(() => process()<Noted>(OWNER).open())).code, 'journal-lost');
  }),
);

test(
  'journal-lost - an owner notices that an entry was removed of which it knew nothing, and waits for nobody',
  onStage(async ({ bus, streams, process }) => {
    const journal = await written(process());
    bus.connection.publish('cw.cell.c1.journal', 'hello');
    await bus.flush();
    await streams.deleteMessage(STREAM, 5);
    assert.is((await refusal(() => append(journal, { n: 4 }))).code, 'fenced');
    const { code, message } = await refusal(() => process()<Noted>(OWNER).open());
    assert.is(code, 'journal-lost');
    assert.match(message, /nothing from 5 to 5 was the journal's own, say so: nats kv put/);
  }),
);

test(
  'journal-lost - last entries that are gone, and were not seen to be strays, are missed until an operator says so',
  onStage(async ({ bus, streams, process }) => {
    await written(process());
    bus.connection.publish('cw.cell.c1.journal', 'hello');
    await bus.flush();
    await refusal(() => process()<Noted>(OWNER).open());
    await streams.deleteMessage(STREAM, 5);
    await streams.deleteMessage(STREAM, 4);
    const { code, retryable, message } = await refusal(() => process()<Noted>(OWNER).open());
    assert.equal([code, retryable], ['journal-lost', false]);
    const [, key = '', note = ''] = /nats kv put cw_deployment (\S+) '(.+)'$/.exec(message) ?? [];
    assert.match(message, /ends with entry 3, and had entries to 5: entry 4 is gone/);
    await (await bus.connection.jetstream().views.kv('cw_deployment')).put(key, note);
    const journal = process()<Noted>(OWNER);
    assert.is([...(await journal.open()).records].length, 2);
    await append(journal, { n: 4 });
    assert.is([...(await process()<Noted>(OWNER).open()).records].length, 3);
  }),
);

/**
 * In an account that has room for a small entry, and none for a large one. A server of version 2.9 gives a number to the
 * large one, refuses it and removes it.
 */
const inFullAccount = (body: (stage: Stage & { makeRoom(): Promise<unknown> }) => Promise<void>) =>
  onStage(async (stage) => {
    const { bus, streams, replaceServer } = stage;
    await replaceServer({ keepsStorage: false, config: ACCOUNT_OF_60_KB });
    await bus.flush();
    await written(stage.process());
    await streams.add({ name: 'filler', subjects: ['filler'] });
    const isFull = async () => {
      const { data } = await bus.request('filler', new Uint8Array(2_000), { timeoutMs: 5_000 });
      return Buffer.from(data).includes('"error"');
    };
    while (!(await isFull()));
    await streams.deleteMessage('filler', 1);
    await body({ ...stage, makeRoom: () => streams.purge('filler') });
  });

const LARGE = { n: 4, text: 'x'.repeat(6_000) };
const numbersIn = async (journal: Journal<Noted>) => [...(await journal.open()).records].map(({ n }) => n);

test(
  'journal-lost - an owner whose account is full waits, and goes on when there is room',
  inFullAccount(async ({ process, makeRoom }) => {
    const told: string[] = [];
    const journal = process(({ code, message }) => told.push(`${code}: ${message}`))<Noted>(OWNER);
    await journal.open();
    const waiting = append(journal, LARGE);
    await until('the owner is told', () => told.length > 0);
    assert.match(told[0] ?? '', /^journal-refused: .*: resource limits exceeded for account; 'cell\/c1' waits for it$/);
    await makeRoom();
    await waiting;
    await append(journal, { n: 5 });
    assert.equal(await numbersIn(process()<Noted>(OWNER)), [1, 2, 3, 4, 5]);
  }),
);

test(
  'journal-lost - that there was a journal is known also where an account has no room to note more of it',
  inFullAccount(async ({ bus, streams }) => {
    const fill = async (size: number): Promise<{ seq: number; error?: unknown }> => {
      const { data } = await bus.request('filler', new Uint8Array(size), { timeoutMs: 5_000 });
      return JSON.parse(Buffer.from(data).toString());
    };
    // The largest that is taken leaves no room at all.
    let [taken, refused] = [0, 10_000];
    while (refused - taken > 1) {
      const size = Math.floor((taken + refused) / 2);
      const { seq, error } = await fill(size);
      if (error === undefined) await streams.deleteMessage('filler', seq);
      if (error === undefined) taken = size;
      else refused = size;
    }
    await fill(taken);
    const made = () => madeJournals({ bus, subjects: subjectsOf('cw'), replicas: 1 });
    assert.ok(await made().has(OWNER));
    await made()
      .noteStrays(OWNER, [[5, 8]])
      .catch(() => {});
    assert.ok(await made().has(OWNER));
  }),
);

test(
  'journal-lost - who takes over from an owner whose account is full misses nothing that was not acknowledged',
  inFullAccount(async ({ process }) => {
    const journal = process()<Noted>(OWNER);
    await journal.open();
    const waiting = refusal(() => append(journal, LARGE));
    const deadline = clock.monotonic() + 30_000;
    const opened = async (): Promise<number[]> => {
      try {
        return await numbersIn(process()<Noted>(OWNER));
      } catch (error) {
        // Between the refusal and the note of it.
        if ((error as CellwrightError).code !== 'journal-lost' || clock.monotonic() > deadline) throw error;
        return opened();
      }
    };
    await until('it is refused', () => journal.refusal !== undefined);
    assert.equal(await opened(), [1, 2, 3]);
    assert.is((await waiting).code, 'fenced');
  }),
);

test(
  'journal-lost - what is purged because a snapshot stands for it is not missed, also in the middle of a snapshot',
  onStage(async ({ streams, process }) => {
    const journal = await written(process());
    journal.beginSnapshot().add({ sum: 6, text: 'x'.repeat(1_200_000) }, true, () => {});
    await append(journal, { n: 4 });
    for (let first = 1; first < 5; ) first = (await streams.info(STREAM)).state.first_seq;
    const { snapshot, records } = await process()<Noted>(OWNER).open();
    assert.equal([(snapshot as [{ sum: number }])[0].sum, [...records]], [6, [{ n: 4 }]]);
    // A piece of the snapshot is no more.
    await streams.deleteMessage(STREAM, 6);
    assert.is((await refusal(() => process()<Noted>(OWNER).open())).code, 'journal-lost');
  }),
);

test(
  'journal-lost - what the owner of before purges while its journal is opened by another is not missed',
  onStage(async ({ bus, streams, process }) => {
    const before = await written(process());
    const purged = async () => {
      before.beginSnapshot().add({ sum: 6, text: 'x'.repeat(1_200_000) }, true, () => {});
      for (let first = 1; first < 5; ) first = (await streams.info(STREAM)).state.first_seq;
    };
    const journal = jetStreamJournals({ bus: withHook(bus, purged), clock, subjects: subjectsOf('cw') })<Noted>(OWNER);
    const { snapshot, records } = await journal.open();
    assert.equal([(snapshot as [{ sum: number }])[0].sum, [...records]], [6, []]);
    assert.is((await refusal(() => append(before, { n: 4 }))).code, 'fenced');
    await journal.close();
  }),
);

test(
  'journal-lost - a turn that is missing between the parts of a snapshot is missed',
  onStage(async ({ streams, process }) => {
    const journal = await written(process());
    const writer = journal.beginSnapshot();
    writer.add({ part: 0 }, false, () => {});
    await append(journal, { n: 4 });
    writer.add({ part: 1 }, true, () => {});
    await append(journal, { n: 5 });
    for (let first = 1; first < 5; ) first = (await streams.info(STREAM)).state.first_seq;
    const { snapshot, records } = await process()<Noted>(OWNER).open();
    assert.equal(
      [snapshot, [...records]],
      [
        [{ part: 0 }, { part: 1 }],
        [{ n: 4 }, { n: 5 }],
      ],
    );
    await streams.deleteMessage(STREAM, 6);
    assert.is((await refusal(() => process()<Noted>(OWNER).open())).code, 'journal-lost');
  }),
);

test(
  'journal-lost - an operator may change a stream, but not so that it drops entries',
  onStage(async ({ streams, process }) => {
    await written(process());
    const { config } = await streams.info(STREAM);
    await streams.update(STREAM, { ...config, description: 'the journal of a cell', max_msg_size: 1_000_000 });
    const told: CellwrightError[] = [];
    const journals = process((error) => told.push(error), 3);
    assert.is([...(await journals<Noted>(OWNER).open()).records].length, 3);
    assert.is(told.at(-1)?.code, 'fewer-replicas');
    await streams.update(STREAM, { ...config, max_age: 3_600_000_000_000 });
    const unfit = await refusal(() => process()<Noted>(OWNER).open());
    assert.is(unfit.code, 'journal-unfit');
    assert.match(unfit.message, /cannot be a journal: it drops entries by their age \(max_age\)$/);
  }),
);

test('journal-lost - a stream that would drop entries is no journal, in whichever way it is set to', async () => {
  const config = {
    ...{ subjects: ['cw.journal'], retention: 'limits', discard: 'old', num_replicas: 1, no_ack: false },
    ...{ max_age: 0, max_msgs: -1, max_bytes: -1, max_msgs_per_subject: -1 },
  };
  const made = { has: async () => true, note: async () => {} };
  const found = (change: object) => {
    const info = async () => ({ config: { ...config, ...change }, created: 'then', state: { last_seq: 3 } });
    const known = { subject: 'cw.journal', replicas: 1, known: undefined, onError: assert.unreachable };
    return streamOf({ streams: { info }, made, owner: OWNER, stream: STREAM, ...known } as unknown as StreamOptions);
  };
  for (const [change, why] of [
    [{ subjects: ['cw.other'] }, /does not take the subject 'cw\.journal'$/],
    [{ retention: 'workqueue' }, /its retention is 'workqueue', not 'limits'$/],
    [{ max_age: 1 }, /\(max_age\)$/],
    [{ max_msgs_per_subject: 1 }, /\(max_msgs_per_subject\)$/],
    [{ max_msgs: 1 }, /\(max_msgs\)$/],
    [{ max_bytes: 1 }, /\(max_bytes\)$/],
    [{ no_ack: true }, /\(no_ack\)$/],
  ] as const) {
    const { code, message } = await refusal(() => found(change));
    assert.is(code, 'journal-unfit');
    assert.match(message, why);
  }
  for (const change of [{}, { discard: 'new', max_msgs: 9, max_bytes: 9 }]) {
    assert.is((await found(change)).created, 'then', 'one that is full takes no more, and drops nothing');
  }
});

test(
  'journal-lost - a server that makes no stream is quoted, with the name of the journal',
  onStage(async ({ bus, process, replaceServer }) => {
    await replaceServer({ keepsStorage: false, config: ACCOUNT_OF_TWO_STREAMS });
    await bus.flush();
    await written(process());
    const error = await refusal(() => process()<Noted>('cell/c2').open());
    assert.is(error.code, 'jetstream-refused');
    assert.match(error.message, /refuses journal cw-cell-c2-journal: maximum number of streams reached/);
    const copies = await refusal(() => process(() => {}, 3)<Noted>('cell/c3').open());
    assert.match(copies.message, /^JetStream refuses .*cell-c3-journal.*/);
  }),
);

test(
  'journal-lost - entries that no longer fit what the server carries stop their owner, and the next opening makes smaller ones',
  onStage(async ({ process, replaceServer }) => {
    const here = process();
    const journal = await written(here);
    const large = Array.from({ length: 20 }, (_, n) => ({ n, text: 'x'.repeat(10_000) }));
    let refused: Promise<CellwrightError> | undefined;
    const meanwhile = () => {
      refused = refusal(() => append(journal, ...large));
    };
    await replaceServer({ keepsStorage: true, maxPayloadBytes: 64 * 1024, meanwhile });
    const error = await refused;
    assert.is(error?.code, 'journal-refused', error?.message);
    const again = here<Noted>(OWNER);
    assert.is([...(await again.open()).records].length, 3);
    await append(again, ...large);
    assert.is([...(await process()<Noted>(OWNER).open()).records].length, 23);
  }),
);

test(
  'journal-lost - reading is given up when the next entry does not come, or nobody wants it any more',
  onStage(async ({ bus, process }) => {
    await written(process());
    const stalled = await refusal(
      () => readStream({ bus, clock, stream: STREAM, last: 99, stalledAfterMs: 100 }).entries,
    );
    assert.equal([stalled.code, stalled.retryable], ['journal-stalled', true]);
    assert.match(stalled.message, /entry 5 does not come/);
    const reading = readStream({ bus, clock, stream: STREAM, last: 99 });
    const ended = failureOf(() => reading.entries);
    reading.stop();
    assert.is((await ended).code, 'journal-stalled');
  }),
);

test.run();
