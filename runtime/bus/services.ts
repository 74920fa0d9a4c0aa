// How many endpoints a NATS service may have: whoever asks for its statistics gets those of all in one message, and the
// client ends the process when that message is too large for the server.

import type { Endpoint } from './bus.ts';

/** The statistics of one endpoint without its names, in bytes: figures, those of its actor, and the last error. */
const ENDPOINT_BYTES = 1_024;
/** How much of the largest message they may take. */
const SHARE = 0.5;

/** Deals endpoints to as few services as can tell their statistics; in order, and one at least to each. */
export function inServices(endpoints: readonly Endpoint[], maxPayloadBytes: number): Endpoint[][] {
  const services: Endpoint[][] = [];
  let leftBytes = 0;
  for (const endpoint of endpoints) {
    const { name, subject, queue = '' } = endpoint;
    const bytes = ENDPOINT_BYTES + name.length + subject.length + queue.length;
    if (bytes > leftBytes) {
      services.push([]);
      leftBytes = maxPayloadBytes * SHARE;
    }
    services.at(-1)?.push(endpoint);
    leftBytes -= bytes;
  }
  return services;
}
