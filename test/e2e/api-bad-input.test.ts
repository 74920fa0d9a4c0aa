// Area: api. Bad input of every kind: each gets exactly one error, in words that name the field; nothing is changed by
// it, nothing fails, and the next good request is carried out.

import { Packr } from 'msgpackr/pack';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectNats } from '../../runtime/bus/nats.ts';
import { decode, encode, isJson } from '../../runtime/codec.ts';
import { hasCode } from '../support/bus.ts';
import { failureOf } from '../support/until.ts';
import { type Answer, type Api, apiOf, inMemory, overNats, type System, type WithSystem } from './system.ts';

const VCPU = { VCPU: 1 };
const LONGEST_MESSAGE = 600;

/** A body that is wrong in one field; and what the message has to say, where that is more than the field. */
type Wrong = readonly [body: object, field: string | undefined, says?: RegExp];

const WRONG_AMOUNTS: readonly Wrong[] = [0, -1, 1.5, 2 ** 31, 1e308, '1', null, true, [], {}].flatMap((amount) => [
  [{ resources: { VCPU: amount } }, 'resources.VCPU'] as const,
  [
    {
      groups: [
        { name: 'a', resources: VCPU },
        { name: 'b', resources: { VCPU: amount } },
      ],
    },
    'groups.1.resources.VCPU',
  ] as const,
]);

const BAD_IDS = [
  'a.b',
  'a b',
  '*',
  '>',
  'Abc',
  '',
  'x'.repeat(65),
  'x'.repeat(10_000),
  'a-',
  '-a',
  'ä',
  '名',
  'a\n',
  '..',
];

const groupsOf = (count: number) => ({
  groups: Array.from({ length: count }, (_, n) => ({ name: `g${n}`, resources: VCPU })),
});

/** So many lists of aggregates, of some 3 KB each. */
const sayingMuch = (lists: number) => ({
  resources: VCPU,
  memberOf: Array.from({ length: lists }, (_, list) =>
    Array.from({ length: 64 }, (_, n) => `${list}-${n}`.padEnd(50, 'x')),
  ),
});

const WRONG_IDS: readonly Wrong[] = BAD_IDS.map((id) => [{ id, resources: VCPU }, 'id']);

