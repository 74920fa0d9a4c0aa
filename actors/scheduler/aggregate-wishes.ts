// What a request wishes of aggregates, in its own words: the zones and aggregates that it asks for or avoids, and those
// that are kept for others, each with the conditions of the claim that come from it.

import { firstListed, shortened } from '../count-words.ts';
import { type Advice, named, othersWords, quoted, SOME } from '../messages/advice.ts';
import type { TreeConditions } from '../messages/common.ts';
import { MAX_ABOUT_LENGTH } from '../messages/stored-decision.ts';
import { listsAskedFor, type Origins } from '../messages/where.ts';
import { append } from '../multimap.ts';
import { outsideWords } from '../placement/tree-conditions.ts';
import { present } from '../present.ts';
import { type Request, rankedPart } from './request.ts';

type KeptFor = Pick<Advice, 'traits' | 'projects' | 'needed'>;

/** The conditions of a claim on aggregates, and what they come from, where that is known. */
export interface OnAggregates extends Pick<TreeConditions, 'memberOf' | 'notMemberOf'> {
  readonly origins?: Origins | undefined;
}

/** Part of a wish: hosts that it refuses are counted together. */
export interface Condition {
  readonly code: 'not-in-aggregate' | 'in-avoided-aggregate';
  readonly about: string | undefined;
  /** What it is of a list of which the wish is made, where that is a list of what to avoid. */
  readonly element?: string;
  /** What is said of a host that it refuses. */
  readonly words: string;
  readonly memberOf?: readonly string[] | undefined;
  readonly notMemberOf?: readonly string[];
}

/** What is granted or left out as a whole. */
export interface AggregateWish {
  readonly advice: Omit<Advice, 'hosts'>;
  readonly conditions: readonly Condition[];
}

/**
 * Of no more avoided aggregates than these it is said which a host is in: hosts are counted by it, and where many
 * aggregates are kept for others, all of them would come before what else stands in the way.
 */
const MAX_TOLD_APART = 8;

const askedBy = new WeakMap<Request, OnAggregates>();

/** What a request asks of aggregates; undefined when that is nothing. */
export function onAggregates(request: Request): OnAggregates | undefined {
  const { tree } = rankedPart(request);
  if (tree === undefined) return undefined;
  let asked = askedBy.get(request);
  if (asked === undefined) {
    const origins = request.where?.origins;
    // Hosts are ranked by it: the names of those that a request names would make every ranking its own.
    const { hosts: _, avoidHosts: __, ...ofAggregates } = origins ?? {};
    // Where nothing is avoided or kept for others, it makes no difference that nothing is said of where that comes from.
    const isUnsaid = tree.notMemberOf === undefined && Object.keys(ofAggregates).length === 0;
    asked = origins === undefined || isUnsaid ? tree : { ...tree, origins: ofAggregates };
    askedBy.set(request, asked);
  }
  return asked;
}

/** Wishes, and their conditions as they are looked for: hosts are many, and in few aggregates each. */
interface Known {
  readonly wishes: readonly AggregateWish[];
  readonly conditions: readonly Condition[];
  /** The positions of those that want a host in one of a list. */
  readonly wanting: readonly number[];
  /** The positions of those that are against an aggregate. */
  readonly against: ReadonlyMap<string, readonly number[]>;
}

const knownOf = new WeakMap<OnAggregates, Known>();

function known(asked: OnAggregates): Known {
  let found = knownOf.get(asked);
  if (found === undefined) {
    const wishes = asked.origins === undefined ? ofUnknownOrigin(asked) : ofKnownOrigin(asked, asked.origins);
    const conditions = wishes.flatMap((wish) => wish.conditions);
    const wanting: number[] = [];
    const against = new Map<string, number[]>();
    for (const [position, { memberOf, notMemberOf = [] }] of conditions.entries()) {
      if (memberOf !== undefined) wanting.push(position);
      for (const id of notMemberOf) append(against, id, position);
    }
    found = { wishes, conditions, wanting, against };
    knownOf.set(asked, found);
  }
  return found;
}

export const wishesOnAggregates = (asked: OnAggregates): readonly AggregateWish[] => known(asked).wishes;

/** The conditions that a host with these aggregates does not meet, in their order. */
export function unmetOn(asked: OnAggregates, aggregates: ReadonlySet<string>): Condition[] {
  const { conditions, wanting, against } = known(asked);
  const found = new Set(wanting.filter((at) => isUnmet(conditions[at] as Condition, aggregates)));
  for (const id of aggregates) for (const at of against.get(id) ?? []) found.add(at);
  return [...found].sort((one, other) => one - other).map((at) => conditions[at] as Condition);
}

export function isUnmet({ memberOf, notMemberOf = [] }: Condition, aggregates: ReadonlySet<string>): boolean {
  const isIn = (id: string) => aggregates.has(id);
  return memberOf?.some(isIn) === false || notMemberOf.some(isIn);
}

/** Each list and each aggregate by itself, as nodes ask that do not tell what they come from. */
function ofUnknownOrigin({ memberOf = [], notMemberOf = [] }: OnAggregates): AggregateWish[] {
  return [...memberOf.map(askedFor), ...closedTo(notMemberOf)];
}

function closedTo(ids: readonly string[]): AggregateWish[] {
  const isToldApart = ids.length <= MAX_TOLD_APART;
  return ids.map((about) => {
    const words = `is in aggregate ${about}, which is closed to the request`;
    return { advice: { code: 'without-not-member-of', about }, conditions: [closed(about, words, isToldApart)] };
  });
}

