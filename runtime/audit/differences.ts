// What can differ between those who should agree, and the words in which an instance is accounted for.

/** An attempt that is on a host, by whoever says so. */
export interface OnHost {
  readonly cell: string;
  readonly host: string;
  readonly instance: string;
  readonly attempt: number;
}

/**
 * - `over-capacity`: more is used of a class of a provider than fits.
 * - `usage-differs`: what a provider counts as used is not the sum of the allocations, or it is not known at all.
 * - `leaked-allocation`: resources are held for an attempt that nobody accounts for.
 * - `unheld-instance`: an instance that should hold resources for its attempt does not.
 * - `held-elsewhere`: an instance holds resources, but not on its host.
 * - `two-homes`: an instance that is, or holds resources, in two places.
 * - `running-without-record`: something is on a host that nobody accounts for.
 * - `not-running`: an active instance is not on its host.
 */
export type DifferenceKind =
  | 'over-capacity'
  | 'usage-differs'
  | 'leaked-allocation'
  | 'unheld-instance'
  | 'held-elsewhere'
  | 'two-homes'
  | 'running-without-record'
  | 'not-running';

export interface Difference {
  readonly kind: DifferenceKind;
  /** What differs, with the ids, for people. */
  readonly what: string;
  readonly instance?: string;
  /** The attempts that should not be there; for an instance that lacks something, its own. */
  readonly attempts?: readonly number[];
  readonly cell?: string | undefined;
  readonly host?: string | undefined;
  readonly provider?: string;
}

/** How an instance is accounted for by those who own it. */
export interface Account {
  readonly instance: string;
  readonly state: string;
  readonly cell?: string | undefined;
  readonly host?: string | undefined;
  /** The root provider of its host, as its cell knows it. */
  readonly home?: string | undefined;
  /** The attempt that it lives in. */
  readonly attempt?: number | undefined;
  /** It must hold resources for its attempt. */
  readonly mustHold: boolean;
  /** It must be on its host. */
  readonly mustRun: boolean;
  /** Whether an attempt may hold resources as the instance's one home. */
  mayHold(attempt: number): boolean;
  /** Whether what an attempt holds is owed back by a recorded obligation: it may be held beside the one home. */
  isOwed(attempt: number): boolean;
  /** Whether an attempt may be on a host. */
  mayRun(cell: string, host: string, attempt: number): boolean;
}