const WRONG_BUILDS: readonly Wrong[] = [
  ...WRONG_AMOUNTS,
  ...WRONG_IDS,
  [{ id: 'x'.repeat(63), count: 11, resources: VCPU }, 'id', /too long/],
  [{ resources: { CORES: 1 } }, 'resources.CORES', /unknown resource class/],
  [{ resources: { CUSTOM_: 1 } }, 'resources.CUSTOM_', /unknown resource class/],
  [{ resources: { vcpu: 1 } }, 'resources.vcpu', /unknown field/],
  [{ groups: [{ name: 'a', resources: { CORES: 1 } }] }, 'groups.0.resources.CORES', /unknown resource class/],
  [
    { resources: VCPU, count: 1_000, payload: 'x'.repeat(20_000) },
    'payload',
    /20\d{3} bytes \* 1000 instances are over/,
  ],
  [{ resources: VCPU, payload: JSON.parse('['.repeat(50) + ']'.repeat(50)) }, 'payload', /nested deeper/],
  [{ count: 0, resources: VCPU }, 'count'],
  [{ count: 1001, resources: VCPU }, 'count'],
  [{ count: 1.5, resources: VCPU }, 'count'],
  [{ count: 1000, alternates: 20, ...groupsOf(7) }, 'count', /1000 \* \(1 \+ 20\) \* 7 = 147000, over 128000/],
  [{ count: 1000, alternates: 20, resources: VCPU, ...groupsOf(6) }, 'count', /too large/],
  [{ count: 1000, ...sayingMuch(8) }, 'count', /the 2\d{4} bytes in which it says what it asks for \* 1000 instances/],
  [{ alternates: -1, resources: VCPU }, 'alternates'],
  [{ alternates: 21, resources: VCPU }, 'alternates'],
  [{ alternates: 1.5, resources: VCPU }, 'alternates'],
  [{ groupPolicy: 'split', resources: VCPU }, 'groupPolicy', /"none" or "isolate"/],
  [{ required: ['lower'], resources: VCPU }, 'required.0'],
  [{ anyOf: ['HW_A'], resources: VCPU }, 'anyOf.0'],
  [{ memberOf: [[5]], resources: VCPU }, 'memberOf.0.0'],
  [
    {
      groups: [
        { name: 'a', resources: VCPU },
        { name: 'a', resources: VCPU },
      ],
    },
    'groups.1.name',
    /'groups.1.name' of the build request is 'a', as another/,
  ],
  [{ groups: [{ resources: VCPU }] }, 'groups.0.name', /lacks the field/],
  [{ resources: VCPU, placement: [] }, 'placement', /must be an object/],
  [{ resources: VCPU, placement: { cell: 'c1' } }, 'placement.cell', /unknown field/],
  [{ resources: VCPU, placement: { cells: [] } }, 'placement.cells', /fewer/],
  [{ resources: VCPU, anyOf: [[]] }, 'anyOf.0', /fewer/],
  [{ resources: VCPU, memberOf: [['rack-1'], []] }, 'memberOf.1', /fewer/],
  [{ resources: VCPU, memberOf: [['']] }, 'memberOf.0.0', /must be letters/],
  [{ resources: VCPU, memberOf: [['a'], ['b', 'a b']] }, 'memberOf.1.1', /must be letters/],
  [{ groups: [{ name: 'a', resources: VCPU, memberOf: [['a b']] }] }, 'groups.0.memberOf.0.0', /must be letters/],
  [{ groups: [{ name: 'gpu', resources: VCPU, anyOf: [[]] }] }, 'groups.0.anyOf.0', /fewer/],
  [{ resources: VCPU, placement: { cells: ['C1'] } }, 'placement.cells.0'],
  [{ resources: VCPU, placement: { cells: Array.from({ length: 65 }, (_, n) => `c${n}`) } }, 'placement.cells', /more/],
  [{ resources: VCPU, placement: { cells: ['c2', 'c1'], avoidCells: ['c1'] } }, 'placement.avoidCells.0', /in 'cells'/],
  [{ resources: VCPU, placement: { preferCells: ['c1'], avoidCells: ['c1'] } }, 'placement.avoidCells.0'],
  [{ resources: VCPU, placement: { preferCells: ['c1', 'c3'], cells: ['c2'] } }, 'placement.preferCells', /in 'cells'/],
  [{ resources: VCPU, placement: { zones: ['nowhere'] } }, 'placement.zones.0', /no zone: there are none/],
  [{ resources: VCPU, placement: { avoidZones: ['nowhere'] } }, 'placement.avoidZones.0', /no zone/],
  [{ resources: VCPU, placement: { aggregates: ['a b'] } }, 'placement.aggregates.0'],
  [{ resources: VCPU, placement: { aggregates: ['a'], avoidAggregates: ['a'] } }, 'placement.avoidAggregates.0'],
  [{ resources: VCPU, placement: { hosts: ['h1'] } }, 'placement.hosts.0', /<cell>\/<host>/],
  [{ resources: VCPU, placement: { hosts: ['c1/h1/x'] } }, 'placement.hosts.0', /<cell>\/<host>/],
  [{ resources: VCPU, placement: { hosts: ['c2/h1'], cells: ['c1'] } }, 'placement.hosts.0', /not in 'cells'/],
  [{ resources: VCPU, placement: { hosts: ['c2/h1'], avoidCells: ['c2'] } }, 'placement.hosts.0', /in 'avoidCells'/],
  [{ resources: VCPU, placement: { hosts: ['c2/h1'], avoidHosts: ['c2/h1'] } }, 'placement.avoidHosts.0'],
  [{ resources: VCPU, placement: { sameHostAs: 'web' } }, 'placement.sameHostAs', /must be a list/],
  [
    { resources: VCPU, placement: { sameHostAs: ['web'], differentHostFrom: ['web'] } },
    'placement.differentHostFrom.0',
  ],
  [{ resources: VCPU, placement: { hints: { load: 1 } } }, 'placement.hints.load', /must be a text/],
  [{ resources: VCPU, placement: { hints: { 'a b': 'x' } } }, 'placement.hints.a b', /unknown field/],
  [
    { groups: [{ name: 'a', resources: VCPU }], sameSubtree: [['a', 'b']] },
    'sameSubtree.0.1',
    /names no group of it: 'b'/,
  ],
  [{ groups: [{ name: 'a', resources: VCPU }], sameSubtree: [['a'], ['a', 'a']] }, 'sameSubtree.1.1', /twice: 'a'/],
  [{ groups: [{ name: 'a', resources: VCPU }], sameSubtree: ['a'] }, 'sameSubtree.0'],
  [{ groups: [{ name: 'a', resources: VCPU }], sameSubtree: [[]] }, 'sameSubtree.0'],
  [{ resources: VCPU, sameSubtree: [['']] }, 'sameSubtree.0.0'],
  [{ resources: VCPU, rootRequired: ['lower'] }, 'rootRequired.0'],
  [{ resources: VCPU, rootForbidden: ['lower'] }, 'rootForbidden.0'],
  [{ resources: VCPU, instanceGroup: { name: 'web' } }, 'instanceGroup.policy', /lacks the field/],
  [{ resources: VCPU, instanceGroup: { policy: 'affinity' } }, 'instanceGroup.name', /lacks the field/],
  [{ resources: VCPU, instanceGroup: { name: 'a b', policy: 'affinity' } }, 'instanceGroup.name'],
  [{ resources: VCPU, instanceGroup: { name: 'web', policy: 'apart' } }, 'instanceGroup.policy', /"anti-affinity"/],
  [{ resources: VCPU, instanceGroup: { name: 'web', policy: 'affinity', id: '/web' } }, 'instanceGroup.id', /unknown/],
  ...[0, 1.5, 1_001, '2', null].map((maxPerHost): Wrong => {
    const instanceGroup = { name: 'web', policy: 'anti-affinity', maxPerHost };
    return [{ resources: VCPU, instanceGroup }, 'instanceGroup.maxPerHost'];
  }),
  ...['affinity', 'soft-affinity', 'soft-anti-affinity'].map((policy): Wrong => {
    const instanceGroup = { name: 'web', policy, maxPerHost: 2 };
    return [{ resources: VCPU, instanceGroup }, 'instanceGroup.maxPerHost', /goes with 'anti-affinity' only/];
  }),
  [
    { resources: VCPU, required: ['HW_A'], forbidden: ['HW_B', 'HW_A'] },
    'forbidden.1',
    /'HW_A', which is required too/,
  ],
  [{ groups: [{ name: 'a', resources: VCPU, required: ['HW_A'], forbidden: ['HW_A'] }] }, 'groups.0.forbidden.0'],
  [{ resources: VCPU, rootRequired: ['HW_A'], rootForbidden: ['HW_A'] }, 'rootForbidden.0', /required too/],
  [{ groups: [{ name: '', resources: VCPU }] }, 'groups.0.name'],
  [{ groups: [{ name: 'a', required: ['HW_A'] }] }, 'resources', /asks for no resources/],
  [{ groups: Array.from({ length: 32 }, (_, n) => ({ name: `g${n}`, resources: VCPU })) }, 'groups'],
  [{ groups: [] }, 'resources', /asks for no resources/],
  [{ resources: {} }, 'resources', /asks for no resources/],
  [{}, 'resources', /asks for no resources/],
  [{ resources: VCPU, flavor: 'small' }, 'flavor', /unknown field/],
  [{ resources: VCPU, constructor: 1 }, 'constructor', /unknown field/],
  [{ resources: { ...VCPU, toString: 1 } }, 'resources.toString', /unknown field/],
  [{ groups: [{ name: 'a', resources: VCPU, policy: 1 }] }, 'groups.0.policy', /unknown field/],
  [{ groups: [{ name: 'a', resources: { ...VCPU, gpu: 1 } }] }, 'groups.0.resources.gpu', /unknown field/],
  [[], undefined, /must be an object/],
  [[{ resources: VCPU }], undefined, /must be an object/],
];

