// npm passes the signal that ends it on to the shell in which it runs a script. The shell dies of it, and what runs in the
// shell is told nothing.

/** How often it is looked, ms. */
const LOOK_EVERY_MS = 250;

/** Has a program that npm runs as a script end as by SIGTERM when its shell is gone, once the program listens for that. */
export function endWithShell(): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const shell = process.ppid;
  const look = setInterval(() => {
    // Nobody listens any more where it is ending already.
    if (process.ppid === shell || process.listenerCount('SIGTERM') === 0) return;
    clearInterval(look);
    process.kill(process.pid, 'SIGTERM');
  }, LOOK_EVERY_MS).unref();
}
