// Requests for more of a class than any host can give: nothing that comes free would help, so that is said in plain words.

import type { RequestSpec } from '../../messages/common.ts';
import type { TooLarge } from '../../messages/decision.ts';
import type { Provider } from '../../placement/providers.ts';

/** Of how many classes it is told. */
const MAX_TOLD = 3;

/** What a request asks for of a class: of one provider, and of one host in all. */
interface Asked {
  ofOne: number;
  inAll: number;
}

/** What the largest host, and the largest provider, could give if they were empty: no more to one instance than units allow. */
interface Most {
  onOne: number;
  inAll: number;
}

export class LargestHosts {
  readonly #asked = new Map<string, Asked>();
  readonly #most = new Map<string, Most>();
  readonly #together: number;
  /** Whether it is known of every host what it has. */
  #isWhole = true;

  /** @param together How many instances one host must hold. */
  constructor({ groups }: RequestSpec, together: number) {
    this.#together = together;
    for (const { resources } of groups) {
      for (const [resourceClass, amount] of Object.entries(resources)) {
        const asked = this.#asked.get(resourceClass) ?? { ofOne: 0, inAll: 0 };
        asked.ofOne = Math.max(asked.ofOne, amount);
        asked.inAll += amount * together;
        this.#asked.set(resourceClass, asked);
        this.#most.set(resourceClass, { onOne: 0, inAll: 0 });
      }
    }
  }

  note(tree: readonly Provider[]): void {
    if (tree.length === 0) this.#isWhole = false;
    for (const [resourceClass, most] of this.#most) {
      let inAll = 0;
      for (const { stocks } of tree) {
        const stock = stocks.get(resourceClass);
        if (stock === undefined) continue;
        const capacity = Math.floor(stock.capacity);
        const { max_unit } = stock.inventory;
        most.onOne = Math.max(most.onOne, Math.min(capacity, max_unit));
        inAll += Math.min(capacity, max_unit * this.#together);
      }
      most.inAll = Math.max(most.inAll, inAll);
    }
  }

  /** The classes of which no host is large enough; not those that no host has. */
  tooLarge(): TooLarge[] | undefined {
    if (!this.#isWhole) return undefined;
    const found = [...this.#asked].flatMap(([about, { ofOne, inAll }]): TooLarge[] => {
      const most = this.#most.get(about) as Most;
      if (most.inAll <= 0) return [];
      // First, as whoever asks for no more than all providers of a host can give is refused all the same.
      if (ofOne > most.onOne && most.onOne < most.inAll)
        return [{ about, asked: ofOne, most: most.onOne, onOne: true }];
      return inAll > most.inAll ? [{ about, asked: inAll, most: most.inAll }] : [];
    });
    return found.length === 0 ? undefined : found.slice(0, MAX_TOLD);
  }
}

/** `no host can give more than 64 VCPU even when empty (128 asked of one)`. */
export const tooLargeWords = (tooLarge: readonly TooLarge[]): string =>
  tooLarge
    .map(({ about, asked, most, onOne }) => {
      const where = onOne === true ? ' from one provider' : '';
      return `no host can give more than ${most} ${about}${where} even when empty (${asked} asked of one)`;
    })
    .join('; ');
