// Area: documentation. That the README shows the machines as they are, and that the script which sees to that says
// what is wrong where; that what else the README lists is what there is.

import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { MACHINES, README, withDiagrams } from './diagrams.ts';

const test = suite('documentation');

/** A document with a place for every machine. */
const blank = MACHINES.map(({ id }) => `## ${id}\n<!-- machine: ${id} -->\n<!-- /machine -->\nafter ${id}\n`).join(
  '\n',
);

const sectionOf = (text: string, id: string): string => {
  const from = text.indexOf(`<!-- machine: ${id} -->`);
  return text.slice(from, text.indexOf('<!-- /machine -->', from));
};

for (const machine of MACHINES) {
  test(`documentation - the README shows the ${machine.id} machine as it is`, () => {
    const text = readFileSync(README, 'utf8');
    const hint = "run 'npx tsx test/docs/diagrams.ts --write'";
    assert.is(sectionOf(withDiagrams(text, [machine]), machine.id), sectionOf(text, machine.id), hint);
  });
}

test('documentation - a missing marker is named', () => {
  for (const { id } of MACHINES) {
    assert.throws(() => withDiagrams(blank.replace(`<!-- machine: ${id} -->`, '')), new RegExp(`machine: ${id} -->'`));
  }
});

test('documentation - a marker that does not end is named', () => {
  const [first] = MACHINES;
  const text = blank.replace('<!-- /machine -->', '');
  assert.throws(() => withDiagrams(text), new RegExp(`machine: ${first?.id} -->' has no`));
});

test('documentation - diagrams are written between their markers and nowhere else, and once', () => {
  const text = withDiagrams(blank);
  for (const { id } of MACHINES) assert.match(sectionOf(text, id), /```mermaid\nstateDiagram-v2\n/);
  assert.is(text.replaceAll(/(-->)\n\n```mermaid.*?```\n\n(<!-- \/machine)/gs, '$1\n$2'), blank);
  assert.is(withDiagrams(text), text);
});

test('documentation - the README says which version of @xstate/test the adapter is for', () => {
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  assert.ok(readFileSync(README, 'utf8').includes(`npm i -D @xstate/test@${devDependencies['@xstate/test']}\n`));
});

test.run();
