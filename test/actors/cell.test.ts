// Area: cell. From the hand-over of a build to its end: alternates are tried in order and nobody above the cell is asked,
// and every word may come twice, late or out of order.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CellMessage, Start } from '../../actors/messages/cell.ts';
import { selectionAt } from '../../machines/testing.ts';
import {
  actor,
  building,
  desk,
  failed,
  granted,
  HOSTS,
  OPTIONS,
  ofAttempt,
  orderIn,
  refused,
  startOf,
  up,
  viewOf,
} from '../support/cells.ts';
import { comesUp } from '../support/new-life.ts';
import { bench, type Sent, sentOf, told } from '../support/turn.ts';

const test = suite('cell');

test('cell - a build that is handed over is recorded, accepted and ordered from its host', () => {
  const on = desk();
  const turned = on.tell(startOf('i1'), 'conductor/0');
  assert.equal(told(turned), ['started to conductor/0', 'build to compute/c1/h1']);
  const { attempt, incarnation } = orderIn(turned);
  assert.equal([attempt, incarnation], [1, 'life-1']);
});

test('cell - handed over twice it is begun once, and accepted twice', () => {
  const on = building();
  const turned = on.tell(startOf('i1'), 'conductor/0');
  assert.equal(turned.records, []);
  assert.equal(told(turned), ['started to conductor/0']);
});

test('cell - handed over so late that nobody remembers what became of it, it does not begin', () => {
  const on = desk();
  const late = on.tell({ ...startOf('i1'), expiresAt: on.now - 1 }, 'conductor/0');
  assert.equal([told(late), late.records, viewOf(on)], [[], [], null]);
  const again = on.tell({ ...startOf('i1'), expiresAt: on.now + 1_000 }, 'conductor/0');
  assert.ok(told(again).includes('started to conductor/0'));
  const twice = on.tell({ ...startOf('i1'), expiresAt: on.now - 1 }, 'conductor/0');
  assert.equal(told(twice), ['started to conductor/0'], 'what it has, it has');
});

test('cell - what was built on an order that came too late is destroyed; what is cleared away already, once', () => {
  const on = building(['h2']);
  on.tell({ type: 'build-failed', ...ofAttempt('i1', 1), reason: 'no image' });
  on.tell(granted('i1', 2));
  const stray = on.tell({ type: 'built', ...ofAttempt('i1', 1) });
  assert.equal(told(stray), ['destroy to compute/c1/h1']);
  const [destroying] = sentOf(stray, 'destroy');
  const seen = { type: 'destroy', instance: 'i1', attempt: 1, isSeen: true };
  assert.equal(destroying?.message, seen, 'whatever another life of the compute remembers of it');
  assert.equal(
    stray.records.map(({ type }) => type),
    ['stray'],
  );
  on.tell({ type: 'delete', instance: 'gone' }, 'conductor/0');
  assert.equal(told(on.tell({ type: 'built', ...ofAttempt('gone', 1) })), ['destroy to compute/c1/h1']);
  assert.equal(told(on.tell({ type: 'built', ...ofAttempt('unheard-of', 1) })), [], 'it may be of another journal');
  assert.equal(told(on.tell({ type: 'built', ...ofAttempt('i1', 3) })), [], 'it is still to come');
  assert.equal(told(on.tell({ type: 'built', ...ofAttempt('i1', 1, 'h9') })), [], 'of a host that it does not know');
  on.tell({ type: 'built', ...ofAttempt('i1', 2) });
  assert.is(viewOf(on)?.state, 'active');
  assert.equal(told(on.tell({ type: 'built', ...ofAttempt('i1', 2) })), []);
  on.tell({ type: 'delete', instance: 'i1' }, 'conductor/0');
  assert.equal(told(on.tell({ type: 'built', ...ofAttempt('i1', 2) })), [], 'its end is under way');
});

