// Area: conductor. From the request to the hand-over, and what is told of it afterwards; deleted at any moment.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { conductor } from '../../actors/conductor/conductor.ts';
import type { TreeConditions } from '../../actors/messages/common.ts';
import type { Build, ConductorMessage } from '../../actors/messages/conductor.ts';
import type { Origins, Where } from '../../actors/messages/where.ts';
import { instanceNames } from '../../actors/routing.ts';
import {
  actor,
  buildOf,
  desk,
  handedOver,
  lastSelect,
  noHost,
  REQUESTED_MS,
  remove,
  selectedFor,
} from '../support/conductor-desk.ts';
import { bench, sentOf, type Turned, told, viewOf } from '../support/turn.ts';

const test = suite('conductor');

test('conductor - a request is answered when it is recorded, and a scheduler asked with as many alternates', () => {
  const on = desk();
  const turned = on.tell(buildOf('web', 3, { alternates: 5 }), 'gateway/g');
  assert.is(turned.records.length, 1);
  assert.equal(told(turned), ['build-accepted to gateway/g', 'select to scheduler']);
  const [select] = sentOf(turned, 'select');
  assert.equal(select?.message.instances, ['web-0', 'web-1', 'web-2']);
  assert.is(select?.message.alternates, 5);
  assert.is(select?.message.expiresAt, on.now + REQUESTED_MS);
});

test('conductor - an explanation names the scheduler that said that it is at a request, while no host is found', () => {
  const on = desk();
  const schedulerOf = () => {
    const [told] = sentOf(on.tell({ type: 'explain', ask: 1, instance: 'web' }), 'explained');
    return told?.message.view?.scheduler;
  };
  const roundOf = () => on.state.requests.get('web')?.round ?? 0;
  on.tell(buildOf('web'), 'gateway/g');
  const round = roundOf();
  assert.is(schedulerOf(), undefined);
  on.tell({ type: 'selecting', request: 'web', round: round + 1 }, 'scheduler/other');
  assert.is(schedulerOf(), undefined, 'that was of another round');
  on.tell({ type: 'selecting', request: 'web', round }, 'scheduler/s');
  assert.is(schedulerOf(), 's');
  const asked = lastSelect({ sent: on.pass(4_000).flatMap(({ sent }) => sent) });
  assert.is(schedulerOf(), undefined, 'asked for again, it is not known who has it');
  const again = roundOf();
  on.tell({ type: 'taking', request: 'web', round: again, taker: 't 1' }, 'scheduler/t');
  on.tell({ type: 'taking', request: 'web', round: again, taker: 'u 1' }, 'scheduler/u');
  assert.is(schedulerOf(), 't', 'the first has it');
  on.tell(selectedFor(asked).message, 'scheduler/t');
  assert.is(schedulerOf(), undefined);
});

test('conductor - an explanation of one that has a host says nothing of what others of its request wait for', () => {
  const on = desk();
  const { message } = selectedFor(lastSelect(on.tell(buildOf('web', 2), 'gateway/g')));
  assert.ok(message.type === 'selected');
  const { selections, round } = message;
  on.tell({ ...message, selections: selections.slice(0, 1) }, 'scheduler/s');
  on.tell({ type: 'selecting', request: 'web', round }, 'scheduler/s');
  const schedulers = ['web-0', 'web-1'].map((instance) => {
    const [told] = sentOf(on.tell({ type: 'explain', ask: 1, instance }), 'explained');
    return told?.message.view?.scheduler;
  });
  assert.equal(schedulers, [undefined, 's']);
});

test('conductor - a request of which some instances have a host is asked for again when nothing more is heard of it', () => {
  const on = desk();
  const { message } = selectedFor(lastSelect(on.tell(buildOf('web', 3), 'gateway/g')));
  assert.ok(message.type === 'selected');
  const { selections } = message;
  const asked = (ms: number) => on.pass(ms).flatMap((turned) => sentOf(turned, 'select'));
  for (const selection of selections.slice(0, 2)) {
    assert.equal(asked(700), [], 'it is being told of');
    on.tell({ ...message, selections: [selection] }, 'scheduler/s');
  }
  assert.equal(
    asked(1_000).map(({ message: { instances } }) => instances),
    [['web-2']],
  );
});

test('conductor - the same request again is answered as before and records nothing', () => {
  const on = desk();
  on.tell(buildOf('web', 2));
  for (const again of [buildOf('web', 2), buildOf('web', 2, { ask: 9 })]) {
    const turned = on.tell(again);
    assert.equal(turned.records, []);
    assert.equal(sentOf(turned, 'build-accepted')[0]?.message.instances, ['web-0', 'web-1']);
  }
});

test('conductor - a request is the same whether or not lists that say nothing are written out', () => {
  const on = desk();
  on.tell(buildOf('web'));
  const { groups, ...spec } = buildOf('web').spec;
  const written = { ...spec, groups: groups.map((one) => ({ ...one, required: [], anyOf: [] })), rootRequired: [] };
  const again = on.tell(buildOf('web', 1, { spec: written, where: { hints: {} } }));
  assert.equal([again.records, again.sent[0]?.message.type], [[], 'build-accepted']);
  on.tell(buildOf('db', 1, { payload: { nics: [], a: 1 } }));
  const sameOf = (payload: object) => on.tell(buildOf('db', 1, { payload })).sent[0]?.message.type;
  assert.equal([{ a: 1, nics: [] }, { a: 1 }].map(sameOf), ['build-accepted', 'declined'], 'but payloads as they are');
  const other = on.tell(buildOf('web', 1, { spec: { ...spec, groups: [{ name: '', resources: { VCPU: 2 } }] } }));
  assert.is(other.sent[0]?.message.type, 'declined');
});

