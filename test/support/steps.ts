// How many steps a piece of work takes, as V8 counts them: each function that is called is one, and each turn of a loop.
// Unlike its time they are the same in every run. What V8 and packages do themselves, such as to copy an array or to pack a
// message, counts as nothing.

import { Session } from 'node:inspector';
import { setFlagsFromString } from 'node:v8';

interface Script {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly count: number }[];
  }[];
}

/** Those that read a packed message byte by byte: how long it is depends on what was said before. */
const READERS = new Set(['faultIn', 'opens']);

// Calls of a function are counted only as long as it is not optimized, which depends on how often it ran before.
for (const flag of ['--no-opt', '--no-maglev']) setFlagsFromString(flag);
const session = new Session();
session.connect();
session.post('Profiler.enable');
// At once: turns of loops are counted only in functions that are compiled after it.
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

/** What ran since this was asked before. */
function ran(): readonly Script[] {
  let scripts: readonly Script[] = [];
  session.post('Profiler.takePreciseCoverage', (error, counted) => {
    if (error !== null) throw error;
    scripts = (counted as unknown as { result: readonly Script[] }).result;
  });
  return scripts;
}

export function stepsOf(work: () => void): number {
  ran();
  work();
  let steps = 0;
  for (const { url, functions } of ran()) {
    if (url.startsWith('node:') || url.includes('/node_modules/')) continue;
    for (const { functionName, ranges } of functions) {
      if (!READERS.has(functionName)) for (const { count } of ranges) steps += count;
    }
  }
  return steps;
}
