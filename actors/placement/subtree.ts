// Where providers stand to each other in a tree: what `same_subtree` of the Placement API asks.

import type { Provider } from './providers.ts';

/** Providers that are found by id. */
export interface ById {
  get(id: string): Provider | undefined;
}

/** Whether a provider is another one or below it. */
export function isBelow(provider: Provider, top: Provider, providers: ById): boolean {
  for (let one: Provider | undefined = provider; one !== undefined; one = providers.get(one.spec.parent ?? '')) {
    if (one === top) return true;
  }
  return false;
}

/** Whether one of the providers is all others' ancestor, or is alone. */
export function isSubtree(serving: readonly Provider[], providers: ById): boolean {
  return serving.some((top) => serving.every((one) => isBelow(one, top, providers)));
}