test('conductor - the same request again, of which some has failed or is lost, is told so, and builds nothing', () => {
  const on = desk();
  const again = () => {
    const turned = on.tell(buildOf('web', 3), 'gateway/g');
    assert.equal(turned.records, []);
    const message = sentOf(turned, 'build-accepted')[0]?.message;
    assert.equal(message?.instances, ['web-0', 'web-1', 'web-2']);
    return message?.failed;
  };
  handedOver(on, 'web', 3);
  for (const instance of ['web-0', 'web-1', 'web-2']) on.tell({ type: 'started', instance }, 'cell/c1');
  on.tell({ type: 'ended', instance: 'web-0', state: 'active' }, 'cell/c1');
  assert.is(again(), undefined, 'what is built, or under way, is as before');
  const failed = { state: 'failed', code: 'alternates-exhausted', reason: 'no host is left' } as const;
  on.tell({ type: 'ended', instance: 'web-2', ...failed }, 'cell/c1');
  const first = { instances: ['web-2'], code: 'alternates-exhausted', message: 'no host is left' };
  assert.equal(again(), first);
  on.tell({ type: 'ended', instance: 'web-0', state: 'lost' }, 'cell/c1');
  assert.equal(again(), { instances: ['web-0', 'web-2'] }, 'why the first was lost is not known');

  const [select] = sentOf(on.tell(buildOf('db'), 'gateway/g'), 'select');
  on.tell(noHost('db', select?.message.round ?? 0), 'scheduler/s');
  const [answer] = sentOf(on.tell(buildOf('db'), 'gateway/g'), 'build-accepted');
  assert.equal(answer?.message.failed, { instances: ['db'], code: 'no-valid-host', message: 'none of 3 hosts' });
});

test('conductor - another request for a name that is taken is declined, wholly', () => {
  const on = desk();
  on.tell(buildOf('web', 2));
  for (const other of [buildOf('web', 3), buildOf('web-1'), buildOf('web', 2, { alternates: 1 })]) {
    const turned = on.tell(other);
    assert.equal(turned.records, []);
    assert.is(sentOf(turned, 'declined')[0]?.message.code, 'already-exists');
  }
  assert.is(on.state.instances.size, 2);
});

test('conductor - a request is the same whether or not a node said what its conditions come from', () => {
  const on = desk();
  const origins = { avoidAggregates: [0] };
  const cells = ['c1'];
  const pairs: [string, { where?: Where }, { where?: Where }][] = [
    ['web', { where: { origins } }, {}],
    ['db', {}, { where: { origins } }],
    ['app', { where: { cells } }, { where: { cells, origins } }],
  ];
  for (const [name, one, other] of pairs) {
    on.tell(buildOf(name, 1, one));
    assert.is(sentOf(on.tell(buildOf(name, 1, other)), 'declined').length, 0, name);
  }
  on.tell(buildOf('far', 1, { where: { origins } }));
  assert.is(sentOf(on.tell(buildOf('far', 1, { where: { cells } })), 'declined').length, 1);
});

test('conductor - a request is the same, too, where the operator says something else of aggregates meanwhile', () => {
  const said = (tree: TreeConditions, origins: Origins): Partial<Build> => ({
    spec: { ...buildOf('any').spec, tree },
    where: { origins },
  });
  const east: Origins = { zones: { names: ['east'], list: 0 }, avoidAggregates: [0] };
  const inEast = said({ memberOf: [['a']], notMemberOf: ['x'] }, east);
  const first = desk();
  for (const [name, before, after] of [
    ['kept', {}, said({ notMemberOf: ['rare'] }, {})],
    ['open', said({ memberOf: [['mine']] }, { confined: 0 }), {}],
    ['zone', inEast, said({ memberOf: [['a', 'b'], ['mine']], notMemberOf: ['x', 'rare'] }, { ...east, confined: 1 })],
  ] as const) {
    first.tell(buildOf(name, 1, before));
    const stored = [first.stored()];
    for (const on of [first, bench({ ...actor, init: () => actor.restore(stored) })]) {
      for (const again of [before, after]) {
        assert.is(sentOf(on.tell(buildOf(name, 1, again)), 'build-accepted').length, 1, name);
      }
    }
  }
  for (const other of [
    {},
    said({ memberOf: [['a']], notMemberOf: ['y'] }, east),
    said({ memberOf: [['a']] }, { zones: { names: ['east'], list: 0 } }),
    said({ memberOf: [['a']], notMemberOf: ['x'] }, { ...east, zones: { names: ['west'], list: 0 } }),
    said({ memberOf: [['a'], ['asked']], notMemberOf: ['x'] }, east),
  ]) {
    assert.is(sentOf(first.tell(buildOf('zone', 1, other)), 'declined').length, 1, JSON.stringify(other));
  }
});

