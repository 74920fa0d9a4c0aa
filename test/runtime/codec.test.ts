// Area: codec. What is encoded comes back, and nothing that is not well formed gets past decode, or breaks it.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { Packr } from 'msgpackr/pack';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { decode, encode, encodeForeign, encodeJson, isJson } from '../../runtime/codec.ts';
import { type CellwrightError, MalformedError } from '../../runtime/errors.ts';

const test = suite('codec');

const text = (json: string): Uint8Array => new TextEncoder().encode(json);
const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const repeated = (count: number, ...unit: number[]): Uint8Array =>
  Uint8Array.from({ length: count * unit.length }, (_, at) => unit[at % unit.length] ?? 0);

function malformed(data: Uint8Array, maxBytes?: number): MalformedError {
  try {
    decode(data, maxBytes);
  } catch (error) {
    if (error instanceof MalformedError) return error;
    throw new Error(`decode threw ${String(error)}`, { cause: error });
  }
  throw new Error(`decode took ${Buffer.from(data.subarray(0, 40)).toString('hex')}`);
}

const leaf = fc.oneof(
  fc.integer({ min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.boolean(),
  fc.constant(null),
);
const key = fc.string({ maxLength: 12 }).filter((each) => each !== '__proto__');
const { document } = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, leaf, tie('document')),
  document: fc.oneof(fc.array(tie('value')), fc.dictionary(key, tie('value'), { noNullPrototype: true })),
}));

/** JSON does not tell it from a whole number that nobody has meant. */
const isInexact = (value: unknown) => Number.isInteger(value) && !Number.isSafeInteger(value);

test('codec - every plain value comes back', () => {
  void fc.assert(
    fc.property(document, (value) => {
      assert.equal(decode(encode(value)), value);
      const exact = JSON.parse(JSON.stringify(value, (_, one) => (isInexact(one) ? 0.5 : one)));
      assert.equal(decode(encodeJson(exact)), exact);
    }),
  );
});

test('codec - another reader reads what is written, and what another one writes is read', () => {
  const other = new Packr({ useRecords: false, variableMapSize: true });
  const spacious = new Packr({ useRecords: false, variableMapSize: false });
  void fc.assert(
    fc.property(document, (value) => {
      assert.equal(other.unpack(encode(value)), value);
      for (const writer of [other, spacious]) assert.equal(decode(writer.pack(value)), value);
    }),
  );
});

test('codec - lengths, counts and numbers on either side of each form come back', () => {
  for (const length of [0, 1, 15, 16, 31, 32, 40, 41, 48, 49, 255, 256, 65_535, 65_536, 70_000]) {
    const object = Object.fromEntries(Array.from({ length: Math.min(length, 66_000) }, (_, n) => [`k${n}`, n % 7]));
    const texts = ['x', 'ä', '\u{1f600}'].map((unit) => unit.repeat(length));
    const value = { texts, list: Array.from({ length }, () => 0), object };
    assert.equal(decode(encode(value), 4 * 1024 * 1024), value, String(length));
    const binary = decode(encode([new Uint8Array(length).fill(7)])) as [Uint8Array];
    assert.equal([...binary[0]], Array(length).fill(7));
  }
  const edges = [0, 7, 8, 15, 16, 31, 32, 53].map((power) => 2 ** power);
  const numbers = edges.flatMap((edge) => [edge - 2, edge - 1, -edge, -edge + 1]).concat(edges.slice(0, -1));
  for (const n of numbers) assert.equal(decode(encode([n, n + 0.5])), [n + 0, n + 0.5], String(n));
});

test('codec - a body that cannot be written leaves those around it as they are', () => {
  const before = encode({ n: 1, text: 'before' });
  assert.throws(() => encode({ text: 'half', more: ['x'.repeat(70_000), NaN] }));
  const after = encode({ n: 2, text: 'after' });
  assert.equal(
    [decode(before), decode(after)],
    [
      { n: 1, text: 'before' },
      { n: 2, text: 'after' },
    ],
  );
});

