// One actor on a bench: it takes its turns one message at a time, and what it records, sends, publishes and asks to be
// woken for is kept for the test. Records go through the codec of the journals, so that only what can be stored counts.

import type { Actor, Address, Message, PublicEvent, Turn, Wake } from '../../actors/actor.ts';
import type { AnyMessage } from '../../actors/messages/any.ts';
import { decode, encode } from '../../runtime/codec.ts';

export interface Sent {
  readonly to: Address;
  readonly message: AnyMessage;
}

/** What came of one turn. */
export interface Turned<Recorded> {
  readonly records: readonly Recorded[];
  readonly sent: readonly Sent[];
  readonly events: readonly PublicEvent[];
}

export interface Bench<State, Incoming extends Message, Recorded> {
  readonly state: State;
  /** Ms since the epoch; a test may move it forward, and then as much time has passed. */
  now: number;
  /** The same by the clock that nobody sets. */
  readonly steady: number;
  /** What every turn recorded, as it reads when it is decoded; turns that recorded nothing have no entry. */
  readonly entries: readonly (readonly Recorded[])[];
  /** The wakes that are armed, by id: when each comes, by the clock that nobody sets. */
  readonly wakes: ReadonlyMap<string, number>;
  /** One turn over one message. */
  tell(message: Incoming | Wake, from?: Address): Turned<Recorded>;
  /** One turn over several messages. */
  tellAll(letters: readonly Letter<Incoming | Wake>[]): Turned<Recorded>;
  recover(): Turned<Recorded>;
  /** Moves the time to each wake due within `ms`, in order, one turn each. */
  pass(ms: number): Turned<Recorded>[];
  /** Sets the time of day back. */
  setBack(ms: number): void;
  /** The state as stored: plain data that shares nothing with the state. */
  stored(): unknown;
}

/** A value as a journal gives it back. */
export function journaled<T extends object>(value: T): T {
  return decode(encode(value)) as T;
}

/** A state as it is stored, in one part. */
export function stored<State>(actor: Pick<Actor<State, never, never>, 'snapshot'>, state: State): unknown {
  return journaled(actor.snapshot(state).next(Number.POSITIVE_INFINITY));
}

/** The messages of a type among what was sent, with where each went. */
export function sentOf<Type extends AnyMessage['type']>(
  { sent }: Pick<Turned<unknown>, 'sent'>,
  type: Type,
): { to: Address; message: Extract<AnyMessage, { type: Type }> }[] {
  return sent.filter(({ message }) => message.type === type) as never;
}

/** An instance as the actor on a bench shows it. */
export function viewOf(on: { tell(show: Extract<AnyMessage, { type: 'show' }>): Turned<unknown> }, instance: string) {
  const [shown] = sentOf(on.tell({ type: 'show', ask: 1, instance }), 'shown');
  return shown?.message.view ?? null;
}

/** What was sent, in short: `build to compute/c1/h1`. */
export function told({ sent }: Pick<Turned<unknown>, 'sent'>): string[] {
  return sent.map(({ to, message }) => `${message.type} to ${to}`);
}

const STEADY_FROM_MS = 12_345.625;

/**
 * Puts an actor on the bench, recovered once as a runtime does on a first start.
 * @param entries What is in its journal already. Default: nothing.
 * @param address What the actor says to itself, by this address, it hears when time passes.
 */
