// A driver that runs nothing: seeded build times and failures, for simulations, replays and demonstrations.
// What becomes of an attempt is a function of (seed, host, instance, attempt) alone, so that neither the order of
// calls nor a repeated call changes it. It knows no time but the clock port's.

import Type, { type TSchema } from 'typebox';
import type { Clock, Timer } from '../clock.ts';
import { CellwrightError, MalformedError } from '../errors.ts';
import { partly } from '../option-fields.ts';
import type { Random } from '../random.ts';
import { checkOf } from '../schemas.ts';
import { type Resolvers, withResolvers } from '../with-resolvers.ts';
import type { BuildOrder, BuildOutcome, Driver, ProviderReport } from './driver.ts';

/** A time drawn evenly from `min` to `max`, both included: whole milliseconds, zero or more. */
export interface TimeRange {
  min: number;
  max: number;
}

/** One way for builds to go wrong. */
export interface FakeFailure {
  /** What the answer gives as reason; for a hang or a lost answer it only names the entry. */
  reason: string;
  /** The share of attempts, 0 to 1; the rates of all failures add up to 1 at most. */
  rate: number;
  /**
   * - `failed`, `aborted`: the outcome of that name, after the build time.
   * - `hang`: never answers, and stays listed, until the attempt is destroyed or the driver is closed.
   * - `lost-answer`: the instance is built and runs, but whoever waited for it gets the error `answer-lost`.
   */
  kind: 'failed' | 'aborted' | 'hang' | 'lost-answer';
}

/** What a fake driver plays: which host it is, and how its builds go. */
export interface FakeDriverOptions {
  /** The host's tree; its root names the host in every draw. */
  host: ProviderReport;
  clock: Clock;
  /** The hosts of a fleet may share one: only forks of it are used. */
  random: Random;
  /** How long a build takes, in milliseconds. Default: 20 to 200, so that builds overlap and overtake each other. */
  buildMs?: TimeRange;
  /** How long a destroy takes, in milliseconds. Default: 5 to 50, shorter than builds as in real drivers. */
  destroyMs?: TimeRange;
  /** Default: none, every build succeeds. */
  failures?: readonly FakeFailure[];
  /** What `capabilities` answers. Default: none. */
  traits?: readonly string[];
}

/** Attempts no longer on the host whose outcome is remembered, more than any caller repeats. The oldest go first. */
const MAX_PAST = 10_000;
/** After that another instance may have the name, ms. */
const PAST_MS = 3_600_000;

const DESTROYED: BuildOutcome = { outcome: 'failed', reason: 'destroyed' };

/** An attempt that is on the host. */
interface Presence {
  instance: string;
  attempt: number;
  state: 'building' | 'running' | 'destroying';
  /** What ends the state; a hang and a running instance have none. */
  timer: Timer | undefined;
  answer: Resolvers<BuildOutcome>;
  destroyed: Resolvers<void>;
}

/**
 * A driver for one host.
 *
 * A call for an attempt under way joins it. One for an attempt that has ended gets its outcome, which after a lost
 * answer is `built`. An attempt that was destroyed, before it was ever built or after, fails with `destroyed`. Calls
 * that wait when the driver is closed, and builds and destroys after that, get the error `driver-closed`.
 * @throws MalformedError when a time range or a rate is out of bounds
 */