test('codec - binary comes back, and changes with neither the input nor other results', () => {
  const data = encode({ body: bytes(1, 2, 3) });
  const { body } = decode(data) as { body: Uint8Array };
  data.fill(0);
  assert.equal([...body], [1, 2, 3]);
});

test('codec - any MessagePack reader reads what is written: maps in their shortest form', () => {
  assert.equal(Buffer.from(encode({ a: 1, b: [true, null] })).toString('hex'), '82a16101a16292c3c0');
  assert.equal(Buffer.from(encode({ ratio: 0.5 })).toString('hex'), '81a5726174696fcb3fe0000000000000');
});

test('codec - an object of a class is what it has of its own, or what it says of itself', () => {
  class Point {
    readonly x = 1;
    get y(): number {
      return 2;
    }
  }
  class Told {
    toJSON(): object {
      return { told: true };
    }
  }
  assert.equal(decode(encode({ at: new Point(), told: [new Told()] })), { at: { x: 1 }, told: [{ told: true }] });
});

test('codec - an undefined property is left out, as in JSON', () => {
  assert.equal(decode(encode({ a: undefined, b: 1, c: [undefined] })), { b: 1, c: [null] });
});

test('codec - what was encoded stays when more is encoded', () => {
  const first = encode({ n: 1 });
  for (let n = 0; n < 10_000; n++) encode({ n, filler: 'x'.repeat(n % 100) });
  assert.equal(decode(first), { n: 1 });
});

test('codec - what others pack with the same library stays when more is encoded', () => {
  const other = new Packr({ useRecords: false });
  encode({ n: 0, filler: 'x'.repeat(100_000) });
  const theirs: Uint8Array[] = [];
  for (let n = 0; n < 1_000; n++) {
    theirs.push(other.pack({ n }));
    encode({ n: 'ours', filler: 'y'.repeat(n) });
  }
  theirs.forEach((data, n) => {
    assert.equal(other.unpack(data), { n });
  });
});

test('codec - a value that encodes another while it is written is written whole, however large the other is', () => {
  const outer = {
    id: 'a',
    spec: {
      get inner() {
        encode({ big: 'x'.repeat(3_000_000) });
        return { x: 1 };
      },
    },
    last: true,
  };
  for (let n = 0; n < 3; n++) assert.equal(decode(encode(outer)), { id: 'a', spec: { inner: { x: 1 } }, last: true });
  assert.ok(encode({ n: 1 }).buffer.byteLength < 100_000);
});

test('codec - who keeps what was encoded keeps little more', () => {
  for (const length of [3_000_000, 20_000_000]) {
    encode({ filler: 'x'.repeat(length) });
    const kept = Array.from({ length: 1_000 }, (_, n) => encode({ n, filler: 'y'.repeat(100) }));
    const buffers = new Set(kept.map(({ buffer }) => buffer));
    const bytes = [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0);
    assert.ok(bytes < 500_000, `${bytes} bytes`);
  }
});

test('codec - 64-bit integers of other writers are numbers when a number holds them, and refused when not', () => {
  const foreign = new Packr({ useRecords: false });
  const limit = BigInt(Number.MAX_SAFE_INTEGER);
  for (const n of [0n, 5n, -5n, limit, -limit]) assert.equal(decode(foreign.pack({ n })), { n: Number(n) });
  for (const n of [limit + 1n, -limit - 1n, limit + 2n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 64n - 1n]) {
    assert.match(malformed(foreign.pack({ n })).message, 'integer');
  }
  // An unsigned integer that a signed one could hold.
  assert.equal(decode(bytes(0x91, 0xcf, 0, 0, 0, 0, 0, 0, 0, 7)), [7]);
});

