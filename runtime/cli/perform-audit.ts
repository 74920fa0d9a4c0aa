// Performs an audit for a command: connects, looks, prints, and says how to exit.

import { unlessAborted } from '../abortable.ts';
import { type AuditResult, exitCodeOf } from '../audit/audit.ts';
import { auditOn } from '../audit/auditor.ts';
import { connectNats } from '../bus/nats.ts';
import { placementShardsOf } from '../deployment.ts';
import { CellwrightError } from '../errors.ts';
import { subjectsOf } from '../subjects.ts';
import { systemClock } from '../system-clock.ts';
import { IS_THAT_THE_SYSTEM, withFlagsIn } from './hints.ts';
import { onInterrupt } from './interrupt.ts';
import { deploymentWords, natsOf, type ServerFlags } from './server-flags.ts';
import { tell } from './tell.ts';
import { counted, figure, printable } from './text.ts';

export interface AuditFlags extends ServerFlags {
  prefix: string;
  json?: boolean;
  repair?: boolean;
  pause: number;
  overdue: number;
}

export async function performAudit(flags: AuditFlags): Promise<void> {
  const { prefix, json = false, repair = false } = flags;
  const subjects = subjectsOf(prefix);
  const interrupt = onInterrupt();
  const bus = await connectNats({ ...natsOf(flags), name: 'audit', signal: interrupt.signal, onError: tell });
  let result: AuditResult;
  try {
    result = await auditOn({
      bus,
      clock: systemClock(),
      subjects,
      placementShards: await unlessAborted(placementShardsOf({ bus, subjects }), interrupt.signal, 'the audit'),
      repair,
      pauseMs: flags.pause * 1_000,
      overdueMs: flags.overdue * 60_000,
      signal: interrupt.signal,
    });
  } catch (error) {
    if (!(error instanceof CellwrightError) || error.code !== 'interrupted') throw error;
    throw new CellwrightError('interrupted', 'the audit was interrupted', { cause: error });
  } finally {
    interrupt.dispose();
    await bus.close();
  }
  console.log(json ? JSON.stringify(result, null, 2) : printable(linesOf(result, deploymentWords(flags))));
  process.exitCode = exitCodeOf(result);
}

/**
 * What came of an audit, for people.
 * @param deployment The flags by which a command reaches this deployment.
 */
export function linesOf({ findings, unknown, repaired, looked }: AuditResult, deployment = ''): string[] {
  const { cells, hosts, instances, consumers, providers } = looked;
  const lines = [
    `looked at ${counted(cells, 'cell')}, ${counted(hosts, 'host')}, ${counted(instances, 'instance')}, ` +
      `${counted(consumers, 'consumer')} of ${counted(providers, 'provider')}`,
    ...repaired.map((what) => `repair: ${what}`),
    ...findings.flatMap(({ kind, what, whose }) => [`${kind}: ${what}`, `  ${whose}`]),
    ...unknown.map((what) => `not known: ${what}`),
  ];
  if (findings.length > 0)
    lines.push(`${figure(findings.length)} ${findings.length === 1 ? 'thing does' : 'things do'} not add up`);
  else if (Object.values(looked).every((count) => count === 0) && unknown.length > 0)
    lines.push(`nothing could be looked at: ${IS_THAT_THE_SYSTEM}`);
  else lines.push(unknown.length > 0 ? 'all that could be looked at adds up' : 'everything adds up');
  return lines.map((line) => withFlagsIn(line, deployment));
}
