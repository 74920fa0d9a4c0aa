// Area: the hosts of a cell. What it did not order is left alone, the time of day may be set, and what an operator's word
// that a host is gone brings with it; all of it survives the cell.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { viewOfHost } from '../../actors/cell/hosts.ts';
import { desk } from '../support/cell-hosts.ts';
import { up } from '../support/cells.ts';
import { comesUp } from '../support/new-life.ts';
import { bench, sentOf, told } from '../support/turn.ts';

const test = suite('hosts of a cell');

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
  const [listed] = sentOf(on.tell({ type: 'list-hosts', ask: 1, limit: 9 }), 'hosts');
  const named = ['theirs 1', 'theirs-too 3'];
  assert.equal(
    listed?.message.hosts.map(({ foreign }) => foreign),
    [{ count: 2, named }, undefined],
  );
  assert.is(listed?.message.tellsForeign, true, 'the other has none, which is told');
  assert.is(hostOf('h1').foreign, undefined, 'who is told of each change need not know');
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

test('hosts - all that a cell met on one is told, however much', () => {
  const { on } = desk(['h2']);
  const strangers = Array.from({ length: 40 }, (_, n) => ({ instance: `theirs-${n}`, attempt: 1 }));
  on.tell(up('h1', 'life-1', strangers), 'compute/c1/h1');
  const [listed] = sentOf(on.tell({ type: 'list-hosts', ask: 1, limit: 9, host: 'h1' }), 'hosts');
  assert.is(listed?.message.hosts[0]?.foreign?.named.length, 40);
});

test('hosts - one that is new and empty is in service at once, and what is found on it later is destroyed', () => {
  const { on, hostOf } = desk(['h1']);
  assert.is(hostOf('h1').state, 'up');
  const found = on.tell(up('h1', 'life-1', [{ instance: 'stray', attempt: 1 }]), 'compute/c1/h1');
  assert.equal(sentOf(found, 'destroy').length, 1);
});

test('hosts - what is to be destroyed is asked for each time a host tells of it, and recorded once', () => {
  const { on } = desk(['h1']);
  const tells = (...instances: string[]) => {
    const running = instances.map((instance) => ({ instance, attempt: 1 }));
    const turned = on.tell(up('h1', 'life-1', running), 'compute/c1/h1');
    const recorded = turned.records.flatMap((record) => (record.type === 'stray' ? [record.instance] : []));
    return [sentOf(turned, 'destroy').map(({ message }) => message.instance), recorded];
  };
  assert.equal(tells('s1'), [['s1'], ['s1']]);
  assert.equal(tells('s1', 's2'), [['s1', 's2'], ['s2']]);
  assert.equal(tells('s2'), [['s2'], []]);
  assert.equal(tells(), [[], []]);
  assert.equal(tells('s2'), [['s2'], ['s2']], 'it is back');
});

test('hosts - what failed on one, what it had when it was met and since when it is as it is are stored with it', () => {
  const { on, actor, fail, survives } = desk(['h1', 'h2'], { failuresBeforeAside: 9 });
  const found = { instance: 'found', attempt: 1 };
  on.tell(up('h3', 'life-1', [found]), 'compute/c1/h3');
  fail('h1');
  on.tell({ type: 'set-host', ask: 1, host: 'h2', enabled: false, reason: 'new disk' });
  const hostsOf = ({ tell }: Pick<typeof on, 'tell'>) =>
    sentOf(tell({ type: 'list-hosts', ask: 1, limit: 9 }), 'hosts')[0]?.message.hosts ?? [];
  const [h1, , h3] = hostsOf(on);
  assert.ok((h1?.failures?.weight ?? 0) > 0);
  assert.is(h3?.foreign?.count, 1);
  survives();
  const again = bench({ ...actor, init: () => actor.restore([on.stored()]) }, { at: on.now });
  assert.equal(
    hostsOf(again).map(({ failures, foreign }) => [failures, foreign]),
    hostsOf(on).map(({ failures, foreign }) => [failures, foreign]),
  );
  assert.equal(
    [...again.state.hosts.values()].map(({ since }) => since),
    [...on.state.hosts.values()].map(({ since }) => since),
  );
  const back = again.tell(up('h3', 'life-1', [found]), 'compute/c1/h3');
  assert.equal(sentOf(back, 'destroy'), [], 'what is not of its ordering is not its to destroy');
  assert.match(h3?.reason ?? '', /^an instance runs there that cell 'c1' did not order/);
});

