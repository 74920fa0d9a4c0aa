// What a scheduler holds while it works. None of it is recorded: a scheduler that starts anew asks for it again.

import type { Selection } from '../../machines/instance-build.ts';
import type { selection as selectionMachine } from '../../machines/selection.ts';
import type { begin } from '../../machines/step.ts';
import type { Address, SteadyTime, Turn } from '../actor.ts';
import type { Patience } from '../builds.ts';
import type { Advice } from '../messages/advice.ts';
import type { RequestSpec } from '../messages/common.ts';
import type { GroupHeld, RoomForSome, RunsOut, TooLarge, UnknownName } from '../messages/decision.ts';
import type { GroupKnown } from '../messages/placement.ts';
import type { Select } from '../messages/scheduler.ts';
import type { Draft } from './decision.ts';
import type { Standing } from './explaining/standing.ts';
import type { Fleet } from './ranking/ranking.ts';
import type { Company, Request } from './request.ts';
import type { Steps } from './steps.ts';
import type { Follower } from './view/feeds.ts';
import type { ViewHost } from './view/view.ts';

export type SelectionSnapshot = ReturnType<typeof begin<typeof selectionMachine>>['snapshot'];

/** What was chosen for an instance. */
export interface Selected {
  readonly instance: string;
  readonly selection: Selection;
  readonly alternates: readonly Selection[];
  /** The record of the decision. */
  readonly decision: string;
}

/** What is still to be told of a request whose instances all have a host. */
export interface Telling {
  readonly to: Address;
  readonly request: string;
  readonly round: number;
  /** The selections of each message. */
  readonly left: readonly (readonly Selected[])[];
}

/** A selection under way. */
export interface Open {
  /** Names it among all, see `requestKey`. */
  readonly key: string;
  readonly asked: Select;
  readonly from: Address;
  /** What filters and weighers go by. */
  request: Request;
  /** The question where other instances are, while its answer is waited for. */
  locating: Locating | null;
  /** Another rule that members of its group have, as all placement shards told; null: none has. Undefined: nobody was asked. */
  otherRule: string | null | undefined;
  /** The selection of each instance. */
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
  /** What was known of its group when a host was chosen for what is promised, by instance; where it has a soft rule. */
  readonly groupKnown: Map<string, GroupKnown>;
  /** When no host was found for it, the number of the last claim and of its repeats by then: others' claims up to that are waited for. */
  behind: { readonly upTo: number; readonly repeats: number } | null;
  /** Instances that no host is left for, as far as can be told before what was claimed for the others is answered. */
  readonly stranded: Set<string>;
  /** The record of each instance's decision, as far as it is made. */
  readonly drafts: Map<string, Draft>;
  /** The code with which placement said that no host can help; null: it did not. */
  hopeless: string | null;
  /** Whether it has no host, and only what would have let it fit is still looked for. */
  failing: boolean;
  /** Whether its instances are placed without what hosts would rather give: only so is there room for all. */
  isCounted: boolean;
  /** Instances of which is known that they hold nothing, while that is found out of all before any is placed. */
  gathering: Set<string> | null;
  /** Claims that are being given back, because not all of its instances have a host; null when none are. */
  givingBack: GivingBack | null;
  /** When its project was served before, and by its turn now, counted; null: it did not wait. */
  readonly turnOfProject: { readonly before: number; readonly now: number } | null;
  /** Until when it waits for what becomes of others' claims; null: it has found no reason to. */
  outwaits: SteadyTime | null;
  /** How often what is not answered was said again. */
  repeats: number;
  /** Instances of which placement has said that they hold something, on a host that this scheduler has not heard of. */
  readonly heldUnheard: Set<string>;
  /** Instances for which all was given back in this try: what was granted before, and comes late, is void. */
  readonly givenBack: Set<string>;
  /** Whether its asker was told last that placement shards have not answered. */
  toldAwaiting: boolean;
  /** When its asker has given it up; the time of day that he has said is for placement. */
  readonly endsAt: SteadyTime;
}

