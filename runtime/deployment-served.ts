// How many shards a deployment has, as those say who serve them now: each shard is a NATS service that tells the number
// in its metadata. For where what is kept of the deployment cannot be read, or is not kept.

import Type from 'typebox';
import { conductorAddress, MAX_CONDUCTOR_SHARDS, MAX_PLACEMENT_SHARDS, placementAddress } from '../actors/routing.ts';
import type { Bus } from './bus/bus.ts';
import type { Clock } from './clock.ts';
import { decode } from './codec.ts';
import { checkOf } from './schemas.ts';
import type { Subjects } from './subjects.ts';

const TIMEOUT_MS = 1_000;
/** How many a deployment may have. */
export const MOST_SHARDS = { placement: MAX_PLACEMENT_SHARDS, conductor: MAX_CONDUCTOR_SHARDS };

/** What is dealt to shards; also the key under which their number is kept. */
export type Sharded = keyof typeof MOST_SHARDS;

/** What is read of the answer of a service to the question what it is. */
const ServiceInfo = Type.Object({
  metadata: Type.Object({ shards: Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,2}$' })) }),
  endpoints: Type.Array(Type.Object({ subject: Type.String() })),
});
interface ServiceInfo {
  readonly metadata: { readonly shards?: string };
  readonly endpoints: readonly { readonly subject: string }[];
}
const check = checkOf(ServiceInfo, 'what a service says of itself');

export interface Served {
  readonly bus: Bus;
  /** A subject for the answers that nobody else uses. */
  readonly inbox: string;
  readonly subjects: Subjects;
  readonly clock: Clock;
}

/** The number that somebody who serves such a shard goes by; null when nobody says one within a second. */
export async function shardsServed(kind: Sharded, { bus, inbox, subjects, clock }: Served): Promise<number | null> {
  const first = subjects.of(kind === 'placement' ? placementAddress(0) : conductorAddress(0));
  const folder = first.slice(0, first.lastIndexOf('.') + 1);
  return new Promise((resolve) => {
    const end = (shards: number | null) => {
      timer.cancel();
      subscription.unsubscribe();
      resolve(shards);
    };
    const timer = clock.after(TIMEOUT_MS, () => end(null));
    // Several may answer, also those of deployments with other prefixes.
    const subscription = bus.subscribe(
      inbox,
      ({ data }) => {
        const shards = shardsIn(data, folder);
        if (shards !== null) end(shards);
      },
      { onUnheard: () => end(null) },
    );
    try {
      bus.publish(`$SRV.INFO.${kind}`, new Uint8Array(0), { reply: inbox });
    } catch {
      end(null);
    }
  });

  /** Anybody may answer under that name: what is not one of ours says nothing. */
  function shardsIn(data: Uint8Array, ofDeployment: string): number | null {
    try {
      const said = decode(data, bus.maxPayloadBytes);
      if (check(said) !== null) return null;
      const { metadata, endpoints } = said as ServiceInfo;
      if (!endpoints.some(({ subject }) => subject.startsWith(ofDeployment))) return null;
      const shards = Number(metadata.shards ?? '1');
      return shards <= MOST_SHARDS[kind] ? shards : null;
    } catch {
      return null;
    }
  }
}
