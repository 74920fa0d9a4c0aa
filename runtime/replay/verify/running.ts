// What is on the hosts is what the cells believe: every active instance on its host and nowhere else, and nothing that
// no cell knows. Pure.

import type { InstanceView } from '../../../actors/messages/gateway.ts';
import type { OnHost } from '../fleet.ts';
import type { Fault } from './faults.ts';

/** @param teller Who says what is on the hosts: a `compute`, or its `driver`. */
export function runningFaults(
  teller: string,
  onHosts: readonly OnHost[],
  live: ReadonlyMap<string, InstanceView>,
): Fault[] {
  const atHome = new Set<string>();
  const faults: Fault[] = [];
  for (const { cell, host, instance, attempt } of onHosts) {
    const view = live.get(instance);
    const what = `the ${teller} of '${cell}/${host}' has attempt ${attempt} of '${instance}'`;
    if (view === undefined) {
      faults.push({ kind: 'leaked', what: `${what}, which no cell knows as live` });
    } else if (view.cell === cell && view.host === host && view.attempt === attempt) {
      atHome.add(instance);
    } else {
      const home = `which lives in attempt ${view.attempt} on '${view.cell}/${view.host}'`;
      faults.push({ kind: 'two-homes', what: `${what}, ${home}` });
    }
  }
  for (const [instance, { state, cell, host }] of live) {
    if (state !== 'active' || atHome.has(instance)) continue;
    const what = `'${instance}' is active, but the ${teller} of '${cell}/${host}' does not have it`;
    faults.push({ kind: 'not-running', what });
  }
  return faults;
}
