// Area: Placement API. `cellwright placement-api` as a process: where it listens, how it ends, and what it refuses.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { argvOf, ROOT } from '../support/programs.ts';
import { until } from '../support/until.ts';

const test = suite('Placement API - command');

function start(...flags: string[]) {
  const args = [...argvOf('runtime/cli/main.ts'), 'placement-api', ...flags];
  const child = spawn(process.execPath, args, { cwd: ROOT });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += String(chunk)));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { child, said: () => said, ended };
}

test('it says where it listens, serves there, and ends in order when it is told to', async () => {
  const { child, said, ended } = start('--in-memory', '--listen', '127.0.0.1:0');
  try {
    await until('it listens', () => said().includes('development mode'), 30_000);
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said())?.[0] ?? '';
    const response = await fetch(`${url}/resource_providers`, { headers: { 'x-auth-token': 'admin' } });
    assert.equal(await response.json(), { resource_providers: [] });
    child.kill('SIGTERM');
    assert.is(await ended, 0);
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
});

test('flags that cannot be or do not go together are refused', async () => {
  const refused = [
    start('--listen', 'nowhere'),
    start('--in-memory', '--nats', 'nats://127.0.0.1:4222'),
    start('--in-memory', '--tokens', '/there/is/no/such/file'),
  ];
  assert.equal(await Promise.all(refused.map(({ ended }) => ended)), [2, 2, 2]);
  assert.match(refused[0]?.said() ?? '', 'It must be a host and a port');
  assert.match(refused[1]?.said() ?? '', 'goes with neither --nats nor --store');
  assert.match(refused[2]?.said() ?? '', 'It cannot be read');
});

test.run();
