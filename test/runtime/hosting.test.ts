// Area: hosting. An actor that fails is started again, also when its journal cannot be read for a while; one that fails
// again and again leaves its place to others.

import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Actor, Message } from '../../actors/actor.ts';
import { memoryServer } from '../../runtime/bus/memory.ts';
import { hostingOf } from '../../runtime/hosting.ts';
import type { Journal } from '../../runtime/journal/journal.ts';
import { outboxOf } from '../../runtime/outbox.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';

const test = suite('hosting');

const ADDRESS = 'placement/0';

/** Takes note of what it is told, and fails of `bad`. */
const fragile = (taken: string[]): Actor<object, Message, never> => ({
  init: () => ({}),
  receive(_state, { type }) {
    if (type === 'bad') throw new Error('bad');
    taken.push(type);
  },
  apply() {},
  recover() {},
  snapshot: () => null,
  restore: () => ({}),
});

/** An actor that is served, and whose journal cannot be opened the times that are told. */
async function served(unreadable: readonly number[]) {
  const clock = virtualClock();
  const server = memoryServer({ clock, onError() {} });
  const [bus, other] = [server.connect(), server.connect()];
  const subjects = subjectsOf();
  const onError = () => {};
  const outbox = outboxOf({ bus, clock, subjects, events: false, onError });
  const make = (name: string, on: typeof bus) =>
    hostingOf({
      name,
      bus: on,
      clock,
      outbox,
      subjects,
      logger: pino({ level: 'silent' }),
      maxMailbox: 10,
      leaseTtlMs: 1_000,
      onError,
    });
  let opened = 0;
  const journal: Journal<never> = {
    async open() {
      opened += 1;
      if (unreadable.includes(opened)) throw new Error('no quorum');
      return { snapshot: null, records: [] };
    },
    append: (_records, done) => done(null),
    wantsSnapshot: false,
    saveSnapshot() {},
    close: async () => {},
  };
  const taken: string[] = [];
  const hosting = make('one', bus);
  const { host, handler } = hosting.host(ADDRESS, fragile(taken), journal, {});
  await host.start();
  const endpoints = [{ name: 'shard-0', subject: subjects.of(ADDRESS), handler }];
  await hosting.serve(ADDRESS, { role: 'placement', description: 'placement', endpoints });
  const tell = async (type: string) => {
    host.deliver({ type }, 'test');
    for (let round = 0; round < 5; round += 1) {
      clock.runUntilIdle();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { clock, hosting, rival: make('two', other), taken, tell };
}

test('hosting - an actor whose journal cannot be read when it starts again is started later', async () => {
  const { taken, tell, hosting } = await served([2, 3]);
  await tell('bad');
  await tell('good');
  assert.equal(taken, ['good']);
  await hosting.stop();
});

test('hosting - an actor that fails again and again leaves its place to others', async () => {
  const { tell, hosting, rival, clock } = await served([]);
  for (let round = 0; round < 6; round += 1) await tell('bad');
  const claimed = rival.claim([ADDRESS]);
  clock.runUntilIdle();
  await claimed;
  await hosting.stop();
});

test.run();
