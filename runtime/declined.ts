// What whoever asked an actor is told when the answer declines.

import type { Address } from '../actors/actor.ts';
import type { GatewayMessage } from '../actors/messages/gateway.ts';
import { CellwrightError } from './errors.ts';

export type Declined = Extract<GatewayMessage, { type: 'declined' }>;

/** @param to Whom the question was put to. */
export function declinedBy(to: Address, { code, reason, field, retryAfterMs }: Declined): CellwrightError {
  // The type of a question is this process's own, and no caller's fault.
  if (code === 'malformed' && field === 'type') return unknownTo(`'${to}'`);
  const named = field === undefined ? {} : { field };
  return new CellwrightError(code, reason, { retryable: code === 'overloaded', retryAfterMs, ...named });
}

/** Of a question that is right as this version has it. */
export function unknownTo(what: string): CellwrightError {
  const message = `an older version serves ${what} and does not know what it is asked; ask again when it is replaced`;
  return new CellwrightError('unknown-version', message, { retryable: true });
}
