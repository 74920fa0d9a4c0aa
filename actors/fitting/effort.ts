// What searching costs: whoever looks at many hosts must know when to stop, however hard the request is on each of them.

const taken = { looks: 0 };

/**
 * All looks at providers that searches have ever taken in this process. The figure says nothing by itself, but what it has
 * grown by since some moment of the same turn is what was spent since.
 */
export const effort: Readonly<typeof taken> = taken;

/** Counts the looks of a search. */
export function spend(looks: number): void {
  taken.looks += looks;
}
