// All runs of a packing experiment, in as many processes as there are processors. What comes of a run depends on its
// policy and seed alone, so how the runs are dealt changes nothing but the time.

import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CellwrightError, MalformedError } from '../errors.ts';
import type { Experiment, Outcome } from './experiment.ts';
import type { PackingTrace } from './trace.ts';

export interface Run extends Experiment, Outcome {}

interface RunsOptions {
  /** Told after each step which parts of all runs are done, 0 to 1, in the order of the experiments. */
  onProgress?(parts: readonly number[]): void;
  signal?: AbortSignal;
}

/** What a worker is told: the trace once, then one experiment after the other. */
export type ForWorker = { readonly trace: PackingTrace } | { readonly experiment: Experiment };

/** What a worker says. */
export type FromWorker =
  | { readonly type: 'progress'; readonly part: number }
  | { readonly type: 'done'; readonly outcome: Outcome }
  | { readonly type: 'failed'; readonly code: string; readonly message: string; readonly field?: string };

/** The processes of an experiment. */
export interface Workers {
  /**
   * Performs all experiments; the runs come in their order.
   * @throws CellwrightError `interrupted`; what a run throws.
   */
  perform(trace: PackingTrace, experiments: readonly Experiment[], options?: RunsOptions): Promise<Run[]>;
  /** Ends them, whatever they are at. */
  stop(): void;
}

/** Starts as many processes as so many runs can use. They take a moment to come up, in which the trace can be read. */
export function startWorkers(runs: number): Workers {
  const workers = Array.from({ length: Math.min(availableParallelism(), runs) }, newWorker);
  return {
    async perform(trace, experiments, { onProgress, signal } = {}) {
      const parts = experiments.map(() => 0);
      const outcomes: Outcome[] = [];
      let next = 0;
      const work = async (worker: Worker): Promise<void> => {
        worker.process.send({ trace } satisfies ForWorker);
        while (next < experiments.length) {
          const position = next;
          next += 1;
          const experiment = experiments[position] as Experiment;
          outcomes[position] = await ask(worker, experiment, signal, (part) => {
            parts[position] = part;
            onProgress?.(parts);
          });
        }
      };
      await Promise.all(workers.map(work));
      return experiments.map((experiment, position) => ({ ...experiment, ...(outcomes[position] as Outcome) }));
    },
    stop() {
      for (const worker of workers) worker.process.kill('SIGKILL');
    },
  };
}

interface Worker {
  readonly process: ChildProcess;
  /** Resolves when it cannot be started, or has ended: that may be before it is asked for anything. */
  readonly gone: Promise<Error>;
}

function newWorker(): Worker {
  // The worker is written in the language of this file: TypeScript as long as nothing is built.
  const file = new URL(`worker${extname(fileURLToPath(import.meta.url))}`, import.meta.url);
  const child = fork(fileURLToPath(file), { serialization: 'advanced' });
  const gone = new Promise<Error>((resolve) => {
    let fault: Error | undefined;
    child.on('error', (error) => {
      const message = `a process of the experiment cannot be started: ${error.message}`;
      if (child.pid === undefined) return resolve(new CellwrightError('no-process', message, { cause: error }));
      // It cannot be told what to do: mostly since it has ended, of which its end says more.
      const isFirst = fault === undefined;
      fault = error;
      if (isFirst) child.kill();
    });
    child.on('exit', (code, signal) => {
      const message = `a process of the experiment was ended by ${signal ?? `exit code ${code}`}`;
      resolve(new CellwrightError('no-process', message, { cause: fault }));
    });
  });
  return { process: child, gone };
}

function ask(
  { process: child, gone }: Worker,
  experiment: Experiment,
  signal: AbortSignal | undefined,
  onPart: (part: number) => void,
): Promise<Outcome> {
  return new Promise<Outcome>((resolve, reject) => {
    const interrupted = () => fail(new CellwrightError('interrupted', 'the experiment was interrupted'));
    const settle = () => {
      child.off('message', hear);
      signal?.removeEventListener('abort', interrupted);
    };
    const fail = (error: Error) => {
      settle();
      reject(error);
    };
    const hear = (said: FromWorker) => {
      if (said.type === 'progress') return onPart(said.part);
      if (said.type === 'failed') return fail(errorOf(said));
      settle();
      onPart(1);
      resolve(said.outcome);
    };
    if (signal?.aborted === true) return interrupted();
    signal?.addEventListener('abort', interrupted, { once: true });
    child.on('message', hear);
    void gone.then(fail);
    child.send({ experiment } satisfies ForWorker);
  });
}

function errorOf({ code, message, field }: Extract<FromWorker, { type: 'failed' }>): CellwrightError {
  if (code === 'malformed') return new MalformedError(message, field === undefined ? {} : { field });
  return new CellwrightError(code, message);
}
