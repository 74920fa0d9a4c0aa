// Area: scheduler, several at once and those that wait for others. Limits on instances count wherever room is counted,
// what stands in the way is said truly, and whoever waits is tried when what was in its way is gone, wherever that was.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceGroup, RequestSpec } from '../../actors/messages/common.ts';
import type { Fitted } from '../../actors/messages/questions.ts';
import type { SchedulerMessage } from '../../actors/messages/scheduler.ts';
import { unpackDecision } from '../../actors/messages/stored-decision.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { buildLimit, instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { OUTWAITS_MS } from '../../actors/scheduler/rivals.ts';
import type { SchedulerState } from '../../actors/scheduler/state.ts';
import { MAX_CLAIMS_PER_SELECTION } from '../../machines/selection.ts';
import type { HostWords } from '../support/facts.ts';
import { chosenIn, named, schedulersOf, selectFor } from '../support/schedulers.ts';
import { sentOf } from '../support/turn.ts';

const test = suite('scheduler - several');

type On = ReturnType<typeof schedulersOf>;
type Failure = { reason: string; decision: string };

/** What a dry run answers. */
function fitted(on: On, vcpu: number, count: number, spec = selectFor('any', { vcpu }).spec) {
  const before = on.answers.length;
  on.hear({ type: 'fit', ask: 1, spec, count, limit: 3 });
  on.run(500, 100);
  return on.answers[before] as unknown as Fitted;
}

const claimed = (on: On): number =>
  (on.shard.entries.flat() as { type: string }[]).filter(({ type }) => type === 'claimed').length;
const grouped = (group: InstanceGroup, vcpu: number) => ({
  ...selectFor('any', { vcpu }).spec,
  instanceGroup: group,
});

test('scheduler - of several that find no hosts for all where they may be, none is claimed in vain', () => {
  const keptOut: Filter<string> = {
    name: 'kept-out',
    late: true,
    goesBy: ({ where }) => where?.hints?.keptOut,
    refusal: ({ cell }, kept) => (cell === kept ? { code: 'kept-out', message: `cell '${cell}' is kept` } : null),
  };
  const hosts = [1, 2, 3, 4, 5].map((n): HostWords => ({ host: `h${n}`, cell: n < 3 ? 'c1' : 'c2', has: { VCPU: 8 } }));
  const wheres = [{ cells: ['c1'] }, { cells: ['c1', 'c1'] }, { avoidCells: ['c2'] }, { hints: { keptOut: 'c2' } }];
  for (const where of wheres) {
    const on = schedulersOf(hosts, [{ name: 's', filters: [keptOut as Filter] }]);
    on.hear(selectFor('r', { vcpu: 8, instances: named(3), where }));
    on.run(3_000, 100);
    assert.match(chosenIn(on.answers[0]), /^no /, JSON.stringify(where));
    assert.is(claimed(on), 0, JSON.stringify(where));
  }
  const apart = grouped({ id: 'p/g', policy: 'anti-affinity', maxPerHost: 1 }, 1);
  const on = schedulersOf(hosts);
  for (const n of [3, 4, 5]) on.take(`member-${n}`, `h${n}`, 1, { spec: apart });
  on.deliver();
  on.hear(selectFor('r', { spec: apart, instances: named(3) }));
  on.run(3_000, 100);
  assert.match(chosenIn(on.answers[0]), /^no /);
  assert.is(claimed(on), 3, 'the members that were there');
});

test('scheduler - limits on instances count in a dry run', () => {
  const on = schedulersOf([{ host: 'h1' }, { host: 'h2' }], [{ name: 's', filters: [instanceLimit(1)] }]);
  const { times, best, advice } = fitted(on, 1, 5);
  assert.is(times, 2);
  assert.equal(
    best.map((one) => one.times),
    [1, 1],
  );
  assert.equal(advice, [
    { code: 'fewer-instances', from: 5, to: 2, hosts: 2 },
    { code: 'without-filter', about: 'instance-limit', hosts: 2, instances: 5 },
  ]);
});

test('scheduler - of a request that one change alone would not let in, the reason says that none is known', () => {
  const on = schedulersOf([{ host: 'h1' }, { host: 'h2' }], [{ name: 's' }]);
  const { spec } = selectFor('r', { vcpu: 1_000_000 });
  const [group] = spec.groups;
  const both = {
    ...spec,
    groups: [{ ...group, name: '', resources: { VCPU: 1_000_000 }, required: ['HW_GPU_API_VULKAN'] }],
  };
  on.choose({ ...selectFor('r'), spec: both });
  on.run(1_000, 100);
  const [answer] = on.answers as { type: string; reason?: string }[];
  assert.is(answer?.type, 'no-valid-host');
  assert.match(answer?.reason ?? '', /^none of 2 hosts: .*; no single change is known with which it would fit$/);
});

