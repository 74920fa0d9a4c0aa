// Area: giving back. Instances that get hosts together or none: what some have is given back when another has none, then
// they are tried elsewhere, or wait and hold nothing; and what is late of it changes nothing.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { conductor } from '../../actors/conductor/conductor.ts';
import type { InstanceGroup, RequestSpec } from '../../actors/messages/common.ts';
import type { Claim, ClaimGranted, Unclaim } from '../../actors/messages/placement.ts';
import type { Select } from '../../actors/messages/scheduler.ts';
import { placement } from '../../actors/placement/placement.ts';
import { instanceNames } from '../../actors/routing.ts';
import { isAnswer } from '../../actors/scheduler/claiming.ts';
import { orderOfRecall } from '../../actors/scheduler/rounds.ts';
import type { Open, Work } from '../../actors/scheduler/state.ts';
import { seededRandom } from '../../runtime/random.ts';
import { type HostWords, treeOfHost } from '../support/facts.ts';
import { claimOf } from '../support/placement-desk.ts';
import { type Answer, schedulersOf } from '../support/schedulers.ts';
import { bench, replayed, restored, sentOf } from '../support/turn.ts';

const test = suite('giving back');

const LATE = 100_000_000;
const CLOSE: InstanceGroup = { id: 'p/close', policy: 'affinity' };

function selectOf(
  request: string,
  count: number,
  vcpu: number,
  told: Partial<Select> = {},
  group?: InstanceGroup,
): Select {
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: vcpu } }], groupPolicy: 'none' };
  if (group !== undefined) spec.instanceGroup = group;
  const instances = instanceNames(request, count);
  return { type: 'select', request, round: 1, instances, spec, alternates: 0, expiresAt: LATE, ordered: true, ...told };
}

const claimOn = (consumer: string, host: string, vcpu: number, told: Partial<Claim> = {}) =>
  claimOf(consumer, { host: `p-${host}`, vcpu, expiresAt: LATE, ...told });

type Rig = ReturnType<typeof schedulersOf>;

/** The instances of a request that hold something, with their hosts. */
function heldOf({ shard }: Pick<Rig, 'shard'>, request: string): string[] {
  return [...shard.state.consumers.holding]
    .filter(([consumer, { held }]) => consumer.startsWith(`${request}-`) && held.length > 0)
    .map(([consumer, { held }]) => `${consumer} ${held[0]?.allocations[0]?.provider}`)
    .sort();
}

const hostsIn = (answers: readonly Answer[]) =>
  answers.flatMap((one) =>
    one.type === 'selected' ? one.selections.map(({ selection }) => selection.host) : [one.type],
  );

const host = (name: string, vcpu: number): HostWords => ({ host: name, has: { VCPU: vcpu } });

test('giving back - several that keep together go to another host together when theirs has no room for all any more', () => {
  const on = schedulersOf([host('h1', 6), host('h2', 4)]);
  on.hear(selectOf('web', 3, 1, {}, CLOSE));
  on.deliver(undefined, ({ message }) => message.type === 'take' || (message as Claim).consumer === 'web-0');
  assert.equal(heldOf(on, 'web'), ['web-0 p-h1'], 'the first has its host');
  assert.is(on.take('rival', 'h1', 5)[0]?.message.type, 'claim-granted');
  on.deliver();
  assert.equal(hostsIn(on.answers), ['h2', 'h2', 'h2']);
  assert.equal(heldOf(on, 'web'), ['web-0 p-h2', 'web-1 p-h2', 'web-2 p-h2']);
});

test('giving back - claims in no order, as of a conductor that asks for none, are not taken back: they might come again', () => {
  const on = schedulersOf([host('h1', 6), host('h2', 4)]);
  const { ordered: _, ...asked } = selectOf('web', 3, 1, {}, CLOSE);
  on.hear(asked);
  on.deliver(undefined, ({ message }) => (message as Claim).consumer === 'web-0');
  assert.is(on.take('rival', 'h1', 5)[0]?.message.type, 'claim-granted');
  on.deliverAll();
  assert.equal(hostsIn(on.answers), ['no-valid-host']);
  assert.equal(heldOf(on, 'web'), ['web-0 p-h1'], 'the asker gives back what it has');
});

