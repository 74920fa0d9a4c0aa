// Writes values as Python's repr and pprint write them: the error texts that clients of the Placement API match on
// are made of these.

/** A value as `repr` writes it. Keys of dicts come sorted, as pprint has them, when `sorted` is set. */
export function repr(value: unknown, sorted = false): string {
  if (value === null || value === undefined) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (typeof value === 'string') return reprOfText(value);
  if (typeof value === 'number') return reprOfNumber(value);
  if (Array.isArray(value)) return `[${value.map((one) => repr(one, sorted)).join(', ')}]`;
  const entries = entriesOf(value, sorted);
  return `{${entries.map(([key, one]) => `${reprOfText(key)}: ${repr(one, sorted)}`).join(', ')}}`;
}

function entriesOf(value: object, sorted: boolean): [string, unknown][] {
  const entries = Object.entries(value);
  return sorted ? entries.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)) : entries;
}

function reprOfNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e21) return String(value);
  // Python writes what is below a ten thousandth with an exponent; JavaScript only what is below a millionth.
  const written = Math.abs(value) < 1e-4 && value !== 0 ? value.toExponential() : String(value);
  return written.replace(/e([+-])(\d)$/, 'e$10$2');
}

/** What may be written otherwise than it is: quotes, backslashes, controls, separators, unassigned, lone surrogates. */
const UNPLAIN = /(?! )['"\\\p{C}\p{Z}]/gu;

function reprOfText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  return quote + text.replace(UNPLAIN, (character) => escaped(character, quote)) + quote;
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escaped(character: string, quote: string): string {
  if (character === quote) return `\\${quote}`;
  const known = ESCAPES[character];
  if (known !== undefined) return known;
  const code = character.codePointAt(0) as number;
  if (code >= 0x20 && code < 0x7f) return character;
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`;
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, '0')}`;
  return `\\U${code.toString(16).padStart(8, '0')}`;
}

/** The width to which jsonschema has its values written. */
const WIDTH = 72;

/** A value as `pprint.pformat(value, width=72)` writes it. */
export function pformat(value: unknown): string {
  return format(value, 0, 0, 1);
}

function format(value: unknown, indent: number, allowance: number, level: number): string {
  const room = WIDTH - indent - allowance;
  // What is long is written once, however deep it stands.
  const short = leastLength(value, room) > room ? null : repr(value, true);
  if (short !== null && short.length <= room) return short;
  if (typeof value === 'string') return formatText(value, indent, allowance, level);
  if (Array.isArray(value)) {
    const items = value.map((one, position) => {
      const last = position === value.length - 1;
      return format(one, indent + 1, last ? allowance + 1 : 1, level + 1);
    });
    return `[${items.join(`,\n${' '.repeat(indent + 1)}`)}]`;
  }
  if (typeof value !== 'object' || value === null) return short ?? repr(value, true);
  const entries = entriesOf(value, true);
  const items = entries.map(([key, one], position) => {
    const name = reprOfText(key);
    const last = position === entries.length - 1;
    return `${name}: ${format(one, indent + 1 + name.length + 2, last ? allowance + 1 : 1, level + 1)}`;
  });
  return `{${items.join(`,\n${' '.repeat(indent + 1)}`)}}`;
}

/** How long the `repr` of a value is at least; it is not counted further than beyond `most`. */
function leastLength(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 1;
  let length = 2;
  for (const key in value) {
    if (length > most) break;
    length += leastLength((value as Record<string, unknown>)[key], most - length);
  }
  return length;
}

/** A long text goes over several lines, broken after spaces. */
function formatText(text: string, indent: number, allowance: number, level: number): string {
  const outer = level === 1;
  const column = outer ? indent + 1 : indent;
  const room = outer ? allowance + 1 : allowance;
  const chunks: string[] = [];
  const lines = text.match(/[^\n]*\n|[^\n]+/g) ?? [];
  for (const [position, line] of lines.entries()) {
    const lastLine = position === lines.length - 1;
    const whole = reprOfText(line);
    if (whole.length <= WIDTH - column - (lastLine ? room : 0)) {
      chunks.push(whole);
      continue;
    }
    chunks.push(...chunksOf(line, WIDTH - column, lastLine ? room : 0));
  }
  if (chunks.length === 1) return chunks[0] as string;
  const written = chunks.join(`\n${' '.repeat(column)}`);
  return outer ? `(${written})` : written;
}

function chunksOf(line: string, width: number, room: number): string[] {
  const parts = line.match(/\S+\s*|\s+/g) ?? [];
  const chunks: string[] = [];
  let current = '';
  for (const [position, part] of parts.entries()) {
    const limit = position === parts.length - 1 ? width - room : width;
    if (reprOfText(current + part).length <= limit) {
      current += part;
      continue;
    }
    if (current !== '') chunks.push(reprOfText(current));
    current = part;
  }
  if (current !== '') chunks.push(reprOfText(current));
  return chunks;
}
