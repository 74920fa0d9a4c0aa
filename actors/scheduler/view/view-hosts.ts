// The hosts in a scheduler's picture: how each stands and what it is doing, as its cell tells, and which of this scheduler's
// claims are on their way to be built there; and the passing of time, which makes some of it count less.

import type { Allocation } from '../../../machines/instance-build.ts';
import { adjust } from '../../amounts.ts';
import { comesBackDisabled } from '../../host-words.ts';
import type { HostState, HostStats, HostsChanged, HostsPage } from '../../messages/scheduler.ts';
import type { Provider } from '../../placement/providers.ts';
import type { Times } from '../../times.ts';
import type { HostFacts } from './host-facts.ts';
import { promise } from './promises.ts';
import { noteChange, type View, type ViewHost } from './view.ts';

export function learnHost(view: View, cell: string, told: HostState): void {
  const { host, provider: root, state, reason, failures, stats = NO_STATS, until, asideUntil, withCell } = told;
  const disabled = comesBackDisabled(told) || undefined;
  const known = view.hosts.get(root);
  const isSame =
    known !== undefined &&
    known.state === state &&
    known.cell === cell &&
    known.host === host &&
    known.reason === reason &&
    known.disabled === disabled &&
    known.withCell === withCell &&
    known.until === until &&
    known.asideUntil === asideUntil &&
    known.failures?.weight === failures?.weight &&
    known.failures?.at === failures?.at;
  if (isSame && sameStats(known.stats, stats)) return;
  view.hosts.set(root, { cell, host, root, state, reason, disabled, withCell, asideUntil, stats, failures, until });
  view.hostless.delete(root);
  if (known?.cell !== cell) {
    adjust(view.hostsIn, cell, 1);
    if (known !== undefined) adjust(view.hostsIn, known.cell, -1);
  }
  if (known !== undefined) noteTold(view, root, stats, known.stats);
  if (isSame && !view.statsMatter) return;
  // What only weighs otherwise lets nobody in who waits: load, for one, changes on all hosts all the time.
  if (!isSame || view.statsAdmit) view.freed?.add(root);
  noteChange(view, root);
}

const NO_STATS: HostStats = { instances: 0, builds: 0 };

function sameStats(one: HostStats, other: HostStats): boolean {
  return (
    one.instances === other.instances &&
    one.builds === other.builds &&
    one.ordered === other.ordered &&
    (one.metrics === other.metrics || JSON.stringify(one.metrics) === JSON.stringify(other.metrics))
  );
}

export function learnHosts(view: View, { cell, hosts }: Pick<HostsChanged | HostsPage, 'cell' | 'hosts'>): void {
  for (const host of hosts) learnHost(view, cell, host);
}

/** One page of a cell's hosts; `listed` gathers their root providers, of all pages. */
export function learnHostsPage(view: View, page: HostsPage, listed: Set<string>): void {
  for (const { provider } of page.hosts) listed.add(provider);
  learnHosts(view, page);
}

/** The cell has no such host any more; of another cell's it says nothing. */
export function forgetHost(view: View, cell: string, root: string): void {
  if (view.hosts.get(root)?.cell !== cell) return;
  view.hosts.delete(root);
  if (view.trees.has(root)) view.hostless.add(root);
  adjust(view.hostsIn, cell, -1);
  view.due.delete(root);
  view.expected.deleteOldest(root, Number.POSITIVE_INFINITY);
  noteChange(view, root);
}

/** After the last page of a cell: what no page had is gone. */
export function forgetUnlistedHosts(view: View, listed: ReadonlySet<string>, cell: string): void {
  for (const [root, host] of view.hosts) {
    if (host.cell === cell && !listed.has(root)) forgetHost(view, cell, root);
  }
}

/** Until when it is set aside if it is back before that. That the time is over its cell need not have said: it may be silent. */
export function restOf({ now }: Pick<View, 'now'>, { asideUntil }: ViewHost): number | undefined {
  return asideUntil !== undefined && asideUntil > now ? asideUntil : undefined;
}

