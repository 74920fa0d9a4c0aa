// Area: setup. What is done before `npm start` and `npm test`, with a stand-in for npm, in a folder of the test's own.

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ROOT } from './support/programs.ts';

const test = suite('setup');

/** Writes what it was told to do, and then the lock of what it has installed. */
const NPM = `
const { copyFileSync, mkdirSync, writeFileSync } = require('node:fs');
writeFileSync('told.json', JSON.stringify(process.argv.slice(2)));
mkdirSync('node_modules', { recursive: true });
copyFileSync('package-lock.json', 'node_modules/.package-lock.json');
`;
const LOCK = JSON.stringify({ packages: { '': {}, 'node_modules/one': { version: '1.0.0' } } });

function withFolder(run: (folder: string, setUp: () => string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'cellwright-test-'));
  try {
    cpSync(`${ROOT}runtime/setup.mjs`, join(folder, 'runtime/setup.mjs'));
    writeFileSync(join(folder, 'package-lock.json'), LOCK);
    writeFileSync(join(folder, 'npm-cli.js'), NPM);
    const env = { ...process.env, npm_execpath: join(folder, 'npm-cli.js') };
    run(folder, () => {
      const { status, stderr } = spawnSync(process.execPath, [join(folder, 'runtime/setup.mjs')], { env });
      assert.is(status, 0, String(stderr));
      return String(stderr);
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('what npm was told to leave out, as NODE_ENV=production does, is installed all the same, and once', () =>
  withFolder((folder, setUp) => {
    assert.match(setUp(), /^Installing .*absent or unfinished/);
    const told = JSON.parse(readFileSync(join(folder, 'told.json'), 'utf8')) as string[];
    assert.equal(told, ['ci', '--include=dev', '--include=optional', '--install-strategy=hoisted']);
    assert.is(setUp(), '');
  }));

test('an installation that was ended while npm wrote down what it had installed is done again', () =>
  withFolder((folder, setUp) => {
    mkdirSync(join(folder, 'node_modules'));
    writeFileSync(join(folder, 'node_modules/.package-lock.json'), LOCK.slice(0, 30));
    assert.match(setUp(), /^Installing .*absent or unfinished/);
    assert.is(setUp(), '');
  }));

test.run();
