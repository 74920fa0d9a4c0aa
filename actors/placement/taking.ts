// What consumers take and give back, and how the providers count it.

import type { Allocation } from '../../machines/instance-build.ts';
import type { Consumer, Held } from './consumers.ts';
import { addHolder, addHolderOfAbsent, dropHolder, dropHolderOfAbsent } from './holders.ts';
import { changeUse, type Provider } from './providers.ts';
import type { PlacementState } from './state.ts';
import { tallyAmounts, tallyConsumer } from './tallies.ts';
import { countTenant } from './tenants.ts';

type Counted = Pick<PlacementState, 'providers' | 'consumers' | 'untold' | 'absent'>;

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
}

/** Takes what an attempt of a consumer shall hold; that it fits was decided before. */
export function take(state: Counted, id: string, consumer: Consumer, { attempt, allocations, several }: Held): void {
  const { providers, consumers, untold } = state;
  use(state, id, allocations, 1);
  // Each record brings copies of the ids: what is kept names the providers by their own.
  const kept = allocations.map((one) => ({ ...one, provider: providers.get(one.provider)?.spec.id ?? one.provider }));
  const mine: Held = several === undefined ? { attempt, allocations: kept } : { attempt, allocations: kept, several };
  countTenant(mine, 1, providers, untold.used);
  if (consumer.held.length === 0) tallyConsumer(consumers.tallies, id, consumer, 1);
  tallyAmounts(consumers.tallies, consumer, mine, 1);
  consumer.held = consumer.held.length === 0 ? [mine] : [...consumer.held, mine];
}

function use(state: Counted, consumer: string, allocations: readonly Allocation[], sign: 1 | -1): void {
  for (const { provider: id, resources } of allocations) {
    const provider = noteHolder(state, consumer, id, sign);
    if (provider === undefined) continue;
    changeUse(state.providers, provider, resources, sign);
    state.untold.used.add(id);
  }
}

/** Notes that a consumer holds something of a provider (1), or no longer (-1); answers the provider if it is there. */
export function noteHolder(
  { providers, absent }: Pick<Counted, 'providers' | 'absent'>,
  consumer: string,
  id: string,
  sign: 1 | -1,
): Provider | undefined {
  const provider = providers.get(id);
  if (provider === undefined) {
    if (sign === 1) addHolderOfAbsent(absent, id, consumer);
    else dropHolderOfAbsent(absent, id, consumer);
  } else if (sign === 1) addHolder(provider, consumer);
  else dropHolder(provider, consumer);
  return provider;
}