test('hosts - one that is back is asked at once for all that it has still to clear away, whatever it says that it has', () => {
  for (const isNewLife of [true, false]) {
    const { on, activate, silence } = desk(['h1', 'h2']);
    activate('web', 'h1');
    on.tell({ type: 'delete', instance: 'web' });
    silence('h1');
    const back = isNewLife ? comesUp(on, up('h1', 'life-2')) : on.tell(up('h1'), 'compute/c1/h1');
    assert.equal(
      sentOf(back, 'destroy').map(({ to, message }) => [to, message.instance]),
      [['compute/c1/h1', 'web']],
    );
  }
});

// --- what operators say

test('hosts - what an operator said and was held up on its way undoes nothing that was said since', () => {
  const { on, actor, hostOf, stateOf, survives } = desk(['h1']);
  const set = (enabled: boolean, revision?: number) => {
    const turned = on.tell({
      type: 'set-host',
      ask: 1,
      host: 'h1',
      enabled,
      ...(revision === undefined ? {} : { revision }),
    });
    return sentOf(turned, 'declined')[0]?.message.code ?? stateOf('h1');
  };
  const revision = () => hostOf('h1').revision ?? 0;
  assert.is(set(false, 0), 'disabled');
  assert.is(set(true, 1), 'up');
  // The copy of the first that its asker had made again.
  assert.is(set(false, 0), 'outdated');
  assert.is(stateOf('h1'), 'up');
  survives();
  assert.is(revision(), 2);
  const again = bench({ ...actor, init: () => actor.restore([on.stored()]) });
  const late = again.tell({ type: 'set-host', ask: 1, host: 'h1', enabled: false, revision: 0 });
  assert.is(sentOf(late, 'declined')[0]?.message.code, 'outdated', 'by who is restored too');
  // What changes nothing is a word too.
  assert.is(set(true, 2), 'up');
  assert.is(set(false, 2), 'outdated');
  assert.is(stateOf('h1'), 'up');
  // Who says no revision means it in any case.
  assert.is(set(false), 'disabled');
  const fence = on.tell({ type: 'fence-host', ask: 1, host: 'h1', revision: 3 });
  assert.match(
    sentOf(fence, 'declined')[0]?.message.reason ?? '',
    /^host 'h1' of cell 'c1' is at revision 4, not 3: it has been set otherwise$/,
  );
});

// --- the time of day

test('hosts - one that dies after the clock was set back is missed as soon as ever', () => {
  const { on, stateOf } = desk();
  on.setBack(3_600_000);
  // The cell hears itself, and then nobody else.
  on.tell({ type: 'echo' });
  for (let passed = 0; passed < 20_000; passed += 5_000) {
    on.now += 5_000;
    for (const host of ['h2', 'h3']) on.tell({ type: 'alive', host, incarnation: 'life-1' }, `compute/c1/${host}`);
    on.tell({ type: 'echo' });
  }
  assert.equal(['h1', 'h2', 'h3'].map(stateOf), ['down', 'up', 'up']);
});

for (const byMs of [30_000, -3_600_000]) {
  test(`hosts - one that rests while the clock is set by ${-byMs} ms comes back when it has rested`, () => {
    const { on, fail, stateOf } = desk();
    for (let failures = 0; failures < 5; failures += 1) fail('h1');
    assert.is(stateOf('h1'), 'set-aside');
    const restedAt = on.wakes.get('rested h1') ?? 0;
    on.setBack(byMs);
    on.tell({ type: 'wake', id: 'rested h1' });
    assert.is(stateOf('h1'), 'set-aside', 'it is not time yet');
    on.now += restedAt - on.steady;
    on.tell({ type: 'wake', id: 'rested h1' });
    assert.is(stateOf('h1'), 'up');
  });
}

test('hosts - none counts as silent, nor does a build time out, because the clock was set forward', () => {
  const { on, stateOf } = desk();
  on.setBack(-3_600_000);
  on.tell({ type: 'echo' });
  on.tell({ type: 'echo' });
  assert.equal(['h1', 'h2', 'h3'].map(stateOf), ['up', 'up', 'up']);
});

// --- fencing