/** A value of every type, none of which is right for any field but those it is left out for. */
const OF_EVERY_TYPE: Readonly<Record<string, unknown>> = {
  string: 'Not Right',
  number: 1.5,
  boolean: true,
  null: null,
  array: [5],
  object: { surplus: 1 },
};

/** The fields of each verb, with a request that is right but for the one, and the types that are right for it. */
const FIELDS: readonly (readonly [verb: string, right: object, fields: Readonly<Record<string, readonly string[]>>])[] =
  [
    [
      'build',
      { resources: VCPU },
      {
        id: [],
        count: [],
        alternates: [],
        resources: [],
        required: [],
        anyOf: [],
        forbidden: [],
        memberOf: [],
        instanceGroup: [],
        sameSubtree: [],
        rootRequired: [],
        rootForbidden: [],
        groups: [],
        groupPolicy: [],
        project: [],
      },
    ],
    ['show', { id: 'kept' }, { id: [] }],
    ['delete', { id: 'kept' }, { id: [] }],
    ['list', {}, { cell: [], after: [], limit: [] }],
    ['hosts', { cell: 'c1' }, { cell: [], after: [], limit: [] }],
    [
      'host',
      { cell: 'c1', host: 'h1', enabled: false },
      { cell: [], host: [], enabled: ['boolean'], reason: ['string'] },
    ],
  ];