test('giving back - those that keep together stay when others of their group do, and fail as a whole', () => {
  const on = schedulersOf([host('h1', 6), host('h2', 4)]);
  const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none', instanceGroup: CLOSE } as const;
  on.take('other', 'h1', 1, { spec: spec as never });
  on.deliver();
  on.hear(selectOf('web', 3, 1, {}, CLOSE));
  on.deliver(undefined, ({ message }) => message.type === 'take' || (message as Claim).consumer === 'web-0');
  on.take('rival', 'h1', 4);
  on.deliverAll();
  assert.equal(hostsIn(on.answers), ['no-valid-host']);
});

test('giving back - a request for several that waits holds nothing meanwhile', () => {
  for (const group of [undefined, CLOSE]) {
    const on = schedulersOf([host('h1', 2), host('h2', group === undefined ? 2 : 1)]);
    const vcpu = group === undefined ? 2 : 1;
    on.hear(selectOf('web', 2, vcpu, { waits: { since: 1 } }, group));
    const claims = () => on.underWay().filter(({ message }) => message.type === 'claim');
    on.deliver(undefined, ({ message }) => message.type === 'take');
    assert.is(claims().length, 2);
    const second = claims()[1]?.message as Claim;
    const where = (second.allocations[0]?.provider ?? '').slice('p-'.length);
    on.deliver(undefined, ({ message }) => (message as Claim).consumer === 'web-0');
    assert.is(on.take('rival', where, vcpu)[0]?.message.type, 'claim-granted');
    on.deliver();
    assert.equal(hostsIn(on.answers), ['parked']);
    assert.equal(heldOf(on, 'web'), [], 'nothing is held for one that waits');
    // When there is room for all, all have it.
    on.release('rival');
    on.deliver();
    on.run(2_000);
    assert.is(hostsIn(on.answers).length, 3, hostsIn(on.answers).join());
    assert.is(heldOf(on, 'web').length, 2);
  }
});

test('giving back - a late word of an earlier claim that was given back does not stand for that of a later one', () => {
  const on = schedulersOf([host('h1', 2), host('h2', 2)]);
  /** One instance is granted its host and a rival takes that of the other, until what is held is to be given back. */
  const losesOne = (rival: string, until: string) => {
    on.deliver(undefined, ({ message }) => message.type !== 'claim');
    const claims = on.underWay().flatMap(({ message }) => (message.type === 'claim' ? [message] : []));
    assert.equal(
      claims.map(({ consumer }) => consumer),
      ['web-0', 'web-1'],
    );
    const where = (claims[1]?.allocations[0]?.provider ?? '').slice('p-'.length);
    assert.is(on.take(rival, where, 2)[0]?.message.type, 'claim-granted');
    on.deliver(undefined, ({ message }) => message.type !== until);
  };
  on.hear(selectOf('web', 2, 2, { waits: { since: 1 } }));
  losesOne('rival', 'unclaimed');
  const late = on.underWay().filter(({ message }) => message.type === 'unclaimed');
  assert.ok(late.length > 0);
  on.deliver();
  assert.equal(hostsIn(on.answers), ['parked']);

  on.release('rival');
  on.deliver(undefined, ({ message }) => message.type !== 'claim');
  on.pass(50);
  losesOne('other', 'unclaim');
  for (const { message } of late) on.hear(message as never, 'scheduler/s', 'placement/0');
  assert.is(heldOf(on, 'web').length, 1);
  assert.equal(hostsIn(on.answers), ['parked'], 'it is not in line again while it holds something');
  on.deliver();
  assert.equal(hostsIn(on.answers), ['parked', 'parked']);
  assert.equal(heldOf(on, 'web'), []);
});

test('giving back - a grant that comes once more, of what was given back since, is not taken for that of a later claim', () => {
  const on = schedulersOf([host('h1', 2), host('h2', 2)]);
  /** A rival takes the host that is being claimed for one of two instances. */
  const losesOne = (rival: string, place: number) => {
    on.deliver(undefined, ({ message }) => message.type !== 'claim');
    const claims = on.underWay().flatMap(({ message }) => (message.type === 'claim' ? [message] : []));
    assert.is(claims.length, 2);
    const where = (claims[place]?.allocations[0]?.provider ?? '').slice('p-'.length);
    assert.is(on.take(rival, where, 2)[0]?.message.type, 'claim-granted');
  };
  on.hear(selectOf('web', 2, 2, { waits: { since: 1 } }));
  losesOne('rival', 1);
  on.deliver(undefined, ({ message }) => message.type !== 'claim-granted');
  const late = on.underWay().filter(({ message }) => message.type === 'claim-granted');
  assert.is(late.length, 1);
  on.deliver();
  assert.equal(hostsIn(on.answers), ['parked']);

  on.release('rival');
  on.deliver(undefined, ({ message }) => message.type !== 'claim');
  on.pass(200);
  losesOne('other', 0);
  for (const { message } of late) on.hear(message as never, 'scheduler/s', 'placement/0');
  on.deliver();
  assert.equal(hostsIn(on.answers), ['parked', 'parked'], 'one of the two holds nothing');
  assert.equal(heldOf(on, 'web'), []);
});

