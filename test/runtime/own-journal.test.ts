// Area: own journal. What a journal that a deployment brings itself does wrong neither holds its owner up nor ends the node.

import { runInNewContext } from 'node:vm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryBus } from '../../runtime/bus/memory.ts';
import { startNode, systemClock } from '../../runtime/index.ts';
import { type Journal, type Journals, noJournal } from '../../runtime/journal/journal.ts';
import { guardedJournal } from '../../runtime/journal/own-journal.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { quickDriver } from '../e2e/system.ts';
import { failureOf } from '../support/until.ts';

const test = suite('own journal');

type Append = Journal<number>['append'];

const own = (more: Partial<Journal<never>>): Journal<never> => ({ ...noJournal, ...more });

/** What an owner is told of an entry. */
async function toldOf(append: Append): Promise<(string | null)[]> {
  const told: (string | null)[] = [];
  const journal = guardedJournal(
    own({ append: append as Journal<never>['append'] }),
    'cell/c1',
    systemClock(),
  ) as Journal<number>;
  journal.append([1], (error) => told.push(error === null ? null : error.message));
  await new Promise((resolve) => setImmediate(resolve));
  return told;
}

test('own journal - of each entry the owner is told once that it is safe, and always that it is not', async () => {
  const twice: Append = (_records, done) => {
    done(null);
    done(null);
  };
  assert.equal(await toldOf(twice), [null]);
  const late: Append = (_records, done) => {
    done(null);
    done(new Error('the disk is full'));
  };
  assert.equal(await toldOf(late), [null, 'the disk is full']);
  assert.equal(await toldOf((_records, done) => done(undefined as never)), [null]);
  assert.equal(await toldOf((_records, done) => done('full' as never)), ["the journal of 'cell/c1' failed: full"]);
});

test('own journal - a promise that is rejected is an entry that is not safe', async () => {
  const unheard: unknown[] = [];
  const note = (reason: unknown) => unheard.push(reason);
  process.on('unhandledRejection', note);
  try {
    assert.equal(await toldOf(async () => Promise.reject(new Error('no disk'))), ['no disk']);
    assert.equal(await toldOf(async () => Promise.reject()), ['it does not say why']);
    const ofOtherRealm = (() => runInNewContext('Promise.reject("no disk there")')) as Append;
    assert.equal(await toldOf(ofOtherRealm), ["the journal of 'cell/c1' failed: no disk there"]);
    // As the promises of other libraries are.
    const method = 'then';
    const alike = { [method]: (_done: unknown, failed: (error: Error) => void) => failed(new Error('no disk either')) };
    assert.equal(await toldOf((() => alike) as Append), ['no disk either']);
    assert.equal(unheard, []);
  } finally {
    process.off('unhandledRejection', note);
  }
});

test('own journal - a node builds with one that says twice that an entry is safe', async () => {
  const bus = memoryBus({ clock: systemClock() });
  const journals = (() =>
    own({
      append(_records, done) {
        done(null);
        done(null);
      },
    })) as Journals;
  const node = await startNode({
    roles: ['placement', 'scheduler', 'conductor', 'cell:c1', 'compute:c1/h1'],
    driver: ({ cell, host }) => quickDriver(cell, host),
    bus,
    journals,
  });
  try {
    await node.client.build({ id: 'web', resources: { VCPU: 1 } });
    assert.is((await node.client.ended('web', { timeoutMs: 5_000 })).state, 'active');
  } finally {
    await node.stop();
    await bus.close();
  }
});

test('own journal - one that reads nothing is refused by the name of its owner', async () => {
  for (const read of [undefined, {}, { snapshot: null }, { snapshot: 'x', records: [] }]) {
    const journal = guardedJournal(own({ open: async () => read as never }), 'cell/c1', systemClock());
    const error = await failureOf(() => journal.open());
    assert.equal((error as unknown as { field: string }).field, 'journals');
    assert.match(error.message, /^open of the journal of 'cell\/c1' must answer/);
  }
});

test('own journal - a part of a snapshot that is not stored by and by is told with what comes next, once', async () => {
  const unheard: unknown[] = [];
  const note = (reason: unknown) => unheard.push(reason);
  process.on('unhandledRejection', note);
  try {
    const add = (async () => Promise.reject(new Error('no disk'))) as never;
    const journal = guardedJournal(own({ beginSnapshot: () => ({ add }) }), 'cell/c1', systemClock());
    const told: (Error | null)[] = [];
    assert.is(
      journal.beginSnapshot().add({}, true, () => {}),
      0,
    );
    await new Promise((resolve) => setImmediate(resolve));
    assert.throws(() => journal.append([], (error) => told.push(error)), /no disk/);
    journal.append([], (error) => told.push(error));
    assert.equal([told, unheard], [[null], []]);
  } finally {
    process.off('unhandledRejection', note);
  }
});

test('own journal - a part that fails after the journal was opened again is nothing to who opened it', async () => {
  let fail = (_error: Error) => {};
  const failing = new Promise((_resolve, reject) => {
    fail = reject;
  });
  const add = (() => failing) as never;
  const journal = guardedJournal(own({ beginSnapshot: () => ({ add }) }), 'cell/c1', systemClock());
  await journal.open();
  journal.beginSnapshot().add({}, true, () => {});
  await journal.close();
  await journal.open();
  fail(new Error('closed meanwhile'));
  await new Promise((resolve) => setImmediate(resolve));
  const told: (Error | null)[] = [];
  journal.append([], (error) => told.push(error));
  assert.equal(told, [null]);
});

test('own journal - one that does not close is passed over, so that its node can be stopped', async () => {
  const clock = virtualClock();
  const journal = guardedJournal(own({ close: () => new Promise(() => {}) }), 'cell/c1', clock);
  const closing = failureOf(() => journal.close());
  while (clock.step());
  assert.is((await closing).message, "the journal of 'cell/c1' was not closed within 10000 ms");
});

test.run();
