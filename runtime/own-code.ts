// The filters and weighers that a deployment brings itself are anybody's code. Schedulers go on whatever it does: a filter
// that fails refuses the host, a weigher that fails says the worst. Whoever wrote it is told of it here.

import type { Filter, FilterRefusal } from '../actors/scheduler/filters/filter.ts';
import { isPlain, isRefusal } from '../actors/scheduler/filters/filter.ts';
import type { Weigher } from '../actors/scheduler/weighers/weigher.ts';
import type { Clock } from './clock.ts';
import { CellwrightError, messageOf } from './errors.ts';

export interface OwnFault {
  /** What failed, such as `refusal of filter 'too-hot'`. */
  readonly what: string;
  readonly error: unknown;
  /** What schedulers make of it, for people. */
  readonly consequence: string;
}

export type OnOwnFault = (fault: OwnFault) => void;

/** What a method is to answer, in words, and whether it does. */
interface Answer {
  readonly is: string;
  holds(said: unknown): boolean;
}

const A_NUMBER: Answer = { is: 'a number', holds: (said) => typeof said === 'number' };
const A_LIMIT: Answer = { is: 'a number, 0 or more', holds: (said) => typeof said === 'number' && said >= 0 };
const A_TIME: Answer = {
  is: 'a time, ms since the epoch, or null',
  holds: (said) => (said ?? null) === null || typeof said === 'number',
};
const A_REFUSAL: Answer = {
  is: 'null, or an object with a code such as too-hot and a message, and if need be about, a text, and short, a number',
  holds: (said) => (said ?? null) === null || isRefusal(said as FilterRefusal),
};
const PLAIN: Answer = { is: 'plain data, by which rankings are told apart', holds: isPlain };
const ANYTHING: Answer = { is: 'anything', holds: () => true };

/** A filter that does what the given one does, and has what that one does wrong told of. */
export function watchedFilter(own: Filter, onFault: OnOwnFault): Filter {
  const { name, late, ignoresStats } = own;
  return {
    name,
    ...(late === undefined ? {} : { late }),
    ...(ignoresStats === undefined ? {} : { ignoresStats }),
    ...(watched(own, `filter '${name}'`, 'a filter that fails refuses the host', onFault, {
      refusal: A_REFUSAL,
      goesBy: late === true ? ANYTHING : PLAIN,
      changesAt: A_TIME,
      mostInstances: A_LIMIT,
      mostBuilds: A_LIMIT,
    }) as Pick<Filter, 'refusal'>),
  };
}

/** A weigher that does what the given one does, and has what that one does wrong told of. */
export function watchedWeigher(own: Weigher, multiplier: number, onFault: OnOwnFault): Weigher {
  const { name, ignoresStats } = own;
  return {
    name,
    multiplier,
    ...(ignoresStats === undefined ? {} : { ignoresStats }),
    ...(watched(own, `weigher '${name}'`, 'a weigher that fails says the worst of the host', onFault, {
      weigh: A_NUMBER,
      goesBy: PLAIN,
      changesAt: A_TIME,
      prefers: A_NUMBER,
      granted: ANYTHING,
    }) as Pick<Weigher, 'weigh'>),
  };
}

/** The methods that it has, called on what they belong to: they may be those of a class. */
function watched(
  own: object,
  asker: string,
  consequence: string,
  onFault: OnOwnFault,
  answers: Readonly<Record<string, Answer>>,
): object {
  const methods: Record<string, (one: unknown, other: unknown) => unknown> = {};
  for (const [field, answer] of Object.entries(answers)) {
    const method: unknown = own[field as keyof typeof own];
    if (typeof method !== 'function') continue;
    const failed = (error: unknown) => onFault({ what: `${field} of ${asker}`, error, consequence });
    methods[field] = (one, other) => {
      let said: unknown;
      try {
        said = method.call(own, one, other);
      } catch (error) {
        failed(error);
        throw error;
      }
      if (isPromise(said)) {
        // Nobody waits for it: that it fails later must not end the process.
        said.then(null, () => {});
        failed(new TypeError('it must answer at once, and not by a promise'));
      } else if (!answer.holds(said)) failed(new TypeError(`it must answer ${answer.is}`));
      return said;
    };
  }
  return methods;
}

function isPromise(said: unknown): said is PromiseLike<unknown> {
  return typeof (said as { then?: unknown } | null | undefined)?.then === 'function';
}

/** How long nothing more is said of the same method, ms: it is asked for every host. */
const QUIET_MS = 600_000;

/** Tells of the first fault of each method, with the error `own-code-failed`, and again while there are faults, every ten minutes. */
export function faultsOfOwnCode(
  clock: Pick<Clock, 'now'>,
  onError: (error: unknown, what: string) => void,
): OnOwnFault {
  const toldAt = new Map<string, number>();
  return ({ what, error, consequence }) => {
    const now = clock.now();
    const before = toldAt.get(what);
    if (before !== undefined && Math.abs(now - before) < QUIET_MS) return;
    toldAt.set(what, now);
    const message = `${what} failed: ${messageOf(error)}; ${consequence}`;
    onError(new CellwrightError('own-code-failed', message, { cause: error }), 'choosing a host');
  };
}
