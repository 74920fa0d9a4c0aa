// What the parts of a cell's conductor work with while they decide: its state, its turn and its settings.

import type { Effect } from '../../machines/step.ts';
import type { Address, Turn } from '../actor.ts';
import type { Patience, StateDeadlines } from '../builds.ts';
import { applyToCell, type CellRecord } from './apply.ts';
import type { CellState } from './state.ts';

/** When a host is set aside, and for how long. */
interface RestingRules {
  /** Builds in a row that fail before a host is set aside. */
  readonly failuresBefore: number;
  /** How long it rests the first time, ms; twice as long each time after, up to `mostMs`. */
  readonly firstMs: number;
  readonly mostMs: number;
  /** The share of the cell's hosts in service that may rest at one time. */
  readonly share: number;
}

export interface Settings {
  readonly cell: string;
  /** The first tokens of the subjects of the cell's events. */
  readonly scope: readonly string[];
  readonly deadlines: StateDeadlines;
  readonly patience: Patience;
  readonly silentMs: number;
  /** How many placement shards the deployment has. */
  readonly placementShards: number;
  readonly resting: RestingRules;
  conductorOf(instance: string): Address;
}

export interface Work extends Settings {
  readonly state: CellState;
  readonly turn: Turn<CellRecord>;
}

/** Records what is decided and applies it; the effects of the machine that it stepped are the caller's to perform. */
export function commit({ state, turn, deadlines }: Work, record: CellRecord): readonly Effect[] {
  turn.record(record);
  return applyToCell(state, record, deadlines);
}
