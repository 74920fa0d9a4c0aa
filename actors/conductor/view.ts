// An instance as a conductor can tell of it.

import { attemptsOf, stateOfBuild, timesOutAt } from '../builds.ts';
import type { InstanceView } from '../messages/gateway.ts';
import { nameOfScheduler } from '../routing.ts';
import type { ConductorState, Entry, OpenRequest } from './state.ts';
import { askingOf } from './words.ts';

/** What the conductor can say of an instance; of one that is in a cell, only what the cell last said. */
export function viewOf(instance: string, entry: Entry, open?: OpenRequest): InstanceView {
  const { request, phase, cell, build, told, releaseOwed, owedSince } = entry;
  const view: InstanceView = { instance, request, state: phase };
  if (cell !== null) view.cell = cell;
  if (phase === 'in-cell') view.state = told?.state ?? 'building';
  if (told?.code !== undefined && told.reason !== undefined) view.failure = { code: told.code, message: told.reason };
  if (releaseOwed) view.owes = 'release';
  else if (phase === 'deleting') view.owes = 'removal';
  if (view.owes !== undefined && owedSince !== undefined) view.owedSince = owedSince;
  if (build === null) return view;
  if (phase === 'here' && cell === null && open?.parked !== undefined) {
    const { at: since } = open.parked;
    const { at: asOf, reason } = open.latest ?? open.parked;
    view.waiting = { since, until: open.waitUntil ?? since, reason, asOf };
  }
  const deadlineAt = timesOutAt(build);
  if (deadlineAt !== null) view.deadlineAt = deadlineAt;
  const { selection, attempt, failure } = build.snapshot.context;
  if (phase === 'here') view.state = stateOfBuild(build);
  if (build.facts.project !== undefined) view.project = build.facts.project;
  if (selection !== null) view.host = selection.host;
  if (attempt > 0) view.attempt = attempt;
  if (failure !== null) view.failure = { ...failure };
  return view;
}

/** What the conductor keeps of how an instance came to be where it is; its spec only while no cell has the instance. */
export function explanationOf(state: ConductorState, instance: string, entry: Entry, now: number) {
  const open = state.requests.get(entry.request);
  const { build } = entry;
  const isUndecided = entry.phase === 'here' && entry.cell === null;
  // Of one that waits the last decision is known here, and the first is on record.
  const decision = isUndecided ? (open?.latest?.decision ?? entry.decision) : entry.decision;
  const attempts = build === null ? [] : attemptsOf(build);
  const view: InstanceView = { ...viewOf(instance, entry, open), attempts };
  const scheduler = isUndecided ? open?.scheduler : null;
  if (typeof scheduler === 'string') view.scheduler = nameOfScheduler(scheduler);
  const asking = isUndecided && open !== undefined ? askingOf(state, open, now) : undefined;
  if (asking !== undefined) view.asking = asking;
  return {
    view,
    ...(decision === undefined ? {} : { decision }),
    ...(build === null ? {} : { spec: build.facts.spec }),
    ...(build?.facts.where === undefined ? {} : { where: build.facts.where }),
  };
}
