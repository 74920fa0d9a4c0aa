// Heaps of hosts, by their slots, in which it is known where each stands, so that one host can be put in, taken out or
// moved without looking at the others, and the best of several heaps can be read off without changing any. A host is in
// one of them at most, so what they are ordered by, and where each stands, is kept for all of them together. Where the
// weights of very many are set anew, their heaps are loosened first, and put in order only as far as somebody reads them.

/** What hosts are ordered by: the greater weight first, and among equals the lower tie. */
export interface Entry {
  readonly weight: number;
  readonly tie: number;
}

export function before(one: Entry, other: Entry): boolean {
  return one.weight > other.weight || (one.weight === other.weight && one.tie < other.tie);
}

/** What each host weighs, by slot, and where it stands in its heap, which the heaps keep. */
export interface Order {
  readonly weights: Float64Array;
  readonly at: Int32Array;
}

/** How much of a heap stands where it belongs. */
const SETTLED = {
  whole: 0,
  /** The first is the best; the others stand anyhow. */
  first: 1,
  none: 2,
} as const;

export interface Heap {
  readonly slots: number[];
  /** By slot. */
  readonly ties: ArrayLike<number>;
  settled: (typeof SETTLED)[keyof typeof SETTLED];
}

export const emptyHeap = (ties: ArrayLike<number>): Heap => ({ slots: [], ties, settled: SETTLED.whole });

/** Has a heap take whatever its hosts weigh from now on, at no cost, until it is read. */
export function loosen(heap: Heap): void {
  heap.settled = SETTLED.none;
}

/** The best of a heap. */
export function topOf(order: Order, heap: Heap): number | undefined {
  if (heap.settled === SETTLED.none) putFirst(order, heap);
  return heap.slots[0];
}

function putFirst(order: Order, heap: Heap): void {
  const { slots } = heap;
  heap.settled = slots.length < 2 ? SETTLED.whole : SETTLED.first;
  let best = 0;
  for (let position = 1; position < slots.length; position += 1) {
    if (comesBefore(order, heap, slots[position] as number, slots[best] as number)) best = position;
  }
  if (best > 0) exchange(order, heap, best);
}

/** Puts what stands at a position first, and the first there. */
function exchange({ at }: Order, { slots }: Heap, position: number): void {
  const [first] = slots as [number];
  const one = slots[position] as number;
  slots[position] = first;
  at[first] = position;
  slots[0] = one;
  at[one] = 0;
}

function putInOrder(order: Order, heap: Heap): void {
  heap.settled = SETTLED.whole;
  const { slots } = heap;
  for (let position = (slots.length >> 1) - 1; position >= 0; position -= 1) {
    sink(order, heap, slots[position] as number, position);
  }
}

function comesBefore({ weights }: Order, { ties }: Heap, one: number, other: number): boolean {
  const weight = weights[one] as number;
  const otherWeight = weights[other] as number;
  return weight > otherWeight || (weight === otherWeight && (ties[one] as number) < (ties[other] as number));
}

/** Puts a host in, by what it weighs now. */
export function insert(order: Order, heap: Heap, slot: number): void {
  const last = heap.slots.push(slot) - 1;
  if (heap.settled === SETTLED.whole) return rise(order, heap, slot, last);
  heap.settled = SETTLED.none;
  order.at[slot] = last;
}

/** Takes a host out, whatever it weighs. */
export function remove(order: Order, heap: Heap, slot: number): void {
  const last = heap.slots.pop() as number;
  if (last !== slot) settle(order, heap, last, order.at[slot] as number);
  else if (heap.slots.length === 0) heap.settled = SETTLED.whole;
}

/** Moves a host to where it belongs, after its weight has changed. */
export function move(order: Order, heap: Heap, slot: number): void {
  if (heap.settled === SETTLED.none) return;
  settle(order, heap, slot, order.at[slot] as number);
}

