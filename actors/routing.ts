// Which actor is responsible for what: the addresses, and the hash by which ids are dealt to shards.

import type { Address } from './actor.ts';

/** The one queue group that any scheduler serves. */
export const SCHEDULERS: Address = 'scheduler';

export const isConductor = (address: Address): boolean => address.startsWith('conductor/');
export const isScheduler = (address: Address): boolean => address.startsWith(`${SCHEDULERS}/`);

/** The name of a scheduler that has said something, by its own address. */
export const nameOfScheduler = (address: Address): string => address.slice(SCHEDULERS.length + 1);

export const conductorAddress = (shard: number): Address => `conductor/${shard}`;
export const placementAddress = (shard: number): Address => `placement/${shard}`;
export const cellAddress = (cell: string): Address => `cell/${cell}`;
export const cellFeedAddress = (cell: string): Address => `cell/${cell}/feed`;
export const placementFeedAddress = (shard: number): Address => `placement/${shard}/feed`;
export const computeAddress = (cell: string, host: string): Address => `compute/${cell}/${host}`;
/** The driver of a compute: not on the wire, it runs in the process of its compute. */
export const driverAddress = (cell: string, host: string): Address => `driver/${cell}/${host}`;

/** The number of the shard that an address names. */
export const shardOf = (address: Address): number => Number(address.slice(address.indexOf('/') + 1));

/** Where the questions of people and programs come from, one in each process that takes them. */
export const gatewayAddress = (node: string): Address => `gateway/${node}`;
export const isGateway = (address: Address): boolean => address.startsWith('gateway/');

/**
 * FNV-1a, 32 bits: the hash of the NATS server's `partition()`, so that a subject mapping can deal ids as we do.
 * @param before The hash of a text that comes before this one: the answer is that of both together.
 */
export function fnv1a(text: string, before = 0x811c9dc5): number {
  let hash = before;
  for (let position = 0; position < text.length; position += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(position), 0x01000193);
  }
  return hash >>> 0;
}

/**
 * Scatters a hash (the finalizer of MurmurHash3): those of texts that differ in a digit lie on a lattice, which is too
 * even to pass for chance.
 */
export function scattered(hash: number): number {
  const once = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return (twice ^ (twice >>> 16)) >>> 0;
}

/**
 * The placement shard of a tree, by the id of its root provider: a tree is with one shard, whole. The number of shards is
 * set when a deployment is made and never changes.
 */
export function placementShardOf(root: string, shards: number): number {
  return shards === 1 ? 0 : fnv1a(root) % shards;
}

/** More than a deployment of any size needs: one shard decides hundreds of thousands of claims a second. */
export const MAX_PLACEMENT_SHARDS = 64;

/** The shard that decides on the tree of a root provider. */
export function placementOf(root: string, shards: number): Address {
  return placementAddress(placementShardOf(root, shards));
}

/** All placement shards: what is said of a consumer for good is said to each of them. */
export function everyPlacement(shards: number): Address[] {
  return Array.from({ length: shards }, (_, shard) => placementAddress(shard));
}

/** The instances of a request: itself, or numbered ones. */
export function instanceNames(request: string, count: number): string[] {
  return count === 1 ? [request] : Array.from({ length: count }, (_, position) => `${request}-${position}`);
}

/**
 * The conductor shard of an instance. A trailing number does not count, so that the instances of one request are with
 * one shard and any of them leads to it.
 */
export function conductorShardOf(instance: string, shards: number): number {
  return shards === 1 ? 0 : fnv1a(instance.replace(/-\d+$/, '')) % shards;
}

export const MAX_CONDUCTOR_SHARDS = 256;

/** The shard that an instance is with. */
export function conductorOf(instance: string, shards: number): Address {
  return conductorAddress(conductorShardOf(instance, shards));
}
