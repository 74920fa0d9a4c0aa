// Answers callers of the Placement API: JSON, in as many messages as it takes.

import type { Address, Turn } from '../../actor.ts';
import type { ApiOutcome } from '../../messages/placement-api.ts';
import type { PlacementRecord } from '../records.ts';

/** The most characters in one part of an answer: it stays below the payload limit however they are encoded. */
const MAX_PART_LENGTH = 128 * 1024;
/** How many entries of a list or a map are put into words at a time. */
const ENTRIES_IN_STEP = 1_000;
/** After how many characters others may be served: some milliseconds of work. */
const LENGTH_IN_STEP = 512 * 1024;
/** How deep in an answer long lists and maps are looked for. */
const DEEPEST = 2;

/** Sends an answer in as many parts as it needs. */
export function answer(to: Address, ask: number, outcome: ApiOutcome, turn: Turn<PlacementRecord>): void {
  const text = cutter();
  text.add(JSON.stringify(outcome));
  const parts = text.end();
  sendParts(to, ask, parts, 0, parts.length, turn);
}

/** Sends some parts of an answer. */
export function sendParts(
  to: Address,
  ask: number,
  parts: readonly string[],
  begin: number,
  end: number,
  turn: Turn<PlacementRecord>,
): void {
  for (let part = begin; part < end; part += 1) {
    turn.send(to, { type: 'placement-answer', ask, part, parts: parts.length, text: parts[part] as string });
  }
}

/** The parts of an answer that may be long, made in steps. A map in it is told as an object. */
export function* partsOf(outcome: ApiOutcome): Generator<void, readonly string[]> {
  const text = cutter();
  let made = 0;
  for (const piece of piecesOf(outcome, 0)) {
    text.add(piece);
    made += piece.length;
    if (made < LENGTH_IN_STEP) continue;
    yield;
    made = 0;
  }
  return text.end();
}

function* piecesOf(value: unknown, depth: number): Generator<string> {
  if (Array.isArray(value)) {
    for (let begin = 0; begin === 0 || begin < value.length; begin += ENTRIES_IN_STEP) {
      yield (begin === 0 ? '[' : ',') + inner(value.slice(begin, begin + ENTRIES_IN_STEP));
    }
    yield ']';
  } else if (value instanceof Map) {
    // One by one: objects with a thousand keys, each of them used once, cost the engine far more than their text.
    let text = '{';
    let entries = 0;
    for (const [key, one] of value as Map<string, unknown>) {
      text += `${entries === 0 ? '' : ','}${JSON.stringify(key)}:${JSON.stringify(one)}`;
      entries += 1;
      if (entries % ENTRIES_IN_STEP > 0) continue;
      yield text;
      text = '';
    }
    yield `${text}}`;
  } else if (typeof value === 'object' && value !== null && depth < DEEPEST) {
    let before = '{';
    for (const [key, one] of Object.entries(value)) {
      if (one === undefined) continue;
      yield `${before}${JSON.stringify(key)}:`;
      yield* piecesOf(one, depth + 1);
      before = ',';
    }
    yield before === '{' ? '{}' : '}';
  } else yield JSON.stringify(value);
}

/** A list or an object as JSON, without its brackets. */
const inner = (value: object): string => JSON.stringify(value).slice(1, -1);

/** Cuts a text into parts as it grows. */
function cutter(): { add(piece: string): void; end(): readonly string[] } {
  const parts: string[] = [];
  let text = '';
  return {
    add(piece) {
      text += piece;
      let begin = 0;
      while (text.length - begin > MAX_PART_LENGTH) {
        let end = begin + MAX_PART_LENGTH;
        // Half a character could not be sent.
        if (/[\uD800-\uDBFF]/.test(text[end - 1] ?? '')) end -= 1;
        parts.push(text.slice(begin, end));
        begin = end;
      }
      text = text.slice(begin);
    },
    end: () => [...parts, text],
  };
}
