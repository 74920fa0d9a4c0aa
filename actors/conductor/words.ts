// What a conductor says of an instance: the hand-over of its build to a cell, why its id cannot be taken, and that no
// scheduler answers.

import type { HostedBuild } from '../builds.ts';
import type { Start } from '../messages/cell.ts';
import type { InstanceView } from '../messages/gateway.ts';
import { nameOfScheduler } from '../routing.ts';
import type { Times } from '../times.ts';
import type { ConductorState, Entry, OpenRequest } from './state.ts';
import type { Work } from './work.ts';

/** How long a hand-over is valid, ms: half of the time for which cells remember what is deleted; it is said again long before. */
const START_VALID_MS = 1_800_000;

/** A build changes hands as its snapshot. */
export function startOf(instance: string, hosted: HostedBuild, now: number): Start {
  const { facts, snapshot } = hosted;
  return {
    type: 'start',
    instance,
    request: facts.request,
    spec: facts.spec,
    snapshot: { value: snapshot.value, context: snapshot.context } as never,
    expiresAt: now + START_VALID_MS,
    ...(facts.project === undefined ? {} : { project: facts.project }),
    ...(facts.payload === undefined ? {} : { payload: facts.payload }),
    ...(facts.traceparent === undefined ? {} : { traceparent: facts.traceparent }),
  };
}

/** An instance that is deleted, or about to be: asked for again, it must have another id. */
export function isGoing({ phase }: Entry): boolean {
  return phase === 'deleting' || phase === 'deleted';
}

/** Why the id of an instance cannot be taken; of one that is known no more: why the request is not simply repeated. */
export function takenBecause(instance: string, entry: Entry | undefined, request: string): string {
  if (entry === undefined) return `instance '${instance}' of this request was deleted: ask with another id`;
  if (isGoing(entry)) return `instance '${instance}' was deleted; its id cannot be taken again for a while`;
  if (entry.request === request) {
    return `request '${request}' exists already, and asks for something else: ask with another id`;
  }
  return `instance '${instance}' exists already, of another request`;
}

type Asking = NonNullable<InstanceView['asking']>;

/** The questions about a request that no scheduler has answered; undefined when the last one was. */
export function askingOf(
  { schedulers }: Pick<ConductorState, 'schedulers'>,
  { round, unanswered: times, unansweredSince }: OpenRequest,
  { now, steady }: Times,
): Asking | undefined {
  if (round === 0) return { times: 0, asOf: now };
  if (times === 0) return undefined;
  const asking = { times, since: Math.round(now - (steady - unansweredSince)), asOf: now };
  const other = schedulers.latestSince(unansweredSince);
  return other === undefined ? asking : { ...asking, answersOthers: nameOfScheduler(other) };
}

/** `schedulers were asked 4 times in 12 s, and none has answered`. */
export function askingWords({ times, since, asOf, answersOthers }: Asking): string {
  if (since === undefined) return 'no scheduler was asked for it yet, as those that came before have no answer';
  const ago = secondsOf(asOf - since);
  const asked =
    times === 1
      ? `a scheduler was asked ${ago} s ago, and has not answered`
      : `schedulers were asked ${times} times in ${ago} s, and none has answered`;
  return answersOthers === undefined ? asked : `${asked}; scheduler '${answersOthers}' has answered others meanwhile`;
}

/** `placement/1 and placement/2 have`; with one shard, whose number tells nobody anything, `placement has`. */
function shardWords(shards: readonly number[], placementShards: number): string {
  if (placementShards === 1) return 'placement has';
  const names = shards.map((shard) => `placement/${shard}`);
  return `${names.join(' and ')} ${names.length === 1 ? 'has' : 'have'}`;
}

/** Why a request has no host when its time is over, and no scheduler has said why. */
export function timedOutBecause({ state, turn, placementShards }: Work, open: OpenRequest): string {
  const scheduler = open.awaits?.scheduler ?? open.scheduler;
  if (scheduler !== null) {
    const why =
      open.awaits === null
        ? 'placement may not answer it'
        : `${shardWords(open.awaits.shards, placementShards)} not answered it`;
    return `scheduler '${nameOfScheduler(scheduler)}' has come to no end in time: ${why}`;
  }
  const asking = askingOf(state, open, turn);
  if (asking === undefined) return 'no scheduler has come to an end in time: placement may not answer them';
  const why =
    asking.answersOthers === undefined
      ? 'none is running, or placement does not answer them'
      : 'placement may not answer';
  return `${askingWords(asking)}: ${why}`;
}

export const secondsOf = (ms: number): number => Math.round(Math.max(0, ms) / 100) / 10;
