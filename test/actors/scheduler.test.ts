// Area: scheduler. Choosing is claiming: it answers only with what placement granted, tries the next host when one is
// refused, takes up what an earlier ask was granted, names alternates of the same cell, says in numbers why no host
// was left, and mends its picture when it missed a word.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { allocationsOf } from '../../actors/allocations.ts';
import type { RequestSpec } from '../../actors/messages/common.ts';
import type {
  Inventory,
  PlacementMessage,
  ProviderSpec,
  ProvidersChanged,
  ProvidersPage,
} from '../../actors/messages/placement.ts';
import type { HostState, SchedulerMessage, Select } from '../../actors/messages/scheduler.ts';
import { placement } from '../../actors/placement/placement.ts';
import { UNHEARD_FOR_WARM_UPS } from '../../actors/scheduler/following.ts';
import { scheduler } from '../../actors/scheduler/scheduler.ts';
import { bench, type Sent, sentOf, type Turned } from '../support/turn.ts';

const test = suite('scheduler');

const WARM_UP_MS = 2_500;
const UNHEARD_MS = UNHEARD_FOR_WARM_UPS * WARM_UP_MS;
const actor = scheduler({ name: 's', warmUpMs: WARM_UP_MS, patience: { firstMs: 1_000, mostMs: 4_000 } });
const SCHEDULER = 'scheduler/s';

interface HostPlan {
  readonly cell: string;
  readonly host: string;
  readonly vcpu?: number;
  readonly state?: HostState['state'];
}

const inventory = (total: number): Inventory => {
  return { total, reserved: 0, min_unit: 1, max_unit: 1_000, step_size: 1, allocation_ratio: 1 };
};

const treeOf = ({ host, vcpu = 8 }: HostPlan): ProviderSpec[] => [
  { id: `p-${host}`, name: host, parent: null, inventories: { VCPU: inventory(vcpu) }, traits: [], aggregates: [] },
];

const hostsIn = (cell: string, ...hosts: string[]): HostPlan[] => hosts.map((host) => ({ cell, host }));

/** A scheduler and a placement shard on one bench: what one says to the other arrives when the test lets it. */
function rig(plan: readonly HostPlan[]) {
  const shard = bench(placement({ shard: 0 }));
  const on = bench(actor);
  const fed: ProvidersChanged[] = [];
  /** What the scheduler said and nobody has taken. */
  let outbox: Sent[] = [...on.first.sent];

  function hear(message: SchedulerMessage, from = 'test'): Turned<never> {
    const turned = on.tell(message, from);
    outbox.push(...turned.sent);
    return turned;
  }

  /** Hands placement what the scheduler said to it, and the answers back. */
  function deliver(pick: (sent: Sent) => boolean = () => true): Sent[] {
    const said: Sent[] = [];
    for (let taken = outbox.filter(pick); taken.length > 0; taken = outbox.filter(pick)) {
      outbox = outbox.filter((sent) => !taken.includes(sent));
      for (const { to, message } of taken) {
        if (to !== 'placement/0') {
          said.push({ to, message });
          continue;
        }
        for (const answer of shard.tell(message as PlacementMessage, SCHEDULER).sent) {
          if (answer.to === SCHEDULER) hear(answer.message as SchedulerMessage, 'placement/0');
          else fed.push(answer.message as ProvidersChanged);
        }
      }
    }
    return said;
  }

  function put(one: HostPlan): void {
    const { sent } = shard.tell({ type: 'put-tree', ask: 1, providers: treeOf(one) });
    for (const { message } of sent) if (message.type === 'providers-changed') fed.push(message as ProvidersChanged);
  }

  const sequences = new Map<string, number>();
  function tellHost({ cell, host, state = 'up' }: HostPlan): void {
    const sequence = (sequences.get(cell) ?? 0) + 1;
    sequences.set(cell, sequence);
    const hosts: HostState[] = [{ host, provider: `p-${host}`, state }];
    hear({ type: 'hosts-changed', cell, epoch: 1, sequence, hosts });
  }

  for (const one of plan) {
    put(one);
    tellHost(one);
  }
  for (const message of fed.splice(0)) hear(message, 'placement/0');
  deliver();
  // A scheduler asks the cells for all their hosts as well: here each has told its all already.
  for (const cell of new Set(plan.map((one) => one.cell))) answerHosts(cell);
  // Without any host it waits longer for one that it may have missed.
  on.pass(plan.length === 0 ? UNHEARD_MS : WARM_UP_MS);
  outbox = [];

  function answerHosts(cell: string): void {
    const ask = on.state.followers.get(`cell ${cell}`)?.ask ?? null;
    if (ask === null) return;
    const hosts = plan
      .filter((one) => one.cell === cell)
      .map(({ host, state = 'up' }) => ({ host, provider: `p-${host}`, state }));
    hear({ type: 'hosts', ask, cell, epoch: 1, sequence: sequences.get(cell) ?? 0, hosts, next: null }, `cell/${cell}`);
  }

  return { on, shard, hear, deliver, put, said: () => outbox };
}
type Rig = ReturnType<typeof rig>;

