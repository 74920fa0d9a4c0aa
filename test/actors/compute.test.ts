// Area: compute. One attempt is built once however often it is ordered, its outcome is told again when it is asked
// for, nothing is built that was destroyed before, and a compute that starts anew finds its place by itself.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { compute } from '../../actors/compute/compute.ts';
import type { ComputeBuild, ComputeMessage } from '../../actors/messages/compute.ts';
import type { ProviderSpec } from '../../actors/messages/placement.ts';
import { fnv1a } from '../../actors/routing.ts';
import { bench, sentOf, type Turned, told } from '../support/turn.ts';

const test = suite('compute');

const LIFE = 'life-1';
const CELL = 'cell/c1';
const DRIVER = 'driver/c1/h1';
const actor = compute({
  cell: 'c1',
  host: 'h1',
  incarnation: () => LIFE,
  heartbeatMs: 5_000,
  patience: { firstMs: 500, mostMs: 4_000 },
});

const PROVIDER: ProviderSpec = { id: 'p1', name: 'h1', parent: null, inventories: {}, traits: [], aggregates: [] };
const described = (running: { instance: string; attempt: number }[] = []): ComputeMessage => ({
  type: 'described',
  providers: [PROVIDER],
  running,
});
/** The number from which on this life counts what it tells. */
const FIRST = fnv1a(LIFE);
const TREE_PUT: ComputeMessage = { type: 'tree-put', ask: FIRST, root: 'p1' };
const WELCOME: ComputeMessage = { type: 'welcome', incarnation: LIFE };

/** A compute that is up. */
function desk(running: { instance: string; attempt: number }[] = []) {
  const on = bench(actor);
  on.tell(described(running), DRIVER);
  on.tell(TREE_PUT, 'placement/0');
  on.tell(WELCOME, CELL);
  return on;
}

const order = (attempt = 1, more: Partial<ComputeBuild> = {}): ComputeBuild => ({
  type: 'build',
  instance: 'i1',
  attempt,
  incarnation: LIFE,
  allocations: [],
  ...more,
});
const ofAttempt = (attempt = 1) => ({ instance: 'i1', attempt });
const destroy = (attempt = 1): ComputeMessage => ({ type: 'destroy', ...ofAttempt(attempt) });
const failed = (aborted: boolean): ComputeMessage => ({
  type: 'driver-failed',
  ...ofAttempt(),
  reason: 'no image',
  aborted,
});

/** How often a driver was told something. */
const orders = (turns: readonly Turned<unknown>[]) => turns.flatMap(told).filter((one) => one === `build to ${DRIVER}`);

// --- coming up

test('compute - it learns what it is, tells placement, then presents itself to its cell', () => {
  const on = bench(actor);
  assert.equal(told(on.first), [`describe to ${DRIVER}`]);
  assert.equal(told(on.tell(described(), DRIVER)), ['put-tree to placement/0']);
  assert.equal(told(on.tell({ ...TREE_PUT, ask: 0 }, 'placement/0')), [], 'that was said to an earlier life');
  const greeted = on.tell(TREE_PUT, 'placement/0');
  const [presented] = sentOf(greeted, 'compute-up');
  assert.equal([presented?.to, presented?.message.provider, presented?.message.incarnation], [CELL, 'p1', LIFE]);
  on.tell(WELCOME, CELL);
  assert.ok(
    on
      .pass(11_000)
      .flatMap(told)
      .filter((one) => one === `alive to ${CELL}`).length >= 2,
  );
});

test('compute - each life that begins has a name of its own: what was ordered of the one before is ordered again', () => {
  let lives = 0;
  const incarnation = () => {
    lives += 1;
    return `life-${lives}`;
  };
  const anew = compute({ cell: 'c1', host: 'h1', incarnation });
  const named = [anew.init(), anew.init()].map((state) => state.incarnation);
  assert.equal(named, ['life-1', 'life-2']);
});

test('compute - once up it tells placement its tree again every five minutes, in case somebody has taken it away', () => {
  const on = desk();
  const tellsIn = (ms: number) => on.pass(ms).flatMap((turned) => sentOf(turned, 'put-tree'));
  const heard = () => assert.equal(told(on.tell(TREE_PUT, 'placement/0')), [], 'it is up all the while');
  const untilTold = (): number => {
    for (let ms = 0; ms <= 305_000; ms += 5_000) if (tellsIn(5_000).length > 0) return ms;
    throw new Error('it is not told');
  };
  // The first time at a moment of the host's own.
  untilTold();
  const [again] = tellsIn(5_000);
  const { providers, again: isAgain } = again?.message ?? {};
  assert.equal([again?.to, providers, isAgain], ['placement/0', [PROVIDER], true], 'until placement has heard');
  heard();
  assert.ok(untilTold() > 280_000);
  on.tell({ type: 'tree-refused', ask: FIRST, root: 'p1', reason: 'no such class' }, 'placement/0');
  assert.equal(tellsIn(200_000), []);
});