test('conductor - a request is the same, too, where a node of before took what its lists name twice as it stands', () => {
  const { spec } = buildOf('any');
  const of = (group: object, tree: TreeConditions, where: Where): Partial<Build> => ({
    spec: { ...spec, groups: spec.groups.map((one) => ({ ...one, ...group })), rootRequired: ['CUSTOM_A'], tree },
    where,
  });
  const once = of(
    { required: ['CUSTOM_B', 'CUSTOM_A'], memberOf: [['b', 'a'], ['c']] },
    { noneOf: ['h1', 'h2'], notMemberOf: ['x'] },
    { cells: ['c1'], origins: { avoidAggregates: [0] } },
  );
  const twice = of(
    {
      required: ['CUSTOM_B', 'CUSTOM_A', 'CUSTOM_B'],
      memberOf: [
        ['a', 'b'],
        ['c', 'c'],
        ['b', 'a', 'b'],
      ],
    },
    { noneOf: ['h1', 'h2', 'h1'], notMemberOf: ['x', 'x'] },
    { cells: ['c1', 'c1'], origins: { avoidAggregates: [0, 1] } },
  );
  const on = desk();
  on.tell(buildOf('web', 2, twice));
  for (const again of [twice, once]) assert.is(sentOf(on.tell(buildOf('web', 2, again)), 'build-accepted').length, 1);
  const other = of({ required: ['CUSTOM_B'] }, { noneOf: ['h1', 'h2'], notMemberOf: ['x'] }, { cells: ['c1'] });
  assert.is(sentOf(on.tell(buildOf('web', 2, other)), 'declined').length, 1);
  // Snapshots of before have what nodes of now still pass on by this text.
  const sameSubtree = [
    ['a', 'b'],
    ['b', 'a'],
    ['a', 'b'],
  ];
  on.tell(buildOf('app', 1, { spec: { ...spec, sameSubtree } }));
  assert.is(on.state.instances.get('app')?.asked, '130-1382357451');
  // A payload is the driver's, who may count.
  on.tell(buildOf('db', 1, { payload: { disks: ['ssd', 'ssd'] } }));
  assert.is(sentOf(on.tell(buildOf('db', 1, { payload: { disks: ['ssd'] } })), 'declined').length, 1);
});

test('conductor - the same request again, of which one was deleted, is told which, and not of another request', () => {
  const on = desk();
  on.tell(buildOf('web', 2));
  on.tell({ type: 'delete', ask: 1, instance: 'web-1' }, 'gateway/g');
  on.tell({ type: 'released', consumer: 'web-1', deleted: true });
  const reason = () => sentOf(on.tell(buildOf('web', 2)), 'declined')[0]?.message.reason;
  assert.is(reason(), "instance 'web-1' was deleted; its id cannot be taken again for a while");
  on.state.instances.delete('web-1'); // what is forgotten after a while
  assert.is(reason(), "instance 'web-1' of this request was deleted: ask with another id");
});

test('conductor - another count is declined while a request of the name looks for hosts, and does not replace it', () => {
  const on = desk();
  on.tell(buildOf('web', 2), 'gateway/g');
  const [declined] = sentOf(on.tell(buildOf('web', 1), 'gateway/g'), 'declined');
  assert.is(declined?.message.code, 'already-exists');
  const asked = on.pass(4_000).flatMap((turned) => sentOf(turned, 'select'));
  assert.equal(asked.at(-1)?.message.instances, ['web-0', 'web-1']);
});

test('conductor - an id names one request, whatever its count, also when that has its hosts', () => {
  const on = desk();
  handedOver(on, 'web', 2);
  handedOver(on, 'db', 1);
  const otherwise = (request: string) => `request '${request}' exists already, with another count: ask with another id`;
  for (const [request, count, reason] of [
    ['web', 1, otherwise('web')],
    ['db', 2, otherwise('db')],
    ['web', 3, "request 'web' exists already, and asks for something else: ask with another id"],
    ['web-0', 1, "instance 'web-0' exists already, of another request"],
  ] as const) {
    const turned = on.tell(buildOf(request, count), 'gateway/g');
    const [declined] = sentOf(turned, 'declined');
    assert.equal([declined?.message.code, declined?.message.reason], ['already-exists', reason]);
    assert.equal(turned.records, []);
  }
  assert.is(sentOf(on.tell(buildOf('db-0', 2), 'gateway/g'), 'build-accepted').length, 1, 'of no request of that name');
  on.tell({ type: 'delete', ask: 1, instance: 'db' }, 'gateway/g');
  assert.is(sentOf(on.tell(buildOf('db', 2), 'gateway/g'), 'build-accepted').length, 1, 'it goes');
});

test('conductor - several instances are handed over together', () => {
  const on = desk();
  const turned = handedOver(on, 'web', 3);
  assert.equal(told(turned), ['start to cell/c1', 'start to cell/c1', 'start to cell/c1']);
  const [start] = sentOf(turned, 'start');
  assert.is(start?.message.snapshot.value, 'claimed');
  assert.is(start?.message.snapshot.context.attempt, 1);
  assert.equal(
    start?.message.snapshot.context.alternates.map(({ host }) => host),
    ['h2', 'h3'],
  );
  assert.is(on.state.requests.size, 0, 'nobody waits for a host any more');
});

test('conductor - several instances fail together, each giving back whatever was claimed for it', () => {
  const on = desk();
  const [select] = sentOf(on.tell(buildOf('web', 3)), 'select');
  const turned = on.tell(noHost('web', select?.message.round ?? 0), 'scheduler/s');
  const released = sentOf(turned, 'release');
  assert.equal(
    released.map(({ message }) => message.consumer),
    instanceNames('web', 3),
  );
  assert.ok(
    released.every(({ message }) => message.deleted),
    'no later claim for it can succeed',
  );
  assert.equal(
    turned.events.map(({ topic, body }) => [topic.join('.'), (body.failure as { code: string }).code]),
    instanceNames('web', 3).map((instance) => [`conductor.0.build.${instance}.failed`, 'no-valid-host']),
  );
  for (const instance of instanceNames('web', 3)) {
    assert.is(viewOf(on, instance)?.state, 'failed');
    assert.equal([viewOf(on, instance)?.owes, viewOf(on, instance)?.owedSince], ['release', on.now]);
    assert.equal(viewOf(on, instance)?.failure, { code: 'no-valid-host', message: 'none of 3 hosts' });
  }
});

