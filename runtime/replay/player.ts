// Plays a workload against the API at its own pace, compressed: builds at the times of the arrivals, deletes at the
// ends of lifetimes, a bounded number of calls at once. It judges nothing: what came of it is read elsewhere.

import type { Client } from '../client.ts';
import type { Clock } from '../clock.ts';
import { CellwrightError } from '../errors.ts';
import type { BuildRequest } from '../gateway/requests.ts';
import type { Arrival } from '../workload/workload.ts';
import { lanesOf } from './lanes.ts';
import { timetable } from './timetable.ts';
import { atMost, pause, throwIfInterrupted } from './waiting.ts';

export interface PlayerOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** Milliseconds of the workload that pass in one millisecond of the run. */
  readonly speed: number;
  /** When the workload begins, in its milliseconds; default 0. */
  readonly startMs?: number;
  /** Hosts named up front for each instance, to be tried in turn should a build fail. */
  readonly alternates: number;
  /** Calls of the API that wait for an answer at the same time; default 128. More would only wait in a mailbox. */
  readonly maxInFlight?: number;
  /** Whether an instance is known to have failed, so that nothing is left to delete. */
  hasFailed(instance: string): boolean;
  /**
   * Resolves when the build of an instance is over. Given, a delete that is due waits for it, `holdMs` at most:
   * a system cannot build in the milliseconds that a lifetime shrinks to. Absent, a delete comes when it is due.
   */
  untilBuilt?(instance: string): Promise<void>;
  /** How long a delete waits for its build, ms; default half a minute. */
  readonly holdMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Why the API did not take a request. */
export type Refusal = Pick<CellwrightError, 'code' | 'message'>;

export interface Played {
  /** The requests that the API did not take, with its last answer. */
  readonly refused: ReadonlyMap<string, Refusal>;
  /** The instances whose delete the API did not take, with the code of its last answer. */
  readonly undeleted: ReadonlyMap<string, string>;
}

const DEFAULT_MAX_IN_FLIGHT = 128;
/** How long a delete waits for its build at least, ms, unless it is said. */
export const HOLD_MS = 30_000;
/** Waits before a call is tried again, ms: ten tries over about half a minute. */
const RETRY_WAITS_MS = [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800];

/**
 * Plays the whole workload; ends when every call has its last answer, not when every build has ended.
 * @throws CellwrightError `interrupted`.
 */
export async function play(arrivals: Iterable<Arrival>, options: PlayerOptions): Promise<Played> {
  const {
    client,
    clock,
    speed,
    startMs = 0,
    alternates,
    maxInFlight = DEFAULT_MAX_IN_FLIGHT,
    holdMs = HOLD_MS,
    hasFailed,
    signal,
  } = options;
  const refused = new Map<string, Refusal>();
  const undeleted = new Map<string, string>();
  /** Builds that have no answer yet: a delete must not overtake its build. */
  const asking = new Map<string, Promise<void>>();
  const lanes = lanesOf(maxInFlight);

  async function build(arrival: Arrival): Promise<void> {
    const fault = await patiently(() => client.build(requestOf(arrival, alternates)), clock, signal);
    if (fault !== null) refused.set(arrival.id, fault);
  }

  function begin(arrival: Arrival): Promise<void> {
    return lanes.begin(() => {
      const answered = build(arrival).finally(() => asking.delete(arrival.id));
      asking.set(arrival.id, answered);
      return answered;
    });
  }

  async function held(request: string, built: Promise<void>): Promise<void> {
    await asking.get(request);
    if (!refused.has(request)) await atMost(clock, holdMs, built, signal);
  }

  /** A delete that has to wait for its build takes no lane meanwhile: builds would wait for deletes then. */
  async function endLater(instance: string, request: string): Promise<void> {
    const built = options.untilBuilt?.(instance);
    if (built === undefined) await lanes.begin(() => end(instance, request));
    else lanes.beginAfter(held(request, built), () => end(instance, request));
  }

  async function end(instance: string, request: string): Promise<void> {
    await asking.get(request);
    if (refused.has(request) || hasFailed(instance)) return;
    const fault = await patiently(() => client.delete(instance), clock, signal);
    if (fault !== null) undeleted.set(instance, fault.code);
  }

  const startedAt = clock.monotonic();
  for (const entry of timetable(arrivals)) {
    throwIfInterrupted(signal);
    // Whole milliseconds, as the system's clock gives them.
    const dueAt = startedAt + Math.ceil((entry.atMs - startMs) / speed);
    if (dueAt > clock.monotonic()) await pause(clock, dueAt - clock.monotonic(), signal);
    if (entry.type === 'arrival') await begin(entry.arrival);
    else await endLater(entry.instance, entry.request);
  }
  await lanes.idle();
  return { refused, undeleted };
}

function requestOf({ id, count, spec, project }: Arrival, alternates: number): BuildRequest {
  return { ...spec, id, count, alternates, ...(project === undefined ? {} : { project }) };
}

/** Calls until the answer is final: null for success, else the error. Both calls may be made twice without harm. */
async function patiently(
  call: () => Promise<unknown>,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<CellwrightError | null> {
  for (let tries = 0; ; tries += 1) {
    try {
      await call();
      return null;
    } catch (error) {
      if (!(error instanceof CellwrightError)) throw error;
      const waitMs = RETRY_WAITS_MS[tries];
      if (!error.retryable || waitMs === undefined) return error;
      await pause(clock, Math.max(waitMs, error.retryAfterMs ?? 0), signal);
    }
  }
}