function selectOf(request: string, told: Partial<Select> & { vcpu?: number } = {}): Select {
  const { vcpu = 2, ...more } = told;
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: vcpu } }], groupPolicy: 'none' };
  return {
    type: 'select',
    request,
    round: 1,
    instances: [request],
    spec,
    alternates: 2,
    expiresAt: 100_000_000,
    ...more,
  };
}

/** What the scheduler answers the conductor when everything that it says arrives. */
function choose({ hear, deliver }: Rig, asked: Select) {
  hear(asked, 'conductor/0');
  const said = deliver();
  const [selected] = sentOf({ sent: said }, 'selected');
  const [noHost] = sentOf({ sent: said }, 'no-valid-host');
  return { selected: selected?.message ?? null, reason: noHost?.message.reason ?? null };
}

/** Somebody else takes VCPU of a host, and the scheduler does not hear of it. */
function takeUnheard({ shard }: Rig, host: string, vcpu: number, consumer = `rival-on-${host}`): void {
  const resources = { VCPU: vcpu };
  const turned = shard.tell({
    type: 'claim',
    consumer,
    attempt: 1,
    spec: { groups: [{ name: '', resources }], groupPolicy: 'none' },
    allocations: [{ provider: `p-${host}`, group: '', resources }],
    keep: [],
    expiresAt: 100_000_000,
  });
  assert.is(sentOf(turned, 'claim-granted').length, 1);
}

const heldBy = ({ shard }: Rig, consumer: string) => shard.state.consumers.holding.get(consumer)?.held ?? [];

test('scheduler - the questions of each life have numbers of their own, so that late answers are not taken for new', () => {
  const asks: number[] = [];
  const send = (_to: string, message: object) => void asks.push((message as { ask: number }).ask);
  for (const now of [1_700_000_000_000, 1_700_000_000_001]) {
    const one = scheduler({ name: 's', warmUpMs: 1_000, patience: { firstMs: 100, mostMs: 100 }, placementShards: 64 });
    one.recover(one.init(), { now, send, record() {}, publish() {}, wakeAt() {}, cancelWake() {} });
  }
  assert.equal([asks.length, new Set(asks).size], [128, 128]);
});

test('scheduler - it answers only when placement has granted what it chose', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2'));
  const turned = all.hear(selectOf('web'), 'conductor/0');
  assert.equal(
    turned.sent.map(({ message }) => message.type),
    ['claim'],
  );
  assert.equal(heldBy(all, 'web'), []);
  const said = all.deliver();
  assert.equal(
    said.map(({ to, message }) => [to, message.type]),
    [['conductor/0', 'selected']],
  );
  assert.is(heldBy(all, 'web').length, 1);
});

test('scheduler - a host that is refused is not asked again, and the next one is', () => {
  // The smallest is the last that it would choose.
  const all = rig([...hostsIn('c1', 'h1', 'h2'), { cell: 'c1', host: 'h3', vcpu: 6 }]);
  for (const host of ['h1', 'h2']) takeUnheard(all, host, 8);
  for (const request of ['web', 'next']) {
    const { selected } = choose(all, selectOf(request));
    assert.is(selected?.selections[0]?.selection.host, 'h3');
    assert.is(all.on.state.conflicts, 2, 'the refusals mended its picture: nobody is asked in vain again');
  }
});

test('scheduler - what an earlier ask was granted is taken up, though another host was chosen', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2', 'h3'));
  takeUnheard(all, 'h2', 2, 'web');
  const { selected } = choose(all, selectOf('web'));
  assert.is(selected?.selections[0]?.selection.host, 'h2');
  assert.ok(selected?.selections[0]?.alternates.every(({ host }) => host !== 'h2'));
  assert.is(heldBy(all, 'web').length, 1);
});

