// The state of a host in words. Pure.

import type { HostState } from './messages/scheduler.ts';

/** Why a host is disabled when nobody said why. */
export const BY_OPERATOR = 'by an operator';

/**
 * `set aside: 5 builds in a row failed`, `disabled by an operator`.
 * @param when Said of the state, before the reason, which may be long: `, since 13:00`.
 */
export function hostStateWords(
  { state, reason }: { state: HostState['state']; reason?: string | undefined },
  when = '',
): string {
  const words = state.replace('-', ' ');
  if (reason === undefined) return `${words}${when}`;
  if (reason !== BY_OPERATOR) return `${words}${when}: ${reason}`;
  return state === 'disabled' ? `${words} ${reason}${when}` : `${words}${when}, and disabled ${reason}`;
}
