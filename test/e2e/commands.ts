// Runs a command of ours as a process of its own, to its end.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { argvOf, ROOT } from '../support/programs.ts';

export async function runCommand(...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [...argvOf('runtime/cli/main.ts'), ...args], { cwd: ROOT });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => (out += chunk));
  child.stderr.on('data', (chunk) => (err += chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err };
}
