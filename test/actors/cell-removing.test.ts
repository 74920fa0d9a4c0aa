// Area: cell. What attempts leave behind and instances that are deleted: what may still run is destroyed before its
// resources go back, deleting wins at any moment, and hosts come and go meanwhile.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cell } from '../../actors/cell/cell.ts';
import { viewOfHost } from '../../actors/cell/hosts.ts';
import type { CellMessage } from '../../actors/messages/cell.ts';
import {
  actor,
  building,
  type Desk,
  desk,
  failed,
  granted,
  HOSTS,
  OPTIONS,
  ofAttempt,
  orderIn,
  startOf,
  up,
  viewOf,
} from '../support/cells.ts';
import { comesUp } from '../support/new-life.ts';
import { bench, sentOf, told } from '../support/turn.ts';

const test = suite('cell, removing');

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
  assert.is(viewOf(on)?.attempts?.[0]?.mayRun, true);
  const turned = on.tell({ type: 'destroyed', ...ofAttempt('i1', 1) });
  assert.is(viewOf(on)?.attempts?.[0]?.mayRun, false, 'its host has said that nothing is left');
  const [release] = sentOf(turned, 'release');
  assert.equal([release?.message.attempt, release?.message.deleted], [1, false]);
  on.tell({ type: 'released', consumer: 'i1', attempt: 1, deleted: false });
  assert.is(on.state.removals.size, 0);
  assert.is(viewOf(on)?.host, 'h2', 'the build goes on meanwhile');
});

test('cell - the last attempt of a build that failed may run until its host has said otherwise', () => {
  const on = building([]);
  on.now += 60_000;
  on.tell({ type: 'echo' });
  on.tell({ type: 'alive', host: 'h1', incarnation: 'life-1' }, 'compute/c1/h1');
  on.tell({ type: 'wake', id: 'build i1' });
  assert.is(viewOf(on)?.state, 'failed');
  assert.is(viewOf(on)?.attempts?.[0]?.mayRun, true);
  on.tell({ type: 'destroyed', ...ofAttempt('i1', 1) });
  on.tell({ type: 'released', consumer: 'i1', deleted: true });
  assert.is(viewOf(on)?.attempts?.[0]?.mayRun, false);
});

test('cell - what may still run is destroyed, also when the next alternate is passed over at once', () => {
  const on = building();
  on.tell({ type: 'set-host', ask: 1, host: 'h2', enabled: false });
  on.now += 60_000;
  on.tell({ type: 'echo' });
  on.tell({ type: 'alive', host: 'h1', incarnation: 'life-1' }, 'compute/c1/h1');
  const turned = on.tell({ type: 'wake', id: 'build i1' });
  assert.ok(told(turned).includes('destroy to compute/c1/h1'));
  assert.ok(on.wakes.has('remove i1 1'), 'and again until it is answered');
  assert.equal(sentOf(turned, 'claim')[0]?.message.keep, [1]);
});

/** One that is built on its alternate, while the host of its first attempt went silent. */
function onItsAlternate(): Desk {
  const on = building();
  on.pass(10_000);
  for (const host of ['h2', 'h3']) on.tell({ type: 'alive', host, incarnation: 'life-1' });
  on.pass(10_000);
  on.tell(granted('i1', 2));
  on.tell({ type: 'built', ...ofAttempt('i1', 2) });
  return on;
}

/** The same, and then it is deleted. */
function deletedWithTwoHosts(): Desk {
  const on = onItsAlternate();
  assert.equal([viewOf(on)?.state, viewOf(on)?.host], ['active', 'h2']);
  on.tell({ type: 'delete', instance: 'i1' });
  const turned = on.tell({ type: 'destroyed', ...ofAttempt('i1', 2) });
  assert.equal(sentOf(turned, 'release')[0]?.message.keep, [1]);
  return on;
}

test('cell - what is deleted is not gone while an earlier attempt of it may run and holds what it was given', () => {
  const on = deletedWithTwoHosts();
  const last = on.tell({ type: 'released', consumer: 'i1', deleted: true });
  assert.equal([sentOf(last, 'removed'), viewOf(on)?.state], [[], 'deleting']);
  assert.is(viewOf(on)?.attempts?.[0]?.mayRun, true);
  const isOn = (host: string) => on.state.hosts.get(host)?.here.has('i1');
  assert.equal(['h1', 'h2'].map(isOn), [false, false], 'on the host of its last attempt nothing is left');
  for (const again of [
    bench(actor, { entries: on.entries }),
    bench({ ...actor, init: () => actor.restore([on.stored()]) }),
  ]) {
    assert.equal(sentOf(again.first, 'removed'), [], 'nor after a restart of the cell');
    assert.equal(
      ['h1', 'h2'].map((host) => again.state.hosts.get(host)?.here.has('i1')),
      [false, false],
    );
  }
  on.tell({ type: 'destroyed', ...ofAttempt('i1', 1) });
  const gone = on.tell({ type: 'released', consumer: 'i1', attempt: 1, deleted: false });
  assert.equal([sentOf(gone, 'removed').length, viewOf(on)], [1, null]);
});