test('hosts - one that is fenced once more is told of without what it had to clear up the first time', () => {
  const { on, silence, fence, hostOf, stateOf } = desk();
  silence('h1');
  fence('h1');
  comesUp(on, up('h1', 'life-2', [{ instance: 'left', attempt: 1 }]));
  assert.match(hostOf('h1').reason ?? '', / has left attempt 1: it comes back when they are destroyed$/);
  const told = (attempt: number) => {
    const word = comesUp(on, up('h1', 'life-2', [{ instance: 'left', attempt }]));
    return sentOf(word, 'hosts-changed').map(({ message }) => message.hosts[0]?.reason?.match(/left attempt \d/)?.[0]);
  };
  assert.equal([told(1), told(2), told(2)], [[], ['left attempt 2'], []], 'who listens is told of what is new');
  comesUp(on, up('h1', 'life-2'));
  assert.is(stateOf('h1'), 'up');
  silence('h1');
  fence('h1');
  assert.match(hostOf('h1').reason ?? '', /; it comes back when its compute is started anew$/);
});

test('hosts - what a compute answered before its host was fenced, and comes late, does not put it back into service', () => {
  const { on, silence, fence, stateOf } = desk();
  silence('h1');
  const asked = () => sentOf(on.tell(up('h1', 'life-2'), 'compute/c1/h1'), 'who-are-you')[0]?.message.challenge ?? 0;
  const answer = { ...up('h1', 'life-2'), challenge: asked() };
  fence('h1');
  const late = on.tell(answer, 'compute/c1/h1');
  assert.equal([late.records, stateOf('h1')], [[], 'fenced'], 'it may be gone by now');
  const [again] = sentOf(late, 'who-are-you');
  on.tell({ ...answer, challenge: again?.message.challenge ?? 0 }, 'compute/c1/h1');
  assert.is(stateOf('h1'), 'up');
});

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

test('hosts - of one that the cell does not have, the host is named that it is like, if it is like one', () => {
  const { on } = desk(['compute-07', 'compute-08', 'gpu']);
  const reasonFor = (host: string) =>
    sentOf(on.tell({ type: 'set-host', ask: 1, host, enabled: false }), 'declined')[0]?.message.reason;
  assert.is(reasonFor('copmute-08'), "cell 'c1' has no host 'copmute-08' (c1/compute-08 is known)");
  assert.is(reasonFor('compute-8'), "cell 'c1' has no host 'compute-8' (c1/compute-08 is known)");
  assert.is(reasonFor('compute-09'), "cell 'c1' has no host 'compute-09'", 'it is one of a series');
  const short = desk(['g7', 'abc']).on;
  for (const host of ['h7', 'x']) {
    const [declined] = sentOf(short.tell({ type: 'set-host', ask: 1, host, enabled: false }), 'declined');
    assert.is(
      declined?.message.reason,
      `cell 'c1' has no host '${host}'`,
      'the letters of the cell are not those of a host',
    );
  }
});

test('hosts - an explanation tells of hosts that are not up, since when, and of what is left of an instance where', () => {
  const { on, start, activate, silence, fence, survives } = desk(['h1', 'h2']);
  const explained = (instance: string) => {
    const [told] = sentOf(on.tell({ type: 'explain', ask: 1, instance }), 'explained');
    const { left, hostsNotUp } = told?.message.view ?? {};
    return { left, hostsNotUp };
  };
  activate('web', 'h1');
  assert.equal(explained('web'), { left: undefined, hostsNotUp: undefined });
  on.tell({ type: 'set-host', ask: 1, host: 'h1', enabled: false, reason: 'new disk' });
  assert.equal(explained('web').hostsNotUp, [{ host: 'h1', state: 'disabled', reason: 'new disk', since: on.now }]);
  on.tell({ type: 'set-host', ask: 1, host: 'h1', enabled: true });

  start('moved', 'h1', ['h2']);
  const heardAt = on.now;
  silence('h1');
  const [notUp] = explained('web').hostsNotUp ?? [];
  const downSince = notUp?.since ?? 0;
  assert.ok(downSince >= heardAt + 15_000 && downSince <= on.now, `${downSince}`);
  const down = [{ host: 'h1', state: 'down', since: downSince, heardAt }];
  assert.equal(explained('web'), { left: undefined, hostsNotUp: down });
  on.setBack(3_600_000);
  assert.is(explained('web').hostsNotUp?.[0]?.heardAt, heardAt - 3_600_000, 'by the time of day as it is');
  on.setBack(-3_600_000);
  const { left, hostsNotUp } = explained('moved');
  assert.equal(hostsNotUp, down, 'also of one where something of it may run');
  const since = left?.[0]?.since ?? 0;
  assert.ok(since > heardAt && since <= on.now);
  assert.equal(left, [{ attempt: 1, host: 'h1', state: 'destroying', since }]);
  const deletedAt = on.now;
  on.tell({ type: 'delete', instance: 'web' });
  assert.equal(explained('web').left, [{ attempt: 1, host: 'h1', state: 'destroying', since: deletedAt }]);

  on.tell({ type: 'set-host', ask: 1, host: 'h1', enabled: false, reason: 'new disk' });
  assert.is(explained('web').hostsNotUp?.[0]?.since, downSince, 'it is down all the time');
  on.now += 1_000;
  fence('h1');
  assert.equal(explained('web').left, [{ attempt: 1, host: 'h1', state: 'releasing', since: deletedAt }]);
  const fenced = explained('web').hostsNotUp?.[0];
  assert.equal([fenced?.state, fenced?.since], ['fenced', on.now]);
  survives();
});