test('compute - told that its tree was withdrawn it tells it at once, and until placement has heard', () => {
  const on = desk();
  const gone: ComputeMessage = { type: 'tree-withdrawn', ask: 0, root: 'p1' };
  assert.equal(told(on.tell(gone, CELL)), ['put-tree to placement/0']);
  assert.ok(on.pass(5_000).flatMap(told).includes('put-tree to placement/0'));
  on.tell(TREE_PUT, 'placement/0');
  assert.not.ok(on.pass(6_000).flatMap(told).includes('put-tree to placement/0'));

  const early = bench(actor);
  early.tell(described(), DRIVER);
  early.tell(gone, CELL);
  assert.equal(told(early.tell(TREE_PUT, 'placement/0')), ['compute-up to cell/c1'], 'answered before that');
  assert.ok(told(early.tell(WELCOME, CELL)).includes('put-tree to placement/0'));
});

test('compute - a heartbeat that is late does not put off by another one when the driver is asked what the host has', () => {
  const on = desk();
  let asks = 0;
  for (let beat = 0; beat < 720; beat += 1) {
    on.now += (on.wakes.get('come-up') as number) - on.steady + ((beat * 7) % 5);
    asks += on.pass(0).flatMap((turned) => sentOf(turned, 'read-inventory')).length;
  }
  assert.ok(asks >= 59, `${asks} times in an hour`);
  on.now += 3_600_000;
  asks = on.pass(20_000).flatMap((turned) => sentOf(turned, 'read-inventory')).length;
  assert.is(asks, 1, 'what was missed is not made up for');
});

test('compute - once up it asks its driver every minute what the host has, and tells placement what is other than before', () => {
  const on = desk();
  const asksIn = (ms: number) => on.pass(ms).flatMap((turned) => sentOf(turned, 'read-inventory')).length;
  assert.is(asksIn(65_000), 1, 'the first time at a moment of its own');
  assert.is(asksIn(600_000), 10);
  const read = (...providers: ProviderSpec[]) =>
    sentOf(on.tell({ type: 'inventory-read', providers }, DRIVER), 'put-tree').map(({ message }) => message);
  const answered = (type: 'tree-put' | 'tree-refused', ask: number) =>
    on.tell({ type, ask, root: 'p1', reason: 'no such class' } as ComputeMessage, 'placement/0');
  const tellsIn = (ms: number) => on.pass(ms).flatMap((turned) => sentOf(turned, 'put-tree')).length;
  // It is a tree that placement has already, unless somebody has taken it away.
  on.tell(TREE_PUT, 'placement/0');
  assert.equal(read({ ...PROVIDER }), [], 'the same');
  const gpu: ProviderSpec = { ...PROVIDER, id: 'p2', name: 'gpu', parent: 'p1' };
  assert.equal(read(PROVIDER, gpu), [
    { type: 'put-tree', ask: FIRST + 1, incarnation: LIFE, providers: [PROVIDER, gpu] },
  ]);
  assert.is(tellsIn(5_001), 1, 'until placement has heard');
  answered('tree-put', FIRST + 1);
  assert.is(tellsIn(20_000), 0);
  answered('tree-put', FIRST);
  const [late] = on.pass(5_001).flatMap((turned) => sentOf(turned, 'put-tree'));
  const anew = { type: 'put-tree', ask: FIRST + 1, incarnation: LIFE, providers: [PROVIDER, gpu] };
  assert.equal(late?.message, anew, 'what was told before may have come after it');
  answered('tree-put', FIRST + 1);
  assert.is(tellsIn(20_000), 0);
  assert.equal(read(gpu, PROVIDER), [], 'in another order');
  assert.is(read(PROVIDER).length, 1);
  answered('tree-refused', FIRST + 2);
  assert.is(tellsIn(20_000), 0);
  assert.equal(
    read(PROVIDER),
    [{ type: 'put-tree', ask: FIRST + 2, incarnation: LIFE, providers: [PROVIDER] }],
    'it may be taken now',
  );
  answered('tree-put', FIRST + 2);
  assert.equal(read(PROVIDER), []);
});

test('compute - what the host has now is not known: it tells people, and stays up as it was', () => {
  const on = desk();
  const { sent, events } = on.tell({ type: 'inventory-unread', reason: 'no daemon' }, DRIVER);
  assert.equal(sent, []);
  assert.equal(
    events.map(({ topic, body }) => [topic.join(), (body as { reason: string }).reason]),
    [['cell,c1,host,h1,inventory-unread', 'no daemon']],
  );
  assert.ok(on.pass(5_000).flatMap(told).includes(`alive to ${CELL}`));
});

