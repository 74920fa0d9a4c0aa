// A placement shard at a desk, with trees and claims to say to it.

import * as assert from 'uvu/assert';
import type { RequestSpec } from '../../actors/messages/common.ts';
import type {
  Claim,
  Inventory,
  PlacementMessage,
  ProviderSpec,
  ProviderState,
  Refusal,
  Release,
} from '../../actors/messages/placement.ts';
import type { CandidateGroup, CandidatesRequest } from '../../actors/messages/placement-api.ts';
import { placement } from '../../actors/placement/placement.ts';
import { bench, sentOf, type Turned } from './turn.ts';

export const actor = placement({ shard: 0 });
export const LATE = 10_000_000;

export function inventoryOf(told: Partial<Inventory> = {}): Inventory {
  return { total: 8, reserved: 0, min_unit: 1, max_unit: 1_000, step_size: 1, allocation_ratio: 1, ...told };
}

export function providerOf(id: string, told: Partial<ProviderSpec> = {}): ProviderSpec {
  return { id, name: id, parent: null, inventories: {}, traits: [], aggregates: [], ...told };
}

/** The root provider of a host that schedulers choose. */
export const rootOf = (host: string, vcpu = 8): ProviderSpec =>
  providerOf(`p-${host}`, { name: host, inventories: { VCPU: inventoryOf({ total: vcpu }) } });

/** A host with 8 VCPU and two devices of 4 GPUs. */
export function hostTree(id: string, told: Partial<ProviderSpec> = {}): ProviderSpec[] {
  const device = (name: string) =>
    providerOf(`${id}-${name}`, { parent: id, inventories: { PGPU: inventoryOf({ total: 4 }) } });
  return [providerOf(id, { inventories: { VCPU: inventoryOf() }, ...told }), device('gpu-0'), device('gpu-1')];
}

/** A claim of VCPU of one host, and of what else is named. */
export function claimOf(consumer: string, told: Partial<Claim> & { vcpu?: number; host?: string } = {}): Claim {
  const { vcpu = 4, host = 'a', ...rest } = told;
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: vcpu } }], groupPolicy: 'none' };
  const allocations = [{ provider: host, group: '', resources: { VCPU: vcpu } }];
  return { type: 'claim', consumer, attempt: 1, spec, allocations, keep: [], expiresAt: LATE, ...rest };
}

export const put = (providers: ProviderSpec[]): PlacementMessage => ({ type: 'put-tree', ask: 1, providers });
export const release = (consumer: string, told: Partial<Release> = {}): Release => ({
  type: 'release',
  consumer,
  deleted: false,
  ...told,
});

/** A group of a question for candidates: 1 VCPU of any provider. */
export function candidateGroup(told: Partial<CandidateGroup> = {}): CandidateGroup {
  const anywhere = { required: [], forbidden: [], memberOf: [], notMemberOf: [], inTree: null };
  return { suffix: '', resources: { VCPU: 1 }, ...anywhere, ...told };
}

/** A question for all candidates. */
export function candidatesFor(groups: CandidateGroup[], told: Partial<CandidatesRequest> = {}): CandidatesRequest {
  const ofRoots = { rootRequired: [], rootForbidden: [], sameSubtree: [] };
  return { groups, groupPolicy: null, ...ofRoots, limit: null, nested: true, ...told };
}

/** A shard with the trees that are given. */
export function shardWith(...trees: ProviderSpec[][]) {
  const shard = bench(actor);
  for (const tree of trees) assert.is(sentOf(shard.tell(put(tree)), 'tree-put').length, 1);
  return shard;
}

export function refusalIn(turned: Turned<unknown>): Refusal | null {
  const [refused] = sentOf(turned, 'claim-refused');
  assert.is(sentOf(turned, 'claim-granted').length, refused === undefined ? 1 : 0, 'one answer, and no more');
  return (refused?.message.refusal as Refusal | undefined) ?? null;
}

/** What was answered, the standing of the providers left out: that may move on between two answers. */
export function answerIn({ sent }: Turned<unknown>): unknown {
  return sent
    .filter(({ to }) => to === 'asker')
    .map(({ message }) => {
      const { usages: _, ...answer } = message as { usages?: unknown };
      return answer;
    });
}

export function providersOf(shard: ReturnType<typeof shardWith>): ProviderState[] {
  const [page] = sentOf(shard.tell({ type: 'list-providers', ask: 2, limit: 1000 }), 'providers');
  return page?.message.providers as ProviderState[];
}

export function heldIn(shard: ReturnType<typeof shardWith>): Record<string, unknown> {
  const [page] = sentOf(shard.tell({ type: 'list-consumers', ask: 3, limit: 1000 }), 'consumers');
  const holding = (page?.message.consumers ?? []).filter(({ held }) => held.length > 0);
  return Object.fromEntries(holding.map(({ consumer, held }) => [consumer, held]));
}
