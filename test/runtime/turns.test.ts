// Area: turns. Journals that are large wait for each other while they are read: what is on its way at once stays within
// the limit, everybody comes in the order in which he asked, and whoever gives up stands in nobody's way.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Turns } from '../../runtime/journal/turns.ts';
import { failureOf } from '../support/until.ts';

const test = suite('turns');

/** Work that ends when it is told to. */
function room(most: number) {
  const turns = new Turns(most);
  const begun: string[] = [];
  const ends = new Map<string, { resolve(): void; reject(error: Error): void }>();
  const take = (name: string, bytes: number, signal = new AbortController().signal) =>
    turns.take(bytes, signal, () => {
      begun.push(name);
      return new Promise<void>((resolve, reject) => ends.set(name, { resolve, reject }));
    });
  /** Lets all go on that can. */
  const pass = () => new Promise<void>((resolve) => setImmediate(resolve));
  return { take, begun, pass, end: (name: string) => ends.get(name) as NonNullable<ReturnType<typeof ends.get>> };
}

test('turns - those who find no room come in order when there is some, several at once where they fit', async () => {
  const { take, begun, pass, end } = room(10);
  const all = [take('a', 6), take('b', 4), take('c', 5), take('d', 3), take('e', 3), take('f', 1)];
  assert.equal(begun, ['a', 'b'], 'nobody overtakes those who wait, however little he asks for');
  end('b').resolve();
  await pass();
  assert.equal(begun, ['a', 'b']);
  end('a').resolve();
  await pass();
  assert.equal(begun, ['a', 'b', 'c', 'd']);
  end('c').resolve();
  await pass();
  assert.equal(begun, ['a', 'b', 'c', 'd', 'e', 'f']);
  for (const name of ['d', 'e', 'f']) end(name).resolve();
  await Promise.all(all);
});

test('turns - what is larger than all the room takes all of it, and what fails gives its room back', async () => {
  const { take, begun, pass, end } = room(10);
  const failing = failureOf(() => take('large', 1_000));
  const next = take('next', 10);
  assert.equal(begun, ['large']);
  end('large').reject(new Error('it broke'));
  assert.match((await failing).message, /it broke/);
  await pass();
  assert.equal(begun, ['large', 'next']);
  end('next').resolve();
  await next;
});

test('turns - whoever gives up while it waits takes no room, lets those behind it in, and does not begin', async () => {
  const { take, begun, pass, end } = room(10);
  const first = take('first', 5);
  const controller = new AbortController();
  const givenUp = failureOf(() => take('given-up', 8, controller.signal));
  const behind = take('behind', 5);
  await pass();
  assert.equal(begun, ['first']);
  controller.abort(new Error('it is closed'));
  assert.match((await givenUp).message, /it is closed/);
  await pass();
  assert.equal(begun, ['first', 'behind']);
  for (const name of ['first', 'behind']) end(name).resolve();
  await Promise.all([first, behind]);
  const all = take('all', 10);
  assert.equal(begun.at(-1), 'all', 'all the room is there again');
  end('all').resolve();
  await all;
  await failureOf(() => take('late', 1, controller.signal));
  assert.not(begun.includes('late'));
});

test('turns - whoever gives up after it was let in takes nobody else out of the line', async () => {
  const { take, begun, pass, end } = room(10);
  const controller = new AbortController();
  const all = [take('a', 10), take('b', 10, controller.signal), take('c', 10)];
  end('a').resolve();
  await pass();
  controller.abort(new Error('it is closed'));
  end('b').resolve();
  await pass();
  assert.equal(begun, ['a', 'b', 'c']);
  end('c').resolve();
  await Promise.all(all);
});

test('turns - one that is let in as another gives up, and gives up for the same reason, gives its room back', async () => {
  const { take, begun, end } = room(10);
  const first = take('first', 5);
  const controller = new AbortController();
  const givenUp = [8, 5].map((bytes) => failureOf(() => take('given-up', bytes, controller.signal)));
  controller.abort(new Error('it is closed'));
  for (const { message } of await Promise.all(givenUp)) assert.is(message, 'it is closed');
  const rest = take('rest', 5);
  assert.equal(begun, ['first', 'rest']);
  for (const name of begun) end(name).resolve();
  await Promise.all([first, rest]);
});

test.run();