test('cell - of what is deleted the earlier attempt may be cleared away first', () => {
  const on = deletedWithTwoHosts();
  on.tell({ type: 'destroyed', ...ofAttempt('i1', 1) });
  const first = on.tell({ type: 'released', consumer: 'i1', attempt: 1, deleted: false });
  assert.equal([sentOf(first, 'removed'), viewOf(on)?.state], [[], 'deleting']);
  assert.is(sentOf(on.tell({ type: 'released', consumer: 'i1', deleted: true }), 'removed').length, 1);
});

test('cell - the host of the last attempt can be removed while something is left of an earlier one, and that of the earlier one not', () => {
  const on = deletedWithTwoHosts();
  on.tell({ type: 'released', consumer: 'i1', deleted: true });
  for (let passed = 0; passed < 25_000; passed += 5_000) {
    on.pass(5_000);
    on.tell({ type: 'alive', host: 'h3', incarnation: 'life-1' });
  }
  for (const host of ['h1', 'h2']) on.tell({ type: 'fence-host', ask: 1, host });
  const remove = (host: string) => on.tell({ type: 'remove-host', ask: 2, host });
  assert.is(sentOf(remove('h1'), 'declined')[0]?.message.code, 'host-in-use');
  assert.equal(told(remove('h2')), ['withdraw-tree to placement/0']);
});

test('cell - one that runs on its alternate is on that host also once its earlier attempt is cleared away', () => {
  const on = onItsAlternate();
  on.tell({ type: 'destroyed', ...ofAttempt('i1', 1) });
  on.tell({ type: 'released', consumer: 'i1', attempt: 1, deleted: false });
  assert.is(on.state.removals.size, 0);
  assert.is(on.state.hosts.get('h2')?.here.has('i1'), true);
});

test('cell - one that is deleted while its alternate is claimed is gone when its first attempt is cleared away, too', () => {
  const on = building();
  on.pass(10_000);
  for (const host of ['h2', 'h3']) on.tell({ type: 'alive', host, incarnation: 'life-1' });
  on.pass(10_000);
  assert.is(viewOf(on)?.state, 'rescheduling');
  const [release] = sentOf(on.tell({ type: 'delete', instance: 'i1' }), 'release');
  assert.equal(release?.message.keep, [1]);
  const last = on.tell({ type: 'released', consumer: 'i1', deleted: true });
  assert.equal([sentOf(last, 'removed'), viewOf(on)?.state], [[], 'deleting']);
  on.tell({ type: 'destroyed', ...ofAttempt('i1', 1) });
  const gone = on.tell({ type: 'released', consumer: 'i1', attempt: 1, deleted: false });
  assert.equal([sentOf(gone, 'removed').length, viewOf(on)], [1, null]);
});

