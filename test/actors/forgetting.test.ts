// Area: forgetting. What nobody can come late for any more is forgotten in time, however much of it there is, however
// short the lives of its owner are, and whatever a clock once said.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Actor, Message } from '../../actors/actor.ts';
import { cell } from '../../actors/cell/cell.ts';
import { placement } from '../../actors/placement/placement.ts';
import { rig } from '../support/shards.ts';
import { bench } from '../support/turn.ts';

const test = suite('forgetting');

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const YEAR_MS = 365 * 24 * HOUR_MS;

test('forgetting - groups without members are forgotten by their keeper, however many begin in an hour', () => {
  const keeper = bench(placement({ shard: 0, shards: 3 }));
  const { kept } = keeper.state.groupHomes;
  let given = 0;
  const passQuarter = () => {
    for (const { sent } of keeper.pass(HOUR_MS / 4)) {
      for (const { to, message } of sent) {
        if (message.type !== 'group-leave') continue;
        keeper.tell({ type: 'group-left', group: message.group, number: message.number } as never, to);
      }
    }
  };
  for (let quarter = 0; quarter < 8; quarter += 1) {
    for (let n = 0; n < 2_500; n += 1, given += 1) {
      keeper.tell({ type: 'group-ask', group: `p/g${given}`, token: given } as never, 'placement/1');
    }
    passQuarter();
  }
  assert.ok(kept.size <= 10_000, `${kept.size} are kept, of which 10,000 are younger than an hour`);
  for (let quarter = 0; quarter < 5; quarter += 1) passQuarter();
  assert.is(kept.size, 0);
});

for (const brief of [false, true]) {
  test(`forgetting - one ${brief ? 'brief ' : ''}change by a clock that was a year ahead keeps no later one from being forgotten`, () => {
    const on = rig();
    const change = (key: string) => ({
      type: 'change-together' as const,
      ask: 1,
      key,
      ...(brief ? { brief } : {}),
      parts: [0, 1, 2].map((shard) => {
        const allocations = shard === 0 ? [{ provider: 'host-0', resources: { VCPU: 1 } }] : [];
        return { shard, consumers: [{ consumer: key, allocations, project: 'p', user: 'u' }] };
      }),
    });
    const carryOut = (key: string) => {
      on.say(0, change(key) as never);
      on.deliver();
    };
    for (const shard of on.shards) shard.setBack(-YEAR_MS);
    carryOut('ahead');
    for (const shard of on.shards) shard.setBack(YEAR_MS);
    for (let n = 0; n < 50; n += 1) {
      carryOut(`k${n}`);
      on.pass(MINUTE_MS);
      on.deliver();
    }
    for (const { state } of on.shards) {
      const { transactions, holds } = state;
      const sizes = [transactions.known.size, holds.ended.size, holds.lately.size, holds.changedBy.size];
      assert.ok(Math.max(...sizes) < 10, sizes.join());
    }
  });
}

test('forgetting - what was deleted is forgotten by owners of which no life is long', () => {
  const owners: [Actor<never, Message, never>, (n: number) => object, (state: never) => number][] = [
    [
      placement({ shard: 0 }) as never,
      (n: number) => ({ type: 'release', consumer: `i${n}`, deleted: true }),
      (state: { consumers: { deleted: Map<string, number> } }) => state.consumers.deleted.size,
    ] as never,
    [
      cell({ cell: 'c1', conductorShards: 1 }) as never,
      (n: number) => ({ type: 'delete', instance: `i${n}` }),
      (state: { deleted: Map<string, number> }) => state.deleted.size,
    ] as never,
  ];
  for (const [actor, deleted, remembered] of owners) {
    const on = bench(actor);
    let count = 0;
    for (let life = 0; life < 20; life += 1) {
      for (let n = 0; n < 100; n += 1, count += 1) on.tell(deleted(count) as never, 'conductor/0');
      on.pass(10 * MINUTE_MS);
      (on.wakes as Map<string, number>).clear();
      on.recover();
    }
    assert.ok(remembered(on.state) <= 800, `${remembered(on.state)} are remembered, of the last hour 600`);
  }
});

test.run();
