// Whether two plain values say the same, to the order of their fields: cheaper than to write both down and compare that.

export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  const others = Object.keys(other);
  if (keys.length !== others.length) return false;
  for (let at = 0; at < keys.length; at += 1) {
    const key = keys[at] as never;
    if (key !== others[at] || !isSame(one[key], other[key])) return false;
  }
  return true;
}
