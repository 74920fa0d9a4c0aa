// Area: the hosts of a cell. What an operator's word that a host is gone brings with it, when a host is set aside and
// comes back, and that all of it survives the cell.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type CellOptions, cell } from '../../actors/cell/cell.ts';
import { viewOfHost } from '../../actors/cell/hosts.ts';
import type { Start } from '../../actors/messages/cell.ts';
import { OPTIONS, up } from '../support/cells.ts';
import { selectionAt } from '../support/machine-paths.ts';
import { comesUp } from '../support/new-life.ts';
import { bench, replayed, restored, sentOf, told } from '../support/turn.ts';

const test = suite('hosts of a cell');

function desk(hosts: readonly string[] = ['h1', 'h2', 'h3', 'h4', 'h5'], options: Partial<CellOptions> = {}) {
  const actor = cell({ ...OPTIONS, ...options });
  const on = bench(actor, { address: 'cell/c1' });
  for (const host of hosts) on.tell(up(host), `compute/c1/${host}`);

  function start(instance: string, host: string, alternates: readonly string[] = []) {
    const context = {
      v: 1,
      instance,
      selection: selectionAt(host),
      alternates: alternates.map(selectionAt),
      attempt: 1,
      attempts: [],
      failure: null,
    };
    const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };
    const message = { type: 'start', instance, request: instance, spec, snapshot: { value: 'claimed', context } };
    return on.tell(message as unknown as Start, 'conductor/0');
  }
  const ofAttempt = (instance: string, attempt: number, host: string) => ({ host, instance, attempt });
  let failures = 0;
  const stateOf = (host: string) => viewOfHost(on.state.hosts.get(host) as never).state;
  return {
    ...on,
    on,
    actor,
    start,
    activate(instance: string, host: string) {
      start(instance, host);
      on.tell({ type: 'built', ...ofAttempt(instance, 1, host) });
    },
    fail(host: string, type: 'build-failed' | 'build-aborted' = 'build-failed') {
      failures += 1;
      const instance = `failure-${failures}`;
      start(instance, host);
      return on.tell({ type, ...ofAttempt(instance, 1, host), reason: 'no image' });
    },
    silence(host: string) {
      for (let passed = 0; passed < 25_000; passed += 5_000) {
        on.pass(5_000);
        for (const other of hosts) {
          if (other !== host) on.tell({ type: 'alive', host: other, incarnation: 'life-1' }, `compute/c1/${other}`);
        }
      }
      assert.is(stateOf(host), 'down');
    },
    fence: (host: string) => on.tell({ type: 'fence-host', ask: 1, host }, 'gateway/operator'),
    hostOf: (host: string) => viewOfHost(on.state.hosts.get(host) as never),
    stateOf,
    view(instance: string) {
      const [shown] = sentOf(on.tell({ type: 'show', ask: 1, instance }), 'shown');
      return shown?.message.view ?? null;
    },
    survives() {
      assert.equal(replayed(actor, on.entries), on.stored());
      assert.equal(restored(actor, on.stored()), on.stored());
    },
  };
}

// --- what a cell did not order

test('hosts - what runs on one that the cell meets is not its own to destroy: it is left, and nothing new goes there', () => {
  const { on, start, hostOf, survives } = desk(['h2']);
  const strangers = [
    { instance: 'theirs', attempt: 1 },
    { instance: 'theirs-too', attempt: 3 },
  ];
  const met = on.tell(up('h1', 'life-1', strangers), 'compute/c1/h1');
  assert.equal(told(met), ['welcome to compute/c1/h1', 'hosts-changed to cell/c1/feed']);
  assert.is(hostOf('h1').state, 'disabled');
  assert.match(hostOf('h1').reason ?? '', /^2 instances run there that cell 'c1' did not order/);
  start('mine', 'h1', ['h2']);
  const [shown] = sentOf(on.tell({ type: 'show', ask: 1, instance: 'mine' }), 'shown');
  assert.is(shown?.message.view?.attempts?.[0]?.outcome, 'refused');
  survives();

  // Also in the next life, and when an operator has put the host into service; but what the cell ordered there is its own.
  on.tell({ type: 'set-host', ask: 1, host: 'h1', enabled: true });
  comesUp(on, up('h1', 'life-2', strangers));
  assert.is(hostOf('h1').state, 'up');
  const again = comesUp(on, up('h1', 'life-3', [...strangers, { instance: 'stray', attempt: 1 }]));
  assert.equal(
    sentOf(again, 'destroy').map(({ message }) => message.instance),
    ['stray'],
  );
  survives();
});

