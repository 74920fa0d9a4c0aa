// Area: opening an owner. A large state is made in steps, so that its lease is renewed and others are heard meanwhile.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Actor, Message } from '../../actors/actor.ts';
import { atOnce, snapshotOf } from '../../actors/snapshot.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type Journal, noSnapshots } from '../../runtime/journal/journal.ts';
import type { Outbox } from '../../runtime/outbox.ts';
import { actorHost } from '../../runtime/turn.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';

const test = suite('opening');

const ROWS = 20;
const RECORDS = 3_000;

interface Count {
  total: number;
}

/** An owner that takes 5 ms for each row of its snapshot, and 0.02 ms for each record; `steps`: how long it went on each time. */
function slowOwner() {
  let now = 0;
  let lastPause = 0;
  const steps: number[] = [];
  const virtual = virtualClock();
  const clock: Clock = {
    ...virtual,
    monotonic: () => now,
    after(ms, callback) {
      if (ms === 0) {
        steps.push(now - lastPause);
        lastPause = now;
      }
      return virtual.after(ms, callback);
    },
  };
  const recovered: number[] = [];
  function* restoring(parts: readonly unknown[]): Generator<void, Count> {
    const state = { total: 0 };
    for (const part of parts) {
      now += 5;
      state.total += part as number;
      yield;
    }
    return state;
  }
  const actor: Actor<Count, Message, number> = {
    init: () => ({ total: 0 }),
    receive() {},
    apply(state, by) {
      now += 0.02;
      state.total += by;
    },
    recover: ({ total }) => void recovered.push(total),
    snapshot: () => snapshotOf({}, {}),
    restore: (parts) => atOnce(restoring(parts)),
    restoring,
  };
  const journal: Journal<number> = {
    open: async () => ({ snapshot: Array.from({ length: ROWS }, () => 1_000), records: Array(RECORDS).fill(1) }),
    append: (_records, done) => done(null),
    ...noSnapshots,
    close: async () => {},
  };
  const outbox = { send() {}, publish() {}, flush() {}, setEpoch() {} } as unknown as Outbox;
  const host = actorHost({
    address: 'cell/c1',
    actor,
    journal,
    clock,
    outbox,
    maxMailbox: 10,
    onFailure: assert.unreachable,
  });
  return { host, clock: virtual, steps, recovered };
}

test('opening - a large state is made in steps, with others heard in between, and is whole', async () => {
  const { host, clock, steps, recovered } = slowOwner();
  const started = host.start();
  await clock.runAsync(() => recovered.length > 0);
  await started;
  assert.equal(recovered, [ROWS * 1_000 + RECORDS]);
  assert.ok(steps.length >= 5, `${steps.length} pauses`);
  assert.ok(Math.max(...steps) <= 30, `${Math.max(...steps)} ms in one go`);
  await host.stop();
});

test('opening - an owner that is stopped while its state is made begins nothing', async () => {
  const { host, clock, steps, recovered } = slowOwner();
  const started = host.start();
  await clock.runAsync(() => steps.length > 1);
  await host.stop();
  let isOver = false;
  void started.then(() => (isOver = true));
  await clock.runAsync(() => isOver);
  assert.equal([recovered, host.isUp()], [[], false]);
  assert.ok(steps.length < 5, 'it did not go on to the end');
});

test.run();
