// Reads the values of options: each parser answers a value that is within its bounds, or an error that commander shows
// with the name of the flag.

import { accessSync, constants } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { addressesOf } from '../bus/nats-addresses.ts';
import { messageOf } from '../errors.ts';
import { PREFIX_PATTERN } from '../fault-words.ts';

/** A whole number from `min` to `max`, both included. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

/** A number above zero, and at most `max`. */
export function positiveNumber(max: number): (text: string) => number {
  return (text) => {
    const value = numberIn(text);
    if (value > 0 && value <= max) return value;
    throw new InvalidArgumentError(`It must be a number above 0, at most ${max}.`);
  };
}

/** A number from 0 to `max`. */
export function numberUpTo(max: number): (text: string) => number {
  return (text) => {
    const value = numberIn(text);
    if (value >= 0 && value <= max) return value;
    throw new InvalidArgumentError(`It must be a number from 0 to ${max}.`);
  };
}

/** A part of the whole, 0 to 1. */
export const share = numberUpTo(1);

/** A file or folder that can be read. */
export function readable(path: string): string {
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw new InvalidArgumentError(`It cannot be read: ${messageOf(error)}.`);
  }
  return path;
}

/** Words that say something. */
export function text(words: string): string {
  if (words.trim() !== '') return words;
  throw new InvalidArgumentError('It must not be empty.');
}

/** What subjects begin with. */
export function subjectPrefix(tokens: string): string {
  if (new RegExp(PREFIX_PATTERN).test(tokens)) return tokens;
  throw new InvalidArgumentError('It must be tokens with dots between, without spaces, * and >.');
}

/** Values with commas between. */
export function list(text: string): string[] {
  const values = text.split(',').map((value) => value.trim());
  if (values.every((value) => value !== '')) return values;
  throw new InvalidArgumentError('It must be one value, or several with commas between.');
}

/** Addresses of NATS servers, with commas between. */
export function servers(text: string): string[] {
  try {
    addressesOf(text);
  } catch (error) {
    const why = messageOf(error).replace(/^servers: /, '');
    throw new InvalidArgumentError(`${why.charAt(0).toUpperCase()}${why.slice(1)}.`);
  }
  return list(text);
}

function numberIn(text: string): number {
  return /^(\d{1,15}(\.\d{1,15})?|\.\d{1,15})(e-?\d{1,3})?$/i.test(text) ? Number(text) : Number.NaN;
}
