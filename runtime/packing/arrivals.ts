// The order in which the requests of a trace arrive, and how many: shuffled by the seed, and then added to or thinned
// out at random until what they ask for is the wanted part of all GPUs, unless they are wanted as they are.

import { MalformedError } from '../errors.ts';
import type { Random } from '../random.ts';
import type { PackingRequest, PackingTrace } from './trace.ts';

/** More than that would be a trace of next to nothing but crumbs. */
const MAX_ARRIVALS = 1_000_000;
/** As a multiple of all GPUs. Curves have a point for each percent: of more they would be too long to be written down. */
const MAX_ASKED = 1_000;

/** What is asked for is the wanted part if less than that is missing, as a part of all GPUs: curves count in percent. */
const NEAR = 0.005;

/**
 * @param tune What the requests ask for in the end, as a multiple of the GPUs that there are: as nearly as they can; 0:
 * each comes once, whatever they ask for, as the published simulator has it.
 * @throws MalformedError `tune` when it would take too many requests, each that asks for a GPU asks for more than that, or
 * those of the trace, wanted as they are, ask for too much.
 */
export function arrivalsOf(
  trace: Pick<PackingTrace, 'requests' | 'gpuMilli'>,
  tune: number,
  random: Random,
): PackingRequest[] {
  const { requests, gpuMilli: capacity } = trace;
  if (tune === 0) {
    checkAsItIs(milliAsked(requests) / capacity);
    return random.shuffle(requests);
  }
  const wanted = tune * capacity;
  const able = requests.filter((request) => !isLeftOut(request, capacity, tune));
  let asked = milliAsked(able);
  if (asked === 0) {
    const message = `each request for a GPU asks for more than ${tune} times all GPUs by itself (--tune ${tune})`;
    throw new MalformedError(message, { field: 'tune' });
  }
  const arrivals = random.shuffle(able);
  // Their order is a random one: to leave out the last is to leave out any.
  while (asked > wanted) asked -= (arrivals.pop() as PackingRequest).gpuMilli;
  // As in the published experiment: of several GPUs only one is looked at.
  const hasRoom = ({ share }: PackingRequest) => asked + share <= wanted;
  let drawn = able;
  for (;;) {
    const another = random.pick(drawn);
    if (!hasRoom(another)) {
      // The published experiment ends here. Of few GPUs much may be missing still, which others would ask for.
      if (wanted - asked < NEAR * capacity) return arrivals;
      drawn = drawn.filter(hasRoom);
      if (milliAsked(drawn) === 0) return arrivals;
      continue;
    }
    arrivals.push(another);
    asked += another.gpuMilli;
    if (arrivals.length > MAX_ARRIVALS) {
      const message = `it takes more than ${MAX_ARRIVALS} requests to ask for ${tune} times all GPUs; --tune 0 takes each once`;
      throw new MalformedError(message, { field: 'tune' });
    }
  }
}

/**
 * One that alone asks for more than all are to ask for is left out whatever else is: others are not to go before it does.
 * @param capacity All GPUs, in thousandths.
 */
export function isLeftOut({ gpuMilli }: PackingRequest, capacity: number, tune: number): boolean {
  return tune !== 0 && gpuMilli > tune * capacity;
}

function checkAsItIs(asked: number): void {
  if (asked <= MAX_ASKED) return;
  const message = `the requests ask for ${Math.ceil(asked)} times all GPUs; as they are (--tune 0) they may for ${MAX_ASKED} times at most`;
  throw new MalformedError(message, { field: 'tune' });
}

function milliAsked(requests: readonly PackingRequest[]): number {
  return requests.reduce((sum, { gpuMilli }) => sum + gpuMilli, 0);
}
