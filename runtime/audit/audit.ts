// The audit: looks, compares, and looks again, so that what is only a step under way is not taken for a fault. It mends
// only when it is told to, only what is certainly dead, and then looks whether it helped.

import { append } from '../../actors/multimap.ts';
import type { Client } from '../client.ts';
import type { Clock } from '../clock.ts';
import { CellwrightError } from '../errors.ts';
import type { Asking } from '../gateway/asking.ts';
import type { Outbox } from '../outbox.ts';
import { interruption, limitOf } from '../pause.ts';
import { type Compared, compare } from './compare.ts';
import { type Finding, keyOf, type Repair } from './finding.ts';
import { type Look, lookAround } from './look.ts';
import { carryOut } from './repair.ts';

export interface AuditOptions {
  readonly asking: Asking;
  readonly client: Client;
  readonly clock: Clock;
  readonly outbox: Outbox;
  /** Cells that are known to be there, besides those that instances are in. */
  readonly cells: Iterable<string>;
  /** How many placement shards the deployment has; default 1. */
  readonly placementShards?: number;
  /** Whether what is certainly dead is cleared away; default false. */
  readonly repair?: boolean;
  /**
   * How long to wait before the second look, ms; default 5,000: longer than a step takes from one owner to the next. A
   * step that is lost on the way takes longer, but is owed by somebody, and that is seen.
   */
  readonly pauseMs?: number;
  /** How long something may be owed before it is told, ms; default 10 minutes. */
  readonly overdueMs?: number;
  readonly signal?: AbortSignal;
}

export interface AuditResult {
  /** What does not add up, seen twice; after a repair, what is left of it. */
  readonly findings: readonly Finding[];
  /** What could not be looked at, and so is not known. */
  readonly unknown: readonly string[];
  /** What was asked for to mend it, for people; what of it did not help is among the findings. */
  readonly repaired: readonly string[];
  /** How much was looked at. */
  readonly looked: Readonly<Record<'cells' | 'hosts' | 'instances' | 'consumers' | 'providers', number>>;
}

const WHAT = 'the audit';
const DEFAULTS = { pauseMs: 5_000, overdueMs: 600_000 } as const;
/** What is destroyed in one round is given back in the next. */
const MAX_ROUNDS = 4;
/** Of how many findings it may be uncertain in one round whether they may be mended. */
const MOST_LEFT = 3;

export async function audit(options: AuditOptions): Promise<AuditResult> {
  const repaired = new Set<string>();
  /** What could not be made certain of a finding in the last round, and so was left. */
  const left = new Map<string, string[]>();
  /** Of which that was so in any round: they come after the others, whom they would else keep waiting in each. */
  const doubted = new Set<string>();
  for (let round = 1; ; round += 1) {
    const { compared, look } = await confirmed(options);
    const repairs = compared.findings.flatMap((finding) => finding.repairs.map((repair) => ({ finding, repair })));
    if (options.repair !== true || repairs.length === 0 || round === MAX_ROUNDS) {
      const unsure = compared.findings.flatMap((finding) => left.get(keyOf(finding)) ?? []);
      const unknown = [...compared.unknown, ...unsure];
      return { ...compared, unknown, repaired: [...repaired], looked: extentOf(look) };
    }
    left.clear();
    const isDoubted = ({ finding }: { finding: Finding }) => Number(doubted.has(keyOf(finding)));
    for (const { finding, repair } of repairs.toSorted((one, other) => isDoubted(one) - isDoubted(other))) {
      if (options.signal?.aborted === true) throw interruption(WHAT);
      // Whoever does not answer would be waited for again and again: it is looked anew first.
      if (left.size >= MOST_LEFT) break;
      try {
        const done = await carryOut(repair, options);
        if (done !== null) repaired.add(done);
      } catch (error) {
        // One that cannot be made certain keeps nobody from mending the others, nor from hearing of it.
        if (!(error instanceof CellwrightError) || error.code === 'closed') throw error;
        const why = `whether '${subjectOf(repair)}' may be mended: ${error.message}`;
        append(left, keyOf(finding), why);
        doubted.add(keyOf(finding));
      }
    }
    await limitOf(options.clock, options.pauseMs ?? DEFAULTS.pauseMs, WHAT, options.signal).over;
  }
}

const subjectOf = (repair: Repair): string => (repair.type === 'release' ? repair.consumer : repair.instance);

/** Looks, and if anything does not add up or was not there, looks again: what is found twice counts. */
async function confirmed(options: AuditOptions): Promise<{ compared: Compared; look: Look }> {
  const { clock, signal, pauseMs = DEFAULTS.pauseMs, overdueMs = DEFAULTS.overdueMs } = options;
  const first = await lookAround(options);
  const seen = compare(first, overdueMs);
  if (seen.findings.length === 0 && seen.unknown.length === 0) return { compared: seen, look: first };
  await limitOf(clock, pauseMs, WHAT, signal).over;
  const look = await lookAround(options);
  const again = compare(look, overdueMs);
  const keys = new Set(seen.findings.map(keyOf));
  const findings = again.findings.filter((finding) => keys.has(keyOf(finding)));
  return { compared: { findings, unknown: again.unknown }, look };
}

function extentOf({ placement, cells }: Look): AuditResult['looked'] {
  const seen = [...cells.values()].filter((cell) => cell !== null);
  return {
    cells: seen.length,
    hosts: seen.reduce((sum, { hosts }) => sum + hosts.length, 0),
    instances: seen.reduce((sum, { instances }) => sum + instances.length, 0),
    consumers: placement?.consumers.length ?? 0,
    providers: placement?.providers.length ?? 0,
  };
}

/** 1 when something does not add up; else 2 when not everything could be looked at; else 0. */
export function exitCodeOf({ findings, unknown }: Pick<AuditResult, 'findings' | 'unknown'>): 0 | 1 | 2 {
  if (findings.length > 0) return 1;
  return unknown.length > 0 ? 2 : 0;
}
