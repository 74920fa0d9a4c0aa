// The contract of every actor: it decides and does nothing. Given its state and a message it answers, through the
// turn, what to record and what to send; the runtime journals the records and only then lets the sends out.
// No actor reads a clock, makes up an id or waits.

import type { AnyMessage } from './messages/any.ts';
import type { Snapshot } from './snapshot.ts';

/** Names an actor: `conductor/0`, `cell/c1`, `compute/c1/h1`. runtime/subjects.ts turns it into a subject. */
export type Address = string;

/** Every message carries its type; what else it carries is in actors/messages/. */
export interface Message {
  readonly type: string;
}

/** Something that happened, for people and tools: never an input of another actor. */
export interface PublicEvent {
  /** The tokens of its subject below the prefix. */
  readonly topic: readonly string[];
  /** What has happened, where the last token does not say it. */
  readonly type?: string;
  /** What it tells, as plain JSON. */
  readonly body: Readonly<Record<string, unknown>>;
  /** What brought it about: the type of the message or machine event. */
  readonly cause: string;
  /** The trace context of the request, handed through. */
  readonly traceparent?: string | undefined;
}

/**
 * A time by a clock that nobody sets, ms since some moment: for how long something has lasted, or may last. In another life
 * of an actor it means nothing, so it is never recorded, nor told to anybody. All other times are ms since the epoch.
 */
export type SteadyTime = number;

/** What an actor may do while it decides. Nothing of it happens before the turn's records are safe. */
export interface Turn<Recorded> {
  /** The time of this turn, ms since the epoch: one time for all its messages. For what is recorded, or told. */
  readonly now: number;
  /** The same by a clock that nobody sets. For how long something has lasted, or may last. */
  readonly steady: SteadyTime;
  /** Appends to the owner's journal. By the end of the turn the actor has applied the record to its state. */
  record(record: Recorded): void;
  send(to: Address, message: AnyMessage): void;
  publish(event: PublicEvent): void;
  /**
   * Asks for a message `{ type: 'wake', id }` after so many ms; a second call for the same id replaces the first.
   * Not recorded: `recover` arms again what the state calls for.
   * @param awaited Whose answer is waited for until then: when it comes up anew, what was said to it may have died with
   * its last life, and the wake comes at once.
   */
  wakeAfter(id: string, afterMs: number, awaited?: Address): void;
  cancelWake(id: string): void;
}

/** A wake that was asked for with `wakeAfter`. */
export interface Wake extends Message {
  readonly type: 'wake';
  readonly id: string;
  /** It comes before its time, since somebody whose answer is awaited has come up: what he was asked before may be lost. */
  readonly isEarly?: boolean;
}

export interface Actor<State, Incoming extends Message, Recorded> {
  /** The state of an actor of which nothing is recorded. */
  init(): State;
  /** Decides one message. */
  receive(state: State, message: Incoming | Wake, from: Address, turn: Turn<Recorded>): void;
  /** Applies a record on replay; it must lead to the state that `receive` left when it recorded it. */
  apply(state: State, record: Recorded): void;
  /** Called once after replay (and on a first start): does again what the state owes, and arms its wakes. */
  recover(state: State, turn: Turn<Recorded>): void;
  /** Called after the last message of a turn: for what is told once a turn, however many messages it had. */
  endTurn?(state: State, turn: Turn<Recorded>): void;
  /** The state is dropped, as another process owns the actor now: it may be large, and nothing of it is to be kept. */
  dropped?(): void;
  /** What there is, in numbers, for whoever watches; asked at any time between turns. */
  figures?(state: State): Readonly<Record<string, number>>;
  /** Another process has taken its place, and it stands in nobody's way; asked at any time between turns. */
  isReplaced?(state: State): boolean;
  /** Begins a snapshot of the state as it is now; its parts are taken while the state goes on changing. */
  snapshot(state: State): Snapshot;
  /** The state of which these are all parts. */
  restore(parts: readonly unknown[]): State;
  /** The same in steps, most of them short: there may be a million rows, and a lease is to be renewed meanwhile. */
  restoring?(parts: readonly unknown[]): Generator<void, State>;
}
