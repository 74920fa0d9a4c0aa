// Performs a replay for a command: shows it live, prints the summary, writes the record, and says how to exit.

import { type ReplayOptions, replay } from '../replay/replay.ts';
import { problemsOf, type ReplayResult, recordOf } from '../replay/result.ts';
import { DEFAULT_PREFIX } from '../subjects.ts';
import type { Workload } from '../workload/workload.ts';
import { type Display, showLive } from './display.ts';
import { checkWritable, peoplesOutput, writeTo } from './files.ts';
import { hintsFor } from './hints.ts';
import { onInterrupt } from './interrupt.ts';
import type { AccessFlags } from './server-flags.ts';
import { summaryOf } from './summary.ts';
import { printable } from './text.ts';

export interface PerformOptions extends Omit<ReplayOptions, 'onStart' | 'whileUp' | 'signal'> {
  /** Where the record is written. Default: nowhere. */
  readonly json?: string;
  /**
   * Whether the system stays when the replay is over, until it is interrupted; it is then told how to look around, or how to
   * have it stay. Absent: it cannot stay, so nothing is told.
   */
  readonly serve?: boolean;
  /** The flags by which the server let this command in, for those that follow. */
  readonly access?: AccessFlags;
}

/**
 * Performs it, and sets the exit code: 0 when every request is accounted for and the final state is sound, else 1.
 * @throws CellwrightError `interrupted`, `unwritable`; what `replay` throws.
 */
export async function perform(
  workload: Workload,
  { json, serve, access = {}, ...options }: PerformOptions,
): Promise<void> {
  checkWritable('json', json);
  const output = peoplesOutput(json);
  const say = (text: string) => output.write(`${text}\n`);
  const interrupt = onInterrupt();
  let display: Display | undefined;
  let url: string | null = null;
  const prefix = options.on === 'memory' ? DEFAULT_PREFIX : (options.on.prefix ?? DEFAULT_PREFIX);

  async function whileUp(result: ReplayResult): Promise<void> {
    display?.stop();
    say(`\n${printable(summaryOf(result))}\n`);
    const [host] = workload.hosts;
    if (url !== null && host !== undefined && serve !== undefined)
      say(hintsFor({ url, prefix, host, serving: serve, access }).join('\n'));
    if (serve !== true) return;
    say('\nCtrl-C ends it.');
    await interrupt.happened;
  }

  try {
    const result = await replay(workload, {
      ...options,
      onStart(live) {
        url = live.url;
        if (url !== null) say(`NATS at ${url}`);
        display = showLive(live, workload.requested, output);
      },
      whileUp,
      signal: interrupt.signal,
    });
    if (json !== undefined) writeTo('json', json, `${JSON.stringify(recordOf(result), null, 2)}\n`);
    process.exitCode = problemsOf(result).length === 0 ? 0 : 1;
  } finally {
    display?.stop();
    interrupt.dispose();
  }
}