test('conductor - answers to an earlier round of asking mean nothing', () => {
  const on = desk();
  const first = on.tell(buildOf('web', 2));
  const [, again] = on.pass(3_000).filter((turned) => sentOf(turned, 'select').length > 0);
  assert.ok(again, 'it asks again');
  const stale = selectedFor(lastSelect(first));
  for (const message of [stale.message, noHost('web', sentOf(first, 'select')[0]?.message.round ?? 0)]) {
    assert.equal(on.tell(message, 'scheduler/s').records, []);
  }
  assert.is(sentOf(on.tell(selectedFor(lastSelect(again)).message, 'scheduler/s'), 'start').length, 2);
});

test('conductor - answers to a round of an earlier life mean nothing, soon as the next one asks', () => {
  const on = desk();
  const before = selectedFor(lastSelect(on.tell(buildOf('web')))).message;
  const later = bench(actor, { at: on.now + 1_000, entries: on.entries });
  const asked = later.first.sent.length > 0 ? later.first : { sent: later.pass(1_000).flatMap(({ sent }) => sent) };
  assert.equal(later.tell(before, 'scheduler/s').records, []);
  assert.is(later.tell(selectedFor(lastSelect(asked)).message, 'scheduler/s').records.length, 1);
});

test('conductor - a scheduler is asked again at a slowing pace, until the deadline fails the request', () => {
  const on = desk();
  on.tell(buildOf('web', 2));
  const asked: number[] = [];
  for (let second = 0; second <= REQUESTED_MS / 1_000; second += 1) {
    for (const turned of on.pass(1_000)) if (sentOf(turned, 'select').length > 0) asked.push(on.now);
  }
  const pauses = asked.slice(1).map((at, position) => at - (asked[position] as number));
  assert.ok((pauses[0] as number) <= 2_000, 'at first soon');
  // Up to a quarter earlier than the longest wait, looked at once a second.
  for (const pause of pauses.slice(3)) assert.ok(pause >= 3_000 && pause <= 4_000, pauses.join());
  for (const instance of ['web-0', 'web-1']) {
    const { failure } = viewOf(on, instance) ?? {};
    assert.is(failure?.code, 'scheduling-timed-out');
    assert.is(
      failure?.message,
      `schedulers were asked ${asked.length + 1} times in 60 s, and none has answered: none is running, or placement does not answer them`,
      'schedulers that wait for it are as silent',
    );
  }
  assert.is(on.state.requests.size, 0);
});

test('conductor - an explanation says how often schedulers were asked in vain, since one was heard of', () => {
  const on = desk();
  const askingOf = () => {
    const [explained] = sentOf(on.tell({ type: 'explain', ask: 1, instance: 'web' }), 'explained');
    return explained?.message.view?.asking;
  };
  const roundOf = () => on.state.requests.get('web')?.round ?? 0;
  on.tell(buildOf('web'));
  const since = on.now;
  assert.equal(askingOf(), { times: 1, since, asOf: since });
  on.pass(5_000);
  assert.equal(askingOf(), { times: 3, since, asOf: since + 5_000 });
  on.tell(selectedFor(lastSelect(on.tell(buildOf('other')))).message, 'scheduler/s');
  assert.equal(askingOf(), { times: 3, since, asOf: since + 5_000, answersOthers: 's' });
  on.tell({ type: 'selecting', request: 'web', round: roundOf() - 1 }, 'scheduler/s');
  assert.is(askingOf(), undefined, 'late as it is, it is an answer');
  on.pass(4_000);
  assert.is(askingOf()?.times, 1);
  on.tell({ type: 'selecting', request: 'web', round: roundOf() }, 'scheduler/s');
  on.pass(5_000);
  assert.ok((askingOf()?.since ?? 0) > since + 9_000, 'since then it is silent');
  on.tell(selectedFor(lastSelect({ sent: on.pass(4_000).flatMap(({ sent }) => sent) })).message, 'scheduler/s');
  assert.is(askingOf(), undefined);
});

test('conductor - of a request that fails while a scheduler is at it, it is said which', () => {
  const on = desk();
  on.tell(buildOf('web'));
  for (let waited = 0; waited < REQUESTED_MS; waited += 500) {
    on.tell({ type: 'selecting', request: 'web', round: on.state.requests.get('web')?.round ?? 0 }, 'scheduler/s');
    on.pass(500);
  }
  const message = "scheduler 's' has come to no end in time: placement may not answer it";
  assert.equal(viewOf(on, 'web')?.failure, { code: 'scheduling-timed-out', message });
});

for (const [placementShards, shards, why] of [
  [1, [0], 'placement has'],
  [3, [1], 'placement/1 has'],
  [3, [0, 2], 'placement/0 and placement/2 have'],
] as const) {
  test(`conductor - of a request that fails while its scheduler waits for placement it is said that ${why} not answered`, () => {
    const on = bench(conductor({ shard: 0, placementShards, requestedMs: REQUESTED_MS }));
    on.tell(buildOf('web'));
    const tellAwaits = (scheduler: string) => {
      const round = on.state.requests.get('web')?.round ?? 0;
      on.tell({ type: 'awaiting', request: 'web', round, shards: [...shards] }, scheduler);
    };
    const explained = () => sentOf(on.tell({ type: 'explain', ask: 1, instance: 'web' }), 'explained')[0]?.message.view;
    for (let waited = 0; waited < REQUESTED_MS - 500; waited += 500) {
      tellAwaits(waited % 1_000 === 0 ? 'scheduler/s' : 'scheduler/t');
      on.pass(500);
    }
    assert.equal([explained()?.scheduler, explained()?.awaits], ['s', shards]);
    on.pass(500);
    const message = `scheduler 's' has come to no end in time: ${why} not answered it`;
    assert.equal(viewOf(on, 'web')?.failure, { code: 'scheduling-timed-out', message });
  });
}

