// Keeps one process's part in the ownership of one actor: carries out what the ownership machine asks for, and tells it
// what came of that. The machine decides; here are the watches, writes, timers and the actor itself.

import { randomBytes } from 'node:crypto';
import type { Address } from '../../actors/actor.ts';
import { type OwnershipEvent, type OwnershipState, ownership } from '../../machines/ownership.ts';
import { begin, step } from '../../machines/step.ts';
import type { Clock, Timer } from '../clock.ts';
import { CellwrightError } from '../errors.ts';
import { eachOnce, MOST_PAUSE_MS, mayPass, PATIENCE_MS } from '../patience.ts';
import { withResolvers } from '../with-resolvers.ts';
import type { LeaseRecord, Leases, LeaseWatch, SeenLease } from './leases.ts';
import { type RenewedTenure, renewedTenure, type Tenure } from './tenure.ts';

/** What there is to do for an actor while its lease is held. */
export interface Duty {
  /** Takes messages, reads the journal and does what the state owes. Afterwards turns are taken. */
  open(tenure: Tenure): Promise<void>;
  /** The lease is certain again: turns that were held are taken. */
  resume(): void;
  /** Takes no more messages, and finishes those that are there. */
  drain(): Promise<void>;
  /** Ends at once and forgets everything. Never fails. */
  drop(): Promise<void>;
}

/** How a process stands to an actor. */
export interface Standing {
  readonly state: OwnershipState;
  /** The node that held the lease when it was last seen; null when none did. */
  readonly owner: string | null;
  /** The number of the tenure, while the lease is held here; it rises from each owner to the next. */
  readonly epoch: number | null;
}

export interface Keeper {
  readonly standing: Standing;
  /**
   * Resolves when the actor is served here, or another process is seen to own it and this one stands by. Failures that
   * may pass, such as a server that is slow to answer, are tried again, for half a minute, and each reason is reported.
   * @throws what no waiting mends, or has not mended; from then on failures are reported and tried again.
   */
  start(): Promise<void>;
  /** The journal has refused a record: somebody else has written. */
  fenced(): void;
  /** The actor fails again and again. */
  failed(error: Error): void;
  /**
   * Hands over and ends: when it resolves, whoever stands by can have the actor.
   * @param givenUp From when on nothing is waited for: then they can when the lease is over.
   */
  stop(givenUp?: Promise<void>): Promise<void>;
}

export interface KeeperOptions {
  readonly address: Address;
  /** The name of the node. */
  readonly name: string;
  readonly leases: Leases;
  readonly clock: Clock;
  /** How long the lease lasts without being renewed, ms. */
  readonly ttlMs: number;
  readonly duty: Duty;
  onError(error: unknown, what: string): void;
  /** Told when the process begins to own the actor, and when it no longer does. */
  onStanding?(standing: Standing): void;
}

/** How long an actor that fails is left to others, ms: longer each time, up to a limit. */
const FIRST_REST_MS = 1_000;
const MOST_REST_MS = 30_000;
/** A tenure that lasted for this long, ms, went well: the next rest is short again. */
const CALM_MS = 60_000;
/**
 * How long to wait before a lease that cannot be followed or written is looked at again, ms: longer each time, up to as long
 * as it lasts. Whoever looks later takes over later than those who own it, and those who ask, are told.
 */
const FIRST_APART_MS = 1_000;
/** How often it is told at most that leases are removed while they are held, ms. */
const TOLD_AGAIN_AFTER_MS = 60_000;

