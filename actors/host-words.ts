// The state of a host in words. Pure.

import type { HostState } from './messages/scheduler.ts';

/** Why a host is disabled when nobody said why. */
export const BY_OPERATOR = 'by an operator';

/** `disabled: new disk`, `disabled by an operator`. */
export const disabledWords = (reason: string): string =>
  reason === BY_OPERATOR ? `disabled ${reason}` : `disabled: ${reason}`;

/** Why a host is disabled that is so only with all of its cell. */
export const cellDisabledWords = (reason: string): string =>
  `its cell is out of service${reason === BY_OPERATOR ? '' : `: ${reason}`}`;

/** Whether a host that is away is disabled when it is back: of one that is down its reason says why. */
export const comesBackDisabled = ({
  state,
  reason,
  disabled,
}: Pick<HostState, 'state'> & { reason?: string | undefined; disabled?: true | undefined }): boolean =>
  disabled === true || (state === 'down' && reason !== undefined);

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
  // Why it is silent, nobody knows.
  if (state === 'down') return `${words}${when}, and ${disabledWords(reason)}`;
  return reason === BY_OPERATOR ? `${words} ${reason}${when}` : `${words}${when}: ${reason}`;
}

/** What is said after the state of a host that is away, of which a rest is not over. */
export const thenAsideWords = (until: string): string => `when it comes back it is set aside until ${until}`;

/** `13:22:39Z`: it may be read much later. */
export function timeOfDay(at: number): string {
  const seconds = Math.ceil(at / 1_000);
  const parts = [(seconds / 3_600) % 24, (seconds / 60) % 60, seconds % 60];
  return `${parts.map((one) => String(Math.floor(one)).padStart(2, '0')).join(':')}Z`;
}
