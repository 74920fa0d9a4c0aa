// Area: schemas. What does not fit its schema is told by the one field that is wrong, by its whole path, in words
// that are short whatever was sent.

import Type from 'typebox';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cellMessages } from '../../actors/messages/cell.ts';
import { message } from '../../actors/messages/common.ts';
import { computeMessages } from '../../actors/messages/compute.ts';
import { conductorMessages } from '../../actors/messages/conductor.ts';
import { MAX_TOKEN_LENGTH } from '../../actors/messages/names.ts';
import { encode } from '../../runtime/codec.ts';
import type { MalformedError } from '../../runtime/errors.ts';
import { BuildRequest } from '../../runtime/gateway/requests.ts';
import { incarnationOf } from '../../runtime/node-names.ts';
import { checkOf, checkOfProtocol } from '../../runtime/schemas.ts';

const test = suite('schemas');

const Host = Type.Object(
  {
    name: Type.String({ pattern: '^[a-z]+$', maxLength: 5 }),
    state: Type.Optional(Type.Union([Type.Literal('up'), Type.Literal('down')])),
    stock: Type.Optional(
      Type.Record(Type.String({ pattern: '^[A-Z]+$' }), Type.Integer({ minimum: 1 }), { additionalProperties: false }),
    ),
    children: Type.Optional(
      Type.Array(Type.Object({ slot: Type.Integer() }, { additionalProperties: false }), { maxItems: 2 }),
    ),
  },
  { additionalProperties: false },
);
const check = checkOf(Host, 'the host');

const faultOf = (value: unknown): MalformedError => {
  const fault = check(value);
  if (fault === null) throw new Error(`it fits: ${JSON.stringify(value)}`);
  return fault;
};

test('schemas - what fits is no fault', () => {
  assert.is(check({ name: 'a' }), null);
  assert.is(check({ name: 'abc', state: 'down', stock: { VCPU: 1 }, children: [{ slot: 0 }] }), null);
});

test('schemas - the field that is wrong is named, with its path', () => {
  const wrong: readonly [unknown, string, RegExp][] = [
    [{}, 'name', /^the host lacks the field 'name'$/],
    [{ name: 5 }, 'name', /^'name' of the host must be a text$/],
    [{ name: 'A' }, 'name', /^'name' of the host must match pattern/],
    [{ name: 'abcdef' }, 'name', /more than 5 characters$/],
    [{ name: 'a', nmae: 1 }, 'nmae', /^the host has an unknown field 'nmae'$/],
    [{ name: 'a', state: 'sideways' }, 'state', /^'state' of the host must be "up" or "down"$/],
    [{ name: 'a', stock: { VCPU: 0 } }, 'stock.VCPU', /^'stock.VCPU' of the host must be at least 1$/],
    [{ name: 'a', stock: { vcpu: 1 } }, 'stock.vcpu', /unknown field 'stock.vcpu'$/],
    [{ name: 'a', stock: { constructor: 1 } }, 'stock.constructor', /unknown field/],
    [{ name: 'a', children: {} }, 'children', /must be a list$/],
    [{ name: 'a', children: [{ slot: 1 }, { slot: 'x' }] }, 'children.1.slot', /must be a whole number$/],
    [{ name: 'a', children: [{}] }, 'children.0.slot', /lacks the field 'children.0.slot'$/],
    [{ name: 'a', children: [{ slot: 1, 'a/b~c': 1 }] }, 'children.0.a/b~c', /unknown field/],
    [{ name: 'a', children: [{ slot: 1 }, { slot: 1 }, { slot: 1 }] }, 'children', /more than 2 items$/],
  ];
  for (const [value, field, text] of wrong) {
    const fault = faultOf(value);
    assert.is(fault.field, field, JSON.stringify(value));
    assert.match(fault.message, text);
    assert.is(fault.code, 'malformed');
    assert.not(fault.retryable);
  }
});

test('schemas - what is no object at all is told without a field', () => {
  for (const value of [null, 5, 'x', [], true]) {
    assert.is(faultOf(value).message, 'the host must be an object');
    assert.is(faultOf(value).field, undefined);
  }
});

