// The state of a host in words. Pure.

import type { HostState } from './messages/scheduler.ts';

/** Why a host is disabled when nobody said why. */
export const BY_OPERATOR = 'by an operator';

/** `set aside: 5 builds in a row failed`, `disabled by an operator`. */
export function hostStateWords({ state, reason }: { state: HostState['state']; reason?: string | undefined }): string {
  const words = state.replace('-', ' ');
  if (reason === undefined) return words;
  if (reason !== BY_OPERATOR) return `${words}: ${reason}`;
  return state === 'disabled' ? `${words} ${reason}` : `${words}, and disabled ${reason}`;
}
