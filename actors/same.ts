// Whether two values of plain objects, arrays, strings, numbers, booleans and null say the same, to the order of their
// fields: cheaper than to write both down and compare that.

export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isObject(one) || !isObject(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  const others = Object.keys(other);
  return keys.length === others.length && keys.every((key, at) => key === others[at] && isSame(one[key], other[key]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
