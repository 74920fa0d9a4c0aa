// Area: output gate. Records that nobody waits for travel with the next ones, or soon; nothing is let out before them.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AnyMessage } from '../../actors/messages/any.ts';
import { type Journal, noSnapshots } from '../../runtime/journal/journal.ts';
import { type Output, outputGate } from '../../runtime/output-gate.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';

const test = suite('output gate');

function gated({ refusing = false } = {}) {
  const clock = virtualClock();
  const out: string[] = [];
  const failures: string[] = [];
  const entries: { records: readonly number[]; done: (error: Error | null) => void }[] = [];
  const journal: Journal<number> = {
    open: async () => ({ snapshot: null, records: [] }),
    append(records, done) {
      entries.push({ records, done });
      if (refusing) done(new Error('refused'));
    },
    ...noSnapshots,
    close: async () => {},
  };
  const counts = { appended: 0, released: 0 };
  const gate = outputGate<number>({
    journal,
    clock,
    release(outputs) {
      for (const output of outputs) out.push('to' in output ? `to ${output.to}` : output.event.cause);
    },
    onDue: () => gate.appendAll(),
    onAppended: (records) => (counts.appended += records),
    onReleased: () => (counts.released += 1),
    onFailure({ message }) {
      failures.push(message);
      gate.drop();
    },
  });
  const begun = clock.now();
  const until = (ms: number) => clock.runUntilIdle({ untilMs: begun + ms });
  const appended = () => entries.map(({ records }) => records);
  return { gate, clock, out, failures, entries, appended, counts, until };
}

const message = (to: string): Output => ({ to, message: { type: 'echo' } as AnyMessage });
const event = (cause: string): Output => ({ event: { topic: [cause], body: {}, cause } });

test('output gate - what only people are told is appended with the next turn, as one entry', () => {
  const { gate, out, entries, appended, counts } = gated();
  gate.pass([1], [event('building')]);
  gate.pass([2], []);
  assert.equal(appended(), []);
  gate.pass([3], [message('conductor/0'), event('active')]);
  assert.equal(appended(), [[1, 2, 3]]);
  assert.equal(out, []);
  assert.is(gate.size(), 3);
  entries[0]?.done(null);
  assert.equal(out, ['building', 'to conductor/0', 'active']);
  assert.equal([gate.size(), counts.appended, counts.released], [0, 3, 1]);
});

test('output gate - without a next turn it is appended soon', () => {
  const { gate, out, entries, appended, until } = gated();
  gate.pass([1], [event('building')]);
  until(4);
  gate.pass([2], [event('building')]);
  assert.equal(appended(), []);
  until(5);
  assert.equal(appended(), [[1, 2]], 'the first is not kept longer because of the second');
  entries[0]?.done(null);
  assert.equal(out, ['building', 'building']);
  gate.pass([3], []);
  until(100);
  assert.equal(appended(), [[1, 2], [3]]);
});

test('output gate - an answer has what was kept before it appended at once, and waits for it', () => {
  const { gate, out, entries, appended, until } = gated();
  gate.pass([1], []);
  gate.pass([], [event('told')]);
  assert.equal(appended(), []);
  gate.pass([], [message('gateway/g')]);
  assert.equal(appended(), [[1]]);
  assert.equal(out, []);
  entries[0]?.done(null);
  assert.equal(out, ['told', 'to gateway/g']);
  until(100);
  assert.equal(appended(), [[1]]);
});

test('output gate - what was kept when the actor ended is neither appended nor let out', () => {
  const { gate, out, entries, appended, until } = gated();
  gate.pass([1], [message('cell/c1')]);
  gate.pass([2], [event('building')]);
  gate.drop();
  entries[0]?.done(null);
  until(100);
  assert.equal([appended(), out, gate.size()], [[[1]], [], 0]);
  gate.pass([], [message('anew')]);
  assert.equal(out, ['to anew']);
});

test('output gate - an entry that is not safe lets nothing out', () => {
  const { gate, out, failures, entries } = gated();
  gate.pass([1], [event('building')]);
  gate.pass([2], [message('conductor/0')]);
  entries[0]?.done(new Error('fenced'));
  assert.equal([out, failures], [[], ['fenced']]);
});

test('output gate - an answer that stands on what the journal refuses at once is not let out', () => {
  const { gate, out, failures, counts } = gated({ refusing: true });
  gate.pass([1], []);
  gate.pass([], [message('gateway/g')]);
  assert.equal([out, failures, counts.appended], [[], ['refused'], 0]);
});

test('output gate - what is decided while an entry is under way is the next entry, in one', () => {
  const { gate, out, entries, appended, until } = gated();
  gate.pass([1], [message('a')]);
  gate.pass([2], [message('b')]);
  gate.pass([3], [event('building')]);
  gate.pass([], [message('gateway/g')]);
  gate.pass([4], [message('c')]);
  until(100);
  assert.equal(appended(), [[1]], 'however long it takes');
  entries[0]?.done(null);
  assert.equal(out.splice(0), ['to a']);
  assert.equal(appended(), [[1], [2, 3, 4]]);
  entries[1]?.done(null);
  assert.equal(out, ['to b', 'building', 'to gateway/g', 'to c']);
  assert.is(gate.size(), 0);
});

test('output gate - what nobody waits for is kept as long with an entry under way as without, or until it is stored', () => {
  const { gate, entries, appended, until } = gated();
  gate.pass([1], [message('a')]);
  gate.pass([2], [event('building')]);
  until(3);
  entries[0]?.done(null);
  assert.equal(appended(), [[1]], 'it is not due');
  until(5);
  assert.equal(appended(), [[1], [2]]);
  gate.pass([3], [event('building')]);
  until(20);
  assert.equal(appended().length, 2);
  entries[1]?.done(null);
  assert.equal(appended(), [[1], [2], [3]], 'it was due');
});

test('output gate - very many records are not kept until they are one entry', () => {
  const { gate, out, entries } = gated();
  gate.pass([0], [message('a')]);
  const turns = 20;
  for (let turn = 0; turn < turns; turn += 1) gate.pass(Array(1_000).fill(turn), [message('b')]);
  assert.equal(
    entries.map(({ records }) => records.length),
    [1, 9_000, 9_000],
  );
  for (const { done } of [...entries]) done(null);
  entries.at(-1)?.done(null);
  assert.equal(entries.at(-1)?.records.length, 2_000, 'the rest, once nothing is under way');
  assert.is(out.length, 1 + turns);
});

test('output gate - an answer waits for what is under way, and one after a new life for nothing', () => {
  const { gate, out, entries, appended } = gated();
  gate.pass([1], [message('a')]);
  gate.pass([2], [message('b')]);
  gate.drop();
  gate.pass([3], [message('c')]);
  assert.equal(appended(), [[1], [3]], 'the entry of the last life is not waited for');
  entries[0]?.done(null);
  entries[1]?.done(null);
  assert.equal(out, ['to c']);
});

test.run();
