// How many there are of what, and lists of which some are named, in words. Pure.

/** `1 host`, `3 hosts`. */
export const howMany = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** `a`, `a and b`, `a, b and c`. */
export const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

/** `a, b and 4 more`: the first of so many. */
export function firstListed(first: readonly string[], all: number): string {
  const more = all - first.length;
  return `${first.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
