// Where claims are in order no shard is asked once more before it is said that no host fits, so it is not known by then what
// became of others' claims. What they were counted to take may be free: a request waits for those that are under way when it
// finds no host, and for no later ones.

import type { AwaitedClaim, Open, Work } from './state.ts';

/** Has a request without a host wait for the claims of others; false when all that it would wait for are answered. */
export function awaitsClaims({ state }: Work, open: Open): boolean {
  open.behind ??= claimsBeside(state.open.values(), open);
  if (!isBehind(open)) return false;
  state.awaitingClaims.add(open.key);
  return true;
}

function claimsBeside(all: Iterable<Open>, open: Open): AwaitedClaim[] {
  const claims: AwaitedClaim[] = [];
  for (const other of all) {
    if (other === open) continue;
    for (const [instance, candidate] of other.promised) claims.push({ of: other, instance, candidate });
  }
  return claims;
}

function isBehind({ behind }: Open): boolean {
  for (let last = behind?.at(-1); last !== undefined; last = behind?.at(-1)) {
    if (last.of.promised.get(last.instance) === last.candidate) return true;
    behind?.pop();
  }
  return false;
}

/** Takes out the requests that need not wait any longer. */
export function noLongerBehind({ state: { awaitingClaims, open } }: Work): Set<string> {
  const found = new Set<string>();
  for (const key of awaitingClaims) {
    const one = open.get(key);
    if (one !== undefined && isBehind(one)) continue;
    awaitingClaims.delete(key);
    found.add(key);
  }
  return found;
}
