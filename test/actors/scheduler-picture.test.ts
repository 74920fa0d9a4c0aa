// Area: scheduler, its picture. It follows the feeds of placement and cells, asks for the whole where something was missed,
// and is told right again whatever was lost, late or overtaken.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { effort } from '../../actors/fitting/effort.ts';
import type { RequestSpec } from '../../actors/messages/common.ts';
import type { PlacementMessage, ProvidersChanged, ProvidersPage } from '../../actors/messages/placement.ts';
import type { HostState, SchedulerMessage } from '../../actors/messages/scheduler.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { buildLimit, instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { requestKey } from '../../actors/scheduler/request.ts';
import { scheduler } from '../../actors/scheduler/scheduler.ts';
import { endPromise, promise } from '../../actors/scheduler/view/promises.ts';
import { noteCell, noteShard } from '../../actors/scheduler/view/silence.ts';
import { emptyView, learnChanges } from '../../actors/scheduler/view/view.ts';
import {
  forgetHost,
  learnHost,
  lookAgainAfter,
  passTime,
  promiseBuild,
} from '../../actors/scheduler/view/view-hosts.ts';
import { seededRandom } from '../../runtime/random.ts';
import { viewOf } from '../support/facts.ts';
import { choose, hostsIn, rig, SCHEDULER, selectOf, takeUnheard, treeOf } from '../support/scheduler-desk.ts';
import { bench, type Sent, sentOf, type Turned } from '../support/turn.ts';

const test = suite('scheduler, its picture');

/** A word of placement's feed. */
function change(epoch: number, sequence: number, changed: ProvidersChanged['changed'] = []): ProvidersChanged {
  return { type: 'providers-changed', shard: 0, epoch, sequence, changed, used: [], removed: [] };
}

/** What placement tells in its feed. */
function changesIn(...turned: Turned<unknown>[]): SchedulerMessage[] {
  return turned.flatMap(({ sent }) => sentOf({ sent }, 'providers-changed').map(({ message }) => message as never));
}

test('scheduler - a number missed in a feed, or a new life of its teller, makes it ask for the whole', () => {
  const all = rig(hostsIn('c1', 'h1'));
  const { epoch, sequence } = all.on.state.followers.get('placement 0') ?? { epoch: 0, sequence: 0 };
  assert.equal(all.hear(change(epoch, sequence)).sent, [], 'the last number again');
  const [told] = sentOf(all.shard.tell({ type: 'list-providers', ask: 1, limit: 1 }), 'providers');
  const changed = told?.message.providers as ProvidersChanged['changed'];
  assert.equal(all.hear(change(epoch, sequence + 1, changed)).sent, [], 'the next number');
  assert.is(sentOf(all.hear(change(epoch, sequence + 3)), 'list-providers').length, 1);
  all.deliver();
  assert.is(sentOf(all.hear(change(epoch + 1, 0)), 'list-providers').length, 1);
  all.deliver();
  const known = all.on.state.followers.get('placement 0')?.sequence ?? 0;
  assert.is(sentOf(all.hear(change(epoch + 2, known)), 'list-providers').length, 1, 'in another life the last number');
  all.deliver();
  assert.is(sentOf(all.hear(change(epoch + 3, known + 1, changed)), 'list-providers').length, 1, 'or the next one');
});

test('scheduler - numbers missed while it asks for the whole do not make it begin anew, but ask once more after the last page', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2'));
  const follower = all.on.state.followers.get('placement 0');
  const { epoch, sequence } = follower ?? { epoch: 0, sequence: 0 };
  const asked = (turned: Turned<unknown>) => sentOf(turned, 'list-providers').map(({ message }) => message.after ?? '');
  const answer = (number: number, next: string | null) =>
    all.hear({ type: 'providers', shard: 0, ask: follower?.ask ?? 0, epoch, sequence: number, providers: [], next });
  assert.equal(asked(all.hear(change(epoch, sequence + 3))), ['']);
  assert.equal(asked(answer(sequence + 3, 'p-h1')), ['p-h1']);
  assert.equal(asked(all.hear(change(epoch, sequence + 6))), []);
  assert.equal(asked(answer(sequence + 6, null)), [''], 'what was missed may stand on the pages before');
  assert.equal(asked(answer(sequence + 6, null)), []);
  assert.is(follower?.ask, null);
  assert.equal(asked(all.hear(change(epoch, sequence + 9))), ['']);
  assert.equal(asked(all.hear(change(epoch + 1, 0))), [''], 'in another life of the teller the pages are others');
});

