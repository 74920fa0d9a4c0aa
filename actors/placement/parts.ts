// Decides parts of changes over several shards, as a shard that is asked for one: whether its part could be made as things
// stand, and what it comes to.

import type { PartContent } from '../messages/transactions.ts';
import { present } from '../present.ts';
import { decideConsumers, reshape } from './api/allocations.ts';
import { decide } from './api/api.ts';
import { duplicateId, duplicateName, noParent, type Refused, refused } from './api/refusals.ts';
import { absentIds, keysBeside } from './lock-keys.ts';
import { decideComing } from './newcomers.ts';
import { inUse, type Provider } from './providers.ts';
import type { ApiRecord, ConsumerRecord, HeldPart } from './records.ts';
import type { PlacementState } from './state.ts';
import { subtreeOf } from './trees.ts';

/** What a part comes to, or why it cannot be. */
export function decidePart(state: PlacementState, part: PartContent, now: number): Refused | HeldPart {
  const fault = refusalOfNames(state, part);
  if (fault !== null) return fault;
  const decided = contentOf(state, part, now);
  if ('refused' in decided) return decided;
  const { change, absent, inventories, leaves, joins, comes, counted, wide } = part;
  const isBeside = [change, absent, inventories, leaves, joins, comes].some((one) => one !== undefined);
  const elsewhere = [...absentIds(part), ...Object.keys(leaves?.generations ?? {})];
  return {
    ...decided,
    ...(isBeside ? { locks: keysBeside(part) } : {}),
    ...(elsewhere.length > 0 ? { elsewhere } : {}),
    ...present({ counted, wide }),
  };
}

function refusalOfNames({ providers, indexes }: PlacementState, part: PartContent): Refused | null {
  const { absent, named } = part;
  const known = absentIds(part).find((id) => providers.has(id));
  if (known !== undefined) return duplicateId(known);
  if (absent?.name !== undefined && indexes.names.has(absent.name)) return duplicateName(absent.name);
  if (named !== undefined && providers.get(named.id)?.spec.name !== named.name) {
    return refused('changed-meanwhile', `provider '${named.id}' is not named '${named.name}' any more`);
  }
  return null;
}

function contentOf(
  state: PlacementState,
  { consumers, inventories = [], classes, change, fresh, leaves, joins, comes }: PartContent,
  now: number,
): Refused | { consumers: readonly ConsumerRecord[]; record?: ApiRecord } {
  if (leaves !== undefined) return leaving(state, leaves);
  if (joins !== undefined) return joining(state, joins, now);
  if (comes !== undefined) {
    const coming = decideComing(state, comes);
    return 'refused' in coming ? coming : { consumers: [], ...coming };
  }
  if (change !== undefined) {
    const decided = decide(state, change, now);
    if (!('record' in decided)) throw new Error(`'${change.type}' is no change`);
    const { record } = decided;
    if (record !== null) return { consumers: [], record };
    const outcome = decided.answer();
    if ('refused' in outcome) return outcome;
    return fresh === true ? refused('name-exists', 'there is such a name already') : { consumers: [] };
  }
  if (inventories.length === 0) {
    const decided = decideConsumers(state, consumers, ({ spec }) => spec.inventories, classes);
    return 'refused' in decided ? decided : { consumers: decided };
  }
  const { record, answer } = reshape(state, { inventories, consumers }, now, classes);
  if (record?.type === 'reshaped') return { consumers: record.consumers, record };
  return answer() as Refused;
}

/**
 * A provider goes to another shard with all that is below it, if it is as it was and nothing is held on it. The host of a
 * compute does not: this is the shard that the compute tells of it.
 */
function leaving(state: PlacementState, { id, generations }: Required<PartContent>['leaves']) {
  const ids = state.providers.has(id) ? subtreeOf(state, id) : [];
  const isSame =
    ids.length === Object.keys(generations).length &&
    ids.every((one) => state.providers.get(one)?.generation === generations[one]);
  if (!isSame) return refused('changed-meanwhile', `provider '${id}' is not as it was`);
  const busy = ids.find((one) => inUse(state.providers.get(one) as Provider));
  if (busy !== undefined) {
    const message = `something is held on provider '${busy}', which keeps it with its placement shard`;
    return refused('other-shard', message, { provider: busy });
  }
  const isHost = ({ told, wasHost }: Provider) => told?.parent === null || wasHost;
  const host = ids.find((one) => isHost(state.providers.get(one) as Provider));
  if (host !== undefined) {
    const message = `provider '${host}' is the host of a compute, which keeps it with its placement shard`;
    return refused('other-shard', message, { provider: host });
  }
  return { consumers: [], record: { type: 'subtree-left' as const, ids } };
}

function joining(state: PlacementState, { parent, providers }: Required<PartContent>['joins'], at: number) {
  if (!state.providers.has(parent)) return noParent(parent);
  const twice = providers.find(({ id }) => state.providers.has(id));
  if (twice !== undefined) return refused('changed-meanwhile', `there is a provider '${twice.id}' already`);
  return { consumers: [], record: { type: 'subtree-joined' as const, parent, providers, at } };
}
