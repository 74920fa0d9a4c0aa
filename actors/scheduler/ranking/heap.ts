// Heaps of hosts, by their slots, in which it is known where each stands, so that one host can be put in, taken out or
// moved without looking at the others. A host is in one of them at most, so what they are ordered by, and where each stands,
// is kept for all of them together. See best-first.ts for reading off the best of several without changing any.

/** What hosts are ordered by: the greater weight first, and among equals the lower tie. */
export interface Rank {
  readonly weight: number;
  readonly tie: number;
}

export function before(one: Rank, other: Rank): boolean {
  return one.weight > other.weight || (one.weight === other.weight && one.tie < other.tie);
}

/** What each host weighs, by slot, and where it stands in its heap, which the heaps keep. */
export interface Order {
  readonly weights: Float64Array;
  readonly at: Int32Array;
}

export interface Heap {
  readonly slots: number[];
  /** By slot. */
  readonly ties: ArrayLike<number>;
}

export const emptyHeap = (ties: ArrayLike<number>): Heap => ({ slots: [], ties });

export function comesBefore({ weights }: Order, { ties }: Heap, one: number, other: number): boolean {
  const weight = weights[one] as number;
  const otherWeight = weights[other] as number;
  return weight > otherWeight || (weight === otherWeight && (ties[one] as number) < (ties[other] as number));
}

/** Puts a host in, by what it weighs now. */
export function insert(order: Order, heap: Heap, slot: number): void {
  heap.slots.push(slot);
  rise(order, heap, slot, heap.slots.length - 1);
}

/** Takes a host out, whatever it weighs. */
export function remove(order: Order, heap: Heap, slot: number): void {
  const last = heap.slots.pop() as number;
  if (last !== slot) settle(order, heap, last, order.at[slot] as number);
}

/** Moves a host to where it belongs, after its weight has changed. */
export function move(order: Order, heap: Heap, slot: number): void {
  settle(order, heap, slot, order.at[slot] as number);
}

function settle(order: Order, heap: Heap, slot: number, at: number): void {
  if (at > 0 && comesBefore(order, heap, slot, heap.slots[(at - 1) >> 1] as number)) rise(order, heap, slot, at);
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
