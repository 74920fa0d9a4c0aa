// Area: scheduler, several instances for some of which there is room: which resource runs out first is said, in the message
// of the failure, in its record and by a dry run, and what is advised is so.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceGroup, RequestSpec } from '../../actors/messages/common.ts';
import type { Fitted } from '../../actors/messages/questions.ts';
import { unpackDecision } from '../../actors/messages/stored-decision.ts';
import { makeProvider, type Provider } from '../../actors/placement/providers.ts';
import { roomWords } from '../../actors/scheduler/explaining/explain.ts';
import { runningOut, runsOutWords } from '../../actors/scheduler/explaining/running-out.ts';
import { buildLimit, instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { seededRandom } from '../../runtime/random.ts';
import { type HostWords, viewOf } from '../support/facts.ts';
import { named, schedulersOf, selectFor } from '../support/schedulers.ts';
import { applied, survey } from '../support/survey.ts';

const test = suite('scheduler - what runs out');

const specOf = (resources: Readonly<Record<string, number>>, instanceGroup?: InstanceGroup): RequestSpec => ({
  groups: [{ name: '', resources }],
  groupPolicy: 'none',
  ...(instanceGroup === undefined ? {} : { instanceGroup }),
});

const provider = (id: string, parent: string | null, has: Readonly<Record<string, number>>, max_unit = 100) => {
  const units = { reserved: 0, min_unit: 1, max_unit, step_size: 1, allocation_ratio: 1 };
  const inventories = Object.fromEntries(Object.entries(has).map(([name, total]) => [name, { total, ...units }]));
  return makeProvider({ id, name: id, parent, inventories, traits: [], aggregates: [] }, 'h1');
};

/** What runs out on a host after so many instances. */
function outOf(spec: RequestSpec, tree: readonly Provider[], instances: number) {
  const steps = runningOut(spec, [{ tree, instances, rules: [] }]);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

function failureOn(hosts: readonly HostWords[], spec: RequestSpec, count: number) {
  const on = schedulersOf(hosts);
  on.choose({ ...selectFor('r', { instances: named(count) }), spec });
  for (let passed = 0; passed < 1_000 && on.answers.length === 0; passed += 100) {
    on.run(100);
  }
  const [answer] = on.answers;
  assert.ok(answer?.type === 'no-valid-host');
  return { reason: answer.reason, runsOut: unpackDecision(JSON.parse(answer.decision ?? '')).runsOut };
}

const SMALL = { VCPU: 2, MEMORY_MB: 1_024 };

test('what runs out - one class on all hosts that have room for some', () => {
  const hosts = [
    { host: 'h1', has: { VCPU: 64, MEMORY_MB: 4_096 } },
    { host: 'h2', has: { VCPU: 64, MEMORY_MB: 3_500 } },
    { host: 'h3', has: { VCPU: 1, MEMORY_MB: 64_000 } },
  ];
  const { reason, runsOut } = failureOn(hosts, specOf(SMALL), 10);
  assert.match(reason, /; room for 7 of 10 instances: c1\/h1 \(4\), c1\/h2 \(3\); MEMORY_MB runs out after 7 of 10; /);
  assert.match(reason, /after 7 of 10; 7 instances instead of 10 would fit$/);
  assert.equal(runsOut, { instances: 7, of: 10, hosts: 2, classes: [{ about: 'MEMORY_MB', hosts: 2 }] });
});

test('what runs out - of two classes that run out on different hosts, or at once, both are said', () => {
  const hosts = [
    { host: 'h1', has: { VCPU: 64, MEMORY_MB: 2_048 } },
    { host: 'h2', has: { VCPU: 5, MEMORY_MB: 64_000 } },
    { host: 'h3', has: { VCPU: 4, MEMORY_MB: 2_048 } },
  ];
  const { reason, runsOut } = failureOn(hosts, specOf(SMALL), 10);
  assert.match(reason, /; MEMORY_MB \(on 2 of 3 hosts\) and VCPU \(on 2\) run out after 6 of 10; /);
  const classes = [
    { about: 'MEMORY_MB', hosts: 2 },
    { about: 'VCPU', hosts: 2 },
  ];
  assert.equal(runsOut, { instances: 6, of: 10, hosts: 3, classes });
});

test('what runs out - of those that keep together it is what the host with most room lacks for the next one', () => {
  const hosts = [
    { host: 'h1', has: { VCPU: 64, MEMORY_MB: 4_096 } },
    { host: 'h2', has: { VCPU: 2, MEMORY_MB: 64_000 } },
  ];
  const { reason, runsOut } = failureOn(hosts, specOf(SMALL, { id: 'p/g', policy: 'affinity' }), 6);
  assert.match(reason, /nearest c1\/h1: room for all but 2 of the instances; MEMORY_MB runs out after 4 of 6; /);
  assert.equal(runsOut, { instances: 4, of: 6, hosts: 1, classes: [{ about: 'MEMORY_MB', hosts: 1 }] });
});

test('what runs out - a rule or a limit that lets in no more is said, with what else runs out there and on other hosts', () => {
  const has = { VCPU: 64, MEMORY_MB: 64_000 };
  const apart = specOf(SMALL, { id: 'p/g', policy: 'anti-affinity', maxPerHost: 2 });
  const ofRule = failureOn(
    [
      { host: 'h1', has },
      { host: 'h2', has },
    ],
    apart,
    5,
  );
  assert.match(
    ofRule.reason,
    /; room for 4 of 5 instances: .*; the rule of its instance group lets in no more after 4 of 5; /,
  );
  const rules = [{ code: 'group-anti-affinity', hosts: 2 }];
  assert.equal(ofRule.runsOut, { instances: 4, of: 5, hosts: 2, classes: [], rules });
  const mixed = failureOn(
    [
      { host: 'h1', has },
      { host: 'h2', has: { ...has, VCPU: 3 } },
    ],
    apart,
    5,
  );
  const both =
    'VCPU (on 1 of 2 hosts) runs out after 3 of 5, and the rule of its instance group (on 1) lets in no more';
  assert.ok(mixed.reason.includes(`; ${both}; `), mixed.reason);
  const single = specOf(SMALL, { id: 'p/g', policy: 'anti-affinity' });
  const one = failureOn(
    ['h1', 'h2', 'h3'].map((host) => ({ host, has: SMALL })),
    single,
    5,
  );
  // A host that holds exactly one would hold no more of them if it were larger, nor if the rule let it.
  const classes = ['MEMORY_MB', 'VCPU'].map((about) => ({ about, hosts: 3 }));
  assert.equal(one.runsOut, {
    instances: 3,
    of: 5,
    hosts: 3,
    classes,
    rules: [{ code: 'group-anti-affinity', hosts: 3 }],
  });

  const filters = [instanceLimit(3), buildLimit(3)];
  const on = schedulersOf([{ host: 'h1', has }], [{ name: 's', filters }]);
  on.hear({ type: 'fit', ask: 1, spec: specOf(SMALL), count: 5, limit: 1 });
  on.deliver();
  const { times, runsOut } = on.answers[0] as unknown as Fitted;
  assert.equal(
    [times, runsOut?.rules],
    [3, ['too-many-builds', 'too-many-instances'].map((code) => ({ code, hosts: 1 }))],
  );
});

test('what runs out - groups that share a subtree may be left without one though there is enough of all they ask for', () => {
  const nodes = [provider('n1', 'h1', { VCPU: 4 }), provider('n2', 'h1', { VCPU: 4 })];
  const tree = [provider('h1', null, { DISK_GB: 10 }), ...nodes, provider('gpu', 'n1', { VGPU: 4 })];
  const groups = [
    { name: 'm', resources: { VCPU: 2 } },
    { name: 'g', resources: { VGPU: 1 } },
  ];
  const spec: RequestSpec = { groups, groupPolicy: 'none', sameSubtree: [['m', 'g']] };
  // The other node has processors, and no GPU.
  assert.equal(outOf(spec, tree, 2), { classes: [], rules: [{ code: 'not-one-subtree', hosts: 1 }] });
});

test('what runs out - a class of which only a provider is left that gives it in other amounts', () => {
  const tree = [
    provider('h1', null, { VCPU: 12 }),
    provider('n1', 'h1', { MEMORY_MB: 6 }),
    provider('n2', 'h1', { MEMORY_MB: 12 }, 2),
  ];
  const told = { classes: [{ about: 'MEMORY_MB', hosts: 1 }] };
  assert.equal(outOf(specOf({ VCPU: 2, MEMORY_MB: 6 }), tree, 1), told);
  const groups = ['a', 'b'].map((name) => ({ name, resources: { MEMORY_MB: 3 } }));
  assert.equal(outOf({ groups, groupPolicy: 'none' }, tree, 1), told, 'which is said once of a host');
});

test('what runs out - a dry run says it, and not where all fit, one is asked for, or none fits', () => {
  const view = viewOf({ host: 'h1', has: { VCPU: 8, MEMORY_MB: 64_000 } });
  const runsOutOf = (vcpu: number, count: number) => survey(view, specOf({ VCPU: vcpu, MEMORY_MB: 1 }), count).runsOut;
  assert.equal(runsOutOf(3, 5), { instances: 2, of: 5, hosts: 1, classes: [{ about: 'VCPU', hosts: 1 }] });
  assert.equal([runsOutOf(1, 8), runsOutOf(9, 1), runsOutOf(9, 2)], [undefined, undefined, undefined]);
});

test('what runs out - a class of the devices below a host', () => {
  const view = viewOf({ host: 'h1', has: { VCPU: 64, VGPU: 4 } });
  const groups = [
    { name: '', resources: { VCPU: 1 } },
    { name: 'gpu', resources: { VGPU: 2 } },
  ];
  const { runsOut } = survey(view, { groups, groupPolicy: 'none' }, 3);
  assert.equal(runsOut, { instances: 2, of: 3, hosts: 1, classes: [{ about: 'VGPU', hosts: 1 }] });
});

test('what runs out - of hosts with room that are not named it is said how many they are', () => {
  const named = [{ cell: 'c1', host: 'h1', instances: 4 }];
  const told = (hosts: number) => roomWords({ instances: 7, of: 10, hosts, named });
  assert.is(told(1), 'room for 7 of 10 instances: c1/h1 (4)');
  assert.is(told(2), 'room for 7 of 10 instances: c1/h1 (4) and 1 more host');
  assert.is(told(3), 'room for 7 of 10 instances: c1/h1 (4) and 2 more hosts');
});

test('what runs out - in words, by how many hosts', () => {
  const wordsOf = (hosts: number, ...classes: [string, number][]) =>
    runsOutWords({ instances: 7, of: 10, hosts, classes: classes.map(([about, some]) => ({ about, hosts: some })) });
  assert.is(wordsOf(5, ['VCPU', 5]), 'VCPU runs out after 7 of 10');
  assert.is(wordsOf(5, ['VCPU', 2]), 'VCPU (on 2 of 5 hosts) runs out after 7 of 10');
  assert.is(wordsOf(1, ['VCPU', 1], ['VGPU', 1]), 'VCPU and VGPU run out after 7 of 10');
  assert.is(
    wordsOf(5, ['VCPU', 5], ['VGPU', 3], ['DISK_GB', 1]),
    'VCPU, VGPU (on 3 of 5 hosts) and DISK_GB (on 1) run out after 7 of 10',
  );
  const rulesOf = (...rules: [string, number][]) =>
    runsOutWords({
      instances: 7,
      of: 10,
      hosts: 5,
      classes: [],
      rules: rules.map(([code, hosts]) => ({ code, hosts })),
    });
  assert.is(rulesOf(['too-many-builds', 5]), 'the limit on builds lets in no more after 7 of 10');
  assert.is(
    rulesOf(['not-one-subtree', 3], ['too-many-instances', 2]),
    'the wish that its groups share a subtree (on 3 of 5 hosts) and the limit on instances (on 2) let in no more after 7 of 10',
  );
});

test('what runs out - by chance: more of what runs out lets more in, more of all else does not, and advice is so', () => {
  const random = seededRandom(7);
  const below = (most: number) => Math.floor(random.next() * most);
  const CLASSES = ['VCPU', 'MEMORY_MB', 'DISK_GB'];
  let told = 0;
  for (let seed = 0; seed < 300; seed += 1) {
    const has = () => Object.fromEntries(CLASSES.map((name) => [name, 1 + below(24)]));
    const hosts: HostWords[] = Array.from({ length: 1 + below(4) }, (_, n) => ({ host: `h${n}`, has: has() }));
    const spec = specOf(Object.fromEntries(CLASSES.map((name) => [name, 1 + below(6)])));
    const count = 2 + below(30);
    const { times, runsOut, advice } = survey(viewOf(...hosts), spec, count);
    assert.is(runsOut !== undefined, times > 0 && times < count, `seed ${seed}`);
    if (runsOut === undefined) continue;
    told += 1;
    const out = runsOut.classes.map(({ about }) => about);
    const roomWith = (more: readonly string[]) => {
      const added = Object.fromEntries(more.map((name) => [name, 1_000]));
      // Hosts without room for any are none of those that are told of.
      const some = hosts.filter((one) => survey(viewOf(one), spec, 1).times > 0);
      return survey(viewOf(...some.map((one) => ({ ...one, has: { ...one.has, ...added } }))), spec, 1_000).times;
    };
    assert.ok(roomWith(out) > times, `seed ${seed}`);
    assert.is(roomWith(CLASSES.filter((name) => !out.includes(name))), times, `seed ${seed}`);
    for (const one of advice) {
      const changed = one.code === 'fewer-instances' ? undefined : applied(spec, one);
      if (changed !== undefined) assert.ok(survey(viewOf(...hosts), changed, count).times >= count, `seed ${seed}`);
    }
  }
  assert.ok(told > 100, `${told} told`);
});

test('what runs out - what runs out on most hosts is said first', () => {
  const hosts = [
    { host: 'h1', has: { VCPU: 5, MEMORY_MB: 64_000 } },
    { host: 'h2', has: { VCPU: 64, MEMORY_MB: 2_048 } },
    { host: 'h3', has: { VCPU: 5, MEMORY_MB: 64_000 } },
  ];
  const { reason } = failureOn(hosts, specOf(SMALL), 10);
  assert.match(reason, /; VCPU \(on 2 of 3 hosts\) and MEMORY_MB \(on 1\) run out after 6 of 10; /);
});

test.run();
