// The filters and weighers that a deployment brings itself are anybody's code. Schedulers go on whatever it does; what
// they make of it differs from method to method. Here whoever wrote it is told of it, and it is kept from changing by
// mistake what schedulers go on with: lists, allocations and counts that it is given are copies, and requests are frozen.
// Providers themselves are the scheduler's own, which would cost too much to copy.

import { present } from '../actors/present.ts';
import { type Filter, type FilterRefusal, isRefusal } from '../actors/scheduler/filters/filter.ts';
import type { Request } from '../actors/scheduler/request.ts';
import { isPlain } from '../actors/scheduler/request-parts.ts';
import type { HostFacts } from '../actors/scheduler/view/host-facts.ts';
import type { Candidate, Weigher } from '../actors/scheduler/weighers/weigher.ts';
import type { Allocation } from '../machines/instance-build.ts';
import type { Clock } from './clock.ts';
import { CellwrightError, messageOf } from './errors.ts';
import { isPromise } from './objects.ts';
import type { Rule } from './option-fields.ts';

export interface OwnFault {
  /** What failed, such as `refusal of filter 'too-hot'`. */
  readonly what: string;
  readonly error: unknown;
  /** What schedulers make of it, for people. */
  readonly consequence: string;
}

export type OnOwnFault = (fault: OwnFault) => void;

const A_NUMBER: Rule = { is: 'a number', holds: isNumber };
const A_WEIGHT: Rule = {
  is: 'a number from 0 to 1, or NaN where it cannot say',
  holds: (said) => typeof said === 'number' && !(said < 0) && !(said > 1),
};
const A_LIMIT: Rule = { is: 'a number, 0 or more', holds: (said) => typeof said === 'number' && said >= 0 };
const A_TIME: Rule = {
  is: 'a time, ms since the epoch, or null',
  holds: (said) => (said ?? null) === null || isNumber(said),
};
const A_REFUSAL: Rule = {
  is: 'null, or an object with a code such as too-hot and a message, and if need be about, a text, and short, a number; no text may be empty',
  holds: (said) => (said ?? null) === null || isRefusal(said as FilterRefusal),
};
const PLAIN: Rule = { is: 'plain data, by which rankings are told apart', holds: isPlain };
const ANYTHING: Rule = { is: 'anything', holds: () => true };

/** What a method is given, for what it would have been given. */
type Lending = (given: unknown) => unknown;

interface Method {
  readonly lends: readonly Lending[];
  readonly answers: Rule;
  /** What schedulers make of it when it fails, for people. */
  readonly failed: string;
}

const REFUSES = 'a filter that fails refuses the host';
const NOT_AGAIN = 'the host is not looked at again before it changes';

function methodsOfFilter({ goesBy, late }: Filter): Readonly<Record<string, Method>> {
  const lendPart = goesBy === undefined ? frozen : asItIs;
  return {
    refusal: { lends: [lentHost, lendPart], answers: A_REFUSAL, failed: REFUSES },
    goesBy: { lends: [lentRequest], answers: late === true ? ANYTHING : PLAIN, failed: 'the filter refuses all hosts' },
    changesAt: { lends: [lentHost, lendPart], answers: A_TIME, failed: NOT_AGAIN },
    mostInstances: { lends: [lentHost], answers: A_LIMIT, failed: REFUSES },
    mostBuilds: { lends: [lentHost], answers: A_LIMIT, failed: REFUSES },
  };
}

function methodsOfWeigher({ goesBy }: Weigher): Readonly<Record<string, Method>> {
  const lendPart = goesBy === undefined ? frozen : asItIs;
  return {
    weigh: {
      lends: [lentCandidate, lendPart],
      answers: A_WEIGHT,
      failed:
        'a weigher that fails says the worst of the host, and a finite number off its scale counts as the nearest on it',
    },
    goesBy: { lends: [lentRequest], answers: PLAIN, failed: 'the weigher does not count for the request' },
    changesAt: { lends: [lentHost], answers: A_TIME, failed: NOT_AGAIN },
    prefers: { lends: [], answers: A_NUMBER, failed: 'the provider comes after all others of its host' },
    granted: { lends: [lentAllocations], answers: ANYTHING, failed: 'the weigher goes by what it knew before' },
  };
}

