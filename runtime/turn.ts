// Hosts one actor: a bounded mailbox, turns, and the output gate. A turn takes what is in the mailbox, lets the actor
// decide each message, appends what was decided to the journal, and lets replies, sends and events out only when that is
// safe. The next turns may be decided meanwhile, on the state that the last one left, and are the next entry together: if
// an entry then fails, nothing of it and of later ones was ever seen, and the whole state is dropped.

import type { Actor, Address, Message, Turn, Wake } from '../actors/actor.ts';
import type { Clock } from './clock.ts';
import { messageOf } from './errors.ts';
import type { Journal } from './journal/journal.ts';
import { type Slicer, slicerOf, type Taking, takeSnapshot } from './journal/slices.ts';
import type { Outbox } from './outbox.ts';
import { type Output, outputGate } from './output-gate.ts';
import type { Tenure } from './ownership/tenure.ts';
import { wakesOf } from './wakes.ts';

export interface ActorHostOptions<State, Incoming extends Message, Recorded> {
  readonly address: Address;
  readonly actor: Actor<State, Incoming, Recorded>;
  readonly journal: Journal<Recorded>;
  readonly clock: Clock;
  readonly outbox: Outbox;
  /** The most messages that wait; more are turned away as overloaded. */
  readonly maxMailbox: number;
  /** When the slices of snapshots are taken; shared by the actors of a process. Default: a pace of its own. */
  readonly slicer?: Slicer;
  /** Whether a turn that began then, by the clock that nobody sets, leaves what waits to the next. Default: after 3 ms. */
  readonly turnEnds?: (begunAt: number) => boolean;
  /** Told when the actor was stopped because its journal or itself failed. */
  onFailure(error: Error, address: Address): void;
}

/** The most turns that wait for their entries: with more, messages wait in the mailbox, which has a limit. */
const MAX_GATED = 1_024;

/** The most messages that one turn decides, so that no answer waits for very many others. */
const MAX_TURN = 512;
/**
 * How long a turn goes on to further messages, ms: some are a request for a hundred instances. What is let out together is
 * decided together by whoever it is for, in a turn as long; and while a few such heaps go round, everybody else waits for
 * them, in other processes too.
 */
const MAX_TURN_MS = 3;

/** What somebody who is turned away is told to wait, ms: neither so short nor so long as to be of no use. */
const RETRY_AFTER_MS = { least: 50, most: 10_000 } as const;

export interface ActorHostStats {
  turns: number;
  messages: number;
  records: number;
  /** Messages turned away because the mailbox was full. */
  overloaded: number;
}

export interface ActorHost {
  readonly address: Address;
  readonly stats: Readonly<ActorHostStats>;
  /** What the actor counts itself; nothing while its journal is read. */
  figures(): Readonly<Record<string, number>>;
  /** Messages that wait. */
  waiting(): number;
  /** How long it will take, by the pace of late, until what waits now is decided, ms. */
  retryAfterMs(): number;
  /** Whether what is put into the mailbox will be decided, or at least was when this was asked. */
  isUp(): boolean;
  /**
   * Reads the journal and does what the state owes. Messages may be put in from now on.
   * @param tenure The lease by which the actor is owned: no turn is taken while it is in doubt. Default: none is needed.
   */
  start(tenure?: Tenure): Promise<void>;
  /**
   * Somebody has come up anew: what waits for its answer is due now, for it may never have heard the question.
   * @param who Nobody in particular: the bus was away, and anybody may have missed anything.
   */
  cameUp(who?: Address): void;
  /** The lease is certain again: turns that were held are taken. */
  resume(): void;
  /** Puts a message into the mailbox; false when it is full, or the actor has stopped. */
  deliver(message: Message, from: Address): boolean;
  /**
   * Puts in an answer of what the actor asked beside it, in this process, however full the mailbox is: nobody would say
   * it again.
   */
  deliverAnswer(message: Message, from: Address): void;
  /** Resolves when all that is in the mailbox is decided, and safe, and let out; or the actor has stopped. */
  drained(): Promise<void>;
  /** Ends after the turn under way: what was decided and not yet safe is not let out. */
  stop(): Promise<void>;
}

/**
 * Stands for a list while there is nothing on it. Of thousands of actors most wait for seconds: a list that waited with
 * them would grow old, and so would, in the collector's eyes, all that is ever put on it, long after it is done with.
 */
