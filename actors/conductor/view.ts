// An instance as a conductor can tell of it.

import { stateOfBuild } from '../builds.ts';
import type { InstanceView } from '../messages/gateway.ts';
import type { Entry } from './state.ts';

/** What the conductor can say of an instance; of one that is in a cell, only what the cell last said. */
export function viewOf(instance: string, entry: Entry): InstanceView {
  const { request, phase, cell, build, told, releaseOwed, owedSince } = entry;
  const view: InstanceView = { instance, request, state: phase };
  if (cell !== null) view.cell = cell;
  if (phase === 'in-cell') view.state = told?.state ?? 'building';
  if (told?.reason !== undefined) view.failure = { code: 'failed', message: told.reason };
  if (releaseOwed) view.owes = 'release';
  else if (phase === 'deleting') view.owes = 'removal';
  if (view.owes !== undefined && owedSince !== undefined) view.owedSince = owedSince;
  if (build === null) return view;
  if (build.deadlineAt !== null) view.deadlineAt = build.deadlineAt;
  const { selection, attempt, failure } = build.snapshot.context;
  if (phase === 'here') view.state = stateOfBuild(build);
  if (build.facts.project !== undefined) view.project = build.facts.project;
  if (selection !== null) view.host = selection.host;
  if (attempt > 0) view.attempt = attempt;
  if (failure !== null) view.failure = { ...failure };
  return view;
}
