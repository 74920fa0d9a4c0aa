// Performs a replay for a command: shows it live, prints the summary, writes the record, and says how to exit.

import { writeFileSync } from 'node:fs';
import { CellwrightError, messageOf } from '../errors.ts';
import { type ReplayOptions, replay } from '../replay/replay.ts';
import { problemsOf, type ReplayResult, recordOf } from '../replay/result.ts';
import { DEFAULT_PREFIX } from '../subjects.ts';
import type { Workload } from '../workload/workload.ts';
import { type Display, showLive } from './display.ts';
import { hintsFor } from './hints.ts';
import { onInterrupt } from './interrupt.ts';
import { summaryOf } from './summary.ts';

export interface PerformOptions extends Omit<ReplayOptions, 'onStart' | 'whileUp' | 'signal'> {
  /** Where the record is written. Default: nowhere. */
  readonly json?: string;
  /** Whether the system stays when the replay is over, until it is interrupted; default false. */
  readonly serve?: boolean;
}

/**
 * Performs it, and sets the exit code: 0 when every request is accounted for and the final state is sound, else 1.
 * @throws CellwrightError `interrupted`, `json-unwritable`; what `replay` throws.
 */
export async function perform(workload: Workload, { json, serve = false, ...options }: PerformOptions): Promise<void> {
  const interrupt = onInterrupt();
  let display: Display | undefined;
  let url: string | null = null;

  async function whileUp(result: ReplayResult): Promise<void> {
    display?.stop();
    console.log(`\n${summaryOf(result).join('\n')}\n`);
    if (url !== null) console.log(hintsFor(url, DEFAULT_PREFIX, serve).join('\n'));
    if (!serve) return;
    console.log('\nCtrl-C ends it.');
    await interrupt.happened;
  }

  try {
    const result = await replay(workload, {
      ...options,
      onStart(live) {
        url = live.url;
        if (url !== null) console.log(`NATS at ${url}`);
        display = showLive(live, workload.requested);
      },
      whileUp,
      signal: interrupt.signal,
    });
    if (json !== undefined) write(json, recordOf(result));
    process.exitCode = problemsOf(result).length === 0 ? 0 : 1;
  } finally {
    display?.stop();
    interrupt.dispose();
  }
}

function write(file: string, record: Record<string, unknown>): void {
  try {
    writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`);
  } catch (cause) {
    throw new CellwrightError('json-unwritable', `--json: '${file}' cannot be written: ${messageOf(cause)}`, { cause });
  }
}
