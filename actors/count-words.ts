// How many there are of what, and lists of which some are named, in words. Pure.

/** `1 host`, `3 hosts`. */
export const howMany = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** `a`, `a and b`, `a, b and c`. */
export const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

/** How many names of a list are told, which may have 64 of them. */
const MOST_OF_LIST = 8;

/**
 * The names of a list, as they are joined by commas: of a long one the first, and how many more there are. A list that a
 * record had no room for ends in `…`: how many it had is not known.
 */
export function shortened(list: string): string {
  const names = list.split(', ');
  if (names.length <= MOST_OF_LIST) return list;
  const first = names.slice(0, MOST_OF_LIST);
  return list.endsWith('…') ? `${first.join(', ')} and more` : firstListed(first, names.length);
}

/** `a, b and 4 more`: the first of so many. */
export function firstListed(first: readonly string[], all: number): string {
  const more = all - first.length;
  return `${first.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
