// By which keys the parts of undecided changes lock what they are about, and which of them keep a message waiting.

import type { InstanceGroup } from '../messages/common.ts';
import type { GroupHomeMessage } from '../messages/group-homes.ts';
import type { PlacementMessage, PutTree } from '../messages/placement.ts';
import type { PlacementApiMessage } from '../messages/placement-api.ts';
import type { PartContent, TransactionMessage, TransactionMessageOf } from '../messages/transactions.ts';
import { heldBy, identityOf, ownerOf } from './consumers.ts';
import { isSoft } from './groups.ts';
import type { Keys } from './locks.ts';
import type { ConsumerRecord } from './records.ts';
import type { PlacementState } from './state.ts';

const consumerKey = (id: string): string => `consumer ${id}`;
const providerKey = (id: string): string => `provider ${id}`;
const classKey = (name: string): string => `class ${name}`;
const traitKey = (name: string): string => `trait ${name}`;
const idKey = (id: string): string => `id ${id}`;
const nameKey = (name: string): string => `name ${name}`;
const groupKey = (id: string): string => `group ${id}`;
/** Locked by those that let somebody come to a group whose rule is a wish. */
const wishKey = (policy: string, id: string): string => `${policy} ${id}`;
const WISHES: readonly InstanceGroup['policy'][] = ['soft-affinity', 'soft-anti-affinity'];
/** Locked by those that change what is held of a class: it keeps its name meanwhile. */
const heldKey = (resourceClass: string): string => `held ${resourceClass}`;
/** Locked by those that put something below a provider. */
const belowKey = (id: string): string => `below ${id}`;

/** Locked by those that let something into a told tree. */
const toldKey = (root: string): string => `told ${root}`;

/** What a listing of one kind shows; a change over several shards that shows in it is told by these. */
export const CLASSES = 'classes';
export const TRAITS = 'traits';
export const PROVIDERS = 'providers';
export const usageTopic = (project: string): string => `usages of ${project}`;
const TREES = 'trees';
const EVERYTHING = 'everything';

/**
 * What consumers lock that are changed: themselves and the groups whose rule they must keep, and with others the providers
 * and classes that they hold or shall hold of.
 */
export function keysOfConsumers(state: PlacementState, changes: readonly ConsumerRecord[], wide: boolean): Keys {
  const { consumers } = state;
  const shared = new Set<string>();
  for (const { consumer: id, allocations, owner } of changes) {
    const before = consumers.holding.get(id);
    for (const { provider, resources } of [...allocations, ...heldBy(before)]) {
      shared.add(providerKey(provider));
      for (const resourceClass in resources) shared.add(heldKey(resourceClass));
    }
    if (!wide) continue;
    shared.add(usageTopic(owner.project));
    shared.add(usageTopic(ownerOf(before).project));
  }
  return {
    alone: [...changes.map(({ consumer }) => consumerKey(consumer)), ...groupsOf(state, changes).map(lockOfGroup)],
    shared: [...shared],
  };
}

type Membership = Pick<ConsumerRecord, 'consumer' | 'group'> & { readonly allocations: readonly unknown[] };

/**
 * The groups that must be kept and of which members hold something here, or shall; of others, those that somebody comes to.
 * Where a member goes is not counted until the change is made, nor with which rule a group begins: meanwhile nobody else may
 * join, or go elsewhere, but to a group whose rule is a wish with that same rule.
 */
function groupsOf({ consumers }: PlacementState, changes: readonly Membership[]): InstanceGroup[] {
  const groups: InstanceGroup[] = [];
  for (const change of changes) {
    const known = consumers.holding.get(change.consumer);
    const { group } = identityOf(known, change);
    if (group === undefined) continue;
    const isMember = known !== undefined && known.held.length > 0;
    if (isSoft(group) && isMember) continue;
    if (change.allocations.length > 0 || isMember) groups.push(group);
  }
  return groups;
}

/** What those lock who are counted in a group, or come to it. */
function lockOfGroup(group: InstanceGroup): string {
  return isSoft(group) ? wishKey(group.policy, group.id) : groupKey(group.id);
}

/** What must be free for them. */
function freeForGroup({ id, policy }: InstanceGroup): string[] {
  return [groupKey(id), ...WISHES.filter((one) => one !== policy).map((one) => wishKey(one, id))];
}

