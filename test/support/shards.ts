// Three placement shards on benches, each with a host: what they say to each other waits until a test delivers it.

import * as assert from 'uvu/assert';
import type { AnyMessage } from '../../actors/messages/any.ts';
import type { ApiOutcome } from '../../actors/messages/placement-api.ts';
import type { TransactionMessage } from '../../actors/messages/transactions.ts';
import { placement } from '../../actors/placement/placement.ts';
import { present } from '../../actors/present.ts';
import { checkHolding } from './holding-scan.ts';
import { inventoryOf, providerOf, put } from './placement-desk.ts';
import { bench, replayed, restored, type Sent } from './turn.ts';

export const SHARDS = 3;
const actorsOf = (shards?: number) =>
  Array.from({ length: SHARDS }, (_, shard) =>
    placement({ shard, rememberDeletedMs: 120_000, ...present({ shards }) }),
  );
export const hostOf = (shard: number) => `host-${shard}`;
export const CALLER = 'gateway/caller';

type Shard = ReturnType<typeof placement>;
export type Desk = ReturnType<typeof bench<ReturnType<Shard['init']>, never, never>>;

/**
 * Three shards, each with a host of four VCPU; what they say to each other waits until the test delivers it.
 * @param told How many shards each is told that there are; default: it is alone, as far as it asks others by itself.
 */
export function rig(told?: number) {
  const actors = actorsOf(told);
  const shards = actors.map((actor, shard) => {
    const desk = bench(actor) as unknown as Desk;
    const provider = providerOf(hostOf(shard), { inventories: { VCPU: inventoryOf({ total: 4 }) } });
    desk.tell(put([provider]) as never);
    return desk;
  });
  let underWay: (Sent & { from: string })[] = [];
  const answers: { ask: number; outcome: ApiOutcome }[] = [];
  const said: AnyMessage[] = [];

  function keep(from: string, sent: readonly Sent[]): void {
    for (const one of sent) {
      if (one.message.type === 'placement-answer') {
        const { ask, text } = one.message as Extract<AnyMessage, { type: 'placement-answer' }>;
        answers.push({ ask, outcome: JSON.parse(text) });
      } else if (one.to === CALLER) said.push(one.message);
      else if (one.to.startsWith('placement/') && !one.to.endsWith('/feed')) underWay.push({ ...one, from });
    }
  }

  const on = {
    shards,
    answers,
    /** What else the caller was told. */
    said,
    /** Says something to a shard, in the caller's name. */
    say(shard: number, message: object): void {
      keep(`placement/${shard}`, (shards[shard] as Desk).tell(message as never, CALLER).sent);
    },
    /** Delivers what is under way, as long as `isMeant` says so; what is not stays under way. */
    deliver(isMeant: (message: TransactionMessage, to: string) => boolean = () => true): void {
      for (;;) {
        const next = underWay.findIndex(({ message, to }) => isMeant(message as TransactionMessage, to));
        if (next < 0) return;
        const [{ to, message, from } = { to: '', message: {}, from: '' }] = underWay.splice(next, 1);
        const shard = Number(to.slice('placement/'.length));
        keep(to, (shards[shard] as Desk).tell(message as never, from).sent);
      }
    },
    /** Delivers the one that `pick` chooses of so many that are under way. */
    deliverOne(pick: (count: number) => number): void {
      const [next] = underWay.splice(pick(underWay.length), 1);
      if (next === undefined) return;
      const shard = Number(next.to.slice('placement/'.length));
      keep(next.to, (shards[shard] as Desk).tell(next.message as never, next.from).sent);
    },
    /** What is under way is lost, or those that `isLost` says. */
    lose(isLost: (to: string, from: string) => boolean = () => true): void {
      underWay = underWay.filter(({ to, from }) => !isLost(to, from));
    },
    underWay: () => underWay.map(({ to, message }) => `${message.type} to ${to}`),
    pass(ms: number): void {
      for (const [shard, desk] of shards.entries()) {
        for (const { sent } of desk.pass(ms)) keep(`placement/${shard}`, sent);
      }
    },
    /** Another life of a shard takes over. */
    replace(shard: number): void {
      const { entries, now } = shards[shard] as Desk;
      const other = bench(actors[shard] as Shard, { entries: entries as never, at: now });
      shards[shard] = other as unknown as Desk;
      keep(`placement/${shard}`, other.first.sent);
    },
    used: () => shards.map(({ state }, shard) => state.providers.get(hostOf(shard))?.stocks.get('VCPU')?.used),
    held: (consumer: string) =>
      shards.map(({ state }) =>
        (state.consumers.holding.get(consumer)?.held ?? []).flatMap(({ allocations }) =>
          allocations.map(({ resources }) => resources.VCPU),
        ),
      ),
    /** Each journal leads to the state of its shard, and what is stored is what was. */
    check(): void {
      for (const [shard, desk] of shards.entries()) {
        const actor = actors[shard] as Shard;
        assert.equal(replayed(actor, desk.entries as never), desk.stored());
        assert.equal(restored(actor, desk.stored()), desk.stored());
        checkHolding(desk.state);
      }
    },
  };
  return on;
}

/** A shard dies when it is about to be told a step, all that is under way is lost, and everybody goes on. */
export function dieAt(on: ReturnType<typeof rig>, step: string, dead: number): void {
  let passed = false;
  on.deliver(({ type }, to) => {
    passed ||= type === step && to === `placement/${dead}`;
    return !passed;
  });
  on.replace(dead);
  on.lose();
  for (let waits = 0; waits < 10; waits += 1) {
    on.pass(2_500);
    on.deliver();
  }
}
