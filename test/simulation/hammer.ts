// A harder plan for groups: four schedulers, and a crowd of requests for the same few hosts at about the same time, most of
// them members of a handful of groups, many for several instances, with alternates that are needed, and deletions among
// them.

import type { InstanceGroup, RequestSpec } from '../../actors/messages/common.ts';
import { instanceNames } from '../../actors/routing.ts';
import { type Random, seededRandom } from '../../runtime/random.ts';
import type { Operation } from './operations.ts';
import type { Plan } from './plan.ts';

const SCHEDULERS = 4;
const GROUPS: readonly (InstanceGroup | undefined)[] = [
  { id: '/close', policy: 'affinity' },
  { id: '/closer', policy: 'affinity' },
  { id: '/closest', policy: 'affinity' },
  { id: '/apart', policy: 'anti-affinity', maxPerHost: 1 },
  { id: '/pairs', policy: 'anti-affinity', maxPerHost: 2 },
  { id: '/near', policy: 'soft-affinity' },
  { id: '/loose', policy: 'soft-anti-affinity' },
  undefined,
];

/** The same fleet and the same faults, with other requests. */
export function hammered(plan: Plan): Plan {
  const random = seededRandom(`hammer ${plan.seed}`);
  const { weather } = plan;
  return {
    ...plan,
    schedulers: SCHEDULERS,
    operations: operationsOf(plan.healAt, random),
    maxMailbox: 1_000,
    weather: {
      ...weather,
      drop: Math.min(weather.drop, 0.05),
      deaf: 0,
      buildFails: random.pick([0.2, 0.5]),
      buildHangs: Math.min(weather.buildHangs, 0.05),
    },
  };
}

function operationsOf(untilMs: number, random: Random): Operation[] {
  const waves = random.integer(2, 4);
  const operations: Operation[] = [];
  for (let wave = 0; wave < waves; wave += 1) {
    const at = random.integer(0, untilMs - 1_500);
    const requests = random.integer(4, 8);
    for (let position = 0; position < requests; position += 1)
      operations.push(...askFor(`w${wave}n${position}`, at, random));
  }
  return operations.sort((one, other) => one.at - other.at);
}

function askFor(request: string, from: number, random: Random): Operation[] {
  const at = from + random.integer(0, 8);
  const count = random.chance(0.5) ? random.integer(2, 4) : 1;
  const instanceGroup = random.pick(GROUPS);
  const groups = [{ name: '', resources: { VCPU: random.integer(1, 2) } }];
  const spec: RequestSpec = { groups, groupPolicy: 'none', ...(instanceGroup === undefined ? {} : { instanceGroup }) };
  const waits = random.chance(0.4) ? { waitMs: random.integer(500, 6_000), project: random.pick(['p1', 'p2']) } : {};
  const build: Operation = {
    id: `build-${request}`,
    at,
    what: 'build',
    request,
    count,
    alternates: random.integer(0, 4),
    spec,
    ...waits,
  };
  const deletions = instanceNames(request, count)
    .filter(() => random.chance(0.5))
    .map((instance): Operation => {
      const deletedAt = at + Math.floor(random.exponential(1_000));
      return { id: `delete-${instance}`, at: deletedAt, what: 'delete', instance };
    });
  return [build, ...deletions];
}
