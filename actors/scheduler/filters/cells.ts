// Cells that a request wants its host in, or not in.

import { shortened } from '../../count-words.ts';
import type { Where } from '../../messages/where.ts';
import type { NamingFilter } from './filter.ts';

export const cells: NamingFilter<Where> = {
  name: 'cells',
  late: true,
  ignoresStats: true,
  goesBy({ where }) {
    return where?.cells === undefined && where?.avoidCells === undefined ? undefined : where;
  },
  named: () => [],
  refusal({ cell, host }, { cells: wanted, avoidCells: avoided }) {
    if (wanted !== undefined && !wanted.includes(cell)) {
      return {
        code: 'not-in-cell',
        message: `host '${host}' is in cell '${cell}', not in ${shortened(wanted.join(', '))}`,
      };
    }
    if (avoided?.includes(cell) !== true) return null;
    return { code: 'in-avoided-cell', message: `host '${host}' is in cell '${cell}', to be avoided` };
  },
};
