// Area: placing words. What a request says of zones becomes conditions on aggregates, which let in exactly the hosts that
// it means: those of the default zone are in no aggregate of any zone.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Fingerprints, fingerprintsOf, isAskedAlike } from '../../actors/conductor/fingerprint.ts';
import type { TreeConditions } from '../../actors/messages/common.ts';
import type { Where } from '../../actors/messages/where.ts';
import { present } from '../../actors/present.ts';
import { type AggregateOptions, type Aggregates, aggregatesOf } from '../../runtime/aggregates.ts';
import { providerId } from '../../runtime/drivers/naming.ts';
import { MalformedError } from '../../runtime/errors.ts';
import { type Asked, askedOf, askedWords, type HostNames } from '../../runtime/gateway/asked.ts';
import { type PlacementRequest, placingNow, placingOf } from '../../runtime/gateway/placing.ts';
import { type BuildRequest, specOf } from '../../runtime/gateway/requests.ts';

const test = suite('placing words');

/** What requires nothing. */
const NOTHING = { groups: [] };
const ZONES = ['east', 'west', 'north'];
const AGGREGATES = {
  e1: { zone: 'east' },
  e2: { zone: 'east' },
  w1: { zone: 'west' },
  n1: { zone: 'north' },
  fast: {},
};
/** Hosts by their aggregates, each with its zone. */
const HOSTS: readonly (readonly [readonly string[], string])[] = [
  [['e1'], 'east'],
  [['e1', 'e2', 'fast'], 'east'],
  [['w1'], 'west'],
  [['n1', 'fast'], 'north'],
  [['fast'], 'nova'],
  [[], 'nova'],
];

function letsIn(placement: PlacementRequest, has: readonly string[]): boolean {
  const { memberOf = [], notMemberOf = [] } =
    placingOf(placement, { spec: NOTHING }, aggregatesOf(AGGREGATES, 'nova')).tree ?? {};
  return memberOf.every((list) => list.some((id) => has.includes(id))) && !notMemberOf.some((id) => has.includes(id));
}

test('placing words - zones to use and to avoid, the default one among them, let in the hosts of these zones', () => {
  fc.assert(
    fc.property(fc.subarray([...ZONES, 'nova']), fc.subarray([...ZONES, 'nova']), (zones, others) => {
      const avoidZones = others.filter((one) => !zones.includes(one));
      const placement = {
        ...(zones.length === 0 ? {} : { zones }),
        ...(avoidZones.length === 0 ? {} : { avoidZones }),
      };
      for (const [has, zone] of HOSTS) {
        const isMeant = (zones.length === 0 || zones.includes(zone)) && !avoidZones.includes(zone);
        assert.is(letsIn(placement, has), isMeant, `${JSON.stringify(placement)} ${has.join()}`);
      }
    }),
    { numRuns: 300 },
  );
});

test('placing words - what a request says twice, also within one list, is said once', () => {
  const said = {
    required: ['CUSTOM_A', 'CUSTOM_A'],
    anyOf: [['CUSTOM_B', 'CUSTOM_C', 'CUSTOM_B'], ['CUSTOM_C', 'CUSTOM_B'], ['CUSTOM_B']],
    memberOf: [
      ['r1', 'r1'],
      ['r2', 'r1', 'r2'],
    ],
  };
  const once = {
    required: ['CUSTOM_A'],
    anyOf: [['CUSTOM_C', 'CUSTOM_B'], ['CUSTOM_B']],
    memberOf: [['r1'], ['r2', 'r1']],
  };
  assert.equal(specOf({ id: 'web', resources: { VCPU: 1 }, ...said }).groups, [
    { name: '', resources: { VCPU: 1 }, ...once },
  ]);
});