const NOTHING = Object.freeze([]) as unknown as never[];

interface Letter {
  readonly message: Message;
  readonly from: Address;
}

export function actorHost<State, Incoming extends Message, Recorded>(
  options: ActorHostOptions<State, Incoming, Recorded>,
): ActorHost {
  const { address, actor, journal, clock, outbox, maxMailbox, slicer = slicerOf(clock) } = options;
  const { turnEnds = (begunAt) => clock.monotonic() - begunAt >= MAX_TURN_MS } = options;
  const stats: ActorHostStats = { turns: 0, messages: 0, records: 0, overloaded: 0 };
  const gate = outputGate<Recorded>({
    journal,
    clock,
    release: letOutAll,
    onDue: appendKept,
    onAppended(count) {
      taking?.recorded(count);
      if (journal.wantsSnapshot && !isHalfChanged) snapshot();
    },
    onReleased: schedule,
    onFailure: fail,
  });
  const wakes = wakesOf(clock, (id) => put({ message: { type: 'wake', id } as Wake, from: address }));
  let mailbox: Letter[] = NOTHING;
  let state: State;
  let phase: 'new' | 'running' | 'stopped' = 'new';
  let tenure: Tenure | undefined;
  /** What the state owes after it was read is still to be done. */
  let owing = false;
  /** A turn has failed in the middle. */
  let isHalfChanged = false;
  let scheduled = false;
  /** Since when the mailbox has not been empty, and how many messages were decided since. */
  const busy = { since: 0, decided: 0 };
  let waitingForEnd: (() => void)[] = [];
  /** What the turn under way has recorded and wants let out; null while there is none. */
  let records: Recorded[] | null = null;
  let outputs: Output[] | null = null;
  /** One for all turns: it means something only while an actor decides. */
  const turn: { -readonly [Key in keyof Turn<Recorded>]: Turn<Recorded>[Key] } = {
    now: 0,
    record(record) {
      if (records === NOTHING) records = [record];
      else (records as Recorded[]).push(record);
    },
    send: (to, message) => letOut({ to, message }),
    publish: (event) => letOut({ event }),
    wakeAt: (id, at, awaited) => wakes.arm(id, at - turn.now, awaited),
    cancelWake: wakes.cancel,
  };
  /** The snapshot that was begun last. */
  let taking: Taking | undefined;
  /** Counts the ends of the actor: what was begun in one life means nothing in the next. */
  let life = 0;

  function letOut(output: Output): void {
    if (outputs === NOTHING) outputs = [output];
    else (outputs as Output[]).push(output);
  }

  function put(letter: Letter): void {
    if (mailbox.length > 0) {
      mailbox.push(letter);
    } else {
      busy.since = clock.monotonic();
      busy.decided = 0;
      mailbox = [letter];
    }
    schedule();
  }

  function schedule(): void {
    if (scheduled || phase !== 'running') return;
    if (!owing && (mailbox.length === 0 || gate.size() >= MAX_GATED)) return tellIfDrained();
    scheduled = true;
    clock.soon(() => {
      scheduled = false;
      if (phase !== 'running') return;
      // Another process may own the actor by now: whatever is decided here could be wrong, an answer that needs no
      // record too. The messages wait until the lease is renewed or lost.
      if (tenure !== undefined && !tenure.holds()) return;
      if (owing) recover();
      else runTurn();
    });
  }

  function recover(): void {
    owing = false;
    decide(() => actor.recover(state, turn));
    schedule();
  }

  function tellIfDrained(): void {
    if (waitingForEnd.length === 0 || mailbox.length > 0 || gate.size() > 0) return;
    const told = waitingForEnd;
    waitingForEnd = [];
    // After the tick in which the last outputs are published.
    clock.soon(() => {
      for (const resolve of told) resolve();
    });
  }

  function runTurn(): void {
    let taken = 0;
    decide(() => {
      const most = Math.min(mailbox.length, MAX_TURN);
      const begunAt = clock.monotonic();
      while (taken < most && (taken === 0 || !turnEnds(begunAt))) {
        const { message, from } = mailbox[taken] as Letter;
        taken += 1;
        actor.receive(state, message as Incoming | Wake, from, turn);
      }
      mailbox = taken === mailbox.length ? NOTHING : mailbox.slice(taken);
    });
    stats.turns += 1;
    stats.messages += taken;
    busy.decided += taken;
    schedule();
  }

  /** Runs one turn and sends its records to the journal, its outputs to the gate. */
  function decide(body: () => void): void {
    turn.now = clock.now();
    records = NOTHING;
    outputs = NOTHING;
    try {
      body();
      actor.endTurn?.(state, turn);
    } catch (error) {
      records = null;
      outputs = null;
      // The state may be half changed: it is dropped, and all that this turn wanted. What was decided before may stay.
      isHalfChanged = true;
      appendKept();
      isHalfChanged = false;
      return fail(new Error(`actor '${address}' failed: ${messageOf(error)}`, { cause: error }));
    }
    const recorded: readonly Recorded[] = records;
    const wanted: readonly Output[] = outputs;
    records = null;
    outputs = null;
    if (recorded.length === 0 && wanted.length === 0) return;
    stats.records += recorded.length;
    try {
      gate.pass(recorded, wanted);
    } catch (error) {
      journalFailed(error);
    }
  }

  /** Appends what was kept for company, unless another process may own the actor by now. */
  function appendKept(): void {
    if (tenure?.holds() === false) return;
    try {
      gate.appendAll();
    } catch (error) {
      journalFailed(error);
    }
  }

  function snapshot(): void {
    const mine = life;
    taking = takeSnapshot({
      snapshot: actor.snapshot(state),
      writer: journal.beginSnapshot(),
      slicer,
      isWanted: () => mine === life,
      onFailure: journalFailed,
    });
  }

  function journalFailed(error: unknown): void {
    fail(new Error(`the journal of '${address}' failed: ${messageOf(error)}`, { cause: error }));
  }

  function letOutAll(released: readonly Output[]): void {
    for (const output of released) {
      if ('event' in output) outbox.publish(address, output.event);
      else outbox.send(address, output.to, output.message);
    }
  }

  function drop(): void {
    phase = 'stopped';
    life += 1;
    wakes.cancelAll();
    mailbox = NOTHING;
    gate.drop();
    owing = false;
    tellIfDrained();
  }

  function fail(error: Error): void {
    // One failure may bring about another, of what was under way.
    if (phase === 'stopped') return;
    drop();
    options.onFailure(error, address);
  }

  return {
    address,
    stats,
    figures: () => (phase === 'running' ? (actor.figures?.(state) ?? {}) : {}),
    waiting: () => mailbox.length,
    retryAfterMs() {
      const elapsedMs = clock.monotonic() - busy.since;
      // With nothing decided there is no pace: it may take as long again.
      const neededMs = busy.decided === 0 ? elapsedMs : (elapsedMs / busy.decided) * mailbox.length;
      return Math.ceil(Math.min(RETRY_AFTER_MS.most, Math.max(RETRY_AFTER_MS.least, neededMs)));
    },
    isUp: () => phase !== 'stopped',
    async start(held) {
      tenure = held;
      phase = 'new';
      const mine = life;
      try {
        const { snapshot: stored, records: later } = await journal.open(held);
        // Stopped while it was reading.
        if (mine !== life) return;
        state = stored === null ? actor.init() : actor.restore(stored);
        for (const record of later) actor.apply(state, record);
      } catch (error) {
        if (mine === life) drop();
        throw error;
      }
      phase = 'running';
      if (held === undefined || held.holds()) return recover();
      owing = true;
    },
    resume() {
      appendKept();
      schedule();
    },
    cameUp: wakes.cameUp,
    deliver(message, from) {
      if (phase === 'stopped') return false;
      if (mailbox.length >= maxMailbox) {
        stats.overloaded += 1;
        return false;
      }
      put({ message, from });
      return true;
    },
    deliverAnswer(message, from) {
      if (phase === 'stopped') return;
      put({ message, from });
    },
    drained: () =>
      new Promise((resolve) => {
        // What is due later is for the next owner.
        wakes.cancelAll();
        waitingForEnd.push(resolve);
        appendKept();
        if (phase === 'running') schedule();
        else tellIfDrained();
      }),
    async stop() {
      appendKept();
      drop();
      await journal.close();
    },
  };
}
