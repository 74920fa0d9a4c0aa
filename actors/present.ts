// What is absent and what is undefined are one on the wire and in journals: here the one is made of the other.

type Present<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** The properties that are not undefined. */
export function present<T extends object>(some: T): Present<T> {
  const found: Present<T> = {};
  for (const key in some) if (some[key] !== undefined) found[key] = some[key] as Exclude<T[typeof key], undefined>;
  return found;
}
