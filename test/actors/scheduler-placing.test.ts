// Area: scheduler, where requests may go. What a request says of cells, hosts, aggregates and other instances holds for the
// host that it gets and for its alternates, and placement has the last word; and many schedulers at once, at few hosts,
// commit nothing twice, count their conflicts, and name alternates that are distinct.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RequestSpec } from '../../actors/messages/common.ts';
import type { PlacementMessage } from '../../actors/messages/placement.ts';
import { unpackDecision } from '../../actors/messages/stored-decision.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { freeShare } from '../../actors/scheduler/weighers/free-share.ts';
import type { Weigher } from '../../actors/scheduler/weighers/weigher.ts';
import { MAX_CLAIMS_PER_SELECTION } from '../../machines/selection.ts';
import { seededRandom } from '../../runtime/random.ts';
import { treeOfHost } from '../support/facts.ts';
import { chosenIn, schedulersOf, selectFor } from '../support/schedulers.ts';

const test = suite('scheduler placing');

const hostsIn = (cell: string, ...hosts: string[]) => hosts.map((host) => ({ cell, host }));

test('placing - cells that are wanted, avoided, preferred', () => {
  const all = schedulersOf([...hostsIn('c1', 'h1'), ...hostsIn('c2', 'h2'), ...hostsIn('c3', 'h3')]);
  assert.is(chosenIn(all.choose(selectFor('wanted', { where: { cells: ['c2', 'c9'] } }))), 'h2');
  assert.is(chosenIn(all.choose(selectFor('avoided', { where: { avoidCells: ['c1', 'c2'] } }))), 'h3');
  for (const [n, host] of ['h3', 'h3', 'h3'].entries()) {
    assert.is(chosenIn(all.choose(selectFor(`preferred-${n}`, { vcpu: 2, where: { preferCells: ['c3'] } }))), host);
  }
  const next = chosenIn(all.choose(selectFor('no-room-there', { vcpu: 2, where: { preferCells: ['c3'] } })));
  assert.ok(['h1', 'h2'].includes(next), 'others are as good as ever');
  assert.match(
    chosenIn(all.choose(selectFor('nowhere', { where: { cells: ['c9'] } }))),
    /none of 3 hosts: 3 not-in-cell/,
  );
});

test('placing - a full host that the request may not use is not the nearest, nor one that the rule of its group forbids', () => {
  const full = { host: 'h1', cell: 'c1', has: { VCPU: 8 }, instances: 2 };
  const all = schedulersOf(
    [full, { host: 'h2', cell: 'c2', has: { VCPU: 4 } }],
    [{ name: 's', filters: [instanceLimit(2)] }],
  );
  const elsewhere = { vcpu: 5, where: { cells: ['c2'] } };
  assert.match(
    chosenIn(all.choose(selectFor('elsewhere', elsewhere))),
    /^none of 2 hosts: (?=.*1 too-many-instances)(?=.*1 exceeds-capacity VCPU).*; nearest c2\/h2: 5 VCPU .* 'h2'/,
  );
  const fitted = (spec: RequestSpec, where?: { cells: string[] }) => {
    const asked = { type: 'fit' as const, ask: 1, spec, count: 1, limit: 1, ...(where === undefined ? {} : { where }) };
    const [told] = all.desks[0]?.tell(asked, 'gateway/g').sent ?? [];
    if (told?.message.type !== 'fitted') throw new Error('no answer');
    return new Map(told.message.refused.map(({ code, nearest }) => [code, nearest?.host]));
  };
  const asks = (vcpu: number) => ({ groups: [{ name: '', resources: { VCPU: vcpu } }], groupPolicy: 'none' as const });
  assert.equal([...fitted(asks(5), { cells: ['c2'] })].sort(), [
    ['exceeds-capacity', 'h2'],
    ['too-many-instances', undefined],
  ]);
  assert.is(fitted(asks(5)).get('too-many-instances'), 'h1');
});

test('placing - a request that fails is told of the nearest of the hosts that it may use, and of no other', () => {
  const all = schedulersOf([
    { cell: 'c1', host: 'h1', has: { VCPU: 8 } },
    { cell: 'c2', host: 'h2', has: { VCPU: 6 } },
    { cell: 'c2', host: 'h3', has: { VCPU: 4 } },
  ]);
  const inCell = all.choose(selectFor('in-cell', { vcpu: 9, where: { cells: ['c2'] } }));
  assert.match(
    chosenIn(inCell),
    /^none of 3 hosts: 2 exceeds-capacity VCPU, 1 not-in-cell; nearest c2\/h2: 9 VCPU .* 'h2': 6 \(short by 3\); no host can give more than 8 VCPU .*; with 3 VCPU less/,
  );
  const { r } = JSON.parse(inCell?.type === 'no-valid-host' ? (inCell.decision ?? '') : '');
  assert.equal(r, [
    ['exceeds-capacity', 'VCPU', 2, 'c2/h2', 3],
    ['not-in-cell', '', 1],
  ]);
  const named = chosenIn(all.choose(selectFor('named', { vcpu: 9, tree: { oneOf: ['p-h3'] } })));
  assert.match(
    named,
    /^none of 3 hosts: c2\/h3, which it names: 9 VCPU .* 'h3': 4 \(short by 5\); 2 not-a-named-provider, 1 exceeds-capacity VCPU; no host .*; with /,
  );
  const placed = all.choose(selectFor('placed', { vcpu: 5, tree: { oneOf: ['p-h1'] } }));
  const [{ decision } = { decision: '' }] = placed?.type === 'selected' ? placed.selections : [];
  const nearest = JSON.parse(decision ?? '').r.map(([code, , , host]: unknown[]) => [code, host]);
  assert.equal(
    nearest,
    [
      ['exceeds-capacity', undefined],
      ['not-a-named-provider', undefined],
    ],
    'h3, which it may not use, is not what came nearest',
  );
});