test('compute - each step of coming up is done again, at a slowing pace, until it is answered', () => {
  const on = bench(actor);
  const steps: [string, ComputeMessage, string][] = [
    [`describe to ${DRIVER}`, described(), DRIVER],
    ['put-tree to placement/0', TREE_PUT, 'placement/0'],
    [`compute-up to ${CELL}`, WELCOME, CELL],
  ];
  for (const [said, answer, from] of steps) {
    const again = on.pass(20_000).flatMap(told);
    assert.ok(again.length >= 4 && again.length <= 12, `${said}: ${again.length} times`);
    assert.ok(
      again.every((one) => one === said),
      again.join(),
    );
    on.tell(answer, from);
  }
  assert.is(on.state.phase, 'up');
});

test('compute - answers that come again, or to another life, change nothing', () => {
  const on = bench(actor);
  on.tell(described(), DRIVER);
  assert.equal(on.tell(described(), DRIVER).sent, []);
  on.tell(TREE_PUT, 'placement/0');
  assert.equal(on.tell(TREE_PUT, 'placement/0').sent, []);
  on.tell({ type: 'welcome', incarnation: 'life-0' }, CELL);
  assert.is(on.state.phase, 'greeting');
});

test('compute - a driver that cannot describe its host, and a tree that is refused, are tried again', () => {
  const on = bench(actor);
  on.tell({ type: 'describe-failed', reason: 'no such device' }, DRIVER);
  assert.ok(on.pass(5_000).flatMap(told).includes(`describe to ${DRIVER}`));
  on.tell(described(), DRIVER);
  const refuse = (ask: number) =>
    on.tell({ type: 'tree-refused', ask, root: 'p1', reason: 'it is told twice' }, 'placement/0');
  const before = refuse(0);
  assert.equal([told(before), before.events], [[], []], 'that was said to an earlier life');
  const refused = refuse(FIRST);
  assert.equal(refused.events[0]?.topic, ['cell', 'c1', 'host', 'h1', 'tree-refused']);
  assert.equal(told(refused), [`refused to ${DRIVER}`], 'whoever runs it is to read of it');
  assert.ok(on.pass(5_000).flatMap(told).includes('put-tree to placement/0'));
});

test('compute - asked who it is it says so with everything that runs, once it is up', () => {
  const on = desk([ofAttempt(3)]);
  on.tell(order(4));
  const [presented] = sentOf(on.tell({ type: 'who-are-you' }, CELL), 'compute-up');
  assert.equal(presented?.message.running, [ofAttempt(3), ofAttempt(4)]);
  const early = bench(actor);
  assert.equal(early.tell({ type: 'who-are-you' }, CELL).sent, []);
});

test('compute - asked whether it lives it answers with the number, and not for another life', () => {
  const on = desk();
  const [answer] = sentOf(on.tell({ type: 'who-are-you', incarnation: LIFE, challenge: 7 }, CELL), 'compute-up');
  assert.equal([answer?.message.incarnation, answer?.message.challenge], [LIFE, 7]);
  assert.equal(on.tell({ type: 'who-are-you', incarnation: 'life-0', challenge: 8 }, CELL).sent, []);
});

test('compute - told that another life has taken its place, it takes no orders and says no more that it is alive', () => {
  const on = desk();
  on.tell({ type: 'retired', incarnation: 'life-0' }, CELL);
  assert.is(on.state.phase, 'up', 'it was said to another life');
  const { events } = on.tell({ type: 'retired', incarnation: LIFE }, CELL);
  assert.equal(events[0]?.topic, ['cell', 'c1', 'host', 'h1', 'retired']);
  assert.equal(on.tell({ type: 'retired', incarnation: LIFE }, CELL).events, [], 'it is told once');
  for (const message of [order(1), { type: 'who-are-you' }, { type: 'list-instances', ask: 1 }] as const) {
    assert.equal(on.tell(message, CELL).sent, [], message.type);
  }
  assert.equal(on.tell({ type: 'destroy', ...ofAttempt(3) }, CELL).sent, []);
  const gpu: ProviderSpec = { ...PROVIDER, id: 'p2', name: 'gpu', parent: 'p1' };
  assert.equal(on.tell({ type: 'inventory-read', providers: [PROVIDER, gpu] }, DRIVER).sent, [], 'nor its tree');
  assert.equal(on.pass(600_000).flatMap(told), []);
});