test('scheduler - of what comes and goes while it asks for no whole it keeps nothing', () => {
  const all = rig(hostsIn('c1', 'h1'));
  const follower = all.on.state.followers.get('placement 0');
  assert.ok(follower?.ask === null);
  const { epoch, sequence } = follower;
  const [told] = sentOf(all.shard.tell({ type: 'list-providers', ask: 1, limit: 1 }), 'providers');
  const [one] = (told?.message.providers ?? []) as ProvidersChanged['changed'];
  for (let id = 0; id < 20; id += 1) {
    const root = `come-and-gone-${id}`;
    all.hear(change(epoch, sequence + 2 * id + 1, [{ ...one, id: root, root } as never]));
    all.hear({ ...change(epoch, sequence + 2 * id + 2), removed: [root] });
  }
  assert.equal([follower.listed.size, follower.goneAt.size, follower.ask], [0, 0, null]);
});

test('scheduler - the use of a provider that is gone, told in an answer that its going has overtaken, is not kept', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2'));
  const { view, followers } = all.on.state;
  const { epoch, sequence } = followers.get('placement 0') ?? { epoch: 0, sequence: 0 };
  all.hear({ ...change(epoch, sequence + 1), removed: ['p-h2'] });
  const refusal = { code: 'exceeds-capacity' as const, message: 'full' };
  const usages = [{ id: 'p-h2', generation: 99, used: { VCPU: 8 } }];
  all.hear({ type: 'claim-refused', consumer: 'late', attempt: 1, refusal, usages } as SchedulerMessage, 'placement/0');
  all.hear(change(epoch, sequence + 1));
  assert.equal([...view.toldEarly], []);
});

test('scheduler - a beat with a new number means that the last change was lost, and it asks for the whole', () => {
  const all = rig(hostsIn('c1', 'h1'));
  const { epoch, sequence } = all.on.state.followers.get('placement 0') ?? { epoch: 0, sequence: 0 };
  assert.is(sentOf(all.hear(change(epoch, sequence + 1)), 'list-providers').length, 1);
  const beat = (number: number) =>
    all.hear({ type: 'hosts-changed', cell: 'c1', epoch: 1, sequence: number, hosts: [] });
  assert.equal(beat(1).sent, [], 'the last number again');
  assert.is(sentOf(beat(2), 'list-hosts').length, 1);
});

test('scheduler - hosts that a cell tells to be gone are considered no more, nor those that it missed of', () => {
  const all = rig([...hostsIn('c1', 'h1', 'h2', 'h3'), { cell: 'c2', host: 'h9' }]);
  const { view } = all.on.state;
  const known = () => [...view.hosts.keys()];
  const tell = (sequence: number, gone: string[]) =>
    all.hear({ type: 'hosts-changed', cell: 'c1', epoch: 1, sequence, hosts: [], gone });
  let requests = 0;
  const others = () => {
    requests += 1;
    const { selected } = choose(all, selectOf(`web-${requests}`, { alternates: 9, where: { cells: ['c1'] } }));
    return selected?.selections[0]?.alternates.length;
  };
  assert.is(others(), 2);
  assert.equal(tell(4, ['p-h2', 'p-h9']).sent, [], 'the next number');
  assert.equal(known(), ['p-h1', 'p-h3', 'p-h9'], 'of hosts of other cells it says nothing');
  assert.is(others(), 1);
  const asked = sentOf(tell(6, []), 'list-hosts')[0]?.message.ask ?? 0;
  const hosts = [{ host: 'h1', provider: 'p-h1', state: 'up' as const }];
  all.hear({ type: 'hosts', ask: asked, cell: 'c1', epoch: 1, sequence: 6, hosts, next: null });
  assert.equal(known(), ['p-h1', 'p-h9']);
});