test('placing - of hosts that a request names it is said first what stands in its way there, all of it', () => {
  const on = schedulersOf(hostsIn('c1', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6'));
  for (const host of ['h1', 'h2', 'h3']) on.tellHost({ host, state: host === 'h2' ? 'down' : 'disabled' });
  on.deliver();
  const reasonOf = (id: string, vcpu: number, ...hosts: string[]) =>
    chosenIn(on.choose(selectFor(id, { vcpu, tree: { oneOf: hosts.map((host) => `p-${host}`) } })));
  const counts = '3 not-a-named-provider, 2 hosts disabled, 1 host down';
  const is = (host: string, how: string) => `c1/${host}, which it names: host '${host}' is ${how}`;
  assert.ok(
    reasonOf('one', 1, 'h1').startsWith(`none of 6 hosts: ${is('h1', 'disabled')}; `),
    reasonOf('one', 1, 'h1'),
  );
  const large = reasonOf('large', 99, 'h1', 'h4');
  assert.match(
    large,
    /c1\/h1, which it names: host 'h1' is disabled; and 99 VCPU exceed .*; c1\/h4, which it names: 99 VCPU /,
  );
  const all = `${is('h1', 'disabled')}; ${is('h2', 'down')}; ${is('h3', 'disabled')}`;
  const three = reasonOf('three', 1, 'h1', 'h2', 'h3');
  assert.ok(three.startsWith(`none of 6 hosts: ${all}; ${counts}; `), three);
  assert.not.match(reasonOf('gone', 1, 'h9'), /which it names/);
  const failed = on.choose(selectFor('kept', { vcpu: 99, tree: { oneOf: ['p-h1', 'p-h4'] } }));
  assert.ok(failed?.type === 'no-valid-host');
  const { onNamed } = unpackDecision(JSON.parse(failed.decision ?? ''));
  assert.equal(
    onNamed?.told.map(({ host, refusal: { message: _, ...refusal }, also = [] }) => [host, refusal, also.length]),
    [
      ['h1', { code: 'host-disabled', lacksMore: true }, 1],
      ['h4', { code: 'exceeds-capacity', about: 'VCPU', short: 91 }, 0],
    ],
    'the record has it too',
  );
});

test('placing - a dry run says of each of the first hosts that a request names what stands in its way there', () => {
  const names = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'h7', 'h8'];
  const on = schedulersOf(hostsIn('c1', ...names));
  on.tellHost({ host: 'h1', state: 'disabled' });
  on.tellHost({ host: 'h2', state: 'set-aside' });
  on.deliver();
  const fitted = (vcpu: number, hosts: readonly string[], more: Partial<RequestSpec> = {}, count = 1) => {
    const tree = { oneOf: hosts.map((host) => `p-${host}`) };
    const spec = { groups: [{ name: '', resources: { VCPU: vcpu } }], groupPolicy: 'none' as const, tree, ...more };
    const [told] = on.desks[0]?.tell({ type: 'fit', ask: 1, spec, count, limit: 1 }, 'gateway/g').sent ?? [];
    if (told?.message.type !== 'fitted') throw new Error('no answer');
    return told.message;
  };
  const disabled = { code: 'host-disabled', message: "host 'h1' is disabled" };
  const { onNamed: one, fits } = fitted(1, ['h3', 'h1', 'h9', 'h1']);
  assert.is(fits, 1, 'also where another one fits');
  assert.equal(one, { told: [{ cell: 'c1', host: 'h1', refusal: disabled }] });
  const short = { code: 'exceeds-capacity', about: 'VCPU', short: 91 };
  const [first, second] = fitted(99, ['h1', 'h2']).onNamed?.told ?? [];
  assert.equal(first?.refusal, { ...disabled, lacksMore: true });
  assert.equal(
    first?.also?.map(({ message: _, ...also }) => also),
    [short],
  );
  assert.is(second?.refusal.code, 'host-set-aside');
  const { onNamed: many, refused } = fitted(99, names);
  assert.equal([many?.more, many?.told.map(({ host }) => host)], [3, names.slice(0, 5)]);
  assert.is(
    refused.reduce((sum, { hosts }) => sum + hosts, 0),
    8,
  );
  assert.is(fitted(1, ['h3', 'h4']).onNamed, undefined, 'each of them does');
  assert.is(fitted(1, ['h9']).onNamed, undefined, 'nothing is known of it');
  const instanceGroup = { id: '/g', policy: 'affinity' as const };
  assert.is(fitted(2, ['h3'], { instanceGroup }, 3).onNamed, undefined, 'it has room for all three');
  assert.is(fitted(3, ['h3'], {}, 3).onNamed, undefined, 'they need not be on one host');
  const together = fitted(3, ['h3'], { instanceGroup }, 3).onNamed?.told[0]?.refusal;
  assert.is(fitted(3, names.slice(2), { instanceGroup }, 3).onNamed?.more, 1, 'there is no room on any of six');
  assert.equal(together, { code: 'no-room-together', short: 1, message: "no room for 3 instances on 'h3'" });
});

test('placing - hosts that are named or avoided, for alternates as well', () => {
  const all = schedulersOf(hostsIn('c1', 'h1', 'h2', 'h3', 'h4'));
  const named = all.choose(selectFor('named', { alternates: 20, tree: { oneOf: ['p-h2', 'p-h4'] } }));
  assert.is(named?.type, 'selected');
  const [{ selection, alternates } = { selection: undefined, alternates: [] }] =
    named?.type === 'selected' ? named.selections : [];
  assert.equal([selection?.host, ...alternates.map(({ host }) => host)].sort(), ['h2', 'h4']);
  const avoiding = all.choose(selectFor('avoiding', { alternates: 20, tree: { noneOf: ['p-h2', 'p-h4'] } }));
  const hosts =
    avoiding?.type === 'selected' ? avoiding.selections.flatMap((one) => [one.selection, ...one.alternates]) : [];
  assert.equal(hosts.map(({ host }) => host).sort(), ['h1', 'h3']);
  assert.match(chosenIn(all.choose(selectFor('unknown', { tree: { oneOf: ['p-h9'] } }))), /4 not-a-named-provider/);
});

test('placing - the nearest miss is the one that lacks the least part of what is asked', () => {
  const hot: Filter = {
    name: 'hot',
    refusal: ({ host }) => (host === 'h3' ? { code: 'too-hot', message: `'${host}' is too hot`, short: 1 } : null),
  };
  const all = schedulersOf(
    [
      { host: 'h1', has: { VCPU: 4, MEMORY_MB: 16_384 } },
      { host: 'h2', has: { VCPU: 64, MEMORY_MB: 16_000 } },
      { host: 'h3', has: { VCPU: 64, MEMORY_MB: 16_384 } },
    ],
    [{ name: 's', filters: [hot] }],
  );
  const groups = [{ name: '', resources: { VCPU: 8, MEMORY_MB: 16_384 } }];
  const told = chosenIn(all.choose(selectFor('both', { spec: { groups, groupPolicy: 'none' } })));
  assert.match(
    told,
    /; nearest c\d\/h2: 16384 MEMORY_MB exceed what is free on provider 'h2': 16000 \(short by 384\);/,
  );
});

test('placing - a host whose aggregate changed unheard is refused by placement, and the next one is taken', () => {
  const all = schedulersOf([
    { host: 'h1', aggregates: ['ssd'], has: { VCPU: 64 } },
    { host: 'h2', aggregates: ['ssd', 'old'] },
    { host: 'h3', aggregates: [] },
  ]);
  const wanted = { memberOf: [['ssd']], notMemberOf: ['secret'] };
  assert.is(chosenIn(all.choose(selectFor('before', { tree: wanted }))), 'h1');
  // The feed that tells of it is lost on its way.
  all.put({ host: 'h1', aggregates: ['ssd', 'secret'], has: { VCPU: 64 } });
  all.drop(() => true);
  const after = all.choose(selectFor('after', { tree: wanted }));
  assert.is(chosenIn(after), 'h2');
  assert.is(all.desks[0]?.state.conflicts, 1);
  all.put({ host: 'h2', aggregates: ['old'] });
  assert.match(
    chosenIn(all.choose(selectFor('last', { tree: wanted }))),
    /none of 3 hosts: 2 not-in-aggregate ssd, 1 /,
  );
});

test('placing - with an instance, or apart from it: placement is asked where it is', () => {
  const all = schedulersOf(hostsIn('c1', 'h1', 'h2', 'h3'));
  const first = chosenIn(all.choose(selectFor('first')));
  const second = chosenIn(all.choose(selectFor('second', { tree: { notHeldBy: ['first'] } })));
  assert.is.not(first, second);
  for (const n of [1, 2, 3]) {
    assert.is(chosenIn(all.choose(selectFor(`with-${n}`, { tree: { heldBy: ['first', 'nobody'] } }))), first);
  }
  const third = chosenIn(all.choose(selectFor('third', { tree: { notHeldBy: ['first', 'second', 'nobody'] } })));
  assert.equal([first, second, third].sort(), ['h1', 'h2', 'h3']);
  const none = chosenIn(all.choose(selectFor('fourth', { tree: { notHeldBy: ['first', 'second', 'third'] } })));
  assert.match(
    none,
    /none of 3 hosts: 3 consumer-present; if it might share a host with '\w+', it would fit on 1 host$/,
  );
  const lonely = chosenIn(all.choose(selectFor('lonely', { tree: { heldBy: ['nobody'] } })));
  assert.match(
    lonely,
    /^none of 3 hosts: 3 consumer-missing nobody; nothing known .* instance nobody \(holds nothing\);/,
  );
  assert.match(lonely, /; if it need not share a host with 'nobody', it/);
  const loners = chosenIn(all.choose(selectFor('loners', { tree: { heldBy: ['nobody', 'no-one'] } })));
  assert.match(loners, /; if it need not share a host with one of 'nobody', 'no-one', it/);
});

/** One instance that is on some host, and moves as no scheduler hears in time. */
function withMover(hosts: readonly string[]) {
  const all = schedulersOf(hostsIn('c1', ...hosts));
  let attempt = 0;
  const moveTo = (host: string): void => {
    attempt += 1;
    assert.is(all.take('mover', host, 1, { attempt })[0]?.message.type, 'claim-granted');
    all.deliver(undefined, ({ message }) => message.type === 'claim');
  };
  moveTo(hosts[0] as string);
  all.deliver();
  /** Delivers all but claims, which are counted. */
  const upToClaims = (): number => {
    all.deliver(undefined, ({ message }) => message.type !== 'claim');
    return all.underWay().length;
  };
  return { ...all, moveTo, upToClaims };
}

test('placing - where another has moved meanwhile is asked again, though the claim was refused for that', () => {
  for (const asked of [{}, { ordered: true as const }]) {
    for (const count of [1, 3]) {
      const all = withMover(['h1', 'h2', 'h3']);
      const instances = Array.from({ length: count }, (_, n) => `with-${n}`);
      const near = selectFor('with', { instances, ...asked, tree: { heldBy: ['mover'] } });
      all.hear(near);
      assert.is(all.upToClaims(), count);
      all.moveTo('h2');
      all.deliver();
      const answer = all.answers[0];
      const selections = answer?.type === 'selected' ? answer.selections : [];
      assert.equal(
        selections.map(({ selection }) => selection.host),
        instances.map(() => 'h2'),
        `${chosenIn(answer)}, ${Object.keys(asked)}`,
      );
      assert.is(all.desks[0]?.state.conflicts, count);
      const { claimsRefused, refusedClaims } = unpackDecision(JSON.parse(selections[0]?.decision ?? ''));
      assert.equal([claimsRefused, refusedClaims[0]?.code], [1, 'consumer-missing']);
      assert.is(all.desks[0]?.state.locating.size, 0);
    }
  }
});

test('placing - a claim that is refused is a conflict, though its request has come to an end meanwhile', () => {
  const all = schedulersOf([
    { host: 'h1', has: { VCPU: 1 } },
    { host: 'h2', has: { VCPU: 1 } },
  ]);
  all.hear(selectFor('web', { instances: ['web-0', 'web-1'] }));
  all.deliver(undefined, ({ message }) => message.type !== 'claim');
  const claims = all.underWay().flatMap(({ message }) => (message.type === 'claim' ? [message] : []));
  assert.equal(
    claims.map(({ consumer }) => consumer),
    ['web-0', 'web-1'],
  );
  all.release('web-0');
  for (const claim of claims) all.ask({ ...claim, consumer: `rival-of-${claim.consumer}` } as PlacementMessage);
  all.deliver();
  assert.is(all.desks[0]?.state.open.size, 0);
  // That an instance was deleted is none.
  assert.is(all.desks[0]?.state.conflicts, 1);
});

test('placing - a claim that is said twice and refused twice is one conflict', () => {
  const all = schedulersOf([
    { host: 'h1', has: { VCPU: 2 } },
    { host: 'h2', has: { VCPU: 1 } },
  ]);
  all.hear(selectFor('web', { ordered: true }));
  const isOther = ({ message }: { message: { type: string } }) => message.type !== 'claim';
  all.deliver(undefined, isOther);
  all.run(1_500, 1_500, isOther);
  const claims = all.underWay().flatMap(({ message }) => (message.type === 'claim' ? [message] : []));
  assert.is(claims.length, 2);
  const [claim] = claims;
  assert.ok(claim);
  const [{ provider } = { provider: '' }] = claim.allocations;
  all.take('rival', provider.slice('p-'.length), provider === 'p-h1' ? 2 : 1);
  all.deliver();
  assert.is(all.answers.at(-1)?.type, 'selected');
  assert.is(all.desks[0]?.state.conflicts, 1);
});

test('placing - a host that refused because of where another was is as good as others once that one has moved', () => {
  const near = withMover(['h1', 'h2']);
  near.hear(selectFor('near', { tree: { heldBy: ['mover'] } }));
  near.upToClaims();
  near.moveTo('h2');
  near.moveTo('h1');
  near.deliver();
  assert.is(chosenIn(near.answers[0]), 'h1');

  const apart = withMover(['h1', 'h2']);
  apart.hear(selectFor('apart', { tree: { notHeldBy: ['mover'] } }));
  for (const to of ['h2', 'h1']) {
    assert.is(apart.upToClaims(), 1);
    apart.moveTo(to);
  }
  apart.deliver();
  assert.is(chosenIn(apart.answers[0]), 'h2');
});

test('placing - who wants to be with another that is nowhere any more, or never stays, has no host in the end', () => {
  const gone = withMover(['h1', 'h2']);
  gone.hear(selectFor('with', { tree: { heldBy: ['mover'] } }));
  gone.upToClaims();
  gone.release('mover');
  gone.deliverAll();
  assert.match(chosenIn(gone.answers[0]), /^none of 2 hosts: 2 consumer-missing/);

  for (const asked of [{}, { ordered: true as const }]) {
    const restless = withMover(['h1', 'h2']);
    restless.hear(selectFor('with', { ...asked, tree: { heldBy: ['mover'] } }));
    let claims = 0;
    for (; restless.upToClaims() === 1 && claims < 100; claims += 1) restless.moveTo(claims % 2 === 0 ? 'h2' : 'h1');
    assert.is(claims, MAX_CLAIMS_PER_SELECTION);
    assert.match(chosenIn(restless.answers[0]), /^the last of 64 claims was refused: consumer-missing/);
    assert.is(restless.desks[0]?.state.locating.size, 0);
  }
});

test('placing - a host is weighed anew by what it was granted, though as much was promised before', () => {
  const lastly = { provider: '' };
  const weigher: Weigher = {
    name: 'lately',
    multiplier: 10,
    ignoresStats: true,
    granted([first]) {
      lastly.provider = first?.provider ?? '';
    },
    weigh: ({ tree }) => (tree[0]?.spec.id === lastly.provider ? 1 : 0),
  };
  const all = schedulersOf(hostsIn('c1', 'h1', 'h2', 'h3'), [{ name: 's', weighers: [weigher, freeShare] }]);
  // Both are ranked before the first is granted: each is promised a host of its own.
  all.hear(selectFor('a'));
  all.hear(selectFor('b'));
  all.deliver();
  const third = chosenIn(all.choose(selectFor('c')));
  assert.is(`p-${third}`, lastly.provider);
  const taken = all.answers.flatMap((one) => (one.type === 'selected' ? one.selections : []));
  const there = taken.filter(({ selection }) => selection.host === third);
  assert.is(there.length, 2, 'the host that was granted last weighs most, and not one that is emptier');
});

/** Hosts with a GPU each, and a request that asks for nothing else. */
function hostsWithDevices(...names: string[]) {
  const all = schedulersOf(hostsIn('c1', ...names));
  const put = (host: string, ...devices: string[]) => {
    const gpus = devices.map((id) => ({ ...treeOfHost({ host: id, has: { PGPU: 1 } }), id, parent: `p-${host}` }));
    all.ask({ type: 'put-tree', ask: 1, providers: [treeOfHost({ host }), ...gpus] });
  };
  for (const host of names) put(host, `${host}-gpu-0`);
  all.deliver();
  const spec: RequestSpec = { groups: [{ name: 'gpu', resources: { PGPU: 1 } }], groupPolicy: 'none' };
  /** Another takes it, of which the scheduler does not hear. */
  const take = (consumer: string, device: string) => {
    const allocations = [{ provider: device, group: 'gpu', resources: { PGPU: 1 } }];
    all.ask({ type: 'claim', consumer, attempt: 1, spec, allocations, keep: [], expiresAt: 100_000_000 });
  };
  const hearNothing = () => all.drop(({ message }) => message.type === 'providers-changed');
  return { ...all, put, take, hearNothing, asked: { ...selectFor('web', { alternates: 0 }), spec } };
}

test('placing - a device of its host that a scheduler has not heard of yet is taken at once when it is granted', () => {
  const all = hostsWithDevices('h1');
  all.put('h1', 'h1-gpu-0', 'h1-gpu-1');
  all.take('rival', 'h1-gpu-0');
  all.hearNothing();
  const answer = all.choose(all.asked);
  assert.is(chosenIn(answer), 'h1');
  const [chosen] = answer?.type === 'selected' ? answer.selections : [];
  assert.is(chosen?.selection.provider, 'p-h1');
  assert.equal(
    chosen?.selection.allocations?.map(({ provider }) => provider),
    ['h1-gpu-1'],
  );
});

test('placing - what an earlier ask was granted is of the host where it is, though the device there is not heard of yet', () => {
  // One of them is not the host that is claimed.
  for (const host of ['h1', 'h2']) {
    const all = hostsWithDevices('h1', 'h2');
    all.put(host, `${host}-gpu-0`, `${host}-gpu-1`);
    all.take('web', `${host}-gpu-1`);
    all.hearNothing();
    assert.is(chosenIn(all.choose(all.asked)), host);
  }
});

test('placing - apart from an instance that came to the host meanwhile: the claim is refused, and another made', () => {
  const all = schedulersOf([
    { host: 'h1', has: { VCPU: 16 } },
    { host: 'h2', has: { VCPU: 8 } },
  ]);
  all.hear(selectFor('apart', { tree: { notHeldBy: ['rival'] } }));
  // It has been told that the rival is nowhere, and has not claimed yet.
  all.deliver(undefined, ({ message }) => message.type !== 'claim');
  assert.equal(
    all.underWay().map(({ message }) => (message.type === 'claim' ? message.allocations[0]?.provider : message.type)),
    ['p-h1'],
  );
  all.take('rival', 'h1');
  all.deliver();
  assert.is(chosenIn(all.answers.at(-1)), 'h2');
  assert.is(all.desks[0]?.state.conflicts, 1);
});

test('placing - another rule than its group has is said in the same words where the request names hosts too', () => {
  const asked = (instance: string, policy: 'affinity' | 'anti-affinity', tree: RequestSpec['tree'] = {}) => {
    const { spec } = selectFor(instance);
    return { ...selectFor(instance), spec: { ...spec, tree, instanceGroup: { id: 'p/g', policy } } };
  };
  for (const noneOf of [[], ['p-h3']]) {
    const all = schedulersOf(hostsIn('c1', 'h1', 'h2', 'h3'));
    chosenIn(all.choose(asked('first', 'affinity')));
    const none = chosenIn(all.choose(asked('second', 'anti-affinity', { noneOf })));
    const others = noneOf.length === 0 ? '3 group-policy-conflict' : '2 group-policy-conflict, 1 avoided-provider';
    const words = `group-policy-conflict: instance group 'g' has the rule 'affinity', not 'anti-affinity'; none of 3 hosts: ${others}; `;
    assert.is(none.slice(0, words.length), words);
  }
});

test('placing - another rule than its group has leaves nothing untold of the hosts that the request names', () => {
  const all = schedulersOf(hostsIn('c1', 'h1', 'h2', 'h3', 'h4'));
  const asked = (instance: string, VCPU: number, oneOf: string[], policy?: 'affinity' | 'anti-affinity') => {
    const one = selectFor(instance);
    const groups = [{ name: '', resources: { VCPU } }];
    const instanceGroup = policy === undefined ? {} : { instanceGroup: { id: 'p/g', policy } };
    return { ...one, spec: { ...one.spec, groups, tree: { oneOf }, ...instanceGroup } };
  };
  chosenIn(all.choose(asked('first', 8, ['p-h1'], 'affinity')));
  chosenIn(all.choose(asked('full', 8, ['p-h2'])));
  const answer = all.choose(asked('second', 4, ['p-h2', 'p-h3'], 'anti-affinity'));
  if (answer?.type !== 'no-valid-host') throw new Error(JSON.stringify(answer));
  const rule = "instance group 'g' has the rule 'affinity', not 'anti-affinity'";
  const lacks = "4 VCPU exceed what is free on provider 'h2': 0 of 8 (short by 4)";
  const words = `group-policy-conflict: ${rule}; none of 4 hosts: c1/h2, which it names: ${lacks}; 2 not-a-named-provider, `;
  assert.is(answer.reason.slice(0, words.length), words);
  const { onNamed, refused } = unpackDecision(JSON.parse(answer.decision ?? ''));
  assert.equal(
    onNamed?.told.map(({ host, refusal, also }) => [host, refusal.code, also?.map(({ code }) => code)]),
    [
      ['h2', 'exceeds-capacity', ['group-policy-conflict']],
      ['h3', 'group-policy-conflict', undefined],
    ],
  );
  // By filters first, as `fit` counts them: h1 has no room for it either.
  assert.equal(
    refused.map(({ code, hosts }) => [code, hosts]),
    [
      ['not-a-named-provider', 2],
      ['exceeds-capacity', 1],
      ['group-policy-conflict', 1],
    ],
  );
});

test('placing - the rule of its group is said once of a request that names hosts, whatever refuses each of them first', () => {
  const rule = "instance group 'g' has the rule 'affinity', not 'anti-affinity'";
  for (const VCPU of [4, 10_000]) {
    const all = schedulersOf(hostsIn('c1', 'h1', 'h2', 'h3'));
    const asked = (instance: string, amount: number, oneOf: string[], policy: 'affinity' | 'anti-affinity') => {
      const one = selectFor(instance);
      const groups = [{ name: '', resources: { VCPU: amount } }];
      return { ...one, spec: { ...one.spec, groups, tree: { oneOf }, instanceGroup: { id: 'p/g', policy } } };
    };
    chosenIn(all.choose(asked('first', 8, ['p-h1'], 'affinity')));
    const answer = all.choose(asked('second', VCPU, ['p-h2', 'p-h3'], 'anti-affinity'));
    if (answer?.type !== 'no-valid-host') throw new Error(JSON.stringify(answer));
    assert.is(answer.reason.split(rule).length, 2, answer.reason);
    // The record says of each host all that stands in the way there.
    const { onNamed } = unpackDecision(JSON.parse(answer.decision ?? ''));
    const said = onNamed?.told.map(({ refusal, also = [] }) => [refusal, ...also].at(-1)?.code);
    assert.equal(said, ['group-policy-conflict', 'group-policy-conflict']);
  }
});

test('placing - a record by which no host fits weighs none, though some were weighed before the claim was refused', () => {
  const all = schedulersOf(hostsIn('c1', 'h1', 'h2', 'h3'));
  const ofGroup = (instance: string, policy: 'affinity' | 'soft-affinity') => {
    const asked = selectFor(instance);
    return { ...asked, spec: { ...asked.spec, instanceGroup: { id: 'p/g', policy } } };
  };
  chosenIn(all.choose(ofGroup('first', 'affinity')));
  const answer = all.choose(ofGroup('second', 'soft-affinity'));
  if (answer?.type !== 'no-valid-host') throw new Error(JSON.stringify(answer));
  const { fits, weights, group, refusedClaims } = unpackDecision(JSON.parse(answer.decision ?? ''));
  assert.equal([fits, weights, group], [0, [], undefined]);
  assert.equal(
    refusedClaims.map(({ code }) => code),
    ['group-policy-conflict'],
  );
});

test('placing - the question where an instance is, or its answer, may be lost: it is put again', () => {
  for (const lost of ['locate', 'located']) {
    const all = schedulersOf(hostsIn('c1', 'h1', 'h2'));
    const first = chosenIn(all.choose(selectFor('first')));
    all.hear(selectFor('with', { tree: { heldBy: ['first'] } }));
    all.deliver(undefined, ({ message }) => message.type !== lost);
    all.drop(({ message }) => message.type === lost);
    const before = all.answers.length;
    for (const { sent } of all.desks[0]?.pass(1_500) ?? []) {
      for (const { to, message } of sent)
        if (to === 'placement/0')
          all.hear(all.ask(message as never, 'scheduler/s')[0]?.message as never, 'scheduler/s', 'placement/0');
    }
    all.deliver();
    assert.is(chosenIn(all.answers[before]), first, lost);
  }
});

test('placing - a filter of the request and a filter of a host that fails are told in the reason', () => {
  const cold: Filter = {
    name: 'cold',
    refusal({ host, stats: { metrics } }) {
      if (metrics === undefined) throw new Error(`${host} has no thermometer`);
      return (metrics.heat ?? 0) > 50 ? { code: 'too-hot', message: `${host} is too hot` } : null;
    },
  };
  const all = schedulersOf(
    [{ host: 'h1', metrics: { heat: 20 } }, { host: 'h2', metrics: { heat: 90 } }, { host: 'h3' }],
    [{ name: 's', filters: [cold] }],
  );
  assert.is(chosenIn(all.choose(selectFor('cool'))), 'h1');
  assert.match(
    chosenIn(all.choose(selectFor('other', { tree: { noneOf: ['p-h1'] } }))),
    /none of 3 hosts: (?=.*1 avoided-provider)(?=.*1 too-hot)(?=.*1 filter-failed cold \(filter 'cold' failed: h3 has no thermometer\))/,
  );
  all.tellHost({ host: 'h2', metrics: { heat: 10 } });
  assert.is(chosenIn(all.choose(selectFor('cooled', { tree: { noneOf: ['p-h1'] } }))), 'h2');
});

test('placing - a request for many keeps to a limit of instances, though no cell has told of any yet', () => {
  const all = schedulersOf(
    [{ host: 'h1', instances: 2 }, { host: 'h2' }, { host: 'h3', instances: 7 }],
    [{ name: 's', filters: [instanceLimit(3)] }],
  );
  const instances = ['m-0', 'm-1', 'm-2', 'm-3'];
  const answer = all.choose(selectFor('m', { instances }));
  const hosts = answer?.type === 'selected' ? answer.selections.map(({ selection }) => selection.host) : [];
  assert.equal(hosts.sort(), ['h1', 'h2', 'h2', 'h2']);
  assert.match(chosenIn(all.choose(selectFor('more'))), /3 too-many-instances/);
});

test('placing - many schedulers at a few hot hosts: nothing is given twice, nothing free is refused, conflicts count', () => {
  let granted = 0;
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1_000_000 }), fc.constantFrom(1, 4), (seed, pickAmong) => {
      const random = seededRandom(seed);
      const hosts = [...hostsIn('c1', 'h1', 'h2', 'h3'), ...hostsIn('c2', 'h4', 'h5')];
      const names = ['s1', 's2', 's3', 's4'];
      const all = schedulersOf(
        hosts,
        names.map((name) => ({ name, pickAmong })),
      );
      const requests: string[] = [];
      const wants = new Map<string, number>();
      // More than there is: forty in all. Of eight, twos and threes may leave one.
      for (let n = 0; n < 30; n += 1) {
        const request = `r${n}`;
        const count = random.integer(1, 3);
        const vcpu = random.integer(2, 3);
        const instances = count === 1 ? [request] : Array.from({ length: count }, (_, i) => `${request}-${i}`);
        requests.push(request);
        wants.set(request, count);
        all.hear(
          selectFor(request, { instances, vcpu, alternates: random.integer(0, 5) }),
          `scheduler/${random.pick(names)}`,
        );
      }
      all.deliverAll(random);
      // Who was told that there is no host gives nothing back here, so what is held is at most what there is.
      const used = new Map<string, number>();
      for (const [id, provider] of all.shard.state.providers) used.set(id, provider.stocks.get('VCPU')?.used ?? 0);
      for (const [id, amount] of used) assert.ok(amount <= 8, `${id} has ${amount} of 8 in use`);
      const held = new Map<string, string>();
      for (const [consumer, { held: attempts }] of all.shard.state.consumers.holding) {
        assert.is(attempts.length, 1, `${consumer} has one home`);
        held.set(consumer, attempts[0]?.allocations[0]?.provider ?? '');
      }
      let refused = 0;
      for (const request of requests) {
        const mine = all.answers.filter((answer) => answer.request === request);
        assert.is(mine.length, 1, `${request} is answered once`);
        const [answer] = mine;
        if (answer?.type !== 'selected') {
          refused += 1;
          continue;
        }
        const claimed = new Set(answer.selections.map(({ selection }) => selection.provider));
        assert.is(answer.selections.length, wants.get(request));
        for (const { instance, selection, alternates } of answer.selections) {
          assert.is(held.get(instance), selection.provider, 'it has what it was told that it has');
          assert.is(new Set(alternates.map(({ provider }) => provider)).size, alternates.length, 'distinct');
          assert.ok(alternates.every(({ cell }) => cell === selection.cell));
          assert.ok(alternates.every(({ provider }) => provider !== selection.provider));
          const isShared = alternates.map(({ provider }) => claimed.has(provider));
          const inCell = answer.selections.filter((one) => one.selection.cell === selection.cell);
          const others = new Set(inCell.flatMap((one) => one.alternates.map(({ provider }) => provider)));
          for (const one of claimed) others.delete(one);
          // With one for each that the request has not claimed, those that it has come last.
          if (others.size >= inCell.length) assert.equal(isShared, [...isShared].sort());
        }
      }
      assert.ok(refused > 0, 'there was not enough for all');
      const free = [...used.values()].some((amount) => amount < 8);
      if (free) {
        // A request that fits is granted still, whatever the pictures of the schedulers were.
        const last = all.choose(selectFor('last'));
        assert.is(last?.type, 'selected', chosenIn(last));
        granted += 1;
      }
      return true;
    }),
    { numRuns: 15 },
  );
  assert.ok(granted > 0, 'in some runs something is free in the end');
});

