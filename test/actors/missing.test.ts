// Area: what was built on a host and is not there any more. The compute finds out from its driver, and the cell tells
// whoever asks; nothing is done about it, for it may come back.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { compute } from '../../actors/compute/compute.ts';
import { MAX_MISSING_TOLD } from '../../actors/messages/common.ts';
import type { ComputeMessage } from '../../actors/messages/compute.ts';
import { fnv1a } from '../../actors/routing.ts';
import { desk as cellDesk } from '../support/cell-hosts.ts';
import { up } from '../support/cells.ts';
import { comesUp } from '../support/new-life.ts';
import { bench, sentOf, type Turned } from '../support/turn.ts';

const test = suite('missing');

const LIFE = 'life-1';
const CELL = 'cell/c1';
const DRIVER = 'driver/c1/h1';
const COMPUTE = 'compute/c1/h1';
const BEAT_MS = 5_000;
const LOOK_MS = 20_000;
/** Within which it is looked, at a heartbeat. */
const WITHIN_MS = LOOK_MS + BEAT_MS;
type Running = { instance: string; attempt: number };

// --- the compute

/** A compute that is up, with what its driver had when it came up. */
function computeDesk(running: Running[] = [], expected?: Running[]) {
  const actor = compute({
    cell: 'c1',
    host: 'h1',
    incarnation: () => LIFE,
    heartbeatMs: BEAT_MS,
    inventoryEveryMs: LOOK_MS,
  });
  const on = bench(actor);
  const root = { id: 'p1', name: 'h1', parent: null, inventories: {}, traits: [], aggregates: [] };
  on.tell({ type: 'described', providers: [root], running }, DRIVER);
  on.tell({ type: 'tree-put', ask: fnv1a(LIFE), root: 'p1' }, 'placement/0');
  const welcome: ComputeMessage = {
    type: 'welcome',
    incarnation: LIFE,
    ...(expected === undefined ? {} : { expected }),
  };
  const welcomed = on.tell(welcome, CELL);
  const asks = (turns: readonly Turned<unknown>[]) =>
    turns.flatMap((turned) => sentOf(turned, 'list')).map(({ message }) => message.ask as number);
  /** What the driver answers to what it was asked last. */
  const lists = (ask: number, ...there: Running[]) =>
    on.tell({ type: 'driver-listed', ask, to: COMPUTE, running: there }, DRIVER);
  /** What the next heartbeat tells, of the last if several are due. */
  const beats = () =>
    on
      .pass(BEAT_MS)
      .flatMap((turned) => sentOf(turned, 'alive'))
      .at(-1)?.message.missing;
  /** Asks the driver, as it is time to, and answers. */
  const looks = (...there: Running[]) => {
    for (const ask of asks(on.pass(WITHIN_MS))) lists(ask, ...there);
    return beats();
  };
  return { on, welcomed, asks, lists, beats, looks };
}

const ONE = { instance: 'one', attempt: 1 };
const TWO = { instance: 'two', attempt: 3 };

test('missing - a compute says what its driver has no more, and when it is back', () => {
  const { beats, looks } = computeDesk([ONE, TWO]);
  assert.is(beats(), undefined, 'nobody has looked yet');
  assert.equal(looks(ONE, TWO), []);
  assert.equal(looks(TWO), [ONE]);
  assert.equal(beats(), [ONE], 'each heartbeat tells it: one may be lost');
  assert.equal(looks(ONE), [TWO]);
});

test('missing - what was built after the driver was asked is not missed', () => {
  const { on, asks, lists, beats, looks } = computeDesk();
  on.tell({ type: 'build', ...ONE, incarnation: LIFE, allocations: [] }, CELL);
  const [asked = 0] = asks(on.pass(WITHIN_MS));
  on.tell({ type: 'driver-built', ...ONE }, DRIVER);
  lists(asked);
  assert.equal(beats(), []);
  assert.equal(looks(), [ONE], 'but it is by the next list');
});