test('hosts - one that is new and empty is in service at once, and what is found on it later is destroyed', () => {
  const { on, hostOf } = desk(['h1']);
  assert.is(hostOf('h1').state, 'up');
  const found = on.tell(up('h1', 'life-1', [{ instance: 'stray', attempt: 1 }]), 'compute/c1/h1');
  assert.equal(sentOf(found, 'destroy').length, 1);
});

// --- the time of day

test('hosts - one that dies after the clock was set back is missed as soon as ever', () => {
  const { on, stateOf } = desk();
  on.now -= 3_600_000;
  // The cell hears itself, and then nobody else.
  on.tell({ type: 'echo' });
  for (let passed = 0; passed < 20_000; passed += 5_000) {
    on.now += 5_000;
    for (const host of ['h2', 'h3']) on.tell({ type: 'alive', host, incarnation: 'life-1' }, `compute/c1/${host}`);
    on.tell({ type: 'echo' });
  }
  assert.equal(['h1', 'h2', 'h3'].map(stateOf), ['down', 'up', 'up']);
});

test('hosts - one that rests while the clock is set back comes back all the same', () => {
  const { on, fail, stateOf } = desk();
  for (let failures = 0; failures < 5; failures += 1) fail('h1');
  assert.is(stateOf('h1'), 'set-aside');
  on.now -= 30_000;
  // What has come is not armed any more.
  (on.wakes as Map<string, number>).delete('rested h1');
  on.tell({ type: 'wake', id: 'rested h1' });
  assert.is(stateOf('h1'), 'set-aside', 'it is not time yet');
  on.now = on.wakes.get('rested h1') ?? 0;
  on.tell({ type: 'wake', id: 'rested h1' });
  assert.is(stateOf('h1'), 'up');
});

// --- fencing

test('hosts - one that is up cannot be fenced, nor one that nobody knows', () => {
  const { on, fence } = desk();
  for (const enabled of [true, false]) {
    on.tell({ type: 'set-host', ask: 1, host: 'h1', enabled });
    const [declined] = sentOf(fence('h1'), 'declined');
    assert.equal([declined?.message.code, declined?.message.field], ['host-is-up', 'host']);
    assert.match(declined?.message.reason ?? '', /host 'h1' of cell 'c1' is (up|disabled): only one that is down/);
  }
  assert.is(sentOf(fence('h9'), 'declined')[0]?.message.code, 'not-found');
});

test('hosts - fenced: what waited for its word goes on as if it had confirmed', () => {
  const { on, start, silence, fence, stateOf, view, survives } = desk();
  start('lost-build', 'h1', ['h2']);
  on.tell({ type: 'accepted', host: 'h1', instance: 'lost-build', attempt: 1 });
  silence('h1');
  assert.is(view('lost-build')?.attempts?.[0]?.outcome, 'host-lost');
  const fenced = fence('h1');
  assert.is(sentOf(fenced, 'host-set')[0]?.message.state, 'fenced');
  assert.equal(
    sentOf(fenced, 'release').map(({ message }) => [message.consumer, message.attempt, message.deleted]),
    [['lost-build', 1, false]],
  );
  assert.equal(
    sentOf(fenced, 'hosts-changed').flatMap(({ message }) => message.hosts.map(({ state }) => state)),
    ['fenced'],
  );
  on.tell({ type: 'released', consumer: 'lost-build', attempt: 1, deleted: false });
  assert.is(on.state.removals.size, 0);
  survives();
  assert.equal([sentOf(fence('h1'), 'host-set')[0]?.message.state, stateOf('h1')], ['fenced', 'fenced'], 'said twice');
});

