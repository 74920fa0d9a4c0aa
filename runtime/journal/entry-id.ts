// The ids under which owners store the entries of a journal: what has none of that form no owner wrote.

/** The epoch of an entry, and its number in it. */
export type EntryId = readonly [epoch: number, n: number];

/** The beginning of an epoch may have zeros after its number: its tries differ by them. */
const FORM = /^\d+-\d+(?:\.0+)?$/;

/** Null when it is none of an owner's. */
export function entryIdOf(text: string): EntryId | null {
  return FORM.test(text) ? (text.split('-').map(Number) as [number, number]) : null;
}
