// Area: explanations of zones and aggregates, through whole deployments. What stands in the way is said in the words of
// the request: what it avoids itself and what is kept for others are told apart, and a wish is left out as a whole.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CellwrightError } from '../../runtime/errors.ts';
import type { FitRequest } from '../../runtime/gateway/requests.ts';
import type { Client, Driver } from '../../runtime/index.ts';
import { failureOf } from '../support/until.ts';
import { eventually, inMemory, quickDriver, type SystemOptions } from './system.ts';

const test = suite('zones explained');

type Options = NonNullable<SystemOptions['aggregates']>;

/** Hosts `h1` and so on of one cell, each in some aggregates. */
function system(
  aggregates: Options,
  hosts: readonly (readonly string[])[],
  run: (client: Client) => Promise<void>,
  traits: readonly string[] = [],
) {
  const names = hosts.map((_, n) => `h${n + 1}`);
  const driver = ({ cell, host }: { cell: string; host: string }) => {
    const quick = quickDriver(cell, host);
    const inventory = async () => ({ ...(await quick.inventory()), aggregates: hosts[names.indexOf(host)] ?? [] });
    return { ...quick, inventory, capabilities: async () => traits } satisfies Driver;
  };
  const options = { hosts: { c1: names }, aggregates, defaultZone: 'nova', driver, scheduler: { warmUpMs: 50 } };
  return inMemory(options, async ({ client, failures }) => {
    await eventually('all hosts are known', async () => {
      const told = await client.fit({ resources: { VCPU: 1 }, required: [...traits], project: 'x' });
      return told.fits === hosts.length;
    });
    await run(client);
    assert.equal(failures, []);
  });
}

/** What a dry run says of who is refused, and of what would help. */
async function saidOf(client: Client, placement?: FitRequest['placement']): Promise<string[]> {
  const { words } = await client.fit({ resources: { VCPU: 2 }, ...(placement && { placement }) });
  return words.slice(1).map((line) => line.trim());
}

const ZONES: Options = { n1: { zone: 'north' }, n2: { zone: 'north' }, s: { zone: 'south' } };

test('zones explained - a zone of several aggregates is one wish, and so are the aggregates that are avoided', () =>
  system(
    ZONES,
    [
      ['n1', 'n2'],
      ['n1', 'n2'],
    ],
    async (client) => {
      assert.equal(await saidOf(client, { avoidZones: ['north'] }), [
        "2 in-avoided-aggregate zone 'north'",
        "if zone 'north' need not be avoided, it would fit on 2 hosts",
      ]);
      assert.equal(await saidOf(client, { zones: ['nova'] }), [
        "2 not-in-aggregate zone 'nova'",
        "if it need not be in zone 'nova', it would fit on 2 hosts",
      ]);
      assert.equal(await saidOf(client, { zones: ['nova', 'south'] }), [
        "2 not-in-aggregate zones 'nova', 'south'",
        "if it need not be in zones 'nova', 'south', it would fit on 2 hosts",
      ]);
      assert.equal(await saidOf(client, { avoidAggregates: ['n1', 'n2'] }), [
        '2 in-avoided-aggregate n1',
        'if aggregates n1, n2 need not be avoided, it would fit on 2 hosts',
      ]);
      assert.equal(await saidOf(client, { avoidZones: ['north'], avoidAggregates: ['n2'] }), [
        "2 in-avoided-aggregate zone 'north'",
        'no single change is known with which it would fit',
      ]);
    },
  ));

test('zones explained - who avoids the zone of hosts in no zone is told so, and which of several zones stands in the way', () =>
  system(ZONES, [[], ['s']], async (client) => {
    assert.equal(await saidOf(client, { avoidZones: ['nova', 'south'] }), [
      "1 in-avoided-aggregate zone 'nova'",
      "1 in-avoided-aggregate zone 'south'",
      "if zone 'nova' need not be avoided, it would fit on 1 host",
    ]);
  }));

