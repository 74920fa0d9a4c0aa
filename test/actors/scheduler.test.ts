// Area: scheduler. Hosts are claimed as they are chosen, one after the other, for one instance or several; alternates are
// named; and whoever has no host is told why, or waits for what a young scheduler may not have heard of.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { allocationsOf } from '../../actors/allocations.ts';
import type { Claim, PlacementMessage, ProvidersChanged, ProvidersPage } from '../../actors/messages/placement.ts';
import type { SchedulerMessage } from '../../actors/messages/scheduler.ts';
import { unpackDecision } from '../../actors/messages/stored-decision.ts';
import { scheduler } from '../../actors/scheduler/scheduler.ts';
import {
  actor,
  choose,
  type HostPlan,
  heldBy,
  hostsIn,
  rig,
  SCHEDULER,
  selectOf,
  takeUnheard,
  UNHEARD_MS,
} from '../support/scheduler-desk.ts';
import { bench, sentOf } from '../support/turn.ts';

const test = suite('scheduler');

test('scheduler - the questions of each life have numbers of their own, so that late answers are not taken for new', () => {
  const asks: number[] = [];
  const send = (_to: string, message: object) => void asks.push((message as { ask: number }).ask);
  for (const now of [1_700_000_000_000, 1_700_000_000_001]) {
    const one = scheduler({ name: 's', warmUpMs: 1_000, patience: { firstMs: 100, mostMs: 100 }, placementShards: 64 });
    one.recover(one.init(), { now, steady: 0, send, record() {}, publish() {}, wakeAfter() {}, cancelWake() {} });
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

test('scheduler - a wish of its group is chosen anew when others were faster, but not for ever', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2').map((one) => ({ ...one, vcpu: 100 })));
  const instanceGroup = { id: '/loose', policy: 'soft-anti-affinity' as const };
  const asked = selectOf('web', { vcpu: 1 });
  all.hear({ ...asked, spec: { ...asked.spec, instanceGroup } }, 'conductor/0');
  let rivals = 0;
  const said = all.deliver(({ message }) => {
    // Whatever it claims, another member of its group is there first.
    if (message.type === 'claim') {
      rivals += 1;
      const { groupKnown: _, ...claim } = message as Claim;
      all.shard.tell({ ...claim, consumer: `rival-${rivals}` }, 'another scheduler');
    }
    return true;
  });
  assert.is(sentOf({ sent: said }, 'selected').length, 1);
  assert.is(rivals, 17);
  assert.is(all.on.state.conflicts, 16);
  assert.is(all.on.state.view.groups.promised.size, 0);
});

test('scheduler - a wish never has the last of its claims refused', () => {
  const hosts = Array.from({ length: 63 }, (_, n) => ({ cell: 'c1', host: `h${n}`, vcpu: 100 }));
  const all = rig(hosts);
  const instanceGroup = { id: '/loose', policy: 'soft-anti-affinity' as const };
  const asked = selectOf('web', { vcpu: 1 });
  all.hear({ ...asked, spec: { ...asked.spec, instanceGroup } }, 'conductor/0');
  let claims = 0;
  const said = all.deliver(({ message }) => {
    if (message.type !== 'claim') return true;
    claims += 1;
    const { groupKnown: _, ...claim } = message as Claim;
    // Most hosts turn out to be full; on those that are left then, another member of its group is there first.
    if (claims <= 60) takeUnheard(all, claim.allocations[0]?.provider.replace('p-', '') ?? '', 100);
    else all.shard.tell({ ...claim, consumer: `rival-${claims}` }, 'another scheduler');
    return true;
  });
  assert.is(sentOf({ sent: said }, 'selected').length, 1);
  assert.is(claims, 64);
});

test('scheduler - a first member does not wait twice for who keeps its group: that is another shard, which may be dead', () => {
  const all = rig(hostsIn('c1', 'h1'));
  const instanceGroup = { id: '/near', policy: 'soft-affinity' as const };
  const asked = selectOf('web', { vcpu: 1 });
  all.hear({ ...asked, spec: { ...asked.spec, instanceGroup } }, 'conductor/0');
  const wishes = all.said().map(({ message }) => (message as Claim).groupKnown);
  for (const { sent } of all.on.pass(3_500))
    wishes.push(...sentOf({ sent }, 'claim').map(({ message }) => message.groupKnown));
  const [first, ...again] = wishes;
  assert.equal(first, { members: 0, others: 0, isFirst: true });
  assert.ok(again.length > 1);
  for (const one of again) assert.equal(one, { members: 0, others: 0 });
});

test('scheduler - what an earlier ask was granted is taken up, though another host was chosen', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2', 'h3'));
  takeUnheard(all, 'h2', 2, 'web');
  const { selected } = choose(all, selectOf('web'));
  assert.is(selected?.selections[0]?.selection.host, 'h2');
  assert.ok(selected?.selections[0]?.alternates.every(({ host }) => host !== 'h2'));
  assert.is(heldBy(all, 'web').length, 1);
  // It is not for its weight that it is taken, nor by chance among the best: as none of those its record has it.
  const { chosen, weights } = unpackDecision(JSON.parse(selected?.selections[0]?.decision ?? ''));
  assert.is(chosen?.host, 'h2');
  assert.equal(weights.map(({ host }) => host).sort(), ['h1', 'h3']);
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

test('scheduler - a refusal that comes twice and tells where the group is, and its cell, is not taken for one of the host there', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2'));
  const asked = selectOf('web');
  const spec = { ...asked.spec, instanceGroup: { id: '/near', policy: 'soft-affinity' as const } };
  all.hear({ ...asked, spec }, 'conductor/0');
  const claim = sentOf({ sent: all.said() }, 'claim')[0]?.message as Claim;
  const [allocation] = claim.allocations as [Claim['allocations'][0]];
  const elsewhere = allocation.provider === 'p-h1' ? 'p-h2' : 'p-h1';
  const { groupKnown: _, ...plain } = claim;
  all.shard.tell({ ...plain, consumer: 'member', allocations: [{ ...allocation, provider: elsewhere }] });
  const refusal = sentOf(all.shard.tell(claim, SCHEDULER), 'claim-refused')[0]?.message as SchedulerMessage;
  all.hear(refusal, 'placement/0');
  all.hear(refusal, 'placement/0');
  const [selected] = sentOf({ sent: all.deliver() }, 'selected');
  const { selection, decision = '' } = selected?.message.selections[0] ?? {};
  assert.is(selection?.provider, elsewhere);
  const { claimsRefused, refusedClaims } = unpackDecision(JSON.parse(decision));
  assert.is(claimsRefused, 1);
  assert.equal(
    refusedClaims.map(({ host, code }) => [`p-${host}`, code]),
    [[allocation.provider, 'group-changed']],
  );
  // Placement knows no cells, and hosts of two may have one name.
  const there = elsewhere.replace('p-', 'c1/');
  const message = `instance group 'near' keeps together if it can, and it has come to host '${there}'`;
  assert.is(refusedClaims[0]?.message, message);
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

test('scheduler - the record says how many alternates were asked for where there are fewer, and only there', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2', 'h3'));
  const askedOf = (request: string, alternates: number) => {
    const [one] = choose(all, selectOf(request, { alternates })).selected?.selections ?? [];
    const decision = unpackDecision(JSON.parse(one?.decision ?? ''));
    return [decision.alternates.length, decision.alternatesAsked];
  };
  assert.equal(
    [askedOf('a', 5), askedOf('b', 2), askedOf('c', 0)],
    [
      [2, 5],
      [2, undefined],
      [0, undefined],
    ],
  );
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

/** The host of each instance, with its alternates. */
const homesOf = ({ selected }: ReturnType<typeof choose>) =>
  (selected?.selections ?? []).map(({ selection, alternates }) => ({
    own: selection.host,
    alternates: alternates.map(({ host }) => host),
  }));

test('scheduler - where there are too few hosts, several instances have those of one another, each another one first', () => {
  for (const [count, wanted, hosts, lengths] of [
    [2, 1, 2, [1, 1]],
    [3, 2, 3, [2, 2, 2]],
    [3, 1, 3, [1, 1, 1]],
    [4, 5, 4, [3, 3, 3, 3]],
  ] as const) {
    const all = rig(hostsIn('c1', ...Array.from({ length: hosts }, (_, position) => `h${position}`)));
    const instances = Array.from({ length: count }, (_, position) => `web-${position}`);
    const homes = homesOf(choose(all, selectOf('web', { instances, alternates: wanted, vcpu: 3 })));
    assert.equal(
      homes.map(({ alternates }) => alternates.length),
      lengths,
    );
    for (const { own, alternates } of homes) {
      assert.is(new Set([own, ...alternates]).size, alternates.length + 1, 'never its own, and none twice');
    }
    for (let place = 0; place < lengths[0]; place += 1) {
      assert.is(new Set(homes.map(({ alternates }) => alternates[place])).size, count, `place ${place}`);
    }
  }
});

test('scheduler - where few hosts are left, instances have those of one another too, each another one first', () => {
  const all = rig([...hostsIn('c1', 'h1', 'h2', 'h3'), { cell: 'c1', host: 'small', vcpu: 3 }]);
  const instances = ['web-0', 'web-1', 'web-2'];
  const homes = homesOf(choose(all, selectOf('web', { instances, alternates: 2, vcpu: 3 })));
  assert.equal(homes.map(({ own }) => own).sort(), ['h1', 'h2', 'h3']);
  for (const { own, alternates } of homes) {
    assert.is(alternates.length, 2);
    assert.not.ok(alternates.includes(own));
  }
  for (const position of [0, 1]) assert.is(new Set(homes.map(({ alternates }) => alternates[position])).size, 3);
  assert.ok(homes.some(({ alternates }) => alternates[0] === 'small'));
});

test('scheduler - hosts that the request has not claimed come first, then those that it has, and only then any twice', () => {
  const all = rig([
    ...hostsIn('c1', 'h1', 'h2'),
    { cell: 'c1', host: 's1', vcpu: 3 },
    { cell: 'c1', host: 's2', vcpu: 3 },
  ]);
  const homes = homesOf(choose(all, selectOf('web', { instances: ['web-0', 'web-1'], alternates: 3, vcpu: 3 })));
  assert.equal(homes.map(({ own }) => own).sort(), ['h1', 'h2']);
  const nth = (place: number) => homes.map(({ alternates }) => alternates[place]).sort();
  assert.equal(
    [0, 1, 2].map(nth),
    [
      ['s1', 's2'],
      ['h1', 'h2'],
      ['s1', 's2'],
    ],
    'however much room the others have',
  );
  for (const { alternates } of homes) assert.is(alternates.length, 3);
});

test('scheduler - a host that a request has claimed is no alternate without room for one more, nor in another cell', () => {
  const alternatesOn = (plan: readonly HostPlan[], count: number) => {
    const instances = Array.from({ length: count }, (_, position) => `web-${position}`);
    const homes = homesOf(choose(rig(plan), selectOf('web', { instances, alternates: 3, vcpu: 4 })));
    return Object.fromEntries(homes.map(({ own, alternates }) => [own, alternates]));
  };
  assert.equal(alternatesOn([...hostsIn('c1', 'h1'), { cell: 'c1', host: 'h2', vcpu: 6 }], 2), { h1: [], h2: ['h1'] });
  const cells = [...hostsIn('c1', 'h1', 'h2'), ...hostsIn('c2', 'k1', 'k2')];
  assert.equal(alternatesOn(cells, 4), { h1: ['h2'], h2: ['h1'], k1: ['k2'], k2: ['k1'] });
});

test('scheduler - several instances have hosts all together, or the request has none', () => {
  const all = rig(hostsIn('c1', 'h1', 'h2'));
  const instances = ['web-0', 'web-1', 'web-2'];
  const { selected, reason } = choose(all, selectOf('web', { instances, vcpu: 8 }));
  assert.is(selected, null);
  assert.match(
    reason ?? '',
    /^no room for 3 instances at once: of 2 hosts, 2 have room for some; room for 2 of 3 instances: .*; 2 instances instead of 3 /,
  );
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
  assert.match(reason ?? '', /nearest .*short by 1\b/);
});

test('scheduler - no host at all is a reason of its own', () => {
  assert.is(choose(rig([]), selectOf('web')).reason, 'no host is known; nothing was heard lately of placement/0');
});

test('scheduler - one that has only just begun waits for hosts that it may not have heard of', () => {
  const all = rig([]);
  const young = bench(actor);
  assert.equal(sentOf(young.tell(selectOf('web'), 'conductor/0'), 'no-valid-host'), []);
  const told = young.pass(20_000).flatMap((turned) => sentOf(turned, 'no-valid-host'));
  assert.is(told.length, 0, 'as long as placement has not told it of its providers');
  assert.is(choose(all, selectOf('web')).reason, 'no host is known; nothing was heard lately of placement/0');
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
  assert.is(refusal?.message.reason, 'no host is known; nothing was heard lately of placement/0');
});

/** A scheduler that has just begun and is told of the hosts of one cell, in a fleet of these. */
function youngIn(fleet: HostPlan[]) {
  const all = rig([]);
  const young = bench(actor);
  const askOf = (feed: string) => young.state.followers.get(feed)?.ask ?? 0;
  for (const host of fleet) all.put(host);
  const [page] = sentOf(all.shard.tell({ type: 'list-providers', ask: 1, limit: 500 }, SCHEDULER), 'providers');
  return {
    young,
    hearProviders: () => young.tell({ ...(page?.message as ProvidersPage), ask: askOf('placement 0') }),
    hearOf(cell: string) {
      const told = fleet.filter((one) => one.cell === cell);
      const hosts = told.map(({ host }) => ({ host, provider: `p-${host}`, state: 'up' as const }));
      const feed = { cell, epoch: 1, sequence: 1, hosts };
      young.tell({ type: 'hosts-changed', ...feed });
      return young.tell({ type: 'hosts', ask: askOf(`cell ${cell}`), ...feed, next: null });
    },
  };
}

test('scheduler - one that has just begun chooses when it knows the whole fleet, and not among a part of it', () => {
  const { young, hearProviders, hearOf } = youngIn([...hostsIn('c1', 'h1'), ...hostsIn('c2', 'h2')]);
  young.tell({ ...selectOf('web'), where: { preferCells: ['c2'] } }, 'conductor/0');
  hearProviders();
  assert.equal(sentOf(hearOf('c1'), 'claim'), []);
  const [claim] = sentOf(hearOf('c2'), 'claim');
  assert.is(claim?.message.allocations[0]?.provider, 'p-h2');
});

test('scheduler - one that has just begun does not wait for long for a cell that does not speak', () => {
  const { young, hearProviders, hearOf } = youngIn([...hostsIn('c1', 'h1'), ...hostsIn('c2', 'h2')]);
  young.tell(selectOf('web'), 'conductor/0');
  hearProviders();
  hearOf('c1');
  const claims = young.pass(2_500).flatMap(({ sent }) => sentOf({ sent }, 'claim'));
  assert.is(claims[0]?.message.allocations[0]?.provider, 'p-h1');
});

test('scheduler - an instance that waits is given the first host that comes', () => {
  const { young, hearProviders, hearOf } = youngIn(hostsIn('c1', 'h1'));
  young.tell(selectOf('web'), 'conductor/0');
  hearOf('c1');
  assert.is(sentOf(hearProviders(), 'claim').length, 1);
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

test('scheduler - a cell is told as out of service, and no more, with each word of its feed', () => {
  const all = rig(hostsIn('c1', 'h1'));
  const beat = (ofCell: { disabled?: string }) =>
    all.hear({ type: 'hosts-changed', cell: 'c1', epoch: 5, sequence: 1, hosts: [], ...ofCell });
  const known = () => {
    const { sent } = all.hear({ type: 'list-cells', ask: 1 }, 'gateway/g');
    return sentOf({ sent }, 'cells')[0]?.message.cells.map(({ disabled }) => disabled);
  };
  assert.equal(known(), [undefined]);
  beat({ disabled: 'new switches' });
  assert.equal(known(), ['new switches']);
  beat({});
  assert.equal(known(), [undefined]);
});

test('scheduler - a cell without hosts that nobody serves any more is known no more after ten minutes', () => {
  const { on, ...all } = rig(hostsIn('c1', 'h1'));
  const joins = (cell: string) => {
    all.hear({ type: 'hosts-changed', cell, epoch: 1, sequence: 1, hosts: [] });
    const ask = on.state.followers.get(`cell ${cell}`)?.ask ?? 0;
    all.hear({ type: 'hosts', ask, cell, epoch: 1, sequence: 1, hosts: [], next: null });
  };
  const known = () => {
    const { sent } = all.hear({ type: 'list-cells', ask: 1 }, 'gateway/g');
    return sentOf({ sent }, 'cells')[0]?.message.cells.map(({ cell, silent }) => [cell, silent === true]);
  };
  joins('empty');
  assert.equal(known(), [
    ['c1', false],
    ['empty', false],
  ]);
  const silent = [
    ['c1', true],
    ['empty', true],
  ];
  on.pass(6_000);
  assert.equal(known(), silent);
  on.pass(593_000);
  assert.equal(known(), silent);
  on.pass(2_000);
  assert.equal(known(), [['c1', true]], 'one with hosts stays');
  assert.equal(
    on.pass(60_000).flatMap((turned) => sentOf(turned, 'list-hosts').filter(({ to }) => to === 'cell/empty')),
    [],
    'nobody asks it any more',
  );
  joins('empty');
  assert.equal(known(), [
    ['c1', true],
    ['empty', false],
  ]);
});

test('scheduler - the only placement shard that has fallen silent is told of, and changes nothing of what is chosen', () => {
  const { on, ...all } = rig([...hostsIn('c1', 'h1', 'h2', 'h3'), { cell: 'c2', host: 'h9', vcpu: 9 }]);
  const { spec } = selectOf('web');
  const silentToldTo = (ask: number) => {
    const { sent } = all.hear({ type: 'fit', ask, spec, count: 1, limit: 9 }, 'gateway/g');
    const { silentShards, needsSilentShards, best = [] } = sentOf({ sent }, 'fitted')[0]?.message ?? {};
    return [silentShards, needsSilentShards, best.map(({ silentShard }) => silentShard)];
  };
  assert.equal(silentToldTo(1), [undefined, undefined, [undefined, undefined, undefined, undefined]]);
  for (let second = 0; second < 6; second += 1) {
    on.pass(1_000);
    all.hear({ type: 'hosts-changed', cell: 'c1', epoch: 1, sequence: 3, hosts: [] });
  }
  assert.equal(silentToldTo(2), [[0], true, [0, 0, 0, 0]]);
  const [first] = choose({ on, ...all }, selectOf('web')).selected?.selections ?? [];
  assert.is(first?.selection.cell, 'c1', 'a silent cell is passed over as before, though its host has more room');
  const { silentCells, silentShards, shards } = unpackDecision(JSON.parse(first?.decision ?? ''));
  assert.equal([silentCells, silentShards, shards], [['c2'], [0], undefined]);
  for (const message of all.fed()) all.hear(message, 'placement/0');
  assert.equal(silentToldTo(3).slice(0, 2), [undefined, undefined], 'it is heard again');
});

test('scheduler - since when a cell and a shard are silent is told, also by a scheduler that was held up meanwhile', () => {
  const { on, ...all } = rig([...hostsIn('c1', 'h1'), ...hostsIn('c2', 'k1')]);
  const { spec } = selectOf('web');
  const silence = (ask: number) => {
    const { sent } = all.hear({ type: 'fit', ask, spec, count: 1, limit: 9 }, 'gateway/g');
    return sentOf({ sent }, 'fitted')[0]?.message.silence;
  };
  const ofHost = (ask: number, host: string) => {
    const { sent } = all.hear({ type: 'why-not', ask, spec, host }, 'gateway/g');
    return sentOf({ sent }, 'why-not-told')[0]?.message.standing.silence;
  };
  for (const message of all.fed()) all.hear(message, 'placement/0');
  all.hear({ type: 'hosts-changed', cell: 'c2', epoch: 1, sequence: 2, hosts: [] });
  const lastOfC2 = on.now;
  assert.equal([silence(1), ofHost(2, 'k1')], [undefined, undefined]);
  const hearOthers = () => {
    all.hear({ type: 'providers-changed', shard: 0, epoch: 1, sequence: 1, changed: [], used: [], removed: [] });
    all.hear({ type: 'hosts-changed', cell: 'c1', epoch: 1, sequence: 2, hosts: [] });
  };
  for (let second = 0; second < 6; second += 1) {
    on.pass(1_000);
    hearOthers();
  }
  assert.equal(silence(3), [{ cell: 'c2', since: lastOfC2 }]);
  assert.equal([ofHost(4, 'k1'), ofHost(5, 'h1')], [[{ cell: 'c2', since: lastOfC2 }], undefined]);
  const lastOfOthers = on.now;
  on.now += 60_000;
  on.pass(6_000);
  assert.equal(silence(6), [
    { cell: 'c1', since: lastOfOthers },
    { cell: 'c2', since: lastOfC2 },
    { shard: 0, since: lastOfOthers },
  ]);
  all.hear({ type: 'hosts-changed', cell: 'c2', epoch: 1, sequence: 2, hosts: [] });
  assert.equal(
    silence(7)?.map(({ cell }) => cell),
    ['c1', undefined],
    'it is heard again',
  );
});

test('scheduler - providers with room of which no cell has told are counted, and are no hosts that would fit', () => {
  const { on, put, ...all } = rig(hostsIn('c1', 'h1'));
  const { spec } = selectOf('web');
  const ask = (number: number) => {
    const { sent } = all.hear({ type: 'fit', ask: number, spec, count: 1, limit: 9 }, 'gateway/g');
    const { hosts, fits, untold } = sentOf({ sent }, 'fitted')[0]?.message ?? {};
    return [hosts, fits, untold];
  };
  assert.equal(ask(1), [1, 1, undefined]);
  put({ cell: 'c9', host: 'far' });
  put({ cell: 'c9', host: 'small', vcpu: 1 });
  for (const message of all.fed()) all.hear(message, 'placement/0');
  on.pass(UNHEARD_MS);
  assert.equal(ask(2), [1, 1, 1], 'the small one has no room');
  const hosts = [{ host: 'far', provider: 'p-far', state: 'up' as const }];
  all.hear({ type: 'hosts-changed', cell: 'c9', epoch: 1, sequence: 1, hosts });
  on.pass(5_000);
  assert.equal(ask(3), [2, 2, undefined], 'its cell has told of it');
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

test.run();
