// Entries of a journal's stream that were never its own, by their numbers: no owner wrote them, but somebody published to
// its subject; or the server refused and removed them. They are kept in mind, so that once they are removed they are not
// taken for lost entries of the journal's own.

/** The numbers from the first to the last. */
export type Range = readonly [first: number, last: number];

/** @param sequence Is not before any of them, or already one of them. */
export function withStray(strays: readonly Range[], sequence: number): readonly Range[] {
  if (strays.some(([first, last]) => first <= sequence && sequence <= last)) return strays;
  const newest = strays.at(-1);
  if (newest !== undefined && newest[1] === sequence - 1) return [...strays.slice(0, -1), [newest[0], sequence]];
  return [...strays, [sequence, sequence]];
}

/** The same with as few ranges as will do, in the order of their numbers. */
export function joined(strays: readonly Range[]): readonly Range[] {
  const all: Range[] = [];
  for (const [first, last] of strays.toSorted(([one], [other]) => one - other)) {
    const newest = all.at(-1);
    if (newest === undefined || newest[1] < first - 1) all.push([first, last]);
    else all[all.length - 1] = [newest[0], Math.max(newest[1], last)];
  }
  return all;
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
