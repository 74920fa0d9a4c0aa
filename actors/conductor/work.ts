// What the parts of a conductor shard work with while they decide: its state, its turn and its settings.

import type { Effect } from '../../machines/step.ts';
import type { Address, Turn } from '../actor.ts';
import type { Patience, StateDeadlines } from '../builds.ts';
import { applyToConductor, type ConductorRecord } from './apply.ts';
import type { ConductorState } from './state.ts';

export interface Settings {
  /** The first tokens of the subjects of the shard's events. */
  readonly scope: readonly string[];
  readonly deadlines: StateDeadlines;
  readonly patience: Patience;
  /** How many requests may wait for a host. */
  readonly maxParked: number;
  /** How often a request that waits is asked for again, ms, when few do. */
  readonly parkedAskMs: number;
  /** How many placement shards the deployment has. */
  readonly placementShards: number;
}

export interface Work extends Settings {
  readonly state: ConductorState;
  readonly turn: Turn<ConductorRecord>;
}

/** Records what is decided and applies it; the effects of the machine that it stepped are the caller's to perform. */
export function commit({ state, turn, deadlines }: Work, record: ConductorRecord): readonly Effect[] {
  turn.record(record);
  return applyToConductor(state, record, deadlines);
}

/** What is asked cannot be done of the id that is named. */
export function decline({ turn }: Work, to: Address, ask: number, code: string, reason: string): void {
  turn.send(to, { type: 'declined', ask, code, reason, field: 'id' });
}
