// How a program that npm runs as a script ends before its time: told by a signal, with the shell in which npm runs it, or
// since its output cannot be written. What is to be cleared away then is cleared away when the process exits.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endWithShell } from '../../runtime/cli/end-with-shell.ts';
import { endWhenUnread } from '../../runtime/cli/unread.ts';
import { messageOf } from '../../runtime/errors.ts';

const EXIT_ENDED = 1;

/** @param unread What it ends with when nobody reads on: that is no success of what is not through by then. */
export function endEarly(script: string, unread = EXIT_ENDED): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(EXIT_ENDED));
  endWithShell();
  endWhenUnread(script, () => EXIT_ENDED, unread);
}

/** Where everything temporary is kept from now on, until this process exits: who is ended cannot remove what is his. */
export function ownTemporaryFolder(prefix: string): void {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  process.on('exit', () => {
    try {
      // Servers of those that were ended may still write there for a moment.
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    } catch (error) {
      console.error(`not all could be removed: ${messageOf(error)}`);
    }
  });
  process.env.TMPDIR = folder;
}
