// Area: letting go. Of an actor that another process owns by now nothing is kept in memory, however large it was.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Actor, Message } from '../../actors/actor.ts';
import { cell } from '../../actors/cell/cell.ts';
import { conductor } from '../../actors/conductor/conductor.ts';
import { placement } from '../../actors/placement/placement.ts';
import { scheduler } from '../../actors/scheduler/scheduler.ts';
import { memoryJournals } from '../../runtime/journal/memory.ts';
import { actorHost } from '../../runtime/turn.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';

const test = suite('letting go');

const ACTORS: Record<string, Actor<object, Message, unknown>> = {
  placement: placement({ shard: 0 }) as never,
  scheduler: scheduler({ name: 's', cells: [], random: { next: () => 0 } } as never) as never,
  conductor: conductor({ shard: 0 }) as never,
  cell: cell({ cell: 'c1', conductorShards: 1 }) as never,
};

for (const [name, actor] of Object.entries(ACTORS)) {
  test(`letting go - the state of a ${name} that was stopped is collected`, async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const states: WeakRef<object>[] = [];
    const watched = (state: object) => {
      states.push(new WeakRef(state));
      return state;
    };
    const clock = virtualClock();
    const host = actorHost({
      address: name,
      actor: { ...actor, init: () => watched(actor.init()) },
      journal: memoryJournals({ clock })(name),
      clock,
      outbox: { send() {}, publish() {} } as never,
      maxMailbox: 10,
      onFailure() {},
    });
    await host.start();
    host.deliver({ type: 'show', ask: 1, instance: 'i' } as Message, 'test');
    clock.advanceTo(clock.now() + 60_000);
    await host.stop();
    for (let round = 0; round < 50 && states[0]?.deref() !== undefined; round += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      collect();
    }
    assert.is(states.length, 1);
    assert.is(states[0]?.deref(), undefined);
  });
}

test.run();
