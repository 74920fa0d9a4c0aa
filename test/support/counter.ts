// An actor that counts, hosted with a journal that a test holds in its hands: what a turn lets out, and when.

import * as assert from 'uvu/assert';
import type { Actor, Turn } from '../../actors/actor.ts';
import type { AnyMessage } from '../../actors/messages/any.ts';
import { snapshotOf } from '../../actors/snapshot.ts';
import type { Journal } from '../../runtime/journal/journal.ts';
import type { Outbox } from '../../runtime/outbox.ts';
import type { Tenure } from '../../runtime/ownership/tenure.ts';
import { type ActorHost, actorHost } from '../../runtime/turn.ts';
import { type VirtualClock, virtualClock } from '../../runtime/virtual-clock.ts';

/** A counter: `add` is recorded and told, `note` only recorded, `ask` is only told, `burst` fails half-way, `nap` asks for a wake. */
export type Order =
  | { type: 'add'; by: number }
  | { type: 'note'; by: number }
  | { type: 'ask' }
  | { type: 'burst' }
  | { type: 'nap'; at: number; awaited?: string };
interface Counter {
  total: number;
  wakes: string[];
}

const told = (word: string, turn: Turn<number>) => {
  turn.send('listener', { type: 'welcome', incarnation: word } as AnyMessage);
  turn.publish({ topic: ['told', word], body: {}, cause: word });
};

const counter: Actor<Counter, Order, number> = {
  init: () => ({ total: 0, wakes: [] }),
  apply(state, by) {
    state.total += by;
  },
  receive(state, message, _from, turn) {
    switch (message.type) {
      case 'add':
        state.total += message.by;
        turn.record(message.by);
        return told(`total ${state.total}`, turn);
      case 'note':
        state.total += message.by;
        return turn.record(message.by);
      case 'ask':
        return told(`asked ${state.total}`, turn);
      case 'nap':
        return turn.wakeAfter('nap', message.at - turn.now, message.awaited);
      case 'wake':
        state.wakes.push(message.id);
        return told(`woken at ${turn.now}`, turn);
      case 'burst':
        state.total += 1_000;
        turn.record(1_000);
        turn.wakeAfter('nap', 1);
        told('leak', turn);
        throw new Error('burst');
    }
  },
  recover: (state, turn) => told(`recovered ${state.total}`, turn),
  snapshot: ({ total }) => snapshotOf({ total }, {}),
  restore: ([stored]) => ({ total: (stored as Counter).total, wakes: [] }),
};

export interface Rig {
  host: ActorHost;
  journal: Journal<number>;
  clock: VirtualClock;
  /** What was let out, in order: messages by their word, events as `event: <word>`. */
  out: string[];
  /** The appends that nobody has acknowledged yet, oldest first. */
  unacknowledged: ((error: Error | null) => void)[];
  kept: number[];
  failures: string[];
  /** How often the actor was told that its state is dropped. */
  readonly dropped: number;
  /** Delivers, and lets the turn be taken. */
  take(...orders: Order[]): void;
}

export interface Circumstances {
  /** How many records there are to be before a snapshot is wanted. */
  snapshotAfter?: number;
  /** What was written of snapshots. */
  snapshots?: unknown[];
  maxMailbox?: number;
  automatic?: boolean;
  /** What is appended is acknowledged before the append returns. */
  atOnce?: boolean;
  kept?: number[];
  tenure?: Tenure;
}

export async function started(more: Circumstances = {}): Promise<Rig> {
  const clock = virtualClock();
  const out: string[] = [];
  const unacknowledged: Rig['unacknowledged'] = [];
  const kept = more.kept ?? [];
  const failures: string[] = [];
  let appended = 0;
  let dropped = 0;
  const journal: Journal<number> = {
    open: async () => ({ snapshot: null, records: [...kept] }),
    append(records, done) {
      appended += records.length;
      if (more.atOnce === true) return done(null);
      unacknowledged.push((error) => {
        if (error === null) kept.push(...records);
        done(error);
      });
      if (more.automatic === true) clock.soon(() => unacknowledged.shift()?.(null));
    },
    get wantsSnapshot() {
      return appended >= (more.snapshotAfter ?? Number.POSITIVE_INFINITY);
    },
    beginSnapshot: () => ({ add: (part) => more.snapshots?.push(part) ?? 0 }),
    close: async () => {},
  };
  const outbox: Outbox = {
    send: (_from, _to, message) => out.push((message as { incarnation: string }).incarnation),
    publish: (_from, { cause }) => out.push(`event: ${cause}`),
    local() {},
    setEpoch() {},
  };
  const host = actorHost({
    address: 'counter/0',
    actor: {
      ...counter,
      dropped() {
        dropped += 1;
      },
    },
    journal,
    clock,
    outbox,
    maxMailbox: more.maxMailbox ?? 100,
    onFailure: (error) => failures.push(error.message),
  });
  await host.start(more.tenure);
  out.length = 0;
  const take = (...orders: Order[]) => {
    for (const order of orders) assert.ok(host.deliver(order, 'test'));
    clock.runUntilIdle({ untilMs: clock.now() });
  };
  return {
    host,
    journal,
    clock,
    out,
    unacknowledged,
    kept,
    failures,
    get dropped() {
      return dropped;
    },
    take,
  };
}

/** What is let out for a word. */
export const pair = (word: string) => [word, `event: ${word}`];
