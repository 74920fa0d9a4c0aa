// Rows of a trace in CSV, read with checks: an error names the file, the line and the column.

import { CsvError, parse } from 'csv-parse/sync';
import { CellwrightError, MalformedError, messageOf } from '../errors.ts';
import { readTrace } from './workload.ts';

/** No record of a trace comes near; a quote left open would else swallow the file. */
const MAX_RECORD_CHARACTERS = 10_000;

/** What data frames and databases write where they have nothing. */
const NOTHING = /^(|nan|none|null|na|n\/a|<na>)$/i;

/** Of decimal fractions that are added up or multiplied so much may be too much or missing: of 1000.0000000000001 too. */
const NOISE = 1e-6;

/** Told now and then which part of a file, 0 to 1, has been read. */
export type OnRead = (file: string, part: number) => void;

/** After so many rows it is told. */
const TELL_EVERY_ROWS = 1_000;

/** Names that rows bear, each with where it stands and how it is written there. */
export type Names = Map<string, { readonly line: number; readonly written: string }>;

/** A row as the parser tells of it. */
interface ReadRow {
  readonly record: Readonly<Record<string, string>>;
  readonly raw: string;
  /** The line that it ends in, how much was read by then, and what is uneven about it. */
  readonly info: { readonly lines: number; readonly bytes: number; readonly error?: unknown };
}

/** A row whose columns are read with checks; each error says where it is. */
export interface Row<Column extends string> {
  /** Where it begins. */
  readonly line: number;
  /** Whether the list has the column. */
  has(column: Column): boolean;
  /** Whether nothing stands there, or a word for nothing, such as `nan` or `None`. */
  isEmpty(column: Column): boolean;
  /** A number that is not below `min`, nor above what a number holds exactly. */
  number(column: Column, min: number): number;
  /**
   * A whole number from 0 to `max`.
   * @param ifEmpty What it is where nothing stands there; default: that is refused.
   */
  whole(column: Column, max: number, ifEmpty?: number): number;
  /** A number, rounded to whole units, which are within the bounds; `ifEmpty` as of `whole`. */
  amount(column: Column, rounded: 'up' | 'down', min: number, max: number, ifEmpty?: number): number;
  /**
   * An id in lower case and with hyphens for dots and underscores, not in `seen` yet; added to it.
   * @param most How many characters it may have; default 63.
   */
  name(column: Column, seen: Names, most?: number): string;
  /** Any text that is not empty, not in `seen` yet; added to it. */
  label(column: Column, seen: Names): string;
  /** Models with `|` between them; empty for none. */
  models(column: Column): string[];
  wrong(column: Column, expected: string): MalformedError;
}

/**
 * What `take` makes of each row of a CSV file with a header, in whose names case makes no difference; columns that are not
 * named may be there, and rows of empty cells alone, as spreadsheets write them, are left out as blank lines are. Rows may
 * leave out their last cells, which are then empty, but for one that the file ends with, as if it was cut off; and they may
 * have empty ones that the header has not.
 * @param optional Columns that may be missing, with what stands in them then.
 * @param take Keeps no row: each takes several times the memory of what it says.
 * @throws MalformedError for what is no such file; `field` is the column, or the file where it is no column's fault
 * @throws CellwrightError `trace-unreadable` when it cannot be read
 */
