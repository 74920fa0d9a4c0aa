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
  // No call goes down the tree: a chain may be longer than calls may be deep. In a ring nobody is at the top.
  for (const top of [...tree.filter((provider) => above(ancestry, provider) === undefined), ...tree]) {
    const waiting = [top];
    for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
      if (spans.has(one)) continue;
      spans.set(one, { from: spans.size, to: spans.size });
      for (const child of below.get(one) as Provider[]) waiting.push(child);
    }
  }
  for (const [provider, { to }] of [...spans].reverse()) {
    const parent = above(ancestry, provider);
    const span = parent === undefined ? undefined : spans.get(parent);
    if (span !== undefined) span.to = Math.max(span.to, to);
  }
  return spans;
}
