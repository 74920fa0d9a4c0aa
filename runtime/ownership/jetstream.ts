// Leases in a KV bucket on JetStream, one key for each actor: `nats kv get <prefix>_leases placement.0` tells who owns it.
// What is decided is decided by the outcome of a conditional write, never by what was read.

import type { KV, KvEntry } from 'nats';
import type { Address } from '../../actors/actor.ts';
import type { NatsBus } from '../bus/nats.ts';
import {
  busError,
  jetStreamCodeOf,
  lacksJetStream,
  OTHER_WRITE_UNDER_WAY,
  STREAM_NOT_FOUND,
  WRONG_LAST_SEQUENCE,
  whyNoJetStream,
} from '../bus/nats-errors.ts';
import type { Clock } from '../clock.ts';
import { decode, encodeJson } from '../codec.ts';
import { CellwrightError, MalformedError, messageOf } from '../errors.ts';
import { sleep } from '../pause.ts';
import type { Subjects } from '../subjects.ts';
import { checkedLease, type LeaseRecord, type Leases, type SeenLease } from './leases.ts';

export interface JetStreamLeasesOptions {
  readonly bus: NatsBus;
  readonly clock: Clock;
  readonly subjects: Subjects;
  /** Copies of the bucket in a cluster of servers: 1, 3 or 5; default 1. */
  readonly replicas?: number;
  /** How long one read or write may take, ms: a part of what a lease lasts, so that it can be tried again. */
  readonly timeoutMs: number;
}

/** Records kept of each lease, for people. */
const HISTORY = 10;
const MAX_RECORD_BYTES = 4_096;
/** How long making the bucket may take, ms: a cluster that has just started needs a leader first. */
const CREATE_TIMEOUT_MS = 5_000;
const UNFIT = 'leases-unfit';
/** How often a write is tried while another one is under way, ms. */
const TRY_EVERY_MS = 50;

/**
 * The leases of a deployment. Their methods throw CellwrightError `no-jetstream` when the account has no JetStream; `write`
 * throws `leases-unfit` where the bucket drops leases too early.
 */
export function jetStreamLeases(options: JetStreamLeasesOptions): Leases {
  const { bus, clock, subjects, replicas = 1, timeoutMs } = options;
  let opened: Promise<KV> | undefined;
  /** How long the bucket keeps what is in it, ms; 0: for good. */
  let keptMs = 0;
  let wasThere = false;

  async function open(): Promise<KV> {
    // Where it was there before it mostly only lacks a leader, and what is asked meanwhile is never answered: whoever waits
    // long for that comes late to the next leader.
    const makingMs = wasThere ? timeoutMs : CREATE_TIMEOUT_MS;
    try {
      // Made, if it is not there, with time to spare; then used with little.
      const settings = { history: HISTORY, replicas, allow_direct: false };
      if (!wasThere) await bus.connection.jetstream({ timeout: makingMs }).views.kv(subjects.leases, settings);
      const bucket = await bus.connection.jetstream({ timeout: timeoutMs }).views.kv(subjects.leases, settings);
      keptMs = (await bucket.status()).ttl;
      wasThere = true;
      return bucket;
    } catch (cause) {
      if (!lacksJetStream(cause)) throw busError(cause, `bucket ${subjects.leases}`, makingMs);
      throw new CellwrightError('no-jetstream', `leases need JetStream, ${whyNoJetStream(cause)}`, { cause });
    }
  }

  /** Runs with the bucket; one that is missing is made next time. */
  async function using<T>(work: (bucket: KV, forget: () => void) => Promise<T>): Promise<T> {
    const forget = () => {
      if (opened === mine) opened = undefined;
    };
    opened ??= open();
    const mine = opened;
    mine.catch(forget);
    const bucket = await mine;
    try {
      return await work(bucket, forget);
    } catch (error) {
      // One that was unfit may have been mended.
      if (isMissing(error) || (error as { code?: string }).code === UNFIT) forget();
      throw busError(error, `bucket ${subjects.leases}`, timeoutMs);
    }
  }

  const read = (address: Address) =>
    using(async (bucket, forget) => {
      const stored = await bucket.get(subjects.leaseKey(address));
      // One that is gone may have been dropped, by a bucket that was edited since it was looked at.
      if (stored === null) forget();
      return seenOf(stored, address);
    });

  /** @throws MalformedError that names the record, when it is none that this program reads. */
  function seenOf(stored: KvEntry | null, address: Address): SeenLease {
    if (stored === null) return { record: null, revision: 0 };
    const { operation, revision, value } = stored;
    if (operation !== 'PUT') return { record: null, revision };
    try {
      return { record: checkedLease(decode(value, MAX_RECORD_BYTES)), revision };
    } catch (cause) {
      const key = subjects.leaseKey(address);
      const why = `the lease under '${key}' in bucket '${subjects.leases}' cannot be read: ${messageOf(cause)}`;
      throw new MalformedError(`${why}; to remove it: nats kv del ${subjects.leases} ${key}`, { cause });
    }
  }

  /** @throws CellwrightError `leases-unfit` where a lease would be gone while its owner goes by it. */
  function insistKept({ ttlMs }: LeaseRecord): void {
    if (keptMs === 0 || keptMs >= ttlMs) return;
    const why = `bucket '${subjects.leases}' drops what is older than ${keptMs} ms, and leases last ${ttlMs} ms`;
    throw new CellwrightError(UNFIT, `${why}: nats kv edit ${subjects.leases} --ttl 0s`);
  }

  return {
    read,
    watch(address, onSeen, onEnd) {
      let stopped = false;
      let stop = () => {};
      let newest = -1;
      const tell = (seen: SeenLease) => {
        if (stopped || seen.revision <= newest) return;
        newest = seen.revision;
        onSeen(seen);
      };
      async function follow(bucket: KV): Promise<void> {
        const key = subjects.leaseKey(address);
        const changes = await bucket.watch({ key, include: 'updates' as never });
        stop = () => changes.stop();
        if (stopped) return stop();
        // After the watch has begun, so that nothing falls between the two.
        tell(seenOf(await bucket.get(key), address));
        for await (const change of changes) tell(seenOf(change, address));
        if (stopped) return;
        throw new CellwrightError('unwatched', `the lease of '${address}' cannot be followed any more`);
      }
      using(follow).catch((error) => {
        stop();
        if (!stopped) onEnd(error);
      });
      return {
        stop() {
          stopped = true;
          stop();
        },
      };
    },
    write: (address, record, revision) =>
      using(async (bucket) => {
        insistKept(record);
        const until = clock.monotonic() + timeoutMs;
        for (;;) {
          try {
            // The conditional write of the bucket: with 0 it creates, whatever the name says.
            return await bucket.put(subjects.leaseKey(address), encodeJson(record), { previousSeq: revision });
          } catch (error) {
            const code = jetStreamCodeOf(error);
            if (code === WRONG_LAST_SEQUENCE) return null;
            if (code !== OTHER_WRITE_UNDER_WAY || clock.monotonic() >= until) throw error;
          }
          await sleep(clock, TRY_EVERY_MS);
        }
      }),
  };
}

/** Nobody listens to what is written, or there is no such stream to read. */
function isMissing(error: unknown): boolean {
  return (error as { code?: string }).code === '503' || jetStreamCodeOf(error) === STREAM_NOT_FOUND;
}
