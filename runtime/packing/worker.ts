// A process that performs packing experiments, one after the other. See runs.ts for what it hears and says.

import { CellwrightError } from '../errors.ts';
import { type Experiment, perform } from './experiment.ts';
import type { ForWorker, FromWorker } from './runs.ts';
import type { PackingTrace } from './trace.ts';

const startedBy = process.ppid;
let trace: PackingTrace | undefined;

process.on('message', (told: ForWorker) => {
  if ('trace' in told) trace = told.trace;
  else if (trace !== undefined) say(answerTo(trace, told.experiment));
});
// Ctrl-C comes to all processes of a terminal: whoever began the work ends it.
process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit());

function answerTo(on: PackingTrace, experiment: Experiment): FromWorker {
  try {
    const outcome = perform(on, experiment, (part) => {
      endIfAlone();
      say({ type: 'progress', part });
    });
    return { type: 'done', outcome };
  } catch (error) {
    // Whatever is not known for what it is ends the process, with its stack.
    if (!(error instanceof CellwrightError)) throw error;
    const { code, message, field } = error;
    return { type: 'failed', code, message, ...(field === undefined ? {} : { field }) };
  }
}

/** Whoever began the work was killed: in the midst of it no disconnection is heard. */
function endIfAlone(): void {
  if (process.ppid !== startedBy) process.exit();
}

function say(said: FromWorker): void {
  // Whoever began the work may be gone, and then nobody hears it.
  process.send?.(said, undefined, undefined, () => {});
}
