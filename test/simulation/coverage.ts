// What many runs went through, added up: faults of each kind, states of each machine, messages that actors took.

import { TAKEN } from './watching.ts';

/** Every state of every machine that a run can go through. */
const STATES: Readonly<Record<string, readonly string[]>> = {
  build: ['requested', 'claimed', 'building', 'rescheduling', 'failed', 'active'],
  removal: ['destroying', 'releasing', 'removed'],
  service: ['up', 'down', 'disabled', 'aside', 'fenced'],
  selection: ['ranking', 'claiming', 'recalling', 'selected', 'exhausted'],
};

/** Faults that the seeds of a test must bring about, beside the states and messages. */
const FAULTS = [
  ...['drop', 'double', 'slow', 'deaf', 'crash', 'pause', 'cut', 'set-clock', 'fenced'],
  ...['overloaded', 'gone', 'gone-at-restart'],
  ...['journal-late', 'journal-fails', 'journal-unreadable'],
  ...['build-fails', 'build-aborts', 'build-hangs', 'build-slow', 'destroy-fails', 'destroy-unknown'],
  ...['driver-unknown', 'driver-silent', 'describe-fails', 'away conductor and scheduler', 'away scheduler'],
];

/** Refusals of claims that the seeds of a test must bring about. */
const REFUSALS = ['exceeds-capacity', 'group-affinity', 'group-anti-affinity', 'group-policy-conflict'];

/**
 * Messages that mean nothing to those who may be sent them, that only a broken driver brings about, or that few seeds do: a
 * host that comes back while it is being removed, or on which something is held that its cell does not know of.
 */
const UNUSED = new Set([
  'message scheduler released',
  'message compute tree-refused',
  'message compute tree-withdrawn',
  'message cell tree-kept',
]);

/** Grants of other providers of the tree than a claim names, and of ones that a scheduler has not heard of. */
const GRANTS = ['granted others to scheduler', 'granted others to cell', 'granted unheard to scheduler'];

export interface Coverage {
  runs: number;
  steps: number;
  /** The longest time from healing to the end, ms of virtual time. */
  slowestEndMs: number;
  /** How often each thing happened. */
  readonly tally: Map<string, number>;
}

/** What becomes of snapshots: they are taken at once or bit by bit, and some owners end before theirs. */
const SNAPSHOTS = ['snapshots in one part', 'snapshots in several parts', 'snapshots not ended'];

export const noCoverage = (): Coverage => ({ runs: 0, steps: 0, slowestEndMs: 0, tally: new Map() });

export function addTo(
  total: Coverage,
  part: { runs?: number; steps: number; endedAfterMs: number; tally: Iterable<readonly [string, number]> },
): void {
  total.runs += part.runs ?? 1;
  total.steps += part.steps;
  total.slowestEndMs = Math.max(total.slowestEndMs, part.endedAfterMs);
  for (const [what, count] of part.tally) total.tally.set(what, (total.tally.get(what) ?? 0) + count);
}

/** States that no run was in, messages that no actor took, and faults that never were. */
export function uncovered({ tally }: Coverage): string[] {
  const states = Object.entries(STATES).flatMap(([machine, names]) => names.map((name) => `state ${machine} ${name}`));
  const faults = FAULTS.map((kind) => `fault ${kind}`);
  const refusals = REFUSALS.map((code) => `refused ${code}`);
  return [...states, ...TAKEN, ...faults, ...refusals, ...GRANTS, ...SNAPSHOTS].filter(
    (what) => !tally.has(what) && !UNUSED.has(what),
  );
}

/** In lines, for people. */
export function told(coverage: Coverage): string[] {
  const { runs, steps, slowestEndMs, tally } = coverage;
  const group = (prefix: string) => {
    const found = [...tally].filter(([what]) => what.startsWith(prefix)).sort((one, other) => other[1] - one[1]);
    return found.map(([what, count]) => `${what.slice(prefix.length)} ${count}`);
  };
  const messages = TAKEN.filter((what) => tally.has(what)).length;
  const missing = uncovered(coverage);
  return [
    `${runs} runs, ${steps} steps; the slowest end came ${slowestEndMs / 1_000} s after healing`,
    `faults: ${group('fault ').join(', ')}`,
    `refused: ${group('refused ').join(', ')}`,
    `granted: ${group('granted ').join(', ')}`,
    `befell: ${group('befell ').join(', ')}`,
    ...Object.keys(STATES).map((machine) => `${machine}: ${group(`state ${machine} `).join(', ')}`),
    `snapshots: ${group('snapshots ').join(', ')}`,
    `changes over shards: ${group('change ').join(', ')}`,
    `messages: ${messages} of ${TAKEN.length} types taken`,
    ...(missing.length === 0 ? [] : [`never seen: ${missing.join(', ')}`]),
  ];
}
