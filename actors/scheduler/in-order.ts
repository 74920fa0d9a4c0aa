// Lists that are kept in an order in which no two things are equal: where something stands is found by halving.

/** Whether one comes before another. */
export type Before<One> = (one: One, other: One) => boolean;

/** Where something stands, or would: behind all that come before it. */
function positionOf<One>(list: readonly One[], one: One, before: Before<One>): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (before(list[middle] as One, one)) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function putIn<One>(list: One[], one: One, before: Before<One>): void {
  list.splice(positionOf(list, one, before), 0, one);
}

/** Takes out what stands there. What it is ordered by must not have changed since it was put in. */
export function takeOut<One>(list: One[], one: One, before: Before<One>): void {
  const position = positionOf(list, one, before);
  if (list[position] !== one) throw new Error('what is to be taken out of a list is not where it belongs by its order');
  list.splice(position, 1);
}