const WRONG_TYPES = FIELDS.flatMap(([verb, right, fields]) =>
  Object.entries(fields).flatMap(([field, rightTypes]) =>
    Object.entries(OF_EVERY_TYPE)
      .filter(([type]) => !rightTypes.includes(type))
      .map(([, value]) => [verb, { ...right, [field]: value }, field] as const),
  ),
);

const OTHER_WRONGS: readonly (readonly [verb: string, ...Wrong])[] = [
  ...BAD_IDS.flatMap((id) => [['show', { id }, 'id'] as const, ['delete', { id }, 'id'] as const]),
  ['show', {}, 'id', /lacks the field/],
  ['delete', {}, 'id', /lacks the field/],
  ['show', { id: 'kept', full: true }, 'full', /unknown field/],
  ['delete', { id: 'kept', force: true }, 'force', /unknown field/],
  ['list', { limit: 0 }, 'limit'],
  ['list', { limit: 1001 }, 'limit'],
  ['list', { page: 2 }, 'page', /unknown field/],
  ['hosts', {}, 'cell', /lacks the field/],
  ['host', { cell: 'c1', host: 'h1' }, 'enabled', /lacks the field 'enabled', or else 'fence'/],
  ['host', { cell: 'c1', host: 'h1', fence: false }, 'fence', /must be true/],
  ['host', { cell: 'c1', host: 'h1', fence: true, enabled: false }, 'enabled', /does not go with 'fence'/],
  ['host', { cell: 'c1', host: 'h1', fence: true, reason: 'fire' }, 'reason', /does not go with 'fence'/],
  ['host', { cell: 'c1', host: 'h1', enabled: false, reason: 'x'.repeat(1025) }, 'reason'],
  ['host', { cell: 'c1', host: 'h1', enabled: false, reason: ' \t' }, 'reason', /must be more than blanks/],
  ['cell', { cell: 'c1', enabled: false, reason: ' ' }, 'reason', /must be more than blanks/],
  ['host', { cell: 'c1', host: 'h1', enabled: false, by: 'me' }, 'by', /unknown field/],
];

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
const text = (json: string): Uint8Array => Buffer.from(json);
const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const foreign = new Packr({ useRecords: false, variableMapSize: true });
const good = encode({ id: 'cut', resources: { VCPU: 1, MEMORY_MB: 70_000 } });

