// What a conductor says of an instance: the hand-over of its build to a cell, and why its id cannot be taken.

import { type HostedBuild, storeBuild } from '../builds.ts';
import type { Start } from '../messages/cell.ts';
import type { Entry } from './state.ts';

/** How long a hand-over is valid, ms: half of the time for which cells remember what is deleted; it is said again long before. */
const START_VALID_MS = 1_800_000;

/** A build changes hands as its snapshot. */
export function startOf(instance: string, hosted: HostedBuild, now: number): Start {
  const { facts, snapshot } = storeBuild(hosted);
  return {
    type: 'start',
    instance,
    request: facts.request,
    spec: facts.spec,
    snapshot: snapshot as never,
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
