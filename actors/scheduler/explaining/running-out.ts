// Of several instances for some of which there is room: which resource classes run out, so that the next one has none.

import { adjust } from '../../amounts.ts';
import { effort } from '../../fitting/effort.ts';
import { leftAfter } from '../../fitting/fit-times.ts';
import type { RequestSpec } from '../../messages/common.ts';
import type { RunsOut } from '../../messages/decision.ts';
import type { Provider } from '../../placement/providers.ts';
import type { Steps } from '../steps.ts';
import { misfitsOf } from './all-obstacles.ts';

/** How many classes are told: those that run out on most hosts. */
const MAX_CLASSES_TOLD = 5;
/** After how many looks at providers it stays unknown: a quarter of a second. */
const MAX_LOOKS = 500_000;

/** A host with room for some, and for how many. */
export interface Filled {
  readonly tree: readonly Provider[];
  readonly instances: number;
}

/**
 * The classes that each of these hosts has too little of for one more instance; undefined: it takes long to find out, or
 * there are none.
 */
export function* classesRunningOut(spec: RequestSpec, hosts: readonly Filled[]): Steps<RunsOut['classes'] | undefined> {
  const hostsByClass = new Map<string, number>();
  let looksLeft = MAX_LOOKS;
  for (const { tree, instances } of hosts) {
    if (looksLeft < 0) return undefined;
    const before = effort.looks;
    for (const resourceClass of classesShort(spec, leftAfter(spec, tree, instances)))
      adjust(hostsByClass, resourceClass, 1);
    looksLeft -= effort.looks - before;
    yield;
  }
  if (hostsByClass.size === 0) return undefined;
  return [...hostsByClass]
    .map(([about, hosts]) => ({ about, hosts }))
    .sort((one, other) => other.hosts - one.hosts || (one.about < other.about ? -1 : 1))
    .slice(0, MAX_CLASSES_TOLD);
}

function classesShort(spec: RequestSpec, tree: readonly Provider[]): string[] {
  return misfitsOf(spec, tree).all.flatMap(({ code, about }) =>
    code === 'exceeds-capacity' && about !== undefined ? [about] : [],
  );
}

/** `MEMORY_MB runs out after 7 of 10`, `MEMORY_MB (on 5 of 7 hosts) and VCPU (on 3) run out after 7 of 10`. */
export function runsOutWords({ instances, of, hosts, classes }: RunsOut): string {
  const onSome = classes.findIndex((one) => one.hosts < hosts);
  const told = classes.map(({ about, hosts: some }, at) => {
    if (some === hosts) return about;
    return `${about} (on ${some}${at === onSome ? ` of ${hosts} hosts` : ''})`;
  });
  return `${listed(told)} ${classes.length === 1 ? 'runs' : 'run'} out after ${instances} of ${of}`;
}

const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