test('scheduler - hosts are read page by page, and none is forgotten that stands on one of them or is told in between', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2', 'h3'));
  const told = (host: string) => ({ host, provider: `p-${host}`, state: 'up' as const });
  const tell = (epoch: number, sequence: number, ...hosts: string[]) => {
    const message = { type: 'hosts-changed' as const, cell: 'c1', epoch, sequence, hosts: hosts.map(told) };
    return sentOf(all.hear(message), 'list-hosts')[0]?.message.ask ?? 0;
  };
  const answer = (ask: number, epoch: number, sequence: number, host: string, next: string | null) => {
    const page = { type: 'hosts' as const, cell: 'c1', ask, epoch, sequence, hosts: [told(host)], next };
    return sentOf(all.hear(page), 'list-hosts')[0]?.message.ask ?? 0;
  };
  const known = () => [...all.on.state.view.hosts.keys()].sort();
  const second = answer(tell(1, 9), 1, 9, 'h1', 'h1');
  tell(1, 10, 'a1');
  answer(second, 1, 10, 'h2', null);
  assert.equal(known(), ['p-a1', 'p-h1', 'p-h2'], 'the one that is on no page is gone');
  const third = answer(tell(1, 19), 1, 19, 'a1', 'a1');
  const again = tell(2, 1);
  answer(third, 2, 1, 'h1', null);
  assert.equal(known(), ['p-a1', 'p-h1', 'p-h2'], 'a cell that begins anew is asked from the first page on');
  answer(answer(again, 2, 1, 'h1', 'h1'), 2, 1, 'h2', null);
  assert.equal(known(), ['p-h1', 'p-h2']);
});

test('scheduler - a page that takes longer than it is waited for is asked for again by its number, and read', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2'));
  const told = (host: string) => ({ host, provider: `p-${host}`, state: 'up' as const });
  const asksOf = (turned: Turned<unknown>[]) =>
    turned.flatMap((one) => sentOf(one, 'list-hosts').map(({ message }) => message));
  const page = { type: 'hosts' as const, cell: 'c1', epoch: 1, sequence: 9 };
  const [first] = asksOf([all.hear({ type: 'hosts-changed', cell: 'c1', epoch: 1, sequence: 9, hosts: [told('h1')] })]);
  assert.is(asksOf(all.on.pass(1_100)).length, 1);
  const [second] = asksOf([all.hear({ ...page, ask: first?.ask ?? 0, hosts: [told('h1')], next: 'h1' })]);
  assert.is(second?.after, 'h1');
  const again = asksOf(all.on.pass(7_500));
  assert.is(again.length, 3, 'after 1, 2 and 4 s');
  for (const one of again) assert.equal(one, second);
  all.hear({ ...page, ask: second?.ask ?? 0, hosts: [told('h2')], next: null });
  assert.is(all.on.state.followers.get('cell c1')?.ask, null);
  assert.equal([...all.on.state.view.hosts.keys()].sort(), ['p-h1', 'p-h2']);
});

test('scheduler - a question about a host that leaves its cell meanwhile is answered that there is none', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2'));
  const spec = { groups: [{ name: '', resources: { VCPU: 2 } }], groupPolicy: 'none', tree: { notHeldBy: ['other'] } };
  all.hear({ type: 'why-not', ask: 7, spec, host: 'h1' } as never, 'gateway/g');
  all.hear({ type: 'hosts-changed', cell: 'c1', epoch: 1, sequence: 2, hosts: [], gone: ['p-h1'] }, 'cell/c1');
  const [declined] = all.deliver().filter(({ message }) => message.type === 'declined');
  assert.match(JSON.stringify(declined), /no host 'h1' is known/);
});

