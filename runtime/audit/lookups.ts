// Where what a finding is about stands in a look. Each is put in order once, when it is first asked for: of a million instances
// a thousand may differ, and a sound deployment needs none of it.

import type { ConsumerState } from '../../actors/messages/placement.ts';
import type { HostState } from '../../actors/messages/scheduler.ts';
import { append } from '../../actors/multimap.ts';
import type { OnHost } from './differences.ts';
import { hostProvidersOf, type Look, placeOf } from './look.ts';

export interface Lookups {
  isProvider(id: string): boolean;
  rootOf(provider: string): string | undefined;
  heldBy(consumer: string): ConsumerState['held'];
  /** Whether it is the provider of a host that a cell has shown. */
  isOfHost(provider: string): boolean;
  hostAt(cell: string, host: string): HostState | undefined;
  /** What of an instance is on hosts, as the drivers say. */
  runsOf(instance: string): readonly OnHost[];
}

export function lookupsIn({ placement, cells, driven }: Look): Lookups {
  const roots = once(() => new Map(placement?.providers.map(({ id, root }) => [id, root])));
  const held = once(() => new Map(placement?.consumers.map((one) => [one.consumer, one.held])));
  const ofHosts = once(() => hostProvidersOf(cells));
  const hosts = once(() => {
    const byPlace = new Map<string, HostState>();
    for (const [cell, look] of cells) for (const one of look?.hosts ?? []) byPlace.set(placeOf(cell, one.host), one);
    return byPlace;
  });
  const runs = once(() => {
    const byInstance = new Map<string, OnHost[]>();
    for (const found of driven.values()) for (const one of found ?? []) append(byInstance, one.instance, one);
    return byInstance;
  });
  return {
    isProvider: (id) => roots().has(id),
    rootOf: (provider) => roots().get(provider),
    heldBy: (consumer) => held().get(consumer) ?? [],
    isOfHost: (provider) => ofHosts().has(provider),
    hostAt: (cell, host) => hosts().get(placeOf(cell, host)),
    runsOf: (instance) => runs().get(instance) ?? [],
  };
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
