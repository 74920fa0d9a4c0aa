// npm passes the signal that ends it on to the shell in which it runs a script. The shell dies of it, and what runs in the
// shell is told nothing. Of a signal that npm does not pass on, or cannot, npm alone dies, and not even the shell is told.

import { readFileSync } from 'node:fs';

/** How often it is looked, ms. */
const LOOK_EVERY_MS = 250;

/**
 * Has a program that npm runs as a script end as by SIGTERM when its shell is gone, or who runs the shell, once the program
 * listens for that.
 */
export function endWithShell(): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const shell = process.ppid;
  const npm = runnerOf(shell);
  const isAlone = () => process.ppid !== shell || (npm !== undefined && (runnerOf(shell) ?? npm) !== npm);
  const look = setInterval(() => {
    // Nobody listens any more where it is ending already.
    if (!isAlone() || process.listenerCount('SIGTERM') === 0) return;
    clearInterval(look);
    process.kill(process.pid, 'SIGTERM');
  }, LOOK_EVERY_MS).unref();
}

/** Who has a shell run a command; undefined where that is not known, as outside of Linux, or it is no such shell. */
function runnerOf(shell: number): number | undefined {
  try {
    const [, option] = readFileSync(`/proc/${shell}/cmdline`, 'utf8').split('\0');
    if (option !== '-c') return undefined;
    const stat = readFileSync(`/proc/${shell}/stat`, 'utf8');
    // The name of the program, in brackets, may have some itself.
    const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return Number(parent);
  } catch {
    return undefined;
  }
}
