// Area: settings, the file of them that `cellwright node` reads. It may say what there is to say of aggregates and by what
// schedulers choose; anything else in it is refused by its name.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { settingsIn } from '../../runtime/cli/settings.ts';
import { CellwrightError } from '../../runtime/errors.ts';

const test = suite('settings');

const folder = mkdtempSync(join(tmpdir(), 'cellwright-settings-'));
const path = join(folder, 'settings.json');
test.after(() => rmSync(folder, { recursive: true }));

function read(text: string): object {
  writeFileSync(path, text);
  return settingsIn(path);
}

test('settings - what is in them is what startNode takes', () => {
  const settings = {
    aggregates: { a: { zone: 'east' } },
    defaultZone: 'nova',
    requireConfinement: false,
    scheduler: { pickAmong: 3, weighers: ['free-VCPU'] },
  };
  assert.equal(read(JSON.stringify(settings)), settings);
  assert.equal(read('{}'), {});
});

const BAD: readonly (readonly [string, string, RegExp])[] = [
  ['{', 'settings', /--settings '.*settings.json': .*JSON/],
  ['[]', 'settings', /must be a JSON object/],
  ['7', 'settings', /must be a JSON object/],
  [
    '{ "aggregate": {} }',
    'aggregate',
    /no 'aggregate'; there are aggregates, defaultZone, requireConfinement and scheduler/,
  ],
  ['{ "toString": {} }', 'toString', /no 'toString'/],
  ['{ "scheduler": 7 }', 'scheduler', /'scheduler' must be an object/],
  ['{ "aggregates": [] }', 'aggregates', /'aggregates' must be an object/],
  ['{ "scheduler": { "warmUpMs": 1 } }', 'scheduler.warmUpMs', /there are filters, weighers, pickAmong/],
];

for (const [text, field, says] of BAD) {
  test(`settings - refused, with the field named: ${text}`, () => {
    assert.throws(
      () => read(text),
      (error: unknown) => error instanceof CellwrightError && error.field === field && says.test(error.message),
    );
  });
}

test.run();
