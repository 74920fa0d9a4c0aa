// Area: test runner. Every way in which uvu ends green without having tested must end in failure here.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { argvOf, BUNDLES, ROOT } from './support/programs.ts';

const test = suite('test runner');

const runner = (...args: string[]) => runnerIn(process.env, ...args);

async function runnerIn(env: NodeJS.ProcessEnv, ...args: string[]) {
  const child = spawn(process.execPath, [...argvOf('test/run.ts'), ...args], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  const [code] = (await once(child, 'close')) as [number];
  return { pid: child.pid, code, lines: output.trimEnd().split('\n'), output };
}

const fixture = (name: string) => `test/fixtures/runner/${name}.ts`;

test('passing files pass, and the totals close the output', async () => {
  const { code, lines } = await runner(fixture('passing'));
  assert.is(lines.at(-1), '2 passed, 0 failed, 1 skipped');
  assert.is(code, 0);
});

test('passes are summed over files', async () => {
  const { code, lines, output } = await runner(fixture('passing'), fixture('failing'));
  assert.is(lines.at(-1), '3 passed, 1 failed, 1 skipped');
  assert.is(code, 1);
  assert.match(output, /\| .*FAIL.*"fails"/, 'the output of what failed is shown');
  const atTheEnd = output.slice(output.lastIndexOf('\nfailed: '));
  assert.match(atTheEnd, /^\nfailed: .*failing\.ts: 1 of 2 did not pass\n/);
  assert.match(atTheEnd, /\| .*FAIL.*"fails"/, 'and its end is shown again before the totals');
});

test('a file of which all is skipped does not fail, beside others; alone it has tested nothing', async () => {
  const beside = await runner(fixture('skipped'), fixture('passing'));
  assert.is(beside.lines.at(-1), '2 passed, 0 failed, 2 skipped');
  assert.is(beside.code, 0);
  assert.match(beside.output, /^ok {4}test\/fixtures\/runner\/skipped\.ts {2}0 passed, 1 skipped, /m);
  const alone = await runner(fixture('skipped'));
  assert.is(alone.lines.at(-1), '0 passed, 0 failed, 1 skipped');
  assert.is(alone.code, 1);
});

const failures: readonly { name: string; what: string; totals: string; reason: RegExp }[] = [
  { name: 'failing', what: 'a failing test', totals: '1 passed, 1 failed', reason: /1 of 2 did not pass/ },
  {
    name: 'failing-before',
    what: 'a failing before hook',
    totals: '0 passed, 1 failed',
    reason: /1 of 1 did not pass/,
  },
  { name: 'throws-string', what: 'a throw of no Error', totals: '1 passed, 1 failed', reason: /1 of 2 did not pass/ },
  {
    name: 'forgotten-run',
    what: 'a forgotten .run()',
    totals: '0 passed, 1 failed',
    reason: /\.run\(\) is not called/,
  },
  { name: 'hanging-handle', what: 'a hanging handle', totals: '1 passed, 1 failed', reason: /open handles: .*Timeout/ },
];

for (const { name, what, totals, reason } of failures) {
  test(`${what} is a failure`, async () => {
    const { code, lines, output } = await runner(fixture(name));
    assert.match(output, reason);
    assert.is(lines.at(-1), totals);
    assert.is(code, 1);
  });
}

test('a test that never ends is ended at the deadline', async () => {
  const { code, lines, output } = await runner('--deadline-ms', '1500', fixture('never-ends'));
  assert.match(output, /no end within 1500 ms/);
  assert.is(lines.at(-1), '0 passed, 1 failed');
  assert.is(code, 1);
});

test('what a test that is ended had put into the temporary folder is removed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cellwright-test-'));
  try {
    const env = { ...process.env, TMPDIR: folder };
    const { output } = await runnerIn(env, '--deadline-ms', '1500', fixture('leaves-a-folder'));
    const made = /made (\/.*)$/m.exec(output)?.[1];
    assert.ok(made?.startsWith(folder), output);
    assert.equal(
      readdirSync(folder).filter((name) => name.startsWith('cellwright-')),
      [],
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('no file at all is a failure', async () => {
  const { code, lines, output } = await runner('no-such-test-file');
  assert.match(output, /no test file matches 'no-such-test-file'/);
  assert.is(lines.at(-1), '0 passed, 0 failed');
  assert.is(code, 1);
});

// Where nothing is put together yet

const CACHE = `${ROOT}.cache/`;
const { [BUNDLES]: _, ...ALONE } = process.env;

test('what is put together is removed at the end, and what a run that was killed has left is, too', async () => {
  mkdirSync(CACHE, { recursive: true });
  const { pid: dead } = spawnSync(process.execPath, ['--version']);
  const left = mkdtempSync(`${CACHE}tests-of-${dead}-`);
  const { pid, code, lines } = await runnerIn(ALONE, fixture('passing'));
  assert.is(lines.at(-1), '2 passed, 0 failed, 1 skipped');
  assert.is(code, 0);
  assert.not(existsSync(left));
  assert.equal(
    readdirSync(CACHE).filter((name) => name.startsWith(`tests-of-${pid}-`)),
    [],
  );
});

test('where nothing can be put together, everything is run from its sources', async () => {
  const copy = `${mkdtempSync(join(tmpdir(), 'cellwright-test-'))}/`;
  try {
    for (const part of ['package.json', 'package-lock.json', 'actors', 'machines', 'runtime', 'test/support']) {
      cpSync(`${ROOT}${part}`, `${copy}${part}`, { recursive: true });
    }
    for (const file of ['test/run.ts', fixture('passing')]) cpSync(`${ROOT}${file}`, `${copy}${file}`);
    symlinkSync(`${ROOT}node_modules`, `${copy}node_modules`);
    // No folder can be made there, by whomever.
    writeFileSync(`${copy}.cache`, '');
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--import', 'tsx', 'test/run.ts', fixture('passing')],
      { cwd: copy, env: ALONE, encoding: 'utf8' },
    );
    assert.match(stdout, /^nothing can be put together \(.*\.cache.*\): everything is run from its sources\n/);
    assert.match(stdout, /\n2 passed, 0 failed, 1 skipped\n$/);
    assert.is(status, 0, stderr);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
});

test('a file that cannot be put together fails by itself', async () => {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(`${CACHE}broken-`);
  try {
    writeFileSync(`${folder}/broken.test.ts`, 'const =;\n');
    const { code, lines, output } = await runnerIn(
      ALONE,
      relative(ROOT, `${folder}/broken.test.ts`),
      fixture('passing'),
    );
    assert.match(output, /^ok .*passing\.ts/m);
    assert.is(lines.at(-1), '2 passed, 1 failed, 1 skipped');
    assert.is(code, 1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test.run();
