// Area: bodies for people. What `cellwright tap` and `decode` make of a body, whoever has sent it.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Message } from '../../actors/actor.ts';
import { saidIn } from '../../runtime/cli/bodies.ts';
import { linesOf } from '../../runtime/cli/follow.ts';
import { encode } from '../../runtime/codec.ts';
import { ENTRY_VERSION, entriesOf, epochEntry, partEntries } from '../../runtime/journal/entries.ts';

const test = suite('bodies for people');

const MAX_BYTES = 1024;
const linesIn = (data: Uint8Array, instance?: string) =>
  linesOf({ subject: 'cw.x', data, headers: {} }, 0, instance, MAX_BYTES).map((line) =>
    line.slice('00:00:00.000 '.length),
  );

test('bodies - each message of a frame is a line of its own', () => {
  const frame = encode([
    { from: 'cell/c1', messages: [{ type: 'alive' }, { type: 'built', instance: 'i' } as Message] },
  ]);
  assert.equal(linesIn(frame), ['cw.x alive cell/c1 {}', 'cw.x built cell/c1 {"instance":"i"}']);
});

test('bodies - what only looks like a frame, or is empty, is a line all the same', () => {
  for (const text of ['[{"from":"a","messages":[null]}]', '[{"from":"a","messages":[5]}]', '[{"from":"a"}]', '[]']) {
    assert.is(linesIn(Buffer.from(text)).length, 1, text);
    assert.equal(saidIn(Buffer.from(text), MAX_BYTES), [{ from: '', message: JSON.parse(text) }], text);
  }
});

test('bodies - a message whose type is none keeps nothing from the others of its frame', () => {
  const frame = Buffer.from('[{"from":"a","messages":[{"type":"first"},{"type":{"toString":1}},{"type":"third"}]}]');
  assert.equal(linesIn(frame), ['cw.x first a {}', 'cw.x - a {"type":{"toString":1}}', 'cw.x third a {}']);
});

const RECORDS = [
  { type: 'requested', instance: 'i' },
  { type: 'ended', instance: 'j', state: 'active' },
];
const entriesWith = (pieceBytes: number) => entriesOf(RECORDS, { epoch: 3, pieceBytes });

test('bodies - each record of a journal entry is a line of its own, found by its instance', () => {
  const [entry = new Uint8Array(0), ...more] = entriesWith(1000);
  assert.is(more.length, 0);
  const lines = ['cw.x requested - {"instance":"i"}', 'cw.x ended - {"instance":"j","state":"active"}'];
  assert.equal(linesIn(entry), lines);
  assert.equal(linesIn(entry, 'j'), lines.slice(1));
  assert.equal(
    saidIn(entry, MAX_BYTES),
    RECORDS.map((message) => ({ from: '', message })),
  );
  assert.equal(linesIn(epochEntry(3)), ['cw.x - - {"v":6,"kind":"epoch","epoch":3}']);
});

test('bodies - what befalls a removal is found by the instance that is removed', () => {
  const records = ['i final', 'i 2', 'i-2 final', 'ii 1'].map((key) => ({ type: 'removal-event', key }));
  const [entry = new Uint8Array(0)] = entriesOf(records, { epoch: 3, pieceBytes: 1000 });
  const lines = ['cw.x removal-event - {"key":"i final"}', 'cw.x removal-event - {"key":"i 2"}'];
  assert.equal(linesIn(entry, 'i'), lines);
  const [words = new Uint8Array(0)] = entriesOf([{ type: 'lost', reason: 'i is gone' }], {
    epoch: 3,
    pieceBytes: 1000,
  });
  assert.equal(linesIn(words, 'i'), [], 'what begins with the same letters elsewhere is no key');
});

test('bodies - of what is no text the number of bytes is told', () => {
  const [piece = new Uint8Array(0)] = entriesWith(20);
  assert.match(linesIn(piece).join('\n'), /"kind":"records","epoch":3,"piece":0,"of":\d,"data":"20 bytes"\}$/);
  const [part = new Uint8Array(0)] = partEntries(RECORDS, { part: 0, last: true }, { epoch: 3, pieceBytes: 1000 });
  assert.match(linesIn(part).join('\n'), /"kind":"part",.*"data":"\d+ bytes"\}$/);
  for (const [data, bytes] of [
    [Uint8Array.of(0xc1), 1],
    [encode({ a: 1 }), 4],
    [encode(['a', null]), 4],
    [encode([]), 1],
  ] as const) {
    const body = encode({ v: ENTRY_VERSION, kind: 'records', epoch: 3, piece: 0, of: 1, data });
    assert.equal(linesIn(body), [
      `cw.x - - {"v":${ENTRY_VERSION},"kind":"records","epoch":3,"piece":0,"of":1,"data":"${bytes} bytes"}`,
    ]);
  }
});

test.run();
