// What a selected host gives to a request. Most requests ask one unnamed group of resources, and most hosts give it by
// themselves: then the request and the host say it all, and what each would give is not written beside it again.

import type { Allocation, Selection } from '../machines/instance-build.ts';
import type { RequestSpec } from './messages/common.ts';

/** What a host gives, said in full. */
export function allocationsOf(spec: RequestSpec, { provider, allocations }: Selection): readonly Allocation[] {
  return allocations ?? spec.groups.map(({ name, resources }) => ({ provider, group: name, resources }));
}

/** The selection without allocations that follow from the request. */
export function inShort(spec: RequestSpec, selection: Selection): Selection {
  const { cell, host, provider, allocations, maxInstances } = selection;
  if (allocations === undefined || !areUsual(spec, provider, allocations)) return selection;
  return maxInstances === undefined ? { cell, host, provider } : { cell, host, provider, maxInstances };
}

function areUsual({ groups }: RequestSpec, root: string, allocations: readonly Allocation[]): boolean {
  const [group] = groups;
  const [given] = allocations;
  if (groups.length !== 1 || allocations.length !== 1 || group === undefined || given === undefined) return false;
  if (group.name !== '' || given.group !== '' || given.provider !== root) return false;
  return given.resources === group.resources || isEqual(given.resources, group.resources);
}

function isEqual(one: Readonly<Record<string, number>>, other: Readonly<Record<string, number>>): boolean {
  for (const resourceClass in one) if (one[resourceClass] !== other[resourceClass]) return false;
  for (const resourceClass in other) if (one[resourceClass] === undefined) return false;
  return true;
}
