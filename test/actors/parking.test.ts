// Area: scheduler, requests that wait. Parked with nothing held and nothing said while nothing changes, tried when
// capacity appears, first come first served within a project and in turn between projects, several instances together or
// not at all; and what the conductor keeps of them survives its crash and ends at the deadline.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { conductor } from '../../actors/conductor/conductor.ts';
import type { Build, ConductorMessage } from '../../actors/messages/conductor.ts';
import type { PlacementMessage, ProviderSpec, ProvidersChanged } from '../../actors/messages/placement.ts';
import type { SchedulerMessage, Select } from '../../actors/messages/scheduler.ts';
import { placement } from '../../actors/placement/placement.ts';
import { scheduler } from '../../actors/scheduler/scheduler.ts';
import { bench, replayed, restored, type Sent, sentOf } from '../support/turn.ts';

const test = suite('scheduler - waiting');

const WARM_UP_MS = 2_500;
const PATIENCE = { firstMs: 1_000, mostMs: 4_000 };
const SCHEDULER = 'scheduler/s';
const FOREVER = 100_000_000_000;

/** A scheduler and a placement shard; hosts have 8 VCPU each, all taken by `rival-<host>` at first. */
function rig(...hosts: string[]) {
  const shard = bench(placement({ shard: 0 }));
  const on = bench(scheduler({ name: 's', warmUpMs: WARM_UP_MS, patience: PATIENCE }));
  let outbox: Sent[] = [...on.first.sent];
  const answers: Sent[] = [];

  /** Everything that is said arrives, until nobody says any more. */
  function settle(): void {
    while (outbox.length > 0) {
      const [next, ...rest] = outbox as [Sent, ...Sent[]];
      outbox = rest;
      const { to, message } = next;
      if (to === 'placement/0') {
        for (const answer of shard.tell(message as PlacementMessage, SCHEDULER).sent) toScheduler(answer);
      } else if (to.startsWith('cell/')) {
        const { ask } = message as { ask: number };
        const all = hosts.map((host) => ({ host, provider: `p-${host}`, state: 'up' as const }));
        hear({ type: 'hosts', ask, cell: 'c1', epoch: 1, sequence: 1, hosts: all, next: null }, to);
      } else {
        answers.push(next);
      }
    }
  }

  function toScheduler({ message }: Sent): void {
    if (
      ['providers-changed', 'claim-granted', 'claim-refused', 'nothing-held', 'providers', 'released'].includes(
        message.type,
      )
    ) {
      hear(message as SchedulerMessage, 'placement/0');
    }
  }

  function hear(message: SchedulerMessage, from: string): void {
    outbox.push(...on.tell(message, from).sent);
  }

  function pass(ms: number): void {
    const until = on.now + ms;
    while (on.now < until) {
      const next = Math.min(until, ...[...on.wakes.values()].map((at) => Math.max(at, on.now + 1)));
      for (const { sent } of on.pass(next - on.now)) outbox.push(...sent);
      shard.now = on.now;
      settle();
    }
  }

  function take(host: string, consumer: string, vcpu: number): void {
    const resources = { VCPU: vcpu };
    const claim: PlacementMessage = {
      type: 'claim',
      consumer,
      attempt: 1,
      spec: { groups: [{ name: '', resources }], groupPolicy: 'none' },
      allocations: [{ provider: `p-${host}`, group: '', resources }],
      keep: [],
      expiresAt: FOREVER,
    };
    for (const { message } of sentOf(shard.tell(claim), 'providers-changed'))
      hear(message as ProvidersChanged, 'placement/0');
  }

  function release(consumer: string): void {
    const { sent } = shard.tell({ type: 'release', consumer, deleted: true });
    for (const { message } of sentOf({ sent }, 'providers-changed')) hear(message as ProvidersChanged, 'placement/0');
    settle();
    pass(5_000);
  }

  const inventory = { total: 8, reserved: 0, min_unit: 1, max_unit: 8, step_size: 1, allocation_ratio: 1 };
  for (const host of hosts) {
    const tree: ProviderSpec[] = [
      { id: `p-${host}`, name: host, parent: null, inventories: { VCPU: inventory }, traits: [], aggregates: [] },
    ];
    for (const answer of shard.tell({ type: 'put-tree', ask: 1, providers: tree }).sent) toScheduler(answer);
    take(host, `rival-${host}`, 8);
  }
  const all = hosts.map((host) => ({ host, provider: `p-${host}`, state: 'up' as const }));
  hear({ type: 'hosts-changed', cell: 'c1', epoch: 1, sequence: 1, hosts: all }, 'cell/c1');
  settle();
  pass(WARM_UP_MS + 1_000);

  function ask(
    request: string,
    told: Partial<Select> & { vcpu?: number; project?: string; since?: number } = {},
  ): void {
    const { vcpu = 8, project, since = on.now, ...more } = told;
    const waits = { since };
    const whose = project === undefined ? {} : { project };
    const spec: Select['spec'] = { groups: [{ name: '', resources: { VCPU: vcpu } }], groupPolicy: 'none' };
    hear(
      {
        type: 'select',
        request,
        round: 1,
        instances: [request],
        spec,
        alternates: 0,
        expiresAt: FOREVER,
        waits,
        ...whose,
        ...more,
      },
      'conductor/0',
    );
    settle();
  }

  const answersOf = <Type extends 'parked' | 'selected' | 'no-valid-host'>(type: Type) =>
    sentOf({ sent: answers }, type).map(({ message }) => message);
  const placed = () => answersOf('selected').map(({ request }) => request);
  const heldBy = (consumer: string) => shard.state.consumers.holding.get(consumer)?.held ?? [];
  return { on, shard, ask, release, take, pass, hear, settle, answersOf, placed, heldBy, answers };
}