test('hosts - fenced: what was active there is lost, and told until the conductor has noted it', () => {
  const { on, activate, silence, fence, view, survives } = desk();
  activate('i1', 'h1');
  activate('i2', 'h2');
  silence('h1');
  assert.is(view('i1')?.state, 'active', 'it may run on, for all that the cell knows');
  const fenced = fence('h1');
  assert.equal(
    sentOf(fenced, 'ended').map(({ to, message }) => [to, message.instance, message.state]),
    [['conductor/0', 'i1', 'lost']],
  );
  assert.equal(sentOf(fenced, 'release'), [], 'what it holds stays held until it is deleted');
  assert.equal(
    fenced.events.map(({ topic }) => topic.join('.')),
    ['cell.c1.build.i1.lost'],
  );
  assert.equal([view('i1')?.state, view('i1')?.failure?.code], ['lost', 'host-fenced']);
  assert.is(view('i2')?.state, 'active');
  survives();
  assert.ok(on.pass(10_000).flatMap((turned) => sentOf(turned, 'ended')).length >= 2);
  on.tell({ type: 'lost-noted', instance: 'i1' }, 'conductor/0');
  assert.equal(
    on.pass(30_000).flatMap((turned) => sentOf(turned, 'ended')),
    [],
  );
  survives();
});

test('hosts - a cell that crashed while an instance was lost tells it again', () => {
  const { on, activate, silence, fence, actor } = desk();
  activate('i1', 'h1');
  silence('h1');
  fence('h1');
  const again = bench(actor, { address: 'cell/c1', at: on.now, entries: on.entries });
  assert.equal(
    sentOf(again.first, 'ended').map(({ message }) => message.state),
    ['lost'],
  );
});

test('hosts - deletes of instances on a fenced host complete, asked before it was fenced or after', () => {
  const { on, activate, silence, fence, survives } = desk();
  activate('before', 'h1');
  activate('after', 'h1');
  silence('h1');
  assert.ok(told(on.tell({ type: 'delete', instance: 'before' }, 'conductor/0')).includes('destroy to compute/c1/h1'));
  assert.equal(
    sentOf(fence('h1'), 'release').map(({ message }) => [message.consumer, message.deleted]),
    [['before', true]],
  );
  const after = on.tell({ type: 'delete', instance: 'after' }, 'conductor/0');
  assert.equal([sentOf(after, 'destroy').length, sentOf(after, 'release')[0]?.message.deleted], [0, true]);
  for (const consumer of ['before', 'after']) {
    assert.equal(told(on.tell({ type: 'released', consumer, deleted: true })), ['removed to conductor/0']);
  }
  assert.is(on.state.removals.size + on.state.instances.size, 0);
  survives();
});

test('hosts - a fenced host is given nothing, and in its old life only made to clear up', () => {
  const { on, activate, start, silence, fence, view } = desk();
  activate('i1', 'h1');
  silence('h1');
  fence('h1');
  const refused = start('next', 'h1', ['h2']);
  assert.equal([sentOf(refused, 'build').length, view('next')?.attempts?.[0]?.outcome], [0, 'refused']);
  assert.equal(told(on.tell({ type: 'alive', host: 'h1', incarnation: 'life-1' }, 'compute/c1/h1')), [
    'who-are-you to compute/c1/h1',
  ]);
  const shown = on.tell(up('h1', 'life-1', [{ instance: 'i1', attempt: 1 }]), 'compute/c1/h1');
  assert.equal(told(shown), ['destroy to compute/c1/h1']);
  assert.is(viewOfHost(on.state.hosts.get('h1') as never).state, 'fenced');
});