test('compute - what its driver measures goes with its heartbeat; a driver that measures nothing is not asked', () => {
  const on = desk();
  const said = on.pass(11_000);
  assert.equal(
    said.flatMap(told).filter((one) => one.startsWith('measure')),
    [],
  );
  const measuring = bench(actor);
  measuring.tell({ type: 'described', providers: [PROVIDER], running: [], measures: true }, DRIVER);
  measuring.tell(TREE_PUT, 'placement/0');
  const first = measuring.tell(WELCOME, CELL);
  assert.equal(told(first), [`alive to ${CELL}`, `measure to ${DRIVER}`]);
  assert.not('metrics' in (sentOf(first, 'alive')[0]?.message ?? {}));
  measuring.tell({ type: 'measured', metrics: { load: 2 } }, DRIVER);
  const [next] = measuring.pass(5_000).flatMap((turned) => sentOf(turned, 'alive'));
  assert.equal(next?.message.metrics, { load: 2 });
});

// --- building

test('compute - an order is accepted and given to the driver, and its outcome told', () => {
  const on = desk();
  assert.equal(told(on.tell(order(), CELL)), [`accepted to ${CELL}`, `build to ${DRIVER}`]);
  assert.equal(told(on.tell({ type: 'driver-built', ...ofAttempt() }, DRIVER)), [`built to ${CELL}`]);
});

test('compute - ordered again while it builds it is accepted again and built once', () => {
  const on = desk();
  const turns = [on.tell(order(), CELL), on.tell(order(), CELL), on.tell(order(), CELL)];
  assert.is(orders(turns).length, 1);
  assert.ok(turns.every((turned) => told(turned).includes(`accepted to ${CELL}`)));
});

test('compute - ordered again after its end it tells the outcome again and builds nothing', () => {
  const ends: [ComputeMessage, string][] = [
    [{ type: 'driver-built', ...ofAttempt() }, 'built'],
    [failed(false), 'build-failed'],
    [failed(true), 'build-aborted'],
  ];
  for (const [end, outcome] of ends) {
    const on = desk();
    on.tell(order(), CELL);
    assert.equal(told(on.tell(end, DRIVER)), [`${outcome} to ${CELL}`]);
    assert.equal(told(on.tell(order(), CELL)), [`${outcome} to ${CELL}`]);
    assert.equal(on.tell(end, DRIVER).sent, [], 'said twice by the driver, told once');
  }
});

test('compute - attempts of one instance are orders of their own', () => {
  const on = desk();
  assert.is(orders([on.tell(order(1), CELL), on.tell(order(2), CELL)]).length, 2);
});

test('compute - an order for another life is not carried out, and not refused', () => {
  const on = desk();
  assert.equal(on.tell(order(1, { incarnation: 'life-0' }), CELL).sent, []);
});

test('compute - a driver that does not know what came of a build is asked again', () => {
  const on = desk();
  on.tell(order(), CELL);
  const said = on.tell({ type: 'driver-unknown', ...ofAttempt(), reason: 'lost' }, DRIVER);
  const trouble = sentOf(said, 'driver-trouble').map(({ to, message }) => [to, message.task, message.reason]);
  assert.equal(trouble, [[CELL, 'build', 'lost']]);
  assert.is(orders(on.pass(600)).length, 1);
  on.tell({ type: 'driver-built', ...ofAttempt() }, DRIVER);
  assert.is(orders(on.pass(20_000)).length, 0);
});

test('compute - trouble with a driver is told again to a cell that asks again: another owner of it has not heard', () => {
  for (const [asks, fails] of [
    [order(), 'driver-unknown'],
    [destroy(), 'destroy-failed'],
  ] as const) {
    const on = desk();
    const troubles = (said: ReturnType<typeof on.tell>) =>
      sentOf(said, 'driver-trouble').map(({ to, message }) => [to, message.task, message.reason]);
    const trouble = [CELL, asks.type, 'no daemon'];
    on.tell(asks, CELL);
    assert.equal(troubles(on.tell(asks, CELL)), [], 'there is none yet');
    assert.equal(troubles(on.tell({ type: fails, ...ofAttempt(), reason: 'no daemon' }, DRIVER)), [trouble]);
    assert.equal(troubles(on.tell(asks, CELL)), [trouble]);
    // The driver is at it again, and has said nothing else.
    on.pass(600);
    assert.equal(troubles(on.tell(asks, CELL)), [trouble]);
    on.tell({ type: asks.type === 'build' ? 'driver-built' : 'driver-destroyed', ...ofAttempt() }, DRIVER);
    assert.equal(troubles(on.tell(asks, CELL)), []);
  }
});

test('compute - one that is retired tells of no trouble: its jobs are those of another life', () => {
  const on = desk();
  on.tell(order(), CELL);
  on.tell({ type: 'retired', incarnation: LIFE }, CELL);
  assert.equal(on.tell({ type: 'driver-unknown', ...ofAttempt(), reason: 'lost' }, DRIVER).sent, []);
});

