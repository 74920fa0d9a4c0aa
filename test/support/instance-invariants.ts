// What must hold of one instance, said once for the simulation, which looks at it after every step, and for the check of
// whole deployments.

import type { HostedBuild } from '../../actors/builds.ts';
import { stateOfBuild } from '../../actors/builds.ts';
import { finalKey } from '../../actors/cell/removals.ts';
import type { CellState } from '../../actors/cell/state.ts';
import type { ConductorState } from '../../actors/conductor/state.ts';
import type { Selection } from '../../machines/instance-build.ts';

type Entry = ReturnType<ConductorState['instances']['get']>;

/** no orphan: whether somebody accounts for an attempt, or owes its release; what earlier attempts left is not asked. */
export function isAccountedFor(entry: Entry, cells: Iterable<CellState>, instance: string, attempt: number): boolean {
  if (entry === undefined) return false;
  if (entry.phase === 'here' || entry.releaseOwed) return true;
  if (entry.phase === 'deleting' && !entry.handedOver) return true;
  for (const { instances, removals } of cells) {
    if (removals.has(finalKey(instance))) return true;
    const build = instances.get(instance)?.build;
    if (build === undefined) continue;
    const { selection, attempt: latest } = build.snapshot.context;
    if (selection !== null) return attempt === latest;
    // The claim that is owed gives back what is held and takes the next; alternates that are passed over count as tried.
    if (stateOfBuild(build) === 'rescheduling') return attempt <= latest + 1;
  }
  return false;
}

/** alternates: of the same cell, distinct, no more than asked, tried in order, those that were passed over after all others. */
export function alternateFaultsOf(
  instance: string,
  { build, cell, chosen, wanted }: { build: HostedBuild; cell: string; chosen: readonly Selection[]; wanted: number },
): string[] {
  const faults: string[] = [];
  const hosts = chosen.map(({ host }) => host);
  const { attempts, selection, alternates } = build.snapshot.context;
  const underWay = selection === null ? [] : [selection.host];
  const [passed, tried] = [true, false].map((isPassed) =>
    attempts.filter(({ outcome }) => (outcome === 'passed-over') === isPassed).map(({ host }) => host),
  ) as [string[], string[]];
  const standing = [...tried, ...underWay, ...alternates.map(({ host }) => host)];
  const inOrder = [...hosts.filter((host) => !passed.includes(host)), ...passed];
  const say = (what: string) => faults.push(`alternates: '${instance}' ${what}`);
  if (standing.join() !== inOrder.join()) say(`was to try ${inOrder.join()} and tries ${standing.join()}`);
  if (new Set(passed).size !== passed.length) say(`passes over ${passed.join()}, one of them twice`);
  if (new Set(hosts).size !== hosts.length) say(`is given ${hosts.join()}, one of them twice`);
  if (hosts.length - 1 > wanted) say(`is given ${hosts.length - 1} alternates and asked for ${wanted}`);
  if (chosen.some((one) => one.cell !== cell)) say('is given a host of another cell');
  return faults;
}
