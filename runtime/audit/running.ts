// What is on the hosts is what its owners believe: every active instance on its host and nowhere else, and nothing that
// nobody accounts for. Pure.

import type { Account, Difference, OnHost } from './differences.ts';

/**
 * @param teller Who says what is on the hosts: a `compute`, or its `driver`.
 * @param isKnown Whether it is known what is on a host; of one where it is not, nothing is missed.
 */
export function runningDifferences(
  teller: string,
  onHosts: readonly OnHost[],
  accounts: ReadonlyMap<string, Account>,
  isKnown: (cell: string, host: string) => boolean = () => true,
): Difference[] {
  const atHome = new Set<string>();
  const differences: Difference[] = [];
  for (const { cell, host, instance, attempt } of onHosts) {
    const account = accounts.get(instance);
    const isHome = account?.cell === cell && account.host === host && account.attempt === attempt;
    if (isHome) atHome.add(instance);
    if (account?.mayRun(cell, host, attempt) === true) continue;
    const what = `the ${teller} of '${cell}/${host}' has attempt ${attempt} of '${instance}'`;
    const at = { instance, attempts: [attempt], cell, host };
    if (account?.host === undefined) {
      const why = account === undefined ? 'which no cell knows as live' : `which is ${account.state}`;
      differences.push({ kind: 'running-without-record', what: `${what}, ${why}`, ...at });
    } else {
      const home = `which lives in attempt ${account.attempt} on '${account.cell}/${account.host}'`;
      differences.push({ kind: 'two-homes', what: `${what}, ${home}`, ...at });
    }
  }
  for (const { instance, state, mustRun, attempt = 0, cell = '', host = '' } of accounts.values()) {
    if (!mustRun || atHome.has(instance) || !isKnown(cell, host)) continue;
    const what = `'${instance}' is ${state}, but the ${teller} of '${cell}/${host}' does not have it`;
    differences.push({ kind: 'not-running', what, instance, attempts: [attempt], cell, host });
  }
  return differences;
}