// --- destroying

test('compute - what is destroyed is told when nothing of it is left, also when it is told again', () => {
  const on = desk();
  on.tell(order(), CELL);
  assert.equal(told(on.tell(destroy(), CELL)), [`destroy to ${DRIVER}`]);
  assert.equal(on.tell(destroy(), CELL).sent, [], 'it is under way');
  assert.equal(told(on.tell({ type: 'driver-destroyed', ...ofAttempt() }, DRIVER)), [`destroyed to ${CELL}`]);
  assert.equal(told(on.tell(destroy(), CELL)), [`destroyed to ${CELL}`]);
});

test('compute - an attempt that is destroyed, before or while it is built, is refused from then on', () => {
  for (const before of [true, false]) {
    const on = desk();
    if (!before) on.tell(order(), CELL);
    on.tell(destroy(), CELL);
    const refusals = [on.tell(order(), CELL)];
    on.tell({ type: 'driver-destroyed', ...ofAttempt() }, DRIVER);
    refusals.push(on.tell(order(), CELL));
    for (const turned of refusals) assert.equal(told(turned), [`build-refused to ${CELL}`]);
  }
});

test('compute - what came of an attempt is forgotten before another instance may have its name', () => {
  for (const ends of [[destroy(), { type: 'driver-destroyed', ...ofAttempt() } as const], [failed(false)]]) {
    const on = desk();
    on.tell(order(), CELL);
    for (const one of ends) on.tell(one, one.type === 'destroy' ? CELL : DRIVER);
    on.pass(3_500_000);
    assert.equal(orders([on.tell(order(), CELL)]), [], 'it may be the order of then');
    on.pass(200_000);
    assert.is(orders([on.tell(order(), CELL)]).length, 1);
    // What the one of then came to is not taken for the end of this one.
    assert.equal(told(on.tell(destroy(), CELL)), [`destroy to ${DRIVER}`]);
  }
});

test('compute - a driver that answers a build while it is destroyed is not taken at its word', () => {
  const on = desk();
  on.tell(order(), CELL);
  on.tell(destroy(), CELL);
  const unknown = { type: 'driver-unknown', ...ofAttempt(), reason: 'lost' } as const;
  for (const end of [failed(false), { type: 'driver-built', ...ofAttempt() } as const, unknown]) {
    assert.equal(on.tell(end, DRIVER).sent, []);
  }
  const asked = on.pass(60_000).flatMap(told);
  assert.equal(
    asked.filter((one) => one === `destroy to ${DRIVER}`),
    [],
    'nor is it asked for the end once more',
  );
});

test('compute - what is built after the driver has said that nothing of it is left is destroyed again', () => {
  const on = desk();
  on.tell(order(), CELL);
  on.tell(destroy(), CELL);
  on.tell({ type: 'driver-destroyed', ...ofAttempt() }, DRIVER);
  assert.equal(told(on.tell(failed(false), DRIVER)), []);
  assert.equal(told(on.tell({ type: 'driver-built', ...ofAttempt() }, DRIVER)), [`destroy to ${DRIVER}`]);
  assert.equal(on.tell(destroy(), CELL).sent, [], 'it is under way once more');
  const failure = on.tell({ type: 'destroy-failed', ...ofAttempt(), reason: 'busy' }, DRIVER);
  assert.equal(told(failure), [`driver-trouble to ${CELL}`]);
  assert.equal(on.pass(600).flatMap(told), [`destroy to ${DRIVER}`]);
  assert.equal(told(on.tell({ type: 'driver-destroyed', ...ofAttempt() }, DRIVER)), [`destroyed to ${CELL}`]);
  assert.equal(told(on.tell(order(), CELL)), [`build-refused to ${CELL}`]);
});

test('compute - what is built after the driver has said that it failed is told, and each end says in whose life it came', () => {
  for (const aborted of [false, true]) {
    const on = desk();
    on.tell(order(), CELL);
    const [end] = sentOf(on.tell(failed(aborted), DRIVER), aborted ? 'build-aborted' : 'build-failed');
    assert.is(end?.message.incarnation, LIFE);
    assert.equal(told(on.tell({ type: 'driver-built', ...ofAttempt() }, DRIVER)), [`built to ${CELL}`]);
    const [shown] = sentOf(on.tell({ type: 'who-are-you' }, CELL), 'compute-up');
    assert.equal(shown?.message.running, [ofAttempt()], 'should that be lost, the cell is told with the next word');
    assert.equal(told(on.tell(destroy(), CELL)), [`destroy to ${DRIVER}`]);
    const [gone] = sentOf(on.tell({ type: 'driver-destroyed', ...ofAttempt() }, DRIVER), 'destroyed');
    assert.is(gone?.message.incarnation, LIFE);
    const [refusal] = sentOf(on.tell(order(), CELL), 'build-refused');
    assert.is(refusal?.message.incarnation, LIFE);
  }
});

