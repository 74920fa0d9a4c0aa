// An instance of a cell as people see it.

import { stateOfBuild } from '../builds.ts';
import type { InstanceView } from '../messages/gateway.ts';
import type { Entry } from './state.ts';

export function viewOfEntry(cell: string, { build, deleting }: Entry): InstanceView {
  const { instance, request, project } = build.facts;
  const { selection, attempt, attempts, alternates, failure } = build.snapshot.context;
  const view: InstanceView = {
    instance,
    request,
    state: deleting ? 'deleting' : stateOfBuild(build),
    cell,
    attempt,
    attempts: attempts.map((one) => ({ ...one })),
    alternates: alternates.map(({ host }) => host),
  };
  if (project !== undefined) view.project = project;
  if (selection !== null) {
    view.host = selection.host;
    view.allocations = selection.allocations.map((one) => ({ ...one, resources: { ...one.resources } }));
  }
  if (failure !== null) view.failure = { ...failure };
  return view;
}
