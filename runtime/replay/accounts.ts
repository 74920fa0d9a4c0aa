// The accounts of a replay: what became of every instance that the workload asks for, by the lists of their owners.
// Pure; what the lists do not answer for is named as missing, never guessed.

import type { InstanceView } from '../../actors/messages/gateway.ts';
import { type Arrival, instanceIds } from '../workload/workload.ts';
import type { Census } from './census.ts';
import type { Refusal } from './player.ts';

interface KindAccount {
  requested: number;
  active: number;
  deleted: number;
  failed: number;
}

export interface Accounts extends Readonly<KindAccount> {
  /** By code; `refused-<code>` when the API did not take the request. */
  readonly failedByReason: Readonly<Record<string, number>>;
  /** For one instance of each reason, what was said. */
  readonly examples: Readonly<Record<string, string>>;
  /** By the kind of the request. */
  readonly kinds: Readonly<Record<string, Readonly<KindAccount>>>;
  /** Instances that have come to no end, each with the state that it is in. */
  readonly unfinished: readonly string[];
  /** Instances of which an owner that should know them does not, each with what is known. */
  readonly missing: readonly string[];
}

export interface AccountsInput {
  readonly arrivals: Iterable<Arrival>;
  readonly census: Pick<Census, 'conducted' | 'inCells'>;
  /** The requests that the API did not take, with its last answer. */
  readonly refused: ReadonlyMap<string, Refusal>;
}

type Standing =
  | { readonly outcome: 'active' | 'deleted' }
  | { readonly outcome: 'failed'; readonly reason: string; readonly message: string }
  | { readonly outcome: 'unfinished' | 'missing'; readonly told: string };

export function accountsOf({ arrivals, census, refused }: AccountsInput): Accounts {
  const inCells = new Map(census.inCells.map((view) => [view.instance, view]));
  const total = emptyAccount();
  const kinds = new Map<string, KindAccount>();
  const reasons = new Map<string, number>();
  const examples = new Map<string, string>();
  const unfinished: string[] = [];
  const missing: string[] = [];

  for (const arrival of arrivals) {
    const ofKind = kinds.get(arrival.kind) ?? emptyAccount();
    kinds.set(arrival.kind, ofKind);
    for (const instance of instanceIds(arrival)) {
      const view = census.conducted.get(instance);
      const standing = standingOf(view, inCells.get(instance), refused.get(arrival.id));
      total.requested += 1;
      ofKind.requested += 1;
      if (standing.outcome === 'unfinished') unfinished.push(`'${instance}' is ${standing.told}`);
      else if (standing.outcome === 'missing') missing.push(`'${instance}': ${standing.told}`);
      else {
        total[standing.outcome] += 1;
        ofKind[standing.outcome] += 1;
      }
      if (standing.outcome !== 'failed') continue;
      reasons.set(standing.reason, (reasons.get(standing.reason) ?? 0) + 1);
      if (!examples.has(standing.reason)) examples.set(standing.reason, `'${instance}': ${standing.message}`);
    }
  }
  return {
    ...total,
    failedByReason: sorted(reasons),
    examples: sorted(examples),
    kinds: sorted(kinds),
    unfinished,
    missing,
  };
}

/** Whether an instance that the conductor lists has come to an end, as far as the conductor can tell. */
function isFinal({ state }: InstanceView): boolean {
  return state === 'active' || state === 'deleted' || state === 'failed';
}

function standingOf(
  conducted: InstanceView | undefined,
  inCell: InstanceView | undefined,
  refusal: Refusal | undefined,
): Standing {
  if (conducted === undefined) {
    if (inCell !== undefined) return { outcome: 'missing', told: 'a cell has it, no conductor knows it' };
    if (refusal === undefined) return { outcome: 'missing', told: 'no conductor knows it' };
    const message = `the API did not take the request: ${refusal.message}`;
    return { outcome: 'failed', reason: `refused-${refusal.code}`, message };
  }
  if (conducted.state === 'deleted') {
    return inCell === undefined ? { outcome: 'deleted' } : { outcome: 'unfinished', told: `still ${inCell.state}` };
  }
  if (conducted.cell !== undefined && inCell === undefined && isFinal(conducted)) {
    return { outcome: 'missing', told: `${conducted.state}, but cell '${conducted.cell}' does not have it` };
  }
  // Of an instance that was handed over, the cell has the last word.
  const view = inCell ?? conducted;
  if (view.state === 'active') return { outcome: 'active' };
  if (view.state !== 'failed') return { outcome: 'unfinished', told: view.state };
  const { code, message } = view.failure ?? { code: 'unknown', message: 'no reason is told' };
  return { outcome: 'failed', reason: code, message };
}

function emptyAccount(): KindAccount {
  return { requested: 0, active: 0, deleted: 0, failed: 0 };
}

function sorted<Value>(entries: ReadonlyMap<string, Value>): Record<string, Value> {
  return Object.fromEntries([...entries].sort(([one], [other]) => (one < other ? -1 : 1)));
}
