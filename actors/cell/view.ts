// An instance of a cell, and what is left of one, as people see it.

import { allocationsOf } from '../allocations.ts';
import { attemptsOf, stateOfBuild, timesOf } from '../builds.ts';
import type { InstanceView, RemovalView } from '../messages/gateway.ts';
import { present } from '../present.ts';
import { type Times, timeTold } from '../times.ts';
import { shardsAwaited } from './clearing.ts';
import { type Host, stateOfHost, toldHost } from './hosts.ts';
import { destroyingOf, type Removal, type Removals, removalsOf, stateOfRemoval } from './removals.ts';
import type { Service } from './service.ts';
import type { Entry, Trouble } from './state.ts';
import type { Work } from './work.ts';

export function viewOfEntry(
  cell: string,
  { build, deleting, lost, missingSince }: Entry,
  removals: Removals,
  turn: Times,
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
  if (lost !== null) {
    view.failure = { code: 'host-fenced', message: lost.reason };
    if (lost.at !== undefined) view.lostAt = lost.at;
  }
  if (lost?.told === false) view.owes = 'report';
  if (trouble !== undefined) view.trouble = trouble;
  if (missingSince !== null) view.missing = { since: missingSince };
  if (build.deadlineAt !== null) view.deadlineAt = timeTold(build.deadlineAt, build.endsAt, turn);
  return view;
}

/** The same for an explanation: with when its attempts were, what is left of it, and how the hosts are that have to do with it. */
export function explainedEntry(work: Work, { build }: Entry, view: InstanceView): InstanceView {
  const { state, turn } = work;
  const attempts = attemptsOf(build).map((one, position) => ({ ...one, ...view.attempts?.[position] }));
  const told = { ...view, attempts, ...timesOf(build) };
  const left = removalsOf(state, view.instance, view.attempt ?? 0).map((removal) => {
    const awaits = shardsAwaited(work, removal);
    return { ...leftOf(removal), ...(awaits.length === 0 ? {} : { awaits }) };
  });
  if (left.length > 0) told.left = left;
  const hosts = new Set([view.host, ...left.map(({ host }) => host)]);
  const hostsNotUp = [...hosts]
    .map((host) => state.hosts.get(host ?? ''))
    .filter((host) => host !== undefined)
    .map((host) => notUp(host, state.service, turn))
    .filter((host) => host.state !== 'up');
  if (hostsNotUp.length > 0) told.hostsNotUp = hostsNotUp;
  return told;
}

function notUp(entry: Host, service: Service, turn: Times): NonNullable<InstanceView['hostsNotUp']>[number] {
  const { host, state, reason, until: recorded } = toldHost(entry, service);
  // Since when its cell is out of service is not known.
  const since = stateOfHost(entry) === state || state === 'set-aside' ? entry.since : undefined;
  const until = recorded === undefined ? undefined : timeTold(recorded, entry.restsUntil, turn);
  const heardAt = timeTold(entry.heardAt, entry.heard, turn);
  // Of one that said nothing since the cell was away itself, nobody knows when it spoke last.
  const isKnown = state === 'down' && !entry.isUnheard && entry.heardAt > 0;
  return { host, state, ...present({ reason, since, until, heardAt: isKnown ? heardAt : undefined }) };
}

function leftOf(removal: Removal): NonNullable<InstanceView['left']>[number] {
  const { attempt, host, since } = removal.snapshot.context;
  return { attempt, host, state: stateOfRemoval(removal), ...present({ since }) };
}

export function viewOfRemoval(removal: Removal): RemovalView {
  const { instance, final } = removal.snapshot.context;
  return { instance, ...leftOf(removal), final };
}
