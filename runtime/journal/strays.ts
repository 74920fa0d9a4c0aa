// Entries of a journal's stream that no owner wrote, by their numbers: somebody has published to its subject. They are
// kept in mind, so that once an operator has removed them they are not taken for lost entries of the journal's own.

/** The numbers from the first to the last. */
export type Range = readonly [first: number, last: number];

/** @param sequence Is not before any of them, or already one of them. */
export function withStray(strays: readonly Range[], sequence: number): readonly Range[] {
  if (strays.some(([first, last]) => first <= sequence && sequence <= last)) return strays;
  const newest = strays.at(-1);
  if (newest !== undefined && newest[1] === sequence - 1) return [...strays.slice(0, -1), [newest[0], sequence]];
  return [...strays, [sequence, sequence]];
}

/** How many there are in all. */
export function numberOf(strays: readonly Range[]): number {
  return strays.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

/** The first number of a range that is none of the strays; null when all are. */
export function firstUnlike(strays: readonly Range[], [first, last]: Range): number | null {
  let next = first;
  while (next <= last) {
    const around = strays.find(([from, to]) => from <= next && next <= to);
    if (around === undefined) return next;
    next = around[1] + 1;
  }
  return null;
}