test('placing words - what is kept for requests that require some traits is closed to those that lack one of them', () => {
  const aggregates = aggregatesOf({
    gpu: { traits: ['CUSTOM_GPU', 'CUSTOM_GPU'] },
    licensed: { traits: ['CUSTOM_OS', 'CUSTOM_LICENSE'] },
    mine: { projects: ['research'], traits: ['CUSTOM_GPU'] },
  });
  const closed = (request: BuildRequest) => {
    const { project, placement } = request;
    const { tree, where } = placingOf(placement, { project, spec: specOf(request) }, aggregates);
    const reserved = where?.origins?.reserved?.map(({ place, traits, projects }) => {
      const others = projects === true ? ['and for other projects'] : [];
      return [tree?.notMemberOf?.[place], ...traits, ...others];
    });
    return { ids: tree?.notMemberOf, reserved };
  };
  const resources = { VCPU: 1 };
  assert.equal(closed({ resources }), {
    ids: ['mine', 'gpu', 'licensed'],
    reserved: [
      ['mine', 'CUSTOM_GPU', 'and for other projects'],
      ['gpu', 'CUSTOM_GPU'],
      ['licensed', 'CUSTOM_OS', 'CUSTOM_LICENSE'],
    ],
  });
  const all = { rootRequired: ['CUSTOM_OS'], required: ['CUSTOM_LICENSE'], project: 'research' };
  const groups = [{ name: 'card', resources: { VGPU: 1 }, required: ['CUSTOM_GPU'] }];
  assert.equal(closed({ resources, groups, ...all }), { ids: undefined, reserved: undefined });
  assert.equal(closed({ resources, ...all, required: [] }).reserved, [
    ['gpu', 'CUSTOM_GPU'],
    ['licensed', 'CUSTOM_LICENSE'],
    ['mine', 'CUSTOM_GPU'],
  ]);
  assert.equal(
    closed({ resources, anyOf: [['CUSTOM_GPU', 'CUSTOM_X']], project: 'research' }).ids,
    ['gpu', 'licensed', 'mine'],
    'one of several traits is not required',
  );
  const licensed = specOf({ resources, required: ['CUSTOM_OS', 'CUSTOM_LICENSE'] });
  const { opened } = placingOf({}, { spec: licensed }, aggregates).where?.origins ?? {};
  assert.equal(opened, [{ aggregate: 'licensed', traits: ['CUSTOM_OS', 'CUSTOM_LICENSE'] }]);
  const avoided = placingOf({ avoidAggregates: ['gpu'] }, { spec: NOTHING }, aggregates).where?.origins;
  const places = avoided?.reserved?.map(({ place }) => place);
  assert.equal([avoided?.avoidAggregates, avoided?.kept, places], [[0], [0], [1, 0, 2]]);
});

test('placing words - a project that is confined to aggregates goes to none but their hosts, and did not ask for that', () => {
  const aggregates = aggregatesOf({
    r1: { projects: ['red', 'blue'], confines: true },
    r2: { projects: ['red'], confines: true },
    r3: { projects: ['red'], confines: false },
    ...AGGREGATES,
  });
  const request: BuildRequest = { resources: { VCPU: 1 }, placement: { aggregates: ['fast'], avoidZones: ['east'] } };
  const made = (project: string | undefined) => {
    const spec = specOf(request);
    const { tree, where } = placingOf(request.placement, { project, spec }, aggregates);
    const { placement } = askedOf({ ...spec, ...present({ tree }) }, where, project, () => undefined);
    assert.equal(placement, request.placement);
    return tree?.memberOf;
  };
  assert.equal(made('red'), [['fast'], ['r1', 'r2']]);
  assert.equal(made('blue'), [['fast'], ['r1']]);
  assert.equal([made('green'), made(undefined)], [[['fast']], [['fast']]]);
});

test('placing words - where projects must be confined, those that are not may ask for nothing, and go on with what they have', () => {
  const aggregates = aggregatesOf(
    { r1: { projects: ['red'], confines: true }, r2: { projects: ['blue'] } },
    'nova',
    true,
  );
  const refused = (project?: string) => {
    try {
      placingOf({ zones: ['nova'] }, { project, spec: NOTHING }, aggregates, 'the fit request');
    } catch (error) {
      if (error instanceof MalformedError) return [error.field, error.message];
      throw error;
    }
    return null;
  };
  const others = 'here, projects use the hosts of aggregates that confine them, and no others';
  assert.is(refused('red'), null);
  assert.equal(refused('blue'), [
    'project',
    `'project' of the fit request is 'blue', which no aggregate confines: ${others}`,
  ]);
  assert.equal(refused(), ['project', `'project' of the fit request is missing: ${others}`]);
  const spec = specOf({ resources: { VCPU: 1 } });
  assert.equal(placingNow({ spec, project: 'blue' }, aggregates)?.tree, { notMemberOf: ['r1'] });
});

