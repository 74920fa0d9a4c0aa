// Area: messages of an earlier version. Nodes are replaced one by one, so both versions send each other messages meanwhile:
// each must take what the other sends. The fixture holds the messages of a version as they were.

import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { messageShapes, misunderstandings, type Shapes } from '../support/message-shapes.ts';
import { ROOT } from '../support/programs.ts';

const test = suite('messages of before');
const before: Shapes = JSON.parse(readFileSync(`${ROOT}test/fixtures/messages/version-1.json`, 'utf8'));

test('messages of before - nodes of this version take what that one sends, and the reverse', () => {
  const now = messageShapes();
  assert.ok(Object.keys(before).length > 200, `${Object.keys(before).length} shapes`);
  assert.equal(misunderstandings(before, now), []);
});

test('messages of before - what would not be understood is found', () => {
  const id = { type: 'string', maxLength: 64 };
  const part = { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false };
  const sent = {
    type: 'object',
    required: ['id'],
    properties: { id: 'Id', kind: { anyOf: [{ const: 'a' }, { const: 'b' }] }, parts: { type: 'array', items: part } },
  };
  const changed = (more: object, ids: object = id) =>
    misunderstandings({ Id: id, 'some.sent': sent }, { Id: ids, 'some.sent': { ...sent, ...more } } as Shapes);
  const withField = (field: object) => changed({ properties: { ...sent.properties, ...field } });
  assert.equal(changed({}), []);
  assert.equal(withField({ more: { type: 'string' } }), []);
  assert.equal(changed({ properties: { ...sent.properties, id } }), [], 'a part that has no name any more is the same');
  assert.equal(misunderstandings({ 'some.sent': sent }, {}), ['some.sent is not taken any more']);
  assert.equal(changed({ required: ['id', 'kind'] }), ['some.sent.kind must be there now']);
  assert.equal(changed({ required: [] }), ['some.sent.id may be missing now']);
  assert.equal(changed({}, { ...id, maxLength: 32 }), ['some.sent.id: maxLength was 64 and is 32']);
  assert.equal(withField({ kind: { anyOf: [{ const: 'a' }, { const: 'c' }] } }), [
    'some.sent.kind|1: const was "b" and is "c"',
  ]);
  assert.equal(withField({ kind: { anyOf: [{ const: 'a' }] } }), ['some.sent.kind| was one of others']);
  const wider = { ...part, properties: { ...part.properties, m: { type: 'integer' } } };
  assert.equal(withField({ parts: { type: 'array', items: wider } }), [
    'some.sent.parts[]0.m is new where nothing new is taken',
  ]);
  const { kind: _, ...fewer } = sent.properties;
  assert.equal(changed({ properties: fewer }), ['some.sent.kind is gone']);
});

test.run();
