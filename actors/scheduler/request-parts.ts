// Which part of a request a filter or weigher goes by: rankings are shared by the requests of which it is the same.

import { type Request, rankedPart } from './request.ts';

/** A filter or weigher could not say which part of a request it goes by. */
export class Unreadable {
  readonly why: string;
  constructor(why: string) {
    this.why = why;
  }
}

/**
 * What a filter or weigher goes by, of a request: its own choice, or else the part of the spec that every ranking is made
 * for. Rankings are told apart by it, so it must be plain data, unless it is asked late.
 */
export function partOf(asker: { goesBy?(request: Request): unknown }, request: Request, late = false): unknown {
  if (asker.goesBy === undefined) return late ? request.spec : rankedPart(request);
  try {
    const part = asker.goesBy(request);
    return late || isPlain(part)
      ? part
      : new Unreadable('goesBy must answer plain data, by which rankings are told apart');
  } catch (error) {
    return new Unreadable(error instanceof Error ? error.message : String(error));
  }
}

/** Whether it is nothing but numbers, texts and the like, lists and objects of them. */
export function isPlain(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return !['function', 'bigint', 'symbol'].includes(typeof value);
  const prototype = Object.getPrototypeOf(value);
  return (
    (Array.isArray(value) || prototype === Object.prototype || prototype === null) &&
    Object.values(value).every(isPlain)
  );
}
