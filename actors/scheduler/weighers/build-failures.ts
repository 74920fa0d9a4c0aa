// Prefers hosts on which builds have not failed lately. One failure takes away a quarter of what the weigher can give,
// three take half, nine three quarters: so one does not drive everybody off a host, and many do. What it was told fades
// with time; a host on which several in a row fail is set aside by its cell, which is another matter.

import { fadesAt, recalled } from '../../failure-memory.ts';
import type { Weigher } from './weigher.ts';

/** With this many failures a host is worth half. */
const HALF_AT = 3;

export const buildFailures: Weigher = {
  name: 'build-failures',
  multiplier: 1,
  ignoresStats: true,
  ignoresAmounts: true,
  weigh({ host: { failures, now } }) {
    return HALF_AT / (HALF_AT + recalled(failures, now));
  },
  changesAt: ({ failures, now }) => fadesAt(failures, now),
};
