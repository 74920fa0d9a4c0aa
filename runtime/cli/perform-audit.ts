// Performs an audit for a command: connects, looks, prints, and says how to exit.

import { type AuditResult, audit, exitCodeOf } from '../audit/audit.ts';
import { cellsHeard } from '../audit/cells.ts';
import { connectNats } from '../bus/nats.ts';
import { clientOf } from '../client.ts';
import { asking } from '../gateway/asking.ts';
import { outboxOf } from '../outbox.ts';
import { subjectsOf } from '../subjects.ts';
import { systemClock } from '../system-clock.ts';
import { onInterrupt } from './interrupt.ts';
import { figure } from './text.ts';

export interface AuditFlags {
  servers: string[];
  prefix: string;
  json?: boolean;
  repair?: boolean;
  pause: number;
  overdue: number;
}

/** How long an owner may take to answer, ms; beyond it, it counts as down. */
const ANSWER_MS = 5_000;

export async function performAudit(flags: AuditFlags): Promise<void> {
  const { servers, prefix, json = false, repair = false } = flags;
  const subjects = subjectsOf(prefix);
  const clock = systemClock();
  const interrupt = onInterrupt();
  const bus = await connectNats({ servers, name: 'audit' });
  try {
    const name = `audit-${process.pid}-${clock.now().toString(36)}`;
    // Who was asked to mend something answers, which is of no interest here: the next look shows whether it helped.
    const onError = () => undefined;
    const outbox = outboxOf({ bus, clock, subjects, events: false, onError });
    const asker = asking({ name, bus, clock, outbox, subjects, timeoutMs: ANSWER_MS, onError });
    const client = clientOf({ bus, clock, subjects });
    const cells = await cellsHeard({ bus, clock, subjects }, interrupt.signal);
    const result = await audit({
      asking: asker,
      client,
      clock,
      outbox,
      cells,
      repair,
      pauseMs: flags.pause * 1_000,
      overdueMs: flags.overdue * 60_000,
      signal: interrupt.signal,
    });
    asker.stop();
    console.log(json ? JSON.stringify(result, null, 2) : linesOf(result).join('\n'));
    process.exitCode = exitCodeOf(result);
  } finally {
    interrupt.dispose();
    await bus.close();
  }
}

/** What came of an audit, for people. */
export function linesOf({ findings, unknown, repaired, looked }: AuditResult): string[] {
  const { cells, hosts, instances, consumers, providers } = looked;
  const lines = [
    `looked at ${figure(cells)} cells, ${figure(hosts)} hosts, ${figure(instances)} instances, ` +
      `${figure(consumers)} consumers of ${figure(providers)} providers`,
    ...repaired.map((what) => `mended: ${what}`),
    ...findings.flatMap(({ kind, what, whose }) => [`${kind}: ${what}`, `  ${whose}`]),
    ...unknown.map((what) => `not known: ${what}`),
  ];
  if (findings.length > 0)
    lines.push(`${figure(findings.length)} ${findings.length === 1 ? 'thing does' : 'things do'} not add up`);
  else lines.push(unknown.length > 0 ? 'all that could be looked at adds up' : 'everything adds up');
  return lines;
}
