// Three placement shards and the fronts that ask them, in a world of chance: what is said arrives in any order, shards die
// and come back with what was under way lost, and time passes only when nothing else happens.

import type { ApiOutcome } from '../../../actors/messages/placement-api.ts';
import { TimeoutError } from '../../../runtime/errors.ts';
import type { Authority } from '../../../runtime/placement-api/authority.ts';
import { shardedAuthority } from '../../../runtime/placement-api/shards/sharded.ts';
import type { Random } from '../../../runtime/random.ts';
import { rig, SHARDS } from '../../support/shards.ts';

/** How long a front waits for an answer, ms. */
const TIMEOUT_MS = 10_000;
const STEP_MS = 250;

interface Pending {
  readonly at: number;
  readonly shard: number;
  resolve(outcome: ApiOutcome): void;
  reject(error: Error): void;
}

export interface World {
  readonly on: ReturnType<typeof rig>;
  front(): Authority;
  /** Lets things happen until the work is done; with `deaths`, shards die now and then. */
  run(work: Promise<unknown>, deaths: number): Promise<void>;
  /** Lets all happen that is still owed. */
  settle(): Promise<void>;
}

/** @param shards How many shards each is told that there are; see `rig`. */
export function worldOf(random: Random, shards?: number): World {
  const on = rig(shards);
  const pending = new Map<number, Pending>();
  const unsaid: { shard: number; message: { ask: number } }[] = [];
  let arriving: { ask: number; outcome: ApiOutcome }[] = [];
  let asks = 0;
  let now = on.shards[0]?.now ?? 0;

  const authority: Authority = {
    ask(question, shard = 0) {
      asks += 1;
      const ask = asks;
      unsaid.push({ shard, message: { ...question, ask } });
      return new Promise((resolve, reject) => pending.set(ask, { at: now, shard, resolve, reject }));
    },
    stop() {},
  };

  const soon = () => new Promise<void>((resolve) => setImmediate(resolve));

  function collect(): void {
    arriving.push(...on.answers.splice(0));
  }

  /** One thing happens; false when there is nothing left that can. */
  function happen(): boolean {
    const choices: (() => void)[] = [];
    if (unsaid.length > 0) {
      choices.push(() => {
        const [one] = unsaid.splice(random.integer(0, unsaid.length - 1), 1);
        if (one !== undefined) on.say(one.shard, one.message);
      });
    }
    if (on.underWay().length > 0) choices.push(() => on.deliverOne((count) => random.integer(0, count - 1)));
    if (arriving.length > 0) {
      choices.push(() => {
        const [one] = arriving.splice(random.integer(0, arriving.length - 1), 1);
        if (one === undefined) return;
        pending.get(one.ask)?.resolve(one.outcome);
        pending.delete(one.ask);
      });
    }
    if (choices.length === 0) return false;
    random.pick(choices)();
    collect();
    return true;
  }

  function pass(): void {
    now += STEP_MS;
    on.pass(STEP_MS);
    collect();
    for (const [ask, { at, reject }] of pending) {
      if (now - at < TIMEOUT_MS) continue;
      pending.delete(ask);
      reject(new TimeoutError('placement', TIMEOUT_MS));
    }
  }

  function die(): void {
    const shard = random.integer(0, SHARDS - 1);
    const address = `placement/${shard}`;
    on.lose((to, from) => to === address || (from === address && random.chance(0.5)));
    // What was asked of it is lost, and an answer may be on its way.
    for (const one of [...unsaid]) if (one.shard === shard) unsaid.splice(unsaid.indexOf(one), 1);
    arriving = arriving.filter(({ ask }) => pending.get(ask)?.shard !== shard || random.chance(0.5));
    on.replace(shard);
    collect();
  }

  return {
    on,
    front: () =>
      shardedAuthority({
        authority,
        count: SHARDS,
        clock: { now: () => now, monotonic: () => now } as never,
        timeoutMs: TIMEOUT_MS,
      }),
    async run(work, deaths) {
      const ended = { yet: false };
      const end = () => {
        ended.yet = true;
      };
      work.then(end, end);
      for (let idle = 0; !ended.yet; ) {
        if (random.chance(deaths)) die();
        const happened = happen();
        await soon();
        idle = happened || unsaid.length > 0 ? 0 : idle + 1;
        if (idle > 1) pass();
      }
      await work;
    },
    async settle() {
      for (let quiet = 0; quiet < 300; quiet += 1) {
        while (happen()) await soon();
        pass();
        await soon();
      }
    },
  };
}
