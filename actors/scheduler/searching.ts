// Hosts of which it is hard to tell whether they could serve a request are searched to the end a few a turn, so that others
// are served in between. A request with no other host waits for that, within bounds.

import { effort } from './fit-search.ts';
import { type Shape, shapeOf, weighAnew } from './ranking.ts';
import type { Request } from './request.ts';
import type { Work } from './state.ts';

/** Looks at providers that one turn spends: some milliseconds of work. */
const LOOKS_A_TURN = 20_000;
/** Between two turns that search, ms: others have the greater part of the time. */
const BETWEEN_MS = 10;
/** Looks at providers that the hosts of one shape of request may cost in a while, and how long that is, ms. */
const MAX_LOOKS = 4_000_000;
const WITHIN_MS = 60_000;

export const SEARCH_WAKE = 'search';

function maySearch({ unsearched, searched }: Shape, now: number): boolean {
  return unsearched.size > 0 && (searched.looks < MAX_LOOKS || now >= searched.since + WITHIN_MS);
}

/** Whether hosts that may serve a request are still being searched. */
export function isSearched({ state: { rankings, view } }: Work, request: Request): boolean {
  return maySearch(shapeOf(rankings, view, request), view.now);
}

/** Has the next turn come that searches, if there is something to search. */
export function searchSoon({ state, turn }: Work): void {
  if (state.isSearching) return;
  for (const shape of state.rankings.shapes.values()) {
    if (!maySearch(shape, turn.now)) continue;
    state.isSearching = true;
    return turn.wakeAt(SEARCH_WAKE, turn.now + BETWEEN_MS);
  }
}

/** Goes on with the shape that was used longest ago; answers whether it is time to look again for requests that wait. */
export function search({ state, turn }: Work): boolean {
  const { rankings, view } = state;
  state.isSearching = false;
  for (const shape of rankings.shapes.values()) {
    if (maySearch(shape, turn.now)) return searchOf(shape);
  }
  return true;

  function searchOf(shape: Shape): boolean {
    const { unsearched, searched } = shape;
    if (turn.now >= searched.since + WITHIN_MS) Object.assign(searched, { looks: 0, since: turn.now });
    const begun = effort.looks;
    let found = false;
    for (const root of unsearched) {
      if (effort.looks - begun >= LOOKS_A_TURN) break;
      weighAnew(rankings, view, shape, root, true);
      if (!shape.current.has(root)) continue;
      found = true;
      view.freed?.add(root);
    }
    searched.looks += effort.looks - begun;
    return found || !maySearch(shape, turn.now);
  }
}
