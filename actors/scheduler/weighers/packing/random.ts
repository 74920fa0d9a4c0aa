// Chance: any device with room, and, as all hosts weigh the same, any host when one is picked among all. It is what
// other policies are measured by.

import type { PartialOffer } from '../../../fitting/offer.ts';
import type { Provider } from '../../../placement/providers.ts';
import { fnv1a, scattered } from '../../../routing.ts';
import type { Weigher } from '../weigher.ts';

/** @param seed Decides what is drawn: the same device for as long as nothing more is taken of the host. */
export function random(seed: string): Weigher {
  /** The hash of the seed and of a provider, which is asked about for every request. */
  const begun = new WeakMap<Provider, number>();

  function begunFor(server: Provider): number {
    let hash = begun.get(server);
    if (hash === undefined) {
      hash = fnv1a(`${seed} ${server.spec.id} `);
      begun.set(server, hash);
    }
    return hash;
  }

  /** The offer asked about last, and what is drawn for it: the same for all servers of one choice. */
  let last: { readonly offer: PartialOffer; readonly drawn: number } | null = null;

  function drawnFor(offer: PartialOffer): number {
    if (last?.offer !== offer) last = { offer, drawn: scattered(useOf(offer.tree)) };
    return last.drawn;
  }

  return {
    name: 'random',
    multiplier: 1,
    ignoresStats: true,
    weigh: () => 0,
    prefers: (offer, server) => scattered(begunFor(server) ^ drawnFor(offer)),
  };
}

/** A number that changes with what is in use. */
function useOf(tree: readonly Provider[]): number {
  let use = 0;
  for (const { stocks } of tree) for (const { used } of stocks.values()) use = (Math.imul(use, 31) + used) | 0;
  return use;
}