test('scheduler - the nearest host is one that lacks nothing else, if there is one', () => {
  const small = { cell: 'c1', host: 'h1', has: { VCPU: 8, MEMORY_MB: 4_096 } };
  const large = { cell: 'c2', host: 'h2', has: { VCPU: 4, MEMORY_MB: 8_192 } };
  const { spec } = selectFor('r');
  const asked = { ...spec, groups: [{ name: '', resources: { VCPU: 12, MEMORY_MB: 6_000 } }] };
  const reasonOn = (...hosts: (typeof small)[]) => {
    const on = schedulersOf(hosts, [{ name: 's' }]);
    on.choose({ ...selectFor('r'), spec: asked });
    on.run(1_000, 100);
    return (on.answers[0] as { reason?: string }).reason;
  };
  const none = 'exceeds-capacity VCPU; nearest';
  assert.is(
    reasonOn(small, large),
    `none of 2 hosts: 2 ${none} c2/h2: 12 VCPU exceed what is free on provider 'h2': 4 (short by 8); ` +
      'no host can give more than 8 VCPU even when empty (12 asked of one); with 8 VCPU less (4 instead of 12) it would fit on 1 host',
  );
  assert.is(
    reasonOn(small),
    `none of 1 host: 1 ${none} c1/h1: 12 VCPU exceed what is free on provider 'h1': 8 (short by 4), ` +
      'and more stands in its way; no host can give more than 8 VCPU even when empty (12 asked of one); ' +
      'no host can give more than 4096 MEMORY_MB even when empty (6000 asked of one); no single change is known with which it would fit',
  );
  const nearestOf = (...hosts: (typeof small)[]) =>
    fitted(schedulersOf(hosts, [{ name: 's' }]), 12, 1, asked).refused[0]?.nearest;
  assert.equal(nearestOf(small, large), { cell: 'c2', host: 'h2', short: 8 }, 'a dry run says the same');
  assert.equal(nearestOf(small), { cell: 'c1', host: 'h1', short: 4, lacksMore: true });
});

test('scheduler - of hosts that are equally near the same one is named, in whatever order they were heard of', () => {
  const hosts = Array.from({ length: 20 }, (_, n) => ({ host: `h${n}`, has: { VCPU: n < 10 ? 8 : 6, MEMORY_MB: 64 } }));
  const { spec } = selectFor('r');
  const asking = (resources: Record<string, number>) => ({ ...spec, groups: [{ name: '', resources }] });
  // As many hosts lack the one as the other, and as large a part of it.
  const mixed = [
    { host: 'a', has: { VCPU: 6, MEMORY_MB: 100 } },
    { host: 'b', has: { VCPU: 12, MEMORY_MB: 50 } },
  ];
  for (const [all, asked] of [
    [hosts, asking({ VCPU: 12 })],
    [mixed, asking({ VCPU: 12, MEMORY_MB: 100 })],
  ] as const) {
    const told = [all, [...all].reverse(), [...all.slice(3), ...all.slice(0, 3)]].map((inOrder) => {
      const on = schedulersOf(inOrder, [{ name: 's' }]);
      on.choose({ ...selectFor('r'), spec: asked });
      on.run(1_000, 100);
      const { reason, decision } = on.answers[0] as Failure;
      const { refused } = unpackDecision(JSON.parse(decision));
      return { nearest: reason.replace(/.*; nearest (\S+):.*/, '$1'), refused, dry: fitted(on, 12, 1, asked).refused };
    });
    assert.match(told[0]?.nearest ?? '', /^c1\/[a-z0-9]+$/);
    assert.equal(told[1], told[0]);
    assert.equal(told[2], told[0]);
  }
});