/** The ids that no provider may have. */
export function absentIds({ absent: { id, ids = [] } = {} }: Pick<PartContent, 'absent'>): readonly string[] {
  return id === undefined ? ids : [id, ...ids];
}

/** What a part locks beside its consumers. */
export function keysBeside(part: PartContent): Keys {
  const { change, absent, inventories = [], leaves, joins, comes } = part;
  const alone: string[] = [];
  const shared: string[] = [];
  alone.push(...absentIds(part).map(idKey));
  if (absent?.name !== undefined) alone.push(nameKey(absent.name));
  for (const { provider, inventories: given } of inventories) {
    alone.push(providerKey(provider));
    shared.push(...Object.keys(given).map(classKey));
  }
  if (leaves !== undefined) alone.push(TREES, ...Object.keys(leaves.generations).map(providerKey));
  if (joins !== undefined) {
    alone.push(TREES, ...joins.providers.flatMap(({ id, name }) => [providerKey(id), idKey(id), nameKey(name)]));
    shared.push(providerKey(joins.parent), belowKey(joins.parent));
    for (const { inventories: given, traits } of joins.providers) {
      shared.push(...Object.keys(given).map(classKey), ...traits.map(traitKey));
    }
  }
  if (comes !== undefined) {
    alone.push(toldKey(comes.root), ...comes.providers.flatMap(({ id }) => [providerKey(id), idKey(id)]));
    // What they stand below stays where it is.
    shared.push(TREES, providerKey(comes.root));
    for (const { parent, inventories: given, traits } of comes.providers) {
      if (parent !== null) shared.push(providerKey(parent), belowKey(parent));
      shared.push(...Object.keys(given).map(classKey), ...traits.map(traitKey));
    }
  }
  if (leaves !== undefined || joins !== undefined) shared.push(PROVIDERS);
  switch (change?.type) {
    case 'provider-create':
      alone.push(idKey(change.id), providerKey(change.id), nameKey(change.name));
      if (change.parent !== null) shared.push(providerKey(change.parent), belowKey(change.parent));
      break;
    case 'provider-update':
      alone.push(providerKey(change.id), nameKey(change.name));
      if (change.parent !== undefined) alone.push(TREES);
      if (typeof change.parent === 'string') shared.push(providerKey(change.parent), belowKey(change.parent));
      break;
    case 'class-put':
    case 'class-delete':
      alone.push(classKey(change.name));
      shared.push(CLASSES);
      break;
    case 'class-rename':
      alone.push(classKey(change.name), classKey(change.to), heldKey(change.name), EVERYTHING);
      shared.push(CLASSES);
      break;
    case 'trait-put':
    case 'trait-delete':
      alone.push(traitKey(change.name));
      shared.push(TRAITS);
  }
  shared.push(EVERYTHING);
  return { alone, shared };
}

/** What must not be locked for a message to be decided. */
interface Needs {
  /** By nobody: of what is locked all the time that is waited for in vain. */
  readonly free?: readonly string[];
  /** By nobody who was there before the message; who came since may. */
  readonly settled?: readonly string[];
  /** By nobody alone. */
  readonly open?: readonly string[];
}

/** The transactions for which a message has to wait, or null. `isAgain`: it has waited for those that were there before. */
export function blockersOf(
  state: PlacementState,
  message: { readonly type: string },
  isAgain: boolean,
): Set<string> | null {
  const { free = [], settled = [], open = [] } = needsOf(state, message as PlacementApiMessage);
  const found = new Set<string>();
  const note = (keys: readonly string[], counts: (isAlone: boolean) => boolean) => {
    for (const key of keys) {
      for (const [transaction, isAlone] of state.holds.locks.get(key) ?? []) {
        if (counts(isAlone)) found.add(transaction);
      }
    }
  };
  note(free, () => true);
  if (!isAgain) note(settled, () => true);
  note(open, (isAlone) => isAlone);
  // What holds its part already is asked again.
  if (message.type === 'hold') found.delete((message as TransactionMessageOf<'hold'>).transaction);
  return found.size === 0 ? null : found;
}

/** The providers of a tree that its compute told before, and tells no more. */
function mayGoBy({ trees, providers }: PlacementState, tree: PutTree['providers']): string[] {
  const told = new Set(tree.map(({ id }) => id));
  const known = trees.get(tree[0]?.id ?? '') ?? [];
  return known.filter((id) => !told.has(id) && providers.get(id)?.told !== null);
}

