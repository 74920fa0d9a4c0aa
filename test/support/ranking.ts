// What tests ask of a ranking.

import type { RequestSpec } from '../../actors/messages/common.ts';

/** So many VCPU of one host. */
export const specOf = (vcpu: number): RequestSpec => ({
  groups: [{ name: '', resources: { VCPU: vcpu } }],
  groupPolicy: 'none',
});

export const oneCpuOf = (host: string) => ({ provider: `p-${host}`, group: '', resources: { VCPU: 1 } });

/** No host is left out. */
export const NOBODY = () => false;