test('scheduler - where hosts have room for some of a request, the nearest of the others lacks nothing else, too', () => {
  const traits = ['HW_GPU_API_VULKAN'];
  const some = { host: 'h1', has: { VCPU: 8 }, traits };
  const other = { host: 'h2', has: { VCPU: 6 } };
  const { spec } = selectFor('r');
  const asked = { ...spec, groups: [{ name: '', resources: { VCPU: 8 }, required: traits }] };
  const failureOn = (told: RequestSpec, ...hosts: HostWords[]) => {
    const on = schedulersOf(hosts, [{ name: 's' }]);
    on.choose({ ...selectFor('r', { instances: named(3) }), spec: told });
    on.run(1_000, 100);
    const { reason, decision } = on.answers[0] as Failure;
    const { fits, refused } = unpackDecision(JSON.parse(decision));
    assert.equal(refused, fitted(on, 8, 3, told).refused, 'a dry run says the same');
    return { reason, fits };
  };
  const none = 'of 2 hosts, 1 has room for some, 1 exceeds-capacity VCPU; nearest';
  const short = "c1/h2: 8 VCPU exceed what is free on provider 'h2': 6 (short by 2), and more stands in its way";
  assert.equal(failureOn(asked, some, other), {
    reason: `no room for 3 instances at once: ${none} ${short}; room for 1 of 3 instances: c1/h1 (1); VCPU runs out after 1 of 3; 1 instance instead of 3 would fit`,
    fits: 1,
  });
  const { reason, fits } = failureOn(asked, some, other, { ...other, host: 'h3', traits, has: { VCPU: 5 } });
  assert.match(
    reason,
    /; nearest c1\/h3: 8 VCPU exceed what is free on provider 'h3': 5 \(short by 3\); room for 1 of 3 instances: c1\/h1 \(1\); VCPU runs out after 1 of 3; 1 instance /,
  );
  assert.is(fits, 1);
});

test('scheduler - of a group that keeps together the nearest host is the one with room for most', () => {
  const traits = ['HW_GPU_API_VULKAN'];
  const on = schedulersOf(
    [
      { host: 'h1', has: { VCPU: 8 }, traits },
      { host: 'h2', has: { VCPU: 6 } },
    ],
    [{ name: 's' }],
  );
  const { spec } = selectFor('r');
  const groups = [{ name: '', resources: { VCPU: 8 }, required: traits }];
  const instanceGroup = { id: 'p/g', policy: 'affinity' } as const;
  on.choose({ ...selectFor('r', { instances: named(3) }), spec: { ...spec, groups, instanceGroup } });
  on.run(1_000, 100);
  assert.match(
    chosenIn(on.answers[0]),
    /none of 2 hosts: 1 exceeds-capacity VCPU, 1 no-room-together; nearest c1\/h1: room for all but 2 of the instances; /,
  );
});

test('scheduler - only of a group that keeps together it is said for how many there is room on the nearest host', () => {
  const own: Filter = { name: 'own', refusal: () => ({ code: 'no-room-together', message: 'mine', short: 7 }) };
  const on = schedulersOf([{ host: 'h1' }], [{ name: 's', filters: [own] }]);
  on.choose(selectFor('r'));
  on.run(1_000, 100);
  assert.match(chosenIn(on.answers[0]), /1 no-room-together; nearest c1\/h1: mine/);
});

test('scheduler - where the hosts that fit refused their claims, the nearest of the others lacks nothing else, too', () => {
  const traits = ['HW_GPU_API_VULKAN'];
  const on = schedulersOf([
    { host: 'h1', has: { VCPU: 8 }, traits },
    { host: 'h2', has: { VCPU: 6 } },
  ]);
  const groups = [{ name: '', resources: { VCPU: 8 }, required: traits }];
  on.hear({ ...selectFor('r'), spec: { ...selectFor('r').spec, groups } });
  const refusal = { code: 'too-many-instances', message: 'for now' } as const;
  for (let look = 1; look <= 2; look += 1) {
    on.hear({ type: 'claim-refused', consumer: 'r', attempt: 1, refusal, usages: [] }, 'scheduler/s', 'placement/0');
    on.deliver(undefined, ({ message }) => message.type !== 'claim');
    on.pass(OUTWAITS_MS.empty);
  }
  assert.match(
    chosenIn(on.answers[0]),
    /^none of 2 hosts: 1 refused the claim, 1 exceeds-capacity VCPU; nearest c1\/h2: .*\(short by 2\), and more stands in/,
  );
});