test('codec - what could not be read back is not written', () => {
  const cycle: unknown[] = [];
  cycle.push(cycle);
  const deep = Array.from({ length: 65 }).reduce<unknown[]>((inner) => [inner], []);
  for (const value of [
    1,
    'x',
    null,
    undefined,
    [NaN],
    [Infinity],
    [2n ** 60n],
    [2n ** 80n],
    [new Date()],
    new Uint8Array(2),
    ['\ud800'],
  ]) {
    assert.throws(
      () => encode(value),
      (error: CellwrightError) => error.code === 'unencodable',
    );
  }
  for (const [value, field] of [
    [{ id: 'a', resources: { VCPU: Number.NaN } }, 'resources.VCPU'],
    [{ groups: [{ size: 1 }, { size: 2n ** 70n }] }, 'groups.1.size'],
    [{ count: 1, payload: { at: new Date(0) } }, 'payload.at'],
    [{ count: 1, payload: [{}, new Date(0)] }, 'payload.1'],
    [{ count: 1, payload: Symbol('a') }, 'payload'],
    [{ count: 1, payload: { name: '\ud800' } }, 'payload.name'],
  ] as const) {
    assert.throws(
      () => encode(value),
      (error: CellwrightError) => error.field === field && error.message.includes(`'${field}'`),
    );
  }
  const manyCycles: Record<string, unknown> = {};
  for (const name of 'abcdefgh') manyCycles[name] = manyCycles;
  assert.throws(
    () => encode({ count: 5n, all: manyCycles }),
    (error: CellwrightError) => error.code === 'unencodable' && error.field === 'all',
  );
  for (const depth of [70, 5_000, 50_000]) {
    let nested: unknown = 1;
    for (let level = 0; level < depth; level += 1) nested = { nested };
    assert.throws(
      () => encode({ id: 'a', payload: nested }),
      (error: CellwrightError) =>
        error.code === 'unencodable' && error.field === 'payload' && error.message.endsWith('nested deeper than 64'),
      `${depth}`,
    );
  }
  for (const value of [cycle, deep, { ['__proto__']: 1 }]) {
    assert.throws(
      () => encode(value),
      (error: CellwrightError) => error.code === 'unencodable',
    );
  }
  for (const value of [cycle, [2n], 1, undefined, { toJSON: () => undefined }]) {
    assert.throws(
      () => encodeJson(value),
      (error: CellwrightError) => error.code === 'unencodable',
    );
  }
});

test('codec - of what callers made, what would be written as something else is refused by its field', () => {
  const half = new DataView(new ArrayBuffer(3));
  const noData: [unknown, string][] = [
    [new Uint16Array(2), 'Uint16Array'],
    [new Float64Array(1), 'Float64Array'],
    [half, 'DataView'],
    [new ArrayBuffer(2), 'ArrayBuffer'],
    [new Set([1]), 'Set'],
    [new Map([['a', 1]]), 'Map'],
    [new TypeError('x'), 'Error'],
    [/x/, 'RegExp'],
    [Object(3), 'Number'],
    [Object('a'), 'String'],
    [Promise.resolve(1), 'Promise'],
    [new Date(0), 'Date'],
    [() => 1, 'Function'],
  ];
  for (const [value, kind] of noData) {
    assert.throws(
      () => encodeForeign({ payload: [{ a: value }] }),
      (error: CellwrightError) =>
        error.code === 'unencodable' &&
        error.field === 'payload.0.a' &&
        error.message === `the field 'payload.0.a' cannot be encoded: it is a ${kind}`,
      kind,
    );
    assert.throws(
      () => encodeForeign(value),
      (error: CellwrightError) =>
        error.code === 'unencodable' && error.message === `the value cannot be encoded: it is a ${kind}`,
      kind,
    );
  }
  class Point {
    x = 1;
  }
  const data = { bytes: Buffer.from('ab'), point: new Point(), at: new URL('http://a/b'), none: null };
  assert.equal(decode(encodeForeign(data)), { ...data, point: { x: 1 }, at: 'http://a/b' });
  const circle: Record<string, unknown> = {};
  for (const name of 'abcdefgh') circle[name] = circle;
  assert.throws(
    () => encodeForeign({ circle }),
    (error: CellwrightError) => error.field === 'circle',
  );
});