/** What filters and weighers see of a host. */
export function factsOf(view: View, one: ViewHost, tree: readonly Provider[]): HostFacts {
  const { cell, host, root, state, reason, until, stats, failures } = one;
  const { traits, aggregates } = tree[0] as Provider;
  const { now } = view;
  const asideUntil = restOf(view, one);
  const counts = counted(view, root, stats);
  return { cell, host, state, reason, until, asideUntil, tree, traits, aggregates, stats: counts, failures, now };
}

/** What a host does, with what placement and this scheduler know of beside its cell's word. */
function counted(view: View, root: string, stats: HostStats): HostStats {
  if (!view.statsMatter) return stats;
  // A cell knows of more where what an instance holds was taken from it by a caller of the Placement API.
  const instances = Math.max(view.providers.get(root)?.tenants ?? 0, stats.instances);
  const builds = stats.builds + view.expected.countOn(root, view.steady - EXPECTED_MS);
  return instances === stats.instances && builds === stats.builds ? stats : { ...stats, instances, builds };
}

/**
 * Counts the build of an instance on a host, and what it takes there, while its claim is under way; the build until its
 * cell tells of it.
 */
export function promiseBuild(view: View, instance: string, root: string, allocations: readonly Allocation[]): void {
  if (view.statsMatter) {
    view.expected.add(instance, root, view.steady);
    lookAgainAfter(view, root, EXPECTED_MS);
    noteChange(view, root);
  }
  promise(view, root, allocations, 1);
}

/** Nothing comes of what was claimed for an instance: its build is expected no longer. */
export function expectNoMore(view: View, instance: string): void {
  const root = view.expected.delete(instance);
  if (root !== undefined) noteChange(view, root);
}

/**
 * A cell has told of a host. So many more builds ordered there are the oldest of those that were expected; with fewer it
 * began anew.
 */
function noteTold(view: View, root: string, told: HostStats, before: HostStats): void {
  const ordered = (told.ordered ?? 0) - (before.ordered ?? 0);
  if (ordered === 0 || view.expected.oldestOn(root) === undefined) return;
  view.expected.deleteOldest(root, ordered < 0 ? Number.POSITIVE_INFINITY : ordered);
  noteChange(view, root);
}

/** How long what was claimed is counted without a word of the cell, ms: some of its beats. */
const EXPECTED_MS = 3_000;
/** Time is looked at this often, ms, however many hosts wait for it. */
const DUE_STEP_MS = 1_000;

/** Has a host weighed anew when the time has come. */
export function lookAgainAfter(view: View, root: string, afterMs: number): void {
  const step = Math.ceil((view.steady + afterMs) / DUE_STEP_MS) * DUE_STEP_MS;
  const known = view.due.get(root);
  if (known !== undefined && known <= step && known > view.steady) return;
  view.due.set(root, step);
  if (step < view.nextDue) view.nextDue = step;
}

/** By so much the time of day may be put right, ms, before whatever goes by it is weighed anew. */
const SET_BY_MS = 1_000;

/** Lets the time be known: hosts that were waiting for it are weighed anew. */
export function passTime(view: View, { now, steady }: Times): void {
  view.now = now;
  view.steady = steady;
  if (Math.abs(now - steady - view.ahead) >= SET_BY_MS) {
    view.ahead = now - steady;
    for (const root of view.due.keys()) view.due.set(root, steady);
    if (view.due.size > 0) view.nextDue = steady;
  }
  if (steady < view.nextDue) return;
  view.nextDue = Number.POSITIVE_INFINITY;
  for (const [root, at] of view.due) {
    if (at > steady) {
      view.nextDue = Math.min(view.nextDue, at);
      continue;
    }
    view.due.delete(root);
    forgetExpected(view, root);
    view.freed?.add(root);
    noteChange(view, root);
  }
}

/** Forgets what was expected of a host for long enough, and looks again when more is to be forgotten. */
function forgetExpected(view: View, root: string): void {
  view.expected.deleteUntil(root, view.steady - EXPECTED_MS);
  const next = view.expected.oldestOn(root);
  if (next !== undefined) lookAgainAfter(view, root, next + EXPECTED_MS - view.steady);
}
