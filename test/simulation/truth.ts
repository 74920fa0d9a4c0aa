// What is really so: the states to which the stored records of all owners lead, followed record by record with the
// production actors' own `apply`. It notes which instances a record touches, so that only those are looked at again.

import { stateOfBuild } from '../../actors/builds.ts';
import type { CellRecord } from '../../actors/cell/apply.ts';
import type { CellState } from '../../actors/cell/state.ts';
import type { ConductorRecord } from '../../actors/conductor/apply.ts';
import type { ConductorState } from '../../actors/conductor/state.ts';
import type { InstanceGroup, RequestSpec } from '../../actors/messages/common.ts';
import type { Held } from '../../actors/placement/consumers.ts';
import type { Provider } from '../../actors/placement/providers.ts';
import type { PlacementRecord } from '../../actors/placement/records.ts';
import type { PlacementState } from '../../actors/placement/state.ts';
import { conductorShardOf } from '../../actors/routing.ts';
import type { Selection } from '../../machines/instance-build.ts';
import { stored } from '../support/turn.ts';
import type { OwnerActor, OwnerActors } from './actors.ts';
import type { StoredEntry } from './journals.ts';
import { type Changes, changesOf } from './together.ts';

export interface Truth {
  readonly placements: readonly PlacementState[];
  /** What became of changes over several placement shards. */
  readonly changes: Changes;
  /** A provider, of whatever shard. */
  providerOf(id: string): Provider | undefined;
  /** What a consumer holds, in whatever shard. */
  heldBy(consumer: string): readonly Held[];
  readonly conductors: readonly ConductorState[];
  readonly cells: ReadonlyMap<string, CellState>;
  /** The hosts of each instance as its cell was given them: the one that was claimed, then the alternates. */
  readonly chosen: ReadonlyMap<string, readonly Selection[]>;
  /** What was asked for, by request. */
  readonly asked: ReadonlyMap<string, { readonly alternates: number; readonly spec: RequestSpec }>;
  /** The members of each instance group, as the accepted requests have it. */
  readonly groups: ReadonlyMap<string, ReadonlySet<string>>;
  /** The instance group that an instance was asked to be a member of. */
  readonly groupOf: ReadonlyMap<string, InstanceGroup>;
  /** Every instance that was ever accepted. */
  readonly accepted: ReadonlySet<string>;
  conductorOf(instance: string): ConductorState;
  /** Instances that were touched since they were last looked at. */
  readonly touched: Set<string>;
  /** An owner begins an epoch: no record of an earlier one may follow. */
  opened(owner: string, epoch: number): void;
  follow(owner: string, entry: StoredEntry): void;
  /** The state of an owner as it would be stored. */
  state(owner: string): unknown;
}

export interface TruthOptions {
  tally(what: string): void;
  onFault(fault: string): void;
  /** Told of each claim right after it, before any other record: an operator's change may be next. */
  onClaim(claim: Extract<PlacementRecord, { type: 'claimed' }>): void;
}

export function truthOf(actors: OwnerActors, { tally, onFault, onClaim }: TruthOptions): Truth {
  const states = new Map<string, unknown>();
  for (const [owner, actor] of actors) states.set(owner, actor.init());
  const conductors = [...states].filter(([owner]) => owner.startsWith('conductor/')).map(([, state]) => state);
  const placements = [...states]
    .filter(([owner]) => owner.startsWith('placement/'))
    .map(([, state]) => state as PlacementState);
  const cells = new Map(
    [...states]
      .filter(([owner]) => owner.startsWith('cell/'))
      .map(([owner, state]) => [owner.slice('cell/'.length), state as CellState]),
  );
  const changes = changesOf(placements, { onFault, tally });
  const epochs = new Map<string, number>();
  const chosen = new Map<string, readonly Selection[]>();
  const asked = new Map<string, { alternates: number; spec: RequestSpec }>();
  const groups = new Map<string, Set<string>>();
  const groupOf = new Map<string, InstanceGroup>();
  const accepted = new Set<string>();
  const touched = new Set<string>();

  function follow(owner: string, { epoch, records }: StoredEntry): void {
    const last = epochs.get(owner) ?? 0;
    if (epoch < last) {
      throw new Error(`one writer: '${owner}' has a record of epoch ${epoch} after epoch ${last} has begun`);
    }
    const actor = actors.get(owner) as OwnerActor;
    const state = states.get(owner);
    for (const record of records) {
      actor.apply(state, record);
      if (owner.startsWith('placement/')) notePlacement(owner, record as PlacementRecord);
      else if (owner.startsWith('conductor/')) noteConductor(state as ConductorState, record as ConductorRecord);
      else noteCell(state as CellState, record as CellRecord);
    }
  }

  function notePlacement(owner: string, record: PlacementRecord): void {
    changes.note(Number(owner.slice('placement/'.length)), record);
    if (record.type === 'claimed') onClaim(record);
    if ('consumer' in record) touched.add(record.consumer);
    tally(`record placement ${record.type}`);
  }

  function noteMember(instance: string, group: InstanceGroup): void {
    const members = groups.get(group.id) ?? new Set();
    groups.set(group.id, members.add(instance));
    groupOf.set(instance, group);
  }

  function noteConductor(state: ConductorState, record: ConductorRecord): void {
    tally(`record conductor ${record.type}`);
    if (record.type === 'accepted') {
      asked.set(record.facts.request, { alternates: record.alternates, spec: record.facts.spec });
      for (const instance of record.instances) {
        accepted.add(instance);
        touched.add(instance);
        const group = record.facts.spec.instanceGroup;
        if (group !== undefined) noteMember(instance, group);
      }
    } else if ('instance' in record) {
      touched.add(record.instance);
    }
    if (record.type === 'accepted') tally('state build requested');
    if (record.type !== 'build-event') return;
    const build = state.instances.get(record.instance)?.build;
    if (build !== null && build !== undefined) tally(`state build ${stateOfBuild(build)}`);
  }

  function noteCell(state: CellState, record: CellRecord): void {
    tally(`record cell ${record.type}`);
    if (record.type === 'started') {
      const { selection, alternates } = record.snapshot.context;
      chosen.set(record.facts.instance, selection === null ? alternates : [selection, ...alternates]);
    }
    if ('instance' in record) touched.add(record.instance);
    if (record.type === 'started') touched.add(record.facts.instance);
    if (record.type === 'removal-event') {
      touched.add(record.key.slice(0, record.key.indexOf(' ')));
      tally(`state removal ${record.event.type === 'DESTROYED' ? 'releasing' : 'removed'}`);
    }
    if (record.type === 'build-event') {
      const build = state.instances.get(record.instance)?.build;
      if (build !== undefined) tally(`state build ${stateOfBuild(build)}`);
      for (const { snapshot } of state.removals.values()) tally(`state removal ${String(snapshot.value)}`);
    }
    if (record.type === 'host-event') tally(`state service ${String(state.hosts.get(record.host)?.service.value)}`);
  }

  return {
    placements,
    changes,
    providerOf: (id) => placements.map(({ providers }) => providers.get(id)).find((one) => one !== undefined),
    heldBy: (consumer) => placements.flatMap(({ consumers }) => consumers.holding.get(consumer)?.held ?? []),
    conductors: conductors as ConductorState[],
    cells,
    chosen,
    asked,
    groups,
    groupOf,
    accepted,
    conductorOf: (instance) => conductors[conductorShardOf(instance, conductors.length)] as ConductorState,
    touched,
    opened: (owner, epoch) => void epochs.set(owner, epoch),
    follow,
    state: (owner) => stored(actors.get(owner) as OwnerActor, states.get(owner)),
  };
}
