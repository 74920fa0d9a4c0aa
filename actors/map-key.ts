// Texts by which maps find what is the same.

/**
 * The longest text that V8 hashes by what is in it. Of longer ones it takes the length for the hash: those of one length are
 * compared one by one, and to find one of thousands takes as long as to read them all.
 */
const MAX_HASHED_LENGTH = 16_383;

/** A text, or what stands for it where it is long: its length, and two hashes that do not go by the same numbers. */
export function mapKey(text: string): string {
  const { length } = text;
  if (length <= MAX_HASHED_LENGTH) return text;
  let one = 0x811c9dc5;
  let other = length;
  for (let position = 0; position < length; position += 1) {
    const code = text.charCodeAt(position);
    one = Math.imul(one ^ code, 0x01000193);
    other = Math.imul(((other << 5) | (other >>> 27)) ^ code, 0x9e3779b1);
  }
  return `${length}-${one >>> 0}-${other >>> 0}`;
}