test('scheduler - several that wait, and that limits on instances cannot let in, claim nothing meanwhile', () => {
  const on = schedulersOf([{ host: 'h1' }, { host: 'h2' }], [{ name: 's', filters: [instanceLimit(1)] }]);
  on.choose(selectFor('r', { instances: named(5), waits: { since: 1 } }));
  on.run(20_000, 100);
  assert.equal(
    on.answers.map(({ type }) => type),
    ['parked'],
  );
  assert.is(claimed(on), 0);
  on.tellHost({ host: 'h3' });
  on.put({ host: 'h3' });
  on.run(5_000, 100);
  assert.is(on.choose(selectFor('s', { instances: named(3, 's'), waits: { since: 1 } }))?.type, 'selected');
});

test('scheduler - the record of one that had waited for its host says since when, and of one that had it at once nothing', () => {
  const on = schedulersOf([{ host: 'h1' }, { host: 'h2' }]);
  const { now = 0 } = on.desks[0] ?? {};
  const since = now - 60_000;
  const sinceOf = (answer: ReturnType<typeof on.choose>) => {
    if (answer?.type !== 'selected') throw new Error(JSON.stringify(answer));
    return unpackDecision(JSON.parse(answer.selections[0]?.decision ?? '')).waitedSince;
  };
  assert.is(sinceOf(on.choose(selectFor('waited', { waits: { since } }))), since);
  for (const [id, ago] of [
    ['for-a-second', 1_000],
    ['at-once', 999],
    ['may-wait', 0],
  ] as const) {
    const told = sinceOf(on.choose(selectFor(id, { waits: { since: now - ago } })));
    assert.is(told, ago < 1_000 ? undefined : now - ago, id);
  }
  assert.is(sinceOf(on.choose(selectFor('may-not'))), undefined);
});

test('scheduler - the limit of a filter is no condition of requests that the filter does not concern', () => {
  const own: Filter = {
    name: 'gpu-limit',
    goesBy: ({ project }) => (project === 'gpu' ? 'gpu' : undefined),
    refusal: () => null,
    mostInstances: () => 0,
  };
  const on = schedulersOf([{ host: 'h1' }], [{ name: 's', filters: [own] }]);
  assert.is(chosenIn(on.choose(selectFor('plain'))), 'h1');
  assert.is(on.choose(selectFor('gpu', { project: 'gpu' }))?.type, 'no-valid-host');
});

test('scheduler - of a group that keeps together, hosts with room for some are told to be that', () => {
  const on = schedulersOf([{ host: 'h1' }, { host: 'h2' }, { host: 'h3' }]);
  const spec = grouped({ id: 'p/g', policy: 'affinity' }, 4);
  on.choose(selectFor('r', { instances: named(3), spec }));
  on.run(1_000, 100);
  const answer = on.answers[0];
  assert.is(answer?.type, 'no-valid-host');
  assert.match(chosenIn(answer), /none of 3 hosts: 3 no-room-together/);
  assert.match(chosenIn(answer), /; 2 instances instead of 3 would fit$/);
});

test("scheduler - a request for more instances than there is room for claims nothing, and is in nobody's way", () => {
  const told: Parameters<typeof selectFor>[1][] = [
    {},
    { ordered: true },
    { ordered: true, round: 2 },
    { tree: { notHeldBy: ['another'] } },
    { ordered: true, tree: { notHeldBy: ['another'] } },
  ];
  for (const more of told) {
    for (const isCellUntold of [false, true]) {
      const on = schedulersOf([{ host: 'h1' }, { host: 'h2' }]);
      const beat: SchedulerMessage = { type: 'hosts-changed', cell: 'c2', epoch: 1, sequence: 0, hosts: [] };
      if (isCellUntold) on.hear(beat, 'scheduler/s', 'cell/c2');
      on.hear(selectFor('r', { instances: named(3), vcpu: 8, ...more }));
      on.hear(selectFor('small', { vcpu: 8 }));
      on.deliver(undefined, ({ message }) => message.type !== 'list-hosts');
      const answerTo = (request: string) => on.answers.find((answer) => answer.request === request);
      assert.is(answerTo('small')?.type, 'selected');
      if (isCellUntold) assert.is(answerTo('r'), undefined, 'there may be more hosts');
      on.run(5_000, 100);
      const none = /^no room for 3 instances at once: of 2 hosts, .*; 1 instance instead of 3 would fit$/;
      assert.match(chosenIn(answerTo('r')), none);
      assert.is(claimed(on), 1);
    }
  }
});