test('placing words - what a list has twice is meant, and told, once', () => {
  const aggregates = aggregatesOf(AGGREGATES, 'nova');
  const lists = { hosts: ['c1/h1', 'c1/h2'], cells: ['c1'], aggregates: ['fast'], sameHostAs: ['db'], zones: ['east'] };
  const doubled = Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, [...list, ...list]]));
  const asking = { spec: NOTHING };
  assert.equal(placingOf(doubled, asking, aggregates), placingOf(lists, asking, aggregates));
  const plain = { tree: { memberOf: [['fast']] } };
  assert.equal(placingOf({ aggregates: ['fast', 'fast'] }, asking, aggregates), plain, 'and nothing that is plain');
});

test('placing words - what is wrong is told by where the caller has it, also behind what a list has twice', () => {
  const faults = [
    [{ cells: ['c1'], hosts: ['c1/h1', 'c1/h1', 'c2/h3'] }, 'placement.hosts.2'],
    [{ zones: ['east', 'east', 'mars'] }, 'placement.zones.2'],
    [{ avoidZones: ['east', 'east', 'mars'] }, 'placement.avoidZones.2'],
    [{ cells: ['c2'], avoidCells: ['c1', 'c1', 'c2'] }, 'placement.avoidCells.2'],
    [{ avoidCells: ['c2'], hosts: ['c1/h1', 'c2/h3'] }, 'placement.hosts.1'],
  ] as const;
  for (const [placement, field] of faults) {
    const make = () => placingOf(placement as object, { spec: NOTHING }, aggregatesOf(AGGREGATES, 'nova'));
    assert.throws(make, (error: unknown) => error instanceof MalformedError && error.field === field, field);
  }
});

/** What is made of a request, and back of that again. */
function askedAgain(request: BuildRequest, hostOf: HostNames = () => undefined): Asked {
  const plain = specOf(request);
  const asking = { project: request.project, spec: plain };
  const { tree, where } = placingOf(request.placement, asking, aggregatesOf(AGGREGATES, 'nova'));
  const spec = { ...plain, ...(tree === undefined ? {} : { tree }) };
  return askedOf(spec, where, request.project, hostOf);
}

test('placing words - what was asked for is told as it was said, whatever it was made into', () => {
  const request: BuildRequest = {
    resources: { VCPU: 2, MEMORY_MB: 512 },
    required: ['CUSTOM_T'],
    anyOf: [['CUSTOM_A', 'CUSTOM_B']],
    forbidden: ['CUSTOM_OLD'],
    memberOf: [['e1', 'fast']],
    groups: [
      { name: 'gpu', resources: { VGPU: 1 }, required: ['CUSTOM_G'] },
      { name: 'numa', resources: { VCPU: 1 } },
    ],
    groupPolicy: 'isolate',
    rootRequired: ['CUSTOM_R'],
    rootForbidden: ['CUSTOM_S'],
    sameSubtree: [['gpu', 'numa']],
    instanceGroup: { name: 'web', policy: 'anti-affinity', maxPerHost: 2 },
    project: 'research',
    placement: {
      cells: ['c1', 'c2'],
      preferCells: ['c2'],
      zones: ['east', 'west'],
      avoidZones: ['nova', 'north'],
      aggregates: ['fast'],
      avoidAggregates: ['n1', 'w1'],
      hosts: ['c1/h1', 'c1/h2'],
      avoidHosts: ['c1/h3'],
      sameHostAs: ['db'],
      differentHostFrom: ['cache'],
      hints: { rack: 'r7' },
    },
  };
  const names = new Map(['h1', 'h2', 'h3'].map((host) => [providerId('c1', host, ''), `c1/${host}`]));
  const asked = askedAgain(request, (provider) => names.get(provider));
  assert.equal(asked, request);
  assert.is(
    askedWords(asked),
    'asked for: 2 VCPU, 512 MEMORY_MB; required CUSTOM_T; required CUSTOM_A or CUSTOM_B; forbidden CUSTOM_OLD; ' +
      "in aggregate e1 or fast; group 'gpu': 1 VGPU, required CUSTOM_G; group 'numa': 1 VCPU; " +
      'no two groups on one provider; of the host itself required CUSTOM_R; of the host itself forbidden CUSTOM_S; ' +
      'in one subtree gpu, numa; for project research; in cell c1 or c2; preferably in cell c2; in zone east or west; ' +
      'not in zone nova or north; and 8 more',
  );
  const onHost = { resources: { VCPU: 1 }, placement: { hosts: ['c1/h1'] } };
  assert.equal(askedAgain(onHost), onHost);
  const { tree: onIt } = placingOf(onHost.placement, { spec: NOTHING }, aggregatesOf(AGGREGATES, 'nova'));
  const unnamed = askedOf({ ...specOf(onHost), ...present({ tree: onIt }) }, undefined, undefined, () => undefined);
  assert.equal(unnamed.placement, { hosts: [providerId('c1', 'h1', '')] }, 'its name is not on record');
  for (const placement of [{ zones: ['nova'] }, { avoidZones: ['nova'] }, { aggregates: ['e1'] }, undefined]) {
    const plain = { resources: { VCPU: 1 }, ...(placement === undefined ? {} : { placement }) };
    assert.equal(askedAgain(plain), plain);
  }
  const kept = aggregatesOf({ mine: { projects: ['research'] } });
  const { tree, where } = placingOf(undefined, { project: 'other', spec: NOTHING }, kept);
  assert.equal(tree?.notMemberOf, ['mine']);
  const spec = { ...specOf({ resources: { VCPU: 1 } }), tree: tree ?? {} };
  assert.equal(
    askedOf(spec, where, undefined, () => undefined),
    { resources: { VCPU: 1 } },
    'nobody asked for that',
  );
});

