// A flag that is given twice is a mistake, and which of its values counts would be a guess: it is refused, but for the
// flags that say that they may be given again.

import type { Command } from 'commander';

/** Flags that may be given again; each time adds to what was said before. */
const AGAIN = new Set(['any-of', 'member-of', 'group']);

/** Makes the command and all below it refuse a flag that is given twice. */
export function refuseRepeats(command: Command): void {
  for (const option of command.options) {
    if (AGAIN.has(option.name())) continue;
    let given = false;
    command.on(`option:${option.name()}`, () => {
      if (given) command.error(`error: option '${option.flags}' is given twice`);
      given = true;
    });
  }
  for (const one of command.commands) refuseRepeats(one);
}