test('cell - what a driver says instead of what came of an attempt is shown until that is said', () => {
  const trouble = (attempt: number, task: 'build' | 'destroy') =>
    ({ type: 'driver-trouble', ...ofAttempt('i1', attempt), task, reason: 'no daemon' }) as const;
  const shown = { attempt: 1, host: 'h1', task: 'build', reason: 'no daemon' };
  const on = building(['h2']);
  on.tell(trouble(2, 'build'));
  assert.is(viewOf(on)?.trouble, undefined, 'that attempt is still to come');
  on.tell({ ...trouble(1, 'build'), host: 'h3' });
  assert.is(viewOf(on)?.trouble, undefined, 'it is not built there');
  on.tell(trouble(1, 'build'));
  assert.equal(viewOf(on)?.trouble, shown);
  on.tell({ type: 'built', ...ofAttempt('i1', 1) });
  assert.is(viewOf(on)?.trouble, undefined);
  on.tell(trouble(1, 'build'));
  assert.is(viewOf(on)?.trouble, undefined, 'it is built');
  on.tell({ type: 'delete', instance: 'i1' }, 'conductor/0');
  on.tell(trouble(1, 'destroy'));
  assert.equal(viewOf(on)?.trouble, { ...shown, task: 'destroy' });
  on.tell({ type: 'destroyed', ...ofAttempt('i1', 1) });
  assert.is(viewOf(on)?.trouble, undefined);
  on.tell({ ...trouble(1, 'build'), instance: 'unheard-of' });
  assert.is(on.state.troubles.size, 0);
});

test('cell - a driver in trouble with a removal is told of while that is owed, and not before trouble with the build', () => {
  const on = building(['h2']);
  const trouble = (attempt: number, task: 'build' | 'destroy', host: string) =>
    on.tell({ type: 'driver-trouble', ...ofAttempt('i1', attempt, host), task, reason: `of ${attempt}` });
  trouble(1, 'destroy', 'h1');
  assert.is(viewOf(on)?.trouble, undefined, 'nothing is to be destroyed');
  for (let passed = 0; passed < 700_000 && viewOf(on)?.state === 'building'; passed += 10_000) {
    for (const host of HOSTS) on.tell({ type: 'alive', host, incarnation: 'life-1' });
    on.pass(10_000);
  }
  trouble(1, 'destroy', 'h2');
  assert.is(viewOf(on)?.trouble, undefined, 'nothing of it is there');
  trouble(1, 'destroy', 'h1');
  assert.is(viewOf(on)?.trouble?.task, 'destroy');
  on.tell(granted('i1', 2));
  on.tell({ type: 'accepted', ...ofAttempt('i1', 2, 'h2') });
  trouble(2, 'build', 'h2');
  trouble(1, 'destroy', 'h1');
  assert.is(viewOf(on)?.trouble?.reason, 'of 2');
  on.tell({ type: 'built', ...ofAttempt('i1', 2, 'h2') });
  trouble(1, 'destroy', 'h1');
  assert.is(viewOf(on)?.trouble?.reason, 'of 1');
  on.tell({ type: 'destroyed', ...ofAttempt('i1', 1, 'h1') });
  assert.is(viewOf(on)?.trouble, undefined);
  on.tell({ type: 'delete', instance: 'i1' }, 'conductor/0');
  trouble(2, 'destroy', 'h2');
  on.tell({ type: 'fence-host', ask: 1, host: 'h2' }, 'gateway/g');
  on.tell({ type: 'destroyed', ...ofAttempt('i1', 2, 'h2') });
  assert.is(on.state.troubles.size, 0);
});

test('cell - an attempt whose time is over while its driver was in trouble ended for that', () => {
  const on = building(['h2']);
  on.tell({ type: 'driver-trouble', ...ofAttempt('i1', 1), task: 'build', reason: 'no daemon' });
  for (let passed = 0; passed < 700_000 && viewOf(on)?.state === 'building'; passed += 10_000) {
    for (const host of HOSTS) on.tell({ type: 'alive', host, incarnation: 'life-1' });
    on.pass(10_000);
  }
  const { attempts, trouble } = viewOf(on) ?? {};
  assert.equal(
    attempts?.map(({ outcome, reason }) => [outcome, reason]),
    [['timed-out', 'its driver did not say what came of it: no daemon']],
  );
  assert.is(trouble, undefined);
});

test('cell - an order is said again until it is accepted, and while the compute is silent about the outcome', () => {
  const on = desk();
  on.tell(startOf('i1'));
  assert.ok(on.pass(8_000).flatMap(told).includes('build to compute/c1/h1'));
  on.tell({ type: 'accepted', ...ofAttempt('i1', 1) });
  for (const host of HOSTS) on.tell({ type: 'alive', host, incarnation: 'life-1' });
  assert.ok(on.pass(8_000).flatMap(told).includes('build to compute/c1/h1'));
});

