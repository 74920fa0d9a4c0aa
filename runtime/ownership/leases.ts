// The lease port: who owns an actor now. A lease is one small record, changed only on condition that it is as it was
// seen; its revision counts up with every change of any lease of the deployment, so that it can number the tenures.
// No clock is compared: whoever wants a lease that another holds watches it, by a clock of its own, for as long as the
// record says that it lasts.

import Type, { type Static } from 'typebox';
import type { Address } from '../../actors/actor.ts';
import { Token } from '../../actors/messages/common.ts';
import { checkOf } from '../schemas.ts';

export const LeaseRecord = Type.Object({
  v: Type.Literal(1),
  /** The name of the node that owns the actor, or null when the lease is free. */
  owner: Type.Union([Token, Type.Null()]),
  /** Who wrote the record: one process's keeping of one lease, so that it knows its own words again. */
  holder: Type.String({ maxLength: 128 }),
  /** How long the lease lasts without being renewed, ms. */
  ttlMs: Type.Integer({ minimum: 1, maximum: 3_600_000 }),
});
export type LeaseRecord = Static<typeof LeaseRecord>;

/** A lease as it was read; `record` is null when it was never held, or was removed by an operator. */
export interface SeenLease {
  readonly record: LeaseRecord | null;
  readonly revision: number;
}

export interface LeaseWatch {
  stop(): void;
}

/** Where the leases of actors are kept: by them, processes agree on who owns which. */
export interface Leases {
  /** Reads a lease as it really is, never as a copy that may be behind. */
  read(address: Address): Promise<SeenLease>;
  /** Tells how the lease stands, soon, and then each change; `onEnd` when it can be followed no more. */
  watch(address: Address, onSeen: (seen: SeenLease) => void, onEnd: (error: unknown) => void): LeaseWatch;
  /**
   * Writes a lease if its revision is still `revision`; 0 when there is none.
   * @returns the new revision; null when the lease has changed.
   * @throws an error when it is not known whether it was written.
   */
  write(address: Address, record: LeaseRecord, revision: number): Promise<number | null>;
}

const check = checkOf(LeaseRecord, 'the lease');

/** @throws MalformedError when it is not a record that this program reads. */
export function checkedLease(value: unknown): LeaseRecord {
  const fault = check(value);
  if (fault !== null) throw fault;
  return value as LeaseRecord;
}
