// A set whose members come and go by the thousand; the reasons are those of PassingMap.

import { PassingMap } from './passing-map.ts';

export class PassingSet<Value> implements Set<Value> {
  readonly #members = new PassingMap<Value, Value>();

  get size(): number {
    return this.#members.size;
  }

  get [Symbol.toStringTag](): string {
    return 'PassingSet';
  }

  has(value: Value): boolean {
    return this.#members.has(value);
  }

  add(value: Value): this {
    this.#members.set(value, value);
    return this;
  }

  delete(value: Value): boolean {
    return this.#members.delete(value);
  }

  clear(): void {
    this.#members.clear();
  }

  keys(): SetIterator<Value> {
    return this.#members.keys();
  }

  values(): SetIterator<Value> {
    return this.#members.keys();
  }

  *entries(): SetIterator<[Value, Value]> {
    for (const value of this.#members.keys()) yield [value, value];
  }

  [Symbol.iterator](): SetIterator<Value> {
    return this.#members.keys();
  }

  forEach(callback: (value: Value, same: Value, set: Set<Value>) => void, thisArg?: unknown): void {
    this.#members.forEach((value) => void callback.call(thisArg, value, value, this));
  }
}
