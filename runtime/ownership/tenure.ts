// A tenure: the time for which one process holds the lease of an actor. It knows at any moment, without asking anybody,
// whether the lease can still be trusted, and renews it for as long as it lasts.

import type { Address } from '../../actors/actor.ts';
import type { Clock, Timer } from '../clock.ts';
import { messageOf, TimeoutError } from '../errors.ts';
import type { LeaseRecord, Leases } from './leases.ts';

/** What an owner goes by: asked before every turn, so it costs no more than a look at the clock. */
export interface Tenure {
  /** The revision of the lease: higher than in any tenure before, and it rises with each renewal. */
  readonly epoch: number;
  /** Whether the lease is this process's for certain. False means that it may be another's by now. */
  holds(): boolean;
  /** Why the last renewal failed; undefined where it did not. */
  readonly refusal?: string | undefined;
  /**
   * Renews the lease now, and answers whether that was done: then it was held at a moment after this was asked. `holds` goes
   * by a clock, and that of a machine which was suspended has stood still. Default: `holds` is enough.
   */
  confirm?(): Promise<boolean>;
}

export interface RenewedTenure extends Tenure {
  confirm(): Promise<boolean>;
  /** Ends the renewals; answers the revision to give the lease back with. */
  end(): Promise<number>;
}

export interface TenureOptions {
  readonly address: Address;
  readonly leases: Leases;
  readonly clock: Clock;
  /** What is written with each renewal. */
  readonly record: LeaseRecord;
  /** The revision with which the lease was taken. */
  readonly revision: number;
  /** When taking it was asked for, on the monotonic clock. */
  readonly takenAt: number;
  onRenewed(): void;
  /** The lease was not renewed in time. */
  onStale(): void;
  /** The lease is another's or, where it was removed, nobody's. */
  onLost(isRemoved: boolean): void;
  onError(error: unknown, what: string): void;
}

/** An owner trusts its lease a little less long than others wait for it: their clock may run a little faster. */
const TRUSTED_SHARE = 0.9;
/** Three renewals fit a lease, so that one or two may fail. */
const RENEWALS_PER_LEASE = 3;
/** Pause after a renewal that failed, as a share of the lease. */
const RETRY_SHARE = 0.05;
/** How often it is told at most that renewals fail for the same reason, ms: they may for hours. */
const TOLD_AGAIN_AFTER_MS = 60_000;

export function renewedTenure(options: TenureOptions): RenewedTenure {
  const { address, leases, clock, record, onError } = options;
  const { ttlMs } = record;
  let { revision } = options;
  let trustedUntil = options.takenAt + ttlMs * TRUSTED_SHARE;
  let over = false;
  /** Why renewals have failed since one did not, and when each reason was told last. */
  const told = new Map<string, number>();
  let refusal: string | undefined;
  let underWay: Promise<void> | undefined;
  let next: Timer | undefined;
  let stale: Timer | undefined;

  function renewAfter(delayMs: number): void {
    next = clock.after(delayMs, renewNow);
  }

  function renewNow(): void {
    underWay = renew().finally(() => {
      underWay = undefined;
    });
  }

  function watchTrust(): void {
    stale?.cancel();
    stale = clock.after(trustedUntil - clock.monotonic(), () => {
      if (over) return;
      // A timer may come a little early: then the little is waited for.
      if (clock.monotonic() < trustedUntil) return watchTrust();
      options.onStale();
    });
  }

  async function renew(): Promise<void> {
    const sentAt = clock.monotonic();
    let isTrusted = false;
    try {
      const written = await leases.write(address, record, revision);
      if (written === null) return await refused();
      revision = written;
      told.clear();
      refusal = undefined;
      if (over) return;
      trustedUntil = sentAt + ttlMs * TRUSTED_SHARE;
      watchTrust();
      renewAfter(ttlMs / RENEWALS_PER_LEASE);
      isTrusted = clock.monotonic() < trustedUntil;
    } catch (error) {
      if (over) return;
      refusal = error instanceof TimeoutError ? 'the server does not answer' : messageOf(error);
      tell(error);
      renewAfter(ttlMs * RETRY_SHARE);
    }
    // What comes of that is no fault of the renewal, and nobody waits for it here.
    try {
      if (isTrusted) options.onRenewed();
    } catch (error) {
      onError(error, `going on with '${address}'`);
    }
  }

  function tell(error: unknown): void {
    const message = messageOf(error);
    const at = clock.monotonic();
    if (at - (told.get(message) ?? Number.NEGATIVE_INFINITY) < TOLD_AGAIN_AFTER_MS) return;
    told.set(message, at);
    onError(error, `renewing the lease of '${address}'`);
  }

  /** The lease has changed: by another, or by a renewal of our own whose answer was lost. */
  async function refused(): Promise<void> {
    const { record: found, revision: at } = await leases.read(address);
    refusal = undefined;
    if (found?.holder === record.holder) revision = at;
    if (over) return;
    if (found?.holder === record.holder) renewAfter(0);
    else options.onLost(found === null);
  }

  watchTrust();
  renewAfter(ttlMs / RENEWALS_PER_LEASE);

  return {
    get epoch() {
      return revision;
    },
    get refusal() {
      return refusal;
    },
    holds: () => !over && clock.monotonic() < trustedUntil,
    async confirm() {
      // One that is under way may have been written long before its answer is read.
      while (underWay !== undefined) await underWay;
      if (over) return false;
      const before = revision;
      next?.cancel();
      renewNow();
      await underWay;
      return !over && revision !== before;
    },
    async end() {
      over = true;
      next?.cancel();
      stale?.cancel();
      await underWay;
      return revision;
    },
  };
}
