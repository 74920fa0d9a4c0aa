// The files that flags name: read as JSON, or found writable before the work whose outcome is to be kept in them.

import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { CellwrightError, messageOf } from '../errors.ts';
import { jsonIn } from '../json-text.ts';

/** In place of a file's name: the standard output, which then has nothing else. */
const STDOUT = '-';

/** Where the lines for people go, beside what a flag has written to a file. */
export function peoplesOutput(file: string | undefined): NodeJS.WriteStream {
  return file === STDOUT ? process.stderr : process.stdout;
}

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
  if (file === undefined || file === STDOUT) return;
  try {
    const known = statSync(file, { throwIfNoEntry: false });
    if (known?.isDirectory() === true) throw new Error('it is a folder');
    if (known !== undefined && !known.isFile()) return accessSync(file, constants.W_OK);
    // Whether a file can be made or written to is known only once it is opened.
    closeSync(openSync(file, 'a'));
    if (known === undefined) rmSync(realpathSync(file));
  } catch (cause) {
    throw unwritable(flag, file, cause);
  }
}

/**
 * Finds out before the work that what comes of it would be written over what another flag names.
 * @param read The files that are read, by flag.
 * @param written Those that are written.
 * @throws CellwrightError `bad-option` with the later flag as its field.
 */
export function checkApart(
  read: Readonly<Record<string, string>>,
  written: Readonly<Record<string, string | undefined>>,
): void {
  const earlier = Object.entries(read);
  for (const [flag, file] of Object.entries(written)) {
    if (file === undefined || file === STDOUT) continue;
    const other = earlier.find(([, one]) => isSameFile(one, file));
    if (other !== undefined) {
      const message = `--${other[0]} and --${flag} name the same file: '${file}'`;
      throw new CellwrightError('bad-option', message, { field: flag });
    }
    earlier.push([flag, file]);
  }
}

/** Whether two paths lead to one file, by whatever links, also where it is not there yet. */
function isSameFile(one: string, other: string): boolean {
  if (resolve(one) === resolve(other) || realPathOf(one) === realPathOf(other)) return true;
  const [known, there] = [one, other].map((path) => reached(() => statSync(path)));
  return known !== undefined && known.dev === there?.dev && known.ino === there.ino;
}

/** Nothing where it is not there or cannot be got at: whoever opens it says why. */
function reached<Found>(look: () => Found): Found | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/** Links in a circle lead nowhere, as whoever writes finds out. */
const MOST_LINKS = 40;

function realPathOf(file: string, links = 0): string {
  const folder = dirname(resolve(file));
  const path = join(existsSync(folder) ? realpathSync(folder) : folder, basename(resolve(file)));
  const isLink = reached(() => lstatSync(path))?.isSymbolicLink() === true;
  return isLink && links < MOST_LINKS ? realPathOf(resolve(dirname(path), readlinkSync(path)), links + 1) : path;
}

/** @throws CellwrightError `unwritable` with the flag as its field. */
export function writeTo(flag: string, file: string, text: string): void {
  try {
    if (file === STDOUT) process.stdout.write(text);
    else writeFileSync(file, text);
  } catch (cause) {
    throw unwritable(flag, file, cause);
  }
}

function unwritable(flag: string, file: string, cause: unknown): CellwrightError {
  const message = `--${flag}: '${file}' cannot be written: ${messageOf(cause)}`;
  return new CellwrightError('unwritable', message, { field: flag, cause });
}
