// A replay from end to end: a stage, a fleet on it, the workload played, everything settled, the final state judged.
// What it shows while it runs is for its caller to draw.

import { DEFAULT_ALTERNATES } from '../../actors/messages/limits.ts';
import type { TimeRange } from '../drivers/fake.ts';
import { CellwrightError } from '../errors.ts';
import { systemClock } from '../system-clock.ts';
import type { Workload } from '../workload/workload.ts';
import { type Fleet, startFleet } from './fleet.ts';
import { HOLD_MS, play } from './player.ts';
import type { ReplayResult } from './result.ts';
import { memoryStage, type NatsStageOptions, natsStage, type Stage } from './stage.ts';
import { type Figures, followStories } from './tally.ts';
import { verdictOn } from './verdict.ts';
import { followingSignal } from './waiting.ts';

export interface ReplayOptions {
  /** Decides build times and which builds fail; the workload has a seed of its own. */
  readonly seed: number | string;
  /** In this process, in virtual time, or over NATS, in real time. */
  readonly on: 'memory' | NatsStageOptions;
  /**
   * Milliseconds of the workload that pass in one millisecond of the run. Default: what makes the arrivals last a
   * minute over NATS, and ten minutes of virtual time in memory, where waiting costs nothing.
   */
  readonly speed?: number;
  /** Hosts named up front for each instance, to be tried in turn should a build fail; default 2. */
  readonly alternates?: number;
  /** The share of builds that fail, 0 to 1; default 0. */
  readonly failRate?: number;
  /**
   * How long a build takes, ms of the run. Default: 20 to 60 seconds of the workload, compressed as all of it is, and
   * at least a millisecond.
   */
  readonly buildMs?: TimeRange;
  /**
   * When the end of a lifetime becomes a delete. `after-build`, the default, waits for the build if it is not over:
   * as recorded, what is deleted has lived. `prompt` deletes when the compressed time says so, in the midst of builds.
   */
  readonly deletes?: 'after-build' | 'prompt';
  /** How many placement shards the fleet has; default: what the deployment has, or 1. */
  readonly placementShards?: number;
  /** Told once, when the stage stands and before anything plays. */
  readonly onStart?: (live: Live) => void;
  /** Called with the result while the fleet is still there; it goes when the promise settles. */
  readonly whileUp?: (result: ReplayResult) => Promise<void>;
  /** Ends the replay at once, with everything stopped in order. */
  readonly signal?: AbortSignal;
}

/** A replay as it runs. */
export interface Live {
  readonly phase: 'starting' | 'playing' | 'settling' | 'done';
  /** The address of the NATS server; null in memory. */
  readonly url: string | null;
  /** How long the replay has been playing, ms of its own clock. */
  elapsedMs(): number;
  figures(): Figures;
}

const DEFAULT_RUN_MS = { nats: 60_000, memory: 600_000 } as const;
const BUILD_MS = { min: 20_000, max: 60_000 } as const;
/** A century: what takes longer is a speed that was mistyped, and no time that one could wait. */
const MOST_LASTS_MS = 100 * 365 * 86_400_000;
/** Beyond the arrivals: more than everything may take to settle. */
const REMEMBER_MARGIN_MS = 3_600_000;

/**
 * Replays a workload. What went wrong with requests or the final state is in the result, not thrown.
 * @throws CellwrightError `bad-option` for a speed at which it would not end; `interrupted`, `fleet-not-up`; what connecting
 * to NATS or starting a server throws.
 */
export async function replay(workload: Workload, options: ReplayOptions): Promise<ReplayResult> {
  const { on, placementShards, speed } = options;
  const lastsMs = lastsMsOf(workload);
  if (speed !== undefined && lastsMs / speed > MOST_LASTS_MS) {
    const message = `at a speed of ${speed} the workload would last for more than a hundred years`;
    throw new CellwrightError('bad-option', message, { field: 'speed' });
  }
  const stage = on === 'memory' ? memoryStage() : await natsStage({ ...on, placementShards, signal: options.signal });
  const { signal, dispose } = followingSignal(options.signal);
  try {
    return await stage.run(() => replayOn(stage, workload, { ...options, signal }));
  } finally {
    dispose();
    await stage.close();
  }
}

const lastsMsOf = ({ startMs = 0, endMs }: Workload): number => endMs - startMs;

async function replayOn(stage: Stage, workload: Workload, options: ReplayOptions): Promise<ReplayResult> {
  const { seed, alternates = DEFAULT_ALTERNATES, failRate = 0, placementShards, signal } = options;
  const { clock, client, asking, bus, subjects } = stage;
  // Slower than it was recorded is of no use, so a short workload takes less.
  const { startMs = 0 } = workload;
  const lastsMs = lastsMsOf(workload);
  const speed = options.speed ?? Math.max(1, lastsMs / DEFAULT_RUN_MS[stage.kind]);
  const buildMs = options.buildMs ?? {
    min: Math.max(1, Math.round(BUILD_MS.min / speed)),
    max: Math.max(1, Math.round(BUILD_MS.max / speed)),
  };
  const rememberDeletedMs = Math.ceil(lastsMs / speed) + REMEMBER_MARGIN_MS;
  const wall = systemClock();
  const wallStartedAt = wall.monotonic();
  let phase: Live['phase'] = 'starting';
  let playingSince: number | null = null;

  const { tally, stop } = followStories(bus, subjects);
  options.onStart?.({
    get phase() {
      return phase;
    },
    url: stage.url,
    elapsedMs: () => (playingSince === null ? 0 : clock.monotonic() - playingSince),
    figures: tally.figures,
  });
  let fleet: Fleet | undefined;
  try {
    await bus.flush();
    const { hosts } = workload;
    fleet = await startFleet({ stage, hosts, seed, failRate, buildMs, rememberDeletedMs, placementShards, signal });
    const startedAt = clock.monotonic();
    playingSince = startedAt;
    phase = 'playing';
    const played = await play(workload.arrivals, {
      client,
      clock,
      speed,
      startMs,
      alternates,
      hasFailed: tally.hasFailed,
      ...(options.deletes === 'prompt' ? {} : { untilBuilt: tally.untilEnded }),
      // Every host that may be tried takes its time.
      holdMs: HOLD_MS + (1 + alternates) * buildMs.max,
      signal,
    });
    phase = 'settling';
    const verdict = await verdictOn({ asking, clock, fleet, workload, played, tally, signal });
    phase = 'done';
    const result: ReplayResult = {
      settings: {
        workload: workload.name,
        on: stage.kind,
        seed: String(seed),
        hosts: hosts.length,
        cells: fleet.cells.length,
        speed,
        alternates,
        failRate,
      },
      figures: tally.figures(),
      ...verdict,
      undeleted: played.undeleted,
      runMs: clock.monotonic() - startedAt,
      wallMs: wall.monotonic() - wallStartedAt,
    };
    await options.whileUp?.(result);
    return result;
  } finally {
    stop();
    await fleet?.node.stop();
  }
}
