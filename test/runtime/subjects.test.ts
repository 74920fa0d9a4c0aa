// Area: subjects. Every address has one subject and no two share one; all of a cell is under one wildcard.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  cellAddress,
  cellFeedAddress,
  computeAddress,
  conductorAddress,
  placementAddress,
  placementFeedAddress,
  SCHEDULERS,
} from '../../actors/routing.ts';
import type { CellwrightError } from '../../runtime/errors.ts';
import { checkToken, subjectsOf } from '../../runtime/subjects.ts';

const test = suite('subjects');

/** The subjects of section 6 of the design, by address. */
const ADDRESSES: Readonly<Record<string, string>> = {
  [SCHEDULERS]: 'cw.scheduler',
  'scheduler/node-1': 'cw.scheduler.node-1',
  'gateway/node-1': 'cw.gateway.node-1',
  [conductorAddress(3)]: 'cw.conductor.3',
  [placementAddress(0)]: 'cw.placement.0',
  [placementFeedAddress(0)]: 'cw.placement.0.feed',
  [cellAddress('c1')]: 'cw.cell.c1.conductor',
  [cellFeedAddress('c1')]: 'cw.cell.c1.feed',
  [computeAddress('c1', 'h1')]: 'cw.cell.c1.compute.h1',
};

/** Whether a subject matches a pattern, as a NATS server has it. */
function matches(pattern: string, subject: string): boolean {
  const [tokens, wanted] = [subject.split('.'), pattern.split('.')];
  if (wanted.at(-1) !== '>' && wanted.length !== tokens.length) return false;
  return wanted.every((want, position) => {
    const token = tokens[position];
    return token !== undefined && (want === '>' || want === '*' || want === token);
  });
}

const refused = (field: string) => (error: CellwrightError) => error.code === 'bad-id' && error.field === field;

test('subjects - every address has its own', () => {
  const subjects = subjectsOf();
  for (const [address, subject] of Object.entries(ADDRESSES)) {
    assert.is(subjects.of(address), subject);
    assert.is(subjects.of(address), subject, 'asked again it is the same');
  }
  assert.is(new Set(Object.values(ADDRESSES)).size, Object.keys(ADDRESSES).length);
});

test('subjects - the verbs of the API and the events stand below the prefix', () => {
  const subjects = subjectsOf('prod.cw');
  assert.is(subjects.prefix, 'prod.cw');
  assert.is(subjects.api('build'), 'prod.cw.api.build');
  assert.is(subjects.event(['cell', 'c1', 'build', 'web-0', 'active']), 'prod.cw.cell.c1.build.web-0.active');
  assert.is(subjects.of(cellAddress('c1')), 'prod.cw.cell.c1.conductor');
});

test('subjects - one wildcard covers all of a cell, and nothing of another', () => {
  const subjects = subjectsOf();
  const ofCell = [
    subjects.of(cellAddress('c1')),
    subjects.of(cellFeedAddress('c1')),
    subjects.of(computeAddress('c1', 'h1')),
    subjects.journal(cellAddress('c1')),
    subjects.event(['cell', 'c1', 'build', 'web', 'claimed']),
    subjects.event(['cell', 'c1', 'host', 'h1', 'tree-refused']),
  ];
  for (const subject of ofCell) {
    assert.ok(matches('cw.cell.c1.>', subject), subject);
    assert.not(matches('cw.cell.c2.>', subject), subject);
  }
  const outside = [SCHEDULERS, conductorAddress(0), placementAddress(0), placementFeedAddress(0), 'gateway/node-1'];
  for (const address of outside) assert.not(matches('cw.cell.>', subjects.of(address)), address);
});

test('subjects - the wildcards that are followed match the feeds and the stories, and no actor', () => {
  const subjects = subjectsOf();
  const followed = (patterns: readonly string[], subject: string) => patterns.some((one) => matches(one, subject));
  assert.ok(followed(subjects.feeds, subjects.of(placementFeedAddress(7))));
  assert.ok(followed(subjects.feeds, subjects.of(cellFeedAddress('c9'))));
  for (const address of [placementAddress(0), conductorAddress(0), cellAddress('c1'), 'scheduler/node-1']) {
    assert.ok(followed(subjects.ups, subjects.up(address)), address);
  }
  assert.ok(matches('cw.cell.c1.>', subjects.up(cellAddress('c1'))));
  assert.ok(followed(subjects.stories, subjects.event(['cell', 'c1', 'build', 'web', 'active'])));
  assert.ok(followed(subjects.stories, subjects.event(['conductor', '0', 'build', 'web', 'requested'])));
  const actors = [
    cellAddress('c1'),
    computeAddress('c1', 'h1'),
    placementAddress(0),
    conductorAddress(0),
    'gateway/up',
  ];
  for (const address of actors) {
    assert.not(followed([...subjects.feeds, ...subjects.ups, ...subjects.stories], subjects.of(address)), address);
  }
});

test('subjects - a host named as a part of the tree is still in its own place', () => {
  const subjects = subjectsOf();
  assert.is(subjects.of(computeAddress('conductor', 'feed')), 'cw.cell.conductor.compute.feed');
  assert.is(subjects.of(cellAddress('feed')), 'cw.cell.feed.conductor');
});

test('subjects - a prefix that is not made of tokens is refused', () => {
  for (const prefix of ['', '.', 'cw.', '.cw', 'c w', 'cw.*', '>', 'CW', 'cw-', 'ä', 'x'.repeat(65)]) {
    assert.throws(() => subjectsOf(prefix), refused('prefix'), prefix);
  }
});

test('subjects - a token is lower-case letters, digits and inner hyphens, up to 64 characters', () => {
  for (const id of ['a', '0', 'a-b', 'web--0', 'x'.repeat(64)]) assert.is(checkToken(id, 'id'), id);
  const wrong = ['', 'a.b', 'a b', '*', '>', 'A', '-a', 'a-', 'ä', 'a\n', 'x'.repeat(65)];
  for (const id of wrong) assert.throws(() => checkToken(id, 'id'), refused('id'), JSON.stringify(id));
  for (const id of [null, undefined, 5, {}, ['a']]) assert.throws(() => checkToken(id as never, 'id'), refused('id'));
});

test.run();
