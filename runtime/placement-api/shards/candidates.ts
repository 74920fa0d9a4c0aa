// Allocation candidates over all shards. Each finds those of its own trees, with what is shared in the trees of others in
// view; what they find is put together so that with a limit, trees take turns as they do in one shard.

import type { ApiMessage, ForeignProvider } from '../../../actors/messages/placement-api.ts';
import { type Candidates, keyOf } from '../../../actors/placement/api/candidates/find.ts';
import type { Candidate } from '../../../actors/placement/api/candidates/search.ts';
import type { Outcome, Shards } from './asking.ts';
import { knowingly, type Names } from './names.ts';

type Asked = Omit<ApiMessage<'candidates'>, 'ask' | 'foreign'>;

export function findCandidates(shards: Shards, names: Names, asked: Asked): Promise<Outcome<Candidates>> {
  return knowingly<Candidates>(names, async () => {
    const shared = await shards.all<ForeignProvider[]>({ type: 'sharing-list' });
    const outcomes = await Promise.all(
      shards.every.map((shard): Promise<Outcome<Candidates>> => {
        const foreign = shared.flatMap(({ ok = [] }, other) => (other === shard ? [] : ok));
        return shards.ask({ ...asked, foreign }, shard);
      }),
    );
    const refusal = outcomes.find((outcome) => outcome.refused !== undefined);
    if (refusal !== undefined) return refusal;
    return {
      ok: joined(
        outcomes.map(({ ok }) => ok as Candidates),
        asked.limit,
      ),
    };
  });
}

function joined(found: readonly Candidates[], limit: number | null): Candidates {
  const requests: Candidate[] = [];
  const known = new Set<string>();
  const most = limit ?? Number.POSITIVE_INFINITY;
  const rounds = Math.max(...found.map(({ rounds: ofShard = [] }) => ofShard.length));
  const begins = found.map(() => 0);
  for (let round = 0; round < rounds && requests.length < most; round += 1) {
    const slices = found.map((ofShard, shard) => {
      const begin = begins[shard] as number;
      begins[shard] = begin + (ofShard.rounds?.[round] ?? 0);
      return ofShard.requests.slice(begin, begins[shard]);
    });
    const longest = Math.max(...slices.map(({ length }) => length));
    for (let position = 0; position < longest; position += 1) {
      for (const slice of slices) {
        const candidate = slice[position];
        if (candidate === undefined || requests.length >= most) continue;
        const key = keyOf(candidate);
        if (known.has(key)) continue;
        known.add(key);
        requests.push(candidate);
      }
    }
  }
  return { requests, summaries: summariesFor(requests, found) };
}

/** The providers of the trees that are left in the answer. */
function summariesFor(requests: readonly Candidate[], found: readonly Candidates[]): Candidates['summaries'] {
  const all: Candidates['summaries'] = Object.assign({}, ...found.map(({ summaries }) => summaries));
  const roots = new Set(requests.flatMap(({ allocations }) => Object.keys(allocations)).map((id) => all[id]?.root));
  return Object.fromEntries(Object.entries(all).filter(([, { root }]) => roots.has(root)));
}
