// A set of which there are many, most of them empty: the engine's Set takes 180 bytes also for nothing.

const NOTHING: ReadonlySet<never> = new Set();

export class SparseSet<Value> implements Iterable<Value> {
  /** Null: there are none. */
  #members: Set<Value> | null = null;

  constructor(members: Iterable<Value> = []) {
    for (const member of members) this.add(member);
  }

  get size(): number {
    return this.#members?.size ?? 0;
  }

  has(value: Value): boolean {
    return this.#members?.has(value) ?? false;
  }

  add(value: Value): void {
    this.#members ??= new Set();
    this.#members.add(value);
  }

  /** Whether it was there. */
  delete(value: Value): boolean {
    const members = this.#members;
    if (members?.delete(value) !== true) return false;
    if (members.size === 0) this.#members = null;
    return true;
  }

  [Symbol.iterator](): Iterator<Value> {
    return (this.#members ?? NOTHING)[Symbol.iterator]();
  }
}