test('hosts - a fenced host that comes back in a new life destroys what it had, and is in service again', () => {
  const { on, activate, silence, fence, stateOf, view, survives } = desk();
  activate('i1', 'h1');
  silence('h1');
  fence('h1');
  const back = comesUp(on, up('h1', 'life-2', [{ instance: 'i1', attempt: 1 }]));
  assert.equal(sentOf(back, 'destroy').length, 1);
  assert.ok(told(back).includes('welcome to compute/c1/h1'));
  assert.equal([stateOf('h1'), view('i1')?.state], ['up', 'lost']);
  survives();
});

// --- setting aside

test('hosts - one whose builds keep failing is set aside, and comes back by itself on probation', () => {
  const { on, fail, hostOf, stateOf, activate, survives } = desk();
  for (const _ of [1, 2, 3, 4]) fail('h1');
  assert.is(stateOf('h1'), 'up');
  const last = fail('h1');
  const { state, reason = '', until = 0 } = hostOf('h1');
  assert.equal([state, until], ['set-aside', on.now + 60_000]);
  assert.is(reason, '5 builds in a row failed, the last with: no image');
  assert.is(sentOf(last, 'hosts-changed')[0]?.message.hosts[0]?.state, 'set-aside');
  survives();
  const beat = () => {
    for (const host of ['h1', 'h2', 'h3', 'h4', 'h5']) on.tell({ type: 'alive', host, incarnation: 'life-1' });
  };
  const rest = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      on.pass(5_000);
      beat();
    }
  };
  rest(55_000);
  assert.is(stateOf('h1'), 'set-aside');
  rest(5_000);
  assert.is(stateOf('h1'), 'up');
  fail('h1');
  assert.equal(
    [stateOf('h1'), hostOf('h1').until],
    ['set-aside', on.now + 120_000],
    'one is enough, for twice as long',
  );
  survives();
  rest(120_000);
  activate('good', 'h1');
  for (const _ of [1, 2, 3, 4]) fail('h1');
  assert.is(stateOf('h1'), 'up', 'a success begins the count anew');
  fail('h1');
  assert.is(hostOf('h1').until, on.now + 60_000);
});

test("hosts - the fault of a request is not the host's, and a success in between resets the count", () => {
  const { fail, activate, stateOf } = desk();
  for (let n = 0; n < 10; n += 1) fail('h1', 'build-aborted');
  assert.is(stateOf('h1'), 'up');
  for (let n = 0; n < 12; n += 1) {
    if (n % 4 === 0) activate(`good-${n}`, 'h1');
    fail('h1');
  }
  assert.is(stateOf('h1'), 'up');
});

test('hosts - one that never says what came of its builds is set aside too', () => {
  const { on, start, stateOf } = desk(['h1', 'h2'], { failuresBeforeAside: 2 });
  for (const instance of ['a', 'b']) start(instance, 'h1');
  for (let passed = 0; passed < 25_000; passed += 5_000) {
    on.pass(5_000);
    for (const host of ['h1', 'h2']) on.tell({ type: 'alive', host, incarnation: 'life-1' });
  }
  assert.is(stateOf('h1'), 'set-aside');
});

test('hosts - when most of them fail the fault is not theirs: only a share is set aside', () => {
  for (const [count, most] of [
    [1, 0],
    [2, 1],
    [5, 1],
    [12, 3],
  ] as const) {
    const hosts = Array.from({ length: count }, (_, n) => `h${n}`);
    const { fail, stateOf } = desk(hosts);
    for (let round = 0; round < 8; round += 1) for (const host of hosts) fail(host);
    assert.is(hosts.filter((host) => stateOf(host) === 'set-aside').length, most, `${count} hosts`);
  }
});

