// Area: documentation. That the README and the guides show the machines as they are, and that the script which sees to
// that says what is wrong where; that what else they list is what there is.

import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fit } from '../../actors/fitting/fit.ts';
import { makeProvider } from '../../actors/placement/providers.ts';
import { ALWAYS } from '../../actors/scheduler/filters/always.ts';
import { BUILT_IN_FILTERS } from '../../actors/scheduler/filters/built-in.ts';
import { BUILT_IN_WEIGHERS } from '../../actors/scheduler/weighers/built-in.ts';
import { free } from '../../actors/scheduler/weighers/free.ts';
import { metric } from '../../actors/scheduler/weighers/metric.ts';
import { PACKING_POLICIES, packingPolicy } from '../../actors/scheduler/weighers/packing/policies.ts';
import type { ProviderReport } from '../../runtime/drivers/driver.ts';
import { providersOf } from '../../runtime/drivers/naming.ts';
import { REFUSAL_CODES } from '../../runtime/gateway/codes.ts';
import { PlacementRequest } from '../../runtime/gateway/placing.ts';
import { BuildRequest, checkRequest, specOf } from '../../runtime/gateway/requests.ts';
import { MACHINES, shownIn, withDiagrams } from './diagrams.ts';
import { documents } from './documents.ts';

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
  test(`documentation - the ${machine.id} machine is shown once, as it is`, () => {
    const { text } = shownIn(documents(), machine);
    const hint = "run 'npx tsx test/docs/update-diagrams.ts'";
    assert.is(sectionOf(withDiagrams(text, [machine]), machine.id), sectionOf(text, machine.id), hint);
  });
}

test('documentation - a missing marker is named', () => {
  for (const { id } of MACHINES) {
    assert.throws(() => withDiagrams(blank.replace(`<!-- machine: ${id} -->`, '')), new RegExp(`machine: ${id} -->'`));
  }
});

test('documentation - a machine that no document shows, or that is shown twice, is named', () => {
  for (const machine of MACHINES) {
    const marker = `<!-- machine: ${machine.id} -->`;
    const [shown, other] = [
      { path: 'a.md', text: blank },
      { path: 'b.md', text: blank.replace(marker, '') },
    ];
    assert.is(shownIn([other, shown], machine), shown);
    assert.throws(() => shownIn([other], machine), `the marker '${marker}' is missing`);
    assert.throws(() => shownIn([shown, { ...shown, path: 'c.md' }], machine), `'${marker}' stands in a.md, c.md`);
    assert.throws(() => shownIn([{ ...shown, text: `${blank}${marker}` }], machine), 'stands in a.md, a.md');
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

test('documentation - it is said which version of @xstate/test the adapter is for, and of xstate beside it', () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
  const said = documents().flatMap(({ text }) =>
    [...text.matchAll(/^npm i -D (@xstate\/test\S*)$/gm)].map(([, name]) => name),
  );
  assert.equal(said, [`@xstate/test@${devDependencies['@xstate/test']}`]);
  const beside = documents().flatMap(({ text }) => [...text.matchAll(/`(xstate@\S+)`/g)].map(([, name]) => name));
  assert.equal(beside, [`xstate@${dependencies.xstate}`]);
});

/** The cells of the rows of a table, of which there is one, by what its first column is called. */
function rowsOf(first: string): string[][] {
  const table = new RegExp(`^\\| ${first} .*\\n((?:\\|.*\\n)+)`, 'gm');
  const tables = documents().flatMap(({ text }) => [...text.matchAll(table)].map(([, rows = '']) => rows));
  assert.is(tables.length, 1, `tables of ${first}`);
  const [, ...cells] = (tables[0] ?? '').trimEnd().split('\n');
  return cells.map((row) => row.slice(1, -1).split('|'));
}

/** The name in code that a row begins with, and a column of it. */
const named = (row: readonly string[], column: number): string =>
  `${row[0]?.trim().replaceAll('`', '')} ${row[column]?.trim()}`;

test('documentation - they tell of every weigher that can be named, with its multiplier', () => {
  const ofPacking = PACKING_POLICIES.map((name) => packingPolicy(name, { typical: [], seed: '' }).weighers[0]);
  const all = [...BUILT_IN_WEIGHERS, free('<class>'), metric('<name>', { least: 0, most: 1 }), ...ofPacking];
  assert.equal(
    rowsOf('weigher').map((row) => named(row, 3)),
    all.map(({ name, multiplier }) => `${name} ${multiplier}`),
  );
});

test('documentation - they tell of every filter, with its limit, and of codes that there are', () => {
  const rows = rowsOf('filter');
  assert.equal(
    rows.map((row) => named(row, 3)),
    [
      ...ALWAYS.map(({ name }) => `${name} always`),
      ...[...BUILT_IN_FILTERS].map(([name, { defaultMost }]) => `${name} if named; limit ${defaultMost}`),
    ],
  );
  const codes = rows.flatMap((row) => [...(row[2] ?? '').matchAll(/`([a-z-]+)`/g)].map(([, code]) => code as string));
  assert.equal(
    codes.filter((code) => !(code in REFUSAL_CODES)),
    [],
  );
});

test('documentation - every field of a build request is listed, and those of its placement are named', () => {
  const fields = rowsOf('field').map(([field = '']) => field.trim().replaceAll('`', ''));
  assert.equal(fields.toSorted(), Object.keys(BuildRequest.properties).toSorted());
  const { text = '' } = documents().find(({ path }) => path.endsWith('scheduling.md')) ?? {};
  const ofPlacement = text.slice(text.indexOf('### Placement'), text.indexOf('### Waiting'));
  for (const field of Object.keys(PlacementRequest.properties)) assert.ok(ofPlacement.includes(`\`${field}\``), field);
});

/** The bodies of all build requests that they show. */
const shownRequests = (): BuildRequest[] =>
  documents().flatMap(({ text }) =>
    [...text.matchAll(/^nats req cw\.api\.build '([^']*)'$/gm)].map(([, body = '']) => JSON.parse(body)),
  );

test('documentation - every build request that they show is one', () => {
  const requests = shownRequests();
  assert.ok(requests.length >= 4, `${requests.length} are shown`);
  for (const request of requests) checkRequest('build', request);
});

test('documentation - the request for devices that they show fits a host that has them as it says, and no other', () => {
  const [request, ...others] = shownRequests().filter(({ groups }) => groups !== undefined);
  assert.is(others.length, 0);
  const gpu = (name: string, model: string, total = 1_000) => {
    return { name, inventories: { CUSTOM_GPU_MILLI: { total } }, traits: [`CUSTOM_GPU_${model}`] };
  };
  const fits = (below: readonly ProviderReport[], beside: readonly ProviderReport[]) => {
    const numa = { name: 'numa', inventories: { MEMORY_MB: { total: 65_536 } }, children: [...below] };
    const report = { name: 'h1', inventories: { VCPU: { total: 8 } }, children: [numa, ...beside] };
    const specs = providersOf('c1', 'h1', report, []);
    const tree = specs.map((spec) => makeProvider(spec, specs[0]?.id as string));
    return fit(specOf(request as BuildRequest), tree) !== null;
  };
  assert.ok(fits([gpu('a', 'A100')], [gpu('b', 'V100')]));
  assert.not(fits([], [gpu('a', 'A100'), gpu('b', 'V100')]), 'none below the memory');
  assert.not(fits([gpu('a', 'A100')], [gpu('b', 'T4')]), 'one of another model');
  assert.not(fits([gpu('a', 'A100', 2_000)], []), 'one for both');
});

test.run();