test('conductor - a scheduler that waits for placement is asked again as one that says nothing, and that it waits is forgotten in time', () => {
  const on = desk();
  on.tell(buildOf('web'));
  const views = () => sentOf(on.tell({ type: 'explain', ask: 1, instance: 'web' }), 'explained')[0]?.message.view;
  const roundOf = () => on.state.requests.get('web')?.round ?? 0;
  const first = roundOf();
  on.tell({ type: 'awaiting', request: 'web', round: first, shards: [0] }, 'scheduler/s');
  assert.equal(views()?.awaits, [0]);
  on.tell({ type: 'awaiting', request: 'web', round: first, shards: [] }, 'scheduler/s');
  assert.is(views()?.awaits, undefined, 'they have answered');
  on.tell({ type: 'awaiting', request: 'web', round: first, shards: [0] }, 'scheduler/s');
  on.tell({ type: 'selecting', request: 'web', round: first }, 'scheduler/s');
  assert.is(views()?.awaits, undefined, 'it went on');
  on.tell({ type: 'awaiting', request: 'web', round: first, shards: [0] }, 'scheduler/s');
  const asked = () => on.pass(500).flatMap((turned) => sentOf(turned, 'select')).length;
  let again = 0;
  for (let passed = 0; passed < 10_000 && again < 2; passed += 500) again += asked();
  assert.is(again, 2);
  assert.is(views()?.awaits, undefined, 'two rounds later nobody has said so');
  on.tell({ type: 'awaiting', request: 'web', round: first, shards: [0] }, 'scheduler/s');
  assert.is(views()?.awaits, undefined, 'nor of an earlier round');
});

test('conductor - that a scheduler waits for placement is still said when the next round is taken, until it says more', () => {
  const on = desk();
  on.tell(buildOf('web'));
  const awaited = () =>
    sentOf(on.tell({ type: 'explain', ask: 1, instance: 'web' }), 'explained')[0]?.message.view?.awaits;
  const roundOf = () => on.state.requests.get('web')?.round ?? 0;
  const first = roundOf();
  on.tell({ type: 'taking', request: 'web', round: first, taker: 's 1' }, 'scheduler/s');
  assert.is(awaited(), undefined);
  on.tell({ type: 'awaiting', request: 'web', round: first, shards: [1] }, 'scheduler/s');
  for (let passed = 0; passed < 20_000 && roundOf() === first; passed += 500) on.pass(500);
  on.tell({ type: 'taking', request: 'web', round: roundOf(), taker: 's 2' }, 'scheduler/s');
  assert.equal(awaited(), [1]);
  on.tell({ type: 'selecting', request: 'web', round: roundOf() }, 'scheduler/s');
  assert.is(awaited(), undefined, 'it went on');
});

test('conductor - what only schedulers say counts of nobody else', () => {
  const on = desk();
  const { request, round } = lastSelect(on.tell(buildOf('web', 1, { waitMs: 600_000 }))).message as never;
  const said: ConductorMessage[] = [
    noHost(request, round),
    { type: 'parked', request, round, reason: 'none of 3 hosts', decision: '{}' },
    { type: 'selecting', request, round },
    { type: 'taking', request, round, taker: 's 1' },
  ];
  for (const from of ['', 'conductor/9', 'schedulers/s']) {
    for (const message of said) assert.equal(on.tell(message, from), { records: [], sent: [], events: [] }, from);
  }
  on.pass(2_500);
  assert.is(lastSelect(on.tell(buildOf('other'))).to, 'scheduler', 'none of them is asked by name');
});

test('conductor - the place in line of who came last is known to the next owner, whose clock may be behind', () => {
  const on = desk();
  on.tell(buildOf('first', 1, { waitMs: 600_000 }));
  const next = bench(actor, { at: on.now - 5_000, entries: on.entries });
  next.tell(buildOf('second', 1, { waitMs: 600_000 }));
  const placeOf = (request: string) => next.state.requests.get(request)?.since ?? 0;
  assert.ok(placeOf('second') > placeOf('first'));
  const stored = actor.restore([next.stored()]);
  assert.is(stored.lastInLine, placeOf('second'));
});

test('conductor - a build that was stored by a version of its machine that is not read is refused by its name', () => {
  const on = desk();
  on.tell(buildOf('web'));
  const told = JSON.stringify(on.stored());
  const newer = told.replaceAll('"v":1', '"v":2');
  assert.is.not(newer, told);
  assert.throws(
    () => actor.restore([JSON.parse(newer)]),
    (error: Error) => error.message === "build 'web' is stored in version 2; this version reads 1",
  );
});

for (const byMs of [3_600_000, 30_000, -3_600_000]) {
  const how = byMs > 0 ? 'back' : 'forward';
  test(`conductor - a request whose clock is set ${how} by ${Math.abs(byMs)} ms gives up after its time all the same`, () => {
    const on = desk();
    on.tell(buildOf('web'));
    on.setBack(byMs);
    on.pass(59_000);
    assert.is(viewOf(on, 'web')?.state, 'requested');
    assert.is(viewOf(on, 'web')?.deadlineAt, on.now + 1_000);
    on.pass(1_000);
    assert.is(viewOf(on, 'web')?.state, 'failed');
  });
}

