// Reads the query of GET /allocation_candidates into a request: groups by suffix, and what concerns all of them.

import type { CandidateGroup, CandidatesRequest } from '../../actors/messages/placement-api.ts';
import { badRequest, CODES } from './problem.ts';
import { repr } from './python.ts';
import type { Query } from './query.ts';
import { aggregatesAsked, resourcesIn, traitsAsked, traitsIn, treeIn } from './query-values.ts';
import { SUFFIX_PATTERN, SUFFIX_PATTERN_1_33 } from './schemas/common.ts';

type Groups = Map<string, CandidateGroup>;

export function candidatesRequest(query: Query, minor: number): CandidatesRequest {
  const limit = query.all('limit')[0];
  const policy = query.all('group_policy')[0];
  const { required: rootRequired, forbidden: rootForbidden } = rootTraits(query);
  const sameSubtree = query.all('same_subtree').map(suffixesIn);
  const groups = groupsIn(query, minor);
  if (minor >= 36) checkResourceless(groups, sameSubtree);
  else checkOrphans(groups);
  if (minor >= 22) checkForbidden(groups);
  const named = [...groups.keys()].filter((suffix) => suffix !== '');
  if (policy === undefined && named.length > 1) {
    const message = 'The "group_policy" parameter is required when specifying more than one "resources{N}" parameter.';
    throw badRequest(message);
  }
  return {
    groups: [...groups.values()],
    groupPolicy: policy === 'none' || policy === 'isolate' ? policy : null,
    rootRequired,
    rootForbidden,
    sameSubtree,
    limit: limit === undefined ? null : Math.min(Number(limit), Number.MAX_SAFE_INTEGER),
    nested: minor >= 29,
  };
}

function rootTraits(query: Query): { required: string[]; forbidden: string[] } {
  const [value, ...more] = query.all('root_required');
  if (value === undefined) return { required: [], forbidden: [] };
  if (more.length > 0) {
    throw badRequest("Query parameter 'root_required' may be specified only once.", CODES.duplicateKey);
  }
  const asked = traitsIn(value, { forbidden: true, any: false });
  const required = asked.required.flat();
  const conflicts = asked.forbidden.filter((trait) => required.includes(trait));
  if (conflicts.length > 0) {
    const message = `Conflicting required and forbidden traits found in root_required: ${conflicts.join(', ')}`;
    throw badRequest(message, CODES.badValue);
  }
  return { required, forbidden: asked.forbidden };
}

function suffixesIn(value: string): string[] {
  const suffixes = [...new Set(value.split(',').map((suffix) => suffix.trim()))];
  if (!suffixes.includes('')) return suffixes;
  const message = 'Empty string (unsuffixed group) can not be specified in `same_subtree` ';
  throw badRequest(message, CODES.badValue);
}

function groupsIn(query: Query, minor: number): Groups {
  const suffixes = minor >= 33 ? SUFFIX_PATTERN_1_33 : SUFFIX_PATTERN;
  const pattern = new RegExp(`^(resources|required|member_of|in_tree)(${suffixes})?$`);
  const groups: Groups = new Map();
  const read = new Set<string>();
  for (const [key, value] of query.entries) {
    const [, kind, suffix = ''] = pattern.exec(key) ?? [];
    if (kind === undefined) continue;
    // Of traits and aggregates all values of a key are read at once.
    if (read.has(key) && (kind === 'required' || kind === 'member_of')) continue;
    read.add(key);
    const known = groups.get(suffix) ?? emptyGroup(suffix);
    groups.set(suffix, known);
    if (kind === 'resources') known.resources = resourcesIn(value);
    else if (kind === 'required') Object.assign(known, traitsAsked(query, minor, suffix));
    else if (kind === 'member_of') Object.assign(known, aggregatesAsked(query, minor, suffix));
    else known.inTree = treeIn(value);
  }
  return groups;
}

function emptyGroup(suffix: string): CandidateGroup {
  return { suffix, resources: {}, required: [], forbidden: [], memberOf: [], notMemberOf: [], inTree: null };
}

const isResourceless = ({ resources }: CandidateGroup) => Object.keys(resources).length === 0;

/** Since 1.36 a group may ask for no resources if it has a part in a subtree. */
function checkResourceless(groups: Groups, sameSubtree: readonly (readonly string[])[]): void {
  const resourceless = [...groups.values()].filter(isResourceless).map(({ suffix }) => suffix);
  if (resourceless.length === groups.size) {
    const message = 'There must be at least one resources or resources[$S] parameter.';
    throw badRequest(message, CODES.missingValue);
  }
  const inSubtrees = new Set(sameSubtree.flat());
  const loose = resourceless.filter((suffix) => !inSubtrees.has(suffix));
  if (loose.length > 0) {
    const message =
      'Resourceless suffixed group request should be specified in `same_subtree` query param: ' +
      `bad group(s) - ${repr(loose)}.`;
    throw badRequest(message, CODES.badValue);
  }
  const unknown = [...inSubtrees].filter((suffix) => !groups.has(suffix));
  if (unknown.length > 0) {
    const message =
      'Real suffixes should be specified in `same_subtree`: ' +
      `${repr(unknown)} not found in ${repr([...groups.keys()])}.`;
    throw badRequest(message, CODES.badValue);
  }
}

/** Before 1.36 every group needs resources. */
function checkOrphans(groups: Groups): void {
  const resourceless = [...groups.values()].filter(isResourceless);
  const keysOf = (key: string, having: CandidateGroup[]) => having.map(({ suffix }) => `${key}${suffix}`).join(', ');
  const withTraits = resourceless.filter(({ required }) => required.length > 0);
  if (withTraits.length > 0) {
    const message =
      'All traits parameters must be associated with resources.  Found the following orphaned traits keys:';
    throw badRequest(`${message} ${keysOf('required', withTraits)}`);
  }
  const withAggregates = resourceless.filter(({ memberOf, notMemberOf }) => memberOf.length + notMemberOf.length > 0);
  if (withAggregates.length > 0) {
    const message =
      'All member_of parameters must be associated with resources. Found the following orphaned member_of keys:';
    throw badRequest(`${message} ${keysOf('member_of', withAggregates)}`);
  }
  if (resourceless.length > 0) throw badRequest('All request groups must specify resources.');
  if (groups.size === 0) {
    throw badRequest('At least one request group (`resources` or `resources{$S}`) is required.');
  }
}

function checkForbidden(groups: Groups): void {
  const conflicts: string[] = [];
  for (const { suffix, required, forbidden } of groups.values()) {
    for (const any of required) {
      if (any.every((trait) => forbidden.includes(trait))) {
        conflicts.push(`required${suffix}: (${[...any].sort().join(', ')})`);
      }
    }
  }
  if (conflicts.length === 0) return;
  const message = 'Conflicting required and forbidden traits found in the following traits keys:';
  throw badRequest(`${message} ${conflicts.sort().join(', ')}`);
}