test('cell - built: it is reported, and nothing more is said', () => {
  const on = building();
  const turned = on.tell({ type: 'built', ...ofAttempt('i1', 1) });
  assert.equal(
    sentOf(turned, 'ended').map(({ to, message }) => [to, message.state]),
    [['conductor/0', 'active']],
  );
  assert.equal(on.tell({ type: 'built', ...ofAttempt('i1', 1) }).sent, []);
  assert.ok(![...on.wakes.keys()].includes('build i1'));
});

test('cell - an end that was not heard is told again to whoever asks, and no other', () => {
  const on = building();
  const ask: CellMessage = { type: 'ask-ends', instances: ['i1', 'nobody'] };
  for (const question of [ask, { type: 'do-again', instance: 'i1' } as const]) assert.equal(on.tell(question).sent, []);
  on.tell({ type: 'built', ...ofAttempt('i1', 1) });
  assert.equal(
    sentOf(on.tell(ask), 'ended').map(({ to, message }) => [to, message.instance, message.state]),
    [['conductor/0', 'i1', 'active']],
  );
  assert.is(sentOf(on.tell({ type: 'do-again', instance: 'i1' }), 'ended')[0]?.message.state, 'active');
  on.tell({ type: 'delete', instance: 'i1' });
  assert.equal(on.tell(ask).sent, []);
});

test('cell - alternates are tried in order, each taking over from the one before, and no scheduler is asked', () => {
  const on = building();
  const said: Sent[] = [];
  const say = (message: CellMessage) => {
    const turned = on.tell(message);
    said.push(...turned.sent);
    return turned;
  };
  const [claim] = sentOf(say(failed('i1', 1)), 'claim');
  assert.equal([claim?.to, claim?.message.attempt, claim?.message.keep], ['placement/0', 2, []]);
  assert.equal(claim?.message.allocations, selectionAt('h2').allocations);
  assert.ok(told(say(granted('i1', 2))).includes('build to compute/c1/h2'));
  say({ type: 'accepted', ...ofAttempt('i1', 2) });
  const [next] = sentOf(say({ type: 'build-refused', ...ofAttempt('i1', 2), reason: 'busy' }), 'claim');
  assert.equal(next?.message.allocations, selectionAt('h3').allocations);
  const last = say(refused('i1', 3));
  assert.is(viewOf(on)?.failure?.code, 'alternates-exhausted');
  assert.equal(
    viewOf(on)?.attempts?.map(({ host, outcome }) => `${host} ${outcome}`),
    ['h1 build-failed', 'h2 refused', 'h3 claim-refused'],
  );
  assert.is(sentOf(last, 'ended')[0]?.message.state, 'failed');
  assert.equal(sentOf(last, 'release')[0]?.message.deleted, true);
  assert.ok(said.every(({ to }) => !to.startsWith('scheduler')));
});

test('cell - what a host was chosen with is what it is claimed and built with, whatever others have there', () => {
  const on = desk();
  const given = (host: string) => [{ provider: `gpu-of-${host}`, group: '', resources: { VCPU: 1 } }];
  const whole = (host: string) => [{ ...given(host)[0], provider: `provider-of-${host}` }];
  const at = (host: string, more: object) => ({ cell: 'c1', host, provider: `provider-of-${host}`, ...more });
  const start = (instance: string, selection: object, alternates: object[]) => {
    const { snapshot, ...said } = startOf(instance);
    const context = { ...snapshot.context, selection, alternates };
    return on.tell({ ...said, snapshot: { ...snapshot, context } } as unknown as Start, 'conductor/0');
  };
  const plain = ['h2', 'h3'].map((host) => at(host, {}));
  assert.equal(orderIn(start('i1', at('h1', {}), plain)).allocations, whole('h1'));
  const special = [at('h2', { allocations: given('h2') }), at('h3', { maxInstances: 2 })];
  assert.equal(orderIn(start('i2', at('h1', { allocations: given('h1') }), special)).allocations, given('h1'));
  const claims = ['i1', 'i2'].flatMap((instance) =>
    [on.tell(failed(instance, 1)), on.tell(refused(instance, 2))].map((turned) => sentOf(turned, 'claim')[0]?.message),
  );
  assert.equal(
    claims.map((claim) => [claim?.allocations, claim?.maxInstances]),
    [
      [whole('h2'), undefined],
      [whole('h3'), undefined],
      [given('h2'), undefined],
      [whole('h3'), 2],
    ],
  );
});

