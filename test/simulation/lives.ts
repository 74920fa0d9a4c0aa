// The lives of the actors of a run. Each address has a seat; a life on it is the production turn loop around the
// production actor. A life can end at once, be held up and go on, and find itself beside another one that took its
// seat meanwhile: then it is a stale owner, which its journal refuses and its lease ends a little later.

import type { Clock } from '../../runtime/clock.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import { type Journal, noJournal } from '../../runtime/journal/journal.ts';
import { slicerOf } from '../../runtime/journal/slices.ts';
import type { Outbox } from '../../runtime/outbox.ts';
import { type ActorHost, actorHost } from '../../runtime/turn.ts';
import type { OwnerActor } from './actors.ts';
import type { Chance } from './chance.ts';
import { type LifeClock, lifeClock } from './life-clock.ts';
import type { Letter } from './network.ts';

export interface Life {
  readonly address: string;
  /** Which life on its seat it is, from 1. */
  readonly number: number;
  readonly clock: LifeClock;
  readonly host: ActorHost;
  /** The state that the actor works on. */
  state: unknown;
  /** Another life has taken its seat, though it may not know it yet. */
  isStale: boolean;
  over: boolean;
}

export interface Seat {
  readonly address: string;
  readonly isOwner: boolean;
  /** Whether somebody is to be there. */
  readonly isWanted: boolean;
  readonly lives: readonly Life[];
  /** The life that began last, or undefined while there is none. */
  readonly last: Life | undefined;
  begin(): void;
  /** Ends the lives on the seat. */
  end(): void;
  /** Ends it and begins anew after `downMs`. */
  crash(downMs: number): void;
  /** Whoever is held up goes on, and a seat that is empty is taken. */
  heal(): void;
  /** Holds the last life up for `forMs`; an owner's seat is taken over after `takenOverMs`. */
  pause(forMs: number, takenOverMs: number): void;
  /** Sets the clock of the last life forward or back, and right again after `forMs`. */
  setClock(byMs: number, forMs: number): void;
  deliver(letter: Letter): void;
  /** Calls `act` when the last life has taken so many more steps. */
  afterSteps(steps: number, act: () => void): void;
}

export interface SeatOptions {
  readonly address: string;
  readonly clock: Clock;
  readonly chance: Chance;
  /** Messages that may wait for it. */
  readonly maxMailbox: number;
  /** How often a turn leaves what waits to the next: a share of its messages. */
  readonly turnsEnd: number;
  /** How far the clocks of lives may be off, ms: each life is in a process of its own, on some machine. */
  readonly skewMs: number;
  tally(what: string): void;
  /** The actor of a life. */
  actor(life: { readonly number: number; keep(state: unknown): void }): OwnerActor;
  /** The journal of a life; absent for actors that keep none. */
  journal?: (clock: Clock) => Journal<never>;
  outbox(life: () => Life): Outbox;
  /** Told of what is to be awaited before the next step. */
  onStart(starting: Promise<void>): void;
  /** Told when the actor takes messages anew. */
  onUp(): void;
  /** Told of an actor that failed of itself. */
  onFault(fault: string): void;
  tell(line: () => string): void;
}

/** Slices of a snapshot are few rows, so that much happens between them. */
const PACE = { firstRows: 2, mostRows: 4, pauseMs: 20, share: 0.2, records: 30, leastMs: 1, mostMs: 8 };

/** How long a stale owner goes on before its lease tells it that it is one, ms at most. */
const NOTICE_MS = 1_500;

