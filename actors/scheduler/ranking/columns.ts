// What a family keeps of each resource class in the row of a host.

/** One resource class. */
export interface Column {
  readonly resourceClass: string;
  /** Where its measures begin. */
  readonly at: number;
  /** Where it stands how much is used, by which it is told exactly how much is missing, while what is left is rounded. */
  readonly usedAt: number;
}

/**
 * The measures of a class, in the order in which they stand: what is left, below nothing where more is used than there is;
 * how much there is; which part of it is left; and the most that one allocation may have.
 */
export const OF_COLUMN = { free: 0, capacity: 1, share: 2, maxUnit: 3 } as const;
export const MEASURES_OF_COLUMN = 4;
