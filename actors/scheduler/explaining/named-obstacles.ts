// What stands in the way on the hosts that a request names: whoever names a host wants to know why that one does not do.

import { effort } from '../../fitting/effort.ts';
import { fit } from '../../fitting/fit.ts';
import { MAX_LOOKS_TO_COUNT, timesIn } from '../../fitting/fit-times.ts';
import { clipped } from '../../messages/common.ts';
import type { OnNamedHosts } from '../../messages/in-the-way.ts';
import { keepsTogether } from '../../placement/groups.ts';
import { present } from '../../present.ts';
import type { Filter } from '../filters/filter.ts';
import { membersAllowed } from '../group-rules.ts';
import { instancesLeft } from '../instance-room.ts';
import type { Obstacle } from '../ranking/census.ts';
import { allFiltersFor, judge } from '../ranking/judging.ts';
import type { Fleet } from '../ranking/ranking.ts';
import type { Request } from '../request.ts';
import type { Steps } from '../steps.ts';
import { treeOf, type View, type ViewHost } from '../view/view.ts';
import { factsOf } from '../view/view-hosts.ts';
import { allInTheWay, type InTheWay } from './all-obstacles.ts';
import { isAllThatLacks, isOfClass } from './more-obstacles.ts';
import { noRoomTogether } from './room-together.ts';

/** On how many of them a failure says it, and in how many characters of each. */
const MAX_TOLD_IN_WORDS = 3;
const MAX_WORDS_LENGTH = 340;
const MAX_ON_RECORD = 3;
/** On how many of them `fit` says it. */
const MAX_TOLD = 5;

/** In the order in which they are named, each once. */
const rootsNamed = ({ spec }: Request): string[] => [...new Set(spec.tree?.oneOf)];

export interface OnNamed {
  readonly host: ViewHost;
  readonly found: InTheWay;
}

/**
 * What stands in the way on the first of them, for a failure.
 * @param count For how many instances at once.
 */
export function firstOnNamed({ rankings, view }: Fleet, request: Request, count = 1): OnNamed[] {
  return rootsNamed(request)
    .flatMap((root) => view.hosts.get(root) ?? [])
    .slice(0, MAX_TOLD_IN_WORDS)
    .map((host) => ({ host, found: inTheWayOf(rankings.filters, view, request, count, host) }))
    .filter(({ found }) => found.all.length > 0);
}

/** The same in words. */
export function wordsOnNamed(named: readonly OnNamed[]): { place: string; words: string }[] {
  return named.map(({ host, found: { all, isMore } }) => {
    const place = `${host.cell}/${host.host}`;
    const messages = all.map(({ message }) => message);
    return { place, words: inFewWords(`${place}, which it names: `, messages, isMore) };
  });
}

/** As many of them as there is room for, none of them cut short but one that alone is too long. */
function inFewWords(before: string, messages: readonly string[], isMore: boolean): string {
  for (let told = messages.length; ; told -= 1) {
    const more = isMore || told < messages.length ? ['more stands in its way'] : [];
    const words = `${before}${[...messages.slice(0, told), ...more].join('; and ')}`;
    if (words.length <= MAX_WORDS_LENGTH || told <= 1) return clipped(words, MAX_WORDS_LENGTH);
  }
}

/** The same for a record, which has room for so many things on each host. */
export function recordOnNamed(named: readonly OnNamed[]): OnNamedHosts | undefined {
  if (named.length === 0) return undefined;
  return {
    told: named.map(({ host, found }) => {
      const all = found.all.slice(0, MAX_ON_RECORD);
      return oneOf(host, { ...found, all, isMore: found.isMore || all.length < found.all.length });
    }),
  };
}

/**
 * One by one, of the first hosts that do not do; undefined when each does that is known.
 * @param count For how many instances at once.
 */
export function* obstaclesOnNamed(fleet: Fleet, request: Request, count: number): Steps<OnNamedHosts | undefined> {
  const { rankings, view } = fleet;
  const filters = allFiltersFor(rankings.filters, request);
  const told: OnNamedHosts['told'] = [];
  let more = 0;
  for (const root of rootsNamed(request)) {
    const host = view.hosts.get(root);
    if (host === undefined) continue;
    const lack = () => lackOfRoom(fleet, request, count, host);
    if (told.length === MAX_TOLD) {
      const { obstacle } = judge(view, filters, request.spec, host, undefined, true, false);
      if (obstacle !== null || lack().length > 0) more += 1;
    } else {
      const found = inTheWayOf(rankings.filters, view, request, count, host);
      const all = found.all.length > 0 ? found.all : lack();
      if (all.length > 0) told.push(oneOf(host, { ...found, all }));
    }
    yield;
  }
  return told.length === 0 ? undefined : { told, ...(more === 0 ? {} : { more }) };
}

/** What stands in the way on one of them, of all instances where they keep together. */
function inTheWayOf(filters: readonly Filter[], view: View, request: Request, count: number, host: ViewHost): InTheWay {
  const { spec } = request;
  const together = keepsTogether(spec) ? count : 1;
  const found = allInTheWay(filters, view, request, host, together);
  const [only, ...others] = found.all;
  const tree = treeOf(view, host.root);
  if (only === undefined || others.length > 0 || !isOfClass(spec, only) || fit(spec, tree) !== null) return found;
  // As much of a class as is lacking in all need not be enough: it may have to be free on one device or another.
  return isAllThatLacks(spec, together)(only, tree) ? found : { ...found, isMore: true };
}

function oneOf(host: ViewHost, { all: [first, ...others], isMore }: InTheWay): OnNamedHosts['told'][number] {
  const told = ({ code, about, short, message }: InTheWay['all'][number]) => ({
    code,
    message,
    ...present({ about, short }),
  });
  const { cell, host: name } = host;
  const refusal = told(first as InTheWay['all'][number]);
  const until = refusal.code === 'host-set-aside' ? host.until : undefined;
  const also = others.map(told);
  return {
    cell,
    host: name,
    refusal: { ...refusal, ...present({ until }), ...(also.length > 0 || isMore ? { lacksMore: true } : {}) },
    ...(also.length === 0 ? {} : { also }),
    ...(isMore ? { partly: true } : {}),
  };
}

/** One that would do for one instance need not for all that keep together. */
function lackOfRoom(
  { rankings, view }: Fleet,
  request: Request,
  count: number,
  host: ViewHost,
): (Obstacle & { readonly message: string })[] {
  const { spec } = request;
  if (count === 1 || !keepsTogether(spec)) return [];
  const tree = treeOf(view, host.root);
  const left = instancesLeft(rankings, request, factsOf(view, host, tree));
  const allowed = Math.min(membersAllowed(view, spec, host.root), left);
  const endOfLooks = effort.looks + MAX_LOOKS_TO_COUNT;
  const room = Math.min(timesIn(spec, tree, count, true, endOfLooks), allowed);
  // What is not counted to the end may be more.
  const isCertain = effort.looks <= endOfLooks || room === allowed;
  return room >= count || !isCertain ? [] : [{ ...noRoomTogether(count, host.host), short: count - room }];
}