export function bench<State, Incoming extends Message, Recorded>(
  actor: Actor<State, Incoming, Recorded>,
  {
    at = 1_000_000,
    entries = [],
    address = 'bench',
  }: { at?: number; entries?: readonly (readonly Recorded[])[]; address?: Address } = {},
): Bench<State, Incoming, Recorded> & { readonly first: Turned<Recorded> } {
  const state = actor.init();
  const kept: (readonly Recorded[])[] = [];
  const wakes = new Map<string, number>();
  /** The clock that nobody sets has begun a moment ago, and has fractions. */
  let ahead = at - STEADY_FROM_MS;
  for (const entry of entries) {
    for (const record of entry) actor.apply(state, record);
    kept.push(entry);
  }

  function take(decide: (turn: Turn<Recorded>) => void): Turned<Recorded> {
    const records: Recorded[] = [];
    const sent: Sent[] = [];
    const events: PublicEvent[] = [];
    const turn: Turn<Recorded> = {
      now: desk.now,
      steady: desk.steady,
      record: (record) => records.push(record),
      send: (to, message) => sent.push({ to, message }),
      publish: (event) => events.push(event),
      wakeAfter: (id, afterMs) => wakes.set(id, desk.steady + Math.ceil(afterMs)),
      cancelWake: (id) => wakes.delete(id),
    };
    decide(turn);
    actor.endTurn?.(state, turn);
    if (records.length > 0) kept.push(journaled(records));
    return { records, sent: sent.map(({ to, message }) => ({ to, message: journaled(message) })), events };
  }

  const desk: Bench<State, Incoming, Recorded> = {
    state,
    now: at,
    get steady() {
      return desk.now - ahead;
    },
    entries: kept,
    wakes,
    tell: (message, from = 'test') => take((turn) => actor.receive(state, message, from, turn)),
    tellAll: (letters) =>
      take((turn) => {
        for (const { message, from } of letters) actor.receive(state, message, from, turn);
      }),
    recover: () => take((turn) => actor.recover(state, turn)),
    pass(ms) {
      const until = desk.steady + ms;
      const turns: Turned<Recorded>[] = [];
      for (;;) {
        const [next] = [...wakes].filter(([, when]) => when <= until).sort((one, other) => one[1] - other[1]);
        if (next === undefined) break;
        wakes.delete(next[0]);
        desk.now += Math.max(0, next[1] - desk.steady);
        turns.push(desk.tell({ type: 'wake', id: next[0] }));
        for (const { to, message } of turns.at(-1)?.sent ?? []) {
          if (to === address) turns.push(desk.tell(message as unknown as Incoming, address));
        }
      }
      desk.now = until + ahead;
      return turns;
    },
    setBack(ms) {
      ahead -= ms;
      desk.now -= ms;
    },
    stored: () => stored(actor, state),
  };
  const first = desk.recover();
  return Object.assign(desk, { first });
}

/** The state, as stored, to which the records of a journal lead. */
export function replayed<State, Incoming extends Message, Recorded>(
  actor: Actor<State, Incoming, Recorded>,
  entries: readonly (readonly Recorded[])[],
): unknown {
  const state = actor.init();
  for (const entry of entries) for (const record of entry) actor.apply(state, record);
  return stored(actor, state);
}

/** The state, as stored, that comes of storing a state and restoring it. */
export function restored<State, Incoming extends Message, Recorded>(
  actor: Actor<State, Incoming, Recorded>,
  snapshot: unknown,
): unknown {
  return stored(actor, actor.restore([snapshot]));
}

/** A message on its way to the actor on the bench. */
export interface Letter<Incoming extends Message> {
  readonly message: Incoming;
  readonly from: Address;
}

/** How often time may pass before a conversation is taken to have no end. */
const MAX_ROUNDS = 200;

/**
 * Answers what the actor says, lets time pass for what it says again, and goes on until `isOver`.
 * @param said What it said so far and nobody has answered.
 * @throws Error when it does not come to an end.
 */
export function converse<State, Incoming extends Message, Recorded>(
  desk: Bench<State, Incoming, Recorded>,
  said: readonly Sent[],
  answer: (sent: Sent) => readonly Letter<Incoming>[],
  isOver: () => boolean,
): void {
  let unanswered = [...said];
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    while (unanswered.length > 0) {
      const letters = unanswered.flatMap(answer);
      unanswered = letters.flatMap(({ message, from }) => desk.tell(message, from).sent);
    }
    if (isOver()) return;
    unanswered = desk.pass(10_000).flatMap(({ sent }) => sent);
  }
  throw new Error(`it is not over after ${MAX_ROUNDS} rounds`);
}