/** A filter that does what the given one does, and has what that one does wrong told of. */
export function watchedFilter(own: Filter, onFault: OnOwnFault): Filter {
  const { name, late, ignoresStats } = own;
  return {
    name,
    ...present({ late, ignoresStats }),
    ...(watched(own, `filter '${name}'`, methodsOfFilter(own), onFault) as Pick<Filter, 'refusal'>),
  };
}

/** A weigher that does what the given one does, and has what that one does wrong told of. */
export function watchedWeigher(own: Weigher, multiplier: number, onFault: OnOwnFault): Weigher {
  const { name, ignoresAmounts, ignoresStats } = own;
  return {
    name,
    multiplier,
    ...present({ ignoresAmounts, ignoresStats }),
    ...(watched(own, `weigher '${name}'`, methodsOfWeigher(own), onFault) as Pick<Weigher, 'weigh'>),
  };
}

/** The methods that it has, called on what they belong to: they may be those of a class. */
function watched(own: object, which: string, methods: Readonly<Record<string, Method>>, onFault: OnOwnFault): object {
  const all: Record<string, (one: unknown, other: unknown) => unknown> = {};
  for (const [name, { lends, answers, failed: consequence }] of Object.entries(methods)) {
    const method: unknown = own[name as keyof typeof own];
    if (typeof method !== 'function') continue;
    const failed = (error: unknown) => onFault({ what: `${name} of ${which}`, error, consequence });
    const [lend = asItIs, lendOther = asItIs] = lends;
    all[name] = (one, other) => {
      let said: unknown;
      let fault: string | null;
      try {
        said = method.call(own, lend(one), lendOther(other));
        // Looking at what it answers may run its code too.
        fault = faultIn(said, answers);
      } catch (error) {
        failed(error);
        // What was thrown may be anything, also what no text can be made of.
        throw new Error(messageOf(error), { cause: error });
      }
      if (fault !== null) failed(new TypeError(fault));
      return said;
    };
  }
  return all;
}

function faultIn(said: unknown, answers: Rule): string | null {
  if (!isPromise(said)) return answers.holds(said) ? null : `it must answer ${answers.is}`;
  // Nobody waits for it: that it fails later must not end the process.
  said.then(null, () => {});
  return 'it must answer at once, and not by a promise';
}

function asItIs(given: unknown): unknown {
  return given;
}

function lentHost(given: unknown): unknown {
  const host = given as HostFacts;
  const { tree, traits, aggregates, stats, failures } = host;
  return {
    ...host,
    tree: [...tree],
    traits: new Set(traits),
    aggregates: new Set(aggregates),
    stats: { ...stats, ...(stats.metrics === undefined ? {} : { metrics: { ...stats.metrics } }) },
    failures: failures === undefined ? undefined : { ...failures },
  };
}

function lentCandidate(given: unknown): unknown {
  const { host, tree, allocations } = given as Candidate;
  return { host: lentHost(host), tree: [...tree], allocations: lentAllocations(allocations) };
}

function lentAllocations(given: unknown): Allocation[] {
  return (given as readonly Allocation[]).map((one) => ({ ...one, resources: { ...one.resources } }));
}

function lentRequest(given: unknown): unknown {
  const request = given as Request;
  frozen(request.spec);
  frozen(request.where);
  return { ...request };
}

/** The same, of plain data, which cannot be changed from now on. */
function frozen(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Object.isFrozen(given)) return given;
  Object.freeze(given);
  for (const value of Object.values(given)) frozen(value);
  return given;
}

function isNumber(said: unknown): boolean {
  return typeof said === 'number' && !Number.isNaN(said);
}

/** How long nothing more is said of the same method, ms: it is asked for every host. */
const QUIET_MS = 600_000;

/** Tells of the first fault of each method, with the error `own-code-failed`, and again while there are faults, every ten minutes. */
export function faultsOfOwnCode(
  clock: Pick<Clock, 'monotonic'>,
  onError: (error: unknown, what: string) => void,
): OnOwnFault {
  const toldAt = new Map<string, number>();
  return ({ what, error, consequence }) => {
    const now = clock.monotonic();
    const before = toldAt.get(what);
    if (before !== undefined && now - before < QUIET_MS) return;
    toldAt.set(what, now);
    const message = `${what} failed: ${messageOf(error)}; ${consequence}`;
    onError(new CellwrightError('own-code-failed', message, { cause: error }), 'choosing a host');
  };
}
