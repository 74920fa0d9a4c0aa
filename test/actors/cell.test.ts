// Area: cell. From the hand-over of a build to its end: alternates are tried in order and nobody above the cell is
// asked, what may still run is destroyed before its resources go back, deleting wins at any moment, every word may
// come twice, late or out of order, and whatever a crash cuts off is taken up again.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cell } from '../../actors/cell/cell.ts';
import { viewOfHost } from '../../actors/cell/hosts.ts';
import type { CellMessage, Start } from '../../actors/messages/cell.ts';
import type { ComputeBuild } from '../../actors/messages/compute.ts';
import type { Refusal } from '../../actors/messages/placement.ts';
import type { Selection } from '../../machines/instance-build.ts';
import { selectionAt } from '../support/machine-paths.ts';
import { comesUp } from '../support/new-life.ts';
import {
  bench,
  converse,
  type Letter,
  replayed,
  restored,
  type Sent,
  sentOf,
  type Turned,
  told,
} from '../support/turn.ts';

const test = suite('cell');

const OPTIONS = {
  cell: 'c1',
  conductorShards: 1,
  claimedMs: 20_000,
  buildingMs: 60_000,
  silentMs: 15_000,
  patience: { firstMs: 1_000, mostMs: 4_000 },
} as const;
const actor = cell(OPTIONS);
const HOSTS = ['h1', 'h2', 'h3'];
const FULL: Refusal = { code: 'exceeds-capacity', message: 'full' };

const up = (host: string, incarnation = 'life-1', running: { instance: string; attempt: number }[] = []) =>
  ({ type: 'compute-up', host, provider: `provider-of-${host}`, incarnation, running }) as const satisfies CellMessage;

/** A cell whose hosts are up. */
function desk() {
  const on = bench(actor, { address: 'cell/c1' });
  for (const host of HOSTS) on.tell(up(host), `compute/c1/${host}`);
  return on;
}
type Desk = ReturnType<typeof desk>;

function startOf(instance: string, alternates: readonly string[] = ['h2', 'h3'], host = 'h1'): Start {
  const snapshot = {
    value: 'claimed' as const,
    context: {
      v: 1 as const,
      instance,
      selection: selectionAt(host),
      alternates: alternates.map(selectionAt),
      attempt: 1,
      attempts: [],
      failure: null,
    },
  };
  const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' as const };
  return { type: 'start', instance, request: instance, spec, snapshot } as unknown as Start;
}

const ofAttempt = (instance: string, attempt: number, host = `h${attempt}`) => ({ host, instance, attempt });
const granted = (consumer: string, attempt: number): CellMessage => ({
  type: 'claim-granted',
  consumer,
  attempt,
  allocations: [],
  usages: [],
});
const refused = (consumer: string, attempt: number, refusal = FULL): CellMessage => ({
  type: 'claim-refused',
  consumer,
  attempt,
  refusal,
  usages: [],
});

/** A cell with an instance that is being built on `h1`. */
function building(alternates?: readonly string[]): Desk {
  const on = desk();
  on.tell(startOf('i1', alternates), 'conductor/0');
  on.tell({ type: 'accepted', ...ofAttempt('i1', 1) });
  return on;
}

function viewOf(on: Desk, instance = 'i1') {
  const [shown] = sentOf(on.tell({ type: 'show', ask: 1, instance }), 'shown');
  return shown?.message.view ?? null;
}

/** The order to build that a turn gave. */
function orderIn(turned: Turned<unknown>): ComputeBuild {
  const [order] = sentOf(turned, 'build');
  assert.ok(order, 'no order was given');
  return order.message as unknown as ComputeBuild;
}

const failed = (instance: string, attempt: number): CellMessage => ({
  type: 'build-failed',
  ...ofAttempt(instance, attempt),
  reason: 'no image',
});

// --- building

