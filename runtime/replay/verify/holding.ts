// No orphan and one home: resources are held if and only if a live instance accounts for them, for the attempt that it
// lives in, and in one tree. Pure.

import type { InstanceView } from '../../../actors/messages/gateway.ts';
import type { Census } from '../census.ts';
import type { Fault } from './faults.ts';

export function holdingFaults(
  { providers, consumers }: Pick<Census, 'providers' | 'consumers'>,
  live: ReadonlyMap<string, InstanceView>,
): Fault[] {
  const roots = new Map(providers.map(({ id, root }) => [id, root]));
  const holding = new Set<string>();
  const faults: Fault[] = [];
  for (const { consumer, held } of consumers) {
    if (held.length === 0) continue;
    holding.add(consumer);
    const view = live.get(consumer);
    const attempts = held.map(({ attempt }) => attempt).join(' and ');
    if (view === undefined) {
      const what = `'${consumer}' holds resources for attempt ${attempts} and does not live`;
      faults.push({ kind: 'leaked', what });
      continue;
    }
    const homes = new Set(held.flatMap(({ allocations }) => allocations.map(({ provider }) => roots.get(provider))));
    if (homes.size > 1) {
      faults.push({ kind: 'two-homes', what: `'${consumer}' holds resources in ${homes.size} trees` });
    } else if (held.length > 1 || held[0]?.attempt !== view.attempt) {
      const what = `'${consumer}' holds resources for attempt ${attempts} and lives in attempt ${view.attempt}`;
      faults.push({ kind: 'leaked', what });
    }
  }
  for (const [instance, { state }] of live) {
    if (state !== 'active' || holding.has(instance)) continue;
    faults.push({ kind: 'leaked', what: `'${instance}' is active and holds no resources` });
  }
  return faults;
}
