// Whether the NATS server takes messages as large as those of a deployment may be. Actors divide what grows without a
// limit, but they know no server: what they say at once fits the 1 MiB that a server takes unless it is told otherwise.

import type { Bus } from './bus/bus.ts';
import { CellwrightError } from './errors.ts';

/** The largest tree of a host is one message of so many bytes; pages and parts of answers are smaller. */
const LEAST_BYTES = 1_000_000;

/**
 * Tells with the error `small-max-payload` of a server that takes less. The check is made when it is called: at the start,
 * and whenever another server may have been found.
 */
export function payloadCheck(
  onError: (error: unknown, what: string) => void,
): (bus: Pick<Bus, 'maxPayloadBytes'>) => void {
  let told: number | undefined;
  return ({ maxPayloadBytes }) => {
    if (maxPayloadBytes >= LEAST_BYTES || maxPayloadBytes === told) return;
    told = maxPayloadBytes;
    const limits = `the NATS server takes messages of ${maxPayloadBytes} bytes at most, and ${LEAST_BYTES} are needed`;
    // A server that is told another limit while it runs says nothing of that to who is connected.
    const message =
      `${limits}: large requests may never end, and schedulers may not hear of all hosts; raise max_payload, ` +
      'and start this node anew';
    onError(new CellwrightError('small-max-payload', message), 'the largest message');
  };
}
