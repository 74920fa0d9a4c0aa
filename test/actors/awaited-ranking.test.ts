// Area: scheduler. Ranking the hosts of a large fleet for a kind of request that is new, some a turn.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Select } from '../../actors/messages/scheduler.ts';
import { chosenIn, type SchedulerWords, schedulersOf, selectFor } from '../support/schedulers.ts';

const test = suite('awaited ranking');

const HOSTS = Array.from({ length: 30 }, (_, n) => ({ host: `h${n}`, has: { VCPU: 10 + ((7 * n) % 30) } }));

const fleet = (words: Partial<SchedulerWords> = {}) => schedulersOf(HOSTS, [{ name: 's', hostsATurn: 10, ...words }]);

type Fleet = ReturnType<typeof fleet>;

const SCHEDULER = 'scheduler/s';
const select = (on: Fleet, asked: Select) => {
  on.hear(asked, SCHEDULER);
  on.deliver();
};
/** One more turn that ranks hosts, if one is to come. */
const rank = (on: Fleet) => {
  if (on.desks[0]?.state.awaitingRanking.size === 0) return;
  on.hear({ type: 'wake', id: 'rank' } as never, SCHEDULER, SCHEDULER);
  on.deliver();
};
const answered = ({ answers }: Fleet): string[] => answers.map(({ request }) => request);
const together = (id: string): Partial<Select> => ({
  instances: [`${id}-0`, `${id}-1`],
  spec: {
    groups: [{ name: '', resources: { VCPU: 3 } }],
    groupPolicy: 'none',
    instanceGroup: { id, policy: 'affinity' },
  },
});

test('scheduler - a request of a new kind waits while hosts are ranked for it, a few a turn, and others are served', () => {
  const on = fleet();
  const [desk] = on.desks;
  select(on, selectFor('first'));
  assert.equal([...on.selecting], ['first'], 'its asker hears that it takes a while');
  rank(on);
  assert.equal(answered(on), []);
  rank(on);
  assert.equal(answered(on), ['first']);
  select(on, selectFor('other', { vcpu: 2 }));
  select(on, selectFor('same-as-first'));
  assert.equal(answered(on), ['first', 'same-as-first'], 'hosts are ranked for it already');
  assert.is(desk?.state.awaitingRanking.size, 1);
  for (let turn = 0; turn < 5; turn += 1) rank(on);
  assert.equal(answered(on), ['first', 'same-as-first', 'other']);
  assert.is(desk?.state.awaitingRanking.size, 0);
});

test('scheduler - it gets the host that it would get if all were ranked at once', () => {
  const asked = [
    selectFor('plain', { vcpu: 2 }),
    selectFor('larger', { vcpu: 5 }),
    selectFor('pinned', { tree: { oneOf: ['p-h3'] } }),
    selectFor('not-there', { tree: { memberOf: [['nowhere']] } }),
    selectFor('two', { instances: ['two-0', 'two-1'], vcpu: 9 }),
    selectFor('too-large', { vcpu: 50 }),
    selectFor('pair', together('pair')),
    selectFor('pair-again', together('pair-again')),
  ];
  const [some, all] = [10, 1_000].map((hostsATurn) => {
    const on = fleet({ hostsATurn });
    for (const one of asked) {
      select(on, one);
      for (let turn = 0; turn < 20; turn += 1) rank(on);
      on.deliverAll();
    }
    return on.answers.map((answer) => [
      answer.request,
      answer.type === 'selected' ? answer.selections.map(({ selection: { host } }) => host) : chosenIn(answer),
    ]);
  });
  assert.is(some?.length, asked.length);
  assert.equal(some, all);
});

test('scheduler - however many wait for the same, hosts are ranked once, and all go on', () => {
  const on = fleet();
  const requests = Array.from({ length: 150 }, (_, n) => `r${n}`);
  for (const request of requests) select(on, selectFor(request));
  assert.equal([...on.selecting], requests);
  rank(on);
  rank(on);
  assert.is(on.desks[0]?.state.awaitingRanking.size, 50, 'not all in one turn');
  rank(on);
  assert.equal(answered(on).sort(), requests.sort());
});

test('scheduler - a kind that is ranked is served while all hosts are looked at for another that is to replace it', () => {
  const on = fleet();
  select(on, selectFor('plain', { vcpu: 3 }));
  for (let turn = 0; turn < 3; turn += 1) rank(on);
  select(on, selectFor('pair', together('pair')));
  select(on, selectFor('other-size', { vcpu: 2 }));
  select(on, selectFor('plain-again', { vcpu: 3 }));
  assert.equal(answered(on), ['plain', 'plain-again']);
  for (let turn = 0; turn < 8; turn += 1) rank(on);
  assert.equal(answered(on).slice(2).sort(), ['other-size', 'pair']);
  select(on, selectFor('plain-at-last', { vcpu: 3 }));
  assert.is(answered(on).at(-1), 'plain-at-last');
});

test('scheduler - one that is asked for anew waits for the ranking too, before it is asked what it holds', () => {
  const on = fleet();
  select(on, selectFor('anew', { round: 2, ordered: true }));
  assert.equal([on.desks[0]?.state.awaitingRanking.size, answered(on)], [1, []]);
  for (let turn = 0; turn < 3; turn += 1) rank(on);
  assert.equal(answered(on), ['anew']);
});

test('scheduler - a host that comes while others are ranked is ranked too', () => {
  const on = fleet();
  select(on, selectFor('large', { vcpu: 50 }));
  on.put({ host: 'new', has: { VCPU: 64 } });
  on.tellHost({ host: 'new' });
  for (let turn = 0; turn < 5; turn += 1) rank(on);
  assert.equal(on.answers.map(chosenIn), ['new']);
});

test('scheduler - hosts are ranked no longer for a request that is over, and the next in line goes on', () => {
  const on = fleet();
  const [desk] = on.desks;
  const now = desk?.now ?? 0;
  select(on, selectFor('given-up', { expiresAt: now + 500 }));
  select(on, selectFor('asked-anew', { vcpu: 2 }));
  select(on, selectFor('asked-anew', { vcpu: 3, round: 2 }));
  on.run(2_000);
  for (let turn = 0; turn < 8; turn += 1) rank(on);
  on.deliverAll();
  assert.equal(answered(on), ['asked-anew']);
  assert.equal([desk?.state.awaitingRanking.size, desk?.state.open.size], [0, 0]);
});

test.run();
