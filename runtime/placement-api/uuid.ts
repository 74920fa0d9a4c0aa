// UUIDs as callers of the Placement API may write them: with or without dashes, in any case, in braces or as a URN.

/** The 32 digits of a UUID, or null. */
function digitsOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const digits = withoutBraces(value.replaceAll('urn:', '').replaceAll('uuid:', '')).replaceAll('-', '');
  return /^[0-9a-fA-F]{32}$/.test(digits) ? digits.toLowerCase() : null;
}

/** By hand: an expression would try each run of braces of a long text anew. */
function withoutBraces(text: string): string {
  let [from, to] = [0, text.length];
  const isBrace = (position: number) => text[position] === '{' || text[position] === '}';
  while (from < to && isBrace(from)) from += 1;
  while (to > from && isBrace(to - 1)) to -= 1;
  return text.slice(from, to);
}

export function isUuidLike(value: unknown): boolean {
  return digitsOf(value) !== null;
}

/** The usual form of a UUID: lower case, with dashes. The value must be like one. */
export function normalUuid(value: string): string {
  const digits = digitsOf(value) ?? value;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