test('scheduler - in a full fleet, what an earlier ask was granted is found before it says that no host fits', () => {
  const all = rig(hostsIn('c1', 'h1'));
  const first = choose(all, selectOf('web', { vcpu: 8 }));
  assert.is(first.selected?.selections[0]?.selection.host, 'h1');
  const again = choose(all, selectOf('web', { vcpu: 8, round: 2 }));
  assert.is(again.reason, null);
  const placed = (one: typeof first) =>
    one.selected?.selections.map(({ instance, selection, alternates }) => [instance, selection, alternates]);
  assert.equal(placed(again), placed(first));
});

test('scheduler - a host that became free while it asked what is held is chosen', () => {
  const all = rig(hostsIn('c1', 'h1'));
  all.hear(selectOf('big', { vcpu: 8 }), 'conductor/0');
  const toBig = all.deliver();
  assert.is(sentOf({ sent: toBig }, 'selected').length, 1);
  all.hear(selectOf('web', { vcpu: 8 }), 'conductor/0');
  assert.equal(sentOf({ sent: all.said() }, 'recall').length, 1);
  const turned = all.shard.tell({ type: 'release', consumer: 'big', deleted: true });
  for (const { message } of sentOf(turned, 'providers-changed')) all.hear(message as ProvidersChanged, 'placement/0');
  const said = all.deliver();
  assert.is(sentOf({ sent: said }, 'selected')[0]?.message.selections[0]?.instance, 'web');
});

test('scheduler - its own claims count before they are answered', () => {
  const all = rig(hostsIn('c1', 'h1'));
  all.hear(selectOf('one', { vcpu: 6 }), 'conductor/0');
  all.hear(selectOf('two', { vcpu: 6 }), 'conductor/0');
  assert.equal(
    all.said().map(({ message }) => message.type),
    ['claim', 'recall'],
  );
});

test('scheduler - a promise is kept in mind once, however often the claim is said, and dropped with its answer', () => {
  const all = rig(hostsIn('c1', 'h1'));
  all.hear(selectOf('one', { vcpu: 6 }), 'conductor/0');
  for (const turned of all.on.pass(3_500)) {
    for (const { message } of sentOf(turned, 'claim')) all.shard.tell(message as PlacementMessage, SCHEDULER);
  }
  all.deliver();
  assert.is(all.on.state.view.promised.size, 0);
  assert.is(all.on.state.view.providers.get('p-h1')?.stocks.get('VCPU')?.used, 6);
});

test('scheduler - a refusal that comes twice is not taken for one of the host that is asked next', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2'));
  all.hear(selectOf('web'), 'conductor/0');
  const [claim] = sentOf({ sent: all.said() }, 'claim');
  const first = claim?.message.allocations[0]?.provider.replace('p-', '') ?? '';
  takeUnheard(all, first, 8);
  const refusal = sentOf(all.shard.tell(claim?.message as PlacementMessage, SCHEDULER), 'claim-refused')[0];
  assert.ok(refusal);
  all.hear(refusal.message as SchedulerMessage, 'placement/0');
  all.hear(refusal.message as SchedulerMessage, 'placement/0');
  const said = all.deliver();
  assert.is(sentOf({ sent: said }, 'no-valid-host').length, 0);
  assert.not.equal(sentOf({ sent: said }, 'selected')[0]?.message.selections[0]?.selection.host, first);
});

test('scheduler - alternates are of the same cell, distinct, as many as asked, with allocations of their own', () => {
  const all = rig([...hostsIn('c1', 'h1', 'h2', 'h3', 'h4'), ...hostsIn('c2', 'k1', 'k2', 'k3', 'k4')]);
  for (const [request, alternates] of [
    ['none', 0],
    ['two', 2],
    ['many', 20],
  ] as const) {
    const { selected } = choose(all, selectOf(request, { alternates }));
    const [one] = selected?.selections ?? [];
    assert.ok(one);
    assert.is(one.alternates.length, Math.min(alternates, 3), 'no more than the cell has');
    const hosts = [one.selection, ...one.alternates];
    assert.is(new Set(hosts.map(({ host }) => host)).size, hosts.length);
    for (const host of hosts) {
      const { cell, provider, allocations } = host;
      assert.is(cell, one.selection.cell);
      assert.is(allocations, undefined, 'they follow from the request');
      assert.equal(allocationsOf(selectOf(request).spec, host), [{ provider, group: '', resources: { VCPU: 2 } }]);
    }
  }
});

