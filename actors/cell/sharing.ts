// What many instances of a cell say alike is kept once for all of them: what they ask for, and the names of the hosts
// that they are on. Each message and record brings copies of its own, of a kilobyte and more for each instance.

import type { Selection } from '../../machines/instance-build.ts';
import type { BuildFacts, StoredBuild } from '../builds.ts';
import type { RequestSpec } from '../messages/common.ts';
import type { Hosts } from './hosts.ts';

/** Specs that are known again when they come once more; few are asked for at any time. */
const MAX_SPECS = 1_024;

export interface Shared {
  /** By their text; follows from `instances`, as far as it reaches. */
  readonly specs: Map<string, RequestSpec>;
  readonly hosts: Hosts;
}

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
        alternates: context.alternates.map((alternate) => selectionOf(state, alternate)),
      },
    },
  };
}

function specOf({ specs }: Shared, { spec }: BuildFacts): RequestSpec {
  const text = JSON.stringify(spec);
  const known = specs.get(text);
  if (known !== undefined) return known;
  if (specs.size >= MAX_SPECS) specs.clear();
  specs.set(text, spec);
  return spec;
}

function selectionOf({ hosts }: Shared, selection: Selection): Selection {
  const known = hosts.get(selection.host);
  if (known === undefined || known.provider !== selection.provider) return selection;
  return { ...selection, host: known.host, provider: known.provider };
}
