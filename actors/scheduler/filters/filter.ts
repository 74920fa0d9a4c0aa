// Filters: whether a host may serve a request at all, beyond the resources and traits that placement knows of. Each is a
// small pure function of the host and of a part of the request. It names that part itself and is given nothing else:
// hosts are ranked once for each different part, and a host is asked about again only when it has changed, or when the
// filter says that it will answer something else.

import { howMany } from '../../count-words.ts';
import { clipped, MAX_REASON_LENGTH } from '../../messages/common.ts';
import type { Request } from '../request.ts';
import { partOf, Unreadable } from '../request-parts.ts';
import type { HostFacts } from '../view/host-facts.ts';

/** The longest word on what a refusal is about, in characters: as long as a trait may be. */
const MAX_ABOUT_LENGTH = 255;

/** The code of a filter that threw, or answered what is no answer. */
export const FILTER_FAILED = 'filter-failed';

/** Why a host may not serve a request. No text in it may be empty: a refusal with one counts as a filter that fails. */
export interface FilterRefusal {
  /** Stable, kebab-case: meant for programs, and for counting hosts that are refused alike. */
  readonly code: string;
  /** For people: what stands in the way, on which host. */
  readonly message: string;
  /** What it is about, if hosts that are refused alike differ in it: an aggregate, a trait. */
  readonly about?: string;
  /** By how much the host fell short, where that can be said. */
  readonly short?: number;
}

/**
 * Filters are asked when a host is chosen. An alternate is claimed later without asking them again: what holds then too is
 * `mostInstances`, and what a request itself says of hosts, aggregates, zones and other instances.
 */
export interface Filter<Part = unknown> {
  /** Unique among the filters in use. */
  readonly name: string;
  /**
   * The part of a request that the filter goes by, as plain data. Undefined: it does not concern this request. Requests
   * with equal parts share one ranking of all hosts, so a part should take few different values; see `late` otherwise.
   * Default: what every ranking is made for, the request spec but for its instance group and what it says of single
   * hosts and of other instances; with `late` all of the spec. One that looks at nothing of a request had better say so,
   * and answer null: then hosts are not asked again for each amount of resources.
   */
  goesBy?(request: Request): Part | undefined;
  /** Null when the host may serve; otherwise why not. */
  refusal(host: HostFacts, part: Part): FilterRefusal | null;
  /**
   * When it would say something else though the host did not change, ms since the epoch; null: never. Whoever goes by
   * `now` says it: until then a host is not asked about again, nor are requests tried that wait for one.
   */
  changesAt?(host: HostFacts, part: Part): number | null;
  /**
   * True: the filter is asked when a host is picked, best first, and not when hosts are ranked. For parts that differ
   * with every request, of filters that refuse few hosts: each host refused costs the request another look.
   */
  readonly late?: boolean;
  /**
   * True: the filter does not look at `stats` of a host, which change with every build there; a change of them alone is
   * then no reason to ask it again.
   */
  readonly ignoresStats?: boolean;
  /**
   * The most instances that the host may have with this one, where the filter limits that; infinite when it does not. A
   * host that has as many is refused, whatever `refusal` says, and looked at again when its `stats` change. It becomes a
   * condition of the claim: placement, which knows of what all schedulers claim, keeps to it.
   */
  mostInstances?(host: HostFacts): number;
  /**
   * The most instances that may be under way on the host at one time with this one, where the filter limits that; infinite
   * when it does not. A host that builds as many is refused, whatever `refusal` says, and so are more instances of one
   * request than that at once. It is no condition of the claim: placement does not know what is being built.
   */
  mostBuilds?(host: HostFacts): number;
}

/** A filter that only limits, by itself or as aggregates of a host say. */
export interface LimitFilter extends Filter {
  /** The aggregates whose limits would not let the host have so many more, the lowest first; none: it is the filter's own. */
  limitedBy(host: HostFacts, more: number): readonly string[];
}

/**
 * A filter that is asked late and goes by nothing of a host but its cell and whether the request names it: of all hosts of
 * one cell that are not named it says the same, so one of them answers for all.
 */
export interface NamingFilter<Part = unknown> extends Filter<Part> {
  /** The roots of the hosts that a request names. */
  named(part: Part): Iterable<string>;
}

export const isNamingFilter = (filter: Filter): filter is NamingFilter =>
  'named' in filter && typeof filter.named === 'function';

/** A filter with the part of a request that it is to go by. */
export interface Asked {
  readonly filter: Filter;
  readonly part: unknown;
}

/** The filters that a request concerns: those asked when hosts are ranked, or those asked when one is picked. */
export function filtersFor(filters: readonly Filter[], request: Request, late: boolean): Asked[] {
  const asked: Asked[] = [];
  for (const filter of filters) {
    if ((filter.late ?? false) !== late) continue;
    const part = partOf(filter, request, late);
    if (part instanceof Unreadable) {
      const { name } = filter;
      asked.push({ filter: { name, goesBy: () => part, refusal: () => failure(name, part.why) }, part });
    } else if (part !== undefined) asked.push({ filter, part });
  }
  return asked;
}

/** The first refusal of a host, with the name of the filter, or null. A filter that throws refuses: it cannot vouch. */
export function refusedBy(
  asked: readonly Asked[],
  host: HostFacts,
): { readonly filter: string; readonly refusal: FilterRefusal } | null {
  for (const { filter, part } of asked) {
    const refusal = refusalOf(filter, host, part) ?? fullBy(filter, host);
    if (refusal !== null) return { filter: filter.name, refusal };
  }
  return null;
}

