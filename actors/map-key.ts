// Keys by which maps find what has the same text, however long that is.

/**
 * The longest text of which V8 hashes what is in it. Of longer ones it takes the length for the hash, so that a map
 * compares all that are as long one by one: to find one of thousands takes as long as to read them all.
 */
const MAX_HASHED_LENGTH = 16_383;

/**
 * A text itself, or, where it is long, its length and two hashes that are reckoned differently. It is as good as
 * certain, but no proof, that long texts of one key are the same: who must know compares what is found.
 */
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
