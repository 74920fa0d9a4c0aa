// UUIDs as callers of the Placement API may write them: with or without dashes, in any case, in braces or as a URN.

/** The 32 digits of a UUID, or null. */
function digitsOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const digits = value
    .replaceAll('urn:', '')
    .replaceAll('uuid:', '')
    .replace(/^[{}]+|[{}]+$/g, '')
    .replaceAll('-', '');
  return /^[0-9a-fA-F]{32}$/.test(digits) ? digits.toLowerCase() : null;
}

export function isUuidLike(value: unknown): boolean {
  return digitsOf(value) !== null;
}

/** The usual form of a UUID: lower case, with dashes. The value must be like one. */
export function normalUuid(value: string): string {
  const digits = digitsOf(value) ?? value;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
