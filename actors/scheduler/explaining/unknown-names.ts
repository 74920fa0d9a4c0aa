// Names of a request that nothing carries which the scheduler knows. A misspelt one is no error, for what it names may yet
// come; but one to be avoided, forbidden or preferred then makes no difference, and nothing else would tell.

import { likeWords, mostLike } from '../../alike.ts';
import { spend } from '../../fitting/effort.ts';
import type { UnknownName } from '../../messages/decision.ts';
import { STANDARD_RESOURCE_CLASSES } from '../../messages/resource-classes.ts';
import { STANDARD_TRAITS } from '../../placement/standard-traits.ts';
import { onAggregates, wishesOnAggregates } from '../aggregate-wishes.ts';
import type { Request } from '../request.ts';
import type { Steps } from '../steps.ts';
import type { View } from '../view/view.ts';
import { LOOKS_TO_COMPARE, likeHosts } from './like-hosts.ts';

/** How many are told of a request: who has read so many looks for what all have in common. */
const MAX_UNKNOWN_TOLD = 20;
/** How many trees at most are asked for names that are like those that nothing carries, and of each kind how many names. */
const MAX_ASKED = 1_024;
const MAX_LIKE = 1_024;
const NONE: ReadonlySet<string> = new Set();
/** How many names of providers are looked at in one step: some microseconds of work; and how many providers are passed. */
const LOOKS_A_STEP = 64;
const SKIPPED_A_STEP = 256;

/** The names of a request, while it is found out which of them nothing carries. */
export interface NamesToFind {
  /** Of each kind those that were not met yet. */
  readonly cells: Set<string>;
  /** Cells of the hosts that were looked at. */
  readonly cellsMet: Set<string>;
  readonly classes: Set<string>;
  readonly traits: Set<string>;
  readonly aggregates: Set<string>;
}

export function namesToFind(request: Request): NamesToFind {
  const { spec, where } = request;
  const { cells = [], avoidCells = [], preferCells = [] } = where ?? {};
  const traits = spec.groups.flatMap(({ required = [], anyOf = [], forbidden = [] }) => [
    ...required,
    ...anyOf.flat(),
    ...forbidden,
  ]);
  return {
    classes: new Set(spec.groups.flatMap(({ resources }) => Object.keys(resources))),
    cells: new Set([...cells, ...avoidCells, ...preferCells]),
    cellsMet: new Set(),
    traits: new Set([...traits, ...(spec.rootRequired ?? []), ...(spec.rootForbidden ?? [])]),
    aggregates: new Set([...aggregatesNamed(request), ...spec.groups.flatMap(({ memberOf = [] }) => memberOf.flat())]),
  };
}

/** Those that the request names itself: what its zones are made of, and what is kept for others, are the operator's words. */
function aggregatesNamed(request: Request): readonly string[] {
  const asked = onAggregates(request);
  if (asked === undefined) return [];
  return wishesOnAggregates(asked).flatMap(({ advice: { code }, conditions }) => {
    if (code === 'without-member-of') return conditions.flatMap(({ memberOf = [] }) => memberOf);
    if (code === 'without-avoid-aggregates') return conditions.flatMap(({ notMemberOf = [] }) => notMemberOf);
    return [];
  });
}

/** Looks for them at all providers, also at those that are no host's, until each was met. */
export function* lookForNames({ classes, traits, aggregates }: NamesToFind, { providers }: View): Steps<void> {
  let looks = 0;
  let left = providers.size;
  // What comes while others have their turns is looked at too, but not without end.
  for (const provider of providers.values()) {
    if (classes.size + traits.size + aggregates.size === 0 || left === 0) return;
    left -= 1;
    const ofClasses = meet(classes, provider.stocks);
    looks += 1 + ofClasses + meet(traits, provider.traits) + meet(aggregates, provider.aggregates);
    if (looks < LOOKS_A_STEP) continue;
    looks = 0;
    yield;
  }
}

/** By kind and name of those that were not met: what is carried that is most like it. */
export type LikeNamesFound = ReadonlyMap<string, string>;

const keyOf = (kind: UnknownName['kind'], name: string): string => `${kind} ${name}`;

/**
 * Looks for what may be meant by names that were not met, at a part of the trees where there are many; and by those of hosts
 * of which nothing is known.
 */