function ofKnownOrigin({ memberOf = [], notMemberOf = [] }: OnAggregates, origins: Origins): AggregateWish[] {
  const { zones, avoidZones = [], avoidAggregates = [], confined, kept = [], reserved = [] } = origins;
  const idsAt = (places: readonly number[] = []) => places.flatMap((place) => notMemberOf[place] ?? []);
  const ofZones = [...(zones === undefined ? [] : [zones]), ...avoidZones];
  const avoided = new Set([...ofZones.flatMap((one) => one.closed ?? []), ...avoidAggregates]);
  const found: AggregateWish[] = [];
  if (zones !== undefined) {
    const about = zones.names.join(', ');
    const which = named('zone', quoted(about));
    const condition: Condition = {
      code: 'not-in-aggregate',
      about: which,
      // In the default zone, which is one of them then, is whatever is in no other.
      words:
        zones.closed === undefined
          ? `is not in ${shortened(which)}`
          : `is in a zone other than ${shortened(quoted(about))}`,
      memberOf: memberOf[zones.list ?? -1],
      notMemberOf: idsAt(zones.closed),
    };
    found.push({ advice: { code: 'without-zones', about }, conditions: [condition] });
  }
  found.push(...listsAskedFor(memberOf, origins).map(askedFor));
  if (avoidZones.length > 0) {
    const conditions = avoidZones.map(
      ({ name, list, closed }): Condition => ({
        code: 'in-avoided-aggregate',
        about: `zone '${name}'`,
        element: name,
        words: `is in zone '${name}', to be avoided`,
        memberOf: memberOf[list ?? -1],
        notMemberOf: idsAt(closed),
      }),
    );
    const about = avoidZones.map(({ name }) => name).join(', ');
    found.push({ advice: { code: 'without-avoid-zones', about }, conditions });
  }
  if (avoidAggregates.length > 0) {
    const ids = idsAt(avoidAggregates);
    const isToldApart = ids.length <= MAX_TOLD_APART;
    found.push({
      advice: { code: 'without-avoid-aggregates', about: ids.join(', ') },
      conditions: ids.map((id) => ({
        ...closed(id, `is in aggregate ${id}, to be avoided`, isToldApart),
        element: id,
      })),
    });
  }
  if (confined !== undefined) {
    const list = memberOf[confined] ?? [];
    const which = firstListed(list.slice(0, MAX_TOLD_APART), list.length);
    const outside = list.length > MAX_TOLD_APART ? `is in none of the aggregates ${which}` : outsideWords(list);
    const condition: Condition = {
      code: 'not-in-aggregate',
      about: withAsMany(list.slice(0, MAX_TOLD_APART), (some) => {
        return `${firstListed(some, list.length)} (to which its project is confined)`;
      }),
      words: `${outside}, to which the project of the request is confined`,
      memberOf: list,
    };
    found.push({ advice: { code: 'without-confinement', about: which }, conditions: [condition] });
  }
  if (origins.cut === true) return [...found, ...closedTo(notMemberOf)];
  const keptPlaces = new Set(kept);
  const ofOthers = notMemberOf.filter((_, place) => keptPlaces.has(place) || !avoided.has(place));
  const isToldApart = ofOthers.length <= MAX_TOLD_APART;
  const keptFor = new Map(
    reserved.map(({ place, traits, projects }) => {
      const more = traits.length > SOME ? { needed: traits.length } : {};
      const told = { traits: traits.slice(0, SOME), ...more, ...(projects === true ? { projects } : {}) };
      return [notMemberOf[place], told] as const;
    }),
  );
  for (const about of ofOthers) {
    const told: KeptFor = keptFor.get(about) ?? {};
    const words = `kept for ${othersWords(told)}`;
    const condition = {
      ...closed(about, `is in aggregate ${about}, which is ${words}`, true),
      about: aboutKept(told, isToldApart ? about : ''),
    };
    found.push({ advice: { code: 'without-kept', about, ...told }, conditions: [condition] });
  }
  return found;
}

/** With as many of the names, one at least, as a record has room for. */
function withAsMany(names: readonly string[], told: (some: readonly string[]) => string): string {
  let some = names;
  while (some.length > 1 && told(some).length > MAX_ABOUT_LENGTH) some = some.slice(0, -1);
  return told(some);
}

/** Which aggregate is kept, unless that is not told, and for whom, as far as a record has room for it. */
function aboutKept(told: KeptFor, id: string): string {
  const aboutWith = (some: KeptFor) => {
    const words = `kept for ${othersWords(some)}`;
    return id === '' ? words : `${id} (${words})`;
  };
  const { traits, needed = traits?.length, ...others } = told;
  if (traits === undefined) return aboutWith(told);
  const about = withAsMany(traits, (some) => aboutWith({ ...others, traits: [...some], ...present({ needed }) }));
  return about.length <= MAX_ABOUT_LENGTH ? about : aboutWith({ ...others, traits: ['other traits'] });
}

function askedFor(memberOf: readonly string[]): AggregateWish {
  const about = memberOf.join(', ');
  const words = outsideWords(memberOf);
  return {
    advice: { code: 'without-member-of', about },
    conditions: [{ code: 'not-in-aggregate', about, words, memberOf }],
  };
}

function closed(id: string, words: string, isToldApart: boolean): Condition {
  return { code: 'in-avoided-aggregate', about: isToldApart ? id : undefined, words, notMemberOf: [id] };
}