/** Bodies that cannot be read, and what is said of each. */
const UNREADABLE: readonly (readonly [body: Uint8Array, says: RegExp])[] = [
  ...Array.from(good.subarray(1), (_, n) => [good.slice(0, n + 1), /ends too early/] as const),
  [Buffer.concat([good, bytes(0xc0)]), /bytes follow/],
  [bytes(0xc1), /neither an object nor an array/],
  [bytes(0x81, 0xa2, 0x69, 0x64, 0xc1), /a byte that MessagePack never uses/],
  [bytes(0x81, 0xa2, 0x69, 0x64, 0xa1, 0xff), /not UTF-8/],
  [bytes(0x81, 0xa2, 0x69, 0x64, 0xd4, 0x01, 0x00), /extension types/],
  [bytes(0xdf, 0xff, 0xff, 0xff, 0xff), /ends too early/],
  [foreign.pack({ resources: { VCPU: Number.NaN } }), /not finite/],
  [foreign.pack({ resources: { VCPU: Number.POSITIVE_INFINITY } }), /not finite/],
  [foreign.pack({ resources: { VCPU: 2n ** 60n } }), /beyond 2\^53/],
  [foreign.pack({ resources: VCPU, payload: nested(100) }), /nested deeper/],
  [bytes(0x81, 0xa9, ...text('__proto__'), 0x80), /'__proto__' is not allowed/],
  [text('null'), /neither a JSON object or array nor readable MessagePack/],
  [text('5'), /neither a JSON object or array nor/],
  [text('"web"'), /neither a JSON object or array nor/],
  [text('hello'), /neither a JSON object or array nor/],
  [text('{'), /not readable JSON/],
  [text('{"id":"a",}'), /not readable JSON/],
  [text("{id:'a'}"), /not readable JSON/],
  [text('{"resources":{"VCPU":NaN}}'), /not readable JSON/],
  [text('{"resources":{"VCPU":1e999}}'), /too large in the field 'resources\.VCPU'/],
  [text('{"id":"\\ud800"}'), /half a character in the field 'id'/],
  [text('{"__proto__":{"resources":{"VCPU":1}}}'), /'__proto__' is not allowed/],
  [text('{"resources":{"__proto__":1}}'), /'__proto__' is not allowed/],
  [text('{"id":"twice","resources":{"VCPU":1},"count":1,"count":3}'), /the name 'count' stands twice in one object/],
  [
    text('{"id":"twice","resources":{"VCPU":1,"VCPU":2}}'),
    /the name 'VCPU' stands twice in one object, at 'resources'/,
  ],
  [text(`${'['.repeat(100)}${']'.repeat(100)}`), /nested deeper/],
  [text('{"a":'.repeat(50_000)), /not readable JSON/],
  [Buffer.concat([text('{"id":"'), bytes(0xff), text('"}')]), /not UTF-8/],
  [Buffer.alloc(256 * 1024 + 1, '{'), /at most 262144 are read/],
];

/** Sends it, and holds the answer to what every error has to be. */
async function refused(
  api: Api,
  verb: string,
  body: Uint8Array | object,
  field?: string,
  says?: RegExp,
): Promise<Answer> {
  const answer = await api.ask(verb, body);
  const { error } = answer.body;
  const sent = body instanceof Uint8Array ? Buffer.from(body.subarray(0, 80)).toString('latin1') : JSON.stringify(body);
  const about = `${verb} ${sent.slice(0, 200)}`;
  if (error === undefined) throw new Error(`no error for ${about}`);
  assert.equal([error.code, error.retryable], ['malformed', false], about);
  assert.is(answer.headers['Nats-Service-Error-Code'], '400', about);
  assert.ok(error.message.length < LONGEST_MESSAGE, error.message);
  if (says !== undefined) assert.match(error.message, says);
  if (field === undefined) return answer;
  assert.ok(error.field === field || error.field?.startsWith(`${field}.`), `${about}: ${JSON.stringify(error)}`);
  assert.ok(error.message.includes(`'${error.field}'`) || error.message.includes(field), error.message);
  return answer;
}

/** Runs with one instance that must stay as it is, and looks afterwards whether all is as before, and well. */
async function unharmed(system: System, run: (api: Api) => Promise<void>): Promise<void> {
  const { client, dump, failures } = system;
  await client.build({ id: 'kept', resources: VCPU });
  await client.ended('kept');
  const before = await dump();
  const api = apiOf(system);
  await run(api);
  assert.equal(await dump(), before);
  await client.build({ id: 'next', resources: VCPU });
  assert.is((await client.ended('next')).state, 'active');
  assert.equal(
    api.answers.filter((answers) => answers !== 1),
    [],
    'each was answered once',
  );
  assert.equal(failures, []);
}

