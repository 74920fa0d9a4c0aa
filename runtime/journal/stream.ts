// The stream of a journal: found, or made when there never was one. One that was lost is not made anew: an owner that
// began with nothing would take what others remember for strangers. It reads no entries.

import type { StreamAPI, StreamConfig, StreamInfo } from 'nats';
import type { Address } from '../../actors/actor.ts';
import type { NatsBus } from '../bus/nats.ts';
import { busError, jetStreamCodeOf, lacksJetStream, STREAM_NOT_FOUND, whyNoJetStream } from '../bus/nats-errors.ts';
import { fewerReplicas } from '../copies-check.ts';
import { CellwrightError } from '../errors.ts';
import type { MadeJournals } from './made.ts';

/** What a process knows of a stream that it has had open. */
export interface KnownStream {
  /** When the server made it. */
  readonly created: string;
  /** The last entry that was acknowledged here, or read. */
  lastSequence: number;
  /** The epoch that was begun here. */
  readonly epoch: number;
}

export interface StreamOptions {
  readonly streams: StreamAPI;
  readonly made: MadeJournals;
  readonly owner: Address;
  readonly stream: string;
  readonly subject: string;
  /** How many copies are wanted. */
  readonly replicas: number;
  readonly known: KnownStream | undefined;
  /** Told of a stream that will do and is not as it was asked for. */
  onError(error: CellwrightError): void;
}

/** How long the client waits for an answer of JetStream, ms: its own default. */
export const API_TIMEOUT_MS = 5_000;
const NO_MESSAGE = 10037;
/** For how long a server knows an entry that is sent again, ns: longer than any outage that is resent over. */
const DUPLICATE_WINDOW_NS = 120_000_000_000;

/** @throws CellwrightError `no-jetstream` when the account has no JetStream. */
export async function managerOf(bus: NatsBus, stream: string) {
  try {
    return await bus.connection.jetstreamManager();
  } catch (cause) {
    // An account without it, or a server on which it is not ready yet; anything else says nothing of that.
    if (!lacksJetStream(cause)) throw busError(cause, `journal ${stream}`, API_TIMEOUT_MS);
    const message = `journal '${stream}' needs JetStream, ${whyNoJetStream(cause)}`;
    throw new CellwrightError('no-jetstream', message, { cause });
  }
}

/**
 * The stream of a journal, ready to be read.
 * @throws CellwrightError `journal-lost` when there was one that is gone; `journal-unfit` when it is
 * set to lose them; `jetstream-refused` when the server makes none.
 */
export async function streamOf(options: StreamOptions): Promise<StreamInfo> {
  const { streams, made, owner, stream, known } = options;
  const found = await whatIsThere(streams.info(stream));
  if (found === null) {
    if (known !== undefined || (await made.has(owner))) throw gone(options);
    return makeStream(options);
  }
  insistFit(found.config, options);
  return found;
}

/** What the server has; null when it says that there is no such thing. */
export async function whatIsThere<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    const code = jetStreamCodeOf(error);
    if (code === STREAM_NOT_FOUND || code === NO_MESSAGE) return null;
    throw error;
  }
}

type Making = Pick<StreamOptions, 'streams' | 'stream' | 'subject' | 'replicas'>;

export async function makeStream({ streams, stream, subject, replicas }: Making): Promise<StreamInfo> {
  try {
    return await streams.add({
      name: stream,
      subjects: [subject],
      storage: 'file' as never,
      num_replicas: replicas,
      duplicate_window: DUPLICATE_WINDOW_NS,
    });
  } catch (error) {
    throw busError(error, `journal ${stream}`);
  }
}

export function gone({ stream, owner, made }: Pick<StreamOptions, 'stream' | 'owner' | 'made'>): CellwrightError {
  const message =
    `journal '${stream}' is gone, with all that '${owner}' had recorded: it was deleted, or the server has lost its ` +
    `storage. Restore it, or begin without it: ${made.howToForget(owner)}, and start the nodes anew`;
  return new CellwrightError('journal-lost', message);
}

/**
 * @param readEpoch The last epoch that was read there. After one that is newer than what this process knows another owner
 * went on there, which may have made the stream anew.
 * @throws CellwrightError `journal-lost` when the stream is not what it was when this process had it open.
 */
export function insistSame(
  { created, state }: Pick<StreamInfo, 'created' | 'state'>,
  readEpoch: number,
  options: Pick<StreamOptions, 'stream' | 'owner' | 'made' | 'known'>,
): void {
  const { known } = options;
  if (known === undefined || readEpoch > known.epoch) return;
  if (created !== known.created) throw gone(options);
  if (state.last_seq >= known.lastSequence) return;
  const message = `journal '${options.stream}' ends with entry ${state.last_seq}, and had ${known.lastSequence}`;
  throw new CellwrightError('journal-lost', message);
}

function insistFit(config: StreamConfig, { stream, subject, replicas, onError }: StreamOptions): void {
  const fault = unfitness(config, stream, subject);
  if (fault !== null) throw fault;
  if (config.num_replicas >= replicas) return;
  onError(fewerReplicas(`journal '${stream}'`, stream, config, replicas));
}

/** An operator may change what suits him; but nothing may be left out of a journal. */
export function unfitness(config: StreamConfig, stream: string, subject: string): CellwrightError | null {
  const discardsOld = (config.discard as string) !== 'new';
  const faults = [
    config.subjects?.includes(subject) !== true && `it does not take the subject '${subject}'`,
    (config.retention as string) !== 'limits' && `its retention is '${config.retention}', not 'limits'`,
    config.max_age > 0 && 'it drops entries by their age (max_age)',
    config.max_msgs_per_subject > 0 && 'it drops entries by their number (max_msgs_per_subject)',
    config.max_msgs > 0 && discardsOld && 'it drops old entries when it has many (max_msgs)',
    config.max_bytes > 0 && discardsOld && 'it drops old entries when it is large (max_bytes)',
    config.no_ack === true && 'it acknowledges nothing (no_ack)',
  ].filter((fault) => fault !== false);
  if (faults.length === 0) return null;
  const message = `stream '${stream}' cannot be a journal: ${faults.join('; ')}`;
  return new CellwrightError('journal-unfit', message);
}