test('codec - a property that throws when it is read is named', () => {
  const value = {
    payload: {
      get size() {
        throw new Error('gone');
      },
    },
  };
  assert.throws(
    () => encodeForeign(value),
    (error: CellwrightError) => error.code === 'unencodable' && error.field === 'payload.size',
  );
});

test('codec - others who use msgpackr in the process may write with it what they like', () => {
  const theirs = new Packr({ moreTypes: true });
  for (const value of [new Set([1]), new Float32Array([1.5]), /x/u]) {
    assert.equal(theirs.unpack(theirs.pack({ value })), { value });
  }
});

test('codec - JSON is told by its first byte, after white space', () => {
  for (const json of ['{"a":1}', '[1]', ' \r\n\t{"a":1}']) assert.ok(isJson(text(json)), json);
  for (const data of [encode({ a: 1 }), encode([1]), text('"x"'), text('1'), text('  '), bytes()])
    assert.not(isJson(data));
  assert.equal(decode(text(' {"type":"build","n":1}\n')), { type: 'build', n: 1 });
});

test('codec - malformed MessagePack is refused', () => {
  const corpus: Record<string, Uint8Array> = {
    empty: bytes(),
    'a lone integer': bytes(5),
    'a lone string': bytes(0xa1, 0x61),
    nil: bytes(0xc0),
    'never used': bytes(0xc1),
    'never used, inside': bytes(0x91, 0xc1),
    'trailing bytes': bytes(0x90, 0x90),
    'huge array32': bytes(0xdd, 0xff, 0xff, 0xff, 0xff),
    'huge map32': bytes(0xdf, 0xff, 0xff, 0xff, 0xff),
    'huge str32': bytes(0x91, 0xdb, 0xff, 0xff, 0xff, 0xff),
    'huge bin32': bytes(0x91, 0xc6, 0xff, 0xff, 0xff, 0xff),
    'many huge arrays': repeated(1000, 0xdd, 0x00, 0x00, 0x0f, 0xff),
    'arrays 100,000 deep': repeated(100_000, 0x91),
    'maps 100,000 deep': repeated(100_000, 0x81, 0xa1, 0x61),
    'not UTF-8': bytes(0x91, 0xa2, 0xc3, 0x28),
    'half a surrogate pair': bytes(0x91, 0xa3, 0xed, 0xa0, 0x80),
    'not UTF-8, as key': bytes(0x81, 0xa1, 0xff, 0x01),
    'an integer key': bytes(0x81, 0x01, 0x01),
    'an array as key': bytes(0x81, 0x90, 0x01),
    'NaN in 32 bits': bytes(0x91, 0xca, 0x7f, 0xc0, 0, 0),
    'infinite in 64 bits': bytes(0x91, 0xcb, 0xff, 0xf0, 0, 0, 0, 0, 0, 0),
    timestamp: bytes(0x91, 0xd6, 0xff, 0, 0, 0, 0),
    'unknown extension': bytes(0x91, 0xd4, 0x55, 0x00),
    'msgpackr record': new Packr().pack({ a: 1, b: 2 }),
    'msgpackr regular expression': new Packr({ moreTypes: true, useRecords: false }).pack([/(a+)+$/]),
    __proto__: Buffer.concat([bytes(0x81, 0xa9), text('__proto__'), bytes(0x80)]),
    '__proto__ in a str8': Buffer.concat([bytes(0x81, 0xd9, 9), text('__proto__'), bytes(0x80)]),
  };
  for (const [name, data] of Object.entries(corpus)) assert.ok(malformed(data), name);
});

