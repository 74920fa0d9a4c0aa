// Area: simulation. Many processes at a time are ended together.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { failureOf } from '../support/until.ts';
import { seedsFrom, simulateAll } from './pool.ts';

const test = suite('simulation - pool');

test('end - however many processes there are, they are ended by one who listens', async () => {
  const before = process.listeners('exit');
  const ended = failureOf(() => simulateAll({ seeds: seedsFrom('1', 150), workers: 3 }));
  const added = process.listeners('exit').filter((listener) => !before.includes(listener));
  for (const end of added) end.call(process, 0);
  assert.match((await ended).message, /a process ended with null at seeds/);
  assert.is(added.length, 1);
  assert.equal(process.listeners('exit'), before);
});

test.run();
