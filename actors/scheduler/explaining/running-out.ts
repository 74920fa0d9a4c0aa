// Of several instances for some of which there is room: which resource classes run out, so that the next one has none, and
// which rules and limits let in no more.

import { adjust } from '../../amounts.ts';
import { listed } from '../../count-words.ts';
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
  /** The rules and limits that let in no more there, as codes of refusals. */
  readonly rules: readonly string[];
}

/**
 * What says that too little of a class is left. A host had room for some: an amount is off the units of what is left only
 * where providers that give such amounts have too little.
 */
const OF_CLASS: ReadonlySet<string> = new Set(['exceeds-capacity', 'unit-constraint']);

/** How the groups of a request may be left without room, though there is enough of each class. */
const BY_SHAPE: ReadonlySet<string> = new Set(['not-one-subtree', 'not-isolated']);

/**
 * The classes that each of these hosts has too little of for one more instance, and the rules that let in no more;
 * undefined: it takes long to find out, or there are none.
 */
export function* runningOut(
  spec: RequestSpec,
  hosts: readonly Filled[],
): Steps<Pick<RunsOut, 'classes' | 'rules'> | undefined> {
  const hostsByClass = new Map<string, number>();
  const hostsByRule = new Map<string, number>();
  let looksLeft = MAX_LOOKS;
  for (const { tree, instances, rules } of hosts) {
    if (looksLeft < 0) return undefined;
    const before = effort.looks;
    for (const rule of rules) adjust(hostsByRule, rule, 1);
    const classes = new Set<string>();
    for (const { code, about } of misfitsOf(spec, leftAfter(spec, tree, instances)).all) {
      if (OF_CLASS.has(code) && about !== undefined) classes.add(about);
      else if (BY_SHAPE.has(code)) adjust(hostsByRule, code, 1);
    }
    for (const about of classes) adjust(hostsByClass, about, 1);
    looksLeft -= effort.looks - before;
    yield;
  }
  if (hostsByClass.size + hostsByRule.size === 0) return undefined;
  const classes = mostFirst(hostsByClass).map(([about, some]) => ({ about, hosts: some }));
  const rules = mostFirst(hostsByRule).map(([code, some]) => ({ code, hosts: some }));
  return { classes: classes.slice(0, MAX_CLASSES_TOLD), ...(rules.length === 0 ? {} : { rules }) };
}

function mostFirst(counted: ReadonlyMap<string, number>): [string, number][] {
  return [...counted].sort(([one, many], [other, more]) => more - many || (one < other ? -1 : 1));
}

/** What lets in no more, in words. */
const RULES: Readonly<Record<string, string>> = {
  'group-anti-affinity': 'the rule of its instance group',
  'too-many-instances': 'the limit on instances',
  'too-many-builds': 'the limit on builds',
  'not-one-subtree': 'the wish that its groups share a subtree',
  'not-isolated': 'the wish that its groups share no provider',
};

/**
 * `MEMORY_MB runs out after 7 of 10`, `MEMORY_MB (on 5 of 7 hosts) and VCPU (on 3) run out after 7 of 10`, `the limit on
 * builds lets in no more after 4 of 6`.
 */
export function runsOutWords({ instances, of, hosts, classes, rules = [] }: RunsOut): string {
  let isFirst = true;
  const on = (words: string, some: number): string => {
    if (some === hosts) return words;
    const ofAll = isFirst ? ` of ${hosts} hosts` : '';
    isFirst = false;
    return `${words} (on ${some}${ofAll})`;
  };
  const byClasses = classes.map((one) => on(one.about, one.hosts));
  const byRules = rules.map((one) => on(RULES[one.code] ?? one.code, one.hosts));
  const after = `after ${instances} of ${of}`;
  const lets = `${byRules.length === 1 ? 'lets' : 'let'} in no more`;
  if (byClasses.length === 0) return `${listed(byRules)} ${lets} ${after}`;
  const ends = `${listed(byClasses)} ${byClasses.length === 1 ? 'runs' : 'run'} out ${after}`;
  return byRules.length === 0 ? ends : `${ends}, and ${listed(byRules)} ${lets}`;
}