test('hosts - of one that said nothing since the cell came up, it is not told when it was heard last', () => {
  const { on, activate, silence, stateOf } = desk(['h1', 'h2']);
  activate('web', 'h1');
  silence('h1');
  on.recover();
  assert.is(stateOf('h1'), 'down');
  const [told] = sentOf(on.tell({ type: 'explain', ask: 1, instance: 'web' }), 'explained');
  const since = told?.message.view?.hostsNotUp?.[0]?.since ?? 0;
  assert.equal(told?.message.view?.hostsNotUp, [{ host: 'h1', state: 'down', since }]);
  assert.ok(since > 0 && since < on.now, 'since when it counts as down is on record');
});

test('hosts - what an operator sets of one that is down or fenced takes when it comes back, and the answer says so', () => {
  const { on, silence, fence, stateOf } = desk();
  const set = (more: { enabled: boolean; reason?: string }) => {
    const { sent } = on.tell({ type: 'set-host', ask: 1, host: 'h1', ...more });
    const { state, disabled } = sentOf({ sent }, 'host-set')[0]?.message ?? {};
    return [state, disabled];
  };
  const disable = { enabled: false, reason: 'a new disk' };
  assert.equal(set(disable), ['disabled', undefined], 'it is told by the state');
  silence('h1');
  assert.equal(
    [set({ enabled: true }), set(disable)],
    [
      ['down', undefined],
      ['down', 'a new disk'],
    ],
  );
  assert.is(sentOf(fence('h1'), 'host-set')[0]?.message.disabled, 'a new disk');
  assert.equal(set({ enabled: true }), ['fenced', undefined]);
  assert.is(stateOf('h1'), 'fenced');
});

