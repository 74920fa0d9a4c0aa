// Packing policies in the settings of a scheduler: by name, and with what they go by.

import {
  deviceRequestOf,
  type SeenRequest,
  typicalRequests,
} from '../../actors/scheduler/weighers/packing/fragmentation.ts';
import { MILLI_SCALE, type PackingScale } from '../../actors/scheduler/weighers/packing/load.ts';
import { PACKING_POLICIES, packingPolicy } from '../../actors/scheduler/weighers/packing/policies.ts';
import type { Weigher } from '../../actors/scheduler/weighers/weigher.ts';
import { type CellwrightError, MalformedError } from '../errors.ts';
import { type BuildRequest, checkRequest, specOf } from '../gateway/requests.ts';

export interface PackingSettings {
  /**
   * For `fgd`: what the fleet is to keep room for, such as the requests of a usual week; each counts as often as its
   * `count` says.
   */
  readonly typical?: readonly BuildRequest[];
  /**
   * The resource classes that count, and how much of each the largest host has; default: `CUSTOM_CPU_MILLI` up to
   * 128,000 and devices of 1,000 `CUSTOM_GPU_MILLI`, up to 8 of them.
   */
  readonly scale?: PackingScale;
}

const MAX_TYPICAL = 100_000;

/**
 * The weigher of a packing policy, or undefined when the name is none.
 * @param bad Makes the error that names a field below the choice.
 * @throws what `bad` makes.
 */
export function packingWeigherOf(
  { name, typical, scale = MILLI_SCALE }: { readonly name: string } & PackingSettings,
  bad: (field: string, what: string) => CellwrightError,
): Weigher | undefined {
  const policy = PACKING_POLICIES.find((one) => one === name);
  if (policy === undefined) return undefined;
  if (typeof scale !== 'object' || scale === null) throw bad('scale', 'must be an object');
  for (const key of ['processor', 'device'] as const) {
    if (typeof scale[key] !== 'string') throw bad(`scale.${key}`, 'must be a resource class');
  }
  for (const key of ['largestProcessor', 'largestDevices', 'wholeDevice'] as const) {
    if (!(Number.isFinite(scale[key]) && scale[key] > 0)) throw bad(`scale.${key}`, 'must be a number above 0');
  }
  const requests = policy === 'fgd' ? requestsOf(typical, scale, bad) : [];
  const [weigher] = packingPolicy(policy, { scale, typical: typicalRequests(requests), seed: 'device' }).weighers;
  return weigher;
}

function requestsOf(
  typical: readonly BuildRequest[] | undefined,
  scale: PackingScale,
  bad: (field: string, what: string) => CellwrightError,
): SeenRequest[] {
  if (!Array.isArray(typical) || typical.length === 0 || typical.length > MAX_TYPICAL) {
    throw bad('typical', `must be a list of 1 to ${MAX_TYPICAL} requests, for which room is kept`);
  }
  return typical.map((request: BuildRequest, position) => {
    try {
      checkRequest('build', request);
      return { ...deviceRequestOf(specOf(request), scale), times: request.count ?? 1 };
    } catch (error) {
      if (!(error instanceof MalformedError)) throw error;
      const at = `typical.${position}`;
      throw bad(error.field === undefined ? at : `${at}.${error.field}`, `is wrong: ${error.message}`);
    }
  });
}
