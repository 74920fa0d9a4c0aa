// The known name that a misspelt one is most like. Pure, and bounded: who has misspelt something waits for the answer.

import leven from 'leven';

/** A name is much like another that differs in one of so many characters, and in three at most; longer ones nobody types. */
const CHARACTERS_FOR_CHANGE = 4;
const MAX_CHANGES = 3;
const MAX_TYPED = 64;
/** Of a shorter word nobody can tell what was meant. */
const LEAST_TYPED = 3;
/** With how many names one is compared at most; those of another length, say, are passed over in next to no time. */
const MAX_COMPARED = 1_024;
const [ONE, NINE] = ['1'.charCodeAt(0), '9'.charCodeAt(0)];

/** Looks for the known name that another one is most like. */
export interface LikeFinder {
  /** Takes a known name; answers whether it was worth comparing. */
  meet(known: string): boolean;
  /** The one of those met that is most like it, if any is much like it. */
  found(): string | undefined;
}

export function likeFinder(name: string): LikeFinder {
  const [letters, number] = [lettersOf(name), withoutZeros(name)];
  let most = name.length > MAX_TYPED ? 0 : Math.min(MAX_CHANGES, Math.floor(name.length / CHARACTERS_FOR_CHANGE));
  let compared = 0;
  let found: string | undefined;
  return {
    meet(known) {
      if (most === 0 || Math.abs(known.length - name.length) > most || compared === MAX_COMPARED) return false;
      compared += 1;
      const changes = changesBetween(name, known, most);
      if (changes > most || (changes === most && found !== undefined && found < known)) return true;
      // Names that differ in their numbers alone are of one series, and as a rule each is meant as it is.
      if (lettersOf(known) === letters && withoutZeros(known) !== number) return true;
      if (hasOtherWord(name, known)) return true;
      found = known;
      most = changes;
      return true;
    },
    found: () => found,
  };
}

/** Whether a word of one is no misspelling of that of the other: `CUSTOM_GPU_A10` and `CUSTOM_GPU_V100` are two things. */
function hasOtherWord(name: string, known: string): boolean {
  const [words, others] = [wordsOf(withoutZeros(name)), wordsOf(withoutZeros(known))];
  if (words.length !== others.length) return false;
  return words.some((word, at) => {
    const other = others[at] as string;
    const most = Math.max(1, Math.floor(word.length / CHARACTERS_FOR_CHANGE));
    return word !== other && (word.length < LEAST_TYPED || changesBetween(word, other, most) > most);
  });
}

const wordsOf = (name: string): string[] => name.split(/[^\p{L}\p{N}]+/u);

/** In how many characters they differ: two neighbours that are swapped, where they differ first, count as one. */
function changesBetween(name: string, known: string, most: number): number {
  const limit = { maxDistance: most + 1 };
  const changes = leven(name, known, limit);
  let at = 0;
  while (at < name.length && name[at] === known[at]) at += 1;
  const [one, next] = [name[at], name[at + 1]];
  if (next === undefined || next !== known[at] || one !== known[at + 1]) return changes;
  const swapped = `${name.slice(0, at)}${next}${one}${name.slice(at + 2)}`;
  return Math.min(changes, 1 + leven(swapped, known, limit));
}

/** The known name that another one is most like, if any is much like it. */
export function mostLike(name: string, known: Iterable<string>): string | undefined {
  const finder = likeFinder(name);
  for (const one of known) finder.meet(one);
  return finder.found();
}

/** The same of a host of a cell, told as `<cell>/<host>`: there may be a hundred thousand, told apart by their numbers. */
export function hostMostLike(cell: string, name: string, hosts: Iterable<string>): string | undefined {
  const finder = likeFinder(name);
  const digits = digitsOf(name);
  for (const host of hosts) if (hasDigits(host, digits)) finder.meet(host);
  const found = finder.found();
  return found === undefined ? undefined : `${cell}/${found}`;
}

/** ` (us-east-1 is known)`, said after the name that is not. */
export const likeWords = (like: string | undefined): string => (like === undefined ? '' : ` (${like} is known)`);

const lettersOf = (name: string): string => name.replaceAll(/\d+/g, '0');

/** `host-7` for `host-007`. */
const withoutZeros = (name: string): string => name.replaceAll(/(?<!\d)0+(?=\d)/g, '');

/** But for zeros. */
export const digitsOf = (name: string): string => name.replaceAll(/[^1-9]/g, '');

/** Whether these are the digits of a name: looks from its end on, where names of a series differ first. */
export function hasDigits(name: string, digits: string): boolean {
  let left = digits.length;
  for (let place = name.length - 1; place >= 0; place -= 1) {
    const code = name.charCodeAt(place);
    if (code < ONE || code > NINE) continue;
    left -= 1;
    if (code !== digits.charCodeAt(left)) return false;
  }
  return left === 0;
}
