// Area: bodies for people. What `cellwright tap` and `decode` make of a body, whoever has sent it.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Message } from '../../actors/actor.ts';
import { saidIn } from '../../runtime/cli/bodies.ts';
import { linesOf } from '../../runtime/cli/follow.ts';
import { encodeFrame } from '../../runtime/frames.ts';

const test = suite('bodies for people');

const MAX_BYTES = 1024;
const linesIn = (data: Uint8Array) =>
  linesOf({ subject: 'cw.x', data, headers: {} }, 0, undefined, MAX_BYTES).map((line) =>
    line.slice('00:00:00.000 '.length),
  );

test('bodies - each message of a frame is a line of its own', () => {
  const frame = encodeFrame([
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

test.run();