export function readRows<Column extends string, Taken>(
  file: string,
  columns: readonly Column[],
  optional: Readonly<Partial<Record<Column, string>>>,
  take: (row: Row<Column>) => Taken,
  onRead: OnRead = () => {},
): Taken[] {
  // Lines may end in any way; the parser counts them only if all end in one.
  const text = readTrace(file).replaceAll(/\r\n?/g, '\n');
  const bytes = Buffer.byteLength(text);
  /** The last line that was read. */
  let lastLine = 0;
  let header: readonly string[] = [];
  /** What stands where a row has no cell. */
  let blank: Readonly<Record<string, string | undefined>> = {};
  const columnsOf = (cells: string[]) => {
    const line = lineOfNextRow(text, 0);
    lastLine = line + linesIn(cells.join()) - 1;
    const wrong = (what: string, field: Column) => new MalformedError(`'${file}' line ${line}: ${what}`, { field });
    const names = cells.map((name) => name.trim().toLowerCase());
    const missing = columns.find((column) => !names.includes(column) && optional[column] === undefined);
    if (missing !== undefined) throw wrong(`no column '${missing}'${separatedOtherwise(cells)}`, missing);
    const twice = columns.find((column) => names.indexOf(column) !== names.lastIndexOf(column));
    if (twice !== undefined) throw wrong(`two columns '${twice}'`, twice);
    header = names;
    blank = Object.fromEntries(columns.map((column) => [column, names.includes(column) ? '' : optional[column]]));
    return names;
  };
  const notCsv = (why: string, cause?: unknown) => {
    return new MalformedError(`'${file}' is not the CSV it should be: ${why}`, { field: file, cause });
  };
  const has = (column: string) => header.includes(column);
  const all: Taken[] = [];
  /** The row that was read last, which waits until it is known whether the file ends with it. */
  let read: ReadRow | undefined;
  const takeRead = (isLast: boolean) => {
    if (read === undefined) return;
    const { record, raw, info } = read;
    // What was read of a row begins with the blank lines before it.
    const line = info.lines - linesIn(raw.trim()) + 1;
    const cells = cellsOfUneven(info.error);
    if (cells.slice(header.length).some((cell) => cell !== '')) {
      throw notCsv(`a row has ${cells.length} cells and the header ${header.length}, in line ${line}`);
    }
    if (!Object.values(record).some((cell) => cell !== '')) return;
    const isShort = cells.length < header.length && cells.length > 0;
    if (isShort && isLast && !text.slice(text.trimEnd().length).includes('\n')) {
      throw notCsv(`it ends within a row: of ${header.length} cells there are ${cells.length}, in line ${line}`);
    }
    all.push(take(rowOf(file, line, { ...blank, ...record } as Record<Column, string>, has)));
    if (all.length % TELL_EVERY_ROWS === 0) onRead(file, info.bytes / bytes);
  };
  try {
    parse(text, {
      bom: true,
      columns: columnsOf,
      info: true,
      max_record_size: MAX_RECORD_CHARACTERS,
      on_record(row: ReadRow) {
        takeRead(false);
        lastLine = row.info.lines;
        read = row;
        // The parser keeps no row either.
        return null;
      },
      raw: true,
      relax_column_count: true,
      skip_empty_lines: true,
      trim: true,
    });
    takeRead(true);
  } catch (error) {
    if (error instanceof CellwrightError) throw error;
    // What is wrong with the row before comes first.
    takeRead(false);
    const fault = faultOfRow(error);
    const why = fault === null ? messageOf(error) : `${fault}, in line ${lineOfNextRow(text, lastLine)}`;
    throw notCsv(why, error);
  }
  if (all.length === 0) throw new MalformedError(`'${file}' holds no rows`, { field: file });
  return all;
}

/** The cells of a row that has more or fewer of them than the header, as the parser tells of it; none of any other. */
function cellsOfUneven(error: unknown): readonly string[] {
  return (error as { record?: readonly string[] } | undefined)?.record ?? [];
}

/** That a header which is one cell has its columns separated by something else. */
function separatedOtherwise([only = '', ...others]: readonly string[]): string {
  const separator =
    others.length > 0 ? undefined : only.includes(';') ? 'semicolons' : only.includes('\t') ? 'tabs' : undefined;
  return separator === undefined ? '' : `: columns are separated by commas, not by ${separator}`;
}

