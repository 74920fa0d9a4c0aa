// The filters that can be named when a node is started; those that every scheduler has stand in always.ts. One more has a
// file of its own beside this one and a line here.

import type { Filter } from './filter.ts';
import {
  buildLimit,
  DEFAULT_MOST_BUILDS,
  DEFAULT_MOST_INSTANCES,
  instanceLimit,
  type LimitsOfAggregates,
} from './limits.ts';

/** A filter that has a limit. */
export interface BuiltInFilter {
  readonly defaultMost: number;
  /** Which option of an aggregate replaces the limit on its hosts. */
  readonly ofAggregate: 'mostInstances' | 'mostBuilds';
  make(most: number, ofAggregates: LimitsOfAggregates): Filter;
}

export const BUILT_IN_FILTERS: ReadonlyMap<string, BuiltInFilter> = new Map([
  ['instance-limit', { defaultMost: DEFAULT_MOST_INSTANCES, ofAggregate: 'mostInstances', make: instanceLimit }],
  ['build-limit', { defaultMost: DEFAULT_MOST_BUILDS, ofAggregate: 'mostBuilds', make: buildLimit }],
]);
