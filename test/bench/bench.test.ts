// Area: benchmark. What it refuses before it measures, and what it keeps of a figure.

import { spawnSync } from 'node:child_process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { argvOf } from '../support/programs.ts';
import { printing } from './report.ts';

const test = suite('benchmark');

test('usage - what is wrong is said in a line before anything is measured', () => {
  const cases: [string[], number, RegExp][] = [
    [['--help'], 0, /Usage: bench .*what to measure \(choices: "parts"/s],
    [['--jsno', 'x'], 2, /unknown option '--jsno'/],
    [['--json'], 2, /'--json <file>' argument missing/],
    [['--json', '/nowhere/x.json'], 2, /--json: '\/nowhere\/x\.json' cannot be written: ENOENT/],
    [['juggling'], 2, /'juggling' is invalid.*Allowed choices are parts/],
  ];
  for (const [args, code, says] of cases) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [...argvOf('test/bench/bench.ts'), ...args]);
    const said = `${stdout}${stderr}`;
    assert.match(said, says);
    assert.not.match(said, /\n\s+at /, 'no stack is shown for what the user did');
    assert.is(status, code, said);
  }
});

test('usage - a program that is no server is said in a line, too', () => {
  const env = { ...process.env, CELLWRIGHT_NATS_SERVER: process.execPath };
  const { status, stderr } = spawnSync(process.execPath, argvOf('test/bench/bench.ts'), { env, encoding: 'utf8' });
  assert.is(stderr.split('\n')[0], `error: CELLWRIGHT_NATS_SERVER is '${process.execPath}', which is no nats-server`);
  assert.not.match(stderr, /\n\s+at /);
  assert.is(status, 2);
});

test('figures - what stands beside a bare limit is kept with its ratio', () => {
  const said: string[] = [];
  const { report, figures } = printing((line) => said.push(line));
  const told = { name: 'builds', value: 50, unit: 'a second' };
  const beside = { name: 'requests', value: 200 };
  report(told);
  report({ ...told, beside });
  assert.equal(figures, [told, { ...told, beside, ratio: 0.25 }]);
  assert.match(said[1] as string, /^builds +50\.0 a second +0\.25 of requests$/);
});

test.run();