test('conductor - a clock that was set back and put right again costs a request nothing', () => {
  const on = desk();
  on.tell(buildOf('web'));
  const deadlineAt = viewOf(on, 'web')?.deadlineAt;
  on.setBack(3_600_000);
  on.pass(5_000);
  assert.is(viewOf(on, 'web')?.deadlineAt, on.now + 55_000);
  on.setBack(-3_600_000);
  on.pass(5_000);
  assert.equal([viewOf(on, 'web')?.state, viewOf(on, 'web')?.deadlineAt], ['requested', deadlineAt]);
});

for (const type of ['taking', 'selected', 'no-valid-host', 'parked'] as const) {
  test(`conductor - a scheduler that says '${type}' of any request has answered`, () => {
    const on = desk();
    const select = lastSelect(on.tell(buildOf('web')));
    const request = 'web';
    const round = on.state.requests.get(request)?.round ?? 0;
    const answers = {
      taking: { type: 'taking', request, round, taker: 's 1' },
      selected: selectedFor(select).message,
      'no-valid-host': { type: 'no-valid-host', request, round, reason: 'none of 3 hosts', decision: '{}' },
      parked: { type: 'parked', request, round, reason: 'none of 3 hosts', decision: '{}' },
    } as const;
    on.tell(answers[type], 'scheduler/s');
    assert.is(on.state.schedulers.latestSince(on.steady - 1), 'scheduler/s');
    assert.is(on.state.schedulers.latestSince(on.steady), undefined);
  });
}

/** A scheduler answers a request that is asked for nothing else. */
const answerOther = (on: ReturnType<typeof desk>, id: string, scheduler: string) =>
  on.tell(selectedFor(lastSelect(on.tell(buildOf(id)))).message, scheduler);

test('conductor - every other time it asks again it asks a scheduler that has answered meanwhile, or else that was heard last', () => {
  const on = desk();
  const askedNext = (ms: number) => {
    const [again] = on
      .pass(ms)
      .flatMap((turned) => sentOf(turned, 'select').filter(({ message }) => message.request === 'web'));
    return again?.to;
  };
  answerOther(on, 'before', 'scheduler/t');
  on.pass(1);
  answerOther(on, 'just before', 'scheduler/s');
  on.pass(1);
  assert.is(lastSelect(on.tell(buildOf('web'))).to, 'scheduler');
  assert.is(askedNext(1_000), 'scheduler/s', 'nobody has answered since it asked');
  answerOther(on, 'one', 'scheduler/t');
  assert.is(askedNext(2_000), 'scheduler', 'any may be better');
  answerOther(on, 'two', 'scheduler/t');
  assert.is(askedNext(4_000), 'scheduler/t');
  answerOther(on, 'three', 'scheduler/t');
  assert.is(askedNext(4_000), 'scheduler');
});

test('conductor - after its clock was set back, only what it hears from then on counts as heard', () => {
  const on = desk();
  answerOther(on, 'one', 'scheduler/t');
  answerOther(on, 'two', 'scheduler/s');
  on.setBack(3_600_000);
  assert.is(lastSelect(on.tell(buildOf('web'))).to, 'scheduler');
  on.pass(1);
  answerOther(on, 'three', 'scheduler/t');
  const asked = on.pass(1_000).flatMap((turned) => sentOf(turned, 'select').map(({ to }) => to));
  assert.equal(asked, ['scheduler/t']);
});

test('conductor - what was deleted while its clock was a year ahead is forgotten in time, by who is restored too', () => {
  const YEAR_MS = 365 * 86_400_000;
  const on = desk();
  const deleteOne = (id: string) => {
    on.tell(noHost(id, (lastSelect(on.tell(buildOf(id))).message as { round: number }).round), 'scheduler/s');
    on.tell({ type: 'released', consumer: id, deleted: true });
    on.tell(remove(id));
    assert.is(viewOf(on, id)?.state, 'deleted');
  };
  on.now += YEAR_MS;
  deleteOne('ahead');
  on.setBack(YEAR_MS);
  deleteOne('after');
  const { deleted } = actor.restore([on.stored()]);
  assert.equal([...deleted.values()], [on.now, on.now]);
  on.tell({ type: 'wake', id: 'forget-deleted' });
  on.pass(3 * 3_600_000);
  assert.equal([viewOf(on, 'ahead'), viewOf(on, 'after')], [null, null]);
});

test('conductor - a hand-over is said again until the cell has it, and said twice is heard once', () => {
  const on = desk();
  handedOver(on, 'web');
  assert.ok(on.pass(20_000).flatMap((turned) => sentOf(turned, 'start')).length >= 4);
  assert.is(on.tell({ type: 'started', instance: 'web' }, 'cell/c1').records.length, 1);
  assert.equal(on.tell({ type: 'started', instance: 'web' }, 'cell/c1').records, []);
  assert.ok(!on.pass(60_000).flatMap(told).includes('start to cell/c1'));
  assert.is(viewOf(on, 'web')?.cell, 'c1');
});