test('scheduler - a host that is down, disabled or full is neither chosen nor an alternate', () => {
  const all = rig([
    { cell: 'c1', host: 'h1' },
    { cell: 'c1', host: 'h2', state: 'disabled' },
    { cell: 'c1', host: 'h3', state: 'down' },
    { cell: 'c1', host: 'h4', vcpu: 1 },
  ]);
  const { selected } = choose(all, selectOf('web', { alternates: 5 }));
  assert.is(selected?.selections[0]?.selection.host, 'h1');
  assert.equal(selected?.selections[0]?.alternates, []);
});

test('scheduler - several instances are given different alternates, as far as there are enough', () => {
  const all = rig(hostsIn('c1', ...Array.from({ length: 12 }, (_, position) => `h${position}`)));
  const instances = ['web-0', 'web-1', 'web-2'];
  const { selected } = choose(all, selectOf('web', { instances, alternates: 3, vcpu: 8 }));
  assert.equal(
    selected?.selections.map(({ instance }) => instance),
    instances,
  );
  const chosen = selected?.selections.map(({ selection }) => selection.host) ?? [];
  const alternates = selected?.selections.flatMap((one) => one.alternates.map(({ host }) => host)) ?? [];
  assert.is(new Set(alternates).size, 9, 'nine hosts for three times three');
  assert.ok(
    alternates.every((host) => !chosen.includes(host)),
    'none is claimed by the same request',
  );
});

test('scheduler - several instances have hosts all together, or the request has none', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2'));
  const instances = ['web-0', 'web-1', 'web-2'];
  const { selected, reason } = choose(all, selectOf('web', { instances, vcpu: 8 }));
  assert.is(selected, null);
  assert.match(reason ?? '', /^only \d of 3 instances have a host: /);
  assert.is(all.on.state.open.size, 0);
  assert.is(all.on.state.selecting.size, 0);
});

test('scheduler - why no host was left is told in numbers that add up to all hosts', () => {
  const all = rig([
    ...hostsIn('c1', 'h1', 'h2', 'h3'),
    { cell: 'c1', host: 'h4', state: 'disabled' },
    { cell: 'c2', host: 'k1', state: 'down' },
    { cell: 'c2', host: 'k2', vcpu: 1 },
  ]);
  const { reason } = choose(all, selectOf('web', { vcpu: 9 }));
  const [, total, counts] = /^none of (\d+) hosts: ([^;]+)/.exec(reason ?? '') ?? [];
  assert.is(total, '6', reason ?? '');
  const numbers = [...(counts ?? '').matchAll(/(?:^|, )(\d+) /g)].map(([, number]) => Number(number));
  assert.is(
    numbers.reduce((sum, number) => sum + number, 0),
    6,
    reason ?? '',
  );
  assert.match(reason ?? '', /4 exceeds-capacity VCPU/);
  assert.match(reason ?? '', /1 host disabled/);
  assert.match(reason ?? '', /nearest: .*short by 1\b/);
});

test('scheduler - no host at all is a reason of its own', () => {
  assert.is(choose(rig([]), selectOf('web')).reason, 'no host is known');
});

test('scheduler - one that has only just begun waits for hosts that it may not have heard of', () => {
  const all = rig([]);
  const young = bench(actor);
  assert.equal(sentOf(young.tell(selectOf('web'), 'conductor/0'), 'no-valid-host'), []);
  const told = young.pass(20_000).flatMap((turned) => sentOf(turned, 'no-valid-host'));
  assert.is(told.length, 0, 'as long as placement has not told it of its providers');
  assert.is(choose(all, selectOf('web')).reason, 'no host is known');
});

test('scheduler - a young one waits for the cell of a provider that it knows no host of, but not for ever', () => {
  const all = rig(hostsIn('c1', 'h1'));
  const young = bench(actor);
  const [page] = sentOf(all.shard.tell({ type: 'list-providers', ask: 1, limit: 500 }, SCHEDULER), 'providers');
  const ask = young.state.followers.get('placement 0')?.ask ?? 0;
  young.tell({ ...(page?.message as ProvidersPage), ask });
  young.tell(selectOf('web'), 'conductor/0');
  const recalls = (ms: number) => young.pass(ms).flatMap((turned) => sentOf(turned, 'recall'));
  assert.is(recalls(UNHEARD_MS - 1).length, 0);
  assert.is(recalls(1).length, 1, 'it is about to say that none fits');
  const [refusal] = sentOf(young.tell({ type: 'nothing-held', consumer: 'web', attempt: 1 }), 'no-valid-host');
  assert.is(refusal?.message.reason, 'no host is known');
});

