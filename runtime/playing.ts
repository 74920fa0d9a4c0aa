// How a node plays each of its roles: which actors that takes, where they are heard, and how the role stands in the
// roster of services.

import type { Address } from '../actors/actor.ts';
import { cell } from '../actors/cell/cell.ts';
import { compute } from '../actors/compute/compute.ts';
import { conductor } from '../actors/conductor/conductor.ts';
import type { ConditionsNow } from '../actors/conductor/renewing.ts';
import { cellMessages } from '../actors/messages/cell.ts';
import { computeMessages } from '../actors/messages/compute.ts';
import { conductorMessages } from '../actors/messages/conductor.ts';
import { groupHomeMessages } from '../actors/messages/group-homes.ts';
import { placementMessages } from '../actors/messages/placement.ts';
import { placementApiMessages } from '../actors/messages/placement-api.ts';
import { schedulerMessages } from '../actors/messages/scheduler.ts';
import { transactionMessages } from '../actors/messages/transactions.ts';
import { placement } from '../actors/placement/placement.ts';
import {
  cellAddress,
  computeAddress,
  conductorAddress,
  driverAddress,
  placementAddress,
  SCHEDULERS,
} from '../actors/routing.ts';
import { type SchedulerOptions, scheduler } from '../actors/scheduler/scheduler.ts';
import type { Aggregates } from './aggregates.ts';
import type { Bus, Endpoint, Subscription } from './bus/bus.ts';
import { inServices } from './bus/services.ts';
import { checkedDriver } from './drivers/check-driver.ts';
import { type DriverHost, type DriverHostOptions, driverHost } from './drivers/driver-host.ts';
import { placingNow } from './gateway/placing.ts';
import type { Hosting } from './hosting.ts';
import { type Journals, noJournal } from './journal/journal.ts';
import { incarnationOf } from './node-names.ts';
import type { NodeOptions } from './node-options.ts';
import type { Subjects } from './subjects.ts';

export interface PlayingOptions {
  /** The node's name. */
  readonly name: string;
  readonly options: NodeOptions;
  readonly schedulerOptions: Partial<SchedulerOptions>;
  readonly aggregates: Aggregates;
  readonly hosting: Hosting;
  readonly bus: Bus;
  readonly subjects: Subjects;
  readonly journals: Journals;
  /** How many shards the deployment has. */
  readonly placementShards: number;
  readonly conductorShards: number;
  /** The drivers that are made, for whoever hands them their messages and closes them. */
  readonly drivers: Map<Address, DriverHost>;
  /** What schedulers listen to. */
  readonly heardByScheduler: Subscription[];
  /** Throws when the start was given up meanwhile. */
  goOn(): void;
  onError(error: unknown, what: string): void;
}

/** Each resolves when its role is served here, or owned by another node and stood by for. */
export interface Playing {
  placement(shard: number): Promise<void>;
  cell(name: string): Promise<void>;
  /** All shards at once: of several nodes that start together each may end up with some. */
  conductor(): Promise<void>;
  scheduler(): Promise<void>;
  computes(cellName: string, hosts: readonly string[]): Promise<void>;
}

const placementProtocol = {
  ...placementMessages,
  ...placementApiMessages,
  ...transactionMessages,
  ...groupHomeMessages,
};

