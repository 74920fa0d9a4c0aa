// What is decided once, when a deployment is made, and kept in a KV bucket of its own: the number of its placement shards.
// A tree is with the shard that its root's id is dealt to, so another number would look for everything elsewhere.

import Type from 'typebox';
import { MAX_PLACEMENT_SHARDS, placementAddress } from '../actors/routing.ts';
import type { NatsBus } from './bus/nats.ts';
import { busError } from './bus/nats-errors.ts';
import { decode, encodeJson } from './codec.ts';
import { CellwrightError } from './errors.ts';
import { checkOf } from './schemas.ts';
import type { Subjects } from './subjects.ts';

const KEY = 'placement';
const MAX_RECORD_BYTES = 4_096;
const WRONG_LAST_SEQUENCE = 10071;
const STREAM_NOT_FOUND = 10059;
const TIMEOUT_MS = 5_000;

const PlacementRecord = Type.Object({
  v: Type.Literal(1),
  shards: Type.Integer({ minimum: 1, maximum: MAX_PLACEMENT_SHARDS }),
});
const check = checkOf(PlacementRecord, 'the record of the deployment');

export interface DeploymentOptions {
  readonly bus: NatsBus;
  readonly subjects: Subjects;
  /** Copies of the bucket in a cluster of servers: 1, 3 or 5; default 1. */
  readonly replicas?: number;
}

/** @throws CellwrightError `bad-option` when it is no number of shards. */
export function checkPlacementShards(shards: number): number {
  if (Number.isInteger(shards) && shards >= 1 && shards <= MAX_PLACEMENT_SHARDS) return shards;
  const message = `placementShards must be a whole number from 1 to ${MAX_PLACEMENT_SHARDS}`;
  throw new CellwrightError('bad-option', message, { field: 'placementShards' });
}

/**
 * The number of placement shards of a deployment; the first node that is started decides it.
 * @param wanted What a node is started with; undefined: what the deployment has, 1 when it is new.
 * @throws CellwrightError `other-shards` that names both numbers when the deployment has another one than is wanted.
 */
export async function settlePlacementShards(options: DeploymentOptions, wanted: number | undefined): Promise<number> {
  const bucket = await bucketOf(options);
  // Without JetStream nothing is kept, and whoever needs its journals says so.
  if (bucket === null) return wanted ?? 1;
  const kept = (await bucket.read()) ?? (await bucket.keep(await firstOf(options, wanted)));
  if (wanted === undefined || wanted === kept) return kept;
  throw otherShards(kept, wanted);
}

/** The number of placement shards of a deployment that others have made; 1 when nobody has said. */
export async function placementShardsOf(options: DeploymentOptions): Promise<number> {
  try {
    const stored = await options.bus.connection
      .jetstream({ timeout: TIMEOUT_MS })
      .views.kv(options.subjects.deployment, { bindOnly: true, allow_direct: false });
    return shardsIn(await stored.get(KEY)) ?? 1;
  } catch (error) {
    if (isAbsent(error)) return 1;
    throw error;
  }
}

/** Whether a deployment is kept on the server under this prefix, whoever serves it now or nobody. */
export async function isDeployed({ bus, subjects }: DeploymentOptions): Promise<boolean> {
  try {
    const stored = await bus.connection
      .jetstream({ timeout: TIMEOUT_MS })
      .views.kv(subjects.deployment, { bindOnly: true, allow_direct: false });
    await stored.status();
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

function otherShards(kept: number, wanted: number): CellwrightError {
  const has = kept === 1 ? '1 placement shard' : `${kept} placement shards`;
  const message = `the deployment has ${has} since it was made, and cannot be joined with ${wanted}`;
  return new CellwrightError('other-shards', message, { field: 'placementShards' });
}

/** The number that a deployment without a record gets: one that has a journal of placement was made with one shard. */
async function firstOf({ bus, subjects }: DeploymentOptions, wanted: number | undefined): Promise<number> {
  if (wanted === undefined || wanted === 1) return 1;
  const manager = await bus.connection.jetstreamManager();
  const journal = subjects.journal(placementAddress(0)).replaceAll('.', '-');
  try {
    await manager.streams.info(journal);
    return 1;
  } catch (error) {
    if (isAbsent(error)) return wanted;
    throw error;
  }
}

async function bucketOf({ bus, subjects, replicas = 1 }: DeploymentOptions) {
  const settings = { history: 1, replicas, allow_direct: false };
  let stored: Awaited<ReturnType<ReturnType<NatsBus['connection']['jetstream']>['views']['kv']>>;
  try {
    stored = await bus.connection.jetstream({ timeout: TIMEOUT_MS }).views.kv(subjects.deployment, settings);
  } catch (error) {
    if ((error as { code?: string }).code === '503') return null;
    throw busError(error, `bucket ${subjects.deployment}`, TIMEOUT_MS);
  }
  const read = async () => shardsIn(await stored.get(KEY));
  return {
    read,
    /** Keeps a number, unless another node has been faster; answers the one that is kept. */
    async keep(shards: number): Promise<number> {
      try {
        await stored.put(KEY, encodeJson({ v: 1, shards }), { previousSeq: 0 });
        return shards;
      } catch (error) {
        const refusal = (error as { api_error?: { err_code?: number } }).api_error;
        const other = refusal?.err_code === WRONG_LAST_SEQUENCE ? await read() : null;
        if (other !== null) return other;
        throw error;
      }
    },
  };
}

/** @throws MalformedError when it is not a record that this program reads. */
function shardsIn(stored: { readonly value: Uint8Array } | null): number | null {
  if (stored === null) return null;
  const record = decode(stored.value, MAX_RECORD_BYTES);
  const fault = check(record);
  if (fault !== null) throw fault;
  return (record as { shards: number }).shards;
}

/** There is no such bucket or stream, or no JetStream that could have one. */
function isAbsent(error: unknown): boolean {
  const { code, api_error: refusal } = error as { code?: string; api_error?: { err_code?: number } };
  return code === '503' || code === '404' || refusal?.err_code === STREAM_NOT_FOUND;
}
