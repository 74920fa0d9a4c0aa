// Area: the hosts of a cell. When one is set aside and comes back, and what the feed tells of hosts.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { viewOfHost } from '../../actors/cell/hosts.ts';
import { selectionAt } from '../../machines/testing.ts';
import { desk } from '../support/cell-hosts.ts';
import { granted, refused, up } from '../support/cells.ts';
import { bench, replayed, restored, sentOf } from '../support/turn.ts';

const test = suite('hosts of a cell that rest');

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
  assert.is(hostOf('h1').reason, 'the first build after its rest failed: no image');
  survives();
  rest(120_000);
  activate('good', 'h1');
  for (const _ of [1, 2, 3, 4]) fail('h1');
  assert.is(stateOf('h1'), 'up', 'a success begins the count anew');
  fail('h1');
  assert.is(hostOf('h1').until, on.now + 60_000);
});

test('hosts - while no more may rest, failures do not have all hosts counted each time', () => {
  const { on, fail, stateOf } = desk(['h1', 'h2', 'h3', 'h4'], { failuresBeforeAside: 1 });
  fail('h1');
  const { hosts } = on.state;
  const { values } = hosts;
  let counts = 0;
  hosts.values = () => {
    counts += 1;
    return values.call(hosts);
  };
  for (let n = 0; n < 50; n += 1) fail('h2');
  assert.equal([stateOf('h1'), stateOf('h2')], ['set-aside', 'up']);
  assert.ok(counts <= 2, `${counts} counts`);
  on.tell({ type: 'set-host', ask: 1, host: 'h1', enabled: true });
  fail('h2');
  assert.equal([stateOf('h1'), stateOf('h2')], ['up', 'set-aside'], 'another may once one has come back');
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

test('hosts - one whose builds are not answered is set aside as soon, and rests no longer, when the clock is set back by a day', () => {
  const aDayEarlier = ({ on }: ReturnType<typeof desk>, ms: number) => {
    on.setBack(86_400_000);
    for (let passed = 0; passed < ms; passed += 5_000) {
      on.pass(5_000);
      on.tell({ type: 'echo' });
      for (const host of ['h1', 'h2']) on.tell({ type: 'alive', host, incarnation: 'life-1' });
    }
  };
  const failing = desk(['h1', 'h2'], { failuresBeforeAside: 2 });
  for (const instance of ['a', 'b']) failing.start(instance, 'h1');
  aDayEarlier(failing, 45_000);
  assert.is(failing.stateOf('h1'), 'set-aside');

  const resting = desk(['h1', 'h2'], { failuresBeforeAside: 2 });
  for (const _ of [1, 2]) resting.fail('h1');
  aDayEarlier(resting, 120_000);
  assert.is(resting.stateOf('h1'), 'up');
});

test('hosts - of one that goes down while it is set aside it is told until when it still is, if it is not disabled', () => {
  const { on, fail, silence, hostOf } = desk(['h1', 'h2'], { failuresBeforeAside: 2 });
  for (const _ of [1, 2]) fail('h1');
  const { until = 0 } = hostOf('h1');
  silence('h1');
  const standsAs = () => {
    const { state, until: byItself, asideUntil, disabled } = hostOf('h1');
    return [state, byItself, asideUntil, disabled];
  };
  assert.equal(standsAs(), ['down', undefined, until, undefined]);
  on.tell({ type: 'set-host', ask: 1, host: 'h1', enabled: false });
  assert.equal(standsAs(), ['down', undefined, undefined, true], 'it rests no longer when it is enabled');
  on.tell({ type: 'set-host', ask: 2, host: 'h1', enabled: true });
  assert.equal(standsAs(), ['down', undefined, undefined, undefined]);

  const other = desk(['h1', 'h2'], { failuresBeforeAside: 2 });
  for (const _ of [1, 2]) other.fail('h1');
  other.silence('h1');
  other.fence('h1');
  assert.is(other.hostOf('h1').asideUntil, until);
  const told = Array.from({ length: 8 }, () => {
    other.on.tell({ type: 'alive', host: 'h2', incarnation: 'life-1' });
    const turns = other.on.pass(5_000).flatMap((turned) => sentOf(turned, 'hosts-changed'));
    return turns.flatMap(({ message }) => message.hosts);
  }).flat();
  const last = told.findLast(({ host }) => host === 'h1');
  assert.equal([last?.state, last?.asideUntil], ['fenced', undefined], 'that its time is over is told');
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
  assert.match(view('a')?.attempts?.[0]?.reason ?? '', /the host is set aside: 5 builds in a row failed/);
  assert.equal(sentOf(start('b', 'h1'), 'build').length, 1);
  start('c', 'h2', ['h1', 'h3']);
  const failed = on.tell({ type: 'build-failed', host: 'h2', instance: 'c', attempt: 1, reason: 'no image' });
  assert.equal(sentOf(failed, 'claim')[0]?.message.allocations, selectionAt('h3').allocations);
  assert.is(stateOf('h1'), 'set-aside');
});

test('hosts - an alternate that is set aside is passed over, and tried when those after it have failed', () => {
  const { on, fail, start, view, survives, actor } = desk();
  for (const _ of [1, 2, 3, 4, 5]) fail('h1');
  start('a', 'h2', ['h1', 'h3']);
  const failed = on.tell({ type: 'build-failed', host: 'h2', instance: 'a', attempt: 1, reason: 'no image' });
  assert.equal(
    sentOf(failed, 'claim').map(({ message }) => [message.attempt, message.allocations]),
    [[3, selectionAt('h3').allocations]],
  );
  survives();
  const again = bench(actor, { address: 'cell/c1', at: on.now, entries: on.entries });
  for (const one of [on, again]) {
    const claimed = one.tell(refused('a', 3));
    assert.equal(
      sentOf(claimed, 'claim').map(({ message }) => [message.attempt, message.allocations]),
      [[4, selectionAt('h1').allocations]],
    );
    assert.equal(sentOf(one.tell(granted('a', 4, [...(selectionAt('h1').allocations ?? [])])), 'build').length, 1);
  }
  on.tell({ type: 'build-failed', host: 'h1', instance: 'a', attempt: 4, reason: 'no image' });
  assert.equal(
    view('a')?.attempts?.map(({ host, outcome }) => `${host} ${outcome}`),
    ['h2 build-failed', 'h1 passed-over', 'h3 claim-refused', 'h1 build-failed'],
  );
  survives();
});

test('hosts - one that is set aside after it was chosen is given up for alternates that are up, and comes after them', () => {
  const { fail, on, start, view, survives } = desk();
  for (const _ of [1, 2, 3, 4, 5]) fail('h1');
  const claims = (turned: ReturnType<typeof start>) => sentOf(turned, 'claim').map(({ message }) => message.attempt);
  const started = start('a', 'h1', ['h2']);
  assert.equal([claims(started), sentOf(started, 'build')], [[2], []]);
  assert.equal(claims(on.tell(refused('a', 2))), [3]);
  on.tell(granted('a', 3, [...(selectionAt('h1').allocations ?? [])]));
  on.tell({ type: 'built', host: 'h1', instance: 'a', attempt: 3 });
  assert.equal([view('a')?.state, view('a')?.host], ['active', 'h1']);
  survives();
});

test('hosts - one that is set aside is not passed over for alternates that are out of service', () => {
  const { fail, on, start } = desk(['h1', 'h2', 'h3']);
  for (const _ of [1, 2, 3, 4, 5]) fail('h1');
  on.tell({ type: 'set-host', ask: 1, host: 'h3', enabled: false });
  start('a', 'h2', ['h1', 'h3']);
  const failed = on.tell({ type: 'build-failed', host: 'h2', instance: 'a', attempt: 1, reason: 'no image' });
  assert.equal(sentOf(failed, 'claim')[0]?.message.allocations, selectionAt('h1').allocations);
  assert.equal(sentOf(start('b', 'h1', ['h3']), 'build').length, 1);
});

test('hosts - one that is out of service is given nothing, also where there is nothing else to try', () => {
  const { on, start, view } = desk(['h1', 'h2']);
  on.tell({ type: 'set-host', ask: 1, host: 'h1', enabled: false, reason: 'new disk' });
  assert.equal(sentOf(start('a', 'h1'), 'build'), []);
  start('b', 'h2', ['h1']);
  const failed = on.tell({ type: 'build-failed', host: 'h2', instance: 'b', attempt: 1, reason: 'no image' });
  assert.equal(sentOf(failed, 'claim'), []);
  for (const instance of ['a', 'b']) {
    assert.is(view(instance)?.state, 'failed');
    assert.match(view(instance)?.failure?.message ?? '', /the host is disabled: new disk/);
  }
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

test('hosts - one that an operator has put back begins anew: its next rest is no longer than the first', () => {
  const { on, fail, hostOf } = desk();
  for (let n = 0; n < 5; n += 1) fail('h1');
  on.tell({ type: 'set-host', ask: 1, host: 'h1', enabled: true });
  for (let n = 0; n < 5; n += 1) fail('h1');
  assert.is(hostOf('h1').until, on.now + 60_000);
});

test('hosts - to be silent for a while makes nobody forget how many builds have failed there, nor that it has rested', () => {
  const { on, fail, silence, stateOf, hostOf } = desk();
  const isHeard = () => on.tell({ type: 'alive', host: 'h1', incarnation: 'life-1' }, 'compute/c1/h1');
  for (let n = 0; n < 4; n += 1) fail('h1');
  silence('h1');
  isHeard();
  assert.is(stateOf('h1'), 'up');
  fail('h1');
  assert.is(stateOf('h1'), 'set-aside', 'five in a row');
  silence('h1');
  isHeard();
  assert.is(stateOf('h1'), 'set-aside');
  while (stateOf('h1') !== 'up') {
    on.pass(1_000);
    for (const host of ['h1', 'h2', 'h3', 'h4', 'h5']) on.tell({ type: 'alive', host, incarnation: 'life-1' });
  }
  fail('h1');
  assert.equal([stateOf('h1'), hostOf('h1').until], ['set-aside', on.now + 120_000], 'it rests for the second time');
});

test('hosts - one that rests when its cell crashes comes back by its time', () => {
  const { on, fail, actor } = desk();
  for (const _ of [1, 2, 3, 4, 5]) fail('h1');
  const again = bench(actor, { address: 'cell/c1', at: on.now, entries: on.entries });
  assert.is(viewOfHost(again.state.hosts.get('h1') as never).state, 'set-aside');
  again.pass(5_000);
  assert.is(again.wakes.get('rested h1'), again.steady + 55_000);
  again.now += 60_000;
  again.tell({ type: 'wake', id: 'rested h1' });
  assert.is(viewOfHost(again.state.hosts.get('h1') as never).state, 'up');
});

test('hosts - one that was put back and set aside again rests until the end of its second rest, though the first ends a moment earlier', () => {
  const { on, fail, stateOf } = desk();
  for (const _ of [1, 2, 3, 4, 5]) fail('h1');
  on.now += 30_000;
  for (const enabled of [false, true]) on.tell({ type: 'set-host', ask: 1, host: 'h1', enabled });
  for (const _ of [1, 2, 3, 4, 5]) fail('h1');
  assert.is(stateOf('h1'), 'set-aside');
  const endsAt = on.wakes.get('rested h1') ?? 0;
  on.now += endsAt - on.steady - 1;
  on.tell({ type: 'wake', id: 'rested h1' });
  assert.is(stateOf('h1'), 'set-aside');
  on.pass(1);
  assert.is(stateOf('h1'), 'up');
});

test('hosts - one that was away while it rested rests for no longer than any may, by the next owner', () => {
  const { on, fail, actor } = desk();
  for (const _ of [1, 2, 3, 4, 5]) fail('h1');
  const next = bench(actor, { address: 'cell/c1', at: on.now - 36_000_000, entries: on.entries });
  for (let passed = 0; passed < 20_000; passed += 5_000) {
    next.pass(5_000);
    next.tell({ type: 'echo' });
  }
  assert.is(viewOfHost(next.state.hosts.get('h1') as never).state, 'down');
  next.tell({ type: 'alive', host: 'h1', incarnation: 'life-1' });
  assert.is(viewOfHost(next.state.hosts.get('h1') as never).state, 'set-aside');
  const last = bench(actor, { address: 'cell/c1', at: next.now, entries: [...on.entries, ...next.entries] });
  const leftMs = (last.wakes.get('rested h1') ?? 0) - last.steady;
  assert.ok(leftMs > 0 && leftMs <= 3_600_000, `${leftMs}`);
});

test('hosts - one at rest rests no longer by an owner whose clock is behind', () => {
  const { on, fail, actor } = desk();
  for (const _ of [1, 2, 3, 4, 5]) fail('h1');
  const hour = 3_600_000;
  for (const behind of [hour, 2 * hour, 24 * hour]) {
    const next = bench(actor, { address: 'cell/c1', at: on.now - behind, entries: on.entries });
    const isResting = () => viewOfHost(next.state.hosts.get('h1') as never).state === 'set-aside';
    const live = (ms: number) => {
      for (let passed = 0; passed < ms; passed += 1_000) {
        next.pass(1_000);
        next.tell({ type: 'echo' });
        for (const host of ['h1', 'h2', 'h3']) next.tell({ type: 'alive', host, incarnation: 'life-1' });
      }
    };
    live(59_000);
    assert.ok(isResting());
    live(1_000);
    assert.not(isResting(), 'however far its clock is behind');
  }
  const little = bench(actor, { address: 'cell/c1', at: on.now - 5_000, entries: on.entries });
  assert.is(viewOfHost(little.state.hosts.get('h1') as never).state, 'set-aside');
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

test('hosts - that a build has ended is told at once where somebody has asked for that, until the cell starts anew', () => {
  const all = desk(['h1', 'h2']);
  const endOf = (instance: string, host: string): unknown[] => {
    all.start(instance, host);
    all.on.tell({ type: 'accepted', host, instance, attempt: 1 });
    const told = sentOf(all.on.tell({ type: 'built', host, instance, attempt: 1 }), 'hosts-changed');
    return told.flatMap(({ message }) =>
      message.hosts.map(({ host, stats }) => [host, stats?.instances, stats?.builds]),
    );
  };
  all.on.tell({ type: 'list-hosts', ask: 1, limit: 10 });
  assert.equal(endOf('a', 'h1'), []);
  all.on.tell({ type: 'list-hosts', ask: 2, limit: 10, followsBuilds: true });
  all.on.tell({ type: 'list-hosts', ask: 3, limit: 10, followsBuilds: false });
  assert.equal(endOf('b', 'h1'), [['h1', 2, 0]], 'whatever others ask');
  all.start('c', 'h1', ['h2']);
  const failed = sentOf(
    all.on.tell({ type: 'build-failed', host: 'h1', instance: 'c', attempt: 1, reason: 'no' }),
    'hosts-changed',
  );
  assert.equal(failed[0]?.message.hosts[0]?.stats, { instances: 2, builds: 0, ordered: 3 });
  all.on.recover();
  assert.equal(endOf('d', 'h2'), []);
});

/** What the feed tells of a host, with the beats of some seconds. */
function toldOf({ on }: ReturnType<typeof desk>, host: string) {
  const messages = on.pass(1_000).flatMap((turned) => sentOf(turned, 'hosts-changed'));
  return messages.flatMap(({ message }) => message.hosts).filter((one) => one.host === host);
}

test('hosts - how many instances each has and builds is told with the next beat, once, and at once when one has left', () => {
  const all = desk(['h1', 'h2']);
  toldOf(all, 'h1');
  all.start('a', 'h1', ['h2']);
  all.start('b', 'h1');
  all.activate('c', 'h2');
  assert.equal(
    toldOf(all, 'h1').map(({ stats }) => stats),
    [{ instances: 2, builds: 2, ordered: 2 }],
  );
  assert.equal(toldOf(all, 'h1'), [], 'nothing changed');
  all.on.tell({ type: 'accepted', host: 'h1', instance: 'b', attempt: 1 });
  all.on.tell({ type: 'built', host: 'h1', instance: 'b', attempt: 1 });
  assert.equal(
    toldOf(all, 'h1').map(({ stats }) => stats),
    [{ instances: 2, builds: 1, ordered: 2 }],
  );
  // The one that fails goes to the other host when its alternate is claimed.
  all.on.tell({ type: 'build-failed', host: 'h1', instance: 'a', attempt: 1, reason: 'no' });
  all.on.tell({ type: 'claim-granted', consumer: 'a', attempt: 2, allocations: [], usages: [] });
  assert.equal(
    toldOf(all, 'h2').map(({ stats }) => stats),
    [{ instances: 2, builds: 1, ordered: 2 }],
  );
  for (const instance of ['b', 'c']) all.on.tell({ type: 'delete', instance });
  all.on.tell({ type: 'destroyed', host: 'h1', instance: 'b', attempt: 1 });
  const left = sentOf(all.on.tell({ type: 'released', consumer: 'b', deleted: true }), 'hosts-changed');
  assert.equal(
    left.flatMap(({ message }) => message.hosts.map(({ host, stats }) => [host, stats])),
    [['h1', { instances: 0, builds: 0, ordered: 2 }]],
    'whose place is free is told at once',
  );
  const counts = (host: string) => viewOfHost(all.on.state.hosts.get(host) as never).stats;
  assert.equal(
    [counts('h1'), counts('h2')],
    [
      { instances: 0, builds: 0, ordered: 2 },
      { instances: 2, builds: 1, ordered: 2 },
    ],
  );
  assert.equal(replayed(all.actor, all.on.entries), all.on.stored());
  const again = all.actor.restore([all.on.stored()]);
  for (const host of ['h1', 'h2']) {
    const { instances, builds } = counts(host) ?? {};
    const { stats } = viewOfHost(again.hosts.get(host) as never);
    assert.equal([stats?.instances, stats?.builds], [instances, builds], 'restored, they are counted anew');
  }
});

test('hosts - an instance that changes while a snapshot is taken is counted once by who is restored', () => {
  const all = desk(['h1']);
  all.start('a', 'h1');
  all.start('b', 'h1');
  const snapshot = all.actor.snapshot(all.on.state);
  const first = snapshot.next(1);
  // Its row was taken.
  all.on.tell({ type: 'built', host: 'h1', instance: 'a', attempt: 1 });
  const restoredAt = all.actor.restore([first, snapshot.next(Number.POSITIVE_INFINITY)]);
  assert.is(viewOfHost(restoredAt.hosts.get('h1') as never).stats?.instances, 2);
});

test('hosts - what was to go to a host that the cell does not know is counted where it goes instead', () => {
  const all = desk(['h1']);
  const instances = (host: string) => viewOfHost(all.on.state.hosts.get(host) as never).stats?.instances;
  all.start('a', 'h2', ['h1']);
  assert.equal(toldOf(all, 'h2'), [], 'there is nothing to tell of it');
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

test('hosts - where nothing changes the feed tells its number each second, by which a listener knows what it missed', () => {
  const { on } = desk(['h1']);
  on.pass(2_000);
  const beats = on.pass(3_000).flatMap((turned) => sentOf(turned, 'hosts-changed'));
  const { epoch, sequence } = on.state.feed;
  assert.is(beats.length, 3);
  for (const { to, message } of beats) {
    assert.is(to, 'cell/c1/feed');
    assert.equal(message, { type: 'hosts-changed', cell: 'c1', epoch, sequence, hosts: [] });
  }
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
