// What is said in plain data, as a text: the same whatever the order in which fields came.

/**
 * JSON with the keys of every object in order, without lists and objects that say nothing.
 * @param isExact With those, too.
 */
export function orderedText(value: unknown, isExact = false): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map((item) => orderedText(item, isExact)).join(',')}]`;
  let text = '';
  for (const key of Object.keys(value).sort()) {
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined) continue;
    const said = orderedText(item, isExact);
    if (isExact || (said !== '[]' && said !== '{}')) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${said}`;
  }
  return `{${text}}`;
}
