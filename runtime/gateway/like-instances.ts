// Which instances may be meant by names that are none's: every conductor shard knows some. It is for people, who can do
// without: nobody is waited for long.

import { mostLike } from '../../actors/alike.ts';
import { LIKENED_WITHIN_MS } from '../../actors/conductor/like-instances.ts';
import type { UnknownName } from '../../actors/messages/decision.ts';
import { conductorAddress, conductorShardOf } from '../../actors/routing.ts';
import type { Asking } from './asking.ts';

export interface LikeInstancesOptions {
  readonly asking: Asking;
  readonly conductorShards: number;
}

/**
 * By name: the instance that it is most like, if any is much like it. None for a name that is known by now, or of which
 * that is not known.
 * @param isHolding Whether only those will do for which placement may hold something.
 */
export async function likeInstances(
  { asking, conductorShards }: LikeInstancesOptions,
  names: readonly string[],
  isHolding = false,
): Promise<Map<string, string>> {
  const question = { type: 'like-instances' as const, names, ...(isHolding ? { holding: true as const } : {}) };
  const told = await Promise.all(
    Array.from({ length: conductorShards }, async (_, shard) => {
      try {
        return (await asking.ask(conductorAddress(shard), question, 'like-told', LIKENED_WITHIN_MS)).like;
      } catch {
        return undefined;
      }
    }),
  );
  const all = told.flatMap((like) => like ?? []);
  return new Map(
    names.flatMap((name): [string, string][] => {
      const alike = all.filter(([of]) => of === name).map(([, like]) => like);
      const isToldOf = told[conductorShardOf(name, conductorShards)] !== undefined;
      const like = isToldOf && !alike.includes(name) ? mostLike(name, alike) : undefined;
      return like === undefined ? [] : [[name, like]];
    }),
  );
}

/** Names of a request that nothing carries, with what the instances among them are most like. */
export async function withLikeInstances(
  options: LikeInstancesOptions,
  unknown: UnknownName[] | undefined,
): Promise<UnknownName[] | undefined> {
  const names = unknown?.filter(({ kind }) => kind === 'instance').map(({ name }) => name) ?? [];
  if (names.length === 0) return unknown;
  const found = await likeInstances(options, names, true);
  return unknown?.map((one) => {
    const like = one.kind === 'instance' ? found.get(one.name) : undefined;
    return like === undefined ? one : { ...one, like };
  });
}