/** A question where instances are, which is under way. */
export interface Locating {
  readonly ask: number;
  /** Shards that have not answered. */
  readonly waiting: Set<number>;
  /** The roots where each consumer holds something, as far as was told. */
  readonly roots: Map<string, Set<string>>;
  /** Those of them where it is: on the others is only what earlier attempts have left behind. */
  readonly homes: Map<string, Set<string>>;
  /** The rules that members of the group have, as far as was told. */
  readonly rules: Set<string>;
}

/** Claims that are being given back, and what is done when they are. */
export interface GivingBack {
  /** Those that are not answered, by instance. */
  readonly left: Map<string, { readonly to: Address; readonly order: number }>;
  then(work: Work): void;
}

/** By what an asker knows a question, however often he puts it. */
export interface Asker {
  readonly from: Address;
  readonly ask: number;
}

/** A question that waits to know where instances are. */
export interface Question {
  readonly asker: Asker;
  readonly locating: Locating;
  readonly spec: RequestSpec;
  then(work: Work, company: Company): void;
  /** Says why it is not answered. */
  decline(work: Work, reason: string): void;
  /** How often it was put again. */
  repeats: number;
}

/** What is to be done with all hosts, one after the other. */
export interface Sweep {
  /** Whose question it answers, if it is for one. */
  readonly asker?: Asker;
  /** Tells those who wait for it that it is under way. */
  tellUnderWay?(work: Work): void;
  /**
   * Looks at one host; false when there is no need to look at more.
   * @param isThorough Whether what takes long may be done: much was spent on other hosts otherwise.
   */
  visit(host: ViewHost, isThorough: boolean): boolean;
  /** What there is to do once all hosts were looked at, or enough of them. */
  conclude?(): Steps<void>;
  /** It is over. */
  done(work: Work): void;
}

/** A sweep that is under way, or waits. */
export interface Sweeping {
  readonly sweep: Sweep;
  readonly roots: readonly string[];
  /** When those who wait for it heard last that it is under way, or when it came. */
  toldAt: SteadyTime;
  position: number;
  /** What is left of its conclusion, once that has begun. */
  conclusion: Steps<void> | undefined;
  /** Looks at providers that it has cost. */
  looks: number;
}

/** What a request that waited in a scheduler goes on from: the same round is taken already, and has had its claims. */
export interface Resumed {
  readonly taker: string;
  readonly tryNumber: number;
  /** When its asker has given it up. */
  readonly endsAt: SteadyTime;
}

/** A request that waits. */
export interface Parked extends Resumed {
  /** Names it among all requests. */
  readonly key: string;
  readonly asked: Select;
  readonly from: Address;
  /** As filters see it. */
  request: Request;
  readonly lot: Lot;
  /** Of those whose places are the same, the one that got in line first comes first. */
  readonly number: number;
}

/** A request that is out of line for the moment: its turn has come, it is asked for anew, or why it fails is looked for. */
export interface Away {
  /** Its place in line. */
  readonly place: number;
  readonly at: SteadyTime;
}

/** The requests of a project that ask for the same, the oldest first. */
export interface Lot {
  readonly key: string;
  readonly project: string;
  /** The instances that they want to be with. */
  readonly awaits: readonly string[];
  queue: Parked[];
  /** Those whose places are kept, by their keys: who came after them does not overtake them. */
  readonly away: Map<string, Away>;
  /** Not to be tried again before: hosts that look well and refuse are not asked without end. */
  notBefore: SteadyTime;
  /** Names its kind. */
  readonly kindKey: string;
  /** Null: nobody of it is in line. */
  kind: Kind | null;
  /** What it has its place by among the lots of its kind: when its project was served last, counted, and the place of its head. */
  stands: { readonly servedAt: number; readonly place: number };
  /** Of those that stand alike otherwise, the one that was opened first comes first. */
  readonly number: number;
  /** The question where the instances are that they want to be with, or apart from, while its answer is waited for. */
  locating: Locating | null;
  /** Something has changed there since it was put. */
  isToLocateAgain: boolean;
  /** When it was put last. */
  askedAt: SteadyTime;
}

