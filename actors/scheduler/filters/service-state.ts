// Only a host whose compute is up and in service is offered instances.

import type { HostFacts } from '../host-facts.ts';
import type { Filter } from './filter.ts';

export const serviceState: Filter = {
  name: 'service-state',
  ignoresStats: true,
  refusal(host) {
    if (host.state === 'up') return null;
    return { code: `host-${host.state}`, message: stateWords(host) };
  },
};

/** `host 'h1' is set aside until 2026-03-01T10:31:07.000Z: 5 builds in a row failed`. */
export function stateWords({
  host,
  state,
  reason,
  until,
}: Pick<HostFacts, 'host' | 'state' | 'reason' | 'until'>): string {
  const till = until === undefined ? '' : ` until ${new Date(until).toISOString()}`;
  const why = reason === undefined ? '' : `: ${reason}`;
  return `host '${host}' is ${state.replace('-', ' ')}${till}${why}`;
}