export function seatOf(options: SeatOptions): Seat {
  const { address, clock: world, chance, tell } = options;
  const lives: Life[] = [];
  let numbers = 0;
  let beginning = false;
  let looks = 0;

  let isWanted = false;
  const isOwner = options.journal !== undefined;

  /** By how much the clocks are wrong that somebody has set. */
  const wrong = new Map<Life, number>();

  function setRight(life: Life): void {
    life.clock.set(-(wrong.get(life) ?? 0));
    wrong.delete(life);
  }

  function turnEnds(): boolean {
    looks += 1;
    return options.turnsEnd > 0 && chance.of(`${address} turn ${looks}`) < options.turnsEnd;
  }

  const isEmpty = () => lives.every(({ isStale }) => isStale);

  function beginAfter(ms: number): void {
    if (beginning) return;
    beginning = true;
    world.at(world.now() + ms, () => {
      beginning = false;
      if (isWanted && isEmpty()) begin();
    });
  }

  function begin(): void {
    isWanted = true;
    for (const life of lives) life.isStale = true;
    numbers += 1;
    const fastMs = Math.round((2 * chance.of(`${address} ${numbers} clock`) - 1) * options.skewMs);
    const clock = lifeClock(world, fastMs);
    let state: unknown;
    const number = numbers;
    const actor = options.actor({
      number,
      keep(kept) {
        if (life === undefined) state = kept;
        else life.state = kept;
      },
    });
    const journal = options.journal?.(clock) ?? noJournal;
    const host = actorHost({
      address,
      actor,
      journal: journal as Journal<unknown>,
      clock,
      outbox: options.outbox(() => life),
      maxMailbox: options.maxMailbox,
      turnEnds,
      slicer: slicerOf(clock, PACE),
      onFailure: (error) => failed(life, error),
    });
    const life: Life = { address, number, clock, host, state, isStale: false, over: false };
    lives.push(life);
    tell(() => `${address} begins life ${number}`);
    start(life);
  }

  /** Opens the journal: only who holds the lease may, or it would take the journal from who does. */
  function start(life: Life): void {
    if (life.isStale) return over(life);
    const started = life.host.start().then(options.onUp, (error: Error) => {
      tell(() => `${address} cannot start: ${error.message}`);
      life.clock.at(life.clock.now() + 1_000, () => {
        if (!life.over) start(life);
      });
    });
    options.onStart(started);
  }

  function failed(life: Life, error: Error): void {
    tell(() => `${address} life ${life.number} fails: ${error.message}`);
    const code = error instanceof CellwrightError ? error.code : undefined;
    if (code === 'fenced') {
      over(life);
    } else if (code === 'journal-lost') {
      const pause = 1 + Math.floor(chance.of(`${address} ${world.now()} restart`) * 50);
      life.clock.at(life.clock.now() + pause, () => {
        if (!life.over) start(life);
      });
    } else {
      options.onFault(`no failure: ${error.message}`);
    }
  }

  function over(life: Life): void {
    if (life.over) return;
    life.over = true;
    life.clock.end();
    void life.host.stop();
    lives.splice(lives.indexOf(life), 1);
    if (isWanted && isEmpty()) beginAfter(10);
  }

  function resume(life: Life): void {
    if (life.over || !life.clock.held) return;
    tell(() => `${address} life ${life.number} goes on${life.isStale ? ', stale' : ''}`);
    life.clock.resume();
    if (!life.isStale) return;
    const notice = 1 + Math.floor(chance.of(`${address} ${life.number} notice`) * NOTICE_MS);
    world.at(world.now() + notice, () => over(life));
  }

  const seat: Seat = {
    address,
    isOwner,
    lives,
    get isWanted() {
      return isWanted;
    },
    get last() {
      return lives.at(-1);
    },
    begin,
    end() {
      isWanted = false;
      for (const life of [...lives]) over(life);
    },
    crash(downMs) {
      const life = lives.at(-1);
      if (life === undefined) return;
      tell(() => `${address} CRASHES`);
      beginAfter(downMs);
      over(life);
    },
    heal() {
      for (const life of wrong.keys()) setRight(life);
      for (const life of [...lives]) resume(life);
      if (isWanted && isEmpty()) begin();
    },
    pause(forMs, takenOverMs) {
      const life = lives.at(-1);
      if (life === undefined || life.clock.held) return;
      tell(() => `${address} is HELD UP`);
      life.clock.hold();
      if (isOwner) {
        world.at(world.now() + takenOverMs, () => {
          if (life.over || !life.clock.held || life.isStale) return;
          tell(() => `${address} is TAKEN OVER`);
          begin();
        });
      }
      world.at(world.now() + forMs, () => resume(life));
    },
    setClock(byMs, forMs) {
      const life = lives.at(-1);
      if (life === undefined || wrong.has(life)) return;
      tell(() => `${address} has its clock SET by ${byMs} ms`);
      life.clock.set(byMs);
      wrong.set(life, byMs);
      world.at(world.now() + forMs, () => setRight(life));
    },
    deliver(letter) {
      // Two that serve one address are a queue group: each message goes to one of them.
      const which = lives.length <= 1 ? 0 : Math.floor(chance.of(`${letter.key} to`) * lives.length);
      const life = lives[which];
      if (life === undefined) return tell(() => `nobody is at ${address}: ${letter.message.type} is lost`);
      // What comes to one that is held up waits in its socket.
      life.clock.arrive(() => {
        if (!life.over && !life.host.deliver(letter.message, letter.from)) {
          options.tally('fault overloaded');
          tell(() => `${address} takes no more: ${letter.message.type} is lost`);
        }
      });
    },
    afterSteps(steps, act) {
      const life = lives.at(-1);
      if (life === undefined || steps === 0) return act();
      let left = steps;
      life.clock.onStep = () => {
        left -= 1;
        if (left > 0) return;
        life.clock.onStep = null;
        if (!life.over) act();
      };
    },
  };
  return seat;
}
