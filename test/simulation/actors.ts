// The production actors of a run, at the pace of a run: time-outs in seconds where production has minutes, so that all
// of them happen. A test that takes a safeguard away alters them here, from outside.

import type { Actor, Message } from '../../actors/actor.ts';
import { cell } from '../../actors/cell/cell.ts';
import { compute } from '../../actors/compute/compute.ts';
import { conductor } from '../../actors/conductor/conductor.ts';
import { placement } from '../../actors/placement/placement.ts';
import { placementAddress } from '../../actors/routing.ts';
import { scheduler } from '../../actors/scheduler/scheduler.ts';
import type { Plan } from './plan.ts';

/** Any of the production actors, to those who only host it. */
export type OwnerActor = Actor<unknown, Message, unknown>;
export type OwnerActors = ReadonlyMap<string, OwnerActor>;

/** The time-outs of a run, ms. */
export interface Paces {
  /** How long a build may look for hosts, wait to be accepted, and be built. */
  readonly requestedMs: number;
  readonly claimedMs: number;
  readonly buildingMs: number;
  /** After how long of silence a host is down. */
  readonly silentMs: number;
}

export const USUAL_PACES: Paces = { requestedMs: 10_000, claimedMs: 4_000, buildingMs: 8_000, silentMs: 3_000 };
const PATIENCE = { firstMs: 300, mostMs: 2_000 };

/** The actors that keep journals, by address. */
export function ownersOf({ conductorShards, placementShards, cells, rememberMs }: Plan, paces: Paces): OwnerActors {
  const actors = new Map<string, OwnerActor>();
  for (let shard = 0; shard < placementShards; shard += 1) {
    const actor = placement({ shard, shards: placementShards, rememberDeletedMs: rememberMs });
    actors.set(placementAddress(shard), actor as unknown as OwnerActor);
  }
  for (let shard = 0; shard < conductorShards; shard += 1) {
    const options = {
      shard,
      placementShards,
      requestedMs: paces.requestedMs,
      watchMs: 2_000,
      parkedAskMs: 3_000,
      patience: PATIENCE,
      rememberDeletedMs: rememberMs * 2,
    };
    actors.set(`conductor/${shard}`, conductor(options) as unknown as OwnerActor);
  }
  for (const name of cells) {
    const options = {
      cell: name,
      conductorShards,
      placementShards,
      claimedMs: paces.claimedMs,
      buildingMs: paces.buildingMs,
      silentMs: paces.silentMs,
      failuresBeforeAside: 3,
      asideMs: 1_500,
      asideMostMs: 6_000,
      patience: PATIENCE,
      rememberDeletedMs: rememberMs,
    };
    actors.set(`cell/${name}`, cell(options) as unknown as OwnerActor);
  }
  return actors;
}

export function schedulerOf(name: string, incarnation: string, placementShards: number): OwnerActor {
  const options = {
    name,
    incarnation: () => incarnation,
    placementShards,
    patience: PATIENCE,
    warmUpMs: 2_500,
    silentMs: 3_000,
    hostsATurn: 2,
  };
  return scheduler(options) as unknown as OwnerActor;
}

export function computeOf(cellName: string, host: string, incarnation: string, placementShards: number): OwnerActor {
  return compute({
    cell: cellName,
    host,
    incarnation: () => incarnation,
    placementShards,
    heartbeatMs: 900,
    inventoryEveryMs: 2_000,
    patience: { firstMs: 200, mostMs: 1_500 },
  }) as unknown as OwnerActor;
}
