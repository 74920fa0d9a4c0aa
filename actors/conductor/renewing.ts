// Requests that have no host yet when a shard begins anew: what the operator says of aggregates may have changed since they
// were accepted, and those that wait may do so for weeks.

import { mapKey } from '../map-key.ts';
import { isSame } from '../same.ts';
import type { Conditions, OpenRequest } from './state.ts';
import { commit, type Work } from './work.ts';

/** Makes the conditions of a request anew; null: it is not known which of them are the operator's. */
export type ConditionsNow = (accepted: Pick<OpenRequest, 'spec' | 'where' | 'project'>) => Conditions | null;

/** Has requests go by the conditions that are made of them now, where they are others; those of many are recorded once. */
export function renewConditions(work: Work, conditionsNow: ConditionsNow): void {
  const changed = new Map<string, { requests: string[]; conditions: Conditions }>();
  for (const [request, open] of work.state.requests) {
    const conditions = conditionsNow(open);
    if (conditions === null) continue;
    // Of ten thousand, each with all that is kept for others, nearly all are as they were: nothing is written down to see that.
    const { tree, where } = conditions;
    if (isSame(tree, open.spec.tree) && isSame(where, open.where)) continue;
    const key = mapKey(JSON.stringify([tree, where]));
    const one = changed.get(key);
    // The key of a long text is no proof, and what is written here decides on which hosts a request may be.
    if (one !== undefined && isSame(one.conditions, conditions)) one.requests.push(request);
    else changed.set(one === undefined ? key : `${key} ${request}`, { requests: [request], conditions });
  }
  for (const { requests, conditions } of changed.values()) {
    commit(work, { type: 'conditions', requests, ...conditions });
    for (const request of requests) {
      (work.state.requests.get(request) as OpenRequest).isRenewed = true;
      withdrawFromLine(work, request);
    }
  }
}

/** Until it is asked for anew, the scheduler where it waits would give it a host by the conditions that held before. */
function withdrawFromLine({ state: { parked, line }, turn }: Work, request: string): void {
  if (line !== null && parked.has(request)) turn.send(line.scheduler, { type: 'withdraw', request });
}
