// Writes SVG: elements as nested values, attributes and text escaped. Nothing of it knows what is drawn.

export type Attributes = Readonly<Record<string, string | number>>;

/** An element with its content, or text. */
export type Drawn = string | { readonly name: string; readonly attributes: Attributes; readonly content: Drawn[] };

export function element(name: string, attributes: Attributes = {}, ...content: Drawn[]): Drawn {
  return { name, attributes, content };
}

/** A document of this size, in pixels. */
export function document(width: number, height: number, ...content: Drawn[]): string {
  const attributes = { xmlns: 'http://www.w3.org/2000/svg', width, height, viewBox: `0 0 ${width} ${height}` };
  return `${textOf(element('svg', { ...attributes, role: 'img' }, ...content), '')}\n`;
}

/** A line through points, in pixels. */
export function pathThrough(points: readonly (readonly [number, number])[]): string {
  return points.map(([x, y], position) => `${position === 0 ? 'M' : 'L'}${pixels(x)} ${pixels(y)}`).join('');
}

/** A length with as many digits as can be seen. */
export function pixels(length: number): number {
  return Math.round(length * 100) / 100;
}

function textOf(drawn: Drawn, indent: string): string {
  if (typeof drawn === 'string') return escaped(drawn);
  const { name, attributes, content } = drawn;
  const told = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(String(value))}"`);
  const open = `${indent}<${name}${told.join('')}`;
  if (content.length === 0) return `${open}/>`;
  if (content.every((one) => typeof one === 'string')) return `${open}>${content.map(escaped).join('')}</${name}>`;
  const inner = content.map((one) => textOf(one, `${indent}  `)).join('\n');
  return `${open}>\n${inner}\n${indent}</${name}>`;
}

function escaped(text: string): string {
  const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  // Characters that XML has no place for at all.
  const allowed = text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, '\ufffd');
  return allowed.replace(/[&<>"]/g, (character) => entities[character] as string);
}
