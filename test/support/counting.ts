// A filter that refuses nothing, and counts the hosts that it was asked about.

import type { Filter } from '../../actors/scheduler/filters/filter.ts';

export function countingFilter(more: Pick<Filter, 'late' | 'ignoresStats'> = {}): {
  readonly filter: Filter;
  looks(): number;
} {
  let looks = 0;
  const filter: Filter = {
    name: 'counting',
    ...more,
    refusal: () => {
      looks += 1;
      return null;
    },
  };
  return { filter, looks: () => looks };
}
