// Area: frames. What several actors send to one address is one body with every sender in it; people send single
// messages; anything else is refused, and never half taken.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { encode } from '../../runtime/codec.ts';
import { MalformedError } from '../../runtime/errors.ts';
import { decodeFrame, type Part, sendersOf, summaryOf } from '../../runtime/frames.ts';

const test = suite('frames');

const LIMIT = 64 * 1024;
const PARTS: readonly Part[] = [
  { from: 'compute/c1/h1', messages: [{ type: 'built' }, { type: 'alive' }, { type: 'built' }] },
  { from: 'compute/c1/h2', messages: [{ type: 'alive' }] },
];

const read = (value: unknown) => decodeFrame(encode(value), LIMIT);

test('frames - parts come back as they were sent, in order, with their senders', () => {
  assert.equal(decodeFrame(encode(PARTS), LIMIT), PARTS);
});

test('frames - a single message is a part without a sender, in JSON as in MessagePack', () => {
  const expected = [{ from: '', messages: [{ type: 'show', ask: 1 }] }];
  assert.equal(read({ type: 'show', ask: 1 }), expected);
  assert.equal(decodeFrame(Buffer.from('{"type":"show","ask":1}'), LIMIT), expected);
});

test('frames - a frame without parts, and a part without messages, are taken and mean nothing', () => {
  assert.equal(read([]), []);
  assert.equal(read([{ from: 'cell/c1', messages: [] }]), [{ from: 'cell/c1', messages: [] }]);
});

test('frames - a message without a type is refused by name', () => {
  for (const message of [{}, { type: 5 }, { type: null }, { kind: 'show' }]) {
    assert.throws(
      () => read(message),
      (error: MalformedError) => error.field === 'type',
    );
  }
});

test('frames - one part that is no part spoils the frame', () => {
  const [good] = PARTS;
  const wrong = [null, 5, 'part', [], {}, { from: 'x' }, { from: 5, messages: [] }, { from: 'x', messages: {} }];
  for (const part of wrong) {
    assert.throws(
      () => read([good, part]),
      (error: Error) => error instanceof MalformedError,
      JSON.stringify(part),
    );
  }
});

test('frames - a sender to whom no answer could be sent is refused', () => {
  const from = 'x'.repeat(256);
  assert.is(read([{ from, messages: [] }]).length, 1);
  assert.throws(() => read([{ from: `${from}x`, messages: [] }]), /'from' of a part has over 256 characters/);
});

test('frames - what cannot be read, or is too large, is refused', () => {
  for (const bytes of [[], [0xc1], [0x92, 0x81], [0xc0]]) {
    assert.throws(
      () => decodeFrame(Uint8Array.from(bytes), LIMIT),
      (error: Error) => error instanceof MalformedError,
    );
  }
  assert.throws(() => decodeFrame(new Uint8Array(11), 10), /has 11 bytes; at most 10 are read/);
});

test('frames - the headers sum up what travels', () => {
  assert.is(summaryOf(PARTS), 'built*2 alive*2');
  assert.is(summaryOf([{ from: 'x', messages: [{ type: 'build' }] }]), 'build');
  assert.is(summaryOf([{ from: 'x', messages: [{ type: 'build' }, { type: 'destroy' }] }]), 'build destroy');
  assert.is(sendersOf(PARTS), 'compute/c1/h1 +1');
  assert.is(sendersOf(PARTS.slice(1)), 'compute/c1/h2');
  assert.is(sendersOf([]), '');
});

test.run();
