// The summary at the end of a replay, for people: outcomes, reasons, kinds, invariants, figures. Pure.

import { clipped } from '../../actors/messages/common.ts';
import { problemsOf, type ReplayResult } from '../replay/result.ts';
import type { FaultKind } from '../replay/verify/fault.ts';
import { countOf } from '../replay/verify/faults.ts';
import { countsText, figure, seconds, table } from './text.ts';

/** How many problems are shown; the number of all is told. */
const MOST_PROBLEMS = 20;
/** How much of a text is shown, in characters. */
const MOST_SHOWN = 200;
const FAULT_KINDS: readonly FaultKind[] = ['overcommitted', 'leaked', 'two-homes', 'misplaced', 'not-running'];

export function summaryOf(result: ReplayResult): string[] {
  const { settings, accounts, figures, faults, runMs, wallMs } = result;
  const { requested, active, deleted, failed, failedByReason, examples, kinds } = accounts;
  const rows = Object.entries(kinds).map(([kind, account]) => rowOf(kind, account));
  const problems = problemsOf(result);
  const virtually = settings.on === 'memory' ? `, ${seconds(runMs)} of virtual time` : '';
  return [
    `${settings.workload}: ${figure(settings.hosts)} hosts in ${figure(settings.cells)} cells, seed ${settings.seed}, ` +
      `speed ${figure(settings.speed, 1)}, ${failing(settings.failRate)}${settings.alternates} alternates`,
    '',
    ...table([['kind', 'requested', 'active', 'deleted', 'failed'], ...rows, rowOf('all', accounts)]),
    '',
    `accounted for   ${figure(active)} active + ${figure(deleted)} deleted + ${figure(failed)} failed of ${figure(requested)} requested`,
    `failed          ${countsText(failedByReason) || 'none'}`,
    ...Object.entries(examples).map(([reason, example]) => `  ${reason}: ${clipped(example, MOST_SHOWN)}`),
    `reschedules     ${figure(figures.reschedules)}`,
    `attempts failed ${countsText(figures.attemptsFailed) || 'none'}`,
    `invariants      ${FAULT_KINDS.map((kind) => `${kind} ${countOf(faults, kind)}`).join(', ')}`,
    `builds          ${figure(figures.built)}, ${figure(figures.buildsPerSecond, 1)}/s${latency(figures)}`,
    `took            ${seconds(wallMs)}${virtually}`,
    ...(problems.length === 0
      ? ['every request is accounted for, and the final state is sound']
      : [
          `${figure(problems.length)} problems:`,
          ...problems.slice(0, MOST_PROBLEMS).map((what) => `  ${clipped(what, MOST_SHOWN)}`),
        ]),
  ];
}

/** Nothing where nothing became active: it would look like no time at all. */
function latency({ built, p50Ms, p99Ms }: ReplayResult['figures']): string {
  return built === 0 ? '' : `; accepted to active p50 ${figure(p50Ms)} ms, p99 ${figure(p99Ms)} ms`;
}

/** Nothing where no builds are made to fail: those of a fleet's flaky hosts fail all the same. */
function failing(rate: number): string {
  return rate === 0 ? '' : `${Number((rate * 100).toPrecision(3))} % of builds fail, `;
}

function rowOf(name: string, one: { requested: number; active: number; deleted: number; failed: number }): string[] {
  return [name, figure(one.requested), figure(one.active), figure(one.deleted), figure(one.failed)];
}
