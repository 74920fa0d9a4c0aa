// Only a host whose compute is up and in service is offered instances.

import { hostStateWords, thenAsideWords, timeOfDay } from '../../host-words.ts';
import type { HostFacts } from '../view/host-facts.ts';
import type { Filter } from './filter.ts';

export const serviceState: Filter = {
  name: 'service-state',
  ignoresStats: true,
  goesBy: () => null,
  refusal(host) {
    if (host.state === 'up') return null;
    return { code: `host-${host.state}`, message: stateWords(host) };
  },
};

/** `host 'h1' is set aside: 5 builds in a row failed`. */
export function stateWords({
  host,
  state,
  reason,
  asideUntil,
}: Pick<HostFacts, 'host' | 'state' | 'reason' | 'asideUntil'>): string {
  const then = asideUntil === undefined ? '' : `; ${thenAsideWords(timeOfDay(asideUntil))}`;
  return `host '${host}' is ${hostStateWords({ state, reason })}${then}`;
}
