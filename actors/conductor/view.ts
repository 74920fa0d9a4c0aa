// An instance as a conductor can tell of it.

import { attemptsOf, stateOfBuild } from '../builds.ts';
import type { InstanceView } from '../messages/gateway.ts';
import { present } from '../present.ts';
import { nameOfScheduler } from '../routing.ts';
import { type Times, timeTold } from '../times.ts';
import type { ConductorState, Entry, OpenRequest } from './state.ts';
import { askingOf } from './words.ts';

/** What the conductor can say of an instance; of one that is in a cell, only what the cell last said. */
export function viewOf(instance: string, entry: Entry, open: OpenRequest | undefined, turn: Times): InstanceView {
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
    const parkedAt = timeTold(open.parked.at, open.parkedAt, turn);
    const { at, reason } = open.latest ?? open.parked;
    const asOf = timeTold(at, open.latest?.heard ?? null, turn);
    const until = timeTold(open.waitUntil ?? parkedAt, open.ends?.waiting ?? null, turn);
    // As the record of its decision has it once it waits no more.
    const since = open.mayWaitMs === undefined ? parkedAt : until - open.mayWaitMs;
    view.waiting = { since, until, reason, asOf };
  }
  const endsAt = open?.waiting.has(instance) === true ? (open.ends?.unheard ?? null) : build.endsAt;
  if (build.deadlineAt !== null) view.deadlineAt = timeTold(build.deadlineAt, endsAt, turn);
  const { selection, attempt, failure } = build.snapshot.context;
  if (phase === 'here') view.state = stateOfBuild(build);
  if (build.facts.project !== undefined) view.project = build.facts.project;
  if (selection !== null) view.host = selection.host;
  if (attempt > 0) view.attempt = attempt;
  if (failure !== null) view.failure = { ...failure };
  return view;
}

/** What the conductor keeps of how an instance came to be where it is; its spec only while no cell has the instance. */
export function explanationOf(state: ConductorState, instance: string, entry: Entry, turn: Times) {
  const open = state.requests.get(entry.request);
  const { build } = entry;
  const isUndecided = entry.phase === 'here' && entry.cell === null;
  // Of one that waits the last decision is known here, and the first is on record.
  const decision = isUndecided ? (open?.latest?.decision ?? entry.decision) : entry.decision;
  const attempts = build === null ? [] : attemptsOf(build);
  const view: InstanceView = { ...viewOf(instance, entry, open, turn), attempts };
  if (isUndecided && open !== undefined) {
    const scheduler = open.awaits?.scheduler ?? open.scheduler;
    if (scheduler !== null) view.scheduler = nameOfScheduler(scheduler);
    if (open.awaits !== null) view.awaits = [...open.awaits.shards];
    const asking = askingOf(state, open, turn);
    if (asking !== undefined) view.asking = asking;
  }
  return { view, ...present({ decision, spec: build?.facts.spec, where: build?.facts.where }) };
}
