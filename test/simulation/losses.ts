// Hosts that lose their power for good, with all that was on them. An operator fences one as soon as its cell lets him;
// some he removes, once what was lost there is deleted; and another machine, empty, may take its place.

import type { Message } from '../../actors/actor.ts';
import type { AnyMessage } from '../../actors/messages/any.ts';
import { cellAddress } from '../../actors/routing.ts';
import type { Random } from '../../runtime/random.ts';
import type { HostPlan, Operation } from './operations.ts';

/** It is over when nothing of before can be under way any more. */
const ABSENCES = 15;

export type Loss = Extract<Operation, { what: 'lose' }>;

/** Which host is lost, in some runs, and when. */
export function lossesOf(hosts: readonly HostPlan[], untilMs: number, random: Random): Loss[] {
  if (!random.chance(0.25)) return [];
  const { host } = random.pick(hosts);
  const at = random.integer(300, untilMs);
  const removes = random.chance(0.6);
  const backMs = random.chance(0.6) ? random.integer(1, 4_000) : null;
  return [{ id: `lose-${host}`, at, what: 'lose', host, removes, backMs }];
}

export interface LossOptions {
  readonly loss: Loss;
  readonly plan: HostPlan;
  newAsk(): number;
  conductorOf(instance: string): string;
  send(to: string, message: AnyMessage): void;
  /** Told when the operator has done with it. */
  done(): void;
}

export interface Operator {
  /** Says again what is not answered. */
  ask(): void;
  /** Takes an answer to one of his questions. */
  take(message: Message): void;
}

export function operatorOf({ loss, plan, newAsk, conductorOf, send, done }: LossOptions): Operator {
  const { host } = plan;
  const cell = cellAddress(plan.cell);
  const [fence, remove, list, drop] = [newAsk(), newAsk(), newAsk(), newAsk()];
  let isFenced = false;
  let isDone = false;
  /** How often in a row it was said that there is no such host. What the dead one said may come late, and be taken for another's. */
  let absences = 0;

  function over(): void {
    if (!isDone) done();
    isDone = true;
  }

  return {
    ask() {
      if (!isFenced) return send(cell, { type: 'fence-host', ask: fence, host });
      send(cell, { type: 'list', ask: list, limit: 100 });
      send(cell, { type: 'remove-host', ask: remove, host });
    },
    take(message) {
      const said = message as AnyMessage;
      const { ask } = message as { ask?: number };
      if (ask === fence || ask === remove) {
        const isAbsent = said.type === 'declined' ? said.code === 'not-found' : ask === remove;
        absences = isAbsent ? absences + 1 : 0;
        if (said.type === 'declined' && said.code === 'host-not-fenced') isFenced = false;
        if (ask === fence && said.type === 'host-set') isFenced = true;
        if (absences >= ABSENCES || (isFenced && !loss.removes)) over();
      }
      if (ask !== list || said.type !== 'listed') return;
      for (const { instance, state, host: where } of said.instances) {
        if (state === 'lost' && where === host) send(conductorOf(instance), { type: 'delete', ask: drop, instance });
      }
    },
  };
}