test('scheduler - while a cell is untold, several without room are not looked at whenever something is told', () => {
  let looks = 0;
  const refusal: Filter['refusal'] = ({ host }) => {
    looks += 1;
    return host === 'h99' ? { code: 'own', message: 'not this one' } : null;
  };
  const counting: Filter = { name: 'counting', late: true, refusal };
  const hosts = Array.from({ length: 100 }, (_, n) => ({ host: `h${n}` }));
  const on = schedulersOf(hosts, [{ name: 's', filters: [counting] }]);
  on.hear({ type: 'hosts-changed', cell: 'c2', epoch: 1, sequence: 0, hosts: [] }, 'scheduler/s', 'cell/c2');
  on.hear(selectFor('r', { instances: named(100), vcpu: 8 }));
  const before = looks;
  assert.ok(before >= 99);
  for (let told = 0; told < 20; told += 1) on.tellHost({ host: 'h0', instances: told });
  assert.ok(looks < 2 * before, `${looks} looks after ${before}`);
  on.run(5_000, 100);
  assert.match(chosenIn(on.answers[0]), /^no room for 100 instances at once/);
});

test('scheduler - of a request for several, another of which was quicker, those with a host are said to count as used', () => {
  const hosts = ['h1', 'h2', 'h3'].map((host) => ({ host }));
  for (const [count, words] of [
    [
      2,
      'only 1 of 3 instances had been given a host, which is counted as used here: none of 3 hosts: 3 exceeds-capacity VCPU',
    ],
    [
      1,
      'only 2 of 3 instances had been given hosts, which are counted as used here: none of 3 hosts: 3 exceeds-capacity VCPU',
    ],
  ] as const) {
    const on = schedulersOf(hosts, [{ name: 's' }, { name: 't' }]);
    on.hear(selectFor('first', { instances: named(count, 'first'), vcpu: 8 }), 'scheduler/t');
    on.hear(selectFor('r', { instances: named(3), vcpu: 8 }));
    on.deliverAll();
    const answer = on.answers.find(({ request }) => request === 'r') as Failure;
    assert.ok(answer.reason.startsWith(words), answer.reason);
    assert.match(answer.reason, `; room for ${3 - count} of 3 instances: c1/h`);
    const { room, advice, claimsRefused, refusedClaims } = unpackDecision(JSON.parse(answer.decision));
    assert.equal(advice, [
      { code: 'fewer-instances', from: 3, to: 3 - count, hosts: 3 - count },
      { code: 'with-wait', hosts: count, instances: 3 },
    ]);
    assert.match(
      answer.reason,
      /; with `wait` all 3 instances would be tried again when room comes free: \d hosts? had /,
    );
    // The record is of all of them: it tells of the claims of each.
    assert.equal([claimsRefused, new Set(refusedClaims.map(({ host }) => host)).size], [count, count]);
    assert.equal([room?.instances, room?.of, room?.hosts, room?.named.length], [3 - count, 3, 3 - count, 3 - count]);
  }
});

test('scheduler - one that others were quicker than is advised to ask again where hosts are left to try, or else to wait', () => {
  const failureOn = (hostCount: number, told: Parameters<typeof selectFor>[1] = {}) => {
    const hosts = Array.from({ length: hostCount }, (_, n) => ({ host: `h${n}` }));
    const on = schedulersOf(hosts, [{ name: 's' }, { name: 't' }]);
    on.hear(selectFor('first', { instances: named(hostCount, 'first'), vcpu: 8 }), 'scheduler/t');
    // Of what is taken `s` hears by the refusals of its claims alone.
    const deliver = () =>
      on.deliver(undefined, ({ message, to }) => message.type !== 'providers-changed' || to !== 'scheduler/s');
    deliver();
    on.hear(selectFor('late', { vcpu: 8, ...told }));
    for (let passed = 0; passed < 2_000; passed += 100) {
      deliver();
      on.pass(100);
    }
    const { reason, decision } = on.answers.find(({ request }) => request === 'late') as Failure;
    return { reason, advice: unpackDecision(JSON.parse(decision)).advice.filter(({ code }) => code !== 'less') };
  };
  const waits = failureOn(2);
  assert.equal(waits.advice, [
    { code: 'when-empty', hosts: 2, named: ['c1/h0', 'c1/h1'] },
    { code: 'with-wait', hosts: 2 },
  ]);
  assert.match(
    waits.reason,
    /; with `wait` it would be tried again when room comes free: 2 hosts had none left when claimed$/,
  );
  assert.equal(failureOn(20).advice, [
    { code: 'when-empty', hosts: 20, named: ['c1/h0', 'c1/h1', 'c1/h10'] },
    { code: 'with-wait', hosts: 8, partly: true },
  ]);
  const again = failureOn(MAX_CLAIMS_PER_SELECTION + 3);
  assert.equal(again.advice, [{ code: 'ask-again', hosts: 3 }], 'it has tried for as long as it may');
  assert.match(
    again.reason,
    /: exceeds-capacity: .*; asked for again, it would have 3 hosts to try that fit as far as is known$/,
  );
});