/** The lots that differ in their projects alone: a host that has room for one of them has room for any. */
export interface Kind {
  readonly key: string;
  /** Those of which somebody is in line, the one whose turn it is first. */
  readonly inLine: Lot[];
  /** Not to be looked at before, unless somebody who comes later would be served. */
  lookAgainAt: SteadyTime;
  /** Where the group was that they want to be with, when it was looked for room there. */
  homes: string;
}

/** The requests that wait. */
export interface Parking {
  readonly lots: Map<string, Lot>;
  /** The lots of which nobody is in line; the one that was looked at longest ago is first. */
  readonly outOfLine: Set<Lot>;
  /** The lots of each project of which somebody is in line. */
  readonly inLineOf: Map<string, Set<Lot>>;
  /** The kinds of which somebody is in line. */
  readonly kinds: Map<string, Kind>;
  /** Those of them for which a host may have room by now. */
  readonly hopeful: Set<Kind>;
  readonly byRequest: Map<string, Parked>;
  /** The lots whose requests want to be with an instance, by its name. */
  readonly awaiting: Map<string, Set<Lot>>;
  /** The lots whose requests want to be with instances, or apart from some; of whom it was asked longest ago is first. */
  readonly goingByOthers: Set<Lot>;
  /** The lots by the numbers of their questions where others are. */
  readonly locating: Map<number, Lot>;
  /** The lots of which that is still to be asked, since something has changed where those are. */
  readonly toLocate: Set<Lot>;
  /** When each project was served last, counted; the one of which that is longest ago is first. */
  readonly servedAt: Map<string, number>;
  /** How many turns there were so far. */
  served: number;
  /** The number of whoever got in line last, or of the lot that was opened last. */
  numbered: number;
  /** Those whose turn it was, and whose claims may be still to come, with when that was. */
  readonly serving: Map<string, SteadyTime>;
  /** Until then nobody is waited for whose turn it was: one of them was not answered. */
  waitsAgainAt: SteadyTime;
  /** All that came until then has been read, as far as that is noted; see hearing.ts. */
  heardUntil: SteadyTime;
  /** When it was begun to note that once more; null: nobody is out of line of late. */
  notesFrom: SteadyTime | null;
  /** Since when an answer is awaited of whoever got out of line last. */
  awaitsSince: SteadyTime;
}

/** What a survey found, in short. */
export interface Found {
  readonly advice: readonly Advice[];
  /** Absent where no survey was needed; `times`: how many instances would fit, on all hosts together. */
  readonly standing?: Standing & { readonly times: number };
  /** Where some of several would fit, and not all. */
  readonly room?: RoomForSome;
  /** What runs out then. */
  readonly runsOut?: RunsOut;
  /** The classes of which no host is large enough. */
  readonly tooLarge?: readonly TooLarge[];
  /** Where its group is held. */
  readonly groupHeld?: GroupHeld;
  /** Names of the request that nothing known carries. */
  readonly unknown?: readonly UnknownName[];
}

/** One who waits for a survey. */
export interface Awaiting {
  /** @param found Null: that is not known. */
  found(work: Work, found: Found | null): void;
  underWay(work: Work): void;
  /** When nobody listens any more. */
  readonly endsAt: SteadyTime;
  /** When it is told that it stays unknown, though it be under way; null: who asked has been told before, and keeps that. */
  readonly answerBy: SteadyTime | null;
  /** It is in line meanwhile: others may come who ask for the same, to be told with it. */
  readonly mayGather: boolean;
}