test('placing words - of a large request the line is short, and says how much more there is', () => {
  const many = (count: number, name: string) => Array.from({ length: count }, (_, n) => `${name}${n}`);
  assert.is(
    askedWords({ resources: { VCPU: 1 }, required: many(64, 'CUSTOM_') }),
    'asked for: 1 VCPU; required CUSTOM_0, CUSTOM_1, CUSTOM_2, CUSTOM_3 and 60 more',
  );
  assert.is(
    askedWords({ resources: { VCPU: 1 }, placement: { differentHostFrom: ['web-0', 'web-1'] } }),
    'asked for: 1 VCPU; on no host with instance web-0 or web-1',
  );
  const ids = many(3, 'h').map((host) => providerId('c1', host, ''));
  for (const [hosts, told] of [
    [ids, '3 whose names are not on record'],
    [ids.slice(0, 1), '1 whose name is not on record'],
    [['c1/a', ...ids, 'c1/b'], 'c1/a or c1/b or 3 whose names are not on record'],
    [[...ids, ...many(6, 'c1/k')], 'c1/k0 or c1/k1 or c1/k2 or c1/k3 or 5 more'],
    [many(6, 'c1/k'), 'c1/k0 or c1/k1 or c1/k2 or c1/k3 or 2 more'],
  ] as const) {
    const placement = { avoidHosts: [...hosts] };
    assert.is(askedWords({ resources: { VCPU: 1 }, placement }), `asked for: 1 VCPU; not on host ${told}`);
  }
  assert.is(
    askedWords({ resources: { VCPU: 1 }, placement: { cells: many(9, 'c') } }),
    'asked for: 1 VCPU; in cell c0 or c1 or c2 or c3 or 5 more',
  );
  const groups = many(30, 'g').map((name) => ({ name, resources: { VCPU: 1 }, required: ['CUSTOM_T'.repeat(30)] }));
  const words = askedWords({ groups });
  assert.ok(words.length < 500, `${words.length}`);
  assert.match(words, /^asked for: group 'g0': 1 VCPU, required CUSTOM_T.*; and 29 more$/);
  assert.ok(askedWords({ resources: { VCPU: 1 }, required: ['X'.repeat(255), 'Y'.repeat(255)] }).length < 500);
});

test('placing words - the default zone is told of among others, and cannot be avoided when there is no other', () => {
  const refused = (placement: PlacementRequest, ...told: Parameters<typeof aggregatesOf>) => {
    try {
      placingOf(placement, { spec: NOTHING }, aggregatesOf(...told));
    } catch (error) {
      if (error instanceof MalformedError) return `${error.field}: ${error.message}`;
      throw error;
    }
    return null;
  };
  assert.is(refused({ zones: ['nova'] }, {}, 'nova'), null);
  assert.match(refused({ avoidZones: ['nova'] }, {}, 'nova') ?? '', /^placement.avoidZones.0: .*the only zone/);
  assert.match(refused({ zones: ['nova'] }, AGGREGATES) ?? '', /^placement.zones.0: .*zones are east, north, west$/);
  assert.match(refused({ zones: ['moon'] }, AGGREGATES, 'nova') ?? '', /zones are east, north, nova, west$/);
  assert.match(refused({ zones: ['moon'] }, {}) ?? '', /, which is no zone: there are none$/);
  assert.is(refused({ avoidZones: ['nova'] }, { e1: { zone: 'east' } }, 'nova'), null, 'there is another');
});

