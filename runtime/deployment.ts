// What is decided once, when a deployment is made, and kept in a KV bucket of its own: the numbers of its placement shards
// and of its conductor shards. A tree is with the shard that its root's id is dealt to, and an instance with the one that
// its own id is dealt to, so with another number everything would be looked for elsewhere.

import type { KV } from 'nats';
import Type, { type Static } from 'typebox';
import { conductorAddress, MAX_CONDUCTOR_SHARDS, placementAddress } from '../actors/routing.ts';
import type { NatsBus } from './bus/nats.ts';
import {
  busError,
  isWithoutJetStream,
  jetStreamCodeOf,
  lacksJetStream,
  STREAM_NOT_FOUND,
  WRONG_LAST_SEQUENCE,
} from './bus/nats-errors.ts';
import { decode, encodeJson } from './codec.ts';
import { MOST_SHARDS, type Served, type Sharded, shardsServed } from './deployment-served.ts';
import { CellwrightError, MalformedError, messageOf } from './errors.ts';
import { checkOf } from './schemas.ts';
import type { Subjects } from './subjects.ts';
import { systemClock } from './system-clock.ts';

const MAX_RECORD_BYTES = 4_096;
const TIMEOUT_MS = 5_000;

const ShardsRecord = Type.Object({
  v: Type.Literal(1),
  shards: Type.Integer({ minimum: 1, maximum: MAX_CONDUCTOR_SHARDS }),
  /**
   * The prefix as the first node was given it, in the record of placement: in the names of buckets and streams its dots
   * are hyphens. Absent where an operator has mended the record.
   */
  prefix: Type.Optional(Type.String()),
});
const check = checkOf(ShardsRecord, 'the record of the deployment');

export interface DeploymentOptions {
  readonly bus: NatsBus;
  readonly subjects: Subjects;
  /** Copies of the bucket in a cluster of servers: 1, 3 or 5; default 1. */
  readonly replicas?: number;
}

/** @throws CellwrightError `bad-option` when it is given and no number of shards. */
export function checkShards(kind: Sharded, shards: number | undefined): void {
  const most = MOST_SHARDS[kind];
  if (shards === undefined || (Number.isInteger(shards) && shards >= 1 && shards <= most)) return;
  const field = `${kind}Shards`;
  throw new CellwrightError('bad-option', `${field} must be a whole number from 1 to ${most}`, { field });
}

/**
 * The number of shards of a kind that a deployment has; the first node that is started decides it.
 * @param wanted What a node is started with; undefined: what the deployment has, 1 when it is new.
 * @throws CellwrightError `other-shards` that names both numbers when the deployment has another one than is wanted;
 * `prefix-taken` when it is that of a prefix that makes the same names.
 */
export async function settleShards(
  kind: Sharded,
  options: DeploymentOptions,
  wanted: number | undefined,
): Promise<number> {
  const { subjects } = options;
  try {
    const bucket = await bucketOf(options);
    const kept = (await bucket.read(kind)) ?? (await bucket.keep(kind, await firstOf(kind, options, wanted)));
    return agreed(kind, kept, wanted);
  } catch (error) {
    if (lacksJetStream(error)) return unread(kind, options, wanted, error);
    throw explained(error, subjects);
  }
}

/**
 * The number of placement shards of a deployment that others have made. Where none is kept, as of one whose journals are in
 * memory, it is what those say who serve them, and 1 when nobody has said.
 * @throws CellwrightError `no-jetstream` when it cannot be known now.
 */
export async function placementShardsOf(options: DeploymentOptions): Promise<number> {
  return (await knownPlacementShards(options, undefined)) ?? 1;
}

/**
 * The same, for whoever goes by it for as long as it runs: a deployment that comes later may have any number.
 * @param wanted What the caller goes by, if it was told; it must be the deployment's.
 * @throws CellwrightError as `placementShardsOf`; `other-shards`; `no-deployment`, retryable, when nobody has said, the
 * caller neither.
 */
export async function placementShardsStanding(options: DeploymentOptions, wanted?: number): Promise<number> {
  const shards = (await knownPlacementShards(options, wanted)) ?? wanted;
  if (shards !== undefined) return agreed('placement', shards, wanted);
  const { prefix } = options.subjects;
  const none = `there is no deployment with the prefix '${prefix}' on this server, or none that says how many placement shards it has`;
  const message = `${none}: start its nodes with the role placement, or name the prefix that they have`;
  throw new CellwrightError('no-deployment', message, { retryable: true });
}

