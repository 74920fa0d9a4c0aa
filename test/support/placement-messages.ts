// Random messages of the Placement API over a small world, in which they often meet.

import type { PlacementApiMessage } from '../../actors/messages/placement-api.ts';
import { revisionOf } from '../../actors/placement/providers.ts';
import type { PlacementState } from '../../actors/placement/state.ts';
import type { Random } from '../../runtime/random.ts';

const PROVIDERS = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5'];
const CONSUMERS = ['c0', 'c1', 'c2', 'c3'];
const CLASSES = ['VCPU', 'MEMORY_MB', 'CUSTOM_GOLD'];
const TRAITS = ['HW_CPU_X86_AVX', 'MISC_SHARES_VIA_AGGREGATE', 'CUSTOM_RED'];
const AGGREGATES = ['a0', 'a1'];

type Draft = PlacementApiMessage extends infer One ? (One extends unknown ? Omit<One, 'ask'> : never) : never;

/** Of a caller that has read the generations first, if it says any. */
export function randomMessage(random: Random, state: PlacementState, ask: number): PlacementApiMessage {
  return { ...draft(random, state), ask } as PlacementApiMessage;
}

function draft(random: Random, { providers, consumers }: PlacementState): Draft {
  const { pick, chance, integer } = random;
  const id = pick(PROVIDERS);
  const some = (items: readonly string[], share: number) => items.filter(() => chance(share));
  const generationOf = (provider: string) => {
    const known = providers.get(provider);
    return known === undefined ? undefined : revisionOf(known);
  };
  const generation = chance(0.5) ? generationOf(id) : undefined;
  const compared = generation === undefined ? {} : { generation };
  const inventories = () =>
    Object.fromEntries(
      some(CLASSES, 0.6).map((name) => [
        name,
        {
          total: integer(1, 20),
          reserved: integer(0, 1),
          min_unit: 1,
          max_unit: integer(2, 20),
          step_size: 1,
          allocation_ratio: pick([1, 1.5]),
        },
      ]),
    );
  const change = (consumer: string) => ({
    consumer,
    allocations: chance(0.2)
      ? []
      : [...new Set([pick(PROVIDERS), pick(PROVIDERS)])].map((provider) => ({
          provider,
          resources: { [pick(CLASSES)]: integer(1, 4) },
        })),
    project: pick(['project-1', 'project-2']),
    user: 'user',
    ...(chance(0.5) ? { consumerType: 'INSTANCE' } : {}),
    ...(chance(0.5) ? { generation: consumers.holding.get(consumer)?.generation ?? null } : {}),
  });
  const changes = (share: number) => some(CONSUMERS, share).map(change);
  const parent = chance(0.5) ? null : pick(PROVIDERS);
  const makers: (() => Draft)[] = [
    () => ({ type: 'provider-create', id, name: chance(0.1) ? 'p0' : id, parent }),
    () => ({ type: 'provider-create', id, name: id, parent }),
    () => ({ type: 'provider-update', id, name: pick([id, `${id}-b`]), reparent: chance(0.7), parent }),
    () => ({ type: 'provider-delete', id }),
    () => ({
      type: 'inventories-put',
      id,
      how: pick(['all', 'all', 'add', 'update'] as const),
      inventories: inventories(),
      removed: [],
      allReserved: true,
      ...compared,
    }),
    () => ({
      type: 'inventories-put',
      id,
      how: 'remove',
      inventories: {},
      removed: [pick(CLASSES)],
      allReserved: true,
    }),
    () => ({ type: 'traits-put', id, traits: some(TRAITS, 0.4), ...compared }),
    () => ({ type: 'aggregates-put', id, aggregates: some(AGGREGATES, 0.5), counted: chance(0.5), ...compared }),
    () => ({ type: 'class-put', name: 'CUSTOM_GOLD' }),
    () => ({
      type: 'class-rename',
      name: pick(['CUSTOM_GOLD', 'CUSTOM_TIN']),
      to: pick(['CUSTOM_GOLD', 'CUSTOM_TIN']),
    }),
    () => ({ type: 'class-delete', name: pick(['CUSTOM_TIN', 'VCPU']) }),
    () => ({ type: 'trait-put', name: 'CUSTOM_RED' }),
    () => ({ type: 'trait-delete', name: 'CUSTOM_RED' }),
    () => ({ type: 'allocations-put', consumers: [change(pick(CONSUMERS))] }),
    () => ({ type: 'allocations-put', consumers: [change(pick(CONSUMERS))] }),
    () => ({ type: 'allocations-put', consumers: changes(0.5) }),
    () => ({ type: 'allocations-delete', consumer: pick(CONSUMERS) }),
    () => ({
      type: 'reshape',
      inventories: some(PROVIDERS, 0.3).map((provider) => ({
        provider,
        generation: generationOf(provider) ?? 0,
        inventories: inventories(),
      })),
      consumers: changes(0.4),
    }),
  ];
  return pick(makers)();
}
