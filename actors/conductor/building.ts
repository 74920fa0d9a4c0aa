// The builds that a conductor shard hosts itself: until each is in the hands of the cell of its host.

import type { InstanceBuildEvent } from '../../machines/instance-build.ts';
import type { Effect } from '../../machines/step.ts';
import { armBuild, buildEvent, canStep, disarmIfOver, type HostedBuild, stateOfBuild, wakeOfBuild } from '../builds.ts';
import { cellAddress } from '../routing.ts';
import { release } from './releasing.ts';
import { type Entry, wantHosts } from './state.ts';
import { startOf } from './words.ts';
import { commit, type Work } from './work.ts';

/** Steps a build that is hosted here and does what it then asks for. */
export function advance(work: Work, instance: string, event: InstanceBuildEvent, decision?: string): void {
  const entry = work.state.instances.get(instance);
  if (entry?.phase !== 'here' || entry.build === null) return;
  if (!canStep(entry.build, event)) return;
  const kept = decision === undefined ? {} : { decision };
  const effects = commit(work, { type: 'build-event', instance, event, at: work.turn.now, ...kept });
  disarmIfOver(entry.build, work.turn);
  for (const effect of effects) perform(work, instance, entry, effect);
  if (stateOfBuild(entry.build) === 'failed') {
    work.turn.publish(buildEvent(work.scope, entry.build, work.turn.now, event.type));
  }
}

export function perform(work: Work, instance: string, entry: Entry, { type }: Effect): void {
  switch (type) {
    case 'askScheduler':
      return wantHosts(work.state, entry.request);
    case 'dispatch':
      return handOver(work, instance, entry);
    case 'release':
      return release(work, instance, entry);
  }
}

function handOver(work: Work, instance: string, entry: Entry): void {
  const { turn } = work;
  const hosted = entry.build as HostedBuild;
  const cell = cellAddress(entry.cell as string);
  turn.send(cell, startOf(instance, hosted, turn.now));
  armBuild(hosted, work, cell);
}

/** The cell has recorded the instance: the build is its own from now on. */
export function started(work: Work, instance: string): void {
  const entry = work.state.instances.get(instance);
  // Only what was handed to a cell can have been started there.
  if (entry === undefined || entry.handedOver || entry.cell === null) return;
  commit(work, { type: 'started', instance });
  work.turn.cancelWake(wakeOfBuild(instance));
}
