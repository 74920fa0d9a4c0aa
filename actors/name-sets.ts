// Lists of names as sets. Hosts of a fleet have mostly the same traits, and are in the same aggregates: alike lists share one.

/** Of the lists that came last, so many are known again. */
const MAX_KNOWN = 256;
/** Longer ones, in characters, have a set of their own. */
const MAX_LENGTH = 8_192;

const NONE: ReadonlySet<string> = new Set();
const known = new Map<string, ReadonlySet<string>>();

export function setOfNames(names: readonly string[]): ReadonlySet<string> {
  if (names.length === 0) return NONE;
  const text = JSON.stringify(names);
  if (text.length > MAX_LENGTH) return new Set(names);
  let set = known.get(text);
  if (set === undefined) {
    set = new Set(names);
    known.set(text, set);
    if (known.size > MAX_KNOWN) known.delete(known.keys().next().value as string);
  }
  return set;
}
