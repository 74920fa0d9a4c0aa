// What consumers take and give back, and how the providers count it.

import type { Allocation } from '../../machines/instance-build.ts';
import type { Consumer, Held } from './consumers.ts';
import { changeUse, type Providers } from './providers.ts';
import { countTenant } from './tenants.ts';

const NOTHING: readonly Held[] = [];

/** Gives back the attempts of a consumer for which `drop` says so. Adds the providers that changed to `changed`. */
export function giveBack(
  consumer: Consumer,
  drop: (attempt: number) => boolean,
  providers: Providers,
  changed: Set<string>,
): void {
  const dropped = consumer.held.filter(({ attempt }) => drop(attempt));
  if (dropped.length === 0) return;
  for (const one of dropped) {
    use(one.allocations, -1, providers, changed);
    countTenant(one, -1, providers, changed);
  }
  consumer.held =
    dropped.length === consumer.held.length ? NOTHING : consumer.held.filter((one) => !dropped.includes(one));
}

/** Takes allocations for an attempt of a consumer; that they fit was decided before. */
export function take(
  consumer: Consumer,
  attempt: number,
  allocations: readonly Allocation[],
  providers: Providers,
  changed: Set<string>,
): void {
  use(allocations, 1, providers, changed);
  // Each record brings copies of the ids: what is kept names the providers by their own.
  const kept = allocations.map((one) => ({ ...one, provider: providers.get(one.provider)?.spec.id ?? one.provider }));
  const mine = { attempt, allocations: kept };
  countTenant(mine, 1, providers, changed);
  consumer.held = consumer.held.length === 0 ? [mine] : [...consumer.held, mine];
}

function use(allocations: readonly Allocation[], sign: 1 | -1, providers: Providers, changed: Set<string>): void {
  for (const { provider: id, resources } of allocations) {
    const provider = providers.get(id);
    if (provider === undefined) continue;
    changeUse(provider, resources, sign);
    changed.add(id);
  }
}