test('missing - what is being built or is to go is not missed, and no more is told of what has gone', () => {
  const { on, looks, beats } = computeDesk([ONE, TWO]);
  on.tell({ type: 'build', instance: 'new', attempt: 1, incarnation: LIFE, allocations: [] }, CELL);
  on.tell({ type: 'destroy', ...TWO }, CELL);
  assert.equal(looks(), [ONE]);
  on.tell({ type: 'destroy', ...ONE }, CELL);
  assert.equal(beats(), []);
  on.tell({ type: 'driver-destroyed', ...ONE }, DRIVER);
  assert.equal(looks(), []);
});

test('missing - an earlier list says nothing any more once a later one has come, nor does one that could not be made', () => {
  const { on, asks, lists, beats } = computeDesk([ONE]);
  const [first = 0] = asks(on.pass(WITHIN_MS));
  const [second = 0] = asks(on.pass(WITHIN_MS));
  assert.ok(second > first);
  lists(second, ONE);
  lists(first);
  assert.equal(beats(), []);
  on.tell({ type: 'list-failed', ask: second + 1, to: COMPUTE, reason: 'no engine' }, DRIVER);
  assert.equal(beats(), []);
});

test('missing - a list that was made for an earlier life of the compute says nothing', () => {
  const { lists, beats, looks } = computeDesk([ONE]);
  for (const ask of [1, 1_440, fnv1a('life-0') + 1_440]) lists(ask);
  assert.is(beats(), undefined, 'nobody has looked in this life');
  assert.equal(looks(), [ONE]);
  assert.equal(looks(ONE), []);
});

test('missing - a compute that begins anew asks at once for what its cell expects and it knows nothing of', () => {
  const { on, welcomed, asks, lists, beats } = computeDesk([TWO], [ONE, TWO]);
  const [ask = 0] = asks([welcomed]);
  lists(ask, TWO);
  assert.equal(beats(), [ONE]);
  const known = on.tell({ type: 'welcome', incarnation: LIFE, expected: [ONE] }, CELL);
  assert.equal(asks([known]), [], 'it knows by now');
  assert.equal(
    asks([on.tell({ type: 'welcome', incarnation: 'other', expected: [{ ...ONE, attempt: 2 }] }, CELL)]),
    [],
  );
});

test('missing - it does not say of what is missing that it runs', () => {
  const { on, looks } = computeDesk([ONE, TWO]);
  looks(TWO);
  const [presented] = sentOf(on.tell({ type: 'who-are-you' }, CELL), 'compute-up');
  assert.ok((presented?.message.listed as number) > 0);
  assert.equal(presented?.message.running, [TWO]);
  const [listed] = sentOf(on.tell({ type: 'list-instances', ask: 1 }, 'gateway/g'), 'instances-running');
  assert.equal(listed?.message.running, [TWO]);
});

test('missing - it does not say of what its cell expects that it runs until its driver has said so', () => {
  const { on, welcomed, asks, lists } = computeDesk([TWO], [ONE]);
  const presents = () => sentOf(on.tell({ type: 'who-are-you' }, CELL), 'compute-up')[0]?.message.running;
  assert.equal(presents(), [TWO]);
  const [ask = 0] = asks([welcomed]);
  on.tell({ type: 'list-failed', ask, to: COMPUTE, reason: 'no engine' }, DRIVER);
  assert.equal(presents(), [TWO]);
  const [again = 0] = asks(on.pass(WITHIN_MS));
  lists(again, ONE, TWO);
  assert.equal(presents(), [TWO, ONE]);
});

const many = (count: number): Running[] =>
  Array.from({ length: count }, (_, number) => ({ instance: `many-${number}`, attempt: 1 }));

test('missing - of more than fit a heartbeat a compute tells others each time', () => {
  const all = many(MAX_MISSING_TOLD + 500);
  const { beats, looks } = computeDesk(all);
  const told = [looks(), beats()];
  assert.equal(
    told.map((some) => some?.length),
    [MAX_MISSING_TOLD, MAX_MISSING_TOLD],
  );
  assert.is(new Set(told.flatMap((some) => (some ?? []).map(({ instance }) => instance))).size, all.length);
});

