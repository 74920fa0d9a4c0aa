// Area: what is published while the connection is down.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { unsentQueue } from '../../runtime/bus/unsent.ts';
import { until } from '../support/until.ts';

const test = suite('unsent');

const MIB = 1_048_576;
const message = (subject: string, bytes: number) => ({
  subject,
  data: Buffer.alloc(bytes) as never,
  options: {},
  bytes,
});

test('unsent - the oldest are given up first, by number and by bytes, and what is left is taken in order', () => {
  const queue = unsentQueue({ maxMessages: 3, maxBytes: 100 });
  assert.equal(
    ['a', 'b', 'c', 'd'].map((subject) => queue.add(message(subject, 10))),
    [0, 0, 0, 1],
  );
  assert.is(queue.add(message('large', 85)), 2, 'all but one give way');
  assert.is(queue.size, 2);
  assert.is(queue.add(message('too-large', 101)), 3, 'itself, too');
  queue.add(message('e', 1));
  assert.equal(
    queue.takeAll().map(({ subject }) => subject),
    ['e'],
  );
  assert.equal([queue.size, queue.takeAll()], [0, []]);
});

test('unsent - what was given up takes no memory', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const queue = unsentQueue({ maxMessages: 10_000, maxBytes: 4 * MIB });
  collect();
  const before = process.memoryUsage().arrayBuffers;
  for (let n = 0; n < 256; n += 1) queue.add(message(`m${n}`, MIB));
  assert.is(queue.size, 4);
  // The collector gives the memory of buffers back some time after it has found them.
  await until('only what is left is kept', () => {
    collect();
    return process.memoryUsage().arrayBuffers - before < 12 * MIB;
  });
});

test.run();