test('zones explained - an aggregate that is avoided and kept for others takes both changes', () =>
  system({ r1: { zone: 'north', projects: ['x'] } }, [['r1'], ['r1']], async (client) => {
    assert.equal(await saidOf(client, { avoidZones: ['north'] }), [
      "2 in-avoided-aggregate zone 'north'",
      'no single change is known with which it would fit',
    ]);
    const kept = [
      '2 in-avoided-aggregate r1 (kept for other projects)',
      'if aggregate r1, which is kept for other projects, were open to it, it would fit on 2 hosts',
    ];
    assert.equal(await saidOf(client), kept);
    assert.equal(await saidOf(client, { zones: ['north'] }), kept);
  }));

test('zones explained - hosts that are kept for requests that require a trait take no others, and say for which', () =>
  system(
    { licensed: { traits: ['CUSTOM_LICENSE'] } },
    [['licensed'], ['licensed']],
    async (client) => {
      assert.equal(await saidOf(client), [
        '2 in-avoided-aggregate licensed (kept for requests that require CUSTOM_LICENSE)',
        'if aggregate licensed, which is kept for requests that require CUSTOM_LICENSE, were open to it, it would fit on 2 hosts',
      ]);
      const { advice } = await client.fit({ resources: { VCPU: 2 } });
      assert.equal(advice, [{ code: 'without-kept', about: 'licensed', traits: ['CUSTOM_LICENSE'], hosts: 2 }]);
      await client.build({ id: 'plain', resources: { VCPU: 2 } });
      const { state, failure } = await client.ended('plain');
      assert.is(state, 'failed');
      assert.match(failure?.message ?? '', /licensed \(kept for requests that require CUSTOM_LICENSE\)/);
      const { words } = await client.whyNot({ id: 'plain', host: 'h1' });
      assert.match(
        words.join('\n'),
        /is in aggregate licensed, which is kept for requests that require CUSTOM_LICENSE/,
      );
      await client.build({ id: 'licensed', resources: { VCPU: 2 }, required: ['CUSTOM_LICENSE'] });
      assert.is((await client.ended('licensed')).state, 'active');
    },
    ['CUSTOM_LICENSE'],
  ));

test('zones explained - to ask for less is not advised where hosts that are kept for the trait would then be closed', () => {
  const driver = ({ cell, host }: { cell: string; host: string }) => {
    const quick = quickDriver(cell, host);
    const gpu = { name: `${host}-gpu`, inventories: { VGPU: { total: 1 } }, traits: ['CUSTOM_GPU'] };
    const inventory = async () => {
      return { ...(await quick.inventory()), aggregates: host === 'h3' ? [] : ['gpus'], children: [gpu] };
    };
    return { ...quick, inventory } satisfies Driver;
  };
  const aggregates = { gpus: { traits: ['CUSTOM_GPU'] } };
  const options = { hosts: { c1: ['h1', 'h2', 'h3'] }, aggregates, driver, scheduler: { warmUpMs: 50 } };
  return inMemory(options, async ({ client }) => {
    const groups = [{ name: 'gpu', resources: { VGPU: 1 }, required: ['CUSTOM_GPU'] }];
    const request = { resources: { VCPU: 1 }, groups };
    const fits = async () => (await client.fit(request)).fits;
    await eventually('all hosts are known', async () => (await fits()) === 3);
    await client.build({ id: 'a', count: 3, ...request });
    await eventually('all GPUs are taken', async () => (await fits()) === 0);
    const { advice } = await client.fit(request);
    assert.equal(
      advice.filter(({ code }) => code.startsWith('without')),
      [{ code: 'without-group', group: 'gpu', hosts: 1 }],
    );
    assert.is((await client.fit({ resources: { VCPU: 1 } })).fits, 1);
  });
});