test('cell - where placement grants something else of an alternate than that names, it is built with what was granted', () => {
  const on = building(['h2', 'h3']);
  on.tell(failed('i1', 1));
  const other = [{ provider: 'gpu-1-of-h2', group: '', resources: { VCPU: 1 } }];
  assert.equal(orderIn(on.tell(granted('i1', 2, other))).allocations, other);
  assert.equal(viewOf(on)?.allocations, other);
  const restarted = bench({ ...actor, init: () => actor.restore([on.stored()]) });
  assert.equal(orderIn(restarted.recover()).allocations, other);
});

const BEYOND_DEADLINES_MS = 3_600_000;

const speaks = { type: 'alive', host: 'h1', incarnation: 'life-1' } as const;

test('cell - a deadline that has passed while the cell was away ends nothing before its host was heard and asked', () => {
  const { firstMs, mostMs } = OPTIONS.patience;
  for (const word of [speaks, up('h1'), up('h1', 'life-2')]) {
    for (const hasBuilt of [true, false]) {
      const on = building([]);
      const restarted = bench(
        { ...actor, init: () => actor.restore([on.stored()]) },
        { at: on.now + BEYOND_DEADLINES_MS, address: 'cell/c1' },
      );
      assert.equal(orderIn(restarted.first).attempt, 1);
      restarted.pass(OPTIONS.silentMs - firstMs);
      assert.is(viewOf(restarted)?.state, 'building', 'it may have built, and be cut off still');
      const isNewLife = word.incarnation !== 'life-1';
      const heard = word.type === 'compute-up' && isNewLife ? comesUp(restarted, word) : restarted.tell(word);
      assert.equal(orderIn(heard).attempt, 1);
      if (hasBuilt) restarted.tell({ type: 'built', ...ofAttempt('i1', 1) });
      restarted.pass(mostMs);
      assert.is(viewOf(restarted)?.state, hasBuilt ? 'active' : 'failed');
    }
  }
});

test('cell - a host that is not heard once the cell is back loses its build when it is found silent', () => {
  const on = building([]);
  const restarted = bench(
    { ...actor, init: () => actor.restore([on.stored()]) },
    { at: on.now + BEYOND_DEADLINES_MS, address: 'cell/c1' },
  );
  restarted.pass(2 * OPTIONS.silentMs);
  assert.is(viewOf(restarted)?.state, 'failed');
  assert.is(viewOf(restarted)?.attempts?.[0]?.outcome, 'host-lost');
});

test('cell - a deadline that has passed while the cell was held up ends nothing before what was said is read', () => {
  for (const hasBuilt of [true, false]) {
    const on = building([]);
    on.now += BEYOND_DEADLINES_MS;
    assert.equal(orderIn(on.tell({ type: 'wake', id: 'build i1' })).attempt, 1);
    if (hasBuilt) on.tell({ type: 'built', ...ofAttempt('i1', 1) });
    on.tell({ type: 'echo' });
    on.tell(speaks);
    on.pass(2 * OPTIONS.patience.firstMs);
    assert.is(viewOf(on)?.state, hasBuilt ? 'active' : 'failed');
  }
});

test('cell - a deadline that has passed while the cell was away ends nothing before a host that begins anew with it could answer', () => {
  for (const hasBuilt of [true, false]) {
    const on = building([]);
    const restarted = bench(
      { ...actor, init: () => actor.restore([on.stored()]) },
      { at: on.now + BEYOND_DEADLINES_MS, address: 'cell/c1' },
    );
    restarted.pass(0.7 * OPTIONS.patience.firstMs);
    assert.equal(orderIn(comesUp(restarted, up('h1', 'life-2', [{ instance: 'i1', attempt: 1 }]))).attempt, 1);
    restarted.pass(0.6 * OPTIONS.patience.firstMs);
    if (hasBuilt) restarted.tell({ type: 'built', ...ofAttempt('i1', 1) });
    restarted.pass(2 * OPTIONS.patience.firstMs);
    assert.is(viewOf(restarted)?.state, hasBuilt ? 'active' : 'failed');
  }
});

