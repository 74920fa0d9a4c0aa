// Forgetting what nobody can come late for any more: deleted consumers, fences, and changes over several shards. Of very
// many it is some at a time.

import { hasOutlived } from './fences.ts';
import { hasOldTransactions } from './together.ts';
import { commit, type ShardWork } from './work.ts';

/** Forgets what is older than `before`; false when some of it is left for another turn. */
export function forgetOld(work: ShardWork, before: number): boolean {
  const { state } = work;
  const { deleted, holding } = state.consumers;
  const due = deleted.dueBefore(before, (consumer) => holding.has(consumer));
  if (due !== null || hasOutlived(state.fences, before) || hasOldTransactions(state, before)) {
    commit(work, { type: 'forgotten', before: due?.before ?? before });
  }
  return due?.isAll !== false;
}
