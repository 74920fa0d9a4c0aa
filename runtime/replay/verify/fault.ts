// What can be wrong with the final state of a replay.

/**
 * - `overcommitted`: more is used of a class of a provider than fits, or its use is not the sum of its allocations.
 * - `leaked`: resources without a live instance, a live instance without resources, or something that runs on a host
 *   and that no cell knows.
 * - `two-homes`: an instance that is in two places.
 * - `misplaced`: a live instance whose allocations are not what it asked for.
 * - `not-running`: an active instance that is not on its host.
 */
export type FaultKind = 'overcommitted' | 'leaked' | 'two-homes' | 'misplaced' | 'not-running';

export interface Fault {
  readonly kind: FaultKind;
  /** What is wrong, with the ids, for people. */
  readonly what: string;
}