test('cell - a build that is handed over is recorded, accepted and ordered from its host', () => {
  const on = desk();
  const turned = on.tell(startOf('i1'), 'conductor/0');
  assert.equal(told(turned), ['build to compute/c1/h1', 'started to conductor/0']);
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
  assert.equal(on.tell(ask).sent, []);
  on.tell({ type: 'built', ...ofAttempt('i1', 1) });
  assert.equal(
    sentOf(on.tell(ask), 'ended').map(({ to, message }) => [to, message.instance, message.state]),
    [['conductor/0', 'i1', 'active']],
  );
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

// --- what an attempt leaves behind

test('cell - what timed out is destroyed before its resources go back, while the alternate is tried', () => {
  const on = building();
  for (let spent = 0; spent < 60_000; spent += 5_000) {
    for (const host of HOSTS) on.tell({ type: 'alive', host, incarnation: 'life-1' });
    on.pass(5_000);
  }
  assert.is(viewOf(on)?.state, 'rescheduling');
  const said = on.pass(4_000);
  assert.equal(
    said.flatMap((turned) => sentOf(turned, 'release')),
    [],
    'nothing goes back while it may run',
  );
  const [claim] = said.flatMap((turned) => sentOf(turned, 'claim'));
  assert.equal(claim?.message.keep, [1]);
  on.tell(granted('i1', 2));
  const turned = on.tell({ type: 'destroyed', ...ofAttempt('i1', 1) });
  const [release] = sentOf(turned, 'release');
  assert.equal([release?.message.attempt, release?.message.deleted], [1, false]);
  on.tell({ type: 'released', consumer: 'i1', attempt: 1, deleted: false });
  assert.is(on.state.removals.size, 0);
  assert.is(viewOf(on)?.host, 'h2', 'the build goes on meanwhile');
});

test('cell - what may still run is destroyed, also when the next alternate is passed over at once', () => {
  const on = building();
  on.tell({ type: 'set-host', ask: 1, host: 'h2', enabled: false });
  on.now += 60_000;
  const turned = on.tell({ type: 'wake', id: 'build i1' });
  assert.ok(told(turned).includes('destroy to compute/c1/h1'));
  assert.ok(on.wakes.has('remove i1 1'), 'and again until it is answered');
  assert.equal(sentOf(turned, 'claim')[0]?.message.keep, [1]);
});

test('cell - one that was held up gives its hosts time to be heard', () => {
  const on = building();
  on.now += 30_000;
  on.tell({ type: 'echo' }, 'cell/c1');
  for (const host of HOSTS) on.tell({ type: 'alive', host, incarnation: 'life-1' });
  assert.is(viewOf(on)?.state, 'building');
  on.pass(20_000);
  assert.is(viewOf(on)?.attempts?.[0]?.outcome, 'host-lost', 'but not for ever');
});

test('cell - the end of a build with much to tell is told in the bounds of a message', () => {
  const on = building(['h2', 'h3']);
  for (const attempt of [1, 2, 3]) {
    if (attempt > 1) on.tell(granted('i1', attempt));
    const last = on.tell({ type: 'build-failed', ...ofAttempt('i1', attempt), reason: 'x'.repeat(4_000) });
    const [ended] = sentOf(last, 'ended');
    if (attempt === 3) assert.is(ended?.message.reason?.length, 4_096);
  }
});

test('cell - a silent host loses its builds at once, and clears up when it is back', () => {
  const on = building();
  on.pass(10_000);
  for (const host of ['h2', 'h3']) on.tell({ type: 'alive', host, incarnation: 'life-1' });
  const lost = on.pass(10_000);
  assert.is(viewOf(on)?.attempts?.[0]?.outcome, 'host-lost');
  assert.ok(lost.flatMap(told).includes('claim to placement/0'));
  const back = comesUp(on, up('h1', 'life-2', [{ instance: 'i1', attempt: 1 }]));
  assert.ok(told(back).includes('destroy to compute/c1/h1'));
  assert.ok(told(back).includes('welcome to compute/c1/h1'));
});

test('cell - a new life of a compute is given again what the one before was given', () => {
  const on = building();
  const again = comesUp(on, up('h1', 'life-2'));
  assert.is(orderIn(again).incarnation, 'life-2');
  assert.equal(told(on.tell({ type: 'alive', host: 'h1', incarnation: 'life-9' }, 'compute/c1/h1')), [
    'who-are-you to compute/c1/h1',
  ]);
});

test('cell - what a dead life of a compute said, and arrives late, takes no place from the one that lives', () => {
  const on = building();
  comesUp(on, up('h1', 'life-2'));
  const late = on.tell(up('h1', 'life-0'), 'compute/c1/h1');
  const [asked] = sentOf(late, 'who-are-you');
  assert.is(asked?.message.incarnation, 'life-0');
  assert.equal(late.records, []);
  // Neither does an answer to an older question.
  const stale = { ...up('h1', 'life-0'), challenge: (asked?.message.challenge as number) - 1 };
  assert.equal(on.tell(stale, 'compute/c1/h1').records, []);
  assert.equal(told(on.tell({ type: 'alive', host: 'h1', incarnation: 'life-2' }, 'compute/c1/h1')), []);
  assert.is(on.state.hosts.get('h1')?.incarnation, 'life-2');
});

test('cell - of two computes of one host the older one is told to retire, whatever it says, also after a recovery', () => {
  const on = building();
  comesUp(on, up('h1', 'life-2'));
  const recovered = bench(actor, { entries: on.entries });
  const fromSnapshot = bench({ ...actor, init: () => actor.restore([on.stored()]) });
  for (const cell of [on, recovered, fromSnapshot]) {
    for (const word of [{ type: 'alive', host: 'h1', incarnation: 'life-1' } as const, up('h1', 'life-1')]) {
      const { records, sent } = cell.tell(word, 'compute/c1/h1');
      assert.equal(sent, [{ to: 'compute/c1/h1', message: { type: 'retired', incarnation: 'life-1' } }]);
      assert.equal(records, []);
    }
    assert.is(cell.state.hosts.get('h1')?.incarnation, 'life-2');
  }
});

test('cell - what runs on a host and is not of the cell is destroyed there; what is, is left alone', () => {
  const on = building();
  const running = [
    { instance: 'i1', attempt: 1 },
    { instance: 'i1', attempt: 9 },
    { instance: 'nobody', attempt: 1 },
  ];
  const turned = on.tell(up('h1', 'life-1', running), 'compute/c1/h1');
  assert.equal(
    sentOf(turned, 'destroy').map(({ message }) => `${message.instance}/${message.attempt}`),
    ['i1/9', 'nobody/1'],
  );
});

test('cell - a host that was silent and is back in the same life clears up, and is asked what it has', () => {
  const on = building();
  on.pass(10_000);
  for (const host of ['h2', 'h3']) on.tell({ type: 'alive', host, incarnation: 'life-1' });
  on.pass(10_000);
  assert.is(viewOf(on)?.attempts?.[0]?.outcome, 'host-lost');
  const back = on.tell({ type: 'alive', host: 'h1', incarnation: 'life-1' }, 'compute/c1/h1');
  assert.equal(
    told(back).filter((what) => !what.endsWith('feed')),
    ['who-are-you to compute/c1/h1', 'destroy to compute/c1/h1'],
  );
  const running = [
    { instance: 'i1', attempt: 1 },
    { instance: 'unheard-of', attempt: 1 },
  ];
  const shown = on.tell(up('h1', 'life-1', running), 'compute/c1/h1');
  assert.equal(
    sentOf(shown, 'destroy').map(({ message }) => `${message.instance}/${message.attempt}`),
    ['i1/1', 'unheard-of/1'],
  );
  assert.equal(told(on.tell({ type: 'alive', host: 'h1', incarnation: 'life-1' }, 'compute/c1/h1')), []);
});

test('cell - cut off from the bus it finds no host silent, and gives them all time when it is back', () => {
  const on = building();
  on.pass(5_000);
  for (const host of HOSTS) on.tell({ type: 'alive', host, incarnation: 'life-1' });
  // Wakes come while the bus is down; what the cell says to itself does not.
  for (let cutOff = 0; cutOff < 35_000; cutOff += 5_000) {
    on.now += 5_000;
    on.tell({ type: 'wake', id: 'sweep-silent' });
  }
  assert.is(viewOf(on)?.state, 'building');
  for (const _ of [1, 2, 3]) on.tell({ type: 'echo' }, 'cell/c1');
  assert.is(viewOf(on)?.state, 'building');
  on.pass(10_000);
  for (const host of ['h2', 'h3']) on.tell({ type: 'alive', host, incarnation: 'life-1' });
  assert.is(viewOf(on)?.state, 'building', 'it is given the whole of the time');
  on.pass(10_000);
  assert.equal(
    [...on.state.hosts.values()].map(viewOfHost).map(({ state }) => state),
    ['down', 'up', 'up'],
  );
});

// --- deleting

test('cell - deleted before its start came: it never begins', () => {
  const on = desk();
  assert.equal(told(on.tell({ type: 'delete', instance: 'i1' }, 'conductor/0')), ['removed to conductor/0']);
  const turned = on.tell(startOf('i1'), 'conductor/0');
  assert.equal([turned.records, told(turned)], [[], ['removed to conductor/0']]);
});

/** Brings an instance into each state of its build, and says on which host something of it may be. */
const INTO: Readonly<Record<string, { bring(on: Desk): void; host: string | null }>> = {
  claimed: { bring: (on) => void on.tell(startOf('i1')), host: 'h1' },
  building: {
    bring(on) {
      on.tell(startOf('i1'));
      on.tell({ type: 'accepted', ...ofAttempt('i1', 1) });
    },
    host: 'h1',
  },
  rescheduling: {
    bring(on) {
      on.tell(startOf('i1'));
      on.tell(failed('i1', 1));
    },
    host: null,
  },
  active: {
    bring(on) {
      on.tell(startOf('i1'));
      on.tell({ type: 'built', ...ofAttempt('i1', 1) });
    },
    host: 'h1',
  },
  failed: {
    bring(on) {
      on.tell(startOf('i1', []));
      on.tell(failed('i1', 1));
    },
    host: null,
  },
};

for (const [state, { bring, host }] of Object.entries(INTO)) {
  test(`cell - deleted when ${state}: nothing is left on a host, then nothing is held, then it is removed`, () => {
    const on = desk();
    bring(on);
    assert.is(viewOf(on)?.state, state);
    const turned = on.tell({ type: 'delete', instance: 'i1' }, 'conductor/0');
    const said = [...turned.sent, ...on.pass(3_000).flatMap(({ sent }) => sent)];
    assert.is(viewOf(on)?.state, 'deleting');
    assert.equal(on.tell({ type: 'delete', instance: 'i1' }).records, []);
    if (host !== null) {
      assert.ok(told({ sent: said }).includes(`destroy to compute/c1/${host}`));
      assert.equal(sentOf({ sent: said }, 'release'), [], 'what may run is not given back');
      const [release] = sentOf(on.tell({ type: 'destroyed', ...ofAttempt('i1', 1) }), 'release');
      assert.is(release?.message.deleted, true);
    } else {
      assert.ok(sentOf({ sent: said }, 'release').some(({ message }) => message.deleted));
    }
    const removed = on.tell({ type: 'released', consumer: 'i1', deleted: true });
    assert.equal(told(removed), ['removed to conductor/0']);
    assert.is(viewOf(on), null);
    assert.equal(told(on.tell({ type: 'delete', instance: 'i1' }, 'conductor/0')), ['removed to conductor/0']);
  });
}

test('cell - deleted after it failed and was cleared away: it is removed at once', () => {
  const on = desk();
  INTO.failed?.bring(on);
  on.tell({ type: 'released', consumer: 'i1', deleted: true });
  assert.is(viewOf(on)?.state, 'failed', 'a failed build can be looked at until it is deleted');
  assert.equal(told(on.tell({ type: 'delete', instance: 'i1' })), ['removed to conductor/0']);
});

test('cell - a deleted instance is remembered for a while', () => {
  const on = bench(cell({ ...OPTIONS, rememberDeletedMs: 60_000 }), { address: 'cell/c1' });
  on.tell({ type: 'delete', instance: 'i1' });
  on.pass(50_000);
  assert.is(on.state.deleted.size, 1);
  on.pass(60_000);
  assert.is(on.state.deleted.size, 0);
});

// --- hosts

test('cell - an operator takes a host out of service and puts it back, and the feed tells', () => {
  const on = desk();
  const set = (enabled: boolean) => on.tell({ type: 'set-host', ask: 1, host: 'h1', enabled, reason: 'a new disk' });
  for (const [enabled, state] of [
    [false, 'disabled'],
    [true, 'up'],
  ] as const) {
    const turned = set(enabled);
    assert.is(sentOf(turned, 'host-set')[0]?.message.state, state);
    assert.equal(
      sentOf(turned, 'hosts-changed').map(({ message }) => message.hosts.map((host) => host.state)),
      [[state]],
    );
  }
  const unknown = on.tell({ type: 'set-host', ask: 1, host: 'h9', enabled: false });
  assert.is(sentOf(unknown, 'declined')[0]?.message.code, 'not-found');
});

test('cell - hosts and instances are listed page by page', () => {
  const on = desk();
  for (const instance of ['b', 'a', 'c']) on.tell(startOf(instance));
  const [hosts] = sentOf(on.tell({ type: 'list-hosts', ask: 1, limit: 2 }), 'hosts');
  assert.equal([hosts?.message.hosts.map(({ host }) => host), hosts?.message.next], [['h1', 'h2'], 'h2']);
  const [listed] = sentOf(on.tell({ type: 'list', ask: 1, after: 'a', limit: 2 }), 'listed');
  assert.equal([listed?.message.instances.map(({ instance }) => instance), listed?.message.next], [['b', 'c'], null]);
});

// --- by chance

const INSTANCES = ['i1', 'i2'];
const some = <T>(...items: readonly T[]) => fc.constantFrom(...items);

const words: fc.Arbitrary<CellMessage | { pass: number } | { answer: number }> = fc.oneof(
  { weight: 4, arbitrary: some(...INSTANCES).map((instance) => startOf(instance)) },
  { weight: 2, arbitrary: some(...INSTANCES).map((instance): CellMessage => ({ type: 'delete', instance })) },
  { weight: 10, arbitrary: fc.nat(12).map((answer) => ({ answer })) },
  {
    weight: 8,
    arbitrary: fc
      .tuple(
        some('accepted', 'built', 'build-refused', 'build-failed', 'build-aborted'),
        some(...INSTANCES),
        some(1, 2, 3),
      )
      .map(([type, instance, attempt]) => ({ type, ...ofAttempt(instance, attempt), reason: 'chance' }) as CellMessage),
  },
  { weight: 3, arbitrary: fc.tuple(some(...INSTANCES), some(2, 3)).map(([one, attempt]) => refused(one, attempt)) },
  { weight: 2, arbitrary: fc.tuple(some(...HOSTS), some('life-1', 'life-2')).map(([host, life]) => up(host, life)) },
  { weight: 2, arbitrary: fc.tuple(some(...HOSTS), some('life-1', 'life-2')).map(alive) },
  { weight: 1, arbitrary: some(...HOSTS).map((host): CellMessage => ({ type: 'fence-host', ask: 1, host })) },
  { weight: 1, arbitrary: some(...INSTANCES).map((instance): CellMessage => ({ type: 'lost-noted', instance })) },
  { weight: 1, arbitrary: some(...INSTANCES).map((instance): CellMessage => ({ type: 'do-again', instance })) },
  { weight: 3, arbitrary: fc.integer({ min: 100, max: 25_000 }).map((pass) => ({ pass })) },
);

function alive([host, incarnation]: [string, string]): CellMessage {
  return { type: 'alive', host, incarnation };
}

/** What hosts and placement in good health answer. */
function answered({ to, message }: Sent): Letter<CellMessage>[] {
  const from = to;
  switch (message.type) {
    case 'build': {
      const { instance, attempt } = message as { instance: string; attempt: number };
      const ofBuild = { host: to.split('/')[2] ?? '', instance, attempt };
      return [
        { message: { type: 'accepted', ...ofBuild }, from },
        { message: { type: 'built', ...ofBuild }, from },
      ];
    }
    case 'destroy': {
      const { instance, attempt } = message;
      return [{ message: { type: 'destroyed', host: to.split('/')[2] ?? '', instance, attempt }, from }];
    }
    case 'claim':
      return [{ message: granted(message.consumer, message.attempt), from }];
    case 'release': {
      const { consumer, deleted, attempt } = message;
      return [
        { message: { type: 'released', consumer, deleted, ...(attempt === undefined ? {} : { attempt }) }, from },
      ];
    }
    case 'who-are-you':
      if (message.incarnation !== undefined && message.incarnation !== 'life-3') return [];
      return [{ message: { ...up(to.split('/')[2] ?? '', 'life-3'), challenge: message.challenge as number }, from }];
    default:
      return [];
  }
}

/** Says the words; what the cell says may be answered late, twice or never. */
function sayAll(
  on: Desk,
  script: readonly (CellMessage | { pass: number } | { answer: number })[],
  check: (turned: Turned<unknown>) => void,
) {
  const said: Sent[] = [];
  const heard = (turned: Turned<unknown>) => {
    said.push(...turned.sent);
    check(turned);
  };
  for (const word of script) {
    if ('pass' in word) {
      for (const turned of on.pass(word.pass)) heard(turned);
    } else if ('answer' in word) {
      const sent = said[said.length - 1 - word.answer];
      for (const { message, from } of sent === undefined ? [] : answered(sent)) heard(on.tell(message, from));
    } else {
      heard(on.tell(word, 'host' in word ? `compute/c1/${word.host}` : 'conductor/0'));
    }
  }
}

const scripts = fc.array(words, { maxLength: 50 });
const hosts = (selections: readonly Selection[]) => selections.map(({ host }) => host);

test('cell - after every turn its journal leads to its state, and so does its stored state', () => {
  fc.assert(
    fc.property(scripts, (script) => {
      const on = desk();
      sayAll(on, script, () => {
        assert.equal(replayed(actor, on.entries), on.stored());
        assert.equal(restored(actor, on.stored()), on.stored());
      });
    }),
    { numRuns: 100 },
  );
});

test('cell - whatever is said, hosts are tried in order, and nothing that may run is given back', () => {
  fc.assert(
    fc.property(scripts, (script) => {
      const on = desk();
      const clean = new Set<string>();
      const clear = (instance: string, attempt: number) => clean.add(`${instance}/${attempt}`);
      sayAll(on, script, (turned) => {
        for (const record of turned.records as { type: string; key: string; event: { type: string } }[]) {
          const removal = on.state.removals.get(record.key)?.snapshot.context;
          if (record.type === 'removal-event' && record.event.type === 'DESTROYED' && removal !== undefined) {
            clear(removal.instance, removal.attempt);
          }
        }
        for (const { build } of on.state.instances.values()) {
          const { attempts, selection, alternates } = build.snapshot.context;
          const underWay = selection === null ? [] : [selection.host];
          assert.equal([...attempts.map(({ host }) => host), ...underWay, ...hosts(alternates)], HOSTS);
          for (const { attempt, mayRun } of attempts) if (!mayRun) clear(build.facts.instance, attempt);
        }
        for (const { to, message } of turned.sent) {
          assert.ok(!to.startsWith('scheduler'), 'a scheduler is asked');
          if (message.type !== 'release') continue;
          const { consumer, attempt, keep = [] } = message;
          const build = on.state.instances.get(consumer)?.build.snapshot.context;
          const given = attempt === undefined ? build?.attempts.map((one) => one.attempt) : [attempt];
          for (const one of given ?? []) {
            assert.ok(
              keep.includes(one) || clean.has(`${consumer}/${one}`),
              `attempt ${one} may run and is given back`,
            );
          }
        }
      });
    }),
    { numRuns: 300 },
  );
});

test('cell - after a crash at any moment it does what is owed, until nothing is', () => {
  fc.assert(
    fc.property(scripts, fc.nat(), (script, cut) => {
      const live = desk();
      sayAll(live, script, () => {});
      const again = bench(actor, {
        address: 'cell/c1',
        at: live.now,
        entries: live.entries.slice(0, cut % (live.entries.length + 1)),
      });
      const met = HOSTS.flatMap((host) => again.tell(up(host, 'life-3'), `compute/c1/${host}`).sent);
      const isOver = () =>
        again.state.removals.size === 0 &&
        [...again.state.instances.values()].every(({ build, deleting }) => {
          return !deleting && ['active', 'failed'].includes(build.snapshot.value as string);
        });
      converse(again, [...again.first.sent, ...met], answered, isOver);
      assert.equal(replayed(actor, again.entries), again.stored());
    }),
    { numRuns: 300 },
  );
});

test.run();