test('scheduler - of a request that has room for some it is said on which hosts, the first few, those with most first', () => {
  const failureOn = (...rooms: number[]) => {
    const on = schedulersOf(
      rooms.map((VCPU, n) => ({ host: `h${n}`, has: { VCPU } })),
      [{ name: 's' }],
    );
    on.choose(selectFor('r', { instances: named(50), vcpu: 2 }));
    on.run(1_000, 100);
    const { reason, decision } = on.answers[0] as Failure;
    return { reason, room: unpackDecision(JSON.parse(decision)).room };
  };
  const few = failureOn(3, 1, 4);
  assert.match(
    few.reason,
    /; room for 3 of 50 instances: c1\/h2 \(2\), c1\/h0 \(1\); VCPU runs out after 3 of 50; 3 instances instead of 50 /,
  );
  assert.equal(few.room, {
    instances: 3,
    of: 50,
    hosts: 2,
    named: [
      { cell: 'c1', host: 'h2', instances: 2 },
      { cell: 'c1', host: 'h0', instances: 1 },
    ],
  });
  const many = failureOn(2, 2, 4, 2, 8, 6, 2);
  const first = 'room for 13 of 50 instances: c1/h4 (4), c1/h5 (3), c1/h2 (2), c1/h';
  assert.ok(many.reason.includes(first), many.reason);
  assert.match(many.reason, / and 2 more hosts; VCPU runs out after 13 of 50; 13 instances instead of 50 /);
  assert.equal([many.room?.hosts, many.room?.named.length], [7, 5]);
  assert.is(failureOn(1, 1).room, undefined);
});

test('scheduler - where claims are in order, too, no host is said to be full before the claims of others there are answered', () => {
  const on = schedulersOf([{ host: 'h1' }], [{ name: 's' }, { name: 't' }]);
  on.hear(selectFor('first', { vcpu: 1 }), 'scheduler/t');
  on.hear(selectFor('large', { vcpu: 8 }));
  on.hear(selectFor('small', { vcpu: 4, ordered: true }));
  on.deliverAll();
  const typeOf = (request: string) => on.answers.find((answer) => answer.request === request)?.type;
  assert.is(typeOf('large'), 'no-valid-host', 'the other scheduler was quicker');
  assert.is(typeOf('small'), 'selected', 'what the large one had been counted to take is free');
});

test('scheduler - one waits for the claims of others for as long, whenever it began to, and not for ever', () => {
  const waitsFor = (begunMs: number, ordered: { ordered?: true }) => {
    const begun = `begun after ${begunMs} ms${ordered.ordered === true ? ', in order' : ''}`;
    const on = schedulersOf([{ host: 'h1' }], [{ name: 's' }, { name: 't' }]);
    on.hear(selectFor('first', { vcpu: 1 }), 'scheduler/t');
    on.hear(selectFor('large', { vcpu: 8 }));
    const isLate = (letter: { message: object }) => 'consumer' in letter.message && letter.message.consumer === 'large';
    on.hear(selectFor('small', { vcpu: 4, ...ordered }));
    on.pass(begunMs);
    on.deliver(undefined, (letter) => !isLate(letter));
    on.run(500, 500, (letter) => !isLate(letter));
    const typeOf = (request: string) => on.answers.find((answer) => answer.request === request)?.type;
    assert.is(typeOf('small'), undefined, begun);
    if (begunMs % 100 === 0) {
      on.deliver();
      assert.is(typeOf('small'), 'selected', begun);
    } else {
      on.run(10_000, 100, (letter) => !isLate(letter));
      assert.is(typeOf('small'), 'no-valid-host', `nobody answers; ${begun}`);
    }
  };
  for (let begunMs = 0; begunMs <= 1_000; begunMs += 50) {
    waitsFor(begunMs, {});
    waitsFor(begunMs, { ordered: true });
  }
});