test('conductor - an instance that its cell has lost is shown as lost, and the cell is told that it is noted', () => {
  const on = desk();
  handedOver(on, 'web');
  on.tell({ type: 'started', instance: 'web' }, 'cell/c1');
  on.tell({ type: 'ended', instance: 'web', state: 'active' }, 'cell/c1');
  const [code, reason] = ['host-fenced', "host 'h1' was fenced"] as const;
  const lost = { type: 'ended', instance: 'web', state: 'lost', code, reason } as const;
  assert.equal(told(on.tell(lost, 'cell/c1')), ['lost-noted to cell/c1']);
  assert.equal([viewOf(on, 'web')?.state, viewOf(on, 'web')?.failure], ['lost', { code, message: reason }]);
  const again = on.tell(lost, 'cell/c1');
  assert.equal([again.records, told(again)], [[], ['lost-noted to cell/c1']]);
  assert.equal(told(on.tell({ ...lost, instance: 'unheard-of' }, 'cell/c1')), ['lost-noted to cell/c1']);
  assert.equal(on.tell({ type: 'ended', instance: 'web', state: 'active' }, 'cell/c1').records, [], 'told late');
  assert.is(viewOf(on, 'web')?.state, 'lost');
});

test('conductor - what the cell says of the end is shown, once and as it came', () => {
  const on = desk();
  handedOver(on, 'web');
  on.tell({ type: 'started', instance: 'web' });
  assert.is(viewOf(on, 'web')?.state, 'building');
  const [code, reason] = ['build-aborted', 'no image'] as const;
  const ended: ConductorMessage = { type: 'ended', instance: 'web', state: 'failed', code, reason };
  assert.is(on.tell(ended).records.length, 1);
  assert.equal(on.tell(ended).records, []);
  assert.is(viewOf(on, 'web')?.state, 'failed');
  assert.equal(viewOf(on, 'web')?.failure, { code, message: reason });
  on.tell({ type: 'delete', ask: 1, instance: 'web' }, 'gateway/g');
  assert.equal(viewOf(on, 'web')?.failure, { code, message: reason }, 'also when the cell has nothing of it any more');
});

test('conductor - a request for whose failure a scheduler looks for the reason is asked for again when that is heard of no more', () => {
  const on = desk();
  const asked = lastSelect(on.tell(buildOf('web'))).message;
  const round = asked.type === 'select' ? asked.round : 0;
  const selectsIn = (ms: number) => on.pass(ms).flatMap((turned) => sentOf(turned, 'select'));
  const selecting: ConductorMessage = { type: 'selecting', request: 'web', round };
  for (let times = 0; times < 5; times += 1) {
    assert.equal(selectsIn(700), []);
    on.tell(selecting, 'scheduler/s');
  }
  const [again, ...more] = selectsIn(1_000);
  assert.equal(more, []);
  assert.is(again?.to, 'scheduler/s', 'who is there is asked');
  // What is heard of an earlier round is of no use: its answer would not be taken.
  assert.equal(selectsIn(1_000), []);
  on.tell(selecting, 'scheduler/s');
  assert.is(selectsIn(1_000).length, 1);
});

test('conductor - a cell is asked about a build until its end is heard, also after a recovery', () => {
  const asks = (all: readonly Turned<unknown>[]) => all.flatMap((one) => sentOf(one, 'ask-ends'));
  const on = desk();
  handedOver(on, 'web');
  assert.equal(asks(on.pass(20_000)), [], 'nothing is in a cell yet');
  on.tell({ type: 'started', instance: 'web' }, 'cell/c1');
  const [first, ...more] = asks(on.pass(20_000));
  assert.equal([first?.to, first?.message.instances, more.length], ['cell/c1', ['web'], 1]);
  const again = bench(actor, { at: on.now, entries: on.entries });
  assert.equal(asks([again.recover()]).length, 1);
  again.tell({ type: 'ended', instance: 'web', state: 'active' }, 'cell/c1');
  assert.equal(asks(again.pass(20_000)), []);
});

test('conductor - of very many builds it asks some thousands at a time, and soon about the next', () => {
  const facts = { request: 'r', asked: '1-1', phase: 'in-cell', cell: 'c1', told: null, build: null };
  const more = { releaseOwed: false, handedOver: true, deletedAt: 0 };
  const instances = Array.from({ length: 12_000 }, (_, n) => [`i${n}`, { ...facts, ...more }]);
  const on = bench({ ...actor, init: () => actor.restore([{ instances, requests: [] }]) });
  const rounds = [on.first, ...on.pass(1_000)].map((turned) => sentOf(turned, 'ask-ends'));
  const sizes = rounds.map((asks) => asks.reduce((sum, { message }) => sum + message.instances.length, 0));
  assert.equal(
    sizes.filter((size) => size > 0),
    [5_000, 5_000, 2_000],
  );
  assert.is(new Set(rounds.flat().flatMap(({ message }) => message.instances)).size, 12_000);
  const later = on.pass(20_000).flatMap((turned) => sentOf(turned, 'ask-ends'));
  assert.ok(later.length > 0, 'and again after a while');
});

test('conductor - words about instances that it does not know, or never handed over, change nothing', () => {
  const on = desk();
  on.tell(buildOf('web'));
  for (const instance of ['web', 'nobody']) {
    for (const message of [
      { type: 'started', instance },
      { type: 'ended', instance, state: 'active' },
      { type: 'removed', instance },
      { type: 'released', consumer: instance, deleted: true },
    ] as const) {
      const turned = on.tell(message);
      assert.equal([turned.records, turned.sent], [[], []], `${message.type} of '${instance}'`);
    }
  }
});

// --- deleting

