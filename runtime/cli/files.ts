// The files that flags name: read as JSON, or found writable before the work whose outcome is to be kept in them.

import { accessSync, constants, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { CellwrightError, messageOf } from '../errors.ts';
import { jsonIn } from '../json-text.ts';

/**
 * What a file of JSON holds, which must be an object.
 * @throws CellwrightError `code` with the flag as its field.
 */
export function jsonObjectIn(flag: string, file: string, code: string): object {
  const bad = (why: string, cause?: unknown) =>
    new CellwrightError(code, `--${flag} '${file}': ${why}`, { field: flag, cause });
  let value: unknown;
  try {
    if (statSync(file).isDirectory()) throw new Error('it is a folder');
    value = jsonIn(readFileSync(file));
  } catch (cause) {
    throw bad(messageOf(cause), cause);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bad('it must be a JSON object');
  return value;
}

/**
 * Finds out before the work that its outcome could not be kept.
 * @throws CellwrightError `unwritable` with the flag as its field.
 */
export function checkWritable(flag: string, file: string | undefined): void {
  if (file === undefined) return;
  try {
    const known = statSync(file, { throwIfNoEntry: false });
    if (known?.isDirectory() === true) throw new Error('it is a folder');
    accessSync(known === undefined ? dirname(file) : file, constants.W_OK);
  } catch (cause) {
    throw unwritable(flag, file, cause);
  }
}

/** @throws CellwrightError `unwritable` with the flag as its field. */
export function writeTo(flag: string, file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (cause) {
    throw unwritable(flag, file, cause);
  }
}

function unwritable(flag: string, file: string, cause: unknown): CellwrightError {
  const message = `--${flag}: '${file}' cannot be written: ${messageOf(cause)}`;
  return new CellwrightError('unwritable', message, { field: flag, cause });
}