export function fakeDriver(options: FakeDriverOptions): Driver {
  check(options ?? {});
  const { host, clock, random, failures = [], traits = [] } = options;
  const buildMs = checkedRange('buildMs', options.buildMs ?? { min: 20, max: 200 });
  const destroyMs = checkedRange('destroyMs', options.destroyMs ?? { min: 5, max: 50 });

  const present = new Map<string, Presence>();
  const past = new Map<string, { readonly outcome: BuildOutcome; readonly at: number }>();
  let isClosed = false;

  function fateOf(instance: string, attempt: number) {
    const draws = random.fork(`${host.name}/${keyOf(instance, attempt)}`);
    return {
      buildMs: draws.integer(buildMs.min, buildMs.max),
      destroyMs: draws.integer(destroyMs.min, destroyMs.max),
      failure: failureAt(failures, draws.next()),
    };
  }

  function remember(key: string, outcome: BuildOutcome): void {
    // Deleting first makes the entry the youngest.
    past.delete(key);
    past.set(key, { outcome, at: clock.monotonic() });
    const [oldest] = past.keys();
    if (past.size > MAX_PAST && oldest !== undefined) past.delete(oldest);
  }

  function start(instance: string, attempt: number): Presence {
    const key = keyOf(instance, attempt);
    const fate = fateOf(instance, attempt);
    const presence: Presence = {
      instance,
      attempt,
      state: 'building',
      timer: undefined,
      answer: deferred(),
      destroyed: deferred(),
    };
    if (fate.failure?.kind !== 'hang') {
      presence.timer = clock.after(fate.buildMs, () => finish(key, presence, fate.failure));
    }
    present.set(key, presence);
    return presence;
  }

  function finish(key: string, presence: Presence, failure: FakeFailure | undefined): void {
    if (failure?.kind === 'failed' || failure?.kind === 'aborted') {
      const outcome = { outcome: failure.kind, reason: failure.reason };
      present.delete(key);
      remember(key, outcome);
      presence.answer.resolve(outcome);
      return;
    }
    presence.state = 'running';
    presence.timer = undefined;
    if (failure === undefined) presence.answer.resolve({ outcome: 'built' });
    else presence.answer.reject(answerLost(key));
  }

  return {
    build({ instance, attempt }: BuildOrder) {
      if (isClosed) return Promise.reject(driverClosed(host.name));
      const key = keyOf(instance, attempt);
      const known = past.get(key);
      if (known !== undefined && clock.monotonic() - known.at < PAST_MS) return Promise.resolve(known.outcome);
      const presence = present.get(key) ?? start(instance, attempt);
      if (presence.state === 'building') return presence.answer.promise;
      if (presence.state === 'running') return Promise.resolve({ outcome: 'built' });
      // A failure promises that nothing is left, so it waits for that.
      return presence.destroyed.promise.then(() => DESTROYED);
    },

    destroy(instance, attempt) {
      if (isClosed) return Promise.reject(driverClosed(host.name));
      const key = keyOf(instance, attempt);
      const presence = present.get(key);
      if (presence === undefined) {
        remember(key, DESTROYED);
        return Promise.resolve();
      }
      if (presence.state !== 'destroying') {
        presence.timer?.cancel();
        presence.state = 'destroying';
        presence.timer = clock.after(fateOf(instance, attempt).destroyMs, () => {
          present.delete(key);
          remember(key, DESTROYED);
          presence.answer.resolve(DESTROYED);
          presence.destroyed.resolve();
        });
      }
      return presence.destroyed.promise;
    },

    list: async () => [...present.values()].map(({ instance, attempt }) => ({ instance, attempt })),
    inventory: async () => host,
    capabilities: async () => traits,

    async close() {
      isClosed = true;
      for (const [key, presence] of present) {
        presence.timer?.cancel();
        if (presence.state === 'running') continue;
        present.delete(key);
        presence.answer.reject(driverClosed(host.name));
        presence.destroyed.reject(driverClosed(host.name));
      }
    },
  };
}

function keyOf(instance: string, attempt: number): string {
  return `${instance}/${attempt}`;
}

/** The failure whose part of [0, 1) holds the point, laid end to end in the order of the list. */
function failureAt(failures: readonly FakeFailure[], point: number): FakeFailure | undefined {
  let reached = 0;
  return failures.find(({ rate }) => {
    reached += rate;
    return point < reached;
  });
}

const Failure = Type.Object(
  {
    reason: Type.String(),
    rate: Type.Number(),
    kind: Type.Union(['failed', 'aborted', 'hang', 'lost-answer'].map((kind) => Type.Literal(kind))),
  },
  { additionalProperties: false },
);
const checkShape = checkOf(
  partly({
    host: Type.Object({ name: Type.String({ minLength: 1 }) }),
    clock: Type.Unknown(),
    random: Type.Unknown(),
    buildMs: Type.Unknown(),
    destroyMs: Type.Unknown(),
    failures: Type.Array(Failure),
    traits: Type.Array(Type.String({ minLength: 1 })),
  } satisfies Record<keyof FakeDriverOptions, TSchema>),
  'the options of fakeDriver',
);

function check(options: FakeDriverOptions): void {
  const { host, clock, random, failures = [] } = options;
  if (host === undefined) {
    throw new MalformedError('fakeDriver needs the option host, the provider tree of its host', { field: 'host' });
  }
  if (typeof clock?.now !== 'function') {
    throw new MalformedError('fakeDriver needs the option clock, such as systemClock()', { field: 'clock' });
  }
  if (typeof random?.fork !== 'function') {
    throw new MalformedError('fakeDriver needs the option random, such as seededRandom(1)', { field: 'random' });
  }
  const fault = checkShape(options);
  if (fault !== null) throw fault;
  const sum = failures.reduce((total, { rate }) => total + rate, 0);
  // Rates such as 0.1 do not add up exactly.
  const isValid = failures.every(({ rate }) => rate >= 0 && rate <= 1) && sum <= 1 + 1e-9;
  if (!isValid) throw new MalformedError('the rates of failures must be 0 to 1, together too', { field: 'failures' });
}

function checkedRange(option: string, range: TimeRange): TimeRange {
  const { min, max } = range ?? {};
  if (Number.isSafeInteger(min) && Number.isSafeInteger(max) && min >= 0 && min <= max) return { min, max };
  throw new MalformedError(`'${option}' from '${min}' to '${max}' is no range of milliseconds`, { field: option });
}

function answerLost(key: string): CellwrightError {
  return new CellwrightError('answer-lost', `the answer to the build of '${key}' was lost`, { retryable: true });
}

function driverClosed(host: string): CellwrightError {
  return new CellwrightError('driver-closed', `the driver of host '${host}' is closed`, { retryable: true });
}

function deferred<Value>(): Resolvers<Value> {
  const made = withResolvers<Value>();
  // Nobody may be waiting for a destroy, or for a build whose caller has died; that is no crash.
  made.promise.catch(() => undefined);
  return made;
}
