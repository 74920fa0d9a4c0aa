// Random queries for allocation candidates, as far as a microversion knows the parameters, and a little beyond.

import { AGGREGATES, type Chooser, CLASSES, PROVIDERS, TRAITS } from './small-world.ts';

export function candidatesPath(choose: Chooser, minor: number): string {
  const suffixes = minor >= 25 ? choose.some(minor >= 33 ? ['_A', '_B', '1'] : ['1', '2', '3'], 0.35) : [];
  const unnamed = suffixes.length === 0 || choose.chance(0.6);
  // The reference counts a class that two groups ask for in place, unless the policy is `none`.
  const policy = suffixes.length > 1 || choose.chance(0.1) ? choose.of(['none', 'isolate']) : null;
  const apart = policy === 'none' ? CLASSES : CLASSES.slice(0, 2);
  const parameters: string[] = [];
  if (unnamed) parameters.push(...group(choose, minor, '', policy === 'none' ? CLASSES : CLASSES.slice(2)));
  for (const suffix of suffixes) {
    const resourceless = minor >= 36 && choose.chance(0.2);
    parameters.push(...group(choose, minor, suffix, resourceless ? [] : apart));
  }
  if (policy !== null && minor >= 25) parameters.push(`group_policy=${policy}`);
  if (minor >= 35 && choose.chance(0.15)) parameters.push(`root_required=${choose.of(['', '!'])}${choose.of(TRAITS)}`);
  if (minor >= 36 && suffixes.length > 0 && choose.chance(0.5)) {
    parameters.push(`same_subtree=${choose.some(suffixes, 0.8).join(',') || suffixes[0]}`);
  }
  return `/allocation_candidates?${parameters.join('&')}`;
}

function group(choose: Chooser, minor: number, suffix: string, classes: readonly string[]): string[] {
  const parameters: string[] = [];
  const asked = choose.some(classes, 0.5);
  if (asked.length === 0 && classes.length > 0) asked.push(choose.of(classes));
  if (asked.length > 0) {
    parameters.push(`resources${suffix}=${asked.map((name) => `${name}:${1 + choose.upTo(3)}`).join(',')}`);
  }
  if (minor >= 17 && (asked.length === 0 || choose.chance(0.25))) {
    const form = minor >= 22 ? choose.of(['', '', '!', 'in:']) : '';
    const more = form === 'in:' ? `,${choose.of(TRAITS)}` : '';
    parameters.push(`required${suffix}=${form}${choose.of(TRAITS)}${more}`);
  }
  if (minor >= 21 && choose.chance(0.2)) {
    const form = minor >= 32 ? choose.of(['', '', '!', 'in:']) : '';
    const more = form === 'in:' ? `,${choose.of(AGGREGATES)}` : '';
    parameters.push(`member_of${suffix}=${form}${choose.of(AGGREGATES)}${more}`);
  }
  if (minor >= 31 && asked.length > 0 && choose.chance(0.15))
    parameters.push(`in_tree${suffix}=${choose.of(PROVIDERS)}`);
  return parameters;
}