test('missing - as long as more are missing than fit a heartbeat, a compute says with each list what is there', () => {
  const all = many(MAX_MISSING_TOLD + 1);
  const { on, asks, lists } = computeDesk(all);
  const says = (...there: Running[]) => {
    const [ask = 0] = asks(on.pass(WITHIN_MS));
    return sentOf(lists(ask, ...there), 'compute-up').map(({ to, message }) => [to, message.running]);
  };
  assert.equal(says(), [[CELL, []]]);
  assert.equal(says(...all.slice(0, 1)), [[CELL, all.slice(0, 1)]], 'for which a heartbeat has room, just');
  assert.equal(says(...all.slice(0, 2)), [], 'a heartbeat tells all');
  assert.equal(says(...all), []);
});

// --- the cell

function withInstances() {
  const cell = cellDesk(['h1', 'h2']);
  const { on } = cell;
  for (const instance of ['one', 'two']) {
    cell.activate(instance, 'h1');
  }
  const events = (turned: Turned<unknown>) =>
    turned.events.map(({ topic }) => topic.slice(2).join(' ')).filter((one) => /missing|found/.test(one));
  const beat = (missing?: Running[]) =>
    events(
      on.tell(
        { type: 'alive', host: 'h1', incarnation: 'life-1', ...(missing === undefined ? {} : { missing }) },
        COMPUTE,
      ),
    );
  const missing = (instance: string) =>
    sentOf(on.tell({ type: 'show', ask: 1, instance }), 'shown')[0]?.message.view?.missing;
  return { ...cell, events, beat, missing };
}

const one = (attempt = 1): Running => ({ instance: 'one', attempt });
const two: Running = { instance: 'two', attempt: 1 };

test('missing - a cell tells of an active instance since when it is, and says so once; and that it is back', () => {
  const { on, beat, missing } = withInstances();
  assert.equal(beat([one()]), ['build one missing']);
  const told = missing('one');
  assert.is(told?.since, on.now);
  on.pass(1_000);
  assert.equal(beat([one()]), []);
  assert.equal(missing('one'), told, 'since then');
  assert.is(missing('two'), undefined);
  assert.equal(beat(), [], 'a compute that has not looked says nothing of it');
  assert.equal(missing('one'), told);
  assert.equal(beat([two]), ['build two missing', 'build one found']);
  assert.is(missing('one'), undefined);
});

test('missing - of more than fit a heartbeat none is taken for found because it is not among those told', () => {
  const { on, activate, beat, events, missing } = withInstances();
  const all = many(MAX_MISSING_TOLD + 1);
  for (const { instance } of all) activate(instance, 'h1');
  assert.is(beat(all.slice(1)).length, MAX_MISSING_TOLD);
  assert.equal(beat(all.slice(0, -1)), ['build many-0 missing']);
  assert.is.not(missing(`many-${MAX_MISSING_TOLD}`), undefined);
  const back = events(on.tell(up('h1', 'life-1', all.slice(1, 3)), COMPUTE));
  assert.equal(back, ['build many-1 found', 'build many-2 found'], 'but because it is said to be there');
  assert.is(beat([]).length, all.length - 2, 'all are found');
});

test('missing - of another attempt, or of what is not active, nothing is said', () => {
  const { on, beat, missing } = withInstances();
  assert.equal(beat([one(2), { instance: 'unknown', attempt: 1 }]), []);
  assert.is(missing('one'), undefined);
  on.tell({ type: 'delete', instance: 'one' });
  assert.equal(beat([one()]), []);
  assert.is(missing('one'), undefined);
});