test('placing words - who asks for the default zone while it is the only one has asked for that, whatever zones come later', () => {
  const request: BuildRequest = { resources: { VCPU: 1 }, placement: { zones: ['nova'] } };
  const plain = specOf(request);
  const sent = (placement: PlacementRequest | undefined, ...told: Parameters<typeof aggregatesOf>) => {
    const { tree, where } = placingOf(placement, { spec: plain }, aggregatesOf(...told));
    return { request: 'web', spec: { ...plain, ...present({ tree }) }, ...present({ where }) };
  };
  const alone = sent(request.placement, {}, 'nova');
  assert.equal(
    askedOf(alone.spec, alone.where, undefined, () => undefined),
    request,
  );
  const [first, again, other] = [
    alone,
    sent(request.placement, { e1: { zone: 'east' } }, 'nova'),
    sent(undefined, { e1: { zone: 'east', projects: ['red'] } }, 'nova'),
  ].map((facts) => fingerprintsOf(facts, 1, 0)) as [Fingerprints, Fingerprints, Fingerprints];
  assert.ok(isAskedAlike(first, again), 'a zone was added meanwhile');
  assert.not.ok(isAskedAlike(first, other), 'the other asks for no zone');
});

const arbitraryOptions = fc.dictionary(
  fc.constantFrom('e1', 'e2', 'w1', 'n1', 'fast', 'slow'),
  fc.record(
    {
      zone: fc.constantFrom(...ZONES),
      projects: fc.subarray(['red', 'blue'], { minLength: 1 }),
      confines: fc.boolean(),
      traits: fc.subarray(['CUSTOM_A', 'CUSTOM_B'], { minLength: 1 }),
    },
    { requiredKeys: [] },
  ),
  { noNullPrototype: true },
);
/** With a zone of each name, so that requests may name any. */
const operatorSays = (said: Record<string, AggregateOptions>, defaultZone: string | undefined) => {
  const zones = ZONES.map((zone) => [`of-${zone}`, { zone }] as const);
  const each = Object.entries(said).map(([id, { confines, ...one }]) => {
    return [id, one.projects === undefined ? one : { ...one, ...present({ confines }) }] as const;
  });
  return aggregatesOf(Object.fromEntries([...zones, ...each]), defaultZone);
};
const justOne = (name: string) => fc.constant<string[]>([name]);
const oneSide = <T>(all: readonly T[], isWanted: readonly boolean[], wanted: boolean): T[] | undefined => {
  const some = all.filter((_, at) => isWanted[at] === wanted);
  return some.length === 0 ? undefined : some;
};

test('placing words - a request that was accepted means what it would if it were sent anew, whatever the operator said then', () => {
  let changed = 0;
  fc.assert(
    fc.property(
      fc.subarray(ZONES),
      fc.subarray(['e1', 'n1', 'fast', 'other']),
      fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
      fc.record({ hosts: justOne('c1/h1'), avoidHosts: justOne('c1/h2') }, { requiredKeys: [] }),
      fc.record({ cells: justOne('c1'), sameHostAs: justOne('web') }, { requiredKeys: [] }),
      fc.subarray(['CUSTOM_A', 'CUSTOM_B']),
      fc.constantFrom('red', 'green', undefined),
      fc.tuple(arbitraryOptions, arbitraryOptions),
      fc.constantFrom('nova', undefined),
      (zones, ids, isWanted, hosts, others, required, project, [then, now], defaultZone) => {
        const wishes: PlacementRequest = {
          ...hosts,
          ...others,
          ...present({
            zones: oneSide(zones, isWanted, true),
            avoidZones: oneSide(zones, isWanted, false),
            aggregates: oneSide(ids, isWanted, true),
            avoidAggregates: oneSide(ids, isWanted, false),
          }),
        };
        const plain = specOf({ resources: { VCPU: 1 }, required });
        const sentTo = (aggregates: Aggregates) => placingOf(wishes, { project, spec: plain }, aggregates);
        const [before, after] = [operatorSays(then, defaultZone), operatorSays(now, defaultZone)];
        const { tree, where } = sentTo(before);
        const accepted = { spec: { ...plain, ...present({ tree }) }, where, project };
        if (JSON.stringify(sentTo(after)) !== JSON.stringify({ tree, where })) changed += 1;
        assert.equal(placingNow(accepted, after), sentTo(after));
        assert.equal(placingNow(accepted, before), sentTo(before));
      },
    ),
    { numRuns: 400 },
  );
  assert.ok(changed > 100, `${changed}`);
});

