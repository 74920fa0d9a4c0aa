// The curve of a run: how much of all GPUs is allocated when so much of them was asked for, in percent. What was asked
// for counts as it arrives, placed or not.

/**
 * What is allocated at each whole percent of arrived requests, from 0 to what arrived in the end; null where no request
 * came to it.
 */
export type Curve = readonly (Reading | null)[];

interface Reading {
  /** Percent of all GPUs, the mean of how it was after each of the requests. */
  readonly mean: number;
  readonly requests: number;
}

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
      const percent = roundHalfToEven((100 * arrived) / capacity);
      sums[percent] = (sums[percent] ?? 0) + (100 * used) / capacity;
      counts[percent] = (counts[percent] ?? 0) + 1;
    },
    curve() {
      return Array.from(sums, (sum, percent) => {
        const requests = counts[percent] as number;
        return sum === undefined ? null : { mean: sum / requests, requests };
      });
    },
  };
}

/** As the published evaluation rounds. */
function roundHalfToEven(value: number): number {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

/**
 * The allocation when this much has arrived, as the published evaluation has it: where no request came to this percent,
 * the mean of those that came to the one before or after. Where there are none either, since a single request passed over
 * them, as it was before that. Null if so much never arrived, nor one percent less.
 */
export function allocationAt(curve: Curve, percent: number): number | null {
  if ((curve[percent] ?? null) !== null) return allocationBy(curve, percent);
  const near = [curve[percent - 1], curve[percent + 1]].filter((one) => one !== undefined && one !== null);
  if (near.length === 0) return allocationBy(curve, percent);
  const requests = near.reduce((sum, one) => sum + one.requests, 0);
  return near.reduce((sum, one) => sum + one.mean * one.requests, 0) / requests;
}

/**
 * The allocation after the last requests that came to no more than this percent, as curves are drawn. Null if so much
 * never arrived.
 */
export function allocationBy(curve: Curve, percent: number): number | null {
  if (percent >= curve.length) return null;
  for (let at = percent; at >= 0; at -= 1) {
    const reading = curve[at];
    if (reading !== null && reading !== undefined) return reading.mean;
  }
  return 0;
}

export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