test('scheduler - an instance that waits is given the first host that comes', () => {
  const all = rig([]);
  const young = bench(actor);
  young.tell(selectOf('web'), 'conductor/0');
  const [host] = hostsIn('c1', 'h1') as [HostPlan];
  all.put(host);
  const [page] = sentOf(all.shard.tell({ type: 'list-providers', ask: 1, limit: 500 }, SCHEDULER), 'providers');
  young.tell({
    type: 'hosts-changed',
    cell: 'c1',
    epoch: 1,
    sequence: 1,
    hosts: [{ host: 'h1', provider: 'p-h1', state: 'up' }],
  });
  const ask = young.state.followers.get('placement 0')?.ask ?? 0;
  const turned = young.tell({ ...(page?.message as ProvidersPage), ask });
  assert.is(sentOf(turned, 'claim').length, 1);
});

test('scheduler - a cell that has fallen silent is passed over as long as another has room, and chosen when it speaks', () => {
  const { on, ...all } = rig([...hostsIn('c1', 'h1', 'h2', 'h3'), { cell: 'c2', host: 'h9', vcpu: 2 }]);
  const beat = (cell: string) =>
    all.hear({ type: 'hosts-changed', cell, epoch: 1, sequence: cell === 'c1' ? 3 : 1, hosts: [] });
  const chosen = (request: string) => choose({ on, ...all }, selectOf(request)).selected?.selections[0]?.selection.cell;
  for (let second = 0; second < 6; second += 1) {
    on.pass(1_000);
    beat('c2');
  }
  assert.is(chosen('one'), 'c2', 'though hosts of c1 have more room');
  assert.is(chosen('two'), 'c1', 'rather than no host at all');
  beat('c1');
  assert.is(chosen('three'), 'c1');
});

test('scheduler - a deleted consumer ends the search at once', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2', 'h3'));
  all.shard.tell({ type: 'release', consumer: 'web', deleted: true });
  const { reason } = choose(all, selectOf('web'));
  assert.match(reason ?? '', /^consumer-deleted: /);
  assert.is(all.on.state.conflicts, 0);
});

test('scheduler - the same round again is heard once; a later one replaces it', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2'));
  all.hear(selectOf('web', { round: 5 }), 'conductor/0');
  for (const round of [5, 4]) assert.equal(all.hear(selectOf('web', { round }), 'conductor/0').sent, []);
  all.hear(selectOf('web', { round: 6 }), 'conductor/0');
  const selected = sentOf({ sent: all.deliver() }, 'selected');
  assert.equal(
    selected.map(({ message }) => message.round),
    [6],
  );
  assert.is(heldBy(all, 'web').length, 1);
  assert.is(all.on.state.view.promised.size, 0);
});

test('scheduler - a claim that is not answered is said again, and given up with its asker', () => {
  const all = rig(hostsIn('c1', 'h1'));
  all.hear(selectOf('web', { expiresAt: all.on.now + 10_000 }), 'conductor/0');
  const claims = all.on.pass(9_000).flatMap((turned) => sentOf(turned, 'claim'));
  assert.ok(claims.length >= 3);
  assert.ok(claims.every(({ message }) => message.expiresAt === claims[0]?.message.expiresAt));
  all.on.pass(10_000);
  assert.is(all.on.state.open.size, 0);
  assert.is(all.on.state.view.promised.size, 0);
});

// --- its picture

/** A word of placement's feed. */
function change(epoch: number, sequence: number, changed: ProvidersChanged['changed'] = []): ProvidersChanged {
  return { type: 'providers-changed', shard: 0, epoch, sequence, changed, used: [], removed: [] };
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

test('scheduler - the selections of a large request are told in several messages, each in its bounds', () => {
  const plan = hostsIn('c1', ...Array.from({ length: 30 }, (_, position) => `h${position}`));
  const all = rig([{ cell: 'c1', host: 'large', vcpu: 10_000 }, ...plan]);
  const instances = Array.from({ length: 200 }, (_, position) => `web-${position}`);
  all.hear(selectOf('web', { instances, alternates: 20 }), 'conductor/0');
  const answers = all.deliver().filter(({ message }) => message.type === 'selected');
  const told = answers.map(({ message }) => (message as Extract<typeof message, { type: 'selected' }>).selections);
  assert.ok(told.length > 1);
  assert.ok(told.every((some) => some.reduce((sum, { alternates }) => sum + 1 + alternates.length, 0) <= 1_000));
  assert.equal(
    told.flat().map(({ instance }) => instance),
    instances,
  );
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

test.run();
