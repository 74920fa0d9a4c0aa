// Where the providers of one tree stand to each other. Nearly all trees are a few levels deep, and it is soon seen by going
// up; in a deep one the providers are numbered once, so that going up is not done at each look.

import type { Provider } from '../placement/providers.ts';

export interface Ancestry {
  readonly tree: readonly Provider[];
  readonly byId: ReadonlyMap<string, Provider>;
  /** The numbers of the providers; null: they were not needed yet. */
  spans: ReadonlyMap<Provider, Span> | null;
}

/** The number of a provider, and the last number of what is below it: all that is below one is numbered right after it. */
interface Span {
  readonly from: number;
  to: number;
}

/** So many levels are gone up before the tree counts as a deep one. */
const FEW_LEVELS = 8;

export function ancestryOf(tree: readonly Provider[]): Ancestry {
  const byId = new Map<string, Provider>();
  for (const provider of tree) byId.set(provider.spec.id, provider);
  return { tree, byId, spans: null };
}

function above({ byId }: Ancestry, { spec }: Provider): Provider | undefined {
  return spec.parent === null ? undefined : byId.get(spec.parent);
}

/** Whether a provider is another one or below it. */
export function isBelow(ancestry: Ancestry, provider: Provider, top: Provider): boolean {
  let one: Provider | undefined = provider;
  for (let level = 0; level < FEW_LEVELS; level += 1) {
    if (one === top) return true;
    one = above(ancestry, one);
    if (one === undefined) return false;
  }
  ancestry.spans ??= spansOf(ancestry);
  const { from, to } = ancestry.spans.get(top) as Span;
  const number = (ancestry.spans.get(provider) as Span).from;
  return from <= number && number <= to;
}

/** The lowest provider that is above both, or is one of them; undefined: there is none. */
export function meetOf(ancestry: Ancestry, one: Provider, other: Provider): Provider | undefined {
  let meet: Provider | undefined = one;
  // What is told bit by bit may for a moment be below itself.
  for (let level = 0; meet !== undefined && level < ancestry.tree.length; level += 1) {
    if (isBelow(ancestry, other, meet)) return meet;
    meet = above(ancestry, meet);
  }
  return undefined;
}

function spansOf(ancestry: Ancestry): ReadonlyMap<Provider, Span> {
  const { tree } = ancestry;
  const below = new Map<Provider, Provider[]>(tree.map((provider) => [provider, []]));
  for (const provider of tree) {
    const parent = above(ancestry, provider);
    if (parent !== undefined) below.get(parent)?.push(provider);
  }
  const spans = new Map<Provider, Span>();
  const number = (provider: Provider): void => {
    if (spans.has(provider)) return;
    const span = { from: spans.size, to: spans.size };
    spans.set(provider, span);
    below.get(provider)?.forEach(number);
    span.to = spans.size - 1;
  };
  for (const provider of tree) if (above(ancestry, provider) === undefined) number(provider);
  tree.forEach(number);
  return spans;
}
