// The answers to questions about requests, as the API gives them.

import type { Fitted, HostStanding } from '../../actors/messages/questions.ts';

/** The answer to `fit`. */
export interface FitAnswer extends Omit<Fitted, 'type' | 'ask' | 'unknownClasses' | 'unknownLike'> {
  /** Whether all instances that were asked for would fit. */
  readonly fit: boolean;
  /**
   * Whether that is certain. It is not where they do not fit on the hosts that were searched, and others were hard to
   * tell: a request for them goes on searching. Nor is it where they fit, but not without hosts of a placement shard or of a
   * cell that nothing was heard of lately (`needsSilentShards`, `needsSilentCells`): a request for them waits for it.
   */
  readonly certain: boolean;
  readonly count: number;
  /** The same for people, a line each. */
  readonly words: readonly string[];
}

/**
 * What the decision says of a host: it was `chosen`, it `failed` an attempt (or was passed over, as `code` says), an
 * `alternate`, a `runner-up`, its `claim-refused`, it was `refused`, as the nearest of its kind or as out of service;
 * `not-recorded`: it was one of many.
 */
export interface HostThen {
  readonly verdict: 'chosen' | 'failed' | 'alternate' | 'runner-up' | 'claim-refused' | 'refused' | 'not-recorded';
  /** The code of the refusal, or the outcome of the attempt. */
  readonly code?: string;
  /** What a refusal is about: a resource class, a trait or the like. */
  readonly about?: string;
  readonly message?: string;
  readonly short?: number;
  /** More stood in its way than what it was short of. */
  readonly lacksMore?: true;
  /** What else stood in its way, one thing after the other, and whether more did; as far as the record has it. */
  readonly also?: NonNullable<HostStanding['also']>;
  readonly partly?: true;
  readonly weight?: number;
  readonly bestWeight?: number;
  /** What the chosen host weighed: less than the best where one of several of the best was drawn. */
  readonly chosenWeight?: number;
  /** Members of the request's instance group that it had, and the chosen host: a soft rule goes by them first. */
  readonly members?: number;
  readonly chosenMembers?: number;
}

/** The answer to `why-not`. */
export interface WhyNot {
  readonly id: string;
  readonly cell: string;
  readonly host: string;
  /** Whether the instance is on that host; null when that is not known, because its cell does not answer. */
  readonly there: boolean | null;
  /** It is not, but something of an attempt may run there still, which then holds what it was given. */
  readonly mayRun?: true;
  /** The cell of the instance, if that does not answer, so that it is not known how the instance stands. */
  readonly silentCell?: string;
  /** As of the decision; null when there is none on record. */
  readonly then: HostThen | null;
  /**
   * As things stand now; null when what it asked for is not known any more, or not while its cell does not answer, or the
   * host is not known any more.
   */
  readonly now: HostStanding | null;
  /** Nobody knows the host any more; the record of the instance has it. */
  readonly hostGone?: true;
  readonly words: readonly string[];
}