test('zones explained - of hosts that are kept for other projects and for requests that require a trait, both is said', () =>
  system(
    { ours: { projects: ['x'], traits: ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C', 'CUSTOM_D', 'CUSTOM_E'] } },
    [['ours'], ['ours']],
    async (client) => {
      const kept = 'kept for requests of other projects that require CUSTOM_A, CUSTOM_B, CUSTOM_C and 2 more';
      const { words, advice } = await client.fit({ resources: { VCPU: 2 }, project: 'y' });
      assert.equal(words.slice(1), [
        `  2 in-avoided-aggregate ours (${kept})`,
        `if aggregate ours, which is ${kept}, were open to it, it would fit on 2 hosts`,
      ]);
      const traits = ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C'];
      assert.equal(advice, [{ code: 'without-kept', about: 'ours', traits, needed: 5, projects: true, hosts: 2 }]);
      const ofProject = await client.fit({ resources: { VCPU: 2 }, project: 'x', required: traits });
      assert.match(ofProject.words.join(), /ours, which is kept for requests that require CUSTOM_D, CUSTOM_E, were/);
    },
    ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C', 'CUSTOM_D', 'CUSTOM_E'],
  ));

test('zones explained - a project that is confined to its aggregates is given no other host, and told so', () =>
  system({ r1: { projects: ['red'], confines: true } }, [[], []], async (client) => {
    const { words, advice } = await client.fit({ resources: { VCPU: 2 }, project: 'red' });
    assert.equal(words.slice(1), [
      '  2 not-in-aggregate r1 (to which its project is confined)',
      'if its project were not confined to aggregate r1, it would fit on 2 hosts',
    ]);
    assert.equal(advice, [{ code: 'without-confinement', about: 'r1', hosts: 2 }]);
    await client.build({ id: 'red', resources: { VCPU: 2 }, project: 'red' });
    assert.match((await client.ended('red')).failure?.message ?? '', /r1 \(to which its project is confined\)/);
    const why = await client.whyNot({ id: 'red', host: 'h1' });
    assert.match(why.words.join('\n'), /is not in aggregate r1, to which the project of the request is confined/);
    await client.build({ id: 'blue', resources: { VCPU: 2 }, project: 'blue' });
    assert.is((await client.ended('blue')).state, 'active');
  }));

test('zones explained - where projects must be confined, others are refused before anything is done', () => {
  const aggregates = { r1: { projects: ['red'], confines: true } };
  const options = { hosts: { c1: ['h1'] }, aggregates, requireConfinement: true };
  return inMemory(options, async ({ client, failures }) => {
    for (const ask of [
      () => client.build({ id: 'blue', resources: { VCPU: 1 }, project: 'blue' }),
      () => client.build({ id: 'blue', resources: { VCPU: 1 } }),
      () => client.fit({ resources: { VCPU: 1 }, project: 'blue' }),
    ]) {
      const { code, message } = await failureOf(ask);
      assert.is(code, 'malformed');
      assert.match(
        message,
        /^'project' of the (?:build|fit) request is (?:missing|'blue', which no aggregate confines): /,
      );
    }
    assert.equal((await client.list()).instances, []);
    await client.build({ id: 'red', resources: { VCPU: 1 }, project: 'red' });
    assert.is((await client.ended('red')).failure?.code, 'no-valid-host', 'its aggregate has no host');
    assert.equal(failures, []);
  });
});

test('zones explained - what a project is confined to is not told as asked for, however much is closed to it', () => {
  const licences = Array.from({ length: 40 }, (_, n) => [`licence-${n}`, { traits: ['CUSTOM_LICENCE_OF_SERVERS'] }]);
  const aggregates: Options = {
    r1: { projects: ['x'], confines: true, zone: 'north' },
    ...Object.fromEntries(licences),
  };
  return system(aggregates, [['r1'], ['r1']], async (client) => {
    await client.build({ id: 'a', resources: { VCPU: 2 }, project: 'x', placement: { zones: ['north'] } });
    assert.is((await client.ended('a')).state, 'active');
    const { asked } = await client.explain('a');
    assert.equal(asked, { resources: { VCPU: 2 }, project: 'x', placement: { zones: ['north'] } });
  });
});

test('zones explained - what is closed to a request is told as far as there is room on record, and what is open to it takes none', () => {
  const [licence, gpu] = ['CUSTOM_LICENCE_OF_SERVERS', 'CUSTOM_GPU'];
  const licences = Array.from({ length: 40 }, (_, n) => [`licence-${n}`, { traits: [licence] }]);
  return system(
    { ...Object.fromEntries(licences), gpus: { traits: [gpu] }, e1: { zone: 'east' } },
    [[], ['licence-3'], ['gpus']],
    async (client) => {
      const whyNot = async (id: string, host: string, required: readonly string[]) => {
        const placement = { hosts: ['c1/h1'], avoidZones: ['east'] };
        await client.build({ id, resources: { VCPU: 1 }, required: [...required], placement });
        assert.is((await client.ended(id)).state, 'active');
        return (await client.whyNot({ id, host })).words.join('\n');
      };
      assert.match(await whyNot('plain', 'h2', []), /is in aggregate licence-3, which is closed to the request/);
      const licensed = await whyNot('licensed', 'h3', [licence]);
      assert.match(licensed, /is in aggregate gpus, which is kept for requests that require CUSTOM_GPU/);
    },
    [licence, gpu],
  );
});

test('zones explained - of long names a record has as many as there is room for, and always whom hosts are kept for', () => {
  const [first, second, third, kept] = ['1', '2', '3', '4'].map((last) => `3f0e9c1a-71c4-4d6c-9a0e-d12f6ab5c37${last}`);
  const long = (name: string) => `CUSTOM_${name}_${'X'.repeat(100)}`;
  const ofRed = { projects: ['red'], confines: true };
  const aggregates = {
    [first as string]: ofRed,
    [second as string]: ofRed,
    [third as string]: ofRed,
    [kept as string]: { traits: [long('A'), 'CUSTOM_B'] },
  };
  return system(
    aggregates,
    [[kept as string]],
    async (client) => {
      const reasonOf = async (id: string, request: object) => {
        await client.build({ id, resources: { VCPU: 1 }, ...request });
        assert.is((await client.ended(id)).state, 'failed');
        return (await client.explain(id)).decision?.refused[0]?.about;
      };
      const confined = `${first}, ${second}, ${third} (to which its project is confined)`;
      assert.is(await reasonOf('red', { project: 'red', required: [long('A'), 'CUSTOM_B'] }), confined);
      assert.is(await reasonOf('plain', {}), `${kept} (kept for requests that require other traits)`);
      const lackingOne = `${kept} (kept for requests that require CUSTOM_B)`;
      assert.is(await reasonOf('licensed', { required: [long('A')] }), lackingOne);
    },
    [long('A'), 'CUSTOM_B'],
  );
});

test('zones explained - where many aggregates are kept for others, it is told what else would help as well', () => {
  const others = { projects: ['x'] };
  return system({ a: others, b: others, c: others }, [['a'], ['a'], ['b'], ['b'], ['c'], ['c'], []], async (client) => {
    const open = (aggregate: string) =>
      `if aggregate ${aggregate}, which is kept for other projects, were open to it, it would fit on 2 hosts`;
    const adviceNow = async () => (await saidOf(client)).slice(-3);
    await client.host({ cell: 'c1', host: 'h7', enabled: false, reason: 'new disk' });
    await eventually(
      'the host is known to be disabled',
      async () => (await client.fit({ resources: { VCPU: 2 } })).fits === 0,
    );
    assert.equal(await adviceNow(), [open('a'), 'with c1/h7, which is disabled, it would fit', open('b')]);
    await client.host({ cell: 'c1', host: 'h7', enabled: true });
    const full = { id: 'full', resources: { VCPU: 8 }, project: 'y' };
    await eventually('the host is there again', async () => (await client.fit(full)).fits === 1);
    await client.build(full);
    await client.ended('full');
    await eventually('it is full', async () => (await client.fit({ resources: { VCPU: 2 } })).fits === 0);
    assert.equal(await adviceNow(), [open('a'), 'it would fit on 1 host if it were empty: c1/h7', open('b')]);
  });
});

test('zones explained - of one host all zones and aggregates are told that stand in the way, of whichever kind', () =>
  system({ ...ZONES, r1: {}, r2: { projects: ['x'] } }, [['n1', 's', 'r1', 'r2']], async (client) => {
    const asked = { resources: { VCPU: 1 }, placement: { avoidZones: ['north', 'south'], avoidAggregates: ['r1'] } };
    const [id = ''] = (await client.build(asked)).instances;
    await client.ended(id);
    const { now } = await client.whyNot({ id, cell: 'c1', host: 'h1' });
    const all = [
      "host 'h1' is in zone 'north', to be avoided",
      "is in zone 'south', to be avoided",
      'is in aggregate r1, to be avoided',
      'is in aggregate r2, which is kept for other projects',
    ];
    assert.is(now?.refusal?.message, all.join(', and '));
    assert.is(now?.refusal?.lacksMore, undefined);
  }));

test('zones explained - a failure, its record and why-not say what a dry run says', () =>
  system({ r1: { projects: ['x'] }, n1: { zone: 'north' } }, [['r1'], ['n1']], async (client) => {
    const placement = { avoidZones: ['north'] };
    const asked = { resources: { VCPU: 2 }, placement };
    const told = await client.fit(asked);
    assert.equal(
      told.advice.map(({ code, about, hosts }) => [code, about, hosts]),
      [
        ['without-avoid-zones', 'north', 1],
        ['without-kept', 'r1', 1],
      ],
    );
    const { instances } = await client.build(asked);
    const [id = ''] = instances;
    const { failure } = await client.ended(id);
    assert.match(
      failure?.message ?? '',
      /^none of 2 hosts: (?=.*1 in-avoided-aggregate r1 \(kept for other projects\))(?=.*1 in-avoided-aggregate zone 'north').*; if zone 'north' need not be avoided, it would fit on 1 host$/,
    );
    const { decision, words } = await client.explain(id);
    assert.equal(decision?.advice, [...told.advice]);
    assert.equal(new Set(decision?.refused.map(({ about }) => about)), new Set(told.refused.map(({ about }) => about)));
    assert.match(words.join('\n'), /if aggregate r1, which is kept for other projects, were open to it/);
    const nowOf = async (host: string) => (await client.whyNot({ id, cell: 'c1', host })).words.join('\n');
    assert.match(
      await nowOf('h1'),
      /in-avoided-aggregate: host 'h1' is in aggregate r1, which is kept for other projects/,
    );
    assert.match(await nowOf('h2'), /in-avoided-aggregate: host 'h2' is in zone 'north', to be avoided/);
    // Of one that has a host the record alone still says what its conditions come from.
    const placed = await client.build({ ...asked, project: 'x' });
    assert.is((await client.ended(placed.instances[0] as string)).state, 'active');
    const other = await client.whyNot({ id: placed.instances[0] as string, cell: 'c1', host: 'h2' });
    assert.match(other.words.join('\n'), /host 'h2' is in zone 'north', to be avoided/);
  }));

test('zones explained - a zone of so many aggregates that they cannot be claimed with each instance is refused', () => {
  const name = (n: number) => `a${n}-`.padEnd(60, 'x');
  const many = Object.fromEntries(Array.from({ length: 1_500 }, (_, n) => [name(n), { zone: n < 2 ? 'few' : 'many' }]));
  return system(many, [[name(0)]], async (client) => {
    for (const zone of ['many', 'nova']) {
      const asked = { count: 400, resources: { VCPU: 1 }, placement: { zones: [zone] } };
      for (const ask of [() => client.build({ id: 'web', ...asked }), () => client.fit(asked)]) {
        const refused = (await failureOf(ask)) as CellwrightError;
        assert.equal([refused.code, refused.field], ['malformed', 'count']);
        assert.match(refused.message, /the 9\d{4} bytes of what it asks for, with all aggregates .* \* 400 instances/);
      }
      assert.is((await client.fit({ ...asked, count: 100 })).count, 100);
    }
    const fit = await client.fit({ count: 1_000, resources: { VCPU: 1 }, placement: { zones: ['few'] } });
    assert.is(fit.count, 1_000);
  });
});

test.run();
