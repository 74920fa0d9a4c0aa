// Area: roles. What a process may play, as text: read exactly, or refused by name.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CellwrightError } from '../../runtime/errors.ts';
import { parseRoles, placementShardsPlayed } from '../../runtime/roles.ts';

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

test('roles - placement is all of its shards, or some of them', () => {
  assert.equal(parseRoles(['placement:0', 'placement:12']), [
    { kind: 'placement', shard: 0 },
    { kind: 'placement', shard: 12 },
  ]);
  const played = (roles: string[], shards: number) => placementShardsPlayed(parseRoles(roles), shards);
  assert.equal(played(['placement'], 4), [0, 1, 2, 3]);
  assert.equal(played(['placement:3', 'placement:1', 'scheduler'], 4), [1, 3]);
  assert.equal(played(['placement:1', 'placement'], 2), [0, 1]);
  assert.equal(played(['scheduler'], 4), []);
  assert.throws(() => played(['placement:4'], 4), refused('bad-role'));
  assert.throws(() => played(['placement:4'], 4), /'placement:4' .* has 4/);
});

test('roles - a name that is none is refused with the role that it stands in', () => {
  for (const role of ['cell:', 'cell:A', 'compute:c1/H', 'compute:/h', 'cell:a.b']) {
    assert.throws(() => parseRoles([role]), refused('bad-id'), role);
    assert.throws(
      () => parseRoles([role]),
      (error: Error) => error.message.startsWith(`role '${role}': its names must be`),
      role,
    );
  }
  for (const roles of ['placement', null, undefined, 5, {}]) {
    assert.throws(() => parseRoles(roles as never), refused('bad-role'), String(roles));
  }
});

test('roles - none at all is refused', () => {
  assert.throws(() => parseRoles([]), refused('bad-role'));
});

test('roles - one named twice is refused', () => {
  assert.throws(() => parseRoles(['cell:c1', 'scheduler', 'cell:c1']), refused('bad-role'));
});

test('roles - what is no role is refused with the list of roles', () => {
  const wrong = [
    '',
    'cells',
    'Placement',
    'placement:x',
    'placement:-1',
    'placement:01',
    'placement:',
    'scheduler ',
    'compute:c1',
    'compute:c1/h1/h2',
    'host:c1',
  ];
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