/** The survey that was made last for requests that ask for the same, or is under way. */
export interface Surveyed {
  /** The revision of the view that it is of. */
  readonly revision: number;
  readonly beganAt: SteadyTime;
  /** When it was done; null: it is under way. */
  doneAt: SteadyTime | null;
  /** What it found; null where it took long, and hosts have changed meanwhile. */
  found: Found | null;
  /** Who is told when it is, and meanwhile that it is not. */
  awaited: Awaiting[];
  /** When they were told last that it is not. */
  toldAt: SteadyTime;
}

/** Whose turn to be looked for is to come, who ask for the same. */
export interface ToSurvey {
  readonly request: Request;
  readonly count: number;
  /** Each of them, and until when he waits for it. */
  awaited: { readonly awaiting: Awaiting; readonly until: SteadyTime }[];
  /** When the first of them waits no longer. */
  soonest: SteadyTime;
  /** When they were told last that it is under way. */
  toldAt: SteadyTime;
}

/** All that a scheduler holds. */
export interface SchedulerState extends Fleet {
  /** Names this life. */
  readonly incarnation: string;
  /** By the keys of requests, as all that names requests here. */
  readonly open: Map<string, Open>;
  /** Which selection an instance belongs to. */
  readonly selecting: Map<string, string>;
  /** By feed: `placement 0`, `cell c1`. */
  readonly followers: Map<string, Follower>;
  /** Those that never had the whole of their feed. */
  readonly incomplete: Set<Follower>;
  /** Which request each question where instances are belongs to. */
  readonly locating: Map<number, string>;
  /** Questions that wait to know where instances are, by the number of that question. */
  readonly questions: Map<number, Question>;
  /** Who waits for the names of members of a group, by the number of that question. */
  readonly naming: Map<number, (work: Work, named: readonly string[]) => void>;
  /** Requests with an instance for which no host was known when it was looked for. */
  readonly unplaced: Set<string>;
  /** Requests of a kind that is new, while hosts are ranked for it, the one that came first first. */
  readonly awaitingRanking: Set<string>;
  /** Requests with no host as yet, while some are searched of which it is hard to tell. */
  readonly awaitingSearch: Set<string>;
  /** The claims that are not answered, numbered in the order in which they were made. */
  readonly claims: Map<Selection, { readonly of: Open; readonly number: number }>;
  /** The number of the last claim. */
  claimed: number;
  /** Requests with no host as yet, while claims of others are not answered. */
  readonly awaitingClaims: Set<string>;
  /** The numbers of the oldest claims when those requests were looked at last; null: they are to be looked at. */
  oldestClaims: string | null;
  /** Requests that wait for a host. */
  readonly parking: Parking;
  /** Requests whose instances all have a host, as far as that is not told yet, the one whose turn it is first. */
  readonly telling: Telling[];
  /** Looks at all hosts that are under way, the one whose turn it is first. */
  readonly sweeps: Sweeping[];
  /** The surveys that were made lately for requests without a host, by what was asked for. */
  readonly surveyed: Map<string, Surveyed>;
  /** Who waits for a survey, by what was asked for, and when the next of them may begin. */
  readonly surveying: {
    freeAt: SteadyTime;
    readonly later: Map<string, ToSurvey>;
    /** Surveys that are done, and of which not all have been told who wait for them. */
    readonly untold: Set<Surveyed>;
  };
  /** Whether a turn is to come that searches hosts of which it is hard to tell whether they fit. */
  isSearching: boolean;
  /** The number of the last question, whatever was asked, and of the last request that was taken on. */
  asks: number;
  /** When this life of it began. */
  startedAt: SteadyTime;
  /** Whether it has just begun, and the whole fleet is not known yet. */
  isForming: boolean;
  /** When silent cells and placement shards were last looked for. */
  sweptAt: SteadyTime;
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
  /** How many hosts one turn ranks for a kind of request that is new. */
  readonly hostsATurn: number;
  /** How many placement shards the deployment has. */
  readonly placementShards: number;
}
