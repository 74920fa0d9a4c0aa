// Hosts of which it is hard to tell whether they could serve a request are searched to the end a few a turn, so that others
// are served in between. A request with no other host waits for that, within bounds.

import type { SteadyTime } from '../actor.ts';
import { effort } from '../fitting/effort.ts';
import { shapeOf, unsearchedOf } from './ranking/ranking.ts';
import type { Shape } from './ranking/shape.ts';
import { weighAnew } from './ranking/weighing.ts';
import type { Open, Work } from './state.ts';

/** Looks at providers that one turn spends: some milliseconds of work. */
const LOOKS_A_TURN = 20_000;
/** Between two turns that search, ms, while somebody waits for it, and while nobody does: others have most of the time. */
const BETWEEN_MS = { awaited: 10, unawaited: 100 } as const;
/** Looks at providers that the hosts of one shape of request may cost in a while, and how long that is, ms. */
const MAX_LOOKS = 4_000_000;
const WITHIN_MS = 60_000;

export const SEARCH_WAKE = 'search';

function maySearch({ unsearched, searched }: Shape, steady: SteadyTime): boolean {
  return unsearched.size > 0 && (searched.looks < MAX_LOOKS || steady >= searched.since + WITHIN_MS);
}

/** Has a request without a host wait while hosts that may serve it are being searched; false when there are none. */
export function awaitsSearch({ state, turn }: Work, { key, request }: Open): boolean {
  if (!maySearch(shapeOf(state, request), turn.steady)) return false;
  state.awaitingSearch.add(key);
  if (!state.isSearching) searchAfter({ state, turn }, BETWEEN_MS.awaited);
  return true;
}

/** Has the next turn come that searches, if there is something to search. */
export function searchSoon({ state, turn }: Work): void {
  if (state.isSearching) return;
  for (const shape of unsearchedOf(state.rankings)) {
    if (!maySearch(shape, turn.steady)) continue;
    const isAwaited = state.awaitingSearch.size > 0 || state.parking.lots.size > 0;
    return searchAfter({ state, turn }, isAwaited ? BETWEEN_MS.awaited : BETWEEN_MS.unawaited);
  }
}

function searchAfter({ state, turn }: Pick<Work, 'state' | 'turn'>, ms: number): void {
  state.isSearching = true;
  turn.wakeAfter(SEARCH_WAKE, ms);
}

/** Goes on searching; answers whether it is time to look again for requests that wait for it. */
export function search(work: Work): boolean {
  work.state.isSearching = false;
  const shape = nextShape(work);
  return shape === undefined || searchOf(work, shape);
}

/** One that is waited for, or else the one that has been so for longest. */
function nextShape({ state, turn }: Work): Shape | undefined {
  const { open } = state;
  for (const key of state.awaitingSearch) {
    const waiting = open.get(key);
    const shape = waiting === undefined ? undefined : shapeOf(state, waiting.request);
    if (shape !== undefined && maySearch(shape, turn.steady)) return shape;
  }
  for (const shape of unsearchedOf(state.rankings)) if (maySearch(shape, turn.steady)) return shape;
  return undefined;
}

function searchOf({ state, turn }: Work, shape: Shape): boolean {
  const { unsearched, searched } = shape;
  if (turn.steady >= searched.since + WITHIN_MS) Object.assign(searched, { looks: 0, since: turn.steady });
  const begun = effort.looks;
  let found = false;
  for (const root of unsearched) {
    if (effort.looks - begun >= LOOKS_A_TURN) break;
    weighAnew(state, shape, root);
    if (!shape.current.has(root)) continue;
    found = true;
    state.view.freed?.add(root);
  }
  searched.looks += effort.looks - begun;
  return found || !maySearch(shape, turn.steady);
}
