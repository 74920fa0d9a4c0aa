// Hosts one actor: a bounded mailbox, turns, and the output gate. A turn takes what is in the mailbox, lets the actor
// decide each message, appends what was decided to the journal, and lets replies, sends and events out only when that is
// safe. The next turns may be decided meanwhile, on the state that the last one left, and are the next entry together: if
// an entry then fails, nothing of it and of later ones was ever seen, and the whole state is dropped.

import type { Actor, Address, Message, PublicEvent, Turn, Wake } from '../actors/actor.ts';
import type { AnyMessage } from '../actors/messages/any.ts';
import { atLength } from './at-length.ts';
import type { Clock } from './clock.ts';
import { messageOf } from './errors.ts';
import type { Journal } from './journal/journal.ts';
import { type Slicer, slicerOf, type Taking, takeSnapshot } from './journal/slices.ts';
import type { Outbox } from './outbox.ts';
import { type Output, type OutputGate, type OutputGateOwner, outputGate } from './output-gate.ts';
import type { Tenure } from './ownership/tenure.ts';
import { type AwaitedWakes, type Wakes, wakesOf } from './wakes.ts';

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
  /** Where it is noted whose answers are awaited, if actors share that. */
  readonly awaiting?: AwaitedWakes;
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
/** Of how many records a step of the opening is. */
const RECORDS_IN_STEP = 500;

/** What somebody who is turned away is told to wait, ms: neither so short nor so long as to be of no use. */
const RETRY_AFTER_MS = { least: 50, most: 10_000 } as const;

interface ActorHostStats {
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
  /** Whether another process has taken the actor's place, as far as it has heard. */
  isReplaced(): boolean;
  /** Messages that wait. */
  waiting(): number;
  /** How long it will take, by the pace of late, until what waits now is decided, ms. */
  retryAfterMs(): number;
  /** Why nothing is let out at present, where that is known: the journal refuses it, or the lease is in doubt. */
  heldUpBy(): string | undefined;
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
  /**
   * Resolves when all that is in the mailbox is decided, and safe, and let out, and the journal has what a restart needs, as
   * far as that can be told; or the actor has stopped.
   */
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
  return new HostedActor(options);
}

/** What the turn under way has recorded and wants let out. One for all turns of an actor: it means something only while it decides. */
class ActorTurn<Recorded> implements Turn<Recorded> {
  now = 0;
  steady = 0;
  /** Null while no turn is under way. */
  records: Recorded[] | null = null;
  outputs: Output[] | null = null;
  readonly #wakes: Wakes;

  constructor(wakes: Wakes) {
    this.#wakes = wakes;
  }

  begin(now: number, steady: number): void {
    this.now = now;
    this.steady = steady;
    this.records = NOTHING;
    this.outputs = NOTHING;
  }

  end(): void {
    this.records = null;
    this.outputs = null;
  }

  record(record: Recorded): void {
    if (this.records === NOTHING) this.records = [record];
    else (this.records as Recorded[]).push(record);
  }

  send(to: Address, message: AnyMessage): void {
    this.#letOut({ to, message });
  }

  publish(event: PublicEvent): void {
    this.#letOut({ event });
  }

  wakeAfter(id: string, afterMs: number, awaited?: Address): void {
    // A steady time has fractions: at what comes of adding and subtracting them it is to be over.
    this.#wakes.arm(id, Math.ceil(afterMs), awaited);
  }

  cancelWake(id: string): void {
    this.#wakes.cancel(id);
  }

  #letOut(output: Output): void {
    if (this.outputs === NOTHING) this.outputs = [output];
    else (this.outputs as Output[]).push(output);
  }
}

