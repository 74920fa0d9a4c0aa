// What should have come to an end by now: builds past their deadlines, and what is owed for too long. Pure.

import type { InstanceView, RemovalView } from '../../actors/messages/gateway.ts';
import type { HostState } from '../../actors/messages/scheduler.ts';
import type { Finding } from './finding.ts';
import type { CellLook, Look } from './look.ts';
import { fenceCommand } from './unknown.ts';

/** How long a build may be past its deadline before it is told, ms. */
const GRACE_MS = 60_000;

export function stuck({ at, cells, conducted }: Look): Finding[] {
  const findings: Finding[] = [];
  const tell = ({ instance, state, deadlineAt, attempt }: InstanceView, who: string, cell?: string) => {
    if (deadlineAt === undefined || deadlineAt + GRACE_MS >= at) return;
    const what = `'${instance}' is ${state} since before its deadline, which was ${ago(at - deadlineAt)} ago`;
    const whose = `${who}: it ends what is past its deadline, and has not`;
    findings.push({ kind: 'stuck', what, whose, instance, attempts: [attempt ?? 0], cell, repairs: [] });
  };
  for (const [cell, seen] of cells) for (const view of seen?.instances ?? []) tell(view, `cell '${cell}'`, cell);
  for (const view of conducted?.values() ?? []) tell(view, 'the super conductor');
  return findings;
}

export function overdue({ at, cells, conducted }: Look, overdueMs: number): Finding[] {
  const findings: Finding[] = [];
  const told = new Set<string>();
  for (const [cell, seen] of cells) {
    if (seen === null) continue;
    for (const removal of seen.removals) {
      if (removal.since === undefined || removal.since + overdueMs >= at) continue;
      told.add(removal.instance);
      findings.push(overdueRemoval(removal, at - removal.since, cell, seen));
    }
  }
  for (const { instance, owes, owedSince, cell } of conducted?.values() ?? []) {
    if (owes === undefined || owedSince === undefined || owedSince + overdueMs >= at || told.has(instance)) continue;
    const since = `since ${ago(at - owedSince)}`;
    if (owes === 'release') {
      const what = `what was claimed for '${instance}' is owed back ${since}`;
      const whose = 'the super conductor: it asks placement again until it is answered';
      findings.push({ kind: 'overdue', what, whose, instance, repairs: [] });
    } else if (cell !== undefined && (cells.get(cell) ?? null) !== null) {
      const what = `'${instance}' is to be deleted ${since}, and cell '${cell}' has not said that it is`;
      const whose = 'the super conductor: it asks the cell again until it is answered';
      const repairs = [{ type: 'do-again' as const, cell, instance }];
      findings.push({ kind: 'overdue', what, whose, instance, cell, repairs });
    }
  }
  return findings;
}

function overdueRemoval(removal: RemovalView, waitedMs: number, cell: string, { hosts }: CellLook): Finding {
  const { instance, attempt, state, host } = removal;
  const left = `what is left of attempt ${attempt} of '${instance}'`;
  const found = { kind: 'overdue' as const, instance, attempts: [attempt], cell };
  const repairs = [{ type: 'do-again' as const, cell, instance }];
  if (state !== 'destroying' || host === null) {
    const what = `${left} is owed back since ${ago(waitedMs)}`;
    return { ...found, what, whose: `cell '${cell}': it asks placement again until it is answered`, repairs };
  }
  const standing: HostState['state'] | undefined = hosts.find((one) => one.host === host)?.state;
  const what = `${left} waits for host '${cell}/${host}' since ${ago(waitedMs)}`;
  if (standing !== 'down') {
    const whose = `host '${cell}/${host}': it is ${standing ?? 'not known'}, and has not destroyed it`;
    return { ...found, host, what, whose, repairs };
  }
  const whose = `the operator: host '${cell}/${host}' is down; when nothing runs there for certain: ${fenceCommand(cell, host)}`;
  return { ...found, host, what, whose, repairs: [] };
}

/** A time in words, in the largest unit of which there are two or more. */
function ago(ms: number): string {
  const units = [
    ['days', 86_400_000],
    ['hours', 3_600_000],
    ['minutes', 60_000],
  ] as const;
  const unit = units.find(([, length]) => ms >= 2 * length);
  return unit === undefined ? `${Math.round(ms / 1_000)} seconds` : `${Math.floor(ms / unit[1])} ${unit[0]}`;
}
