// The output gate of an actor: what a turn wants let out waits until its records are safe in the journal, and those of
// all turns before it, on whose state it stands. What is decided while an entry is under way is the next entry, in one; and
// where nobody waits for what a turn lets out, its records are kept for company a moment longer.

import type { Address, PublicEvent } from '../actors/actor.ts';
import type { AnyMessage } from '../actors/messages/any.ts';
import type { Clock, Timer } from './clock.ts';
import type { Journal } from './journal/journal.ts';

/** What a turn wants let out, in order. */
export type Output = { to: Address; message: AnyMessage } | { event: PublicEvent };

export interface OutputGate<Recorded> {
  /** Turns that wait. */
  size(): number;
  /**
   * Takes what a turn has decided.
   * @throws What the journal throws.
   */
  pass(records: readonly Recorded[], outputs: readonly Output[]): void;
  /**
   * Appends now what was kept for company.
   * @throws What the journal throws.
   */
  appendAll(): void;
  /** The actor ends: nothing that waits is let out any more, nor appended. */
  drop(): void;
}

export interface OutputGateOptions<Recorded> {
  readonly journal: Journal<Recorded>;
  readonly clock: Clock;
  release(outputs: readonly Output[]): void;
  /** It is time for `appendAll`. */
  onDue(): void;
  /** Told of so many records, which are on their way; nothing that was decided is not. */
  onAppended(records: number): void;
  /** Told when fewer turns wait. */
  onReleased(): void;
  /** An entry is not safe: nothing after it may be let out. */
  onFailure(error: Error): void;
}

/**
 * How long records that nobody waits for are kept for company, ms. Longer would save little: an owner with as much to
 * do as makes it worth while has another turn by then.
 */
const APPENDED_WITHIN_MS = 5;
/** The most records that are kept while an entry is under way: one of more would take long to write. */
const MAX_KEPT_RECORDS = 8_192;

/** A turn that waits for its entry, or for that of an earlier one. */
interface Gated {
  readonly outputs: readonly Output[];
  safe: boolean;
}

/** Turns that are not appended, and what they recorded. */
interface Kept<Recorded> {
  readonly turns: Gated[];
  readonly records: Recorded[];
  readonly timer: Timer;
  /** They are to be appended as soon as nothing is under way. */
  isDue: boolean;
}

export function outputGate<Recorded>(options: OutputGateOptions<Recorded>): OutputGate<Recorded> {
  const { journal, clock, release, onDue, onAppended, onReleased, onFailure } = options;
  const gate: Gated[] = [];
  let kept: Kept<Recorded> | null = null;
  /** Entries under way. */
  let underWay = 0;
  /** Counts the ends of the actor: what was appended in one life means nothing in the next. */
  let life = 0;

  function append(turns: readonly Gated[], records: readonly Recorded[]): void {
    const mine = life;
    underWay += 1;
    journal.append(records, (error) => {
      if (mine !== life) return;
      underWay -= 1;
      if (error !== null) return onFailure(error);
      for (const turn of turns) turn.safe = true;
      while (gate[0]?.safe === true) release((gate.shift() as Gated).outputs);
      if (underWay === 0 && kept?.isDue === true) onDue();
      onReleased();
    });
    if (mine === life) onAppended(records.length);
  }

  function appendAll(): void {
    if (kept === null) return;
    const { turns, records, timer } = kept;
    kept = null;
    timer.cancel();
    append(turns, records);
  }

  /** Answers how many records are kept now. */
  function keep(turn: Gated, records: readonly Recorded[]): number {
    kept ??= { turns: [], records: [], timer: clock.after(APPENDED_WITHIN_MS, due), isDue: false };
    kept.turns.push(turn);
    for (const record of records) kept.records.push(record);
    return kept.records.length;
  }

  /** It is time to append what is kept. */
  function due(): void {
    if (kept === null) return;
    if (underWay === 0) onDue();
    else kept.isDue = true;
  }

  function appendSoon(): void {
    if (underWay === 0) appendAll();
    else due();
  }

  return {
    size: () => gate.length,
    pass(records, outputs) {
      const isAwaited = outputs.some((output) => 'to' in output);
      if (records.length === 0) {
        // An answer shows what was decided before it.
        const mine = life;
        if (isAwaited) appendSoon();
        if (mine !== life) return;
        if (gate.length > 0) gate.push({ outputs, safe: true });
        else release(outputs);
        return;
      }
      const turn: Gated = { outputs, safe: false };
      gate.push(turn);
      if (isAwaited && kept === null && underWay === 0) return append([turn], records);
      if (keep(turn, records) >= MAX_KEPT_RECORDS) appendAll();
      else if (isAwaited) appendSoon();
    },
    appendAll,
    drop() {
      life += 1;
      underWay = 0;
      kept?.timer.cancel();
      kept = null;
      gate.length = 0;
    },
  };
}