test('waiting - a request that has no host is parked with its reason, and placed when one has room', () => {
  const all = rig('h1', 'h2');
  all.ask('web');
  const [parked] = all.answersOf('parked');
  assert.match(parked?.reason ?? '', /none of 2 hosts: 2 exceeds-capacity VCPU/);
  assert.ok(parked?.decision);
  assert.equal(all.placed(), []);
  all.release('rival-h2');
  assert.equal(all.placed(), ['web']);
  const [selected] = all.answersOf('selected');
  assert.is(selected?.round, 1, 'in the round in which it was asked for');
  assert.is(selected?.selections[0]?.selection.host, 'h2');
  assert.is(all.on.state.parking.lots.size, 0);
  assert.is(all.on.state.view.freed, null, 'nobody waits, so nothing is noted');
});

test('waiting - while nothing changes nothing is said: nobody is asked again and again', () => {
  const all = rig('h1');
  for (const request of ['one', 'two', 'three']) all.ask(request);
  const before = all.answers.length;
  const claims = all.shard.entries.length;
  all.pass(600_000);
  assert.is(all.answers.length, before);
  assert.is(all.shard.entries.length, claims);
  const conflicts = all.on.state.conflicts;
  assert.is(conflicts, 0);
});

test('waiting - one that was to be tried a moment later is, though the clock is set back meanwhile', () => {
  const all = rig('h1');
  all.ask('web');
  for (const lot of all.on.state.parking.lots.values()) lot.notBefore = all.on.now + 1_000;
  all.on.now -= 3_600_000;
  for (const { sent } of [all.on.tell({ type: 'wake', id: 'silence of cells' })]) assert.equal(sent, []);
  all.release('rival-h1');
  assert.equal(all.placed(), ['web']);
});