test('codec - what somebody typed is not said to be MessagePack alone', () => {
  for (const typed of ['garbage', ' \n', '\tx', '"web"', '42', '~']) {
    assert.is(malformed(text(typed)).message, 'the body is neither a JSON object or array nor readable MessagePack');
  }
  assert.match(malformed(bytes(0x91, 0xc1)).message, /^the body is not readable MessagePack: /);
});

test('codec - malformed JSON is refused, its content not quoted', () => {
  const corpus: Record<string, string> = {
    truncated: '{"secret":"hunter2"',
    'trailing text': '{"secret":"hunter2"} x',
    'no JSON': '{secret}',
    'lone brace': '{',
    '100,000 deep': `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
    '65 deep': `${'['.repeat(65)}${']'.repeat(65)}`,
    __proto__: '{"a":{"__proto__":{"admin":true}}}',
    'escaped __proto__': '{"\\u005f_proto__":1}',
    'half a surrogate pair': '["\\ud800"]',
    'half a surrogate pair, as key': '{"\\udc00":1}',
    'number without bounds': '[1e999]',
  };
  for (const [name, json] of Object.entries(corpus)) {
    const { message } = malformed(text(json));
    assert.not.match(message, /secret|hunter2/, name);
    assert.ok(message.length < 120, name);
  }
  assert.match(malformed(Buffer.concat([text('["'), bytes(0xff), text('"]')])).message, 'UTF-8');
  assert.equal(decode(text(`${'['.repeat(64)}${']'.repeat(64)}`)), JSON.parse(`${'['.repeat(64)}${']'.repeat(64)}`));
});

test('codec - a body over the limit is refused unread', () => {
  assert.ok(decode(encode(['x'.repeat(90)]), 100));
  assert.match(malformed(encode(['x'.repeat(100)]), 100).message, 'at most 100');
  assert.match(malformed(new Uint8Array(1024 * 1024 + 1)).message, '1048576');
});

test('codec - every beginning of a valid message is refused', () => {
  const data = encode({ type: 'claim', n: 70_000, big: 2 ** 40, list: ['ä', -1, 1.5, true, null], bin: bytes(1, 2) });
  for (let length = 0; length < data.length; length++) malformed(data.subarray(0, length));
});

test('codec - whatever the bytes, decode returns an object or array, or throws MalformedError; nothing is polluted', () => {
  const fuzz = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    // Near misses: one byte of a valid message changed.
    fc.tuple(document, fc.nat(), fc.nat(255)).map(([value, at, byte]) => {
      const data = Uint8Array.from(encode(value));
      data[at % data.length] = byte;
      return data;
    }),
    fc.json().map((json) => text(`[${json}`)),
  );
  void fc.assert(
    fc.property(fuzz, (data) => {
      try {
        const value = decode(data);
        assert.type(value, 'object');
        // What is taken is what the reader saw: it can be written and read again.
        assert.equal(decode(encode(value)), value);
      } catch (error) {
        assert.instance(error, MalformedError);
      }
      assert.is(({} as Record<string, unknown>).admin, undefined);
    }),
    { numRuns: 3000 },
  );
});

test('codec - the input is left as it was', () => {
  const data = Uint8Array.from(encode({ a: ['x'] }));
  const before = [...data];
  decode(data);
  assert.equal([...data], before);
  assert.equal(Object.keys(data).length, data.length);
});

const MARK = '\uFEFF';

test('codec - a byte order mark in front of a string of any length comes back', () => {
  for (const length of [0, 10, 31, 60, 61, 62, 63, 64, 65, 300, 70_000]) {
    const marked = MARK + 'x'.repeat(length);
    const value = {
      [marked]: 1,
      [marked.slice(1)]: 2,
      list: [marked, MARK + marked, { marked, more: 'é'.repeat(40) }],
    };
    assert.equal(decode(encode(value)), value, `${length}`);
  }
});

test('codec - whatever stands in a body beside a byte order mark comes back', () => {
  void fc.assert(
    fc.property(document, (value) => {
      const marked = { mark: MARK + 'x'.repeat(80), value };
      assert.equal(decode(encode(marked)), marked);
    }),
  );
  const other = new Packr({ useRecords: false, int64AsType: 'number', useFloat32: 4 });
  const values = [0, 31, 32, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER]
    .flatMap((each) => [each, -each])
    .concat([0.5, 1 / 3, -33, -128, -129, -32_768, -32_769, 2 ** 40]);
  const bigs = [2n ** 40n, -(2n ** 40n), -5n];
  const body = { mark: MARK + 'x'.repeat(80), values, bigs, data: Buffer.from(`${MARK}abc`), many: 'y'.repeat(70_000) };
  const read = decode(other.pack(body)) as typeof body;
  assert.equal(
    read.values.map((each) => each + 0),
    values.map((each) => each + 0),
  );
  assert.equal(read.bigs as unknown, bigs.map(Number));
  assert.equal([...read.data], [...body.data]);
  assert.is(read.data.buffer.byteLength, body.data.length, 'it shares its memory with nobody');
  assert.is(read.many, body.many);
});

test('codec - a name that is kept does not keep what it came with', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const nameIn = (body: Uint8Array) => (decode(body) as { name: string }).name;
  const bodies = Array.from({ length: 2_000 }, (_, n) =>
    encode({
      more: Array.from({ length: 20 }, (_, at) => `${n}, ${at}`.padEnd(100, '.')),
      name: `name ${n}`.padEnd(40),
    }),
  );
  nameIn(bodies[0] as Uint8Array);
  collect();
  collect();
  const before = process.memoryUsage().heapUsed;
  const names = bodies.map(nameIn);
  collect();
  const kept = (process.memoryUsage().heapUsed - before) / names.length;
  assert.is(names.length, 2_000);
  assert.ok(kept < 500, `${kept} bytes for each`);
});

test('codec - what is wrong in JSON is told with the path to it, unless that is long', () => {
  const faultOf = (text: string) => {
    const { message, field } = malformed(Buffer.from(text)) as MalformedError;
    return [message.replace('the body is not readable JSON: ', ''), field];
  };
  assert.equal(faultOf('{"a":[1,{"b":1e999}]}'), ["a number is too large in the field 'a.1.b'", 'a.1.b']);
  assert.equal(faultOf('{"a":{"b":"\\ud800"}}'), ["a string has half a character in the field 'a.b'", 'a.b']);
  assert.equal(faultOf('{"a":{"\\ud800":1}}'), ["a key has half a character in the field 'a.\uFFFD'", 'a.\uFFFD']);
  assert.equal(faultOf(`{"x":${'['.repeat(80)}${']'.repeat(80)}}`), ['it is nested deeper than 64', undefined]);
  assert.equal(faultOf(`{"${'k'.repeat(300)}":1e999}`), ['a number is too large', undefined]);
  assert.equal(faultOf('{"a\\nb":1e999}'), ['a number is too large', undefined], 'it would break a line');
  assert.equal(faultOf('[1e999]'), ["a number is too large in the field '0'", '0']);
  for (const number of ['12345678901234567890', '-9007199254740993']) {
    assert.equal(faultOf(`{"payload":{"x":${number}}}`), [
      "an integer is beyond 2^53 - 1 in the field 'payload.x'",
      'payload.x',
    ]);
  }
  const fine =
    '{"id":"12345678901234567890","most":9007199254740991,"least":-9007199254740991,"far":0.12345678901234567,"exp":1e20,"half":9007199254740991.5,"small":1e-9999999999999999,"text":"\\\\\\"12345678901234567890\\""}';
  assert.equal(decode(Buffer.from(fine)), JSON.parse(fine));
  const long = JSON.stringify({ id: '1234567890'.repeat(2_000_000), text: '\\"'.repeat(100_000) });
  assert.equal(decode(Buffer.from(long), long.length), JSON.parse(long));
});

test.run();