test('placing words - no host is in a zone that there is not any more, and all are in the default one while it is the only one', () => {
  const plain = specOf({ resources: { VCPU: 1 } });
  const acceptedWith = (wishes: PlacementRequest) => {
    const { tree, where } = placingOf(wishes, { spec: plain }, aggregatesOf(AGGREGATES, 'nova'));
    return { spec: { ...plain, ...present({ tree }) }, where };
  };
  const treeNow = (wishes: PlacementRequest, ...said: Parameters<typeof aggregatesOf>) =>
    placingNow(acceptedWith(wishes), aggregatesOf(...said))?.tree;
  const { n1: _, ...withoutNorth } = AGGREGATES;
  assert.equal(treeNow({ zones: ['north'] }, withoutNorth, 'nova'), { memberOf: [[]] });
  assert.equal(treeNow({ zones: ['north', 'west'] }, withoutNorth, 'nova'), { memberOf: [['w1']] });
  assert.is(treeNow({ avoidZones: ['north'] }, withoutNorth, 'nova'), undefined);
  assert.is(treeNow({ zones: ['nova'] }, {}, 'nova'), undefined);
  assert.equal(treeNow({ avoidZones: ['nova'] }, {}, 'nova'), { memberOf: [[]] });
});

test('placing words - a request that avoids a zone that there is not for a while avoids it again once there is', () => {
  const plain = specOf({ resources: { VCPU: 1 } });
  const all = aggregatesOf(AGGREGATES, 'nova');
  const { n1: _, ...withoutNorth } = AGGREGATES;
  const accepted = placingOf({ avoidZones: ['north'] }, { spec: plain }, all);
  const made = ({ tree, where }: typeof accepted) => ({ spec: { ...plain, ...present({ tree }) }, where });
  const meanwhile = placingNow(made(accepted), aggregatesOf(withoutNorth, 'nova'));
  assert.is(meanwhile?.tree, undefined);
  assert.equal(placingNow(made(meanwhile ?? {}), all), accepted);
});

test('placing words - what a node has taken that does not tell what conditions come from is left as it is', () => {
  const plain = specOf({ resources: { VCPU: 1 } });
  const aggregates = aggregatesOf({ e1: { zone: 'east', projects: ['red'] } });
  const now = (tree: TreeConditions, where?: Where) => placingNow({ spec: { ...plain, tree }, where }, aggregates);
  assert.is(now({ notMemberOf: ['w1'] }), null);
  assert.is(now({ memberOf: [['w1'], ['w2']] }), null);
  assert.is(now({ memberOf: [['w1']] }, { origins: { cut: true } }), null);
  assert.equal(now({ memberOf: [['w1']] }), {
    tree: { memberOf: [['w1']], notMemberOf: ['e1'] },
    where: { origins: {} },
  });
});

test('placing words - of a zone that there is not the one is named that it is like, if it is like one', () => {
  const zones = aggregatesOf({ a: { zone: 'us-east-1' }, b: { zone: 'us-west-1' } }, 'nowhere');
  const refusalOf = (placement: PlacementRequest): string => {
    try {
      placingOf(placement, { spec: NOTHING }, zones);
    } catch (error) {
      return (error as MalformedError).message;
    }
    return '';
  };
  const known = 'zones are nowhere, us-east-1, us-west-1';
  const refused = (list: string, name: string, like: string) =>
    `'placement.${list}.0' of the build request is '${name}', which is no zone${like}: ${known}`;
  assert.is(refusalOf({ zones: ['us-eats-1'] }), refused('zones', 'us-eats-1', ' (us-east-1 is known)'));
  assert.is(refusalOf({ avoidZones: ['nowere'] }), refused('avoidZones', 'nowere', ' (nowhere is known)'));
  assert.is(refusalOf({ zones: ['us-east-2'] }), refused('zones', 'us-east-2', ''));
});

test.run();