function settle(order: Order, heap: Heap, slot: number, at: number): void {
  if (heap.settled !== SETTLED.whole) {
    heap.settled = SETTLED.none;
    heap.slots[at] = slot;
    order.at[slot] = at;
  } else if (at > 0 && comesBefore(order, heap, slot, heap.slots[(at - 1) >> 1] as number)) rise(order, heap, slot, at);
  else sink(order, heap, slot, at);
}

function rise(order: Order, heap: Heap, slot: number, from: number): void {
  const { slots } = heap;
  const { at } = order;
  let position = from;
  while (position > 0) {
    const parent = (position - 1) >> 1;
    const above = slots[parent] as number;
    if (!comesBefore(order, heap, slot, above)) break;
    slots[position] = above;
    at[above] = position;
    position = parent;
  }
  slots[position] = slot;
  at[slot] = position;
}

function sink(order: Order, heap: Heap, slot: number, from: number): void {
  const { slots } = heap;
  const { at } = order;
  let position = from;
  for (;;) {
    let child = 2 * position + 1;
    if (child >= slots.length) break;
    if (child + 1 < slots.length && comesBefore(order, heap, slots[child + 1] as number, slots[child] as number)) {
      child += 1;
    }
    const below = slots[child] as number;
    if (!comesBefore(order, heap, below, slot)) break;
    slots[position] = below;
    at[below] = position;
    position = child;
  }
  slots[position] = slot;
  at[slot] = position;
}

/** Up to `most` accepted hosts of several heaps of one kind, best first. */
export function bestOf(
  order: Order,
  heaps: readonly Heap[],
  most: number,
  accept: (slot: number) => boolean,
): number[] {
  if (most === 1) {
    const first = firstOf(order, heaps);
    if (first === undefined) return [];
    if (accept(first)) return [first];
  }
  const next: Next = { slots: [], heaps: [] };
  for (const heap of heaps) if (topOf(order, heap) !== undefined) reach(order, next, heap, 0);
  const found: number[] = [];
  while (found.length < most && next.slots.length > 0) {
    const slot = next.slots[0] as number;
    const heap = next.heaps[0] as Heap;
    if (accept(slot)) found.push(slot);
    pass(order, next);
    if (heap.settled !== SETTLED.whole) putInOrder(order, heap);
    const at = order.at[slot] as number;
    reach(order, next, heap, 2 * at + 1);
    reach(order, next, heap, 2 * at + 2);
  }
  return found;
}

function firstOf(order: Order, heaps: readonly Heap[]): number | undefined {
  let first: number | undefined;
  for (const heap of heaps) {
    const top = topOf(order, heap);
    if (top !== undefined && (first === undefined || comesBefore(order, heap, top, first))) first = top;
  }
  return first;
}

/** Hosts whose turn may come next, since those above them in their heaps were passed: a heap too, and theirs beside it. */
interface Next {
  readonly slots: number[];
  readonly heaps: Heap[];
}

function reach(order: Order, { slots, heaps }: Next, heap: Heap, at: number): void {
  const slot = heap.slots[at];
  if (slot === undefined) return;
  let position = slots.length;
  while (position > 0) {
    const parent = (position - 1) >> 1;
    const above = slots[parent] as number;
    if (!comesBefore(order, heap, slot, above)) break;
    slots[position] = above;
    heaps[position] = heaps[parent] as Heap;
    position = parent;
  }
  slots[position] = slot;
  heaps[position] = heap;
}

/** Takes the first one out. */
function pass(order: Order, { slots, heaps }: Next): void {
  const last = slots.pop() as number;
  const lastHeap = heaps.pop() as Heap;
  const { length } = slots;
  if (length === 0) return;
  let position = 0;
  for (let child = 1; child < length; child = 2 * position + 1) {
    if (child + 1 < length && comesBefore(order, lastHeap, slots[child + 1] as number, slots[child] as number)) {
      child += 1;
    }
    if (!comesBefore(order, lastHeap, slots[child] as number, last)) break;
    slots[position] = slots[child] as number;
    heaps[position] = heaps[child] as Heap;
    position = child;
  }
  slots[position] = last;
  heaps[position] = lastHeap;
}