test('cell - a deadline that has passed while the cell was away ends a build however often its host begins anew', () => {
  const on = building(['h2']);
  const restarted = bench(
    { ...actor, init: () => actor.restore([on.stored()]) },
    { at: on.now + BEYOND_DEADLINES_MS, address: 'cell/c1' },
  );
  for (let life = 2; life < 20 && viewOf(restarted)?.state === 'building'; life += 1) {
    assert.equal(orderIn(comesUp(restarted, up('h1', `life-${life}`))).attempt, 1);
    restarted.pass(OPTIONS.patience.firstMs / 2);
    restarted.tell({ type: 'alive', host: 'h2', incarnation: 'life-1' }, 'compute/c1/h2');
  }
  assert.is(viewOf(restarted)?.state, 'rescheduling');
});

test('cell - the story of a build tells where it is, what failed, and where it goes next', () => {
  const on = building(['h2']);
  const said = [on.tell(failed('i1', 1)), on.tell(granted('i1', 2)), on.tell(failed('i1', 2))];
  const failure = { host: 'h1', outcome: 'build-failed', reason: 'no image' };
  assert.equal(
    said
      .flatMap(({ events }) => events)
      .map(({ topic, body: { host, attempt, next, last } }) => ({
        state: topic.at(-1),
        host,
        attempt,
        next,
        last,
      })),
    [
      { state: 'rescheduling', host: undefined, attempt: 1, next: 'h2', last: failure },
      { state: 'claimed', host: 'h2', attempt: 2, next: undefined, last: undefined },
      { state: 'failed', host: undefined, attempt: 2, next: undefined, last: { ...failure, host: 'h2' } },
    ],
  );
});

test('cell - the story of an instance ends once nothing of it is left', () => {
  const on = building([]);
  on.tell({ type: 'built', ...ofAttempt('i1', 1) });
  const said = [
    on.tell({ type: 'delete', instance: 'i1' }, 'conductor/0'),
    on.tell({ type: 'destroyed', ...ofAttempt('i1', 1) }),
    on.tell({ type: 'released', consumer: 'i1', deleted: true }),
  ];
  assert.equal(
    said.map(({ events }) => events.map(({ topic, body }) => [topic.join('.'), body.state])),
    [[], [], [['cell.c1.build.i1.deleted', 'deleted']]],
  );
});

test('cell - an order that is not answered is given again at a slowing pace', () => {
  const on = desk();
  on.tell(startOf('i1'), 'conductor/0');
  const orders = () => sentOf({ sent: on.pass(100).flatMap(({ sent }) => sent) }, 'build').length;
  const given = Array.from({ length: 120 }, orders).reduce((sum, count) => sum + count, 0);
  assert.ok(given >= 3 && given <= 6, `${given} times in 12 s`);
});

test('cell - a build that would fail anywhere is not tried elsewhere', () => {
  const on = building();
  const turned = on.tell({ type: 'build-aborted', ...ofAttempt('i1', 1), reason: 'a bad request' });
  assert.equal(sentOf(turned, 'claim'), []);
  assert.equal(viewOf(on)?.failure, { code: 'build-aborted', message: 'a bad request' });
});

test('cell - the words of an attempt that is over change nothing', () => {
  const on = building();
  on.tell(failed('i1', 1));
  on.tell(granted('i1', 2));
  const before = on.stored();
  for (const message of [
    { type: 'accepted', ...ofAttempt('i1', 1) },
    failed('i1', 1),
    granted('i1', 2),
    refused('i1', 2),
    { type: 'destroyed', ...ofAttempt('i1', 1) },
    { type: 'released', consumer: 'i1', attempt: 1, deleted: false },
  ] as const) {
    const turned = on.tell(message);
    assert.equal([turned.records, turned.sent], [[], []], message.type);
  }
  assert.equal(on.stored(), before);
});

test('cell - what is built after its failure was told is destroyed, also while placement is to take back what it held', () => {
  const on = building([]);
  assert.ok(told(on.tell(failed('i1', 1))).includes('release to placement/0'));
  assert.equal(told(on.tell({ type: 'built', ...ofAttempt('i1', 1) })), ['destroy to compute/c1/h1']);
});