test('hosts - fenced: what waited for its word goes on as if it had confirmed', () => {
  const { on, start, silence, fence, stateOf, view, survives } = desk();
  start('lost-build', 'h1', ['h2']);
  on.tell({ type: 'accepted', host: 'h1', instance: 'lost-build', attempt: 1 });
  silence('h1');
  const lost = () => view('lost-build')?.attempts?.[0];
  assert.equal([lost()?.outcome, lost()?.mayRun], ['host-lost', true]);
  const fenced = fence('h1');
  assert.is(lost()?.mayRun, false);
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
  assert.is(view('i1')?.lostAt, on.now);
  assert.is(view('i2')?.state, 'active');
  survives();
  assert.ok(on.pass(10_000).flatMap((turned) => sentOf(turned, 'ended')).length >= 2);
  on.tell({ type: 'lost-noted', instance: 'i1' }, 'conductor/0');
  assert.equal(
    on.pass(30_000).flatMap((turned) => sentOf(turned, 'ended')),
    [],
  );
  const asked = on.tell({ type: 'ask-ends', instances: ['i1'] }, 'conductor/0');
  const toldAgain = sentOf(asked, 'ended').map(({ message }) => message.state);
  assert.equal(toldAgain, ['lost'], 'what was told before the conductor knew that it was here');
  assert.is(view('i1')?.failure?.message, "host 'h1' was fenced while the instance was active there");
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
    const said = told(on.tell({ type: 'released', consumer, deleted: true }));
    // The other was lost with its host.
    const leaves = consumer === 'before' ? ['hosts-changed to cell/c1/feed'] : [];
    assert.equal(said, ['removed to conductor/0', ...leaves]);
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

test('hosts - of one that is down or fenced it is told that it is disabled when it comes back', () => {
  const { on, silence, fence } = desk();
  const seen = () => {
    const { state, reason, disabled } = viewOfHost(on.state.hosts.get('h1') as never);
    return [state, reason, disabled];
  };
  on.tell({ type: 'set-host', ask: 1, host: 'h1', enabled: false, reason: 'new disk' }, 'gateway/g');
  assert.equal(seen(), ['disabled', 'new disk', undefined]);
  silence('h1');
  assert.equal(seen(), ['down', 'new disk', true]);
  fence('h1');
  const stated = 'an operator has stated that nothing runs there; it comes back when its compute is started anew';
  assert.equal(seen(), ['fenced', `${stated}, and is then disabled: new disk`, true]);
});

test('hosts - a fenced host that comes back in a new life is in service when it has destroyed what it had', () => {
  const { on, activate, silence, fence, hostOf, view, survives } = desk();
  const names = ['i1', 'i2', 'i3', 'i4'];
  for (const name of names) activate(name, 'h1');
  silence('h1');
  fence('h1');
  const left = (some: readonly string[]) => some.map((instance) => ({ instance, attempt: 1 }));
  for (const [round, some] of [names, names, ['i4']].entries()) {
    const back = comesUp(on, up('h1', 'life-2', left(some)));
    assert.is(sentOf(back, 'destroy').length, some.length, 'it is told again as often as it presents itself');
    assert.not.ok(told(back).includes('welcome to compute/c1/h1'));
    assert.is(hostOf('h1').state, 'fenced');
    const named = some.length === 1 ? 'i4 attempt 1' : 'i1 attempt 1, i2 attempt 1, i3 attempt 1 and 1 more';
    assert.ok(
      hostOf('h1').reason?.includes(`has ${named}: it comes back when they are destroyed`),
      hostOf('h1').reason,
    );
    const [changed] = sentOf(back, 'hosts-changed').flatMap(({ message }) => message.hosts);
    // What is as before is neither recorded again nor told.
    assert.equal(
      [back.records.length, changed?.reason],
      round === 1 ? [0, undefined] : [[4, 0, 0][round], hostOf('h1').reason],
    );
    survives();
  }
  const back = comesUp(on, up('h1', 'life-2', []));
  assert.ok(told(back).includes('welcome to compute/c1/h1'));
  assert.equal([hostOf('h1').state, hostOf('h1').reason, view('i1')?.state], ['up', undefined, 'lost']);
  survives();
});

test('hosts - a fenced host whose known life said something late can be removed all the same', () => {
  const { on, activate, silence, fence } = desk();
  activate('i1', 'h1');
  silence('h1');
  fence('h1');
  on.tell({ type: 'delete', instance: 'i1' }, 'conductor/0');
  on.tell({ type: 'released', consumer: 'i1', deleted: true } as never);
  on.tell(up('h1', 'life-1', [{ instance: 'i1', attempt: 1 }]), 'compute/c1/h1');
  fence('h1');
  assert.ok(told(on.tell({ type: 'remove-host', ask: 2, host: 'h1' })).includes('withdraw-tree to placement/0'));
});

test('hosts - of many that go silent at once some are given up in a turn, and soon all', () => {
  const hosts = Array.from({ length: 250 }, (_, n) => `h${n}`);
  const { on, start, stateOf, view, survives } = desk(hosts);
  for (const [n, host] of hosts.entries()) start(`i${n}`, host, ['h0']);
  const turns = on.pass(20_100);
  const lost = turns.map(({ records }) => records.filter(({ type }) => type === 'host-event').length);
  assert.ok(Math.max(...lost) <= 50, `${Math.max(...lost)} in a turn`);
  assert.ok(hosts.every((host) => stateOf(host) === 'down'));
  assert.ok(hosts.every((_, n) => view(`i${n}`)?.attempts?.[0]?.outcome === 'host-lost'));
  survives();
});

test.run();