test('hosts - a build goes past a host that is set aside, unless there is nothing else to try', () => {
  const { on, fail, start, view, stateOf } = desk();
  for (const _ of [1, 2, 3, 4, 5]) fail('h1');
  start('a', 'h1', ['h2']);
  assert.match(view('a')?.attempts?.[0]?.reason ?? '', /the host is set-aside: 5 builds in a row failed/);
  assert.equal(sentOf(start('b', 'h1'), 'build').length, 1);
  start('c', 'h2', ['h1', 'h3']);
  const failed = on.tell({ type: 'build-failed', host: 'h2', instance: 'c', attempt: 1, reason: 'no image' });
  assert.equal(sentOf(failed, 'claim')[0]?.message.allocations, selectionAt('h3').allocations);
  assert.is(stateOf('h1'), 'set-aside');
});

test('hosts - an operator who puts a host back ends its rest; one who disables it, keeps it out', () => {
  const { on, fail, stateOf, survives } = desk();
  const set = (enabled: boolean) => on.tell({ type: 'set-host', ask: 1, host: 'h1', enabled });
  for (const _ of [1, 2, 3, 4, 5]) fail('h1');
  set(false);
  assert.is(stateOf('h1'), 'disabled');
  set(true);
  assert.is(stateOf('h1'), 'up');
  for (const _ of [1, 2, 3, 4]) fail('h1');
  assert.is(stateOf('h1'), 'up', 'it begins anew');
  survives();
});

test('hosts - one that rests when its cell crashes comes back by its time', () => {
  const { on, fail, actor } = desk();
  for (const _ of [1, 2, 3, 4, 5]) fail('h1');
  const again = bench(actor, { address: 'cell/c1', at: on.now, entries: on.entries });
  assert.is(viewOfHost(again.state.hosts.get('h1') as never).state, 'set-aside');
  again.pass(5_000);
  assert.is(again.wakes.get('rested h1'), on.now + 60_000);
  again.now += 60_000;
  again.tell({ type: 'wake', id: 'rested h1' });
  assert.is(viewOfHost(again.state.hosts.get('h1') as never).state, 'up');
});

test('hosts - what is left to be cleared away is listed, with where and since when', () => {
  const { on, activate } = desk();
  activate('i1', 'h1');
  const at = on.now;
  on.tell({ type: 'delete', instance: 'i1' });
  const [listed] = sentOf(on.tell({ type: 'list-removals', ask: 7, limit: 10 }), 'removals');
  const removal = { instance: 'i1', attempt: 1, host: 'h1', final: true, state: 'destroying', since: at };
  assert.equal(listed?.message, { type: 'removals', ask: 7, removals: [removal], next: null });
});

/** What the feed tells of a host, with the beats of some seconds. */
function toldOf({ on }: ReturnType<typeof desk>, host: string) {
  const messages = on.pass(1_000).flatMap((turned) => sentOf(turned, 'hosts-changed'));
  return messages.flatMap(({ message }) => message.hosts).filter((one) => one.host === host);
}

test('hosts - how many instances each has and builds is told with the next beat, once', () => {
  const all = desk(['h1', 'h2']);
  toldOf(all, 'h1');
  all.start('a', 'h1', ['h2']);
  all.start('b', 'h1');
  all.activate('c', 'h2');
  assert.equal(
    toldOf(all, 'h1').map(({ stats }) => stats),
    [{ instances: 2, builds: 2 }],
  );
  assert.equal(toldOf(all, 'h1'), [], 'nothing changed');
  all.on.tell({ type: 'built', host: 'h1', instance: 'b', attempt: 1 });
  assert.equal(
    toldOf(all, 'h1').map(({ stats }) => stats),
    [{ instances: 2, builds: 1 }],
  );
  // The one that fails goes to the other host when its alternate is claimed.
  all.on.tell({ type: 'build-failed', host: 'h1', instance: 'a', attempt: 1, reason: 'no' });
  all.on.tell({ type: 'claim-granted', consumer: 'a', attempt: 2, allocations: [], usages: [] });
  assert.equal(
    toldOf(all, 'h2').map(({ stats }) => stats),
    [{ instances: 2, builds: 1 }],
  );
  for (const instance of ['b', 'c']) all.on.tell({ type: 'delete', instance });
  all.on.tell({ type: 'destroyed', host: 'h1', instance: 'b', attempt: 1 });
  all.on.tell({ type: 'released', consumer: 'b', deleted: true });
  const counts = (host: string) => viewOfHost(all.on.state.hosts.get(host) as never).stats;
  assert.equal(
    [counts('h1'), counts('h2')],
    [
      { instances: 0, builds: 0 },
      { instances: 2, builds: 1 },
    ],
  );
  assert.equal(replayed(all.actor, all.on.entries), all.on.stored());
  const again = all.actor.restore([all.on.stored()]);
  for (const host of ['h1', 'h2']) {
    assert.equal(viewOfHost(again.hosts.get(host) as never).stats, counts(host), 'restored, they are counted anew');
  }
});

