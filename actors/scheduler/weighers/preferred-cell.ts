// Hosts of the cells that a request prefers come before all others: no sum of the usual weights comes near its
// multiplier, and where a host is picked they are tried first, whatever they weigh. So every scheduler has it, also one
// that is told of other weighers. With none that fits there, the others are as good as ever. Only the rule of an instance
// group, a soft one too, comes before it.

import type { Weigher } from './weigher.ts';

export const preferredCell: Weigher<readonly string[]> = {
  name: 'preferred-cell',
  multiplier: 1_000,
  ignoresStats: true,
  ignoresAmounts: true,
  goesBy: ({ where }) => where?.preferCells,
  weigh({ host: { cell } }, preferred) {
    return preferred.includes(cell) ? 1 : 0;
  },
};