test('waiting - one that does not wait fails as ever', () => {
  const all = rig('h1');
  all.hear(
    {
      type: 'select',
      request: 'now',
      round: 1,
      instances: ['now'],
      spec: { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' },
      alternates: 0,
      expiresAt: FOREVER,
    },
    'conductor/0',
  );
  all.settle();
  assert.is(all.answersOf('no-valid-host').length, 1);
  assert.is(all.on.state.parking.lots.size, 0);
});

test('waiting - first come first served within a project, though they are asked for anew in another order', () => {
  const all = rig('h1', 'h2', 'h3');
  const since = all.on.now;
  for (const [position, request] of ['first', 'second', 'third'].entries())
    all.ask(request, { since: since + position });
  // A scheduler that is new is asked for all of them, in any order.
  for (const request of ['third', 'first', 'second']) {
    all.ask(request, { round: 2, since: since + ['first', 'second', 'third'].indexOf(request) });
  }
  for (const host of ['h1', 'h2', 'h3']) all.release(`rival-${host}`);
  assert.equal(all.placed(), ['first', 'second', 'third']);
});

test('waiting - in turn between projects: a long queue of one does not keep another waiting', () => {
  const all = rig('h1', 'h2', 'h3', 'h4', 'h5');
  const since = all.on.now;
  for (let n = 0; n < 4; n += 1) all.ask(`big-${n}`, { project: 'big', since: since + n });
  for (let n = 0; n < 2; n += 1) all.ask(`small-${n}`, { project: 'small', since: since + 100 + n });
  for (const host of ['h1', 'h2', 'h3', 'h4', 'h5']) all.release(`rival-${host}`);
  assert.equal(all.placed(), ['big-0', 'small-0', 'big-1', 'small-1', 'big-2']);
});

test('waiting - in turn also when much capacity appears at once', () => {
  const all = rig('h1');
  const since = all.on.now;
  for (let n = 0; n < 6; n += 1) all.ask(`big-${n}`, { vcpu: 2, project: 'big', since: since + n });
  for (let n = 0; n < 2; n += 1) all.ask(`small-${n}`, { vcpu: 2, project: 'small', since: since + 100 + n });
  all.release('rival-h1');
  assert.equal(all.placed().toSorted(), ['big-0', 'big-1', 'small-0', 'small-1']);
});

test('waiting - one that comes later does not overtake those that ask for the same; one that asks for less may', () => {
  const all = rig('h1', 'h2');
  const since = all.on.now;
  all.ask('first', { since });
  all.ask('later', { since: since + 1 });
  all.release('rival-h1');
  assert.equal(all.placed(), ['first']);
  all.ask('small', { vcpu: 2, since: since + 2 });
  all.release('rival-h2');
  assert.equal(all.placed(), ['first', 'later']);
  all.release('first');
  assert.equal(all.placed(), ['first', 'later', 'small']);
});

test('waiting - several instances are placed together or hold nothing, so two that wait do not block each other', () => {
  const all = rig('h1', 'h2', 'h3');
  const gang = (request: string) => [0, 1].map((n) => `${request}-${n}`);
  all.ask('one', { instances: gang('one'), project: 'p1' });
  all.ask('two', { instances: gang('two'), project: 'p2' });
  all.release('rival-h1');
  for (const instance of [...gang('one'), ...gang('two')]) assert.equal(all.heldBy(instance), [], instance);
  assert.equal(all.placed(), []);
  all.release('rival-h2');
  assert.is(all.placed().length, 1, 'one of them has both hosts');
  const [first = ''] = all.placed();
  for (const instance of gang(first)) assert.is(all.heldBy(instance).length, 1);
  all.release('rival-h3');
  for (const instance of gang(first)) all.release(instance);
  assert.equal(all.placed().toSorted(), ['one', 'two']);
});

test('waiting - what an earlier question was granted is found, also by one that has to queue', () => {
  const all = rig('h1', 'h2');
  all.ask('other');
  all.release('rival-h2');
  assert.equal(all.placed(), ['other']);
  all.ask('queue');
  // Granted to another scheduler, which died before it could answer.
  all.shard.tell({ type: 'release', consumer: 'rival-h1', deleted: true });
  all.take('h1', 'lost', 8);
  all.pass(5_000);
  all.ask('lost', { since: 1 });
  assert.equal(all.placed(), ['other', 'lost']);
  assert.is(all.answersOf('parked').length, 2);
});

test('waiting - one that is withdrawn is not tried; one that is given up is dropped', () => {
  const all = rig('h1');
  const since = all.on.now;
  all.ask('gone', { since });
  all.ask('late', { since: since + 1, expiresAt: all.on.now + 20_000 });
  all.ask('here', { since: since + 2 });
  all.hear({ type: 'withdraw', request: 'gone' }, 'conductor/0');
  all.pass(40_000);
  all.release('rival-h1');
  assert.equal(all.placed(), ['here']);
  assert.is(all.on.state.parking.byRequest.size, 0);
});

test('waiting - of a deleted instance nothing is placed, and it is not parked again', () => {
  const all = rig('h1');
  all.ask('gone');
  all.shard.tell({ type: 'release', consumer: 'gone', deleted: true });
  all.release('rival-h1');
  assert.equal(all.placed(), []);
  assert.is(all.answersOf('no-valid-host').length, 1);
  assert.is(all.on.state.parking.lots.size, 0);
});

// --- what the conductor keeps

const actor = conductor({ shard: 0, requestedMs: 60_000, patience: PATIENCE, parkedAskMs: 15_000, maxParked: 2 });
type Desk = ReturnType<typeof desk>;
const desk = () => bench(actor);

function buildOf(request: string, waitMs: number | undefined = 300_000, more: Partial<Build> = {}): Build {
  const spec: Build['spec'] = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };
  return { type: 'build', ask: 7, request, count: 1, alternates: 2, spec, project: 'p', waitMs, ...more };
}

function parkedAs(on: Desk, request: string, reason = 'none of 3 hosts') {
  const round = on.state.requests.get(request)?.round ?? 0;
  const message: ConductorMessage = { type: 'parked', request, round, reason, decision: '{}' };
  return on.tell(message, 'scheduler/s');
}