test('compute - a life destroys by itself only what it was told to: of what failed another may have built it on the same order', () => {
  for (const isDestroyed of [false, true]) {
    const on = desk();
    on.tell(order(), CELL);
    if (isDestroyed) {
      on.tell(destroy(), CELL);
      on.tell({ type: 'driver-destroyed', ...ofAttempt() }, DRIVER);
    } else {
      on.tell(failed(false), DRIVER);
    }
    on.tell({ type: 'retired', incarnation: LIFE }, CELL);
    const said = told(on.tell({ type: 'driver-built', ...ofAttempt() }, DRIVER));
    assert.equal(said, [isDestroyed ? `destroy to ${DRIVER}` : `built to ${CELL}`]);
  }
});

test('compute - destroying that fails is tried again until it is done, at a slowing pace', () => {
  const on = desk();
  on.tell(destroy(), CELL);
  const waits = [1, 2, 3].map(() => {
    const said = on.tell({ type: 'destroy-failed', ...ofAttempt(), reason: 'busy' }, DRIVER);
    assert.is(sentOf(said, 'driver-trouble')[0]?.message.task, 'destroy');
    const from = on.now;
    while (!on.pass(50).flatMap(told).includes(`destroy to ${DRIVER}`)) assert.ok(on.now - from <= 4_000);
    return on.now - from;
  });
  assert.ok((waits[2] as number) > 2 * (waits[0] as number), waits.join());
});

test('compute - a driver that never comes back from destroying is asked again, as long as the cell asks', () => {
  const on = desk([ofAttempt()]);
  const asked = Array.from({ length: 9 }, () => told(on.tell(destroy(), CELL)));
  assert.equal(
    asked.map((turn) => turn.length),
    [1, 0, 0, 0, 1, 0, 0, 0, 1],
  );
  assert.equal(told(on.tell({ type: 'driver-destroyed', ...ofAttempt() }, DRIVER)), [`destroyed to ${CELL}`]);
});

test('compute - it is asked again also where it could not destroy it at first, and then never comes back', () => {
  const on = desk([ofAttempt()]);
  on.tell(destroy(), CELL);
  on.tell({ type: 'destroy-failed', ...ofAttempt(), reason: 'busy' }, DRIVER);
  const toDriver = () => told(on.tell(destroy(), CELL)).filter((one) => one.endsWith(DRIVER));
  assert.equal(toDriver(), [], 'it is about to be asked again');
  assert.ok(on.pass(600).flatMap(told).includes(`destroy to ${DRIVER}`));
  const asked = Array.from({ length: 8 }, toDriver);
  assert.equal(asked.flat(), Array(2).fill(`destroy to ${DRIVER}`));
});

test('compute - of what it was not asked to destroy, or is asked to no more, a driver ends nothing by a late word', () => {
  const on = desk();
  on.tell(order(), CELL);
  const late: ComputeMessage = { type: 'driver-destroyed', ...ofAttempt() };
  assert.equal(on.tell(late, DRIVER).sent, []);
  assert.equal(told(on.tell({ type: 'driver-built', ...ofAttempt() }, DRIVER)), [`built to ${CELL}`]);
  assert.equal(on.tell(late, DRIVER).sent, []);
  assert.equal(told(on.tell(order(), CELL)), [`built to ${CELL}`]);
});

test('compute - what is seen on the host after its end is destroyed all the same: another life may have had it built', () => {
  for (const end of [destroy(), failed(false)]) {
    const on = desk();
    on.tell(order(), CELL);
    on.tell(end, end.type === 'destroy' ? CELL : DRIVER);
    if (end.type === 'destroy') on.tell({ type: 'driver-destroyed', ...ofAttempt() }, DRIVER);
    const seen = { ...destroy(), isSeen: true } as ComputeMessage;
    assert.equal(told(on.tell(seen, CELL)), [`destroy to ${DRIVER}`]);
    assert.equal(told(on.tell(destroy(), CELL)), [], 'nothing is said before the driver has said that it is gone');
    assert.equal(told(on.tell({ type: 'driver-destroyed', ...ofAttempt() }, DRIVER)), [`destroyed to ${CELL}`]);
    assert.equal(told(on.tell(destroy(), CELL)), [`destroyed to ${CELL}`]);
  }
});

