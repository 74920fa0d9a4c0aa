// Those outside: callers who build and delete, operators who change inventories and services. They ask again until
// they are answered, as a client of the API does.

import type { Message } from '../../actors/actor.ts';
import type { AnyMessage } from '../../actors/messages/any.ts';
import type { ShardRead } from '../../actors/placement/reading.ts';
import { cellAddress, computeAddress, conductorOf, everyPlacement, SCHEDULERS } from '../../actors/routing.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { SimulatedHost } from './host.ts';
import { type Operator, operatorOf } from './losses.ts';
import { questionOfName } from './names.ts';
import type { Operation } from './operations.ts';
import type { Plan } from './plan.ts';
import { questionOf as questionOfTogether, type Reader, readerOf } from './together.ts';

export const CALLERS = 'gateway/callers';

export interface Callers {
  begin(): void;
  take(message: Message): void;
  /** Operations that are not answered. */
  readonly open: readonly string[];
}

export interface CallersOptions {
  readonly plan: Plan;
  readonly clock: Clock;
  readonly hosts: ReadonlyMap<string, SimulatedHost>;
  send(to: string, message: AnyMessage): void;
  tell(line: () => string): void;
  /** The power of a host: off for good, and on again where another machine takes its place. */
  readonly power: { off(host: string): void; on(host: string): void; vanish(host: string, restarts: boolean): void };
  /** Told what every placement shard said to one who read what consumers hold. */
  onRead(said: readonly ShardRead[]): void;
}

const AGAIN_MS = 700;
const LOOKED_FOR = { groups: [{ name: '', resources: { VCPU: 2 } }], groupPolicy: 'none' as const };

export function callersOf({ plan, clock, hosts, power, send, tell, onRead }: CallersOptions): Callers {
  const startedAt = clock.now();
  const open = new Map<number, Operation>();
  let waiting = plan.operations.length;
  const readers = new Map<number, Reader>();
  const operators = new Map<number, Operator>();
  let asks = 0;

  const shardOf = (instance: string) => conductorOf(instance, plan.conductorShards);

  function questionOf(operation: Operation, ask: number): [string, AnyMessage][] {
    switch (operation.what) {
      case 'build': {
        const { request, count, alternates, spec, waitMs, project } = operation;
        const waits = { ...(waitMs === undefined ? {} : { waitMs }), ...(project === undefined ? {} : { project }) };
        return [[shardOf(request), { type: 'build', ask, request, count, alternates, spec, ...waits }]];
      }
      case 'delete':
        return [[shardOf(operation.instance), { type: 'delete', ask, instance: operation.instance }]];
      case 'service': {
        const { host, enabled } = operation;
        const { cell } = (hosts.get(host) as SimulatedHost).plan;
        return [[cellAddress(cell), { type: 'set-host', ask, host, enabled, reason: 'by an operator' }]];
      }
      case 'cell-service': {
        const { cell, enabled } = operation;
        return [[cellAddress(cell), { type: 'set-cell', ask, enabled, reason: 'new switches' }]];
      }
      case 'together':
        return [questionOfTogether(operation, ask, plan.placementShards)];
      case 'name':
        return [questionOfName(operation, ask, plan.placementShards)];
      case 'read':
      case 'inventory':
      case 'device':
      case 'lose':
      case 'vanish':
        return [];
      case 'look': {
        const { instance } = operation;
        const { cell, host } = plan.hosts[0] as Plan['hosts'][number];
        const limit = 10;
        return [
          [shardOf(instance), { type: 'show', ask, instance }],
          [shardOf(instance), { type: 'explain', ask, instance }],
          [shardOf(instance), { type: 'like-instances', ask, names: [`x${instance}`] }],
          [shardOf(instance), { type: 'list', ask, limit }],
          [cellAddress(cell), { type: 'show', ask, instance }],
          [cellAddress(cell), { type: 'explain', ask, instance }],
          [cellAddress(cell), { type: 'list', ask, limit }],
          [cellAddress(cell), { type: 'list-hosts', ask, limit }],
          [cellAddress(cell), { type: 'list-removals', ask, limit }],
          [cellAddress(cell), { type: 'do-again', instance }],
          [SCHEDULERS, { type: 'fit', ask, spec: LOOKED_FOR, count: 2, limit: 3 }],
          [SCHEDULERS, { type: 'why-not', ask, spec: LOOKED_FOR, cell, host }],
          [SCHEDULERS, { type: 'list-cells', ask }],
          ...everyPlacement(plan.placementShards).flatMap((shard): [string, AnyMessage][] => [
            [shard, { type: 'list-providers', ask, limit }],
            [shard, { type: 'list-consumers', ask, limit }],
            [shard, { type: 'consider', ask, consumers: [] }],
          ]),
          [computeAddress(cell, host), { type: 'list-instances', ask }],
          [computeAddress(cell, host), { type: 'list-driven', ask }],
        ];
      }
    }
  }

  function readerFor(operation: number, consumers: readonly string[]): Reader {
    return readerOf({
      consumers,
      shards: plan.placementShards,
      newAsk: () => ++asks,
      send,
      done(said) {
        onRead(said);
        readers.delete(operation);
        open.delete(operation);
      },
    });
  }

  function operatorFor(operation: number, loss: Extract<Operation, { what: 'lose' }>): Operator {
    const { host, backMs } = loss;
    return operatorOf({
      loss,
      plan: (hosts.get(host) as SimulatedHost).plan,
      newAsk: () => ++asks,
      conductorOf: shardOf,
      send,
      done() {
        operators.delete(operation);
        open.delete(operation);
        if (backMs !== null) clock.at(clock.now() + backMs, () => power.on(host));
      },
    });
  }

  function put(operation: Operation): void {
    const ask = ++asks;
    if (operation.what === 'inventory') {
      tell(() => `an operator makes it ${operation.vcpu} VCPU on ${operation.host}`);
      (hosts.get(operation.host) as SimulatedHost).vcpu = operation.vcpu;
      return;
    }
    if (operation.what === 'device') {
      tell(() => `an operator puts a GPU into ${operation.host}`);
      (hosts.get(operation.host) as SimulatedHost).gpus += 1;
      return;
    }
    if (operation.what === 'vanish') return power.vanish(operation.host, operation.restarts);
    open.set(ask, operation);
    if (operation.what === 'lose') {
      power.off(operation.host);
      operators.set(ask, operatorFor(ask, operation));
    }
    if (operation.what === 'read') readers.set(ask, readerFor(ask, operation.consumers));
    const again = (): void => {
      if (!open.has(ask)) return;
      for (const [to, message] of questionOf(operation, ask)) send(to, message);
      readers.get(ask)?.ask();
      operators.get(ask)?.ask();
      clock.at(clock.now() + AGAIN_MS, again);
    };
    again();
  }

  return {
    begin() {
      for (const operation of plan.operations) {
        clock.at(startedAt + operation.at, () => {
          waiting -= 1;
          put(operation);
        });
      }
    },
    take(message) {
      const { ask } = message as { ask?: number };
      if (ask === undefined) return;
      for (const one of [...readers.values(), ...operators.values()]) one.take(message);
      if (!readers.has(ask) && !operators.has(ask)) open.delete(ask);
    },
    get open() {
      const told = [...open.values()].map(({ id }) => id);
      return waiting > 0 ? [...told, `${waiting} that are still to come`] : told;
    },
  };
}
