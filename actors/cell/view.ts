// An instance of a cell, and what is left of one, as people see it.

import { allocationsOf } from '../allocations.ts';
import { stateOfBuild } from '../builds.ts';
import type { InstanceView, RemovalView } from '../messages/gateway.ts';
import { destroyingOf, type Removal, type Removals, stateOfRemoval } from './removals.ts';
import type { Entry, Trouble } from './state.ts';

export function viewOfEntry(
  cell: string,
  { build, deleting, lost }: Entry,
  removals: Removals,
  trouble?: Trouble,
): InstanceView {
  const { instance, request, spec, project } = build.facts;
  const { selection, attempt, attempts, alternates, failure } = build.snapshot.context;
  const view: InstanceView = {
    instance,
    request,
    state: deleting ? 'deleting' : lost !== null ? 'lost' : stateOfBuild(build),
    cell,
    attempt,
    attempts: attempts.map((one) => ({
      ...one,
      mayRun: destroyingOf(removals, instance, one.attempt) !== undefined,
    })),
    alternates: alternates.map(({ host }) => host),
  };
  if (project !== undefined) view.project = project;
  if (selection !== null) {
    view.host = selection.host;
    view.allocations = allocationsOf(spec, selection).map((one) => ({ ...one, resources: { ...one.resources } }));
  }
  if (failure !== null) view.failure = { ...failure };
  if (lost !== null) view.failure = { code: 'host-fenced', message: lost.reason };
  if (lost?.told === false) view.owes = 'report';
  if (trouble !== undefined) view.trouble = trouble;
  if (build.deadlineAt !== null) view.deadlineAt = build.deadlineAt;
  return view;
}

export function viewOfRemoval(removal: Removal): RemovalView {
  const { instance, attempt, host, final, since } = removal.snapshot.context;
  const view: RemovalView = { instance, attempt, host, final, state: stateOfRemoval(removal) };
  if (since !== undefined) view.since = since;
  return view;
}