/** The number that is kept, or else that of those who serve placement now; null when nobody has said. */
async function knownPlacementShards(options: DeploymentOptions, wanted: number | undefined): Promise<number | null> {
  try {
    return (await keptPlacementShards(options)) ?? (await servedNow('placement', options));
  } catch (error) {
    if (lacksJetStream(error)) return unread('placement', options, wanted, error);
    throw explained(error, options.subjects);
  }
}

async function keptPlacementShards(options: DeploymentOptions): Promise<number | null> {
  try {
    const stored = await standingBucket(options);
    return shardsIn(await stored.get('placement'), 'placement', options.subjects);
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
}

const servedNow = (kind: Sharded, { bus, subjects }: DeploymentOptions): Promise<number | null> =>
  shardsServed(kind, { bus, inbox: bus.inbox(), subjects, clock: systemClock() });

/**
 * The number where what is kept cannot be read: what those say who serve such shards now. What is wanted is taken for it
 * only where nothing can be kept. Never a guess: with a wrong number trees and instances would get a second home.
 * @throws CellwrightError `no-jetstream`, retryable unless the account is not to have any; `other-shards`.
 */
async function unread(
  kind: Sharded,
  options: DeploymentOptions,
  wanted: number | undefined,
  cause: unknown,
): Promise<number> {
  const served = await servedNow(kind, options);
  if (served !== null) return agreed(kind, served, wanted);
  const isForGood = isWithoutJetStream(cause);
  if (isForGood && wanted !== undefined) return wanted;
  const why = isForGood ? 'which this NATS account does not offer' : 'which is not there now';
  const message = `the number of ${kind} shards is kept in JetStream, ${why}, and nobody serves one who could tell it`;
  throw new CellwrightError('no-jetstream', message, { retryable: !isForGood, cause });
}

/**
 * The number where nothing is kept: that of those who serve such shards now, or what is wanted when nobody does.
 * @throws CellwrightError `other-shards`.
 */
export async function agreedWithServed(kind: Sharded, served: Served, wanted: number | undefined): Promise<number> {
  const known = await shardsServed(kind, served);
  return known === null ? (wanted ?? 1) : agreed(kind, known, wanted);
}

/** @throws CellwrightError `other-shards`. */
function agreed(kind: Sharded, kept: number, wanted: number | undefined): number {
  if (wanted === undefined || wanted === kept) return kept;
  const has = kept === 1 ? `1 ${kind} shard` : `${kept} ${kind} shards`;
  const message = `the deployment has ${has} since it was made, and cannot be joined with ${wanted}`;
  throw new CellwrightError('other-shards', message, { field: `${kind}Shards` });
}

/**
 * Whether a deployment is kept on the server under this prefix, whoever serves it now or nobody.
 * @throws CellwrightError `no-jetstream`, retryable, when that cannot be known now.
 */
export async function isDeployed(options: DeploymentOptions): Promise<boolean> {
  try {
    await (await standingBucket(options)).status();
    return true;
  } catch (error) {
    if (isAbsent(error) || isWithoutJetStream(error)) return false;
    if (!lacksJetStream(error)) throw explained(error, options.subjects);
    const message = 'whether there is a deployment is kept in JetStream, which is not there now';
    throw new CellwrightError('no-jetstream', message, { retryable: true, cause: error });
  }
}

/**
 * Makes a deployment under this prefix, unless one is kept there: of several that make it at once, one does.
 * @returns Whether the caller made it; true also where nothing can be kept.
 * @throws CellwrightError `no-jetstream`, retryable, when that cannot be known now; `bad-option`.
 */
export async function makeDeployment(options: DeploymentOptions, placementShards?: number): Promise<boolean> {
  checkShards('placement', placementShards);
  if (await isDeployed(options)) return false;
  try {
    const bucket = await bucketOf(options);
    return await bucket.add('placement', await firstOf('placement', options, placementShards));
  } catch (error) {
    if (isWithoutJetStream(error)) return true;
    throw explained(error, options.subjects);
  }
}

/** The bucket of a deployment, if there is one. */
function standingBucket({ bus, subjects }: DeploymentOptions) {
  const settings = { bindOnly: true, allow_direct: false };
  return bus.connection.jetstream({ timeout: TIMEOUT_MS }).views.kv(subjects.deployment, settings);
}

export function explained(error: unknown, { deployment }: Subjects): CellwrightError {
  return busError(error, `bucket ${deployment}`, TIMEOUT_MS);
}

/**
 * The number where there is no record: as many as have journals in a deployment whose record was lost, or else what those
 * go by who serve some now. They may keep theirs elsewhere, as behind a leaf node that has a JetStream of its own: what is
 * wanted is for a new deployment.
 */
async function firstOf(kind: Sharded, options: DeploymentOptions, wanted = 1): Promise<number> {
  const { bus, subjects } = options;
  const addressOf = kind === 'placement' ? placementAddress : conductorAddress;
  const { streams } = await bus.connection.jetstreamManager();
  const hasJournal = (shard: number): Promise<boolean> =>
    streams.info(subjects.journalStream(addressOf(shard))).then(
      () => true,
      (error) => {
        if (isAbsent(error)) return false;
        throw error;
      },
    );
  let shards = 0;
  while (await hasJournal(shards)) shards += 1;
  return shards === 0 ? ((await servedNow(kind, options)) ?? wanted) : shards;
}

/** The bucket of a deployment, which is made if there is none; which journals were made is kept there, too. */
export async function bucketToKeep({ bus, subjects, replicas = 1 }: DeploymentOptions): Promise<KV> {
  const settings = { history: 1, replicas, allow_direct: false };
  return bus.connection.jetstream({ timeout: TIMEOUT_MS }).views.kv(subjects.deployment, settings);
}

async function bucketOf(options: DeploymentOptions) {
  const { subjects } = options;
  const stored = await bucketToKeep(options);
  const read = async (kind: Sharded) => shardsIn(await stored.get(kind), kind, subjects);
  /** Keeps a number, unless another node has been faster; answers whether it is kept. */
  async function add(kind: Sharded, shards: number): Promise<boolean> {
    try {
      const { prefix } = subjects;
      const record = kind === 'placement' ? { v: 1, shards, prefix } : { v: 1, shards };
      await stored.put(kind, encodeJson(record), { previousSeq: 0 });
      return true;
    } catch (error) {
      if (jetStreamCodeOf(error) === WRONG_LAST_SEQUENCE && (await read(kind)) !== null) return false;
      throw error;
    }
  }
  return {
    read,
    add,
    /** The same; answers the number that is kept. */
    async keep(kind: Sharded, shards: number): Promise<number> {
      return (await add(kind, shards)) ? shards : ((await read(kind)) as number);
    },
  };
}

/** @throws MalformedError when it is not a record that this program reads; CellwrightError `prefix-taken`. */
function shardsIn(stored: { readonly value: Uint8Array } | null, kind: Sharded, subjects: Subjects): number | null {
  if (stored === null) return null;
  const { shards, prefix } = recordIn(stored.value, kind, subjects);
  if (prefix === undefined || prefix === subjects.prefix) return shards;
  const message =
    `the prefix '${subjects.prefix}' would share its streams and buckets with the deployment of prefix '${prefix}': ` +
    'in their names dots are hyphens';
  throw new CellwrightError('prefix-taken', message, { field: 'prefix' });
}

/**
 * It is not to be removed: the next node would decide anew, and deal to other shards what is there.
 * @throws MalformedError that names the record, when it is none that this program reads.
 */
function recordIn(value: Uint8Array, kind: Sharded, { deployment }: Subjects): Static<typeof ShardsRecord> {
  try {
    const record = decode(value, MAX_RECORD_BYTES);
    const fault = check(record);
    if (fault !== null) throw fault;
    return record as Static<typeof ShardsRecord>;
  } catch (cause) {
    const message =
      `the number of ${kind} shards under '${kind}' in bucket '${deployment}' cannot be read: ${messageOf(cause)}; ` +
      `to mend it, with the N that the deployment was made with: nats kv put ${deployment} ${kind} '{"v":1,"shards":N}'`;
    throw new MalformedError(message, { cause });
  }
}

/** There is no such bucket or stream. */
function isAbsent(error: unknown): boolean {
  return (error as { code?: string }).code === '404' || jetStreamCodeOf(error) === STREAM_NOT_FOUND;
}