test('compute - what it was told to destroy and its driver lists again is destroyed again, unless it was asked before', () => {
  const on = desk();
  const listed = (ask: number): ComputeMessage => {
    return { type: 'driver-listed', ask, to: 'compute/c1/h1', running: [ofAttempt()] };
  };
  const asks = () =>
    on
      .pass(65_000)
      .flatMap((turned) => sentOf(turned, 'list'))
      .map(({ message }) => message.ask);
  const [before = 0] = asks();
  on.tell(order(), CELL);
  on.tell(destroy(), CELL);
  on.tell({ type: 'driver-destroyed', ...ofAttempt() }, DRIVER);
  assert.equal(told(on.tell(listed(before), DRIVER)), []);
  const [after = 0] = asks();
  assert.equal(told(on.tell(listed(after), DRIVER)), [`destroy to ${DRIVER}`]);
  assert.equal(told(on.tell({ type: 'driver-destroyed', ...ofAttempt() }, DRIVER)), [`destroyed to ${CELL}`]);
  on.tell(order(2), CELL);
  on.tell({ ...failed(false), attempt: 2 } as ComputeMessage, DRIVER);
  const [last = 0] = asks();
  const running = [ofAttempt(2)];
  assert.equal(
    told(on.tell({ ...listed(last), running } as ComputeMessage, DRIVER)),
    [],
    'of what failed it is not sure',
  );
});

test('compute - what failed by itself and is then destroyed leaves nothing to do', () => {
  const on = desk();
  on.tell(order(), CELL);
  on.tell(failed(false), DRIVER);
  assert.equal(told(on.tell(destroy(), CELL)), [`destroyed to ${CELL}`]);
  assert.equal(told(on.tell(order(), CELL)), [`build-refused to ${CELL}`]);
});

// --- starting anew

test('compute - what the driver still has after a restart is not built again, but asked about', () => {
  const on = desk([ofAttempt()]);
  const turned = on.tell(order(), CELL);
  assert.equal(told(turned), [`accepted to ${CELL}`, `build to ${DRIVER}`], 'the driver joins it to what it has');
  assert.equal(told(on.tell({ type: 'driver-built', ...ofAttempt() }, DRIVER)), [`built to ${CELL}`]);
  const other = desk([ofAttempt()]);
  assert.equal(told(other.tell(destroy(), CELL)), [`destroy to ${DRIVER}`]);
});

test('compute - what it is told to destroy before the driver has said what there is does not come back by that', () => {
  const on = bench(actor);
  on.tell(destroy(1), CELL);
  on.tell(destroy(2), CELL);
  assert.equal(told(on.tell({ type: 'driver-destroyed', ...ofAttempt(1) }, DRIVER)), [`destroyed to ${CELL}`]);
  on.tell(described([1, 2, 3].map((attempt) => ofAttempt(attempt))), DRIVER);
  const [presented] = sentOf(on.tell(TREE_PUT, 'placement/0'), 'compute-up');
  assert.equal(presented?.message.running, [ofAttempt(2), ofAttempt(3)]);
  assert.equal(told(on.tell({ type: 'driver-destroyed', ...ofAttempt(2) }, DRIVER)), [`destroyed to ${CELL}`]);
  const [listed] = sentOf(on.tell({ type: 'list-instances', ask: 5 }, 'gateway/g'), 'instances-running');
  assert.equal(listed?.message.running, [ofAttempt(3)]);
});

test('compute - it lists what is on its host', () => {
  const on = desk([ofAttempt(1)]);
  on.tell(order(2), CELL);
  const [listed] = sentOf(on.tell({ type: 'list-instances', ask: 5 }, 'gateway/g'), 'instances-running');
  assert.equal([listed?.message.ask, listed?.message.running], [5, [ofAttempt(1), ofAttempt(2)]]);
});

test('compute - what its driver says is there is told to who asked, and so is that the driver cannot say it', () => {
  const on = desk();
  const asked = { ask: 5, to: 'gateway/g' };
  assert.equal(on.tell({ type: 'list-driven', ask: 5 }, 'gateway/g').sent, [
    { to: DRIVER, message: { type: 'list', ...asked } },
  ]);
  assert.equal(on.tell({ type: 'driver-listed', ...asked, running: [ofAttempt()] }, DRIVER).sent, [
    { to: 'gateway/g', message: { type: 'instances-running', ask: 5, running: [ofAttempt()] } },
  ]);
  assert.equal(on.tell({ type: 'list-failed', ...asked, reason: 'busy' }, DRIVER).sent, [
    { to: 'gateway/g', message: { type: 'declined', ask: 5, code: 'driver-failed', reason: 'busy' } },
  ]);
});