test('scheduler - however many wait for the claims of others, each of those is not looked at for each of them', () => {
  const on = schedulersOf([{ host: 'h1', has: { VCPU: 50 } }]);
  const { state } = on.desks[0] as { state: SchedulerState };
  let looked = 0;
  const { values } = Object.getPrototypeOf(state.open);
  state.open.values = () => {
    looked += state.open.size;
    return values.call(state.open);
  };
  for (const request of [...named(50, 'first'), ...named(50, 'late')]) {
    on.hear(selectFor(request, { ordered: true }));
    on.deliver(undefined, ({ message }) => message.type === 'take');
  }
  assert.ok(looked <= 200, `${looked} were looked at`);
  assert.equal([state.awaitingClaims.size, state.claims.size, on.answers.length], [50, 50, 0]);
  assert.is(on.selecting.size, 50, 'each is told to be under way, lest it is asked for once more meanwhile');
  on.deliver(undefined, ({ message }) => message.type === 'claim');
  on.run(5_000, 100);
  const count = (type: string) => on.answers.filter((answer) => answer.type === type).length;
  assert.equal([count('selected'), count('no-valid-host')], [50, 50]);
  assert.equal([state.awaitingClaims.size, state.claims.size, state.open.size], [0, 0, 0]);
});

test('scheduler - those that wait for a claim that nobody answers are not looked at in every turn', () => {
  const on = schedulersOf([{ host: 'h1' }]);
  const { state } = on.desks[0] as { state: SchedulerState };
  on.hear(selectFor('first', { vcpu: 8 }));
  const isUnanswered = ({ message }: { message: object }) => 'consumer' in message && message.consumer === 'first';
  let looked = 0;
  const { get } = Object.getPrototypeOf(state.open);
  state.open.get = (key: string) => {
    looked += 1;
    return get.call(state.open, key);
  };
  for (const request of named(200, 'late')) {
    on.hear(selectFor(request));
    on.deliver(undefined, (letter) => !isUnanswered(letter));
  }
  assert.equal([state.awaitingClaims.size, on.answers.length], [200, 0]);
  assert.ok(looked <= 200 * 10, `${looked} were looked at`);
  on.deliver();
  on.run(10_000, 100);
  assert.is(on.answers.filter(({ type }) => type === 'no-valid-host').length, 200);
  assert.is(state.awaitingClaims.size, 0);
});

test('scheduler - one that begins to wait for a claim in the turn in which that is answered goes on at once', () => {
  const [desk] = schedulersOf([{ host: 'h1' }]).desks;
  assert.ok(desk);
  for (let generation = 1; generation <= 3; generation += 1) {
    const [claim] = sentOf(desk.tell(selectFor(`first-${generation}`), 'conductor/0'), 'claim');
    assert.ok(claim);
    const { consumer, attempt, allocations } = claim.message;
    const usages = [{ id: 'p-h1', generation, used: { VCPU: generation } }];
    const late = `late-${generation}`;
    const turned = desk.tellAll([
      { message: selectFor(late, { vcpu: 9 }), from: 'conductor/0' },
      { message: { type: 'nothing-held', consumer: late, attempt: 1 }, from: 'placement/0' },
      { message: { type: 'claim-granted', consumer, attempt, allocations, usages } as never, from: 'placement/0' },
    ]);
    assert.is(sentOf(turned, 'recall').length, 2, `asked again, the ${generation}. time`);
  }
});

test('scheduler - of a request that fails nothing more is claimed while it is found out why', () => {
  const small = Array.from({ length: 1_500 }, (_, n) => ({ host: `small-${n}`, has: { VCPU: 4 } }));
  for (const ordered of [{}, { ordered: true as const }]) {
    const on = schedulersOf([{ host: 'h1' }, ...small], [{ name: 's', patience: { firstMs: 2, mostMs: 2 } }]);
    on.choose(selectFor('full', { vcpu: 8 }));
    on.hear(selectFor('r', { instances: named(2), vcpu: 8, ...ordered }));
    on.deliver();
    assert.is(on.answers.length, 1, 'it looks at all hosts, which takes some turns');
    on.release('full');
    for (let turns = 0; turns < 20; turns += 1) {
      on.deliver();
      on.pass(2);
    }
    assert.is(on.answers[1]?.type, 'no-valid-host');
    assert.is(claimed(on), 1);
  }
});

