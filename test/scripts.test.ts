// Area: scripts. What npm runs as a script leaves nothing behind when it ends before its time.

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { argvOf, ROOT } from './support/programs.ts';
import { until } from './support/until.ts';

const test = suite('scripts');

const SCRIPTS: Readonly<Record<string, string>> = {
  soak: 'test/soak/main.ts',
  stalls: 'test/soak/stalls.ts',
  bench: 'test/bench/bench.ts',
};

/**
 * Runs it in a shell, as npm does, with a temporary folder of its own; over when all who have its output are.
 * @param runner What comes before the command of that shell: where it is a shell itself, it runs the other one.
 */
function started(script: string, ...runner: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'cellwright-test-'));
  const argv = [process.execPath, ...argvOf(SCRIPTS[script] as string)];
  const shell = spawn('sh', [...runner, '-c', '"$@"; exit $?', 'sh', ...argv], {
    cwd: ROOT,
    env: { ...process.env, npm_lifecycle_event: script, TMPDIR: folder },
    detached: true,
  });
  const run = { shell, said: '', code: null as number | null, isOver: false };
  shell.stdout.on('data', (chunk) => (run.said += chunk));
  shell.stderr.on('data', (chunk) => (run.said += chunk));
  shell.once('exit', (code) => (run.code = code));
  shell.once('close', () => (run.isOver = true));
  const left = () => {
    try {
      const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
      return paths.filter((path) => path.includes('cellwright-'));
    } catch {
      return ['what went while it was looked at'];
    }
  };
  return Object.assign(run, {
    left,
    hasServer: () => left().some((path) => /cellwright-nats-[^/]*\/.*\.ports$/.test(path)),
    clear() {
      if (!run.isOver) process.kill(-(shell.pid as number), 'SIGKILL');
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  });
}

for (const script of Object.keys(SCRIPTS)) {
  test(`end - ${script} ends with the shell in which npm runs it, and leaves nothing`, async () => {
    const run = started(script);
    try {
      await until('its server is up', run.hasServer);
      run.shell.kill('SIGTERM');
      await until('all is over', () => run.isOver);
      await until('nothing is left', () => run.left().length === 0);
      assert.not.match(run.said, /\n\s+at /);
    } finally {
      run.clear();
    }
  });
}

const ofRunner = process.platform === 'linux' ? test : test.skip;

ofRunner('end - where whoever runs the shell is killed, it ends as well, and leaves nothing', async () => {
  const run = started('stalls', '-c', '"$@"; exit $?', 'sh', 'sh');
  try {
    await until('its server is up', run.hasServer);
    run.shell.kill('SIGKILL');
    await until('all is over', () => run.isOver);
    await until('nothing is left', () => run.left().length === 0);
  } finally {
    run.clear();
  }
});

test('end - when nobody reads on, it ends without a stack, as what is not through', async () => {
  const run = started('bench');
  try {
    run.shell.stdout.destroy();
    await until('all is over', () => run.code !== null);
    await until('nothing is left', () => run.left().length === 0);
    assert.not.match(run.said, /EPIPE|\n\s+at /);
    assert.is(run.code, 1);
  } finally {
    run.clear();
  }
});

test.run();
