// Heaps of ranked hosts in which each entry knows where it stands, so that one host can be put in, taken out or moved
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

/** An entry that is next in its heap, when those above it have been read. */
interface Next<E extends Entry> extends Entry {
  readonly heap: Heap<E>;
  readonly entry: E;
}

/** Up to `most` accepted entries of several heaps, best first. */
export function bestOf<E extends Entry>(heaps: Iterable<Heap<E>>, most: number, accept: (entry: E) => boolean): E[] {
  const next: Heap<Next<E>> = [];
  const reach = (heap: Heap<E>, position: number) => {
    const entry = heap[position];
    if (entry !== undefined) insert(next, { weight: entry.weight, tie: entry.tie, at: 0, heap, entry });
  };
  for (const heap of heaps) reach(heap, 0);
  const found: E[] = [];
  while (found.length < most && next.length > 0) {
    const { heap, entry } = next[0] as Next<E>;
    remove(next, next[0] as Next<E>);
    if (accept(entry)) found.push(entry);
    reach(heap, 2 * entry.at + 1);
    reach(heap, 2 * entry.at + 2);
  }
  return found;
}