export function playing(played: PlayingOptions): Playing {
  const { name, options, aggregates, hosting, bus, subjects, journals, placementShards, conductorShards } = played;
  const { goOn, onError } = played;
  const conditionsNow: ConditionsNow = (accepted) => placingNow(accepted, aggregates);

  async function playConductorShard(shard: number): Promise<void> {
    const address = conductorAddress(shard);
    await hosting.own({
      address,
      actor: conductor({ ...options.conductor, shard, placementShards, conditionsNow }),
      journal: journals(address),
      protocol: conductorMessages,
      service: {
        role: 'conductor',
        description: `super conductor shard ${shard}`,
        metadata: { shard: String(shard), shards: String(conductorShards) },
        endpoint: `shard-${shard}`,
      },
    });
  }

  function hostCompute(cellName: string, host: string) {
    const address = computeAddress(cellName, host);
    const incarnation = () => incarnationOf(name);
    const actor = compute({ cell: cellName, host, incarnation, placementShards, ...options.compute });
    const hosted = hosting.host(address, actor, noJournal, computeMessages);
    if (options.driver !== undefined) {
      const driver = checkedDriver(options.driver, cellName, host);
      const answer: DriverHostOptions['answer'] = (message, from) => hosted.host.deliverAnswer(message, from);
      played.drivers.set(driverAddress(cellName, host), driverHost({ cell: cellName, host, driver, answer, onError }));
    }
    // A queue group of its own: an older life that hears and does nothing takes no message away from a newer one.
    const endpoint: Endpoint = { name: host, subject: subjects.of(address), queue: name, handler: hosted.handler };
    return { host: hosted.host, endpoint };
  }

  return {
    async placement(shard) {
      const address = placementAddress(shard);
      await hosting.own({
        address,
        actor: placement({ ...options.placement, shard, shards: placementShards }),
        journal: journals(address),
        protocol: placementProtocol,
        service: {
          role: 'placement',
          description: `placement shard ${shard}`,
          metadata: { shard: String(shard), ...(placementShards === 1 ? {} : { shards: String(placementShards) }) },
          endpoint: `shard-${shard}`,
        },
      });
    },

    async cell(cellName) {
      const address = cellAddress(cellName);
      await hosting.own({
        address,
        actor: cell({ cell: cellName, conductorShards, placementShards, ...options.cell }),
        journal: journals(address),
        protocol: cellMessages,
        service: {
          role: 'cell',
          description: `cell ${cellName}`,
          metadata: { cell: cellName },
          endpoint: 'conductor',
        },
      });
    },

    async conductor() {
      await Promise.all(Array.from({ length: conductorShards }, (_, shard) => playConductorShard(shard)));
    },

    async scheduler() {
      const address = `scheduler/${name}`;
      const incarnation = () => incarnationOf(name);
      const actor = scheduler({ ...played.schedulerOptions, name, incarnation, placementShards });
      const { heardByScheduler } = played;
      const announce = () => hosting.announce(address, SCHEDULERS);
      const { host, handler } = hosting.host(address, actor, noJournal, schedulerMessages, {
        restarted: announce,
        // Whoever asks it by name is to hear at once that nobody is there.
        givenUp() {
          for (const subscription of heardByScheduler.splice(0)) subscription.unsubscribe();
        },
      });
      const endpoints = [{ name: 'select', subject: subjects.of(SCHEDULERS), handler }];
      await hosting.serve(address, { role: 'scheduler', description: 'scheduler', endpoints });
      goOn();
      for (const heard of [subjects.of(address), ...subjects.feeds]) {
        heardByScheduler.push(bus.subscribe(heard, handler, { loopback: true }));
      }
      await bus.flush();
      goOn();
      await host.start();
      announce();
    },

    /** The computes of a cell are one service, or few, with an endpoint for each host: a roster of thousands reads badly. */
    async computes(cellName, hosts) {
      await hosting.claim(hosts.map((host) => computeAddress(cellName, host)));
      goOn();
      const computes = hosts.map((host) => hostCompute(cellName, host));
      const services = inServices(
        computes.map(({ endpoint }) => endpoint),
        bus.maxPayloadBytes,
      );
      for (const [position, endpoints] of services.entries()) {
        await hosting.serve(`computes/${cellName}/${position}`, {
          role: 'compute',
          description: `computes of cell ${cellName}`,
          metadata: { cell: cellName, hosts: String(endpoints.length) },
          endpoints,
          loopback: true,
        });
        goOn();
      }
      for (const { host } of computes) {
        await host.start();
        goOn();
      }
    },
  };
}
