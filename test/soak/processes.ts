// The processes of a soak, and what may befall them: killed and started again, or stopped for a while and continued.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { argvOf } from '../support/programs.ts';
import { until } from '../support/until.ts';
import type { ProcessOptions } from './plan.ts';

const PROGRAM = 'test/soak/process.ts';
const START_LIMIT_MS = 60_000;

export interface Member {
  readonly name: string;
  /** Kills it, so that nothing of it is left but what it wrote. */
  kill(): Promise<void>;
  /** Starts it when it does not run, and waits until it plays its roles or stands by for them. */
  start(): Promise<void>;
  /** Stops it where it stands; `resume` lets it go on as if no time had passed. */
  pause(): void;
  resume(): void;
}

const running = new Set<ChildProcess>();
// When the soak is ended they go first: what they write to is removed then.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** @param log Told what the process writes to its error output, a line at a time. */
export function memberOf(name: string, options: ProcessOptions, log: (line: string) => void): Member {
  let child: ChildProcess | undefined;
  let exited: Promise<unknown> = Promise.resolve();

  async function start(): Promise<void> {
    if (child !== undefined) return;
    const mine = spawn(process.execPath, [...argvOf(PROGRAM), JSON.stringify(options)], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child = mine;
    running.add(mine);
    exited = once(mine, 'exit').then(() => {
      running.delete(mine);
      if (child === mine) child = undefined;
    });
    let said = '';
    mine.stdout.setEncoding('utf8').on('data', (chunk) => (said += chunk));
    mine.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      for (const line of chunk.split('\n')) if (line !== '') log(`${name}: ${line}`);
    });
    // A process that is killed meanwhile, or ends by itself, is not waited for.
    await until(`'${name}' is up`, () => said !== '' || child !== mine, START_LIMIT_MS);
  }

  return {
    name,
    start,
    async kill() {
      child?.kill('SIGKILL');
      await exited;
    },
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
  };
}
