// What an audit finds: a difference, whose obligation it is to mend it, and what may be done about it. Pure types and
// words.

import type { Difference, DifferenceKind } from './differences.ts';

/**
 * Beside what differs between placement, the cells and the hosts:
 * - `unknown-to-cell`: the super conductor says that a cell has an instance, and the cell does not know it.
 * - `unknown-to-conductor`: a cell has an instance that the super conductor does not know.
 * - `states-differ`: they say different things of how an instance ended.
 * - `stuck`: a build is past its deadline, and whoever hosts it has done nothing.
 * - `overdue`: something was owed long ago, and is owed still.
 */
export type FindingKind =
  | DifferenceKind
  | 'unknown-to-cell'
  | 'unknown-to-conductor'
  | 'states-differ'
  | 'stuck'
  | 'overdue';

/** What is certain to take nothing that is alive. */
export type Repair =
  /** Gives back what a consumer holds that nobody knows; `attempt` null ends the consumer. */
  | { readonly type: 'release'; readonly consumer: string; readonly attempt: number | null }
  | {
      readonly type: 'destroy';
      readonly cell: string;
      readonly host: string;
      readonly instance: string;
      readonly attempt: number;
    }
  /** Asks a cell to do again what it owes for an instance, and to tell the conductor how it ended. */
  | { readonly type: 'do-again'; readonly cell: string; readonly instance: string };

export interface Finding {
  readonly kind: FindingKind;
  readonly what: string;
  /** Whose obligation it is, and what helps. */
  readonly whose: string;
  readonly instance?: string | undefined;
  readonly attempts?: readonly number[] | undefined;
  readonly cell?: string | undefined;
  readonly host?: string | undefined;
  readonly provider?: string | undefined;
  readonly repairs: readonly Repair[];
}

/** The same difference, seen in another look, has the same key. */
export function keyOf({ kind, instance, attempts, cell, host, provider, what }: Finding): string {
  // Figures of providers are part of what differs: other figures are another difference.
  const detail = provider === undefined ? '' : what;
  return [kind, instance, attempts?.join('+'), cell, host, provider, detail].join(' ');
}

/**
 * What helps, in words, for what differs between placement, cells and hosts.
 * @param isOthers Whether it was on its host before the cell knew that host; null: that is not known.
 */
export function whoseIs({ kind, host, cell }: Difference, isOthers: boolean | null): string {
  const there = `'${cell}/${host}'`;
  if (isOthers !== false) {
    const before = `on ${there} before cell '${cell}' knew that host`;
    const why = isOthers
      ? `it ran ${before}`
      : `an older version serves cell '${cell}' and does not tell whether it ran ${before}`;
    const newer = isOthers ? '' : ', or serve the cell by this version and look again';
    return `the operator: ${why}, so it may be somebody else's; find out whose it is, and destroy it there if it is nobody's${newer}`;
  }
  switch (kind) {
    case 'over-capacity':
      return 'the operator: an inventory was told to be smaller than its use; nothing new fits until enough is deleted';
    case 'usage-differs':
      return 'placement: its count is wrong; it counts anew when it is started again';
    case 'leaked-allocation':
      return 'nobody: no owner owes it back; --repair gives it back once it is certain that nothing runs';
    case 'unheld-instance':
      return 'the operator: what the instance uses may be given to others; delete it, or move its neighbours';
    case 'held-elsewhere':
      return `the operator: a caller of the Placement API has moved it, and what the instance uses of ${there} may be given to others; have it moved back, or delete the instance`;
    case 'two-homes':
      return 'the cell: only the attempt that it knows counts; --repair destroys those that came before it';
    case 'running-without-record':
      return `nobody: no owner has it; --repair has it destroyed on ${there}`;
    case 'not-running':
      return `the operator: it is gone from ${there}; delete the instance, unless it is to come back`;
  }
}
