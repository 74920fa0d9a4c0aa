// Only a host whose compute is up and in service is offered instances.

import type { Filter } from './filter.ts';

export const serviceState: Filter = {
  name: 'service-state',
  ignoresStats: true,
  refusal({ host, state }) {
    if (state === 'up') return null;
    return { code: `host-${state}`, message: `host '${host}' is ${state}` };
  },
};