/** A class, for a process may host thousands of actors: its methods are made once. */
class HostedActor<State, Incoming extends Message, Recorded> implements ActorHost, OutputGateOwner<Recorded> {
  readonly address: Address;
  readonly journal: Journal<Recorded>;
  readonly clock: Clock;
  readonly #actor: Actor<State, Incoming, Recorded>;
  readonly #outbox: Outbox;
  readonly #maxMailbox: number;
  readonly #slicer: Slicer;
  readonly #endsTurn: ActorHostOptions<State, Incoming, Recorded>['turnEnds'];
  readonly #failed: (error: Error, address: Address) => void;
  readonly #gate: OutputGate<Recorded>;
  readonly #wakes: Wakes;
  readonly #turn: ActorTurn<Recorded>;
  #mailbox: Letter[] = NOTHING;
  #state: State | undefined;
  #phase: 'new' | 'running' | 'stopped' = 'new';
  #tenure: Tenure | undefined;
  /** What the state owes after it was read is still to be done. */
  #owing = false;
  /** A turn has failed in the middle. */
  #isHalfChanged = false;
  #scheduled = false;
  /** Since when the mailbox has not been empty, and how many messages were decided since. */
  #busySince = 0;
  #busyDecided = 0;
  #turns = 0;
  #messages = 0;
  #records = 0;
  #overloaded = 0;
  #waitingForEnd: (() => void)[] = [];
  /** The snapshot that was begun last. */
  #taking: Taking | undefined;
  /** Counts the ends of the actor: what was begun in one life means nothing in the next. */
  #life = 0;

  constructor(options: ActorHostOptions<State, Incoming, Recorded>) {
    const { address, actor, journal, clock, outbox, maxMailbox, slicer = slicerOf(clock) } = options;
    const { turnEnds, awaiting, onFailure } = options;
    this.address = address;
    this.journal = journal;
    this.clock = clock;
    this.#actor = actor;
    this.#outbox = outbox;
    this.#maxMailbox = maxMailbox;
    this.#slicer = slicer;
    this.#endsTurn = turnEnds;
    this.#failed = onFailure;
    this.#gate = outputGate(this);
    const wake = (id: string, isEarly: boolean) => {
      this.#put({ message: { type: 'wake', id, isEarly } as Wake, from: address });
    };
    this.#wakes = wakesOf(clock, wake, awaiting);
    this.#turn = new ActorTurn(this.#wakes);
  }

  get stats(): ActorHostStats {
    return {
      turns: this.#turns,
      messages: this.#messages,
      records: this.#records,
      overloaded: this.#overloaded,
    };
  }

  figures(): Readonly<Record<string, number>> {
    return this.#phase === 'running' ? (this.#actor.figures?.(this.#state as State) ?? {}) : {};
  }

  isReplaced(): boolean {
    return this.#phase === 'running' && this.#actor.isReplaced?.(this.#state as State) === true;
  }

  waiting(): number {
    return this.#mailbox.length;
  }

  retryAfterMs(): number {
    const elapsedMs = this.clock.monotonic() - this.#busySince;
    // With nothing decided there is no pace: it may take as long again.
    const neededMs = this.#busyDecided === 0 ? elapsedMs : (elapsedMs / this.#busyDecided) * this.#mailbox.length;
    return Math.ceil(Math.min(RETRY_AFTER_MS.most, Math.max(RETRY_AFTER_MS.least, neededMs)));
  }