test('scheduler - what was expected to be built on a host that is gone is forgotten with it', () => {
  const view = Object.assign(emptyView(), { statsMatter: true });
  const allocations = [{ provider: 'p-h1', group: '', resources: { VCPU: 1 } }];
  learnHost(view, 'c1', { host: 'h1', provider: 'p-h1', state: 'up' } as never);
  promiseBuild(view, 'web', 'p-h1', allocations);
  assert.equal([...view.expected.roots()], ['p-h1']);
  forgetHost(view, 'c1', 'p-h1');
  assert.equal([...view.expected.roots()], []);
});

test('scheduler - whatever a cell says otherwise of a host is learned, and the same again changes nothing', () => {
  const view = emptyView();
  const stats = { instances: 1, builds: 1, ordered: 1 };
  const first: HostState = { host: 'h1', provider: 'p-h1', state: 'up', stats };
  const others: Partial<HostState>[] = [
    { state: 'down' },
    { host: 'h2' },
    { reason: 'new disk' },
    { withCell: true },
    { until: 9_000 },
    { asideUntil: 9_000 },
    { failures: { weight: 1, at: 1 } },
    { failures: { weight: 2, at: 1 } },
    { failures: { weight: 2, at: 2 } },
    { stats: { ...stats, instances: 2 } },
    { stats: { ...stats, builds: 2 } },
    { stats: { ...stats, ordered: 2 } },
    { stats: { ...stats, metrics: { load: 1 } } },
  ];
  learnHost(view, 'c1', first);
  for (const other of others) {
    const { provider: root, ...told } = { ...first, ...other };
    learnHost(view, 'c1', { ...told, provider: root });
    const { host, state, reason, withCell, until, asideUntil, failures, stats } = view.hosts.get(root) ?? {};
    const known = { host, state, reason, withCell, until, asideUntil, failures, stats };
    const nothing = { reason: undefined, withCell: undefined, until: undefined, asideUntil: undefined };
    assert.equal(known, { ...nothing, failures: undefined, ...told });
    const { revision } = view;
    learnHost(view, 'c1', { ...told, provider: root });
    assert.is(view.revision, revision);
  }
  learnHost(view, 'c2', first);
  assert.equal([...view.hostsIn], [['c2', 1]]);
});

test('scheduler - hosts that wait for a time are looked at when it has come, and at once where the time of day is put right', () => {
  const view = emptyView();
  const hour = 3_600_000;
  const dueAfter = (ms: number, setBy: number): string[] => {
    const { length } = view.changes;
    passTime(view, { now: view.now + ms + setBy, steady: view.steady + ms });
    return view.changes.slice(length);
  };
  dueAfter(500, 0);
  lookAgainAfter(view, 'p-h1', hour);
  lookAgainAfter(view, 'p-h2', 2 * hour);
  lookAgainAfter(view, 'p-h2', 3 * hour);
  assert.equal(dueAfter(hour - 1, 0), []);
  assert.equal(dueAfter(1_001, 0), ['p-h1'], 'all of a second together');
  assert.equal(dueAfter(1, 900), [], 'clocks are put right by little all the time');
  assert.equal(dueAfter(1, 200), ['p-h2']);
  lookAgainAfter(view, 'p-h1', hour);
  assert.equal(dueAfter(1, -2_000), ['p-h1'], 'or set back');
  assert.equal(dueAfter(3 * hour, 0), [], 'each once');
});