test('missing - a compute that begins anew is told what it should have and does not, and again until it has heard', () => {
  const { on, start, beat, events, missing } = withInstances();
  start('under-way', 'h1');
  beat([one()]);
  const welcomed = comesUp(on, up('h1', 'life-9', [one()]));
  assert.equal(
    sentOf(welcomed, 'welcome').map(({ message }) => message.expected),
    [[two]],
  );
  assert.is(missing('one'), undefined, 'it runs');
  const again = on.tell(up('h1', 'life-9', [one()]), COMPUTE);
  assert.equal(sentOf(again, 'welcome')[0]?.message.expected, [two]);
  assert.equal(events(again), []);
  assert.is(sentOf(on.tell(up('h1', 'life-9', [one(), two]), COMPUTE), 'welcome')[0]?.message.expected, undefined);
});

test('missing - it is recorded: who owns the cell next knows since when, and tells it to nobody again', () => {
  const { actor, on, beat, survives } = withInstances();
  beat([one(), two]);
  const since = on.now;
  on.pass(5_000);
  beat([two]);
  survives();
  const next = bench(actor, { address: 'cell/c1', entries: on.entries, at: on.now });
  const [shown] = sentOf(next.tell({ type: 'show', ask: 1, instance: 'two' }), 'shown');
  assert.equal(shown?.message.view?.missing, { since });
  const beats = (missing: Running[]) =>
    next.tell({ type: 'alive', host: 'h1', incarnation: 'life-1', missing }, COMPUTE).records.map(({ type }) => type);
  assert.equal(beats([two]), []);
  assert.equal(beats([]), ['found']);
});

test('missing - what a compute said before it looked again, and comes late, changes nothing, also of another owner', () => {
  const { actor, on, survives } = withInstances();
  const says = (desk: Pick<typeof on, 'tell'>, listed: number, missing: Running[], life = 'life-1') =>
    desk
      .tell({ type: 'alive', host: 'h1', incarnation: life, missing, listed }, COMPUTE)
      .records.map(({ type }) => type);
  assert.equal(says(on, 8, [one()]), ['missing']);
  assert.equal(says(on, 7, []), []);
  const late = { ...up('h1', 'life-1', [one(), two]), listed: 7 };
  assert.equal(on.tell(late, COMPUTE).records, []);
  survives();
  const next = bench(actor, { address: 'cell/c1', entries: on.entries, at: on.now });
  assert.equal(says(next, 7, []), []);
  assert.equal(says(next, 8, []), ['found']);
  assert.equal(says(next, 8, [one()]), ['missing']);
  // The next life counts anew.
  comesUp(next, up('h1', 'life-2', []));
  assert.equal(says(next, 3, [], 'life-2'), ['found']);
});

test('missing - what comes late changes nothing, also after a list that told nothing new', () => {
  const { on } = withInstances();
  const says = (listed: number, missing: Running[]) =>
    on
      .tell({ type: 'alive', host: 'h1', incarnation: 'life-1', missing, listed }, COMPUTE)
      .records.map(({ type }) => type);
  assert.equal(says(8, []), []);
  assert.equal(says(7, [one()]), []);
  assert.equal(says(9, [one()]), ['missing']);
  assert.equal(says(11, [one()]), []);
  assert.equal(says(10, []), [], 'it was missing in the next one again');
  assert.equal(on.tell({ ...up('h1', 'life-1', [one(), two]), listed: 10 }, COMPUTE).records, []);
  assert.equal(says(12, []), ['found']);
});

test('missing - what is deleted is missing no more', () => {
  const { on, beat, survives } = withInstances();
  beat([one(), two]);
  on.tell({ type: 'delete', instance: 'one' });
  assert.equal([...(on.state.hosts.get('h1')?.missing ?? [])], ['two']);
  survives();
  assert.equal(beat([one()]), ['build two found']);
});

test('missing - an instance that is lost with its host is not missing', () => {
  const { beat, missing, silence, fence, view } = withInstances();
  beat([one()]);
  silence('h1');
  assert.is.not(missing('one'), undefined, 'as far as is known');
  fence('h1');
  assert.is(missing('one'), undefined);
  assert.is(view('one')?.state, 'lost');
});

test.run();
