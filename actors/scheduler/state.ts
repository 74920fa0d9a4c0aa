// What a scheduler holds while it works. None of it is recorded: a scheduler that starts anew asks for it again.

import type { Selection } from '../../machines/instance-build.ts';
import type { selection as selectionMachine } from '../../machines/selection.ts';
import type { begin } from '../../machines/step.ts';
import type { Address, Turn } from '../actor.ts';
import type { Patience } from '../builds.ts';
import type { Advice } from '../messages/advice.ts';
import type { Select } from '../messages/scheduler.ts';
import type { Draft, Standing } from './decision.ts';
import type { Follower } from './feeds.ts';
import type { GivingBack } from './giving-back.ts';
import type { Locating } from './locating.ts';
import type { Parking } from './lots.ts';
import type { Question } from './questioning.ts';
import type { Rankings } from './ranking.ts';
import type { Request } from './request.ts';
import type { Sweeping } from './sweeps.ts';
import type { View } from './view.ts';

export type SelectionSnapshot = ReturnType<typeof begin<typeof selectionMachine>>['snapshot'];

/** What was chosen for an instance. */
export interface Selected {
  readonly instance: string;
  readonly selection: Selection;
  readonly alternates: readonly Selection[];
  /** The record of the decision. */
  readonly decision: string;
}

/** A selection under way. */
export interface Open {
  /** Names it among all, see `keyOf`. */
  readonly key: string;
  readonly asked: Select;
  readonly from: Address;
  /** What filters and weighers go by. */
  request: Request;
  /** The question where other instances are, while its answer is waited for. */
  locating: Locating | null;
  readonly machines: Map<string, SelectionSnapshot>;
  /** Names this taking of the round: asked of the same scheduler twice, it is two. */
  readonly taker: string;
  /** How often the request was tried in the round before: it may wait, and be tried again. */
  readonly tryNumber: number;
  /** Whether the round is this scheduler's alone; needed where claims are in order. */
  taken: boolean;
  /** The placement shards that have still to answer a recall, by instance. */
  readonly recalls: Map<string, Set<Address>>;
  /** Instances that have no answer yet. */
  readonly waiting: Set<string>;
  /** What was claimed and is not answered, by instance. */
  readonly promised: Map<string, Selection>;
  /** Instances that no host is left for, as far as can be told before what was claimed for the others is answered. */
  readonly stranded: Set<string>;
  /** The record of each instance's decision, as far as it is made. */
  readonly drafts: Map<string, Draft>;
  /** The code with which placement said that no host can help; null: it did not. */
  hopeless: string | null;
  /** Whether it has no host, and only what would have let it fit is still looked for. */
  failing: boolean;
  /** Instances of which is known that they hold nothing, while that is found out of all before any is placed. */
  gathering: Set<string> | null;
  /** Claims that are being given back, because not all of its instances have a host; null when none are. */
  givingBack: GivingBack | null;
  /** When its project was served before, and by its turn now, counted; null: it did not wait. */
  readonly turnOfProject: { readonly before: number; readonly now: number } | null;
  repeats: number;
}

export interface SchedulerState {
  readonly view: View;
  readonly rankings: Rankings;
  /** By the keys of requests, as all that names requests here. */
  readonly open: Map<string, Open>;
  /** Which selection an instance belongs to. */
  readonly selecting: Map<string, string>;
  /** By feed: `placement 0`, `cell c1`. */
  readonly followers: Map<string, Follower>;
  /** Which request each question where instances are belongs to. */
  readonly locating: Map<number, string>;
  /** Questions that wait to know where instances are, by the number of that question. */
  readonly questions: Map<number, Question>;
  /** Requests with an instance for which no host was known when it was looked for. */
  readonly unplaced: Set<string>;
  /** Requests with no host as yet, while some are searched of which it is hard to tell. */
  readonly awaitingSearch: Set<string>;
  /** Requests that wait for a host. */
  readonly parking: Parking;
  /** Looks at all hosts that are under way, the one whose turn it is first. */
  readonly sweeps: Sweeping[];
  /** What was advised lately, and how hosts stood, by what was asked for. */
  readonly advised: Map<
    string,
    { readonly at: number; readonly advice: readonly Advice[]; readonly standing: Standing }
  >;
  /** Whether a turn is to come that searches hosts of which it is hard to tell whether they fit. */
  isSearching: boolean;
  asks: number;
  startedAt: number;
  /** Whether it has just begun, and the whole fleet is not known yet. */
  isForming: boolean;
  /** When silent cells were last looked for, ms since the epoch. */
  sweptAt: number;
  /** Claims that placement refused: what a stale view cost. */
  conflicts: number;
}

/** What the parts of a scheduler work with while they decide. */
export interface Work {
  readonly state: SchedulerState;
  readonly turn: Turn<never>;
  readonly patience: Patience;
  readonly warmUpMs: number;
  readonly silentMs: number;
  /** How many placement shards the deployment has. */
  readonly placementShards: number;
  /** Names this life of the scheduler. */
  readonly incarnation: string;
}