function contract(name: string, withSystem: WithSystem): void {
  const test = suite(`api bad input ${name}`);
  const on = (what: string, run: (api: Api, system: System) => Promise<void>, maxPayloadBytes = 1024 * 1024) =>
    test(`bad input - ${what}`, () =>
      withSystem({ maxPayloadBytes }, (system) => unharmed(system, (api) => run(api, system))));

  on('a build that is wrong in one field is refused by that field, in kind', async (api) => {
    for (const [body, field, says] of WRONG_BUILDS) {
      assert.ok(isJson((await refused(api, 'build', body, field, says)).data));
      assert.not(isJson((await refused(api, 'build', encode(body), field, says)).data));
    }
  });

  on('a value of the wrong type is refused, in every field of every verb', async (api) => {
    for (const [verb, body, field] of WRONG_TYPES) {
      await refused(api, verb, body, field);
      await refused(api, verb, encode(body), field);
    }
  });

  on('the other verbs refuse what is missing, unknown or out of range', async (api) => {
    for (const [verb, ...wrong] of OTHER_WRONGS) await refused(api, verb, ...wrong);
  });

  on('what cannot be read is refused by every verb, with the reason', async (api) => {
    for (const [body, says] of UNREADABLE) {
      for (const verb of ['build', 'delete', 'host']) await refused(api, verb, body, undefined, says);
    }
    for (const verb of ['delete', 'show', 'hosts', 'host']) await refused(api, verb, new Uint8Array(0));
  });

  on('names of fields that are long, or no text for a header, are cut short', async (api) => {
    for (const key of [
      'x'.repeat(200_000),
      `${'y '.repeat(400)}`,
      'line\r\nNats-Service: x',
      '\u0000',
      '😀'.repeat(99),
    ]) {
      await refused(api, 'build', { resources: VCPU, [key]: 1 }, undefined, /unknown field/);
      await refused(api, 'build', encode({ resources: { [key]: 1 } }), undefined, /unknown field/);
    }
  });

  on(
    'megabytes of junk are refused by their size',
    async (api) => {
      for (const filling of ['x', '[', '\u0000', '{"a":', '\u0091']) {
        const junk = Buffer.alloc(5 * 1024 * 1024, filling, 'latin1');
        await refused(api, 'build', junk, undefined, /has 5242880 bytes; at most 262144 are read/);
      }
    },
    8 * 1024 * 1024,
  );

  on(
    'a body that with what is added to it on its way could not be sent is refused by its size',
    async (api) => {
      await refused(
        api,
        'build',
        { resources: VCPU, payload: 'x'.repeat(20_000) },
        undefined,
        /at most 16384 are read/,
      );
    },
    64 * 1024,
  );

  on('what is over the limit of the server is refused before it is sent', async (_api, { bus, subjects }) => {
    const junk = Buffer.alloc(5 * 1024 * 1024, 'x');
    const failure = await failureOf(() => bus.request(subjects.api('build'), junk, { timeoutMs: 1_000 }));
    assert.ok(hasCode('payload-too-large')(failure as never), failure.message);
  });

  on('a trace context that is too long is refused by its name', async (_api, { bus, subjects }) => {
    const headers = { traceparent: 'x'.repeat(200) };
    const request = bus.request(subjects.api('build'), encode({ resources: VCPU }), { timeoutMs: 5_000, headers });
    const { error } = decode((await request).data) as Answer['body'];
    assert.equal([error?.code, error?.field], ['malformed', 'traceparent']);
  });

  test.run();
}

contract('in memory', inMemory);
contract('over NATS', overNats);

const test = suite('api bad input of NATS clients');

test('bad input - a reply subject on which nothing can be published fails nothing', () =>
  overNats({}, (system) =>
    unharmed(system, async () => {
      // Our own bus would not send these.
      const careless = await connectNats({ servers: system.node.url ?? '', name: 'careless' });
      for (const reply of ['a.*', '>', 'a..b', '.']) {
        careless.connection.publish(system.subjects.api('show'), text('{}'), { reply });
        careless.connection.publish(system.subjects.api('list'), text('{}'), { reply });
      }
      const tooLong = `r.${'é'.repeat(1_000)}`;
      const wanted = { id: 'unanswerable', resources: { VCPU: 1 } };
      careless.connection.publish(system.subjects.api('build'), text(JSON.stringify(wanted)), { reply: tooLong });
      await careless.close();
      const failure = await failureOf(() => system.client.show('unanswerable'));
      assert.ok(hasCode('not-found')(failure as never), 'what cannot be answered is not done');
    }),
  ));

test.run();
