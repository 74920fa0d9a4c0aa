// Whether the buckets of a deployment have as many copies as a node is started with. They were made with those of the
// first node, and without the server that has the only copy of the leases no owner takes a turn.

import type { NatsBus } from './bus/nats.ts';
import { CellwrightError } from './errors.ts';
import type { Subjects } from './subjects.ts';

export interface CopiesCheckOptions {
  readonly bus: NatsBus;
  readonly subjects: Subjects;
  /** How many are wanted. */
  readonly replicas: number;
  onError(error: unknown, what: string): void;
}

/** Tells with the error `fewer-replicas` of each bucket that has fewer. */
export async function checkCopies({ bus, subjects, replicas, onError }: CopiesCheckOptions): Promise<void> {
  if (replicas === 1) return;
  const { streams } = await bus.connection.jetstreamManager();
  for (const bucket of [subjects.leases, subjects.deployment]) {
    const stream = `KV_${bucket}`;
    // Leases may be kept elsewhere.
    const config = (await streams.info(stream).catch(() => null))?.config;
    if (config === undefined || config.num_replicas >= replicas) continue;
    onError(fewerReplicas(`bucket '${bucket}'`, stream, config, replicas), stream);
  }
}

/** @param what What the stream is. */
export function fewerReplicas(
  what: string,
  stream: string,
  { num_replicas: has }: { readonly num_replicas: number },
  wanted: number,
): CellwrightError {
  const message = `${what} has ${has} of ${wanted} copies: it was made so; nats stream edit ${stream} --replicas ${wanted}`;
  return new CellwrightError('fewer-replicas', message);
}