test('placing - schedulers that pick among several run into each other less', () => {
  const conflictsWith = (pickAmong: number) => {
    const random = seededRandom(7);
    const hosts = Array.from({ length: 40 }, (_, n) => ({ host: `h${n}`, has: { VCPU: 100 + n } }));
    const names = ['s1', 's2', 's3', 's4'];
    const all = schedulersOf(
      hosts,
      names.map((name) => ({ name, pickAmong })),
    );
    // Each host has room for one, and all agree which is the best; nobody is told of a claim before all have claimed.
    for (let n = 0; n < 20; n += 1)
      all.hear(selectFor(`r${n}`, { vcpu: 60, alternates: 0 }), `scheduler/${names[n % 4]}`);
    all.deliver(random);
    assert.is(all.answers.filter(({ type }) => type === 'selected').length, 20);
    return all.desks.reduce((sum, { state }) => sum + state.conflicts, 0);
  };
  const [alike, apart] = [conflictsWith(1), conflictsWith(20)];
  assert.ok(apart < alike / 2, `${apart} conflicts instead of ${alike}`);
});

test('placing - several that fail at once have different alternates to turn to, of any scheduler', () => {
  const hosts = Array.from({ length: 30 }, (_, n) => ({
    cell: n < 20 ? 'c1' : 'c2',
    host: `h${n}`,
    has: { VCPU: 20 },
  }));
  const all = schedulersOf(hosts);
  const instances = ['m-0', 'm-1', 'm-2', 'm-3', 'm-4'];
  const answer = all.choose(selectFor('m', { instances, alternates: 3 }));
  const selections = answer?.type === 'selected' ? answer.selections : [];
  for (const cell of ['c1', 'c2']) {
    const first = selections
      .filter(({ selection }) => selection.cell === cell)
      .flatMap(({ alternates }) => alternates.map(({ host }) => host));
    const there = cell === 'c1' ? 20 : 10;
    const claimed = new Set(
      selections.filter(({ selection }) => selection.cell === cell).map(({ selection }) => selection.host),
    );
    assert.is(new Set(first).size, Math.min(first.length, there - claimed.size));
  }
});

test.run();
