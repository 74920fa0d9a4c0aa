// No orphan and one home: resources are held if and only if somebody accounts for them, for the attempt that the
// instance lives in, and in one tree, that of its host; beside it only what is owed back already. Pure.

import { type ConsumerState, OF_NO_BUILD, type ProviderState } from '../../actors/messages/placement.ts';
import { SHARES_VIA_AGGREGATE } from '../../actors/placement/standard-traits.ts';
import type { Allocation } from '../../machines/instance-build.ts';
import type { Account, Difference } from './differences.ts';

export function holdingDifferences(
  providers: readonly ProviderState[],
  consumers: readonly ConsumerState[],
  accounts: ReadonlyMap<string, Account>,
): Difference[] {
  const roots = new Map(providers.map(({ id, root }) => [id, root]));
  const names = new Map(providers.map(({ id, name }) => [id, name]));
  const shared = new Set(providers.filter(({ traits }) => traits.includes(SHARES_VIA_AGGREGATE)).map(({ id }) => id));
  const holding = new Map<string, readonly number[]>();
  const differences: Difference[] = [];
  for (const { consumer: instance, held } of consumers) {
    if (held.length === 0) continue;
    const account = accounts.get(instance);
    const attempts = held.map(({ attempt }) => attempt);
    const named = attempts.join(' and ');
    if (account === undefined) {
      // A consumer of somebody else's, who knows what lives.
      if (attempts.every((attempt) => attempt === OF_NO_BUILD)) continue;
      const what = `'${instance}' holds resources for attempt ${named} and does not live`;
      differences.push({ kind: 'leaked-allocation', what, instance, attempts });
      continue;
    }
    const residing = held.filter(({ attempt }) => !account.isOwed(attempt));
    const taken = residing.flatMap(({ allocations }) =>
      allocations.filter((one) => roots.has(one.provider) || !isOfNothing(one)).map(({ provider }) => provider),
    );
    const homes = new Set(taken.filter((provider) => !shared.has(provider)).map((provider) => roots.get(provider)));
    const strange = residing.map(({ attempt }) => attempt).filter((attempt) => !account.mayHold(attempt));
    if (homes.size > 1) {
      const what = `'${instance}' holds resources in ${homes.size} trees`;
      differences.push({ kind: 'two-homes', what, instance, attempts: strange });
    } else if (strange.length > 0) {
      const lives = account.attempt === undefined ? `is ${account.state}` : `lives in attempt ${account.attempt}`;
      const what = `'${instance}' holds resources for attempt ${named} and ${lives}`;
      differences.push({ kind: 'leaked-allocation', what, instance, attempts: strange });
    } else {
      holding.set(instance, attempts);
      const elsewhere = treeElsewhere(account, homes, roots);
      if (elsewhere !== undefined) differences.push(heldElsewhere(account, elsewhere, names.get(elsewhere)));
      continue;
    }
    // It is told what is wrong with it; what it lacks beside that would be the same thing said twice.
    holding.set(instance, account.attempt === undefined ? attempts : [account.attempt]);
  }
  for (const { instance, state, mustHold, attempt, cell, host } of accounts.values()) {
    if (!mustHold || attempt === undefined || holding.get(instance)?.includes(attempt) === true) continue;
    const what = `'${instance}' is ${state} and holds no resources`;
    differences.push({ kind: 'unheld-instance', what, instance, attempts: [attempt], cell, host });
  }
  return differences;
}

/** A device that was taken for its traits alone may be there no more. */
const isOfNothing = ({ resources }: Allocation): boolean => Object.keys(resources).length === 0;

/** The tree in which all is held that an instance should hold on its host, if that is another's. */
function treeElsewhere(
  { mustHold, home = '' }: Account,
  trees: ReadonlySet<string | undefined>,
  roots: ReadonlyMap<string, string>,
): string | undefined {
  // A caller of the Placement API may have put the host's own provider below another one.
  const own = roots.get(home);
  return mustHold && own !== undefined && !trees.has(own) ? [...trees][0] : undefined;
}

function heldElsewhere(account: Account, provider: string, name = ''): Difference {
  const { instance, state, attempt, cell, host } = account;
  const what = `'${instance}' is ${state} on '${cell}/${host}', and what it holds is on provider '${provider}' (${name})`;
  return { kind: 'held-elsewhere', what, instance, attempts: [attempt ?? 0], cell, host, provider };
}
