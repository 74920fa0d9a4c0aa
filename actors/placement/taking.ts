// What consumers take and give back, and how the providers count it.

import type { Allocation } from '../../machines/instance-build.ts';
import type { Consumer, Held } from './consumers.ts';
import { addHolder, dropHolder, keepHolder } from './holders.ts';
import { changeUse } from './providers.ts';
import type { PlacementState } from './state.ts';
import { tallyAmounts, tallyConsumer } from './tallies.ts';
import { countTenant } from './tenants.ts';

type Counted = Pick<PlacementState, 'providers' | 'consumers' | 'untold'>;

const NOTHING: readonly Held[] = [];

/** Gives back the attempts of a consumer for which `drop` says so. */
export function giveBack(state: Counted, id: string, consumer: Consumer, drop: (attempt: number) => boolean): void {
  const { held } = consumer;
  const dropped = held.filter(({ attempt }) => drop(attempt));
  if (dropped.length === 0) return;
  const { tallies } = state.consumers;
  for (const one of dropped) {
    tallyAmounts(tallies, consumer, one, -1);
    use(state, id, one.allocations, -1);
    countTenant(one, -1, state.providers, state.untold.used);
  }
  if (dropped.length === held.length) tallyConsumer(tallies, id, consumer, -1);
  consumer.held = dropped.length === held.length ? NOTHING : held.filter((one) => !dropped.includes(one));
  for (const { allocations } of consumer.held) {
    for (const { provider: of } of allocations) {
      const provider = state.providers.get(of);
      if (provider !== undefined) keepHolder(provider, id);
    }
  }
}

/** Takes allocations for an attempt of a consumer; that they fit was decided before. */
export function take(
  state: Counted,
  id: string,
  consumer: Consumer,
  attempt: number,
  allocations: readonly Allocation[],
): void {
  const { providers, consumers, untold } = state;
  use(state, id, allocations, 1);
  // Each record brings copies of the ids: what is kept names the providers by their own.
  const kept = allocations.map((one) => ({ ...one, provider: providers.get(one.provider)?.spec.id ?? one.provider }));
  const mine = { attempt, allocations: kept };
  countTenant(mine, 1, providers, untold.used);
  if (consumer.held.length === 0) tallyConsumer(consumers.tallies, id, consumer, 1);
  tallyAmounts(consumers.tallies, consumer, mine, 1);
  consumer.held = consumer.held.length === 0 ? [mine] : [...consumer.held, mine];
}

function use({ providers, untold }: Counted, consumer: string, allocations: readonly Allocation[], sign: 1 | -1): void {
  for (const { provider: id, resources } of allocations) {
    const provider = providers.get(id);
    if (provider === undefined) continue;
    changeUse(providers, provider, resources, sign);
    if (sign === 1) addHolder(provider, consumer);
    else dropHolder(provider, consumer);
    untold.used.add(id);
  }
}
