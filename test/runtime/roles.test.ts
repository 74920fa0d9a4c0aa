// Area: roles. What a process may play, as text: read exactly, or refused by name.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CellwrightError } from '../../runtime/errors.ts';
import { parseRoles } from '../../runtime/roles.ts';

const test = suite('roles');

const refused = (code: string) => (error: CellwrightError) =>
  error.code === code && error.field === 'roles' && !error.retryable;

test('roles - every kind is read, in order', () => {
  assert.equal(parseRoles(['placement', 'scheduler', 'conductor', 'cell:c1', 'compute:c1/h-1']), [
    { kind: 'placement' },
    { kind: 'scheduler' },
    { kind: 'conductor' },
    { kind: 'cell', cell: 'c1' },
    { kind: 'compute', cell: 'c1', host: 'h-1' },
  ]);
});

test('roles - none at all is refused', () => {
  assert.throws(() => parseRoles([]), refused('bad-role'));
});

test('roles - one named twice is refused', () => {
  assert.throws(() => parseRoles(['cell:c1', 'scheduler', 'cell:c1']), refused('bad-role'));
});

test('roles - what is no role is refused with the list of roles', () => {
  const wrong = ['', 'cells', 'Placement', 'placement:0', 'scheduler ', 'compute:c1', 'compute:c1/h1/h2', 'host:c1'];
  for (const text of wrong) assert.throws(() => parseRoles([text]), refused('bad-role'), text);
  assert.throws(
    () => parseRoles(['api']),
    /'api' is not a role; roles are placement, scheduler, conductor, cell:<name>/,
  );
});

test('roles - a name that would break routing is refused', () => {
  const wrong = [
    'cell',
    'cell:',
    'cell:C1',
    'cell:c.1',
    'cell:c1:x',
    'cell:*',
    'compute:/h1',
    'compute:c1/',
    'compute:c1/h 1',
  ];
  for (const text of wrong) assert.throws(() => parseRoles([text]), refused('bad-id'), text);
});

test('roles - what is no text is refused, not crashed on', () => {
  for (const role of [5, null, undefined, {}, ['cells']]) {
    assert.throws(
      () => parseRoles([role as never]),
      (error: CellwrightError) => error.field === 'roles',
      String(role),
    );
  }
});

test.run();
