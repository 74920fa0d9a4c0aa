// Runs commands of ours, each as a process of its own.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { argvOf, ROOT } from '../support/programs.ts';

export interface Running {
  child: ChildProcess;
  out(): string;
  err(): string;
  /** Resolves with the exit code once all output is there. */
  ended: Promise<number | null>;
}

/** @param input What it reads from its standard input. */
export function startCommand(args: readonly string[], input?: Uint8Array): Running {
  const child = spawn(process.execPath, [...argvOf('runtime/cli/main.ts'), ...args], { cwd: ROOT });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => (out += chunk));
  child.stderr.on('data', (chunk) => (err += chunk));
  child.stdin.end(input);
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { child, out: () => out, err: () => err, ended };
}

/** To its end. */
export async function runCommand(...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const { ended, out, err } = startCommand(args);
  return { code: await ended, out: out(), err: err() };
}
