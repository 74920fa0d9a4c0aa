// Finds the providers that are as a caller of the Placement API asks.

import type { ApiMessage, ApiOutcome } from '../../messages/placement-api.ts';
import { isKnownTrait } from '../catalog.ts';
import { idsBy } from '../indexes.ts';
import { PROVIDERS } from '../lock-keys.ts';
import type { Provider } from '../providers.ts';
import type { PlacementState } from '../state.ts';
import { unknownClass } from './checks.ts';
import { type Looking, paceOfLook } from './looking.ts';
import { canGive, type ProviderSummary, providerSummary, seenAs } from './reads.ts';
import { noTrait } from './refusals.ts';

type Asked = ApiMessage<'providers-find'>;

export function lookForProviders(state: PlacementState, asked: Asked): Looking {
  const found = new Map<string, ProviderSummary>();
  return { steps: stepsOf(state, asked, found), gone: (id) => void found.delete(id) };
}

function* stepsOf(
  state: PlacementState,
  asked: Asked,
  found: Map<string, ProviderSummary>,
): Generator<void, ApiOutcome> {
  const { name, inTree, memberOf, notMemberOf, required, forbidden, resources } = asked;
  const unknown = [...required.flat(), ...forbidden].find((trait) => !isKnownTrait(state.catalog, trait));
  const fits = Object.entries(resources);
  const treeRoot = inTree === undefined ? undefined : (state.providers.get(inTree)?.root ?? null);
  // As the reference does: in a tree that is not there nothing is looked for, not even what is asked.
  if (treeRoot === null) return { ok: [] };
  if (unknown !== undefined) return noTrait(unknown);
  const fault = unknownClass(state, Object.keys(resources));
  if (fault !== null) return fault;
  const pace = paceOfLook();
  for (const come of poolFor(state, asked)) {
    let provider: Provider | undefined = come;
    if (pace.isDue(1)) {
      yield;
      // It may be another by now, or gone.
      provider = state.providers.get(come.spec.id);
      if (provider === undefined) continue;
    }
    const { spec, root, traits, aggregates } = provider;
    if (name !== undefined && name !== '' && spec.name !== name) continue;
    if (treeRoot !== undefined && root !== treeRoot) continue;
    if (!required.every((any) => any.some((trait) => traits.has(trait)))) continue;
    if (forbidden.some((trait) => traits.has(trait))) continue;
    if (!memberOf.every((any) => any.some((aggregate) => aggregates.has(aggregate)))) continue;
    if (notMemberOf.some((aggregate) => aggregates.has(aggregate))) continue;
    if (!fits.every(([resourceClass, amount]) => canGive(provider, resourceClass, amount))) continue;
    found.set(spec.id, providerSummary(provider));
  }
  // What it shows may be older than the last change over several shards: then that came since whoever asks asked before.
  return seenAs(state.holds.seen.get(PROVIDERS)?.transaction, [...found.values()]);
}

/** The providers among which all that are asked for are. */
function poolFor(state: PlacementState, { name, id, inTree, memberOf }: Asked): Iterable<Provider> {
  const { providers, trees, indexes } = state;
  if (id !== undefined) return these([id]);
  if (inTree !== undefined) return these(trees.get(providers.get(inTree)?.root ?? '') ?? []);
  if (name !== undefined && name !== '') return these(idsBy(indexes, name));
  const [aggregates] = memberOf;
  if (aggregates === undefined) return providers.values();
  return members(aggregates);

  function* these(ids: Iterable<string>): Iterable<Provider> {
    for (const one of ids) {
      const provider = providers.get(one);
      if (provider !== undefined) yield provider;
    }
  }

  /** Whoever is in two of the aggregates comes twice. */
  function* members(of: readonly string[]): Iterable<Provider> {
    for (const aggregate of of) yield* these(indexes.aggregates.get(aggregate) ?? []);
  }
}
