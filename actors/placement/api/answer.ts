// Answers callers of the Placement API: JSON, in as many messages as it takes.

import type { Address, Turn } from '../../actor.ts';
import type { ApiOutcome } from '../../messages/placement-api.ts';
import type { PlacementRecord } from '../records.ts';

/** The most characters in one part of an answer: it stays below the payload limit however they are encoded. */
const MAX_PART_LENGTH = 128 * 1024;

/** Sends an answer in as many parts as it needs. */
export function answer(to: Address, ask: number, outcome: ApiOutcome, turn: Turn<PlacementRecord>): void {
  const text = JSON.stringify(outcome);
  const pieces: string[] = [];
  for (let begin = 0; begin < text.length; ) {
    let end = begin + MAX_PART_LENGTH;
    // Half a character could not be sent.
    if (/[\uD800-\uDBFF]/.test(text[end - 1] ?? '')) end -= 1;
    pieces.push(text.slice(begin, end));
    begin = end;
  }
  for (const [part, piece] of pieces.entries()) {
    turn.send(to, { type: 'placement-answer', ask, part, parts: pieces.length, text: piece });
  }
}
