// What must share a subtree, looked at while providers are chosen: below which of the providers all of it may still be
// served. Where that is none, what is chosen can lead nowhere, however the rest is chosen.

import type { CandidatesRequest } from '../../../messages/placement-api.ts';
import type { Provider } from '../../providers.ts';
import { type ById, isBelow } from '../../subtree.ts';
import { canBeIsolated, canHoldTogether } from './feasibility.ts';
import type { Slot } from './options.ts';

/** The providers at or below which all slots of one list may be served, as far as is known. */
class Tops {
  readonly #slots: ReadonlySet<Slot>;
  readonly #options: ReadonlySet<Provider>;
  readonly #isFeasible: (top: Provider) => boolean;
  readonly #providers: ById;
  readonly #known = new Map<Provider, boolean>();
  /** What is left after each choice that was made, the last of them at the end. */
  readonly #left: (readonly Provider[])[] = [];

  constructor(slots: ReadonlySet<Slot>, isFeasible: (top: Provider) => boolean, providers: ById) {
    this.#slots = slots;
    this.#options = new Set([...slots].flatMap(({ options }) => options));
    this.#isFeasible = isFeasible;
    this.#providers = providers;
  }

  concerns(slot: Slot): boolean {
    return this.#slots.has(slot);
  }

  /** Takes note that a provider is chosen; answers whether that may lead anywhere. To be undone in any case. */
  choose(provider: Provider): boolean {
    const before = this.#left.at(-1);
    const left =
      before === undefined ? this.#topsOver(provider) : before.filter((top) => isBelow(provider, top, this.#providers));
    this.#left.push(left);
    return left.length > 0;
  }

  undo(): void {
    this.#left.pop();
  }

  #topsOver(provider: Provider): Provider[] {
    const tops: Provider[] = [];
    let one: Provider | undefined = provider;
    for (; one !== undefined; one = this.#providers.get(one.spec.parent ?? '')) {
      if (this.#options.has(one) && this.#canServe(one)) tops.push(one);
    }
    return tops;
  }

  #canServe(top: Provider): boolean {
    let known = this.#known.get(top);
    if (known === undefined) {
      known = this.#isFeasible(top);
      this.#known.set(top, known);
    }
    return known;
  }
}

/** The lists of a request, each with what it says of the slots. */
export class SubtreeTops {
  readonly #lists: readonly Tops[];

  constructor(slots: readonly Slot[], { sameSubtree, groupPolicy }: CandidatesRequest, providers: ById) {
    const isFeasible = (ofList: ReadonlySet<Slot>) => (top: Provider) => {
      const below = ({ options, ...slot }: Slot) => ({
        ...slot,
        options: options.filter((one) => isBelow(one, top, providers)),
      });
      const narrowed = slots.map((slot) => (ofList.has(slot) ? below(slot) : slot));
      if (narrowed.some(({ options }) => options.length === 0) || !canHoldTogether(narrowed)) return false;
      return groupPolicy !== 'isolate' || canBeIsolated(narrowed.filter(({ group }) => group.suffix !== ''));
    };
    this.#lists = sameSubtree.map((suffixes) => {
      const ofList = new Set(slots.filter(({ group }) => suffixes.includes(group.suffix)));
      return new Tops(ofList, isFeasible(ofList), providers);
    });
  }

  /** Takes note that a slot is served by a provider; answers whether that may lead anywhere. To be undone in any case. */
  choose(slot: Slot, provider: Provider): boolean {
    let mayLead = true;
    for (const tops of this.#lists) if (tops.concerns(slot) && !tops.choose(provider)) mayLead = false;
    return mayLead;
  }

  undo(slot: Slot): void {
    for (const tops of this.#lists) if (tops.concerns(slot)) tops.undo();
  }
}
