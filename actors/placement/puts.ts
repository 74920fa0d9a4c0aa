// What was taken last of what computes told of their trees: what comes after it may have been told before it.

import type { PutTree } from '../messages/placement.ts';
import type { Put } from './state.ts';

/** Whether the same life of the compute has told the last one later, though it came before. */
export function comesLate(
  last: Pick<PutTree, 'incarnation' | 'ask'> | undefined,
  { incarnation, ask }: Pick<PutTree, 'incarnation' | 'ask'>,
): boolean {
  return incarnation !== undefined && last?.incarnation === incarnation && ask < last.ask;
}

/** Whether, as far as is known, nothing else was taken since: what another life told may lack what this one has. */
export function isOfLast(last: Put | undefined, { incarnation, ask }: PutTree): boolean {
  if (last === undefined || incarnation === undefined) return true;
  return last.incarnation === incarnation && last.ask === ask;
}
