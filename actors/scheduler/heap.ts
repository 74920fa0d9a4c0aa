// Heaps of hosts in which each entry knows where it stands, so that one host can be put in, taken out or moved
// without looking at the others, and the best of several heaps can be read off without changing any.

/** What a heap orders: the greater weight first, and among equals the lower tie. */
export interface Entry {
  readonly weight: number;
  readonly tie: number;
  /** Where the entry stands in its heap; kept by the heap. */
  at: number;
}

export type Heap<E extends Entry> = E[];

export function before(one: Pick<Entry, 'weight' | 'tie'>, other: Pick<Entry, 'weight' | 'tie'>): boolean {
  return one.weight > other.weight || (one.weight === other.weight && one.tie < other.tie);
}

export function insert<E extends Entry>(heap: Heap<E>, entry: E): void {
  heap.push(entry);
  rise(heap, entry, heap.length - 1);
}

export function remove<E extends Entry>(heap: Heap<E>, entry: E): void {
  const last = heap.pop() as E;
  if (last !== entry) replace(heap, entry, last);
}

/** Puts one entry in the place of another. */
export function replace<E extends Entry>(heap: Heap<E>, entry: E, by: E): void {
  const { at } = entry;
  if (at > 0 && before(by, heap[(at - 1) >> 1] as E)) rise(heap, by, at);
  else sink(heap, by, at);
}

function rise<E extends Entry>(heap: Heap<E>, entry: E, from: number): void {
  let position = from;
  while (position > 0) {
    const parent = (position - 1) >> 1;
    const above = heap[parent] as E;
    if (!before(entry, above)) break;
    put(heap, above, position);
    position = parent;
  }
  put(heap, entry, position);
}

function sink<E extends Entry>(heap: Heap<E>, entry: E, from: number): void {
  let position = from;
  for (;;) {
    let child = 2 * position + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && before(heap[child + 1] as E, heap[child] as E)) child += 1;
    const below = heap[child] as E;
    if (!before(below, entry)) break;
    put(heap, below, position);
    position = child;
  }
  put(heap, entry, position);
}

function put<E extends Entry>(heap: Heap<E>, entry: E, position: number): void {
  heap[position] = entry;
  entry.at = position;
}

/** Up to `most` accepted entries of several heaps, best first. */
export function bestOf<E extends Entry>(heaps: readonly Heap<E>[], most: number, accept: (entry: E) => boolean): E[] {
  if (most === 1) {
    const first = firstOf(heaps);
    if (first === undefined) return [];
    if (accept(first)) return [first];
  }
  const next: Next<E> = { entries: [], heaps: [] };
  for (const heap of heaps) reach(next, heap, 0);
  const found: E[] = [];
  while (found.length < most && next.entries.length > 0) {
    const entry = next.entries[0] as E;
    const heap = next.heaps[0] as Heap<E>;
    if (accept(entry)) found.push(entry);
    pass(next);
    reach(next, heap, 2 * entry.at + 1);
    reach(next, heap, 2 * entry.at + 2);
  }
  return found;
}

function firstOf<E extends Entry>(heaps: readonly Heap<E>[]): E | undefined {
  let first: E | undefined;
  for (const [top] of heaps) if (top !== undefined && (first === undefined || before(top, first))) first = top;
  return first;
}

/** Entries whose turn may come next, since those above them in their heaps were passed: a heap too, and theirs beside it. */
interface Next<E extends Entry> {
  readonly entries: E[];
  readonly heaps: Heap<E>[];
}

function reach<E extends Entry>({ entries, heaps }: Next<E>, heap: Heap<E>, at: number): void {
  const entry = heap[at];
  if (entry === undefined) return;
  let position = entries.length;
  while (position > 0) {
    const parent = (position - 1) >> 1;
    const above = entries[parent] as E;
    if (!before(entry, above)) break;
    entries[position] = above;
    heaps[position] = heaps[parent] as Heap<E>;
    position = parent;
  }
  entries[position] = entry;
  heaps[position] = heap;
}

/** Takes the first one out. */
function pass<E extends Entry>({ entries, heaps }: Next<E>): void {
  const last = entries.pop() as E;
  const lastHeap = heaps.pop() as Heap<E>;
  const { length } = entries;
  if (length === 0) return;
  let position = 0;
  for (let child = 1; child < length; child = 2 * position + 1) {
    if (child + 1 < length && before(entries[child + 1] as E, entries[child] as E)) child += 1;
    if (!before(entries[child] as E, last)) break;
    entries[position] = entries[child] as E;
    heaps[position] = heaps[child] as Heap<E>;
    position = child;
  }
  entries[position] = last;
  heaps[position] = lastHeap;
}
