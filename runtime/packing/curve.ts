// The curve of a run: how much of all GPUs is allocated when so much of them was asked for, in percent. What was asked
// for counts as it arrives, placed or not.

/**
 * The mean allocation at each whole percent of arrived requests, from 0 to what arrived in the end; null where no request
 * arrived.
 */
export type Curve = readonly (number | null)[];

export interface CurveMaker {
  /** Takes how things stand after a request. */
  add(arrived: number, used: number): void;
  curve(): Curve;
}

/** @param capacity All GPUs, in the unit of what is added. */
export function curveMaker(capacity: number): CurveMaker {
  const sums: number[] = [];
  const counts: number[] = [];
  return {
    add(arrived, used) {
      const percent = Math.round((100 * arrived) / capacity);
      sums[percent] = (sums[percent] ?? 0) + (100 * used) / capacity;
      counts[percent] = (counts[percent] ?? 0) + 1;
    },
    curve() {
      return Array.from(sums, (sum, percent) => (sum === undefined ? null : sum / (counts[percent] as number)));
    },
  };
}

/**
 * The allocation when this much has arrived: where a single request passed over the percent, as it was before it.
 * Null if so much never arrived.
 */
export function allocationAt(curve: Curve, percent: number): number | null {
  if (percent >= curve.length) return null;
  for (let at = percent; at >= 0; at -= 1) {
    const allocation = curve[at];
    if (allocation !== null && allocation !== undefined) return allocation;
  }
  return 0;
}

export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