/** What is wrong with a row as a whole, or null: the error tells only how far the row was read. */
function faultOfRow(error: unknown): string | null {
  if (!(error instanceof CsvError)) return null;
  switch (error.code) {
    case 'CSV_QUOTE_NOT_CLOSED':
      return 'a quote is opened and not closed';
    case 'CSV_MAX_RECORD_SIZE':
      return `a quote is opened and not closed, or the row has over ${MAX_RECORD_CHARACTERS} characters`;
    case 'INVALID_OPENING_QUOTE':
      return 'a quote stands inside a cell: such a cell begins and ends with one, and has each of its own twice';
    case 'CSV_INVALID_CLOSING_QUOTE':
    case 'CSV_NON_TRIMABLE_CHAR_AFTER_CLOSING_QUOTE':
      return 'something follows the quote that ends a cell';
    default:
      return null;
  }
}

/** @param line The last line of the row before. */
function lineOfNextRow(text: string, line: number): number {
  return text.split('\n').findIndex((one, position) => position >= line && one.trim() !== '') + 1;
}

const linesIn = (text: string): number => text.split('\n').length;

function rowOf<Column extends string>(
  file: string,
  line: number,
  record: Record<Column, string>,
  has: (column: Column) => boolean,
): Row<Column> {
  const textOf = (column: Column) => record[column].trim();
  const wrong = (column: Column, expected: string) => {
    const message = `'${file}' line ${line}, column '${column}': '${record[column]}' is not ${expected}`;
    return new MalformedError(message, { field: column });
  };
  const isEmpty = (column: Column) => NOTHING.test(textOf(column));
  /** NaN for what is none; exponents as some write them: `1.2e4`. */
  const numberIn = (column: Column) => {
    const text = textOf(column);
    return /^(\d{1,16}\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i.test(text) ? Number(text) : Number.NaN;
  };
  /** @param what What it is to be, as an error says it. */
  const within = (column: Column, value: number, what: string, min: number, max: number) => {
    if (value >= min && value <= max) return value;
    throw wrong(column, `a ${what} from ${min} to ${max}`);
  };
  const note = (column: Column, seen: Names, name: string) => {
    const other = seen.get(name);
    if (other !== undefined) {
      throw wrong(column, `a name of its own: the row of line ${other.line} bears it, as '${other.written}'`);
    }
    seen.set(name, { line, written: textOf(column) });
    return name;
  };
  return {
    line,
    has,
    isEmpty,
    wrong,
    number: (column, min) => within(column, numberIn(column), 'number', min, Number.MAX_SAFE_INTEGER),
    whole(column, max, ifEmpty) {
      if (ifEmpty !== undefined && isEmpty(column)) return ifEmpty;
      const value = numberIn(column);
      return within(column, Number.isInteger(value) ? value : Number.NaN, 'whole number', 0, max);
    },
    amount(column, rounded, min, max, ifEmpty) {
      if (ifEmpty !== undefined && isEmpty(column)) return ifEmpty;
      const value = numberIn(column);
      const units = rounded === 'up' ? Math.max(0, Math.ceil(value - NOISE)) : Math.floor(value + NOISE);
      return within(column, units, 'number', min, max);
    },
    name(column, seen, most = 63) {
      const name = textOf(column).toLowerCase().replaceAll(/[._]/g, '-');
      if (name.length > most || !/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name)) {
        throw wrong(column, `a name of letters, digits and inner '-', '.' and '_', at most ${most} of them`);
      }
      return note(column, seen, name);
    },
    label(column, seen) {
      if (textOf(column) === '') throw wrong(column, 'a name');
      return note(column, seen, textOf(column));
    },
    models(column) {
      if (isEmpty(column)) return [];
      // As the dataset's own tools read them: nothing between two `|` names none.
      const named = record[column].split('|').map((model) => model.trim());
      const models = named.filter((model) => model !== '');
      if (!models.every((model) => /^\w[\w .-]{0,63}$/.test(model))) {
        throw wrong(
          column,
          "a list of models with '|' between, each of letters, digits, ' ', '-', '.' and '_', at most 64",
        );
      }
      return models;
    },
  };
}
