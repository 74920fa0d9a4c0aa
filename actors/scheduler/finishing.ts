// The end of a request whose instances all have a host: what was chosen, with alternates and the records of the decisions.

import type { Selection } from '../../machines/instance-build.ts';
import { inShort } from '../allocations.ts';
import { alternatesFor } from './alternates.ts';
import { inMessages } from './answers.ts';
import { decided } from './decision.ts';
import { close, contextOf, draftOf } from './selecting.ts';
import type { Open, Work } from './state.ts';

/** A host is claimed for an instance; when that is so of all, the asker is told them, with alternates and records. */
export function finish(work: Work, open: Open, instance: string): void {
  open.waiting.delete(instance);
  if (open.waiting.size > 0) return;
  const { request, round, spec, instances, alternates: wanted } = open.asked;
  const chosen = instances.map((one) => contextOf(open, one).candidate as Selection);
  const alternates = alternatesFor(work.state.rankings, work.state.view, open.request, chosen, wanted);
  const selections = instances.map((one, position) => ({
    instance: one,
    selection: inShort(spec, chosen[position] as Selection),
    alternates: (alternates[position] as Selection[]).map((alternate) => inShort(spec, alternate)),
    decision: decided(
      draftOf(open, one),
      work.turn.now,
      work.state.rankings.salt,
      chosen[position] as Selection,
      alternates[position] as Selection[],
    ),
  }));
  for (const some of inMessages(selections)) {
    work.turn.send(open.from, { type: 'selected', request, round, selections: some });
  }
  close(work, open);
}
