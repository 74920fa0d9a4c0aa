// One line of the story of builds, as it is read off the bus: the public events whose subjects `stories` names.
// What is none, or no step of a build, is answered with null: the story is told for people, and nothing may depend on it.

import { present } from '../../actors/present.ts';
import type { BusMessage } from '../bus/bus.ts';
import { decode } from '../codec.ts';
import { HEADERS } from '../frames.ts';

export interface Story {
  /** When it happened, ms since the epoch. */
  readonly at: number;
  readonly instance: string;
  /** A state of the build machine, or `deleted`. */
  readonly state: string;
  /** The cell that tells it; null before the build has reached one. */
  readonly cell: string | null;
  /**
   * What became of the last attempt, told with `rescheduling` and `failed`: the host's reason when its build failed,
   * else the outcome, such as `claim-refused` or `timed-out`.
   */
  readonly lastAttempt?: string;
  /** The code of a failure for good. */
  readonly failure?: string;
}

/** Of what is active, and stays so: no step of a build. */
const NO_STEPS: ReadonlySet<unknown> = new Set(['missing', 'found']);

export function storyOf({ data, headers }: BusMessage, maxBytes: number): Story | null {
  let body: Partial<Record<string, unknown>>;
  try {
    body = decode(data, maxBytes) as Partial<Record<string, unknown>>;
  } catch {
    return null;
  }
  const { at, instance, state, cause } = body;
  if (NO_STEPS.has(cause)) return null;
  if (typeof at !== 'number' || typeof instance !== 'string' || typeof state !== 'string') return null;
  const [kind, name] = (headers[HEADERS.from] ?? '').split('/');
  const outcome = textIn(body.last, 'outcome');
  const lastAttempt = outcome === 'build-failed' || outcome === 'build-aborted' ? textIn(body.last, 'reason') : outcome;
  const failure = textIn(body.failure, 'code');
  return {
    at,
    instance,
    state,
    cell: kind === 'cell' && name !== undefined ? name : null,
    ...present({ lastAttempt, failure }),
  };
}

function textIn(holder: unknown, field: string): string | undefined {
  if (typeof holder !== 'object' || holder === null) return undefined;
  const text = (holder as Record<string, unknown>)[field];
  return typeof text === 'string' ? text : undefined;
}
