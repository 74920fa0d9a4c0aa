// Looks at all hosts for a request, and does to it what is advised.

import * as assert from 'uvu/assert';
import { type Advice, adviceWords } from '../../actors/messages/advice.ts';
import type { RequestSpec, ResourceGroup } from '../../actors/messages/common.ts';
import type { Provider } from '../../actors/placement/providers.ts';
import { type Survey, surveyOf } from '../../actors/scheduler/explaining/survey.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { allFiltersFor, judge } from '../../actors/scheduler/ranking/judging.ts';
import { emptyRankings } from '../../actors/scheduler/ranking/ranking.ts';
import type { Request } from '../../actors/scheduler/request.ts';
import type { Sweep } from '../../actors/scheduler/state.ts';
import type { View, ViewHost } from '../../actors/scheduler/view/view.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';

/** Those of a scheduler without filters of its own. */
export const rankings = emptyRankings(DEFAULT_WEIGHERS, 's');

/** What stands in the way of a request on a host. */
export const judged = (view: View, spec: RequestSpec, host: ViewHost) =>
  judge(view, allFiltersFor(rankings.filters, { spec }), spec, host);

/** A piece of advice in words, with times as they are. */
export const words = (advice: Advice) => adviceWords(advice, (until) => `until ${until}`);

/** What a look at all hosts finds. */
export const survey = (view: View, spec: RequestSpec, count = 1, limit = 10): Survey =>
  surveyFor(view, { spec }, count, limit);

/** The same, of a request that says where it may go. */
export function surveyFor(
  view: View,
  request: Request,
  count = 1,
  limit = 10,
  isHeardOf = (_cell: string) => false,
  by = rankings,
): Survey {
  let told: Survey | undefined;
  const sweep = surveyOf(by, view, { request, count, limit, isHeardOf }, (found) => {
    told = found;
  });
  sweepAll(sweep, view);
  assert.ok(told);
  return told;
}

/** What is advised where a scheduler has filters beside those that all have. */
export function adviceWith(filters: readonly Filter[], view: View, request: Request, count = 1): readonly Advice[] {
  const by = emptyRankings(DEFAULT_WEIGHERS, 's', { filters });
  return surveyFor(view, request, count, 0, undefined, by).advice;
}

/** Does all that a sweep has to do at once. */
export function sweepAll(sweep: Sweep, view: View): void {
  for (const host of view.hosts.values()) if (!sweep.visit(host, true)) break;
  for (const _ of sweep.conclude?.() ?? []);
  sweep.done(undefined as never);
}

/** The request without a group, and without what is said of it. */
export function withoutGroup({ sameSubtree = [], ...spec }: RequestSpec, name: string | undefined): RequestSpec {
  const lists = sameSubtree.map((names) => names.filter((one) => one !== name)).filter((names) => names.length > 1);
  return { ...spec, groups: spec.groups.filter((group) => group.name !== name), sameSubtree: lists };
}

/** The request with a class of groups asked for in one more group each, for which nothing is required. */
export function split(spec: RequestSpec, names: readonly string[], about: string): RequestSpec {
  const groups = spec.groups.flatMap((group) => {
    if (!names.includes(group.name)) return [group];
    const { required: _, anyOf: __, ...others } = group;
    const { [about]: amount = 0, ...resources } = group.resources;
    return [
      { ...group, resources },
      { ...others, name: `${group.name}-own`, resources: { [about]: amount } },
    ];
  });
  const near = (name: string) => (names.includes(name) ? [name, `${name}-own`] : [name]);
  return { ...spec, groups, sameSubtree: (spec.sameSubtree ?? []).map((list) => list.flatMap(near)) };
}

/** The request with what is advised done to it; undefined when it is not about the request. */
export function applied(
  spec: RequestSpec,
  { code, group: name, groups: names, about = '', to = 0 }: Advice,
): RequestSpec | undefined {
  if (code === 'without-isolation') return { ...spec, groupPolicy: 'none' };
  if (code === 'without-group') return withoutGroup(spec, name);
  if (code === 'group-split') return split(spec, names ?? [name ?? ''], about);
  if (code === 'without-same-subtree') {
    const { sameSubtree = [] } = spec;
    const at = sameSubtree.findIndex((names) => names.join(', ') === about);
    return { ...spec, sameSubtree: sameSubtree.filter((_, position) => position !== at) };
  }
  const change = (group: ResourceGroup): ResourceGroup | undefined => {
    const without = <T>(all: readonly T[] | undefined, textOf: (one: T) => string): T[] => {
      const at = (all ?? []).findIndex((one) => textOf(one) === about);
      return (all ?? []).filter((_, position) => position !== at);
    };
    const joined = (all: readonly string[]) => all.join(', ');
    switch (code) {
      case 'less':
      case 'more':
        return { ...group, resources: { ...group.resources, [about]: to } };
      case 'without-resource': {
        const { [about]: _, ...resources } = group.resources;
        return { ...group, resources };
      }
      case 'without-required':
        return { ...group, required: without(group.required, String) };
      case 'without-any-of':
        return { ...group, anyOf: without(group.anyOf, joined) };
      case 'without-forbidden':
        return { ...group, forbidden: without(group.forbidden, String) };
      case 'without-member-of':
        return { ...group, memberOf: without(group.memberOf, joined) };
      default:
        return undefined;
    }
  };
  const isMeant = (group: ResourceGroup) => names?.includes(group.name) ?? group.name === name;
  const groups = spec.groups.map((group) => (isMeant(group) ? change(group) : group));
  return groups.every((group) => group !== undefined) ? { ...spec, groups: groups as ResourceGroup[] } : undefined;
}

/** The same hosts with nothing in use. */
export function emptied(view: View): View {
  const empty = (tree: Provider[]): Provider[] =>
    tree.map((one) => {
      const stocks = new Map([...one.stocks].map(([resourceClass, stock]) => [resourceClass, { ...stock, used: 0 }]));
      return { ...one, stocks };
    });
  return { ...view, trees: new Map([...view.trees].map(([root, tree]) => [root, empty(tree)])) };
}

/** The hosts that a request fits. */
export const hostsThatFit = (view: View, spec: RequestSpec) =>
  [...view.hosts.values()].filter((host) => judged(view, spec, host).obstacle === null);
