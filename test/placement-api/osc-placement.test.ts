// Area: Placement API. The functional tests that ship with the `openstack` command's placement plugin, all of them,
// against our server. They run where the distribution's packages are installed: python3-osc-placement,
// python3-openstackclient and python3-oslotest. CELLWRIGHT_OPENSTACK=required says that they must be.

import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ROOT } from '../support/programs.ts';
import { serverMaker } from './server-maker.ts';

const PYTHON = '/usr/bin/python3';
const WANTED = 'import osc_placement.tests.functional, openstackclient.shell, oslotest, fixtures';
/** There are 160 in the plugin of Debian 12; a run of fewer has not found them. */
const FEWEST_TESTS = 100;

const installed = spawnSync(PYTHON, ['-c', WANTED]).status === 0;
const test = suite('Placement API - the tests of the openstack command');
const whereInstalled = installed || process.env.CELLWRIGHT_OPENSTACK === 'required' ? test : test.skip;

interface Outcome {
  readonly status: number | null;
  readonly said: string;
}

function run(env: Readonly<Record<string, string>>): Promise<Outcome> {
  const code =
    'import functools, os, stevedore, sys, unittest, osc_placement.tests.functional as tests\n' +
    // Each command would look anew for the commands of all services, which took a quarter of the time.
    'stevedore.ExtensionManager = functools.lru_cache(None)(stevedore.ExtensionManager)\n' +
    'folder = os.path.dirname(tests.__file__)\n' +
    'top = os.path.dirname(os.path.dirname(os.path.dirname(folder)))\n' +
    'found = unittest.defaultTestLoader.discover(folder, top_level_dir=top)\n' +
    'result = unittest.TextTestRunner(stream=sys.stdout).run(found)\n' +
    'sys.exit(not result.wasSuccessful())';
  const child = spawn(PYTHON, ['-c', code], { env: { ...process.env, ...env }, cwd: '/' });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += String(data)));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, said }));
  });
}

whereInstalled('pass against our server', async () => {
  const maker = await serverMaker();
  try {
    const clients = join(ROOT, 'test/placement-api/clients');
    const { status, said } = await run({
      CELLWRIGHT_NEW_SERVER: maker.url,
      PYTHONPATH: clients,
      PYTHONDONTWRITEBYTECODE: '1',
    });
    assert.is(status, 0, said.slice(-20_000));
    const ran = Number(/^Ran (\d+) tests/m.exec(said)?.[1]);
    assert.ok(ran >= FEWEST_TESTS, `only ${ran} tests ran`);
  } finally {
    await maker.close();
  }
});

test.run();
