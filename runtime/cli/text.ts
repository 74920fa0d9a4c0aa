// Figures as people read them: grouped digits, aligned tables, lists of counts. Pure.

import type { Counts } from '../replay/tally.ts';

/** `12,345`; with `digits` of them behind the point when the number is small enough for it to matter. */
export function figure(value: number, digits = 0): string {
  const maximumFractionDigits = Math.abs(value) < 1_000 ? digits : 0;
  return value.toLocaleString('en-US', { maximumFractionDigits });
}

/** `1 host`, `1,213 hosts`. */
export function counted(count: number, name: string): string {
  return `${figure(count)} ${count === 1 ? name : `${name}s`}`;
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

/** `image could not be fetched 12, host is flaky 3`: the most frequent first. */
export function countsText(counts: Counts): string {
  return Object.entries(counts)
    .sort(([, one], [, other]) => other - one)
    .map(([name, count]) => `${name} ${figure(count)}`)
    .join(', ');
}

/** Columns as wide as their widest cell; the first is aligned to the left, the others to the right. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  );
}

/**
 * Lines as a terminal may be given them: what others have written into reasons and names, control characters among it,
 * neither breaks lines nor moves the cursor.
 */
export function printable(lines: readonly string[]): string {
  return lines
    .map((line) => line.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, escaped))
    .join('\n');
}

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