function viewOf(on: Desk, instance: string) {
  const [shown] = sentOf(on.tell({ type: 'show', ask: 1, instance }), 'shown');
  return shown?.message.view ?? null;
}

test('waiting - the conductor says so of the instance, with the last reason, and publishes it once', () => {
  const on = desk();
  const [select] = sentOf(on.tell(buildOf('web')), 'select');
  assert.equal([select?.message.waits, select?.message.project], [{ since: on.now }, 'p']);
  const acceptedAt = on.now;
  const turned = parkedAs(on, 'web');
  assert.equal(
    turned.events.map(({ topic, body }) => [topic.join('.'), body.reason, body.until]),
    [['conductor.0.waiting.web', 'none of 3 hosts', acceptedAt + 300_000]],
  );
  on.now += 1_000;
  assert.equal(parkedAs(on, 'web', 'none of 4 hosts').events, []);
  const view = viewOf(on, 'web');
  assert.is(view?.state, 'requested');
  assert.equal(view?.waiting, { since: acceptedAt, until: acceptedAt + 300_000, reason: 'none of 4 hosts' });
});

test('waiting - it is asked for again where it waits, and of anybody when nobody answers there', () => {
  const on = desk();
  on.tell(buildOf('web'));
  parkedAs(on, 'web');
  const asked = on.pass(60_000).flatMap(({ sent }) => sentOf({ sent }, 'select'));
  assert.is(asked[0]?.to, 'scheduler/s');
  assert.is(asked[1]?.to, 'scheduler');
  assert.ok(asked.length < 20);
});

test('waiting - a crash loses neither the request nor its deadline, and it is asked for at once', () => {
  const on = desk();
  on.tell(buildOf('web', 300_000));
  const until = on.now + 300_000;
  parkedAs(on, 'web');
  assert.equal(replayed(actor, on.entries), on.stored());
  assert.equal(restored(actor, on.stored()), on.stored());
  const again = bench(actor, { at: on.now + 100_000, entries: on.entries });
  assert.is(sentOf(again.first, 'select').length, 1);
  assert.is(viewOf(again, 'web')?.waiting?.until, until);
  again.pass(199_000);
  assert.is(viewOf(again, 'web')?.state, 'requested');
  again.pass(2_000);
  const view = viewOf(again, 'web');
  assert.is(view?.state, 'failed');
  assert.is(view?.failure?.code, 'no-valid-host');
  assert.match(view?.failure?.message ?? '', /^waited 300 s in vain; at last: none of 3 hosts$/);
});

test('waiting - it ends when a host is found, and waits no more', () => {
  const on = desk();
  on.tell(buildOf('web'));
  parkedAs(on, 'web');
  const round = on.state.requests.get('web')?.round ?? 0;
  const selection = { cell: 'c1', host: 'h1', provider: 'p1', allocations: [] };
  const selections = [{ instance: 'web', selection, alternates: [], decision: '{}' }];
  const turned = on.tell({ type: 'selected', request: 'web', round, selections }, 'scheduler/s');
  assert.is(sentOf(turned, 'start').length, 1);
  assert.is(viewOf(on, 'web')?.waiting, undefined);
  assert.is(on.state.parked.size, 0);
});

test('waiting - deleted while it waits, it is withdrawn and gone', () => {
  const on = desk();
  on.tell(buildOf('web'));
  parkedAs(on, 'web');
  const turned = on.tell({ type: 'delete', ask: 8, instance: 'web' });
  assert.equal(
    sentOf(turned, 'withdraw').map(({ to, message }) => [to, message.request]),
    [['scheduler/s', 'web']],
  );
  assert.is(on.state.parked.size, 0);
  assert.equal(replayed(actor, on.entries), on.stored());
});

test('waiting - no more wait than may: the next one that has no host fails, and says why', () => {
  const on = desk();
  for (const request of ['a', 'b', 'c']) {
    on.tell(buildOf(request));
    parkedAs(on, request);
  }
  assert.is(on.state.parked.size, 2);
  assert.match(viewOf(on, 'c')?.failure?.message ?? '', /^it cannot wait, as 2 requests do; none of 3 hosts/);
});

test('waiting - the same request again is the same only if it may wait as long', () => {
  const on = desk();
  on.tell(buildOf('web'));
  assert.is(sentOf(on.tell(buildOf('web')), 'build-accepted').length, 1);
  assert.is(sentOf(on.tell(buildOf('web', 1_000)), 'declined').length, 1);
});

test.run();
