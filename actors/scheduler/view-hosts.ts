// The hosts in a scheduler's picture: how each stands and what it is doing, as its cell tells, and what this scheduler has
// claimed there since; and the passing of time, which makes some of it count less.

import type { Selection } from '../../machines/instance-build.ts';
import type { HostState, HostStats, HostsChanged, HostsPage } from '../messages/scheduler.ts';
import type { Provider } from '../placement/providers.ts';
import type { HostFacts } from './host-facts.ts';
import { type Expected, noteChange, type View, type ViewHost } from './view.ts';

export function learnHost(view: View, cell: string, told: HostState): void {
  const { host, provider: root, state, failures, stats = NO_STATS, until } = told;
  const known = view.hosts.get(root);
  const isSame =
    known !== undefined &&
    known.state === state &&
    known.cell === cell &&
    known.host === host &&
    known.until === until &&
    known.failures?.weight === failures?.weight &&
    known.failures?.at === failures?.at;
  if (isSame && sameStats(known.stats, stats)) return;
  view.hosts.set(root, { cell, host, root, state, stats, failures, until });
  view.freed?.add(root);
  if (!isSame || view.statsMatter) noteChange(view, root);
}

const NO_STATS: HostStats = { instances: 0, builds: 0 };

function sameStats(one: HostStats, other: HostStats): boolean {
  return (
    one.instances === other.instances &&
    one.builds === other.builds &&
    (one.metrics === other.metrics || JSON.stringify(one.metrics) === JSON.stringify(other.metrics))
  );
}

export function learnHosts(view: View, { cell, hosts }: Pick<HostsChanged | HostsPage, 'cell' | 'hosts'>): void {
  for (const host of hosts) learnHost(view, cell, host);
}

/** What filters and weighers see of a host. */
export function factsOf(
  view: View,
  { cell, host, root, state, stats, failures }: ViewHost,
  tree: readonly Provider[],
): HostFacts {
  const { traits, aggregates } = tree[0] as Provider;
  const expected = view.expected.get(root);
  const counted =
    expected === undefined || expected.until <= view.now
      ? stats
      : {
          ...stats,
          instances: Math.max(stats.instances, expected.instances),
          builds: Math.max(stats.builds, expected.builds),
        };
  const { now } = view;
  return { cell, host, state, tree, traits, aggregates, stats: counted, failures, now };
}

/** Counts an instance on a host before its cell tells of it (1), or no longer, because the claim was refused (-1). */
export function expect(view: View, root: string, sign: 1 | -1): void {
  if (!view.statsMatter) return;
  const { stats = NO_STATS } = view.hosts.get(root) ?? {};
  const known = view.expected.get(root);
  const { instances, builds } = known === undefined || known.until <= view.now ? stats : known;
  const until = view.now + EXPECTED_MS;
  view.expected.set(root, {
    instances: Math.max(stats.instances, instances) + sign,
    builds: Math.max(stats.builds, builds) + sign,
    until,
  });
  noteChange(view, root);
  lookAgainAt(view, root, until);
}

/** Forgets what was counted of a host since it was expected to have this. */
export function expectAsBefore(view: View, root: string, before: Expected | undefined): void {
  if (!view.statsMatter) return;
  if (before === undefined) view.expected.delete(root);
  else view.expected.set(root, before);
  noteChange(view, root);
}

/** A claim was refused because the host has as many instances as it may, though its cell has not told of all yet. */
export function noteFull(view: View, candidate: Selection | null): void {
  const { provider = '', maxInstances = 0 } = candidate ?? {};
  const { stats = NO_STATS } = view.hosts.get(provider) ?? {};
  const builds = view.expected.get(provider)?.builds ?? stats.builds;
  view.expected.set(provider, { instances: maxInstances, builds, until: view.now + EXPECTED_MS });
  noteChange(view, provider);
  lookAgainAt(view, provider, view.now + EXPECTED_MS);
}

/** How long what was claimed is counted without a word of the cell, ms: some of its beats. */
const EXPECTED_MS = 3_000;
/** Time is looked at this often, ms, however many hosts wait for it. */
const DUE_STEP_MS = 1_000;

/** Has a host weighed anew when the time has come. */
export function lookAgainAt(view: View, root: string, at: number): void {
  const step = Math.ceil(at / DUE_STEP_MS) * DUE_STEP_MS;
  const known = view.due.get(root);
  if (known !== undefined && known <= step && known > view.now) return;
  view.due.set(root, step);
  if (step < view.nextDue) view.nextDue = step;
}

/** Lets the time be known: hosts that were waiting for it are weighed anew. */
export function passTime(view: View, now: number): void {
  view.now = now;
  if (now < view.nextDue) return;
  view.nextDue = Number.POSITIVE_INFINITY;
  for (const [root, at] of view.due) {
    if (at > now) {
      view.nextDue = Math.min(view.nextDue, at);
      continue;
    }
    view.due.delete(root);
    const expected = view.expected.get(root);
    if (expected !== undefined && expected.until > now) lookAgainAt(view, root, expected.until);
    else if (view.expected.delete(root)) view.freed?.add(root);
    noteChange(view, root);
  }
}
