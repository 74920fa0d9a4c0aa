// What many instances of a cell say alike is kept once for all of them: what they ask for, and the hosts that they are
// on or would go to. Each message and record brings copies of its own, of a kilobyte and more for each instance.

import type { Attempt, Selection } from '../../machines/instance-build.ts';
import type { BuildFacts, StoredBuild } from '../builds.ts';
import { mapKey } from '../map-key.ts';
import type { RequestSpec } from '../messages/common.ts';
import { isSame } from '../same.ts';
import type { Hosts } from './hosts.ts';

/** Specs that are known again when they come once more; few are asked for at any time. */
const MAX_SPECS = 1_024;

export interface Shared {
  /** By their texts, as `mapKey` has them; follows from `instances`, as far as it reaches. */
  readonly specs: Map<string, RequestSpec>;
  /** The one that was met last, for builds of one request come one after the other; not recorded. */
  lastSpec: RequestSpec | null;
  /** By host: those that say no more than where it is; follows from `instances`. */
  readonly selections: Map<string, Selection>;
  readonly hosts: Hosts;
}

const NO_ATTEMPTS: readonly Attempt[] = [];
const NO_ALTERNATES: readonly Selection[] = [];

export function shared<Build extends Pick<StoredBuild, 'facts' | 'snapshot'>>(state: Shared, build: Build): Build {
  const { facts, snapshot } = build;
  const { context } = snapshot;
  const { instance } = facts;
  return {
    ...build,
    facts: { ...facts, request: facts.request === instance ? instance : facts.request, spec: specOf(state, facts) },
    snapshot: {
      ...snapshot,
      context: {
        ...context,
        instance,
        selection: context.selection === null ? null : selectionOf(state, context.selection),
        alternates:
          context.alternates.length === 0
            ? NO_ALTERNATES
            : context.alternates.map((alternate) => selectionOf(state, alternate)),
        attempts: context.attempts.length === 0 ? NO_ATTEMPTS : context.attempts,
      },
    },
  };
}

function specOf(state: Shared, { spec }: BuildFacts): RequestSpec {
  if (state.lastSpec === null || !isSame(spec, state.lastSpec)) state.lastSpec = keptSpecOf(state, spec);
  return state.lastSpec;
}

function keptSpecOf({ specs }: Shared, spec: RequestSpec): RequestSpec {
  const text = JSON.stringify(spec);
  const key = mapKey(text);
  const known = specs.get(key);
  // The key of a long text is no proof.
  if (known !== undefined && (key === text || isSame(known, spec))) return known;
  if (specs.size >= MAX_SPECS) specs.clear();
  specs.set(key, spec);
  return spec;
}

function selectionOf({ hosts, selections }: Shared, selection: Selection): Selection {
  const { cell, host, provider, allocations, maxInstances } = selection;
  // Of a host that is not known there may be any number of names.
  const known = hosts.get(host);
  if (known === undefined || known.provider !== provider) return selection;
  if (allocations !== undefined || maxInstances !== undefined) {
    return { ...selection, host: known.host, provider: known.provider };
  }
  const kept = selections.get(host);
  if (kept?.provider === provider && kept.cell === cell) return kept;
  const one = { cell, host: known.host, provider: known.provider };
  selections.set(known.host, one);
  return one;
}
