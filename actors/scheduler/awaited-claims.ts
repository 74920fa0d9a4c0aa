// What others have claimed counts as taken before it is answered, and may count twice where placement's feed was heard first:
// a request that finds no host waits for the claims that are under way then, and for no later ones. Claims are numbered, so
// that however many are under way only the oldest is looked at.

import { mayWait } from './lots.ts';
import { tellSelecting } from './selecting.ts';
import type { Open, SchedulerState, Work } from './state.ts';

/**
 * Has a request without a host wait for the claims of others; false when all that it would wait for are answered, or it may
 * wait for a host in line.
 */
export function awaitsClaims(work: Work, open: Open): boolean {
  if (mayWait(open)) return false;
  const { state } = work;
  open.behind ??= { upTo: state.claimed, repeats: open.repeats };
  const oldest = oldestClaims(state);
  if (!isBehind(open, oldest)) return false;
  if (!state.awaitingClaims.has(open.key)) tellSelecting(work, open);
  state.awaitingClaims.add(open.key);
  // What it waits for may be answered before all are looked at again, and the oldest be those of the last look.
  if (numbersOf(oldest) !== state.oldestClaims) state.oldestClaims = null;
  return true;
}

/** The oldest claim that is under way, and the oldest one of another request than that. */
function oldestClaims({ claims }: SchedulerState): { of: Open; number: number }[] {
  const found: { of: Open; number: number }[] = [];
  for (const claim of claims.values()) {
    if (claim.of !== found[0]?.of) found.push(claim);
    if (found.length === 2) break;
  }
  return found;
}

const numbersOf = (claims: readonly { number: number }[]): string => claims.map(({ number }) => number).join(' ');

function isBehind(open: Open, oldest: ReturnType<typeof oldestClaims>): boolean {
  const first = oldest.find(({ of }) => of !== open);
  return first !== undefined && first.number <= (open.behind?.upTo ?? 0);
}

/** Takes out the requests that need not wait any longer: only when an oldest claim is answered are all looked at. */
export function noLongerBehind({ state }: Work): Set<string> {
  const { awaitingClaims, open } = state;
  const found = new Set<string>();
  const oldest = oldestClaims(state);
  const numbers = numbersOf(oldest);
  if (numbers === state.oldestClaims) return found;
  state.oldestClaims = numbers;
  for (const key of awaitingClaims) {
    const one = open.get(key);
    if (one !== undefined && isBehind(one, oldest)) continue;
    awaitingClaims.delete(key);
    found.add(key);
  }
  return found;
}