test('scheduler - where a claim comes to nothing, those who wait are told that there is room', () => {
  const view = viewOf({ host: 'h1', has: { VCPU: 8 } });
  view.freed = new Set();
  const taken = [{ provider: 'p-h1', group: '', resources: { VCPU: 2 } }];
  const used = () => view.providers.get('p-h1')?.stocks.get('VCPU')?.used;
  promise(view, 'p-h1', taken, 1);
  assert.equal([used(), [...view.freed]], [2, []]);
  endPromise(view, 'p-h1', taken, [{ id: 'p-h1', generation: 1, used: { VCPU: 2 }, tenants: 1 }], 0);
  assert.equal([used(), [...view.freed]], [2, []], 'as much is used as was promised');
  promise(view, 'p-h1', taken, 1);
  endPromise(view, 'p-h1', taken, [], 0);
  assert.equal([used(), [...view.freed]], [2, ['p-h1']]);
  view.freed.clear();
  promise(view, 'p-h1', taken, 1);
  promise(view, 'p-h1', taken, -1);
  assert.equal([used(), [...view.freed]], [2, ['p-h1']], 'none is asked for');
});

test('scheduler - who falls silent, or is heard again, is news once', () => {
  for (const shards of [1, 2]) {
    const view = emptyView(shards);
    const notes = [
      (isSilent: boolean) => noteShard(view, shards - 1, isSilent),
      (isSilent: boolean) => noteCell(view, 'c1', isSilent),
    ];
    for (const note of notes) {
      const revisions = [true, true, false, false].map((isSilent) => {
        note(isSilent);
        return view.revision;
      });
      const from = revisions[0] as number;
      assert.equal(revisions, [from, from, from + 1, from + 1]);
    }
    assert.equal([view.revision, view.silencesNoted], [4, 2]);
  }
});

test('scheduler - it asks cells to tell at once of builds that end where a filter goes by what a host builds', () => {
  const refusal = () => null;
  const asks = (...filters: Filter[]) => {
    const on = bench(scheduler({ name: 's', filters }));
    const heard = on.tell({ type: 'hosts-changed', cell: 'c1', epoch: 1, sequence: 1, hosts: [] });
    return sentOf(heard, 'list-hosts').map(({ message }) => message.followsBuilds);
  };
  assert.equal([asks(), asks(instanceLimit(1))], [[false], [false]]);
  assert.equal([asks(buildLimit(1)), asks({ name: 'own', refusal })], [[true], [true]]);
  assert.equal(asks({ name: 'own', refusal, mostInstances: () => 1 }), [true]);
  assert.equal(asks({ name: 'own', refusal, ignoresStats: true }), [false]);
});

test('scheduler - the selections of a large request are told in several messages, each in its bounds', () => {
  const plan = hostsIn('c1', ...Array.from({ length: 30 }, (_, position) => `h${position}`));
  const all = rig([{ cell: 'c1', host: 'large', vcpu: 10_000 }, ...plan]);
  const instances = Array.from({ length: 200 }, (_, position) => `web-${position}`);
  all.hear(selectOf('web', { instances, alternates: 20 }), 'conductor/0');
  const inTurns = [all.deliver(), ...all.on.pass(0).map(({ sent }) => sent)].map((sent) =>
    sent.filter(({ message }) => message.type === 'selected'),
  );
  assert.ok(inTurns.length > 1 && inTurns.every(({ length }) => length <= 4), 'and others are served in between');
  const answers = inTurns.flat();
  const told = answers.map(({ message }) => (message as Extract<typeof message, { type: 'selected' }>).selections);
  assert.ok(told.length > 1);
  assert.ok(told.every((some) => some.reduce((sum, { alternates }) => sum + 1 + alternates.length, 0) <= 1_000));
  assert.equal(
    told.flat().map(({ instance }) => instance),
    instances,
  );
});

test('scheduler - what is left to tell of a large request is told no more once another round of it is asked for', () => {
  const plan = hostsIn('c1', ...Array.from({ length: 30 }, (_, position) => `h${position}`));
  const all = rig([{ cell: 'c1', host: 'large', vcpu: 10_000 }, ...plan]);
  const instances = Array.from({ length: 200 }, (_, position) => `web-${position}`);
  all.hear(selectOf('web', { instances, alternates: 20 }), 'conductor/0');
  const roundsIn = (sent: readonly Sent[]) => sentOf({ sent }, 'selected').map(({ message }) => message.round);
  assert.equal([...new Set(roundsIn(all.deliver()))], [1]);
  const again = all.hear({ ...selectOf('web', { instances: ['web-199'] }), round: 2 }, 'conductor/0');
  const later = [again, ...all.on.pass(0)].flatMap(({ sent }) => roundsIn(sent));
  assert.ok(!later.includes(1), later.join());
});

