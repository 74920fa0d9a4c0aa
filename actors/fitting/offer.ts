// What a host would give to a request, and which of its providers should.

import type { Allocation } from '../../machines/instance-build.ts';
import type { RequestSpec } from '../messages/common.ts';
import type { Provider } from '../placement/providers.ts';

/**
 * How good it would be that `server` serves a named group, of all providers of the tree that could: the higher the
 * sooner it is tried, equals in the order of the tree. The allocation in question is the offer's last; those
 * before it are of the groups that are served already. For all servers of one choice it is the same object: what
 * holds for all of them need be found out only once.
 */
export type ServerPreference = (offer: PartialOffer, server: Provider) => number;

/** What a host would give. */
export interface Offer {
  /** The tree of the host, the root first. */
  readonly tree: readonly Provider[];
  readonly allocations: readonly Allocation[];
}

/** What a host would give to the groups that are served already, and to the one in question. */
export interface PartialOffer extends Offer {
  /** All that is asked for, of which other groups may still be to be served. */
  readonly spec: RequestSpec;
}