function needsOf(
  state: PlacementState,
  message: PlacementApiMessage | PlacementMessage | TransactionMessage | GroupHomeMessage,
): Needs {
  switch (message.type) {
    case 'provider-show':
    case 'subtree-show':
    case 'provider-allocations':
      return { settled: [providerKey(message.id)] };
    case 'inventories-put': {
      const named = [...Object.keys(message.inventories), ...message.removed];
      return {
        settled: [providerKey(message.id)],
        open: [providerKey(message.id), ...named.map(classKey)],
      };
    }
    case 'traits-put':
      return {
        settled: [providerKey(message.id)],
        open: [providerKey(message.id), ...message.traits.map(traitKey)],
      };
    case 'provider-delete':
      return {
        free: [belowKey(message.id)],
        settled: [providerKey(message.id)],
        open: [providerKey(message.id)],
      };
    case 'aggregates-put':
      return { settled: [providerKey(message.id)], open: [providerKey(message.id)] };
    case 'provider-create':
      return { open: [idKey(message.id), nameKey(message.name)] };
    case 'provider-update':
      return { open: [providerKey(message.id), nameKey(message.name)] };
    case 'allocations-put':
      return {
        free: [
          ...message.consumers.map(({ consumer }) => consumerKey(consumer)),
          ...groupsOf(state, message.consumers).flatMap(freeForGroup),
        ],
        open: message.consumers.flatMap(({ allocations }) => allocations.map(({ provider }) => providerKey(provider))),
      };
    case 'allocations-delete':
      return { free: [consumerKey(message.consumer)] };
    case 'reshape': {
      const named = message.inventories.map(({ provider }) => providerKey(provider));
      const ofConsumers = message.consumers.map(({ consumer }) => consumerKey(consumer));
      return {
        free: [...ofConsumers, ...groupsOf(state, message.consumers).flatMap(freeForGroup)],
        settled: named,
        open: named,
      };
    }
    case 'consumer-show':
      return { settled: [consumerKey(message.consumer)] };
    case 'usages':
      return { settled: [usageTopic(message.project)] };
    case 'providers-find':
      return { settled: [PROVIDERS] };
    case 'classes-list':
      return { settled: [CLASSES] };
    case 'traits-list':
      return { settled: [TRAITS] };
    case 'class-put':
    case 'class-delete':
      return { open: [classKey(message.name)] };
    case 'class-rename':
      return { free: [EVERYTHING, heldKey(message.name)] };
    case 'trait-put':
    case 'trait-delete':
      return { open: [traitKey(message.name)] };
    case 'put-tree': {
      // On which something is held stays, and so does what is above that.
      const mayGo = mayGoBy(state, message.providers);
      const told = message.providers.flatMap(({ id, inventories, traits }) => [
        providerKey(id),
        idKey(id),
        ...Object.keys(inventories).map(classKey),
        ...traits.map(traitKey),
      ]);
      const [root] = message.providers;
      return {
        free: mayGo.map(belowKey),
        open: [...(root === undefined ? [] : [toldKey(root.id)]), ...told, ...mayGo.map(providerKey)],
      };
    }
    case 'withdraw-tree':
      return { free: [toldKey(message.root), ...(state.trees.get(message.root) ?? []).map(providerKey)] };
    case 'claim': {
      const { consumer, allocations, spec } = message;
      const free = [consumerKey(consumer)];
      if (spec.instanceGroup !== undefined) free.push(...freeForGroup(spec.instanceGroup));
      return { free, open: allocations.map(({ provider }) => providerKey(provider)) };
    }
    case 'group-leave':
      return { free: [groupKey(message.group)] };
    case 'recall':
    case 'unclaim':
    case 'release':
      return { free: [consumerKey(message.consumer)] };
    case 'hold': {
      const { alone, shared } = keysBeside(message);
      const ids = message.consumers.map(({ consumer }) => consumer);
      const of = message.consumers.flatMap(({ allocations }) => allocations.map(({ provider }) => provider));
      const held = ids.flatMap((id) => heldBy(state.consumers.holding.get(id)).map(({ provider }) => provider));
      const ofConsumers = [...ids.map(consumerKey), ...groupsOf(state, message.consumers).flatMap(freeForGroup)];
      return { free: [...alone, ...ofConsumers], open: [...shared, ...[...of, ...held].map(providerKey)] };
    }
    default:
      return {};
  }
}