test('scheduler - one that waits to join its group is tried elsewhere once the group is gone', () => {
  const on = schedulersOf([{ host: 'h1' }, { host: 'h2' }]);
  const group = { id: 'p/g', policy: 'affinity' } as const;
  const only = { tree: { oneOf: ['p-h1'] } };
  on.choose(selectFor('full', { vcpu: 4, ...only }));
  on.choose(selectFor('member', { spec: { ...grouped(group, 2), ...only } }));
  const waiting = selectFor('waiting', { spec: grouped(group, 8), waits: { since: 1 } });
  assert.is(on.choose(waiting)?.type, 'parked');
  on.release('member');
  on.run(3_000, 100);
  assert.is(chosenIn(on.answers.at(-1)), 'h2');
});

test('scheduler - one that waits to be apart from another is tried once that one is gone', () => {
  const on = schedulersOf([{ host: 'h1' }]);
  on.choose(selectFor('other', { vcpu: 2 }));
  const apart = selectFor('apart', { vcpu: 2, tree: { notHeldBy: ['other'] }, waits: { since: 1 } });
  assert.is(on.choose(apart)?.type, 'parked');
  const before = on.answers.length;
  on.run(10_000, 100);
  assert.is(on.answers.length, before, 'nothing is said while nothing changes');
  on.release('other');
  on.run(3_000, 100);
  assert.is(chosenIn(on.answers.at(-1)), 'h1');
});

test('scheduler - advice for several counts the hosts that fit already', () => {
  const on = schedulersOf([{ host: 'h1' }, { host: 'h2', state: 'disabled' }]);
  const { times, advice } = fitted(on, 2, 6);
  assert.is(times, 4);
  assert.equal(advice, [
    { code: 'fewer-instances', from: 6, to: 4, hosts: 1 },
    { code: 'less', group: '', about: 'VCPU', from: 2, to: 1, hosts: 1, instances: 6 },
    { code: 'host-state', about: 'disabled', hosts: 1, instances: 6, host: 'c1/h2' },
  ]);
});

test('scheduler - a host of another instance of the request is an alternate as far as limits on instances let it', () => {
  for (const [most, alternates] of [
    [1, [[], []]],
    [2, [['h2'], ['h1']]],
  ] as const) {
    const on = schedulersOf([{ host: 'h1' }, { host: 'h2' }], [{ name: 's', filters: [instanceLimit(most)] }]);
    on.choose(selectFor('r', { instances: named(2), alternates: 1 }));
    const homes = on.answers.flatMap((answer) => (answer.type === 'selected' ? answer.selections : []));
    homes.sort((one, other) => one.selection.host.localeCompare(other.selection.host));
    assert.equal(
      homes.map((one) => one.alternates.map(({ host, maxInstances }) => `${host}${maxInstances === most ? '' : '?'}`)),
      alternates,
    );
  }
});

test('scheduler - alternates of very many instances are different ones, as far as there are enough hosts', () => {
  const hosts = Array.from({ length: 1_300 }, (_, n) => ({ host: `h${n}` }));
  const on = schedulersOf(hosts);
  on.choose(selectFor('r', { instances: named(600), alternates: 1 }));
  const alternates = on.answers.flatMap((answer) =>
    answer.type === 'selected' ? answer.selections.flatMap((one) => one.alternates.map(({ host }) => host)) : [],
  );
  assert.equal([alternates.length, new Set(alternates).size], [600, 600]);
});

test('scheduler - where the rule of its group refuses one, what was claimed for the others counts as nobody being built', () => {
  const hosts = ['h1', 'h2', 'h3'].map((host) => ({ host }));
  const on = schedulersOf(hosts, [{ name: 's', filters: [buildLimit(1)] }]);
  const claim = { type: 'claim' as const, consumer: 'other', attempt: 1, keep: [], expiresAt: 1e11 };
  const allocations = [{ provider: 'p-h1', group: '', resources: { VCPU: 1 } }];
  on.ask({ ...claim, spec: grouped({ id: '/g', policy: 'anti-affinity', maxPerHost: 1 }, 1), allocations });
  const spec = grouped({ id: '/g', policy: 'anti-affinity', maxPerHost: 2 }, 1);
  on.hear(selectFor('r', { instances: named(3), spec }));
  on.run(3_000, 100);
  const [answer] = on.answers as unknown as Failure[];
  assert.match(
    answer?.reason ?? '',
    /^group-policy-conflict: .*; if they were not members of instance group 'g', all 3/,
  );
  const { refused } = unpackDecision(JSON.parse(answer?.decision ?? ''));
  assert.equal(
    refused.map(({ code, hosts: count }) => [code, count]),
    [['group-policy-conflict', 3]],
  );
});

test.run();