test('scheduler - instances that take long to find a host for are begun in several turns, and others served in between', () => {
  const all = rig(Array.from({ length: 4 }, (_, n) => ({ cell: 'c1', host: `h${n}`, devices: 32 })));
  const groups = Array.from({ length: 31 }, (_, n) => ({ name: `g${n}`, resources: { PGPU: 1 } }));
  const spec: RequestSpec = { groups, groupPolicy: 'isolate' };
  const instances = Array.from({ length: 300 }, (_, n) => `large-${n}`);
  const claims = ({ sent }: { readonly sent: readonly Sent[] }) =>
    sent.flatMap(({ message }) => (message.type === 'claim' ? [message.consumer] : []));
  const first = all.hear({ ...selectOf('large', { instances }), spec }, 'conductor/0');
  assert.ok(claims(first).length < 100);
  assert.ok(sentOf(first, 'selecting').length > 0, 'whoever asked does not ask again');
  assert.equal(claims(all.hear(selectOf('small'), 'conductor/0')), ['small']);
  const later: string[][] = [];
  for (let looks = effort.looks; all.on.state.open.get(requestKey('conductor/0', 'large'))?.machines.size !== 300; ) {
    const turns = all.on.pass(0);
    for (const turned of turns) later.push(claims(turned));
    assert.ok(turns.length > 0 && effort.looks - looks < 300 * 2_000);
  }
  assert.ok(later.every(({ length }) => length < 100));
  assert.equal([...claims(first), ...later.flat()], instances);
});

test('scheduler - asking for the whole mends the picture, also of what is gone', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2'));
  takeUnheard(all, 'h1', 8);
  all.put({ cell: 'c1', host: 'h3' });
  const { epoch } = all.on.state.followers.get('placement 0') ?? { epoch: 0 };
  all.hear(change(epoch, 99));
  all.deliver();
  const { providers } = all.on.state.view;
  assert.equal([...providers.keys()].sort(), ['p-h1', 'p-h2', 'p-h3']);
  assert.is(providers.get('p-h1')?.stocks.get('VCPU')?.used, 8);
});

test('scheduler - an answer of the former life of a provider that went and came back is no news, before or after', () => {
  for (const isBack of [false, true]) {
    const all = rig(hostsIn('c1', 'h1'));
    all.hear(selectOf('web', { vcpu: 8 }), 'conductor/0');
    const claim = all.said().find(({ message }) => message.type === 'claim')?.message as PlacementMessage;
    const granted = all.shard.tell(claim, SCHEDULER);
    const [answer] = sentOf(granted, 'claim-granted');
    const released = all.shard.tell({ type: 'release', consumer: 'web', deleted: true });
    const withdrawn = all.shard.tell({ type: 'withdraw-tree', ask: 1, root: 'p-h1' });
    for (const message of changesIn(granted, released, withdrawn)) all.hear(message, 'placement/0');
    const { providers } = all.on.state.view;
    assert.is(providers.has('p-h1'), false);
    if (!isBack) all.hear(answer?.message as SchedulerMessage, 'placement/0');
    all.put({ cell: 'c1', host: 'h1' });
    for (const message of all.fed()) all.hear(message, 'placement/0');
    if (isBack) all.hear(answer?.message as SchedulerMessage, 'placement/0');
    assert.is(providers.get('p-h1')?.stocks.get('VCPU')?.used, 0);
  }
});