export function keeperOf(options: KeeperOptions): Keeper {
  const { address, name, leases, clock, ttlMs, duty, onError } = options;
  const holder = `${name}-${randomBytes(6).toString('hex')}`;
  const mine: LeaseRecord = { v: 1, owner: name, holder, ttlMs };
  const free: LeaseRecord = { ...mine, owner: null };

  let { snapshot } = begin(ownership, { address });
  let seen: SeenLease = { record: null, revision: 0 };
  let watch: LeaseWatch | undefined;
  let timer: Timer | undefined;
  let tenure: RenewedTenure | undefined;
  /** With what, and when, the lease was last taken. */
  let taken = { revision: 0, at: 0 };
  let restMs = FIRST_REST_MS;
  let apartMs = FIRST_APART_MS;
  let tellApart = eachOnce(onError);
  let openedAt: number | null = null;
  let removedToldAt = Number.NEGATIVE_INFINITY;
  const events: OwnershipEvent[] = [];
  let stepping = false;
  const ends: (() => void)[] = [];
  let settle: { resolve(): void; reject(error: unknown): void } | undefined;
  let patientUntil = 0;
  const { promise: givenUp, resolve: giveUp } = withResolvers();
  const tellWaiting = eachOnce(onError);

  const effects: Record<string, () => void> = {
    watch: watchLease,
    acquire: () => void acquire(),
    renew,
    open: () => void open(),
    serve() {
      settled();
      duty.resume();
    },
    hold: () => onError(new Error('it was not renewed in time; turns wait until it is'), `the lease of '${address}'`),
    drain: () => void drain(),
    drop: () => void drop(),
    release: () => void release(),
    rest,
  };

  // --- the machine

  function tell(...told: OwnershipEvent[]): void {
    events.push(...told);
    if (stepping) return;
    stepping = true;
    try {
      for (let event = events.shift(); event !== undefined; event = events.shift()) take(event);
    } finally {
      stepping = false;
    }
  }

  function take(event: OwnershipEvent): void {
    const before = snapshot.value;
    const next = step(ownership, snapshot, event);
    snapshot = next.snapshot;
    if (before !== snapshot.value) {
      leaveState();
      options.onStanding?.(standing());
    }
    for (const { type } of next.effects) {
      if (type === 'rest' && (before === 'standby' || before === 'acquiring')) restApart();
      else effects[type]?.();
    }
    if (snapshot.status === 'done') end();
  }

  /** What was waited for in one state means nothing in the next. */
  function leaveState(): void {
    watch?.stop();
    watch = undefined;
    timer?.cancel();
    timer = undefined;
  }

  function standing(): Standing {
    const state = snapshot.value;
    const { holds } = snapshot.context;
    return { state, owner: holds ? name : (seen.record?.owner ?? null), epoch: holds ? taken.revision : null };
  }

  // --- standing by

  function watchLease(): void {
    const here = leases.watch(
      address,
      (lease) => {
        if (here === watch) sawLease(lease);
      },
      (error) => {
        if (here === watch) failed(error, 'following', tellApart);
      },
    );
    watch = here;
  }

  function sawLease(lease: SeenLease): void {
    seen = lease;
    timer?.cancel();
    const { record } = lease;
    // What stands in our name is of an attempt whose outcome we never learned: nobody serves by it.
    if (record === null || record.owner === null || record.holder === holder) return tell({ type: 'VACANT' });
    timer = clock.after(record.ttlMs, () => tell({ type: 'EXPIRED' }));
    reached();
    settled();
  }

  async function acquire(): Promise<void> {
    const at = clock.monotonic();
    try {
      const revision = await leases.write(address, mine, seen.revision);
      if (snapshot.value !== 'acquiring') return;
      if (revision === null) return tell({ type: 'TAKEN' });
      taken = { revision, at };
      reached();
      tell({ type: 'ACQUIRED' });
    } catch (error) {
      if (snapshot.value === 'acquiring') failed(error, 'acquiring', tellApart);
    }
  }

  /** The lease is there again: the next time that it is not is a new one. */
  function reached(): void {
    apartMs = FIRST_APART_MS;
    tellApart = eachOnce(onError);
  }

  // --- owning

  function renew(): void {
    tenure = renewedTenure({
      address,
      leases,
      clock,
      record: mine,
      revision: taken.revision,
      takenAt: taken.at,
      onRenewed() {
        tell({ type: 'RENEWED' });
        // A turn may have been held a moment before the lease went stale, or came just in time.
        duty.resume();
      },
      onStale: () => tell({ type: 'STALE' }),
      onLost(isRemoved) {
        if (isRemoved) tellRemoved();
        tell({ type: 'LOST' });
      },
      onError,
    });
  }

  /** By an operator, or by a store that drops what is old: that may be so with each renewal. */
  function tellRemoved(): void {
    const at = clock.monotonic();
    if (at - removedToldAt < TOLD_AGAIN_AFTER_MS) return;
    removedToldAt = at;
    onError(new Error('it was removed while it was held'), `the lease of '${address}'`);
  }

  async function open(): Promise<void> {
    openedAt = clock.monotonic();
    try {
      await duty.open(tenure as Tenure);
      tell({ type: 'OPENED' });
      if (tenure?.holds() === false) tell({ type: 'STALE' });
    } catch (error) {
      // What a stop has broken off is no fault of the journal; whoever waits for the start is told all the same.
      if (snapshot.context.leaving && settle === undefined) return;
      failed(error, 'opening');
    }
  }

  async function drain(): Promise<void> {
    timer = clock.after(ttlMs, () => tell({ type: 'TIMED_OUT' }));
    await duty.drain();
    tell({ type: 'DRAINED' });
  }

  async function drop(): Promise<void> {
    // What is being opened may wait for the server; all else of it is over by then.
    await Promise.race([duty.drop(), givenUp]);
    const revision = (await Promise.race([tenure?.end(), givenUp])) ?? tenure?.epoch;
    if (revision !== undefined) taken = { ...taken, revision };
    tenure = undefined;
    tell({ type: 'DROPPED' });
  }

  /** Not to be released is no harm: then it is over when it has not been renewed for long enough. */
  async function release(): Promise<void> {
    await Promise.race([releaseInTime(), givenUp]);
    tell({ type: 'RELEASED' });
  }

  async function releaseInTime(): Promise<void> {
    try {
      if ((await leases.write(address, free, taken.revision)) === null) await releaseOwn();
    } catch (error) {
      onError(error, `releasing the lease of '${address}'`);
    }
  }

  /** The lease has changed: by another, or by a renewal of our own whose answer was lost. */
  async function releaseOwn(): Promise<void> {
    const { record, revision } = await leases.read(address);
    if (record?.holder === holder && record.owner !== null) await leases.write(address, free, revision);
  }

  function rest(): void {
    if (openedAt !== null && clock.monotonic() - openedAt > CALM_MS) restMs = FIRST_REST_MS;
    // Whoever starts waits for it.
    const pauseMs = settle === undefined ? restMs : Math.min(restMs, MOST_PAUSE_MS);
    timer = clock.after(pauseMs, () => tell({ type: 'RESTED' }));
    restMs = Math.min(restMs * 2, MOST_REST_MS);
  }

  /** Nothing is wrong with the actor: whoever owns it is to be followed again as soon as the lease can be. */
  function restApart(): void {
    const pauseMs = settle === undefined ? apartMs : Math.min(apartMs, MOST_PAUSE_MS);
    timer = clock.after(pauseMs, () => tell({ type: 'RESTED' }));
    apartMs = Math.min(apartMs * 2, Math.max(ttlMs, FIRST_APART_MS), MOST_REST_MS);
  }

  // --- the ends of it

  function failed(error: unknown, what: string, tellOf = onError): void {
    const isWaitedFor = mayPass(error) && clock.monotonic() < patientUntil;
    if (settle !== undefined && !isWaitedFor) {
      settle.reject(error);
      settle = undefined;
    } else {
      (settle === undefined ? tellOf : tellWaiting)(error, `${what} '${address}'`);
    }
    tell({ type: error instanceof CellwrightError && error.code === 'fenced' ? 'FENCED' : 'FAILED' });
  }

  function nothingIsAwaited(): void {
    giveUp();
    if (snapshot.value === 'acquiring') tell({ type: 'FAILED' });
    if (snapshot.value === 'draining') tell({ type: 'TIMED_OUT' });
  }

  function settled(): void {
    settle?.resolve();
    settle = undefined;
  }

  function end(): void {
    settled();
    for (const resolve of ends.splice(0)) resolve();
  }

  return {
    get standing() {
      return standing();
    },
    start() {
      return new Promise((resolve, reject) => {
        settle = { resolve, reject };
        patientUntil = clock.monotonic() + PATIENCE_MS;
        watchLease();
      });
    },
    fenced: () => tell({ type: 'FENCED' }),
    failed: (error) => failed(error, 'serving'),
    stop(isGivenUp) {
      void isGivenUp?.then(nothingIsAwaited);
      return new Promise((resolve) => {
        ends.push(resolve);
        tell({ type: 'STOP' });
      });
    },
  };
}