test('giving back - what a recall was granted and was given back since is not taken for held when its grant comes late', () => {
  const asked = selectOf('web', 2, 2, { round: 2 });
  const machines = new Map([['web-0', { value: 'recalling' }]]);
  const open = { asked, machines, tryNumber: 0, givenBack: new Set<string>() } as unknown as Open;
  const work = { placementShards: 1 } as Work;
  const order = orderOfRecall(open);
  const grant: ClaimGranted = {
    type: 'claim-granted',
    consumer: 'web-0',
    attempt: 1,
    allocations: [],
    usages: [],
    order,
  };
  assert.is(isAnswer(work, open, grant), true);
  open.givenBack.add('web-0');
  assert.is(isAnswer(work, open, grant), false);
});

test('giving back - one that comes to wait in line with others brings nothing along', () => {
  const on = schedulersOf([host('h1', 2)]);
  on.hear(selectOf('first', 2, 2, { waits: { since: 1 } }));
  on.deliver();
  // Of an earlier round, whose scheduler died, one of the two is held.
  on.take('web-0', 'h1', 2, { order: 5 });
  on.deliver();
  on.hear(selectOf('web', 2, 2, { round: 2, waits: { since: 2 } }));
  on.deliver();
  assert.equal(hostsIn(on.answers), ['parked', 'parked']);
  assert.equal(heldOf(on, 'web'), []);
});

test("giving back - the round after one whose scheduler died is another one's, in a later life of the conductor too", () => {
  const actor = conductor({ shard: 0, patience: { firstMs: 1_000, mostMs: 4_000 } });
  const on = bench(actor);
  const asked = { type: 'build', ask: 1, request: 'web', count: 2, alternates: 0, waitMs: 600_000 } as const;
  const roundIn = (turned: Parameters<typeof sentOf>[0]) => sentOf(turned, 'select')[0]?.message.round;
  const { spec } = selectOf('web', 2, 1);
  const first = on.tell({ ...asked, spec }, 'gateway/g');
  assert.is(roundIn(first), 1);
  const takenBy = (desk: typeof on, round: number, taker: string) =>
    sentOf(desk.tell({ type: 'taking', request: 'web', round, taker }, `scheduler/${taker}`), 'take').length === 1;
  assert.equal([takenBy(on, 1, 's1'), takenBy(on, 1, 's2')], [true, false]);
  const again = on.pass(2_000).find((turned) => roundIn(turned) !== undefined);
  assert.is(again && roundIn(again), 2);
  assert.ok(takenBy(on, 2, 's2'));
  const later = bench(actor, { at: 1_000, entries: on.entries });
  assert.is(roundIn(later.first), 3, 'whatever its clock says');
  assert.ok(takenBy(later, 3, 's1'));
});

test('giving back - what may have to be given back are several that keep together, or that wait', () => {
  const on = bench(conductor({ shard: 0 }));
  const isOrdered = (request: string, count: number, waitMs?: number, group?: InstanceGroup) => {
    const { spec } = selectOf(request, count, 1, {}, group);
    const asked = {
      type: 'build',
      ask: 1,
      request,
      count,
      alternates: 0,
      spec,
      ...(waitMs === undefined ? {} : { waitMs }),
    } as const;
    return sentOf(on.tell(asked, 'gateway/g'), 'select')[0]?.message.ordered === true;
  };
  assert.equal([isOrdered('a', 2), isOrdered('b', 2, 1_000), isOrdered('c', 2, undefined, CLOSE)], [false, true, true]);
  assert.equal([isOrdered('d', 1, 1_000), isOrdered('e', 1, undefined, CLOSE)], [false, false]);
});

