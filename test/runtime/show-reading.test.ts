// Area: reading. A long list is shown to be read, on a terminal and nowhere else, and nothing of that stays.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DRAW_EVERY_MS } from '../../runtime/cli/display.ts';
import { showReading } from '../../runtime/cli/show-reading.ts';
import { readRows } from '../../runtime/workload/rows.ts';

const test = suite('reading');

function terminal(isTTY: boolean) {
  const output = Object.assign(new PassThrough(), { isTTY, columns: 80, rows: 24 });
  const shown = () => {
    let all = '';
    // Newer versions of Node answer what was written piece by piece.
    for (let piece = output.read(); piece !== null; piece = output.read()) all += String(piece);
    return all;
  };
  return { output: output as unknown as typeof process.stderr, shown };
}

test('rows - whoever asks is told how far a list is read', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cellwright-test-'));
  try {
    const file = join(folder, 'list.csv');
    writeFileSync(file, `name\n${Array.from({ length: 4_000 }, (_, n) => `ä${1_000 + n}`).join('\r\n')}\r\n`);
    const told: [string, number][] = [];
    readRows(
      file,
      ['name'],
      {},
      () => {},
      (of, part) => told.push([of, part]),
    );
    assert.equal(
      told.map(([of, part]) => [of, Math.round(part * 100)]),
      [25, 50, 75, 100].map((percent) => [file, percent]),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('terminal - it is shown now and then, and taken away at the end, also of what fails', () => {
  const { output, shown } = terminal(true);
  const read = () =>
    showReading((onRead) => {
      onRead?.('/lists/pods.csv', 0.1);
      const until = performance.now() + DRAW_EVERY_MS;
      while (performance.now() <= until);
      onRead?.('/lists/pods.csv', 0.42);
      onRead?.('/lists/pods.csv', 0.43);
      throw new Error('line 7');
    }, output);
  assert.throws(read, /line 7/);
  const said = shown();
  assert.match(said, /reading 'pods\.csv': 42 %\n/);
  assert.not.match(said, /10 %|43 %/);
  // Who hides the cursor listens to signals, and nobody listens while a list is read.
  assert.not(said.includes('\u001b[?25l'));
  assert.ok(said.lastIndexOf('\u001b[2K') > said.indexOf('42 %'));
});

test('no terminal - nothing is shown', () => {
  const { output, shown } = terminal(false);
  assert.is(
    showReading((onRead) => onRead, output),
    undefined,
  );
  assert.is(shown(), '');
});

test.run();