test('scheduler - the whole is read page by page, and what comes between two pages is not forgotten', () => {
  const all = rig(hostsIn('c1', 'm1', 'm2'));
  const epoch = all.on.state.followers.get('placement 0')?.epoch ?? 0;
  const [asked] = sentOf(all.hear(change(epoch, 50)), 'list-providers');
  const whole = sentOf(all.shard.tell(asked?.message as PlacementMessage, SCHEDULER), 'providers')[0]
    ?.message as ProvidersPage;
  const [first, second] = whole.providers.map((provider) => [provider]) as [
    ProvidersPage['providers'],
    ProvidersPage['providers'],
  ];
  const [next] = sentOf(all.hear({ ...whole, providers: first, next: 'p-m1' }), 'list-providers');
  assert.is(next?.message.after, 'p-m1');
  // A host that stands before the page that is still to come.
  all.put({ cell: 'c1', host: 'a1' });
  const [told] = sentOf(all.shard.tell({ type: 'list-providers', ask: 1, limit: 1 }), 'providers');
  const changed = told?.message.providers as ProvidersChanged['changed'];
  all.hear(change(epoch, 51, changed));
  all.hear({ ...whole, ask: next?.message.ask ?? 0, providers: second, next: null });
  assert.equal([...all.on.state.view.providers.keys()].sort(), ['p-a1', 'p-m1', 'p-m2']);
});

test('scheduler - a provider that is given another root leaves the tree that it was in', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2'));
  const known = sentOf(all.shard.tell({ type: 'list-providers', ask: 1, limit: 10 }), 'providers')[0]?.message;
  const moved = known?.providers.find(({ id }) => id === 'p-h2');
  assert.ok(moved);
  const child = { ...moved, parent: 'p-h1', root: 'p-h1', generation: moved.generation + 1 } as typeof moved;
  const sequence = all.on.state.followers.get('placement 0')?.sequence ?? 0;
  all.hear(change(known?.epoch ?? 0, sequence + 1, [child] as ProvidersChanged['changed']), 'placement/0');
  const trees = [...all.on.state.view.trees].map(([root, tree]) => [root, tree.map(({ spec }) => spec.id)]);
  assert.equal(trees, [['p-h1', ['p-h1', 'p-h2']]]);
});

test('scheduler - an inventory that is told late is learned, though the use of a later moment is known', () => {
  const { on, shard, hear } = rig(hostsIn('north', 'a'));
  const larger = shard.tell({ type: 'put-tree', ask: 1, providers: treeOf({ cell: 'north', host: 'a', vcpu: 20 }) });
  const allocations = [{ provider: 'p-a', group: '', resources: { VCPU: 3 } }];
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 3 } }], groupPolicy: 'none' };
  const claim = { consumer: 'x', attempt: 1, spec, allocations, keep: [], expiresAt: 9_000_000 };
  const granted = shard.tell({ type: 'claim', ...claim }, SCHEDULER);
  const told = (turned: Turned<unknown>, type: string) => {
    for (const { message } of turned.sent) if (message.type === type) hear(message as SchedulerMessage, 'placement/0');
  };
  const stock = () => {
    const { capacity, used } = on.state.view.providers.get('p-a')?.stocks.get('VCPU') ?? { capacity: 0, used: 0 };
    return { capacity, used };
  };

  told(granted, 'claim-granted');
  assert.equal(stock(), { capacity: 8, used: 3 });
  told(larger, 'providers-changed');
  assert.equal(stock(), { capacity: 20, used: 3 });
});

test('scheduler - a page that answers an older question is not read', () => {
  const all = rig(hostsIn('c1', 'h1'));
  const page: ProvidersPage = { type: 'providers', ask: 0, shard: 0, epoch: 1, sequence: 1, providers: [], next: null };
  all.hear(page);
  assert.is(all.on.state.view.providers.size, 1);
});

