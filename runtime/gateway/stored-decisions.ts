// The records of decisions, as conductors keep them and people are told of them.

import type { Decision } from '../../actors/messages/decision.ts';
import { StoredDecision, unpackDecision } from '../../actors/messages/stored-decision.ts';
import { checkOf } from '../schemas.ts';

const check = checkOf(StoredDecision, 'the record of a decision');

/** A record as it was kept; one that cannot be read, of another version perhaps, is none. */
export function decisionIn(text: string | undefined): Decision | null {
  if (text === undefined) return null;
  try {
    const stored: unknown = JSON.parse(text);
    return check(stored) === null ? unpackDecision(stored as StoredDecision) : null;
  } catch {
    return null;
  }
}
