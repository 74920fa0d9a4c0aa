// Whether the clock of this process and that of the NATS server show the same time. Deadlines and the validity of claims
// travel as times of day, from process to process: with clocks that are minutes apart, requests end before they were
// looked at, or claims and builds are asked for again and again in vain. Nobody goes by the server's clock; it is what
// all processes of a deployment can compare their own with.

import type { StreamInfo } from 'nats';
import type { NatsBus } from './bus/nats.ts';
import { isPermissionViolation } from './bus/nats-errors.ts';
import type { Clock, Timer } from './clock.ts';
import { CellwrightError } from './errors.ts';
import type { Subjects } from './subjects.ts';

/** By how much clocks may differ without being told of, ms: far more than those that are kept by NTP do. */
const MOST_OFF_MS = 10_000;
const CHECK_EVERY_MS = 600_000;
/** How long the server keeps the consumer that is made to learn its time, should it not be deleted, ns. */
const FORGOTTEN_AFTER_NS = 5_000_000_000;

export interface ClockCheckOptions {
  readonly bus: NatsBus;
  readonly subjects: Subjects;
  readonly clock: Clock;
  onError(error: unknown, what: string): void;
}

/**
 * Compares the clocks now and every ten minutes, and tells with the error `clock-off` where they differ by more than ten
 * seconds. Without the bucket of the leases, by which the server is asked, nothing is compared; and never again once
 * that is forbidden.
 */
export function checkClock({ bus, subjects, clock, onError }: ClockCheckOptions): { stop(): void } {
  let stopped = false;
  let timer: Timer | undefined;

  async function check(): Promise<void> {
    let aheadMs = 0;
    try {
      aheadMs = await aheadOfServer(bus, `KV_${subjects.leases}`, clock);
    } catch (error) {
      // Asked again it would say so again, here and in the server's log, for as long as this process runs.
      if (isPermissionViolation(error)) return;
      // Whatever else hinders the question hinders more than that, and is told of there.
    }
    if (stopped) return;
    if (Math.abs(aheadMs) > MOST_OFF_MS) onError(clockOff(aheadMs), 'the time of day');
    timer = clock.after(CHECK_EVERY_MS, () => void check());
  }

  void check();
  return {
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}

/** By how much a clock is ahead of the server's, at least, ms; negative when it is behind. */
async function aheadOfServer(bus: NatsBus, stream: string, clock: Clock): Promise<number> {
  const { streams, consumers } = await bus.connection.jetstreamManager();
  const asked = clock.now();
  const { ts } = (await streams.info(stream)) as StreamInfo & { ts?: string };
  if (ts !== undefined) return aheadOf(ts, asked, clock.now());
  // Before 2.10 a server tells of nothing that is of this very moment but when it made a consumer. It takes a right that
  // is not for everybody: a consumer delivers to any subject, whatever its maker may publish.
  const askedAgain = clock.now();
  const { name, created } = await consumers.add(stream, {
    deliver_policy: 'new' as never,
    ack_policy: 'none' as never,
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: FORGOTTEN_AFTER_NS,
  });
  const ahead = aheadOf(created, askedAgain, clock.now());
  consumers.delete(stream, name).catch(() => {});
  return ahead;
}

/** @param answered When the answer came that the server gave at `time`. */
function aheadOf(time: string, asked: number, answered: number): number {
  const then = Date.parse(time);
  return then < asked ? asked - then : then > answered ? answered - then : 0;
}

function clockOff(aheadMs: number): CellwrightError {
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  const way = aheadMs > 0 ? 'ahead of' : 'behind';
  const message =
    `the clock of this process is ${seconds} seconds ${way} the NATS server's: deadlines pass too early or too late, ` +
    'and beyond some minutes builds come to a standstill; set the clocks of all machines alike';
  return new CellwrightError('clock-off', message);
}
