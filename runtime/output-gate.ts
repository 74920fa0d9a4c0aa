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

/** Whose gate it is. */
export interface OutputGateOwner<Recorded> {
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

export function outputGate<Recorded>(owner: OutputGateOwner<Recorded>): OutputGate<Recorded> {
  return new Gate(owner);
}

/** A class, for a process may have thousands of them: its methods are made once. */
class Gate<Recorded> implements OutputGate<Recorded> {
  readonly #owner: OutputGateOwner<Recorded>;
  readonly #gated: Gated[] = [];
  #kept: Kept<Recorded> | null = null;
  /** Entries under way. */
  #underWay = 0;
  /** Counts the ends of the actor: what was appended in one life means nothing in the next. */
  #life = 0;

  constructor(owner: OutputGateOwner<Recorded>) {
    this.#owner = owner;
  }

  size(): number {
    return this.#gated.length;
  }

  pass(records: readonly Recorded[], outputs: readonly Output[]): void {
    const isAwaited = outputs.some((output) => 'to' in output);
    if (records.length === 0) {
      // An answer shows what was decided before it.
      const mine = this.#life;
      if (isAwaited) this.#appendSoon();
      if (mine !== this.#life) return;
      if (this.#gated.length > 0) this.#gated.push({ outputs, safe: true });
      else this.#owner.release(outputs);
      return;
    }
    const turn: Gated = { outputs, safe: false };
    this.#gated.push(turn);
    if (isAwaited && this.#kept === null && this.#underWay === 0) return this.#append([turn], records);
    if (this.#keep(turn, records) >= MAX_KEPT_RECORDS) this.appendAll();
    else if (isAwaited) this.#appendSoon();
  }

  appendAll(): void {
    if (this.#kept === null) return;
    const { turns, records, timer } = this.#kept;
    this.#kept = null;
    timer.cancel();
    this.#append(turns, records);
  }

  drop(): void {
    this.#life += 1;
    this.#underWay = 0;
    this.#kept?.timer.cancel();
    this.#kept = null;
    this.#gated.length = 0;
  }

  #append(turns: readonly Gated[], records: readonly Recorded[]): void {
    const mine = this.#life;
    const gated = this.#gated;
    const owner = this.#owner;
    this.#underWay += 1;
    owner.journal.append(records, (error) => {
      if (mine !== this.#life) return;
      this.#underWay -= 1;
      if (error !== null) return owner.onFailure(error);
      for (const turn of turns) turn.safe = true;
      while (gated[0]?.safe === true) owner.release((gated.shift() as Gated).outputs);
      if (this.#underWay === 0 && this.#kept?.isDue === true) owner.onDue();
      owner.onReleased();
    });
    if (mine === this.#life) owner.onAppended(records.length);
  }

  /** Answers how many records are kept now. */
  #keep(turn: Gated, records: readonly Recorded[]): number {
    const timer = () => this.#owner.clock.after(APPENDED_WITHIN_MS, () => this.#due());
    this.#kept ??= { turns: [], records: [], timer: timer(), isDue: false };
    this.#kept.turns.push(turn);
    for (const record of records) this.#kept.records.push(record);
    return this.#kept.records.length;
  }

  /** It is time to append what is kept. */
  #due(): void {
    if (this.#kept === null) return;
    if (this.#underWay === 0) this.#owner.onDue();
    else this.#kept.isDue = true;
  }

  #appendSoon(): void {
    if (this.#underWay === 0) this.appendAll();
    else this.#due();
  }
}