test('conductor - deleted while it waits for a host: it is given back, and a late answer means nothing', () => {
  const on = desk();
  const asked = on.tell(buildOf('web'));
  const turned = on.tell(remove('web'));
  assert.equal(told(turned), ['release to placement/0', 'delete-accepted to test']);
  assert.equal(on.tell(selectedFor(lastSelect(asked)).message, 'scheduler/s').records, []);
  on.tell({ type: 'released', consumer: 'web', deleted: true });
  assert.is(viewOf(on, 'web')?.state, 'deleted');
});

test('conductor - one of several deleted while they wait: the others are asked for anew, without it', () => {
  const on = desk();
  const [first] = sentOf(on.tell(buildOf('web', 3)), 'select');
  const turned = on.tell(remove('web-1'));
  const [again] = sentOf(turned, 'select');
  assert.equal(again?.message.instances, ['web-0', 'web-2']);
  assert.ok((again?.message.round ?? 0) > (first?.message.round ?? 0));
  // The scheduler's claim for the deleted one was refused: that must not fail the others.
  assert.equal(on.tell(noHost('web', first?.message.round ?? 0), 'scheduler/s').records, []);
  assert.is(sentOf(on.tell(selectedFor(lastSelect(turned)).message, 'scheduler/s'), 'start').length, 2);
});

test('conductor - deleted before the cell said that it has it: the cell is told, and what is held given back', () => {
  const on = desk();
  handedOver(on, 'web');
  assert.equal(told(on.tell(remove('web'))), ['delete to cell/c1', 'delete-accepted to test']);
  assert.equal([viewOf(on, 'web')?.owes, viewOf(on, 'web')?.owedSince], ['removal', on.now]);
  assert.ok(on.pass(10_000).flatMap(told).includes('delete to cell/c1'), 'it is said again');
  // The cell never had it, and remembers that it must not begin: nobody else gives the resources back.
  assert.equal(told(on.tell({ type: 'removed', instance: 'web' })), ['release to placement/0']);
  on.tell({ type: 'released', consumer: 'web', deleted: true });
  assert.is(viewOf(on, 'web')?.state, 'deleted');
  assert.equal(on.pass(60_000).flatMap(told), []);
});

for (const [what, owed] of [
  ['start', []],
  ['delete', [remove('web')]],
  ['release', [remove('web'), { type: 'removed', instance: 'web' }]],
] as const) {
  test(`conductor - the ${what} that nobody answers is said again at a slowing pace`, () => {
    const on = desk();
    handedOver(on, 'web');
    for (const message of owed) on.tell(message);
    const sayings = () => sentOf({ sent: on.pass(100).flatMap(({ sent }) => sent) }, what).length;
    const said = Array.from({ length: 120 }, sayings).reduce((sum, count) => sum + count, 0);
    assert.ok(said >= 3 && said <= 6, `${said} times in 12 s`);
  });
}

test('conductor - deleted in its cell: the cell gives the resources back itself', () => {
  const on = desk();
  handedOver(on, 'web');
  on.tell({ type: 'started', instance: 'web' });
  on.tell(remove('web'));
  assert.is(viewOf(on, 'web')?.state, 'deleting');
  const turned = on.tell({ type: 'removed', instance: 'web' });
  assert.equal(turned.sent, []);
  assert.is(viewOf(on, 'web')?.state, 'deleted');
});

test('conductor - deleted while its cell is away: the next owner goes on asking the cell for it', () => {
  const on = desk();
  handedOver(on, 'web');
  on.tell({ type: 'started', instance: 'web' }, 'cell/c1');
  on.tell(remove('web'));
  const next = bench(actor, { at: on.now, entries: on.entries });
  assert.ok(told(next.first).includes('delete to cell/c1'));
  assert.ok(next.pass(20_000).flatMap(told).includes('delete to cell/c1'));
  next.tell({ type: 'removed', instance: 'web' }, 'cell/c1');
  assert.is(viewOf(next, 'web')?.state, 'deleted');
});

test('conductor - deleted after it failed, with and without a release still owed', () => {
  const on = desk();
  const [select] = sentOf(on.tell(buildOf('web', 2)), 'select');
  on.tell(noHost('web', select?.message.round ?? 0), 'scheduler/s');
  on.tell({ type: 'released', consumer: 'web-0', deleted: true });
  assert.is(viewOf(on, 'web-0')?.state, 'failed');
  on.tell(remove('web-0'));
  assert.is(viewOf(on, 'web-0')?.state, 'deleted');
  on.tell(remove('web-1'));
  assert.is(viewOf(on, 'web-1')?.state, 'deleting');
  on.tell({ type: 'released', consumer: 'web-1', deleted: true });
  assert.is(viewOf(on, 'web-1')?.state, 'deleted');
});

test('conductor - deleting twice is answered twice and recorded once; nobody is not found', () => {
  const on = desk();
  handedOver(on, 'web');
  on.tell(remove('web'));
  const again = on.tell(remove('web'));
  assert.equal(again.records, []);
  assert.is(sentOf(again, 'delete-accepted')[0]?.message.state, 'deleting');
  assert.is(sentOf(on.tell(remove('nobody')), 'declined')[0]?.message.code, 'not-found');
});

test('conductor - a deleted instance is shown for a while, and its name is not taken again', () => {
  const on = bench(conductor({ shard: 0, rememberDeletedMs: 60_000 }));
  on.tell(buildOf('web'));
  on.tell(remove('web'));
  on.tell({ type: 'released', consumer: 'web', deleted: true });
  on.pass(30_000);
  assert.is(viewOf(on, 'web')?.state, 'deleted');
  on.pass(60_000);
  assert.is(viewOf(on, 'web'), null);
});

test.run();
