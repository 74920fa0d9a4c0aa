// Bursts: members of one instance group that are asked for at about the same moment, and some of which go again soon, so
// that several schedulers decide of one group at once.

import type { InstanceGroup, RequestSpec } from '../../actors/messages/common.ts';
import { instanceNames } from '../../actors/routing.ts';
import type { Random } from '../../runtime/random.ts';
import type { Operation } from './operations.ts';

const GROUPS: readonly InstanceGroup[] = [
  { id: '/huddle', policy: 'affinity' },
  { id: '/huddle', policy: 'affinity' },
  { id: '/scatter', policy: 'anti-affinity', maxPerHost: 1 },
  { id: '/loose', policy: 'soft-anti-affinity' },
];

/** The operations of a run's burst, in runs that have one. */
export function burstOf(untilMs: number, isSharded: boolean, random: Random): Operation[] {
  if (!random.chance(isSharded ? 0.6 : 0.2)) return [];
  const at = random.integer(0, untilMs - 1_000);
  const instanceGroup = random.pick(GROUPS);
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none', instanceGroup };
  const requests = random.integer(2, 5);
  return Array.from({ length: requests }, (_, position): Operation[] => {
    const request = `burst${position}`;
    const askedAt = at + random.integer(0, 5);
    const count = random.chance(0.4) ? random.integer(2, 3) : 1;
    const alternates = random.integer(0, 3);
    const waits = random.chance(0.3) ? { waitMs: random.integer(500, 8_000) } : {};
    const deletions = instanceNames(request, count)
      .filter(() => random.chance(0.4))
      .map((instance): Operation => {
        const deletedAt = askedAt + Math.floor(random.exponential(800));
        return { id: `delete-${instance}`, at: deletedAt, what: 'delete', instance };
      });
    return [
      { id: `build-${request}`, at: askedAt, what: 'build', request, count, alternates, spec, ...waits },
      ...deletions,
    ];
  }).flat();
}