test('hosts - what was to go to a host that the cell does not know is counted where it goes instead', () => {
  const all = desk(['h1']);
  const instances = (host: string) => viewOfHost(all.on.state.hosts.get(host) as never).stats?.instances;
  all.start('a', 'h2', ['h1']);
  all.on.tell(up('h2'), 'compute/c1/h2');
  assert.equal([instances('h1'), instances('h2')], [0, 0]);
  all.on.tell({ type: 'claim-granted', consumer: 'a', attempt: 2, allocations: [], usages: [] });
  assert.equal([instances('h1'), instances('h2')], [1, 0]);
  assert.equal(replayed(all.actor, all.on.entries), all.on.stored());
});

test('hosts - failed builds are told at once, and with them how fresh they are; a success halves them', () => {
  const all = desk(['h1', 'h2']);
  const failures = () => viewOfHost(all.on.state.hosts.get('h1') as never).failures;
  assert.is(failures(), undefined);
  all.start('a', 'h1');
  const turned = all.on.tell({ type: 'build-failed', host: 'h1', instance: 'a', attempt: 1, reason: 'no' });
  const [feed] = sentOf(turned, 'hosts-changed');
  assert.equal(feed?.message.hosts[0]?.failures, { weight: 1, at: all.on.now });
  all.fail('h1');
  assert.is(failures()?.weight, 2);
  all.fail('h1', 'build-aborted');
  assert.is(failures()?.weight, 2, 'the fault of a request is not the fault of the host');
  all.activate('b', 'h1');
  assert.is(failures()?.weight, 1);
  assert.equal(replayed(all.actor, all.on.entries), all.on.stored());
  assert.equal(restored(all.actor, all.on.stored()), all.on.stored());
});

test('hosts - what a driver measures is told with the next beat, and no more when it measures no more', () => {
  const all = desk(['h1', 'h2']);
  toldOf(all, 'h1');
  all.on.tell({ type: 'alive', host: 'h1', incarnation: 'life-1', metrics: { load: 0.5 } });
  assert.equal(
    toldOf(all, 'h1').map(({ stats }) => stats?.metrics),
    [{ load: 0.5 }],
  );
  all.on.tell({ type: 'alive', host: 'h1', incarnation: 'life-1' });
  assert.equal(
    toldOf(all, 'h1').map(({ stats }) => stats?.metrics),
    [undefined],
  );
  all.on.tell({ type: 'alive', host: 'h1', incarnation: 'life-1' });
  assert.equal(toldOf(all, 'h1'), []);
});

test('hosts - of many hosts the feed tells in several messages, numbered one by one', () => {
  const names = Array.from({ length: 1_201 }, (_, n) => `h${n}`);
  const all = desk([]);
  const turned = all.on.tellAll(names.map((host) => ({ message: up(host), from: `compute/c1/${host}` })));
  const feed = sentOf(turned, 'hosts-changed').map(({ message }) => message);
  assert.equal(
    feed.map(({ hosts }) => hosts.length),
    [500, 500, 201],
  );
  assert.equal(
    feed.map(({ sequence }) => sequence),
    [1, 2, 3],
  );
});

test.run();