test('scheduler - a page that tells less than the feed has told is not read, and asked for again', () => {
  const all = rig(hostsIn('c1', 'h1'));
  const stateOfHost = () => all.on.state.view.hosts.get('p-h1')?.state;
  const tell = (epoch: number, sequence: number, state: HostState['state']) =>
    all.hear({ type: 'hosts-changed', cell: 'c1', epoch, sequence, hosts: [{ host: 'h1', provider: 'p-h1', state }] });
  const answer = (ask: number, epoch: number, sequence: number, state: HostState['state']) => {
    const hosts = [{ host: 'h1', provider: 'p-h1', state }];
    all.hear({ type: 'hosts', ask, cell: 'c1', epoch, sequence, hosts, next: null });
  };
  const asked = (turned: Pick<Turned<never>, 'sent'>) => sentOf(turned, 'list-hosts')[0]?.message.ask ?? 0;

  const first = asked(tell(2, 7, 'up'));
  tell(2, 8, 'down');
  answer(first, 2, 7, 'up');
  assert.is(stateOfHost(), 'down', 'a page that was overtaken');
  answer(first, 1, 99, 'up');
  assert.is(stateOfHost(), 'down', 'a page of an earlier life');
  const [again] = all.on.pass(1_000).filter((turned) => asked(turned) > 0);
  answer(asked(again as Turned<never>), 2, 8, 'disabled');
  assert.is(stateOfHost(), 'disabled');
});

test('scheduler - what the feed tells of providers that are not known yet outlives a page that it overtook', () => {
  const all = rig(hostsIn('c1', 'h1'));
  const { epoch, sequence } = all.on.state.followers.get('placement 0') ?? { epoch: 0, sequence: 0 };
  all.put({ cell: 'c1', host: 'h2' });
  all.put({ cell: 'c1', host: 'h3' });
  const [asked] = sentOf(all.hear(change(epoch, sequence + 9)), 'list-providers');
  const ask = asked?.message.ask ?? 0;
  const [page] = sentOf(all.shard.tell({ type: 'list-providers', ask, limit: 10 }), 'providers');
  const told = { ...(page as NonNullable<typeof page>).message, epoch, sequence: sequence + 9 } as ProvidersPage;

  all.hear({ ...change(epoch, sequence + 10), used: [{ id: 'p-h2', generation: 9, used: { VCPU: 5 } }] });
  all.hear({ ...change(epoch, sequence + 11), removed: ['p-h3'] });
  all.hear(told);
  const { providers } = all.on.state.view;
  assert.is(providers.get('p-h2')?.stocks.get('VCPU')?.used, 5);
  assert.equal([...providers.keys()].sort(), ['p-h1', 'p-h2']);
});

test('scheduler - it is asked for no more alternates than it may rank, and ranks no host twice', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2', 'h3'));
  const instances = Array.from({ length: 8 }, (_, position) => `web-${position}`);
  const { selected } = choose(all, selectOf('web', { instances, alternates: 20, vcpu: 1 }));
  for (const { selection, alternates } of selected?.selections ?? []) {
    const hosts = [selection, ...alternates].map(({ host }) => host);
    assert.is(new Set(hosts).size, hosts.length);
  }
});

test('scheduler - whatever comes and goes of hosts and providers, it knows which trees have no host', () => {
  const random = seededRandom('hostless');
  const view = emptyView();
  const roots = ['p-h1', 'p-h2', 'p-h3'];
  const seen = new Set<number>();
  for (let generation = 1; generation < 500; generation += 1) {
    const root = random.pick(roots);
    const id = random.pick([root, `${root}-gpu`]);
    const told = { id, name: id, parent: id === root ? null : root, inventories: {}, traits: [], aggregates: [] };
    random.pick([
      () => learnChanges(view, change(1, generation, [{ ...told, root, generation, used: {} }])),
      () => learnChanges(view, { ...change(1, generation), removed: [id] }),
      () => learnHost(view, random.pick(['c1', 'c2']), { host: 'h', provider: root, state: 'up' }),
      () => forgetHost(view, random.pick(['c1', 'c2']), root),
    ])();
    const hostless = [...view.trees.keys()].filter((one) => !view.hosts.has(one));
    assert.equal([...view.hostless].sort(), hostless.sort());
    seen.add(hostless.length);
  }
  assert.equal([...seen].sort(), [0, 1, 2, 3]);
});

test.run();
