// Stepping the service of a host, and what that brings with it: its builds are lost when it goes down, and what waited
// for its word is done when it is fenced.

import { type ComputeServiceEvent, computeService } from '../../machines/compute-service.ts';
import { can } from '../../machines/step.ts';
import { advance } from './building.ts';
import { loseAll } from './fencing.ts';
import type { Entry } from './state.ts';
import { commit, type Work } from './work.ts';

export function hostEvent(work: Work, hostName: string, event: ComputeServiceEvent): void {
  const host = work.state.hosts.get(hostName);
  if (host === undefined || !can(computeService, host.service, event)) return;
  const effects = commit(work, { type: 'host-event', host: hostName, event, at: work.turn.now });
  work.state.feed.untold.add(hostName);
  for (const { type } of effects) {
    if (type === 'confirmGone') loseAll(work, hostName);
    if (type !== 'loseBuilds') continue;
    for (const instance of [...host.building]) {
      const { attempt } = (work.state.instances.get(instance) as Entry).build.snapshot.context;
      advance(work, instance, { type: 'HOST_LOST', attempt, reason: `host '${hostName}' went silent` });
    }
  }
}
