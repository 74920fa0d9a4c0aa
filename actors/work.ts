// What the parts of an actor work with while they decide: its state, its turn and its settings, in one.

import type { Turn } from './actor.ts';

/** Puts them together: once for as long as state and turn are the same, which they are for many messages. */
export function workWith<Settings extends object>(settings: Settings) {
  let last: (Settings & { readonly state: unknown; readonly turn: unknown }) | undefined;
  const workOf = <State, Recorded>(state: State, turn: Turn<Recorded>) => {
    if (last?.state !== state || last.turn !== turn) last = { ...settings, state, turn };
    return last as Settings & { readonly state: State; readonly turn: Turn<Recorded> };
  };
  workOf.forget = (): void => {
    last = undefined;
  };
  return workOf;
}
