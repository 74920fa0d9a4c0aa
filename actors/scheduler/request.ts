// A request for hosts, as filters and weighers see parts of it.

import type { Address } from '../actor.ts';
import type { RequestSpec, TreeConditions } from '../messages/common.ts';
import type { Where } from '../messages/where.ts';
import { present } from '../present.ts';

/** Names a request among all: the shards of the conductor may each have one of the same name. */
export const requestKey = (asker: Address, request: string): string => `${asker} ${request}`;

/** A request for hosts as filters and weighers see it. Nothing of it may be changed. */
export interface Request {
  readonly spec: RequestSpec;
  readonly where?: Where | undefined;
  readonly project?: string | undefined;
  /** Where the instances are that the request wants to be with, or apart from; present when it names any. */
  readonly company?: Company | undefined;
  /** The root on which a refusal said that its group is, before the feed of another placement shard has told. */
  readonly groupAt?: string | undefined;
}

/** Roots of the trees of other instances. */
export interface Company {
  /** The host must be one of these; absent when the request wants nobody's company. */
  readonly near?: ReadonlySet<string> | undefined;
  /** The host must be none of these. */
  readonly far: ReadonlySet<string>;
  /** The instances of which one must be there. */
  readonly nearTo?: readonly string[] | undefined;
  /** Of each root in `far`, the instances that are there. */
  readonly farFrom?: ReadonlyMap<string, readonly string[]> | undefined;
  /** Those of the instances that hold nothing anywhere. */
  readonly nowhere?: readonly string[] | undefined;
}

/** A request spec without its instance group, and without what it says of single hosts and of other instances. */
export interface RankedSpec extends Omit<RequestSpec, 'tree' | 'instanceGroup'> {
  readonly tree?: Pick<TreeConditions, 'memberOf' | 'notMemberOf'>;
}

/**
 * The part of a request by which hosts are ranked whoever asks: what differs from one request to the next, such as the
 * hosts that it names, is left to the filters that look at it when a host is picked.
 */
export function rankedPart({ spec }: Pick<Request, 'spec'>): RankedSpec {
  if (spec.tree === undefined && spec.instanceGroup === undefined) return spec;
  const { memberOf, notMemberOf } = spec.tree ?? {};
  const { tree: _, instanceGroup: __, ...others } = spec;
  if (memberOf === undefined && notMemberOf === undefined) return others;
  return { ...others, tree: present({ memberOf, notMemberOf }) };
}
