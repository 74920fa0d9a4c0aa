// Shows on a terminal how far lists are read, which takes a second for some ten thousand rows.

import { basename } from 'node:path';
import { createLogUpdate } from 'log-update';
import type { OnRead } from '../workload/rows.ts';
import { DRAW_EVERY_MS } from './display.ts';
import { printable } from './text.ts';

/**
 * What `read` answers, which is handed whom to tell how far it is.
 * @param output Nothing is shown where it is no terminal, and nothing is left there at the end.
 */
export function showReading<Answer>(read: (onRead?: OnRead) => Answer, output = process.stderr): Answer {
  if (output.isTTY !== true) return read();
  // Who hides the cursor listens to signals so as to show it again, and while a list is read no listener is called: Ctrl-C
  // would end nothing.
  const update = createLogUpdate(output, { showCursor: true });
  let shownAt = performance.now();
  try {
    return read((file, part) => {
      const now = performance.now();
      if (now - shownAt < DRAW_EVERY_MS) return;
      shownAt = now;
      update(printable([`reading '${basename(file)}': ${(100 * part).toFixed(0)} %`]));
    });
  } finally {
    update.clear();
  }
}