test('schemas - of several kinds, what is wrong is told of the kind that it says it is', () => {
  const strict = { additionalProperties: false };
  const outcome = checkOf(
    Type.Union([
      Type.Object({ outcome: Type.Literal('built') }, strict),
      Type.Object(
        { outcome: Type.Union([Type.Literal('failed'), Type.Literal('aborted')]), reason: Type.String() },
        strict,
      ),
    ]),
    'the outcome',
  );
  const cases: [value: unknown, message: RegExp, field: string][] = [
    [{ outcome: 'failed' }, /^the outcome lacks the field 'reason'$/, 'reason'],
    [{ outcome: 'aborted', reason: 5 }, /^'reason' of the outcome must be a text$/, 'reason'],
    [{ outcome: 'built', reason: '' }, /^the outcome has an unknown field 'reason'$/, 'reason'],
    [{ outcome: 'late' }, /^'outcome' of the outcome must be "built" or "failed" or "aborted"$/, 'outcome'],
    [{}, /^the outcome lacks the field 'outcome'$/, 'outcome'],
  ];
  for (const [value, message, field] of cases) {
    const fault = outcome(value);
    assert.match(fault?.message ?? '', message, JSON.stringify(value));
    assert.is(fault?.field, field);
  }
});

test('schemas - a long name of a field is not said back in full, and can be sent', () => {
  for (const key of ['x'.repeat(100_000), `${'x'.repeat(127)}${'😀'.repeat(10)}`]) {
    const fault = faultOf({ name: 'a', [key]: 1 });
    assert.ok(fault.message.length < 250, fault.message);
    assert.ok(encode(fault.toJSON()).length > 0);
  }
});

test('schemas - a protocol checks by the type, which must be known', () => {
  const checked = checkOfProtocol({ ...conductorMessages, beat: message('beat', { at: Type.Number() }) });
  assert.equal(checked({ type: 'beat', at: 1 }), { type: 'beat', at: 1 });
  assert.throws(() => checked({ type: 'beat' }), /^'beat' lacks the field 'at'|'beat' lacks the field 'at'/);
  for (const value of [
    null,
    5,
    'beat',
    [],
    {},
    { type: 5 },
    { type: null },
    { type: 'toString' },
    { type: '__proto__' },
  ]) {
    assert.throws(
      () => checked(value),
      (error: MalformedError) => error.code === 'malformed' && error.field === 'type',
    );
  }
});

test('schemas - a compute of the node with the longest name can present itself', () => {
  const incarnation = incarnationOf('n'.repeat(MAX_TOKEN_LENGTH));
  const check = checkOfProtocol(cellMessages);
  check({ type: 'compute-up', host: 'h1', provider: 'h1', incarnation, running: [] });
  check({ type: 'alive', host: 'h1', incarnation });
  const checkOrder = checkOfProtocol(computeMessages);
  checkOrder({ type: 'build', instance: 'i', attempt: 1, incarnation, allocations: [], payload: null });
  for (const type of ['welcome', 'who-are-you', 'retired']) checkOrder({ type, incarnation });
});

test('schemas - of any number of unknown fields one is named', () => {
  const checkBuild = checkOf(BuildRequest, 'the build request');
  for (const many of [1, 7, 8, 40]) {
    const unknown = Object.fromEntries(Array.from({ length: many }, (_, n) => [`f${n}`, n]));
    for (const [request, field] of [
      [{ id: 'web', resources: { VCPU: 1 }, ...unknown }, 'f0'],
      [{ id: 'web', resources: unknown }, 'resources.f0'],
    ] as const) {
      const fault = checkBuild(request);
      assert.equal([fault?.message, fault?.field], [`the build request has an unknown field '${field}'`, field]);
    }
  }
});

test('schemas - a long type is not said back in full, and can be sent', () => {
  const checked = checkOfProtocol(conductorMessages);
  for (const type of ['x'.repeat(100_000), `${'x'.repeat(78)}😀😀`]) {
    assert.throws(
      () => checked({ type }),
      (error: MalformedError) => error.message.length < 200 && encode(error.toJSON()).length > 0,
    );
  }
});

test('schemas - a bound of one is told in the singular', () => {
  const least = (schema: Parameters<typeof checkOf>[0], value: unknown) => checkOf(schema, 'it')(value)?.message;
  assert.is(least(Type.String({ minLength: 1 }), ''), 'it must not have fewer than 1 character');
  assert.is(least(Type.String({ maxLength: 1 }), 'ab'), 'it must not have more than 1 character');
  assert.is(least(Type.Array(Type.String(), { minItems: 1 }), []), 'it must not have fewer than 1 item');
  assert.is(least(Type.Object({}, { minProperties: 1 }), {}), 'it must not have fewer than 1 property');
  assert.is(least(Type.String({ maxLength: 21 }), 'a'.repeat(22)), 'it must not have more than 21 characters');
});

test.run();