test('cell - of what placement does not take back an explanation names the shard that has not answered', () => {
  const on = building([]);
  on.tell({ type: 'built', ...ofAttempt('i1', 1) });
  on.tell({ type: 'delete', instance: 'i1' }, 'conductor/0');
  on.tell({ type: 'destroyed', ...ofAttempt('i1', 1) });
  const leftOf = () => {
    const [told] = sentOf(on.tell({ type: 'explain', ask: 1, instance: 'i1' }), 'explained');
    return told?.message.view?.left?.map(({ state, awaits }) => [state, awaits]);
  };
  assert.equal(leftOf(), [['releasing', undefined]], 'it was only just asked');
  on.pass(5_000);
  assert.equal(leftOf(), [['releasing', [0]]]);
});

test('cell - what a former life of a compute says to have ended may be going on in the one that serves the host', () => {
  const on = building(['h2']);
  on.tell(startOf('i2', [], 'h3'), 'conductor/0');
  on.tell({ type: 'built', ...ofAttempt('i2', 1, 'h3') });
  on.tell({ type: 'delete', instance: 'i2' }, 'conductor/0');
  for (const [host, running] of [
    ['h1', []],
    ['h3', [{ instance: 'i2', attempt: 1 }]],
  ] as const) {
    const who = on.tell(up(host, 'life-2'), `compute/c1/${host}`).sent[0]?.message as { challenge: number };
    const anew = on.tell({ ...up(host, 'life-2', [...running]), challenge: who.challenge }, `compute/c1/${host}`);
    assert.ok(told(anew).includes(`${host === 'h1' ? 'build' : 'destroy'} to compute/c1/${host}`));
  }
  const before = on.stored();
  const former = { incarnation: 'life-1' } as const;
  for (const message of [
    { ...(failed('i1', 1) as Extract<CellMessage, { type: 'build-failed' }>), ...former },
    { type: 'build-aborted', ...ofAttempt('i1', 1), ...former, reason: 'stopped' },
    { type: 'build-refused', ...ofAttempt('i1', 1), ...former, reason: 'destroyed before' },
    { type: 'destroyed', ...ofAttempt('i2', 1, 'h3'), ...former },
  ] as const) {
    const turned = on.tell(message);
    assert.equal([turned.records, turned.sent], [[], []], message.type);
  }
  assert.equal(on.stored(), before);
  const latest = { incarnation: 'life-2' } as const;
  const gone = on.tell({ type: 'destroyed', ...ofAttempt('i2', 1, 'h3'), ...latest });
  assert.ok(told(gone).includes('release to placement/0'), told(gone).join());
  const over = on.tell({ ...(failed('i1', 1) as Extract<CellMessage, { type: 'build-failed' }>), ...latest });
  assert.is(sentOf(over, 'claim')[0]?.message.attempt, 2);
});

test('cell - a claim that came too late is sent again, and costs no alternate', () => {
  const on = building();
  on.tell(failed('i1', 1));
  assert.equal(on.tell(refused('i1', 2, { code: 'expired', message: 'late' })).records, []);
  assert.ok(on.pass(5_000).flatMap(told).includes('claim to placement/0'));
});

test('cell - a host that is down or unknown costs the attempt and is given no order', () => {
  const on = bench(actor, { address: 'cell/c1' });
  on.tell(up('h2'), 'compute/c1/h2');
  const turned = on.tell(startOf('i1'));
  assert.equal(sentOf(turned, 'build'), []);
  assert.is(viewOf(on)?.attempts?.[0]?.outcome, 'refused');
  assert.is(sentOf(turned, 'claim')[0]?.message.attempt, 2);
});

test('cell - a build that ends at its hand-over is told to be taken before it is told to be over', () => {
  const on = bench(actor, { address: 'cell/c1' });
  const turned = on.tell(startOf('i1', []), 'conductor/0');
  const toConductor = turned.sent.filter(({ to }) => to === 'conductor/0').map(({ message }) => message.type);
  // The other way round the conductor would not take the end, and hear of it only when it asks.
  assert.equal(toConductor, ['started', 'ended']);
});

test.run();
