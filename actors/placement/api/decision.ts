// What is decided of a change that a caller of the Placement API asks for.

import type { ApiOutcome } from '../../messages/placement-api.ts';
import type { ApiRecord } from '../records.ts';
import type { Refused } from './refusals.ts';

/** What to record, if anything, and what to answer once it is recorded. */
export interface Decision {
  readonly record: ApiRecord | null;
  /** Called when the record is applied. */
  answer(): ApiOutcome;
}

export function decline(outcome: Refused): Decision {
  return { record: null, answer: () => outcome };
}

export function done(record: ApiRecord | null, ok: unknown = null): Decision {
  return { record, answer: () => ({ ok }) };
}
