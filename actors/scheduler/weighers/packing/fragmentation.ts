// Fragmentation, after Weng et al., "Beware of Fragmentation" (USENIX ATC 2023): how much of what the devices of a host
// have free is of no use to a request drawn from the typical ones. For a request that the host could not serve, that
// is all of it; for one that it could, what is free on devices that could not serve it. Memory does not count.

import type { RequestSpec } from '../../../messages/common.ts';
import type { PackingScale } from './load.ts';

/** A request as fragmentation sees it. */
export interface DeviceRequest {
  readonly processor: number;
  /** How many devices, each by itself. */
  readonly devices: number;
  /** How much of each of them. */
  readonly share: number;
  /** Lists of traits: a device must have one of each. */
  readonly anyOf: readonly (readonly string[])[];
}

export interface TypicalRequest extends DeviceRequest {
  /** How often it was seen. */
  readonly times: number;
}

export function deviceRequestOf(spec: RequestSpec, scale: PackingScale): DeviceRequest {
  const forDevices = spec.groups.filter(({ resources }) => resources[scale.device] !== undefined);
  let processor = 0;
  for (const { resources } of spec.groups) processor += resources[scale.processor] ?? 0;
  const [first] = forDevices;
  const required = (first?.required ?? []).map((trait) => [trait]);
  return {
    processor,
    devices: forDevices.length,
    share: first?.resources[scale.device] ?? 0,
    anyOf: [...required, ...(first?.anyOf ?? [])],
  };
}

const modelsOf = ({ anyOf }: DeviceRequest): string => anyOf.flat().join('|');

function descending(one: string, other: string): number {
  if (one === other) return 0;
  return one > other ? -1 : 1;
}

/** A request that was seen this often; default 1. */
export interface SeenRequest extends DeviceRequest {
  readonly times?: number;
}

/** The most frequent kinds of request that together are this part of all; memory makes no difference. */
export function typicalRequests(requests: Iterable<SeenRequest>, part = 0.95): TypicalRequest[] {
  const kinds = new Map<string, { request: DeviceRequest; count: number }>();
  let all = 0;
  for (const { times = 1, ...request } of requests) {
    all += times;
    const key = JSON.stringify([request.processor, request.devices, request.share, request.anyOf]);
    const kind = kinds.get(key);
    if (kind === undefined) kinds.set(key, { request, count: times });
    else kind.count += times;
  }
  const sorted = [...kinds.values()].sort(
    (one, other) =>
      other.count - one.count ||
      other.request.processor - one.request.processor ||
      other.request.share - one.request.share ||
      other.request.devices - one.request.devices ||
      descending(modelsOf(one.request), modelsOf(other.request)),
  );
  const chosen: typeof sorted = [];
  let counted = 0;
  for (const kind of sorted) {
    if (counted >= part * all) break;
    chosen.push(kind);
    counted += kind.count;
  }
  return chosen.map(({ request, count }) => ({ ...request, times: count }));
}
