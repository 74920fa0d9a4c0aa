// The ids of wakes: what is to be done, and about which of many things, such as one instance. What is done about nothing
// in particular has its kind alone for an id.

export const wakeId = (kind: string, about: string | number): string => `${kind} ${about}`;

/** The kind of a wake, and what it is about; '' where that is nothing in particular. */
export function readWake(id: string): readonly [kind: string, about: string] {
  const end = id.indexOf(' ');
  return end < 0 ? [id, ''] : [id.slice(0, end), id.slice(end + 1)];
}
