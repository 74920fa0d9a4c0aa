// Providers over all shards: each is with one of them; its id and its name are no other's in any.

import type { ApiMessage, MovingProvider, PlacementApiMessage } from '../../../actors/messages/placement-api.ts';
import type { Part } from '../../../actors/messages/transactions.ts';
import type { ProviderSummary, ProviderView } from '../../../actors/placement/api/reads.ts';
import { noParent, noProvider, refused } from '../../../actors/placement/api/refusals.ts';
import { placementShardOf } from '../../../actors/routing.ts';
import type { Outcome, Shards } from './asking.ts';
import type { Places } from './locating.ts';
import { knowingly, type Names } from './names.ts';

type Asked<Kind extends PlacementApiMessage['type']> = Omit<ApiMessage<Kind>, 'ask'>;

export interface Providers {
  create(asked: Asked<'provider-create'>): Promise<Outcome<ProviderSummary>>;
  update(asked: Asked<'provider-update'>): Promise<Outcome<ProviderSummary>>;
  find(asked: Asked<'providers-find'>): Promise<Outcome<ProviderSummary[]>>;
}

interface Way {
  readonly from: number;
  readonly to: number;
}

export function providersOf(shards: Shards, places: Places, names: Names): Providers {
  /** The part of the shard that makes the change, and of all others, which make sure that they know none of it. */
  const partsOf = (own: number, part: Omit<Part, 'shard' | 'consumers'>, absent: Part['absent']): Part[] =>
    shards.every.map((shard) =>
      shard === own ? { shard, consumers: [], ...part } : { shard, consumers: [], ...(absent ? { absent } : {}) },
    );

  /** The parts of a change by which a provider, with all that is below it, goes to the tree of another shard. */
  function movingParts(
    { subtree, name, parent, from, to }: { subtree: MovingProvider[]; name: string; parent: string } & Way,
    absent: Part['absent'],
  ): Part[] {
    const [top, ...below] = subtree as [MovingProvider, ...MovingProvider[]];
    const generations = Object.fromEntries(subtree.map(({ id, generation }) => [id, generation]));
    const beside = { consumers: [], wide: true, ...(absent ? { absent } : {}) };
    return shards.every.map((shard): Part => {
      if (shard === from) return { shard, ...beside, leaves: { id: top.id, generations } };
      if (shard === to) return { shard, ...beside, joins: { parent, providers: [{ ...top, name }, ...below] } };
      return { shard, consumers: [], ...(absent ? { absent } : {}) };
    });
  }

  /** A provider that was made just now; whoever has taken it away again has seen it. */
  async function made(
    { id, name, parent }: Asked<'provider-create'>,
    shard: number,
  ): Promise<Outcome<ProviderSummary>> {
    const shown = await shards.ask<ProviderSummary>({ type: 'provider-show', id }, shard);
    if (shown.refused === undefined) return shown;
    const above =
      parent === null ? null : await places.askAt<ProviderView>(parent, { type: 'provider-show', id: parent });
    return { ok: { id, name, parent, root: above?.ok?.root ?? parent ?? id, generation: 0, changedAt: 0 } };
  }

  return {
    async create(asked) {
      const { id, name, parent } = asked;
      // What is refused whatever there is, any shard refuses.
      if (name === '' || parent === id) return shards.ask(asked, 0);
      for (const deadline = shards.deadline(); ; shards.checkTime(deadline, `what comes of '${id}'`)) {
        const shard = parent === null ? placementShardOf(id, shards.count) : await places.find(parent);
        if (shard === null) return noParent(parent ?? '');
        const { refused: missing } = await places.askAt(id, { type: 'provider-show', id });
        if (missing === undefined) {
          return refused('duplicate-id', `there is a provider '${id}'`, { subject: id });
        }
        const change = { ...asked, ask: 0 };
        const { refused: refusal } = await shards.together(partsOf(shard, { change }, { id, name }));
        if (refusal === undefined) return made(asked, shard);
        places.forget(id);
        if (refusal.code === 'no-parent' && parent !== null) places.forget(parent);
        // Of a provider that has both the id and the name, the id is told.
        else if (refusal.code !== 'duplicate-name' || (await places.find(id)) === null) return { refused: refusal };
      }
    },
    async update(asked) {
      const { id, name, reparent } = asked;
      for (const deadline = shards.deadline(); ; shards.checkTime(deadline, `what comes of '${id}'`)) {
        const { ok: before, refused: missing } = await places.askAt<ProviderView>(id, { type: 'provider-show', id });
        if (missing !== undefined) return { refused: missing };
        const shard = await places.find(id);
        if (shard === null) return noProvider(id);
        const absent = name === before.name ? undefined : { name };
        const parent = asked.parent === undefined ? before.parent : asked.parent;
        let to = shard;
        if (parent !== null && parent !== before.parent) {
          const { refused: noOther } = await places.askAt(parent, { type: 'provider-show', id: parent });
          const other = noOther === undefined ? await places.find(parent) : null;
          if (other === null) return noParent(parent);
          to = other;
        }
        let parts: Part[];
        if (to === shard || parent === null) {
          parts = partsOf(shard, { change: { ...asked, ask: 0 }, named: { id, name: before.name } }, absent);
        } else {
          if (before.parent !== null && !reparent) {
            return refused('no-reparenting', `provider '${id}' has a parent already`);
          }
          if (name === '') return refused('no-name', 'a provider needs a name');
          const { ok: subtree } = await shards.ask<MovingProvider[]>({ type: 'subtree-show', id }, shard);
          if (subtree === undefined) continue;
          parts = movingParts({ subtree, name, parent, from: shard, to }, absent);
        }
        const { refused: refusal } = await shards.together(parts);
        places.forget(id);
        if (refusal === undefined) return shards.ask({ type: 'provider-show', id }, to);
        if (refusal.code === 'changed-meanwhile') continue;
        if (refusal.code !== 'no-parent' || parent === null) return { refused: refusal };
        places.forget(parent);
      }
    },
    async find(asked) {
      return knowingly<ProviderSummary[]>(names, async () => {
        const outcomes = await shards.whole<ProviderSummary[]>(asked);
        const refusal = outcomes.find((outcome) => outcome.refused !== undefined);
        if (refusal !== undefined) return refusal;
        return { ok: outcomes.flatMap(({ ok = [] }) => ok) };
      });
    },
  };
}