/** When a filter would say something else of a host that did not change; one that throws says never. */
export function changeBy({ filter, part }: Asked, host: HostFacts): number | null {
  try {
    const at = filter.changesAt?.(host, part) ?? null;
    return typeof at === 'number' && Number.isFinite(at) ? at : null;
  } catch {
    return null;
  }
}

function refusalOf(filter: Filter, host: HostFacts, part: unknown): FilterRefusal | null {
  try {
    const said = filter.refusal(host, part) ?? null;
    if (said === null) return null;
    if (isRefusal(said)) return bounded(said);
  } catch (error) {
    return failure(filter.name, error instanceof Error ? error.message : String(error));
  }
  return failure(
    filter.name,
    'it must answer null, or an object with a code such as too-hot and a message, and if need be about, a text, and short, a number; no text may be empty',
  );
}

function failure(name: string, why: string): FilterRefusal {
  return bounded({ code: FILTER_FAILED, message: `filter '${name}' failed: ${why}`, about: name });
}

/**
 * What a filter says goes into answers, of which none may be too long to be sent, or have half a character; and into lines of
 * logs.
 */
function bounded(refusal: FilterRefusal): FilterRefusal {
  const { message, about = '' } = refusal;
  const isOneLine = message.search(BREAKS) === -1;
  if (isOneLine && isSendable(message, MAX_REASON_LENGTH) && isSendable(about, MAX_ABOUT_LENGTH)) return refusal;
  const line = isOneLine ? message : message.trim().replaceAll(BREAKS, ' ');
  const sendable = { ...refusal, message: whole(clipped(line, MAX_REASON_LENGTH)) };
  return refusal.about === undefined ? sendable : { ...sendable, about: whole(clipped(about, MAX_ABOUT_LENGTH)) };
}

const BREAKS = /\s*[\n\v\f\r\u0085\u2028\u2029]\s*/g;

const HALF = /\p{Surrogate}/gu;

const isSendable = (text: string, length: number) => text.length <= length && text.search(HALF) === -1;

const whole = (text: string) => text.replaceAll(HALF, '\uFFFD');

/** What a filter may limit on a host. */
type Limit = 'mostInstances' | 'mostBuilds';

/** What a filter limits something on a host to; infinite when it does not, not a number when it cannot say. */
export function limitBy(filter: Filter, limit: Limit, host: HostFacts): number {
  if (filter[limit] === undefined) return Number.POSITIVE_INFINITY;
  try {
    // It may be anybody's code.
    const said: unknown = filter[limit](host);
    return typeof said === 'number' && said >= 0 ? Math.floor(said) : Number.NaN;
  } catch {
    return Number.NaN;
  }
}

/** The aggregates by whose limits a filter keeps a host from so many more, the lowest first; none where it is its own. */
export const limitersOf = (filter: Filter, host: HostFacts, more = 1): readonly string[] =>
  isLimitFilter(filter) ? filter.limitedBy(host, more) : [];

const isLimitFilter = (filter: Filter): filter is LimitFilter =>
  'limitedBy' in filter && typeof filter.limitedBy === 'function';

function fullBy(filter: Filter, host: HostFacts): FilterRefusal | null {
  const { mostInstances, mostBuilds } = filter;
  if (mostInstances === undefined && mostBuilds === undefined) return null;
  const instances = limitBy(filter, 'mostInstances', host);
  if (Number.isNaN(instances)) return failure(filter.name, 'mostInstances must answer a number, 0 or more');
  if (host.stats.instances >= instances) return tooManyInstances(host, instances, limitersOf(filter, host)[0]);
  const builds = limitBy(filter, 'mostBuilds', host);
  if (Number.isNaN(builds)) return failure(filter.name, 'mostBuilds must answer a number, 0 or more');
  return host.stats.builds >= builds ? tooManyBuilds(host, builds, limitersOf(filter, host)[0]) : null;
}

/** The codes of hosts that have, or build, as many instances as they may. */
export const FULL_BY_LIMIT: ReadonlySet<string> = new Set(['too-many-instances', 'too-many-builds']);

/** That a host has as many instances as it may. */
function tooManyInstances(
  { host, stats: { instances } }: HostFacts,
  limit: number,
  aggregate: string | undefined,
): FilterRefusal {
  const message = `host '${host}' has ${howMany(instances, 'instance')}, and may have ${limit}${whoseWords(aggregate)}`;
  return bounded({ code: 'too-many-instances', message, short: instances + 1 - limit });
}

const whoseWords = (aggregate: string | undefined) => (aggregate === undefined ? '' : ` as in aggregate ${aggregate}`);

/** That a host builds as many instances as it may at one time. */
function tooManyBuilds(
  { host, stats: { builds } }: HostFacts,
  limit: number,
  aggregate: string | undefined,
): FilterRefusal {
  const whose = whoseWords(aggregate);
  const message = `host '${host}' is building ${howMany(builds, 'instance')}, and may build ${limit} at one time${whose}`;
  return bounded({ code: 'too-many-builds', message, short: builds + 1 - limit });
}

const isTold = (text: unknown) => typeof text === 'string' && text.trim() !== '';

/** Whether it is what a filter must answer that refuses a host: it may be anybody's code, and goes into counts and messages. */
export function isRefusal({ code, message, about, short }: FilterRefusal): boolean {
  return (
    isTold(message) &&
    typeof code === 'string' &&
    /^[a-z0-9][a-z0-9-]{0,63}$/.test(code) &&
    (about === undefined || isTold(about)) &&
    (short === undefined || Number.isFinite(short))
  );
}