test('compute - it remembers the outcomes of many attempts, but not of all', () => {
  const on = desk();
  const MOST = 4_096;
  for (let attempt = 1; attempt <= MOST + 1; attempt += 1) {
    on.tell(order(attempt), CELL);
    on.tell({ type: 'driver-failed', ...ofAttempt(attempt), reason: 'no image', aborted: false }, DRIVER);
  }
  assert.is(on.state.outcomes.size, MOST);
  assert.equal(told(on.tell(order(2), CELL)), [`build-failed to ${CELL}`]);
});

test('compute - it forgets what came of attempts long ago, also while nothing more comes', () => {
  const HOUR_MS = 3_600_000;
  const on = desk();
  const end = (attempt: number) => {
    on.tell(order(attempt), CELL);
    on.tell({ type: 'driver-failed', ...ofAttempt(attempt), reason: 'no image', aborted: false }, DRIVER);
  };
  end(1);
  on.pass(HOUR_MS / 2);
  end(2);
  on.pass(HOUR_MS / 2);
  end(3);
  assert.equal([...on.state.outcomes.keys()], ['i1 2', 'i1 3']);
  on.pass(HOUR_MS);
  on.tell(TREE_PUT, 'placement/0');
  on.pass(HOUR_MS);
  assert.is(on.state.outcomes.size, 0);
});

for (const [whose, isEarlier] of [
  ['this life', false],
  ['an earlier life', true],
] as const) {
  test(`compute - however late a driver says that it has built what was destroyed meanwhile, it is destroyed: ordered by ${whose}`, () => {
    const on = isEarlier ? desk([ofAttempt()]) : desk();
    if (!isEarlier) on.tell(order(), CELL);
    on.tell(destroy(), CELL);
    on.tell({ type: 'driver-destroyed', ...ofAttempt() }, DRIVER);
    on.pass(7_200_000);
    on.tell(TREE_PUT, 'placement/0');
    on.pass(7_200_000);
    assert.equal(told(on.tell({ type: 'driver-built', ...ofAttempt() }, DRIVER)), [`destroy to ${DRIVER}`]);
  });
}

test('compute - and where it was listed meanwhile, and destroyed once more', () => {
  const on = desk();
  const listed = () => {
    const [list] = on.pass(65_000).flatMap((turned) => sentOf(turned, 'list'));
    const running = [ofAttempt()];
    return on.tell({ type: 'driver-listed', ask: list?.message.ask ?? 0, to: 'compute/c1/h1', running }, DRIVER);
  };
  on.tell(order(), CELL);
  on.tell(destroy(), CELL);
  on.tell({ type: 'driver-destroyed', ...ofAttempt() }, DRIVER);
  assert.equal(told(listed()), [`destroy to ${DRIVER}`]);
  on.tell({ type: 'driver-destroyed', ...ofAttempt() }, DRIVER);
  on.pass(7_200_000);
  assert.equal(told(listed()), [], 'by now it may be another instance of the same name');
  on.tell(TREE_PUT, 'placement/0');
  assert.equal(told(on.tell({ type: 'driver-built', ...ofAttempt() }, DRIVER)), [`destroy to ${DRIVER}`]);
});

test('compute - and where the driver was asked for it again, as it did not know what came of it', () => {
  const on = desk();
  on.tell(order(), CELL);
  on.tell({ type: 'driver-unknown', ...ofAttempt(), reason: 'lost' }, DRIVER);
  assert.is(orders(on.pass(600)).length, 1);
  on.tell(destroy(), CELL);
  on.tell({ type: 'driver-destroyed', ...ofAttempt() }, DRIVER);
  on.pass(7_200_000);
  on.tell(TREE_PUT, 'placement/0');
  on.pass(7_200_000);
  assert.equal(told(on.tell({ type: 'driver-built', ...ofAttempt() }, DRIVER)), [`destroy to ${DRIVER}`]);
});

test('compute - it is destroyed also where another instance has had the name meanwhile, and is gone', () => {
  const HOURS_MS = 7_200_000;
  const on = desk();
  const wait = () => {
    on.pass(HOURS_MS);
    on.tell(TREE_PUT, 'placement/0');
  };
  const end = () => {
    on.tell(destroy(), CELL);
    on.tell({ type: 'driver-destroyed', ...ofAttempt() }, DRIVER);
  };
  on.tell(order(), CELL);
  end();
  wait();
  assert.equal(told(on.tell(order(), CELL)), [`accepted to ${CELL}`, `build to ${DRIVER}`]);
  on.tell({ type: 'driver-built', ...ofAttempt() }, DRIVER);
  end();
  wait();
  wait();
  assert.equal(told(on.tell({ type: 'driver-built', ...ofAttempt() }, DRIVER)), [`destroy to ${DRIVER}`]);
  on.tell({ type: 'driver-destroyed', ...ofAttempt() }, DRIVER);
  wait();
  wait();
  assert.is(on.state.outcomes.size, 0);
});

test.run();