test('cell - one that was to be deleted and of which nothing is left is gone when the cell recovers', () => {
  const on = building([]);
  on.tell(failed('i1', 1));
  on.tell({ type: 'released', consumer: 'i1', deleted: true });
  on.tell({ type: 'delete', instance: 'i1' });
  const entries = on.entries.map((entry) => entry.filter(({ type }) => type !== 'deleted'));
  const [removed] = sentOf(bench(actor, { entries }).first, 'removed');
  assert.is(removed?.message.instance, 'i1');
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

test('cell - two computes of one host that present themselves at once are told apart when each has answered once', () => {
  const on = building();
  const words = [up('h1', 'life-2'), up('h1', 'life-3')];
  let told: CellMessage[] = words;
  for (let rounds = 0; told.length > 0 && rounds < 10; rounds += 1) {
    const asked = told.flatMap((word) => sentOf(on.tell(word, 'compute/c1/h1'), 'who-are-you'));
    told = asked.flatMap(({ message: { incarnation, challenge = 0 } }) =>
      words.filter((word) => word.incarnation === incarnation).map((word) => ({ ...word, challenge })),
    );
  }
  assert.equal(told, [], 'each is asked for ever what the other makes out of date');
  assert.is(on.state.hosts.get('h1')?.incarnation, 'life-3');
  assert.equal(on.state.hosts.get('h1')?.superseded, ['life-1', 'life-2']);
});

test('cell - an answer to what was asked before the last life came is none, also within one millisecond', () => {
  const on = building();
  const [asked] = sentOf(on.tell(up('h1', 'life-2'), 'compute/c1/h1'), 'who-are-you');
  const challenge = asked?.message.challenge as number;
  on.tell(up('h1', 'life-3'), 'compute/c1/h1');
  on.tell({ ...up('h1', 'life-3'), challenge }, 'compute/c1/h1');
  on.tell(up('h1', 'life-4'), 'compute/c1/h1');
  assert.equal(on.tell({ ...up('h1', 'life-2'), challenge }, 'compute/c1/h1').records, []);
  assert.is(on.state.hosts.get('h1')?.incarnation, 'life-3');
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
    // Only then has an active one left its host.
    const leaves = state === 'active' ? ['hosts-changed to cell/c1/feed'] : [];
    assert.equal(told(removed), ['removed to conductor/0', ...leaves]);
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
  assert.equal(told(on.tell({ type: 'do-again', instance: 'i1' })), ['removed to conductor/0']);
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

test('cell - a host that comes back is told what it has to clear away itself, however much others have', () => {
  const on = desk();
  const names = Array.from({ length: 50 }, (_, n) => `h${n + 1}`);
  for (const host of names.slice(HOSTS.length)) on.tell(up(host), `compute/c1/${host}`);
  for (const host of names) {
    on.tell(startOf(`i-${host}`, [], host));
    on.tell({ type: 'built', ...ofAttempt(`i-${host}`, 1, host) });
  }
  on.pass(30_000);
  for (const host of names) on.tell({ type: 'delete', instance: `i-${host}` });
  const { removals } = on.state;
  assert.is(removals.size, names.length);
  let looked = 0;
  const { values } = Object.getPrototypeOf(removals);
  removals.values = () => {
    looked += removals.size;
    return values.call(removals);
  };
  for (const host of names) {
    const turned = on.tell({ type: 'alive', host, incarnation: 'life-1' }, `compute/c1/${host}`);
    assert.equal(
      sentOf(turned, 'destroy').map(({ to, message }) => `${message.instance} of ${to}`),
      [`i-${host} of compute/c1/${host}`],
    );
  }
  assert.ok(looked <= names.length, `${looked} were looked at`);
  for (const host of names) on.tell({ type: 'destroyed', ...ofAttempt(`i-${host}`, 1, host) });
  for (const host of names) on.tell({ type: 'released', consumer: `i-${host}`, deleted: true });
  assert.equal([removals.size, removals.ofHost('h1')], [0, []]);
});

test('cell - what is owed is asked for at a slowing pace', () => {
  const on = building([]);
  on.tell({ type: 'built', ...ofAttempt('i1', 1) });
  on.tell({ type: 'delete', instance: 'i1' });
  const destroys = () => sentOf({ sent: on.pass(100).flatMap(({ sent }) => sent) }, 'destroy').length;
  const asked = Array.from({ length: 120 }, destroys).reduce((sum, count) => sum + count, 0);
  assert.ok(asked >= 3 && asked <= 6, `${asked} times in 12 s`);
});

test('cell - of several that are to be cleared away on a host, what is left is told to it when it comes back', () => {
  const on = desk();
  const names = ['a', 'b', 'c'];
  for (const name of names) on.tell(startOf(name));
  for (const name of names) on.tell({ type: 'built', ...ofAttempt(name, 1) });
  on.pass(30_000);
  for (const name of names) on.tell({ type: 'delete', instance: name });
  on.tell({ type: 'destroyed', ...ofAttempt('a', 1) });
  on.tell({ type: 'released', consumer: 'a', deleted: true });
  const back = on.tell({ type: 'alive', host: 'h1', incarnation: 'life-1' }, 'compute/c1/h1');
  assert.equal(
    sentOf(back, 'destroy').map(({ message }) => message.instance),
    ['b', 'c'],
  );
});

test('cell - hosts and instances are listed page by page', () => {
  const on = desk();
  for (const instance of ['b', 'a', 'c']) on.tell(startOf(instance));
  const [hosts] = sentOf(on.tell({ type: 'list-hosts', ask: 1, limit: 2 }), 'hosts');
  assert.equal([hosts?.message.hosts.map(({ host }) => host), hosts?.message.next], [['h1', 'h2'], 'h2']);
  const [listed] = sentOf(on.tell({ type: 'list', ask: 1, after: 'a', limit: 2 }), 'listed');
  assert.equal([listed?.message.instances.map(({ instance }) => instance), listed?.message.next], [['b', 'c'], null]);
});

test.run();
