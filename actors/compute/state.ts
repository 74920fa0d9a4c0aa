// What a compute knows, in one life.

import type { Address, SteadyTime, Turn } from '../actor.ts';
import type { AttemptId } from '../attempts.ts';
import type { Metrics } from '../messages/common.ts';
import type { ComputeBuild } from '../messages/compute.ts';
import type { ProviderSpec } from '../messages/placement.ts';
import { PassingMap } from '../passing-map.ts';
import { fnv1a } from '../routing.ts';
import type { ComputeOptions } from './options.ts';

export type Outcome =
  | { state: 'built' }
  | { state: 'failed'; reason: string }
  | { state: 'aborted'; reason: string }
  | { state: 'destroyed' };

/** What came of an attempt, and when. */
interface Ended {
  readonly outcome: Outcome;
  readonly at: SteadyTime;
  /** How often its driver was told to build it and has not come back yet: it may still say that it is built. */
  builds: number;
  /** Which list the driver had been asked for last by then: only a later one tells what is there since. */
  readonly lists: number;
}

/** An attempt on this host. `found` was there when the compute started: the driver knows what it is. */
export interface Job extends AttemptId {
  state: 'found' | 'building' | 'built' | 'destroying';
  /** The order, to give it to the driver again; absent for what was found. */
  order: ComputeBuild | null;
  repeats: number;
  /** How often its cell has asked for its end since the driver was, which has not answered; null: it has. */
  asked: number | null;
  /** How often the driver was told to build it and has not come back yet. */
  builds: number;
  /** What the driver said last instead of what came of it; null: nothing. */
  trouble: string | null;
  /** Which list the driver had been asked for last when it was there: only a later one is to have it. */
  lists: number;
  /** The driver did not have it when it was asked last; null: its cell expects it, and no list has said yet whether it is there. */
  isMissing: boolean | null;
}

/**
 * What the compute does before it is up: learn its tree, tell placement, present itself to the cell. Once retired, it
 * takes no orders and says nothing but what comes of those that it took: another compute serves the host.
 */
export type Phase = 'describing' | 'registering' | 'greeting' | 'up' | 'retired';

export interface ComputeState {
  /** The same in each life. */
  readonly settings: Settings;
  /** Names this life. */
  readonly incarnation: string;
  phase: Phase;
  providers: readonly ProviderSpec[];
  /** Those that placement has taken. */
  taken: readonly ProviderSpec[] | null;
  /** Counts how often the driver told other providers than before, from a number on that is this life's own. */
  changes: number;
  /** From when on the driver is asked again what the host has, and how often it has been. */
  looksAt: SteadyTime;
  looks: number;
  /** What the driver measured last; null while it is not known whether it measures at all, or it does not. */
  metrics: Metrics | null;
  measures: boolean;
  /**
   * Counts how often the driver was asked what runs, from a number on that is this life's own; the last of these lists that
   * it gave, and whether anything was missing in it.
   */
  lists: number;
  listed: number;
  isAnyMissing: boolean;
  /** Up to which of them they were told, where they are too many for one heartbeat. */
  missingTold: number;
  readonly jobs: Map<string, Job>;
  /** What came of attempts that are over, oldest first. */
  readonly outcomes: Map<string, Ended>;
  repeats: number;
  /** Once up, placement is told the tree with every beat until it has heard. */
  owesTree: boolean;
}

export interface Settings extends Required<Omit<ComputeOptions, 'incarnation'>> {
  readonly toCell: Address;
  readonly toDriver: Address;
  readonly own: Address;
}

/** What the parts of a compute work with while they decide. */
export interface Work {
  readonly settings: Settings;
  readonly state: ComputeState;
  readonly turn: Turn<never>;
}

/** What was just found, ordered or built. */
export function newJob(
  { lists }: ComputeState,
  { instance, attempt }: AttemptId,
  state: Job['state'],
  { builds, order = null }: { builds: number; order?: ComputeBuild | null },
): Job {
  return { instance, attempt, state, order, repeats: 0, asked: 0, builds, trouble: null, lists, isMissing: false };
}

export function running({ state }: Work): AttemptId[] {
  const there = [...state.jobs.values()].filter(({ isMissing }) => isMissing === false);
  return there.map(({ instance, attempt }) => ({ instance, attempt }));
}

/** Before which this life has asked for no list: what was made for an earlier one says nothing of it. */
export const firstList = (incarnation: string): number => fnv1a(incarnation);

export function newLife(settings: Settings, incarnation: string): ComputeState {
  return {
    settings,
    incarnation,
    phase: 'describing',
    providers: [],
    taken: null,
    // What placement answers to an earlier life is no answer to this one.
    changes: fnv1a(incarnation),
    looksAt: 0,
    looks: 0,
    metrics: null,
    measures: false,
    lists: firstList(incarnation),
    listed: firstList(incarnation),
    isAnyMissing: false,
    missingTold: 0,
    jobs: new PassingMap(),
    outcomes: new PassingMap(),
    repeats: 0,
    owesTree: false,
  };
}
