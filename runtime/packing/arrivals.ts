// The order in which the requests of a trace arrive, and how many: shuffled by the seed, and then added to or thinned
// out at random until what they ask for is the wanted part of all GPUs, unless they are wanted as they are.

import { MalformedError } from '../errors.ts';
import type { Random } from '../random.ts';
import type { PackingRequest, PackingTrace } from './trace.ts';

/** More than that would be a trace of next to nothing but crumbs. */
const MAX_ARRIVALS = 1_000_000;

/** What the requests ask for in the end, as a multiple of the GPUs that there are. */
export function askedInTheEnd(trace: Pick<PackingTrace, 'requests' | 'gpuMilli'>, tune: number): number {
  return tune === 0 ? milliAsked(trace) / trace.gpuMilli : tune;
}

/**
 * @param tune What the requests ask for in the end, as a multiple of the GPUs that there are; 0: each comes once, whatever
 * they ask for, as the published simulator has it.
 * @throws MalformedError when it would take too many requests.
 */
export function arrivalsOf(
  trace: Pick<PackingTrace, 'requests' | 'gpuMilli'>,
  tune: number,
  random: Random,
): PackingRequest[] {
  const { requests, gpuMilli: capacity } = trace;
  const arrivals = random.shuffle(requests);
  if (tune === 0) return arrivals;
  const wanted = tune * capacity;
  let asked = milliAsked(trace);
  if (asked > wanted) {
    while (asked > wanted) {
      const [gone] = arrivals.splice(random.integer(0, arrivals.length - 1), 1);
      asked -= (gone as PackingRequest).gpuMilli;
    }
    return arrivals;
  }
  for (;;) {
    const another = random.pick(requests);
    // As in the published experiment: of several GPUs only one is looked at.
    if (asked + another.share > wanted) return arrivals;
    arrivals.push(another);
    asked += another.gpuMilli;
    if (arrivals.length > MAX_ARRIVALS) {
      const message = `it takes more than ${MAX_ARRIVALS} requests to ask for ${tune} times all GPUs`;
      throw new MalformedError(message, { field: 'tune' });
    }
  }
}

function milliAsked({ requests }: Pick<PackingTrace, 'requests'>): number {
  return requests.reduce((sum, { gpuMilli }) => sum + gpuMilli, 0);
}
