// Area: Placement API. The words of errors: values and schema faults are written as Python 3.11 and jsonschema 4.10
// write them. What they wrote is in test/fixtures/python-words.json.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { qualityOf } from '../../runtime/placement-api/accept.ts';
import { faultOf, type Schema } from '../../runtime/placement-api/json-schema.ts';
import { Problem } from '../../runtime/placement-api/problem.ts';
import { problemBody } from '../../runtime/placement-api/problem-body.ts';
import { pformat, repr } from '../../runtime/placement-api/python.ts';
import { isUuidLike, normalUuid } from '../../runtime/placement-api/uuid.ts';
import { ROOT } from '../support/programs.ts';

interface Words {
  readonly values: readonly (readonly [unknown, string, string])[];
  readonly faults: readonly (readonly [unknown, string])[];
  readonly schema: Schema;
}

const file = join(ROOT, 'test/fixtures/python-words.json');
const { values, faults, schema } = JSON.parse(readFileSync(file, 'utf8')) as Words;
const test = suite('Placement API - words');

test('values are written as Python writes them, on one line and on several', () => {
  assert.ok(values.length > 5);
  for (const [value, line, lines] of values) {
    assert.is(repr(value), line);
    assert.is(pformat(value), lines);
  }
});

test('faults are chosen and worded as jsonschema does', () => {
  assert.ok(faults.length > 5);
  for (const [value, words] of faults) assert.is(faultOf(value, schema), words);
  assert.is(faultOf({ n: 1, p: null }, schema), null);
});

test('a UUID may be written in many ways', () => {
  const usual = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee';
  for (const text of [usual, usual.toUpperCase(), usual.replaceAll('-', ''), `{${usual}}`, `urn:uuid:${usual}`]) {
    assert.ok(isUuidLike(text), text);
    assert.is(normalUuid(text), usual);
  }
  for (const text of ['', 'x', `${usual}0`, usual.replace('a', 'g'), 5, null]) assert.not.ok(isUuidLike(text));
});

test('texts that are long, and wrong from end to end, are read as others are', () => {
  // Each would take hours where every character is looked at once for each other one.
  const braces = '}'.repeat(1_000_000);
  assert.is(isUuidLike(`x${braces}x`), false);
  assert.is(isUuidLike(`{${braces}aaaaaaaabbbb4ccc8dddeeeeeeeeeeee${braces}`), true);
  const context = { method: 'POST', accept: 'application/json', contentType: '', requestId: 'r', minor: 39 };
  const told = (message: string) => JSON.parse(problemBody(new Problem(400, message), context).body).errors[0].detail;
  const open = '<br'.repeat(300_000);
  assert.match(told('a<br>b<i>c</i>'), /\n a\nbc {2}$/);
  assert.ok(told(open).endsWith(`${open}  `), 'what no tag ends is none');
  assert.ok(told(`a<i>b${open}`).endsWith(`ab${open}  `));
});

test('small numbers are written as Python writes them', () => {
  assert.equal(
    [1e-5, 0.0001, -2.5e-7, 0, 1e22].map((value) => repr(value)),
    ['1e-05', '0.0001', '-2.5e-07', '0', '1e+22'],
  );
});

test('the most precise range of an Accept header decides', () => {
  assert.is(qualityOf('text/html, application/json;q=0.5', 'application/json'), 0.5);
  assert.is(qualityOf('*/*;q=0.1, application/json;q=0', 'application/json'), 0);
  assert.is(qualityOf('application/*', 'application/json'), 1);
  assert.is(qualityOf('text/plain', 'application/json'), 0);
});

test.run();
