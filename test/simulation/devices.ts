// Devices: requests for whole GPUs of hosts that have several, at about the same moment and from several schedulers, with
// alternates that are needed. What a claim names is often taken by then, and another device of the same host is free.

import type { RequestSpec, ResourceGroup } from '../../actors/messages/common.ts';
import { instanceNames } from '../../actors/routing.ts';
import type { Random } from '../../runtime/random.ts';
import type { HostPlan, Operation } from './operations.ts';

/** CPUs are not what hosts with GPUs are short of. */
const MIN_VCPU = 6;
/** How many GPUs the hosts of a run with devices have. */
const GPUS = [0, 2, 3, 4, 4];

/** How many builds fail at least, so that alternates are needed. */
const BUILD_FAILS = [0, 0.3, 0.6];

export interface Devices {
  readonly hosts: readonly HostPlan[];
  readonly operations: readonly Operation[];
  readonly buildFails: number;
}

/** The hosts of a run, and what is asked of their devices; in many runs nothing. */
export function devicesOf(hosts: readonly HostPlan[], untilMs: number, random: Random): Devices {
  if (!random.chance(0.4)) return { hosts, operations: [], buildFails: 0 };
  const equipped = hosts.map((host) => ({
    ...host,
    vcpu: Math.max(MIN_VCPU, host.vcpu),
    gpus: random.pick(GPUS),
  }));
  const operations: Operation[] = [];
  const waves = random.integer(1, 3);
  for (let wave = 0; wave < waves; wave += 1) {
    const at = random.integer(0, untilMs - 1_000);
    if (random.chance(0.3)) {
      operations.push({ id: `device-${wave}`, at, what: 'device', host: random.pick(hosts).host });
    }
    const requests = random.integer(3, 6);
    for (let position = 0; position < requests; position += 1) {
      operations.push(...askFor(`d${wave}n${position}`, at + random.integer(0, 20), random));
    }
  }
  return { hosts: equipped, operations, buildFails: random.pick(BUILD_FAILS) };
}

function askFor(request: string, at: number, random: Random): Operation[] {
  const count = random.chance(0.2) ? 2 : 1;
  const waits = random.chance(0.2) ? { waitMs: random.integer(500, 8_000) } : {};
  const deletions = instanceNames(request, count)
    .filter(() => random.chance(0.5))
    .map((instance): Operation => {
      const deletedAt = at + Math.floor(random.exponential(1_200));
      return { id: `delete-${instance}`, at: deletedAt, what: 'delete', instance };
    });
  const alternates = random.integer(1, 3);
  const spec = specOf(random);
  return [{ id: `build-${request}`, at, what: 'build', request, count, alternates, spec, ...waits }, ...deletions];
}

/** A GPU beside a CPU without a group of its own, or one to three GPUs, each a group, with a CPU or without. */
function specOf(random: Random): RequestSpec {
  const cpu: ResourceGroup = { name: '', resources: { VCPU: 1 } };
  if (random.chance(0.2)) {
    return { groups: [{ ...cpu, resources: { VCPU: 1, PGPU: 1 } }], groupPolicy: 'none' };
  }
  const gpus = Array.from({ length: random.pick([1, 1, 2, 3]) }, (_, position) => {
    return { name: `gpu${position}`, resources: { PGPU: 1 } };
  });
  const groups = random.chance(0.7) ? [cpu, ...gpus] : gpus;
  return { groups, groupPolicy: random.pick(['none', 'isolate']) };
}
