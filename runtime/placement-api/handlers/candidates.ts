// /allocation_candidates

import type { CandidatesRequest } from '../../../actors/messages/placement-api.ts';
import type { Candidates } from '../../../actors/placement/api/candidates/find.ts';
import { asked, type Handler } from '../call.ts';
import { candidatesRequest } from '../candidates-query.ts';
import { badRequest } from '../problem.ts';
import { listCandidates } from '../schemas/candidates.ts';

export const findCandidates: Handler = async (call) => {
  const { query, minor } = call;
  query.check(listCandidates(minor));
  const request = candidatesRequest(query, minor);
  const { ok, refused } = await asked<Candidates>(call, { type: 'candidates', ...request });
  if (refused?.code === 'no-trait') throw badRequest(`No such trait(s): ${refused.subject}.`);
  if (refused !== undefined) {
    throw badRequest(`Invalid resource class in resources parameter: No such resource class ${refused.subject}.`);
  }
  return { status: 200, body: candidatesBody(ok, request, minor), changedAt: 0 };
};

function candidatesBody({ requests, summaries }: Candidates, request: CandidatesRequest, minor: number) {
  return {
    allocation_requests: requests.map(({ allocations, mappings }) => {
      const pairs = Object.entries(allocations);
      if (minor < 12) {
        return {
          allocations: pairs.map(([uuid, resources]) => ({ resource_provider: { uuid }, resources })),
        };
      }
      const keyed = Object.fromEntries(pairs.map(([uuid, resources]) => [uuid, { resources }]));
      return minor >= 34 ? { allocations: keyed, mappings } : { allocations: keyed };
    }),
    provider_summaries: summariesBody(summaries, request, minor),
  };
}

function summariesBody(summaries: Candidates['summaries'], { groups }: CandidatesRequest, minor: number) {
  const asked = new Set(groups.flatMap(({ resources }) => Object.keys(resources)));
  const told = Object.entries(summaries).map(([uuid, { resources, traits, parent, root }]) => {
    const shown = Object.entries(resources).filter(([name]) => minor >= 27 || asked.has(name));
    const summary = {
      resources: Object.fromEntries(shown),
      ...(minor >= 17 ? { traits } : {}),
      ...(minor >= 29 ? { parent_provider_uuid: parent, root_provider_uuid: root } : {}),
    };
    return [uuid, summary] as const;
  });
  return Object.fromEntries(told);
}
