// Who accounts for what: for each instance that an owner knows, what it may hold and where it may run, its recorded
// obligations included. Pure. Where an owner could not be asked, everything is allowed: what is not known is not wrong.

import type { InstanceView, RemovalView } from '../../actors/messages/gateway.ts';
import { append } from '../../actors/multimap.ts';
import type { Account } from './differences.ts';
import type { CellLook, Look } from './look.ts';

/** Of an instance that is over: none of its attempts may hold anything as its home. */
export const never = () => false;
const always = () => true;
const NOTHING = { mustHold: false, mustRun: false, mayHold: never, isOwed: never, mayRun: never } as const;
/** Of an instance whose owner could not be asked, or whose owners disagree and are told so. */
const ANYTHING = { ...NOTHING, isOwed: always, mayRun: always } as const;

export function accountsOf({ conducted, cells }: Pick<Look, 'conducted' | 'cells'>): Map<string, Account> {
  const accounts = new Map<string, Account>();
  for (const view of conducted?.values() ?? []) {
    const account = conductorsAccount(view);
    if (account !== null) accounts.set(view.instance, account);
  }
  for (const [cell, look] of cells) {
    if (look !== null) for (const account of cellsAccounts(cell, look)) accounts.set(account.instance, account);
  }
  return accounts;
}

/** What the super conductor says of an instance counts where no cell says more. */
function conductorsAccount({ instance, state, cell, host, attempt, owes }: InstanceView): Account | null {
  const known = { instance, state, cell, host, attempt };
  if (state === 'deleted') return null;
  if (owes !== undefined) return { ...known, ...ANYTHING, mayRun: cell === undefined ? never : always };
  // A claim of the first attempt may be under way, or decided and not heard of.
  if (cell === undefined)
    return state === 'failed' ? { ...known, ...NOTHING } : { ...known, ...NOTHING, mayHold: isFirst };
  if (state === 'claimed') return { ...known, ...NOTHING, mayHold: isFirst, mayRun: always };
  return { ...known, ...ANYTHING };
}

const isFirst = (attempt: number) => attempt === 1;

function cellsAccounts(cell: string, { instances, removals, hosts }: CellLook): Account[] {
  const homes = new Map(hosts.map(({ host, provider }) => [host, provider]));
  const owed = new Map<string, RemovalView[]>();
  for (const removal of removals) append(owed, removal.instance, removal);
  const accounts: Account[] = instances.map((view) => {
    const ofInstance = owed.get(view.instance) ?? [];
    owed.delete(view.instance);
    return { ...cellsAccount(cell, view, ofInstance), home: homes.get(view.host ?? '') };
  });
  // Attempts may outlast their instance: they wait for a host that is silent.
  for (const [instance, left] of owed) {
    accounts.push({ instance, state: 'deleted', ...NOTHING, ...obligations(cell, left) });
  }
  return accounts;
}

function cellsAccount(cell: string, view: InstanceView, removals: readonly RemovalView[]): Account {
  const { instance, state, host, attempt = 0 } = view;
  const owes = obligations(cell, removals);
  const isHome = (held: number) => held === attempt;
  const atHome = (inCell: string, onHost: string, running: number) =>
    (inCell === cell && onHost === host && running === attempt) || owes.mayRun(inCell, onHost, running);
  const base = { instance, state, cell, host, attempt, ...NOTHING, ...owes };
  switch (state) {
    case 'active':
      return { ...base, mustHold: true, mustRun: true, mayHold: isHome, mayRun: atHome };
    case 'claimed':
    case 'building':
      return { ...base, mustHold: true, mayHold: isHome, mayRun: atHome };
    case 'rescheduling':
      // One command gives back the one and takes the other: either may be held, never nothing else.
      return { ...base, mayHold: (held) => held === attempt || held === attempt + 1 };
    case 'lost':
      // It keeps its resources until it is deleted, and nothing of it runs.
      return { ...base, mustHold: true, mayHold: isHome };
    case 'deleting':
      return { ...base, isOwed: always };
    default:
      return base;
  }
}

/** What is still to be cleared away of an instance: with the last of it, all that it holds. */
function obligations(cell: string, removals: readonly RemovalView[]): Pick<Account, 'isOwed' | 'mayRun'> {
  return {
    isOwed: (held) => removals.some(({ attempt, final }) => final || attempt === held),
    mayRun: (inCell, onHost, running) =>
      inCell === cell && removals.some(({ host, attempt }) => host === onHost && attempt === running),
  };
}
