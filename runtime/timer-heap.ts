// The timers of a clock: a binary heap by time, then by creation, that forgets cancelled ones lazily.
// It knows no time of its own and calls nothing.

/** One timer; without `wake` it has been cancelled or taken. */
export interface HeapTimer {
  at: number;
  order: number;
  wake: (() => void) | undefined;
}

/** Below this many entries it is not worth sweeping out the cancelled ones. */
const SWEEP_FROM = 1024;

export interface TimerHeap {
  /** Timers that are neither taken nor cancelled. */
  size(): number;
  add(at: number, wake: () => void): HeapTimer;
  cancel(timer: HeapTimer): void;
  /** The earliest timer, still in the heap. */
  peek(): HeapTimer | undefined;
  /** Takes the earliest timer out, which can no longer be cancelled, and gives what it is to call. */
  take(): (() => void) | undefined;
}

export function timerHeap(): TimerHeap {
  let heap: HeapTimer[] = [];
  let order = 0;
  let live = 0;

  const dropCancelled = (): void => {
    while (heap.length > 0 && heap[0]?.wake === undefined) removeFirst(heap);
  };

  return {
    size: () => live,
    add(at, wake) {
      const timer = { at, order: order++, wake };
      heap.push(timer);
      siftUp(heap, heap.length - 1);
      live++;
      return timer;
    },
    cancel(timer) {
      if (timer.wake === undefined) return;
      timer.wake = undefined;
      live--;
      // Most timers are deadlines that are met, so cancelled ones would pile up until their time came.
      if (heap.length >= SWEEP_FROM && live < heap.length / 2) {
        heap = heap.filter((each) => each.wake !== undefined);
        for (let index = (heap.length >> 1) - 1; index >= 0; index--) siftDown(heap, index);
      }
    },
    peek() {
      dropCancelled();
      return heap[0];
    },
    take() {
      dropCancelled();
      const first = heap[0];
      if (first === undefined) return undefined;
      removeFirst(heap);
      live--;
      const { wake } = first;
      first.wake = undefined;
      return wake;
    },
  };
}

function before(one: HeapTimer, other: HeapTimer): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

function removeFirst(heap: HeapTimer[]): void {
  const last = heap.pop() as HeapTimer;
  if (heap.length === 0) return;
  heap[0] = last;
  siftDown(heap, 0);
}

function siftUp(heap: HeapTimer[], from: number): void {
  const timer = heap[from] as HeapTimer;
  let index = from;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    if (!before(timer, heap[parent] as HeapTimer)) break;
    heap[index] = heap[parent] as HeapTimer;
    index = parent;
  }
  heap[index] = timer;
}

function siftDown(heap: HeapTimer[], from: number): void {
  const timer = heap[from] as HeapTimer;
  let index = from;
  for (;;) {
    let child = 2 * index + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && before(heap[child + 1] as HeapTimer, heap[child] as HeapTimer)) child++;
    if (!before(heap[child] as HeapTimer, timer)) break;
    heap[index] = heap[child] as HeapTimer;
    index = child;
  }
  heap[index] = timer;
}