  heldUpBy(): string | undefined {
    // Whoever stands by is held up by nothing.
    if (this.#phase !== 'running') return undefined;
    const tenure = this.#tenure;
    if (this.journal.refusal !== undefined || tenure === undefined || tenure.holds()) return this.journal.refusal;
    return `its lease is not renewed${tenure.refusal === undefined ? '' : `: ${tenure.refusal}`}`;
  }

  isUp(): boolean {
    return this.#phase !== 'stopped';
  }

  async start(tenure?: Tenure): Promise<void> {
    this.#tenure = tenure;
    this.#phase = 'new';
    const mine = this.#life;
    try {
      const { snapshot, records } = await this.journal.open(tenure);
      // Stopped while it was reading.
      if (mine !== this.#life) return;
      // It may take long, and the lease is to be renewed meanwhile.
      const opening = atLength(this.clock, this.#opened(snapshot, records), () => mine === this.#life);
      const opened = opening instanceof Promise ? await opening : opening;
      if (opened === undefined) return;
      this.#state = opened.state;
    } catch (error) {
      if (mine === this.#life) this.#drop();
      throw error;
    }
    this.#phase = 'running';
    if (tenure === undefined || tenure.holds()) return this.#recover();
    this.#owing = true;
  }

  *#opened(snapshot: readonly unknown[] | null, records: Iterable<Recorded>): Generator<void, { state: State }> {
    const actor = this.#actor;
    let state: State;
    if (snapshot === null) state = actor.init();
    else if (actor.restoring === undefined) state = actor.restore(snapshot);
    else state = yield* actor.restoring(snapshot);
    let applied = 0;
    for (const record of records) {
      actor.apply(state, record);
      applied += 1;
      if (applied % RECORDS_IN_STEP === 0) yield;
    }
    return { state };
  }

  cameUp(who?: Address): void {
    this.#wakes.cameUp(who);
  }

  resume(): void {
    this.#appendKept();
    this.#snapshotIfWanted();
    this.#schedule();
  }

  deliver(message: Message, from: Address): boolean {
    if (this.#phase === 'stopped') return false;
    if (this.#mailbox.length >= this.#maxMailbox) {
      this.#overloaded += 1;
      return false;
    }
    this.#put({ message, from });
    return true;
  }

  deliverAnswer(message: Message, from: Address): void {
    if (this.#phase === 'stopped') return;
    this.#put({ message, from });
  }

  async drained(): Promise<void> {
    await this.#finished();
    if (this.#phase !== 'running') return;
    const onWanted = () => {
      // A wake may have come meanwhile, and what it recorded must stand before the state that has it.
      this.#appendKept();
      this.#snapshotIfWanted();
    };
    // What hinders it hinders no stop.
    await this.journal.settle?.(onWanted).catch(() => {});
  }

  #finished(): Promise<void> {
    return new Promise((resolve) => {
      // What is due later is for the next owner.
      this.#wakes.cancelAll();
      this.#waitingForEnd.push(resolve);
      this.#appendKept();
      if (this.#phase === 'running') this.#schedule();
      else this.#tellIfDrained();
    });
  }

  async stop(): Promise<void> {
    this.#appendKept();
    this.#drop();
    await this.journal.close();
  }

  // --- what its output gate says

  release(outputs: readonly Output[]): void {
    for (const output of outputs) {
      if ('event' in output) this.#outbox.publish(this.address, output.event);
      else this.#outbox.send(this.address, output.to, output.message);
    }
  }

  onDue(): void {
    this.#appendKept();
  }

  onAppended(records: number): void {
    this.#taking?.recorded(records);
    if (this.journal.wantsSnapshot && !this.#isHalfChanged) this.#snapshot();
  }

  onReleased(): void {
    this.#schedule();
  }

  onFailure(error: Error): void {
    // One failure may bring about another, of what was under way.
    if (this.#phase === 'stopped') return;
    this.#drop();
    this.#failed(error, this.address);
  }

  // --- turns

  #put(letter: Letter): void {
    if (this.#mailbox.length > 0) {
      this.#mailbox.push(letter);
    } else {
      this.#busySince = this.clock.monotonic();
      this.#busyDecided = 0;
      this.#mailbox = [letter];
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#phase !== 'running') return;
    if (!this.#owing && (this.#mailbox.length === 0 || this.#gate.size() >= MAX_GATED)) return this.#tellIfDrained();
    this.#scheduled = true;
    this.clock.soon(() => this.#takeTurn());
  }

  #takeTurn(): void {
    this.#scheduled = false;
    if (this.#phase !== 'running') return;
    // Another process may own the actor by now: whatever is decided here could be wrong, an answer that needs no
    // record too. The messages wait until the lease is renewed or lost.
    if (this.#tenure !== undefined && !this.#tenure.holds()) return;
    if (this.#owing) this.#recover();
    else this.#runTurn();
  }

  #recover(): void {
    this.#owing = false;
    this.#snapshotIfDue();
    if (this.#phase !== 'running') return;
    this.#decide(() => this.#actor.recover(this.#state as State, this.#turn));
    this.#schedule();
  }

  #tellIfDrained(): void {
    if (this.#waitingForEnd.length === 0 || this.#mailbox.length > 0 || this.#gate.size() > 0) return;
    const told = this.#waitingForEnd;
    this.#waitingForEnd = [];
    // After the tick in which the last outputs are published.
    this.clock.soon(() => {
      for (const resolve of told) resolve();
    });
  }

  #runTurn(): void {
    let taken = 0;
    this.#decide(() => {
      const mailbox = this.#mailbox;
      const most = Math.min(mailbox.length, MAX_TURN);
      while (taken < most && (taken === 0 || !this.#turnEnds())) {
        const { message, from } = mailbox[taken] as Letter;
        taken += 1;
        this.#actor.receive(this.#state as State, message as Incoming | Wake, from, this.#turn);
      }
      this.#mailbox = taken === mailbox.length ? NOTHING : mailbox.slice(taken);
    });
    this.#turns += 1;
    this.#messages += taken;
    this.#busyDecided += taken;
    this.#schedule();
  }

  /** Whether what waits is for the next turn. */
  #turnEnds(): boolean {
    const { steady } = this.#turn;
    return this.#endsTurn?.(steady) ?? this.clock.monotonic() - steady >= MAX_TURN_MS;
  }

  /** Runs one turn and sends its records to the journal, its outputs to the gate. */
  #decide(body: () => void): void {
    const turn = this.#turn;
    turn.begin(this.clock.now(), this.clock.monotonic());
    try {
      body();
      this.#actor.endTurn?.(this.#state as State, turn);
    } catch (error) {
      turn.end();
      // The state may be half changed: it is dropped, and all that this turn wanted. What was decided before may stay.
      this.#isHalfChanged = true;
      this.#appendKept();
      this.#isHalfChanged = false;
      return this.onFailure(new Error(`actor '${this.address}' failed: ${messageOf(error)}`, { cause: error }));
    }
    const recorded = turn.records as readonly Recorded[];
    const wanted = turn.outputs as readonly Output[];
    turn.end();
    if (recorded.length === 0 && wanted.length === 0) return;
    this.#records += recorded.length;
    try {
      this.#gate.pass(recorded, wanted);
    } catch (error) {
      this.#journalFailed(error);
    }
  }

  /** Appends what was kept for company, unless another process may own the actor by now. */
  #appendKept(): void {
    if (this.#tenure?.holds() === false) return;
    try {
      this.#gate.appendAll();
    } catch (error) {
      this.#journalFailed(error);
    }
  }

  /** A journal may want one of an owner that has nothing to record: then its stream has lost what stood there. */
  #snapshotIfWanted(): void {
    const isUsual = this.#phase === 'running' && !this.#owing;
    if (isUsual && this.#tenure?.holds() === true) this.#snapshotIfDue();
  }

  /** One that records nothing is not looked at otherwise, and each of its openings leaves an entry. */
  #snapshotIfDue(): void {
    try {
      if (this.journal.wantsSnapshot) this.#snapshot();
    } catch (error) {
      this.#journalFailed(error);
    }
  }

  #snapshot(): void {
    const mine = this.#life;
    this.#taking = takeSnapshot({
      snapshot: this.#actor.snapshot(this.#state as State),
      writer: this.journal.beginSnapshot(),
      slicer: this.#slicer,
      isWanted: () => mine === this.#life,
      onFailure: (error) => this.#journalFailed(error),
    });
  }

  #journalFailed(error: unknown): void {
    this.onFailure(new Error(`the journal of '${this.address}' failed: ${messageOf(error)}`, { cause: error }));
  }

  #drop(): void {
    this.#phase = 'stopped';
    this.#life += 1;
    this.#wakes.cancelAll();
    this.#mailbox = NOTHING;
    this.#gate.drop();
    this.#owing = false;
    // The next owner may be another process, and the state is large.
    this.#state = undefined;
    this.#taking = undefined;
    this.#actor.dropped?.();
    this.#tellIfDrained();
  }
}
