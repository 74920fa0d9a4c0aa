// Compares what was seen in one look, and says what does not add up and whose obligation it is. Pure. A finding of one
// look may be nothing but a step under way: only what is found twice, with a pause in between, counts.

import { attemptKey } from '../../actors/attempts.ts';
import { accountsOf, never } from './accounts.ts';
import { capacityDifferences } from './capacity.ts';
import type { Account, Difference } from './differences.ts';
import { type Finding, type Repair, whoseIs } from './finding.ts';
import { holdingDifferences } from './holding.ts';
import { type Look, placeOf } from './look.ts';
import { type Lookups, lookupsIn } from './lookups.ts';
import { disagreements } from './owners.ts';
import { runningDifferences } from './running.ts';
import { unknownIn } from './unknown.ts';
import { overdue, stuck } from './waiting.ts';

export interface Compared {
  readonly findings: readonly Finding[];
  /** What could not be looked at, and so is not known, for people. */
  readonly unknown: readonly string[];
}

/** @param overdueMs How long something may be owed before it is told. */
export function compare(look: Look, overdueMs: number): Compared {
  const accounts = accountsOf(look);
  const lookups = lookupsIn(look);
  const unknown = unknownIn(look);
  const differences = [...placementDifferences(look, accounts, lookups), ...hostDifferences(look, accounts)];
  // Only where all owners and all hosts were seen is what nobody knows known to be nobody's.
  const mayMend = unknown.length === 0;
  return {
    findings: [
      ...differences.map((difference) => findingOf(difference, look, { accounts, lookups, mayMend })),
      ...disagreements(look),
      ...stuck(look),
      ...overdue(look, overdueMs),
    ],
    unknown,
  };
}

interface Known {
  readonly accounts: ReadonlyMap<string, Account>;
  readonly lookups: Lookups;
  readonly mayMend: boolean;
}

function placementDifferences(look: Look, accounts: Known['accounts'], lookups: Lookups): Difference[] {
  if (look.placement === null) return [];
  const { providers, consumers, inDoubt, steady } = look.placement;
  const capacity = capacityDifferences(providers, consumers, inDoubt).filter(
    // Of a provider that is busy the figures do not belong together.
    ({ provider = '' }) => steady.has(provider) || !lookups.isProvider(provider),
  );
  const holding = holdingDifferences(providers, consumers, accounts).filter(
    ({ instance = '' }) => accounts.has(instance) || isNobodys(look, instance, lookups),
  );
  return [...capacity, ...holding];
}

/**
 * Whether everybody who could know a consumer was asked: the super conductor, and the cells of the hosts on which it
 * holds resources. A provider that is no host's, and serves others, has no cell to ask.
 */
function isNobodys({ placement, conducted, cells }: Look, consumer: string, lookups: Lookups): boolean {
  if (placement === null || conducted === null) return false;
  const everyCell = [...cells.values()].every((cell) => cell !== null);
  return lookups
    .heldBy(consumer)
    .every(({ allocations }) =>
      allocations.every(({ provider }) => everyCell || lookups.isOfHost(lookups.rootOf(provider) ?? '')),
    );
}

function hostDifferences({ driven, cells, conducted }: Look, accounts: ReadonlyMap<string, Account>): Difference[] {
  const onHosts = [...driven.values()].flatMap((found) => found ?? []);
  const isKnown = (cell: string, host: string) => (driven.get(placeOf(cell, host)) ?? null) !== null;
  return runningDifferences('driver', onHosts, accounts, isKnown).filter(
    // An instance that its own cell does not know may be another's, which could not be asked.
    ({ instance = '' }) => accounts.has(instance) || (conducted !== null && [...cells.values()].every(Boolean)),
  );
}

function findingOf(difference: Difference, look: Look, known: Known): Finding {
  const { kind, what, instance, attempts, cell, host, provider } = difference;
  const isOthers = isOnHost(difference) ? isForeign(look, difference, known.lookups) : false;
  const repairs = known.mayMend && isOthers === false ? repairsOf(difference, known) : [];
  return { kind, what, whose: whoseIs(difference, isOthers), instance, attempts, cell, host, provider, repairs };
}

/** Whether it is of what is on a host: an instance may have its two homes in two trees. */
const isOnHost = ({ kind, host }: Difference) =>
  kind === 'running-without-record' || (kind === 'two-homes' && host !== undefined);

/**
 * Whether it is of what was on a host before its cell knew the host: that may be alive, whoever has ordered it. Null: its
 * cell does not tell.
 */
function isForeign(
  { cells }: Look,
  { cell = '', host = '', instance = '', attempts = [] }: Difference,
  lookups: Lookups,
): boolean | null {
  const foreign = lookups.hostAt(cell, host)?.foreign;
  if (foreign === undefined) return cells.get(cell)?.tellsForeign === true ? false : null;
  const { count, named } = foreign;
  return count > named.length || attempts.some((attempt) => named.includes(attemptKey({ instance, attempt })));
}

function repairsOf(difference: Difference, { accounts, lookups }: Known): Repair[] {
  const { kind, instance, attempts = [], cell, host } = difference;
  if (instance === undefined) return [];
  const account = accounts.get(instance);
  // Attempts only count up: what comes before the one that counts is dead, whatever happens meanwhile.
  const isOver = (attempt: number) =>
    account?.attempt === undefined || account.mayHold === never || attempt < account.attempt;
  if (cell !== undefined && host !== undefined && isOnHost(difference)) {
    return attempts.filter(isOver).map((attempt) => ({ type: 'destroy', cell, host, instance, attempt }));
  }
  if (kind !== 'leaked-allocation' && kind !== 'two-homes') return [];
  const runs = lookups.runsOf(instance);
  if (account === undefined) return runs.length > 0 ? [] : [{ type: 'release', consumer: instance, attempt: null }];
  return attempts
    .filter((attempt) => isOver(attempt) && !runs.some((one) => one.attempt === attempt))
    .map((attempt) => ({ type: 'release', consumer: instance, attempt }));
}