export function* lookForLike(
  { classes, cells, cellsMet, traits, aggregates }: NamesToFind,
  view: View,
  request: Pick<Request, 'spec' | 'where'>,
): Steps<LikeNamesFound> {
  const hosts = hostsUnknown(view, request).slice(0, MAX_UNKNOWN_TOLD);
  const found = new Map([...(yield* likeHosts(hosts, view))].map(([name, like]) => [keyOf('host', name), like]));
  const kinds = [
    { kind: 'class', names: classes, standard: STANDARD_RESOURCE_CLASSES, carried: new Set<string>() },
    { kind: 'trait', names: traits, standard: STANDARD_TRAITS, carried: new Set<string>() },
    { kind: 'aggregate', names: aggregates, standard: NONE, carried: new Set<string>() },
    { kind: 'cell', names: cells, standard: NONE, carried: cellsMet },
  ] as const;
  if (kinds.every(({ names }) => names.size === 0)) return found;
  const [ofClasses, ofTraits, ofAggregates] = kinds;
  const each = Math.ceil(view.trees.size / MAX_ASKED);
  let left = view.trees.size;
  // As above: not without end.
  for (const tree of view.trees.values()) {
    if (left === 0) break;
    left -= 1;
    if (left % SKIPPED_A_STEP === 0) yield;
    if (left % each !== 0) continue;
    for (const { stocks, traits: has, aggregates: within } of tree) {
      note(ofClasses.carried, stocks.keys());
      note(ofTraits.carried, has);
      note(ofAggregates.carried, within);
    }
    spend(tree.length);
    yield;
  }
  for (const { kind, names, standard, carried } of kinds) {
    for (const name of [...names].slice(0, MAX_UNKNOWN_TOLD)) {
      // A name that is a standard one is meant as it is, and one that is more like another of them is not what is carried.
      const like = mostLike(name, [...standard, ...carried]);
      if (like !== undefined && carried.has(like)) found.set(keyOf(kind, name), like);
      spend(LOOKS_TO_COMPARE * (standard.size + carried.size));
      yield;
    }
  }
  return found;
}

/** A host of this cell was looked at. */
export function meetCell({ cells, cellsMet }: NamesToFind, cell: string): void {
  cells.delete(cell);
  if (cells.size > 0) note(cellsMet, [cell]);
}

function note(carried: Set<string>, names: Iterable<string>): void {
  for (const name of names) if (carried.size < MAX_LIKE) carried.add(name);
}

/** Takes out what is carried; answers how many looks that took: there may be many of either, but seldom of both. */
function meet(names: Set<string>, carried: Pick<ReadonlySet<string>, 'size' | 'has' | 'keys'>): number {
  const looks = Math.min(names.size, carried.size);
  if (names.size < carried.size) {
    for (const name of names) if (carried.has(name)) names.delete(name);
  } else if (names.size > 0) {
    for (const name of carried.keys()) names.delete(name);
  }
  return looks;
}

/**
 * Those that were not met, and the hosts and instances of which nothing is known, in the order of their kinds; undefined
 * when there are none. Where no host is known at all, that alone says it.
 * @param isHeardOf Whether anything was heard of a cell: one without hosts is there too.
 */
export function unknownNames(
  { classes, cells, traits, aggregates }: NamesToFind,
  view: View,
  request: Request,
  isHeardOf: (cell: string) => boolean,
  likeNames: LikeNamesFound,
): UnknownName[] | undefined {
  if (view.hosts.size === 0) return undefined;
  const found: UnknownName[] = [];
  const tell = (kind: UnknownName['kind'], names: Iterable<string>) => {
    for (const name of names) {
      if (found.length === MAX_UNKNOWN_TOLD) return;
      const like = likeNames.get(keyOf(kind, name));
      found.push(like === undefined ? { kind, name } : { kind, name, like });
    }
  };
  tell('class', classes);
  tell('trait', traits);
  tell(
    'cell',
    [...cells].filter((cell) => !isHeardOf(cell)),
  );
  tell('host', hostsUnknown(view, request));
  tell('aggregate', aggregates);
  tell('instance', request.company?.nowhere ?? []);
  return found.length === 0 ? undefined : found;
}

/** By their names, where whoever took the request tells them: it asks for providers, whose ids say nothing to people. */
function hostsUnknown(
  { hosts, providers }: View,
  { spec: { tree }, where }: Pick<Request, 'spec' | 'where'>,
): string[] {
  const { hosts: wanted = [], avoidHosts: avoided = [] } = where?.origins ?? {};
  const isUnknown = (root: string | undefined) => root !== undefined && !hosts.has(root) && !providers.has(root);
  const unknown = [
    ...wanted.filter((_, place) => isUnknown(tree?.oneOf?.[place])),
    ...avoided.filter((_, place) => isUnknown(tree?.noneOf?.[place])),
  ];
  return [...new Set(unknown)];
}

/** `nothing known carries these names of the request: trait HW_CPU_X86_AXV2 (HW_CPU_X86_AVX2 is known), host c9/x`. */
export function unknownWords(unknown: readonly UnknownName[]): string {
  const which = unknown.length === 1 ? 'this name' : 'these names';
  const named = unknown.map(
    ({ kind, name, like }) =>
      `${kind === 'class' ? 'resource class' : kind} ${name}${kind === 'instance' ? ofInstance(like) : likeWords(like)}`,
  );
  const more = unknown.length < MAX_UNKNOWN_TOLD ? '' : ', and maybe more';
  return `nothing known carries ${which} of the request: ${named.join(', ')}${more}`;
}

/** It may be known, and hold nothing; what is told to be like it may hold something. */
const ofInstance = (like: string | undefined): string =>
  like === undefined ? ' (holds nothing)' : ` (holds nothing; ${like} is known)`;
