// Ranked hosts for each shape of request, kept up to date by the hosts that changed: requests of one shape share the
// work, and choosing among many hosts costs about what choosing among few does. Each cell has a heap of its own, so
// that alternates of one cell are found without passing those of the others.

import type { Allocation } from '../../machines/instance-build.ts';
import type { RequestSpec } from '../messages/common.ts';
import type { Provider } from '../placement/providers.ts';
import { fnv1a } from '../routing.ts';
import { fit } from './fit.ts';
import { changesEnd, type View } from './view.ts';
import { type Weigher, weightOf } from './weighers/weigher.ts';

/** How many shapes are kept ranked; the one used longest ago goes first. */
const MAX_SHAPES = 256;

export interface Ranked {
  readonly root: string;
  readonly cell: string;
  readonly host: string;
  readonly weight: number;
  readonly allocations: readonly Allocation[];
}

/** One weighing of a host: it counts for as long as it is the host's last. */
interface Weighed extends Ranked {
  /** Orders hosts of equal weight, differently for each scheduler. */
  readonly tie: number;
}

interface Shape {
  readonly spec: RequestSpec;
  readonly current: Map<string, Weighed>;
  readonly heaps: Map<string, Weighed[]>;
  /** The position in the view's changes up to which this ranking is true. */
  seen: number;
}

export interface Rankings {
  readonly weighers: readonly Weigher[];
  readonly salt: string;
  readonly shapes: Map<string, Shape>;
}

export function emptyRankings(weighers: readonly Weigher[], salt: string): Rankings {
  return { weighers, salt, shapes: new Map() };
}

/** The best host that `skip` does not name; one of a silent cell, which may take its time, only if there is no other. */
export function best(
  rankings: Rankings,
  view: View,
  spec: RequestSpec,
  skip: (root: string) => boolean,
): Ranked | null {
  const shape = shapeOf(rankings, view, spec);
  let found: Weighed | undefined;
  let foundSilent: Weighed | undefined;
  for (const [cell, heap] of shape.heaps) {
    const [top] = takeBest(shape, heap, 1, skip);
    if (top === undefined) continue;
    if (view.silentCells.has(cell)) {
      if (foundSilent === undefined || before(top, foundSilent)) foundSilent = top;
    } else if (found === undefined || before(top, found)) {
      found = top;
    }
  }
  return found ?? foundSilent ?? null;
}

/** Up to `most` hosts of one cell that `skip` does not name, best first. */
export function bestOfCell(
  rankings: Rankings,
  view: View,
  spec: RequestSpec,
  cell: string,
  most: number,
  skip: (root: string) => boolean,
): readonly Ranked[] {
  const shape = shapeOf(rankings, view, spec);
  const heap = shape.heaps.get(cell);
  return heap === undefined ? [] : takeBest(shape, heap, most, skip);
}

function shapeOf(rankings: Rankings, view: View, spec: RequestSpec): Shape {
  const key = JSON.stringify(spec);
  const { shapes } = rankings;
  let shape = shapes.get(key);
  if (shape === undefined || shape.seen < view.changesDropped) {
    shape = { spec, current: new Map(), heaps: new Map(), seen: changesEnd(view) };
    for (const root of view.trees.keys()) weighAnew(rankings, view, shape, root);
  } else {
    const changed = new Set(view.changes.slice(shape.seen - view.changesDropped));
    for (const root of changed) weighAnew(rankings, view, shape, root);
    shape.seen = changesEnd(view);
  }
  shapes.delete(key);
  shapes.set(key, shape);
  if (shapes.size > MAX_SHAPES) shapes.delete(shapes.keys().next().value as string);
  return shape;
}

function weighAnew({ weighers, salt }: Rankings, view: View, shape: Shape, root: string): void {
  shape.current.delete(root);
  const host = view.hosts.get(root);
  if (host?.state !== 'up') return;
  const tree = treeOf(view, root);
  if (tree[0]?.spec.id !== root) return;
  const allocations = fit(shape.spec, tree);
  if (allocations === null) return;
  const { traits, aggregates } = tree[0];
  const facts = { cell: host.cell, host: host.host, state: host.state, tree, traits, aggregates };
  const weight = weightOf(weighers, { host: facts, tree, allocations });
  const weighed = { root, cell: host.cell, host: host.host, weight, allocations, tie: fnv1a(salt + root) };
  shape.current.set(root, weighed);
  let heap = shape.heaps.get(host.cell);
  if (heap === undefined || heap.length > 4 * shape.current.size + 64) {
    // Most of the heap is outdated: it is made anew from what counts.
    heap = [...shape.current.values()].filter(({ cell, root: other }) => cell === host.cell && other !== root);
    heap.sort((one, other) => (before(one, other) ? -1 : 1));
    shape.heaps.set(host.cell, heap);
  }
  push(heap, weighed);
}

export function treeOf(view: View, root: string): Provider[] {
  return (view.trees.get(root) ?? []).map((id) => view.providers.get(id)).filter((one) => one !== undefined);
}

/** The best entries that count, left where they are. */
function takeBest(shape: Shape, heap: Weighed[], most: number, skip: (root: string) => boolean): Weighed[] {
  const chosen: Weighed[] = [];
  const passed: Weighed[] = [];
  while (chosen.length < most && heap.length > 0) {
    const top = pop(heap);
    if (shape.current.get(top.root) !== top) continue;
    passed.push(top);
    if (!skip(top.root)) chosen.push(top);
  }
  for (const entry of passed) push(heap, entry);
  return chosen;
}

function before(one: Weighed, other: Weighed): boolean {
  return one.weight > other.weight || (one.weight === other.weight && one.tie < other.tie);
}

function push(heap: Weighed[], entry: Weighed): void {
  let position = heap.length;
  heap.push(entry);
  while (position > 0) {
    const parent = (position - 1) >> 1;
    if (!before(entry, heap[parent] as Weighed)) break;
    heap[position] = heap[parent] as Weighed;
    position = parent;
  }
  heap[position] = entry;
}

function pop(heap: Weighed[]): Weighed {
  const top = heap[0] as Weighed;
  const last = heap.pop() as Weighed;
  if (heap.length === 0) return top;
  let position = 0;
  for (;;) {
    let child = 2 * position + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && before(heap[child + 1] as Weighed, heap[child] as Weighed)) child += 1;
    if (!before(heap[child] as Weighed, last)) break;
    heap[position] = heap[child] as Weighed;
    position = child;
  }
  heap[position] = last;
  return top;
}