test('giving back - of two that wait for the same hosts at two schedulers one has them all, and the other nothing', () => {
  for (let seed = 0; seed < 60; seed += 1) {
    const random = seededRandom(`giving back ${seed}`);
    const on = schedulersOf([host('h1', 2), host('h2', 2), host('h3', 2)], [{ name: 'a' }, { name: 'b' }]);
    on.hear(selectOf('one', 3, 2, { waits: { since: 1 } }), 'scheduler/a');
    on.hear(selectOf('two', 3, 2, { waits: { since: 1 } }), 'scheduler/b');
    on.deliver(random);
    for (let second = 0; second < 20 && !on.answers.some(({ type }) => type === 'selected'); second += 1) {
      on.pass(1_000);
      on.deliver(random);
    }
    const [one, two] = [heldOf(on, 'one').length, heldOf(on, 'two').length];
    assert.ok((one === 3 && two === 0) || (one === 0 && two === 3), `seed ${seed}: ${one} and ${two}`);
  }
});

// --- placement

function shardWith(...hosts: HostWords[]) {
  const actor = placement({ shard: 0, rememberDeletedMs: 60_000 });
  const shard = bench(actor);
  for (const one of hosts) {
    const spec = treeOfHost(one);
    shard.tell({ type: 'put-tree', ask: 1, providers: [spec] });
  }
  return {
    shard,
    check() {
      assert.equal(replayed(actor, shard.entries), shard.stored());
      assert.equal(restored(actor, shard.stored()), shard.stored());
    },
  };
}

const unclaimOf = (consumer: string, order: number): Unclaim => ({
  type: 'unclaim',
  consumer,
  attempt: 1,
  order,
  expiresAt: LATE,
});

test('giving back - a claim that was taken back is void when it comes again, and a later one is not', () => {
  const { shard, check } = shardWith(host('h1', 2));
  shard.tell(claimOn('web', 'h1', 1, { order: 5 }));
  const [answer] = sentOf(shard.tell(unclaimOf('web', 5)), 'unclaimed');
  assert.is(answer?.message.usages[0]?.used.VCPU, 0);
  assert.is(sentOf(shard.tell(unclaimOf('web', 5)), 'unclaimed').length, 1, 'said twice, answered twice');
  const [late] = sentOf(shard.tell(claimOn('web', 'h1', 1, { order: 5 })), 'claim-refused');
  assert.is(late?.message.refusal.code, 'superseded');
  const [next] = sentOf(shard.tell(claimOn('web', 'h1', 2, { order: 6 })), 'claim-granted');
  assert.is(next?.message.order, 6);
  shard.tell(unclaimOf('web', 5));
  assert.is(shard.state.consumers.holding.get('web')?.held.length, 1, 'what is late takes nothing back');
  check();
});

test('giving back - an unclaim that overtakes its claim voids it', () => {
  const { shard, check } = shardWith(host('h1', 2));
  shard.tell(unclaimOf('web', 5));
  const [late] = sentOf(shard.tell(claimOn('web', 'h1', 1, { order: 5 })), 'claim-refused');
  assert.is(late?.message.refusal.code, 'superseded');
  check();
});

test('giving back - what a later round knows of, or what a build goes on from, is not given back by an earlier one', () => {
  const { shard, check } = shardWith(host('h1', 2), host('h2', 2));
  shard.tell(claimOn('web', 'h1', 1, { order: 5 }));
  const recall = { type: 'recall', consumer: 'web', attempt: 1, order: 128, expiresAt: LATE } as const;
  assert.is(sentOf(shard.tell(recall), 'claim-granted')[0]?.message.order, 128);
  shard.tell(unclaimOf('web', 6));
  assert.is(shard.state.consumers.holding.get('web')?.held.length, 1);
  check();
  shard.tell(claimOn('web', 'h2', 1, { attempt: 2 }));
  shard.tell(unclaimOf('web', 200));
  assert.is(shard.state.consumers.holding.get('web')?.held[0]?.attempt, 2);
  shard.tell({ type: 'release', consumer: 'web', deleted: true });
  shard.tell(unclaimOf('web', 201));
  assert.is(sentOf(shard.tell(claimOn('web', 'h1', 1, { order: 300 })), 'claim-refused').length, 1);
  check();
});

test.run();
