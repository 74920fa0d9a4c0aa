// The filters and weighers of a deployment, as whoever starts a node says them: by name, by name and multiplier, or as
// functions of his own. What cannot be is refused with the field named.

import { METRIC_PATTERN } from '../actors/messages/names.ts';
import { isResourceClass } from '../actors/messages/resource-classes.ts';
import { ALWAYS } from '../actors/scheduler/filters/always.ts';
import { BUILT_IN_FILTERS } from '../actors/scheduler/filters/built-in.ts';
import type { Filter, FilterRefusal } from '../actors/scheduler/filters/filter.ts';
import type { RankedSpec } from '../actors/scheduler/request.ts';
import type { SchedulerOptions } from '../actors/scheduler/scheduler.ts';
import type { HostFacts } from '../actors/scheduler/view/host-facts.ts';
import { BUILT_IN_WEIGHERS } from '../actors/scheduler/weighers/built-in.ts';
import { DEFAULT_WEIGHERS } from '../actors/scheduler/weighers/defaults.ts';
import { free } from '../actors/scheduler/weighers/free.ts';
import { metric } from '../actors/scheduler/weighers/metric.ts';
import { PACKING_POLICIES } from '../actors/scheduler/weighers/packing/policies.ts';
import type { Candidate, Weigher } from '../actors/scheduler/weighers/weigher.ts';
import type { Aggregates } from './aggregates.ts';
import { CellwrightError, messageOf } from './errors.ts';
import { type OnOwnFault, watchedFilter, watchedWeigher } from './own-code.ts';
import { type PackingSettings, packingWeigherOf } from './packing/weigher-choice.ts';

/**
 * A filter of one's own as a mere function. It goes by the host and the request spec, as far as hosts are ranked by it:
 * one that goes by more of the request, or by the time, is a whole filter, with `goesBy` or `changesAt`.
 */
export type FilterFunction = (host: HostFacts, spec: RankedSpec) => FilterRefusal | null;
/** A weigher of one's own as a mere function, with a multiplier of 1: from 0, the worst, to 1. */
export type WeigherFunction = (candidate: Candidate, spec: RankedSpec) => number;

/**
 * - `'instance-limit'`, `'build-limit'`: at most 50 instances, and 8 that are being built, on a host; or
 *   `{ name, most }` for another limit;
 * - a function, or a whole filter, of one's own.
 */
export type FilterChoice = string | { readonly name: string; readonly most: number } | FilterFunction | Filter;

/**
 * - `'defaults'`: the weighers of a scheduler that is told of none; those that are named beside, before or after, are
 *   added to them, and replace those of the same name;
 * - by name, or `{ name, multiplier }`: any of the defaults, `free-<class>`, `few-instances`, `few-builds`;
 *   `{ name: 'metric-<name>', least, most, multiplier }` for what drivers measure; a packing policy, `random`
 *   (alone), `dot-product`, `gpu-clustering`, `gpu-packing`, `best-fit` or `{ name: 'fgd', typical }`;
 * - a function, or a whole weigher, of one's own.
 */
export type WeigherChoice =
  | string
  | ({
      readonly name: string;
      /** How much it counts; default: the weigher's own. Below 0 it is turned round, 0 switches it off. */
      readonly multiplier?: number;
      /** Of `metric-<name>`: what counts as 0. */
      readonly least?: number;
      /** Of `metric-<name>`: what counts as 1; more than `least`. */
      readonly most?: number;
    } & PackingSettings)
  | WeigherFunction
  | (Omit<Weigher, 'multiplier'> & { readonly multiplier?: number });

/** What the node says of itself and of the deployment. */
type OfNode = 'name' | 'incarnation' | 'placementShards';

/** The options of the schedulers of a node. */
export interface SchedulerSettings extends Omit<SchedulerOptions, OfNode | 'filters' | 'weighers' | 'overrides'> {
  /** What hosts must be, beside what every scheduler insists on; default: nothing more. */
  readonly filters?: readonly FilterChoice[];
  /** All weighers in use, which replace the default ones; default: `['defaults']`. */
  readonly weighers?: readonly WeigherChoice[];
}

/** What a filter of one's own may say, and as what. */
const FIELDS_OF_FILTER: Readonly<Record<keyof Filter, string>> = {
  name: 'string',
  refusal: 'function',
  goesBy: 'function',
  changesAt: 'function',
  mostInstances: 'function',
  mostBuilds: 'function',
  late: 'boolean',
  ignoresStats: 'boolean',
};
const FIELDS_OF_WEIGHER: Readonly<Record<keyof Weigher, string>> = {
  name: 'string',
  multiplier: 'number',
  weigh: 'function',
  goesBy: 'function',
  changesAt: 'function',
  prefers: 'function',
  granted: 'function',
  ignoresAmounts: 'boolean',
  ignoresStats: 'boolean',
};

const MAX_CHOICES = 64;
const MAX_MULTIPLIER = 1e9;
const MAX_PICK_AMONG = 100;

/**
 * What the options of schedulers come to. That aggregates name weighers is checked where there is a scheduler: other nodes
 * are told the same of aggregates, and need not know of weighers.
 * @param onFault Told of what filters and weighers of one's own do wrong.
 * @throws CellwrightError `bad-option` with the field, such as `scheduler.weighers.1.multiplier`.
 */
export function schedulerOptionsOf(
  settings: SchedulerSettings,
  aggregates: Aggregates,
  onFault: OnOwnFault = () => {},
  isScheduler = true,
): Omit<SchedulerOptions, OfNode> {
  const { filters = [], weighers = ['defaults'], pickAmong, ...others } = settings;
  if (pickAmong !== undefined && !(Number.isInteger(pickAmong) && pickAmong >= 1 && pickAmong <= MAX_PICK_AMONG)) {
    throw bad('pickAmong', `must be a whole number from 1 to ${MAX_PICK_AMONG}`);
  }
  const chosen = weighersOf(weighers, onFault);
  const among = pickAmong ?? (isByChance(weighers) ? Number.POSITIVE_INFINITY : undefined);
  return {
    ...others,
    ...(among === undefined ? {} : { pickAmong: among }),
    filters: filtersOf(filters, aggregates, onFault),
    weighers: chosen,
    overrides: isScheduler ? overridesOf(aggregates, chosen) : new Map(),
  };
}

function filtersOf(choices: readonly FilterChoice[], aggregates: Aggregates, onFault: OnOwnFault): Filter[] {
  const filters: Filter[] = [];
  for (const [position, choice] of listOf(choices, 'filters').entries()) {
    const at = `filters.${position}`;
    const filter = read(at, () => filterOf(choice, at, aggregates, onFault));
    if ([...ALWAYS, ...filters].some(({ name }) => name === filter.name)) {
      throw bad(at, `is '${filter.name}', which is in use already`);
    }
    filters.push(filter);
  }
  // An operator who limits the hosts of an aggregate need not say twice that there are limits.
  for (const [name, { ofAggregate, make }] of BUILT_IN_FILTERS) {
    const ofAggregates = limits(aggregates, ofAggregate);
    const isNamed = filters.some((filter) => filter.name === name);
    if (ofAggregates.size > 0 && !isNamed) filters.push(make(Number.POSITIVE_INFINITY, ofAggregates));
  }
  return filters;
}

function filterOf(choice: FilterChoice, at: string, aggregates: Aggregates, onFault: OnOwnFault): Filter {
  if (typeof choice === 'function') {
    const name = nameOf(choice, `own-${at.replace('.', '-')}`);
    refuseBuiltIn(name, at);
    return watchedFilter({ name, refusal: (host, part) => choice(host, part as RankedSpec) }, onFault);
  }
  const told = typeof choice === 'string' ? { name: choice } : choice;
  const name = checkedName(told, at);
  if ('refusal' in told) {
    if (typeof told.refusal !== 'function') throw bad(`${at}.refusal`, 'must be a function');
    checkOwn(told, FIELDS_OF_FILTER, at);
    refuseBuiltIn(name, at);
    return watchedFilter(told, onFault);
  }
  const fields = ['name', 'most'];
  refuseHalfOwn(told, 'refusal', fields, at);
  refuseUnknown(told, fields, at);
  const most = 'most' in told ? told.most : undefined;
  if (most !== undefined && !(Number.isInteger(most) && most >= 0)) {
    throw bad(`${at}.most`, 'must be a whole number, 0 or more');
  }
  const builtIn = BUILT_IN_FILTERS.get(name);
  if (builtIn !== undefined) {
    return builtIn.make(most ?? builtIn.defaultMost, limits(aggregates, builtIn.ofAggregate));
  }
  const known = [...BUILT_IN_FILTERS.keys()].join(', ');
  throw bad(at, `is '${name}', which is no filter; filters are ${known}, or functions of your own`);
}

/** Limits of aggregates are those of the built-in filter: one of one's own that took its name would switch them off. */
function refuseBuiltIn(name: string, at: string): void {
  if (BUILT_IN_FILTERS.has(name)) throw bad(`${at}.name`, `is '${name}', which is the name of a built-in filter`);
}

function limits({ all }: Aggregates, which: 'mostInstances' | 'mostBuilds'): ReadonlyMap<string, number> {
  const told = [...all].map(([id, options]) => [id, options[which]] as const);
  return new Map(told.filter((one): one is readonly [string, number] => one[1] !== undefined));
}

function weighersOf(choices: readonly WeigherChoice[], onFault: OnOwnFault): Weigher[] {
  const named = new Map<string, Weigher>();
  for (const [position, choice] of listOf(choices, 'weighers').entries()) {
    const at = `weighers.${position}`;
    if (choice === 'defaults') {
      if (choices.indexOf('defaults') < position) throw bad(at, "is 'defaults', which is named twice");
      continue;
    }
    const weigher = read(at, () => weigherOf(choice, at, onFault));
    if (named.has(weigher.name)) throw bad(at, `is '${weigher.name}', which is named twice`);
    named.set(weigher.name, weigher);
  }
  const defaults = choices.includes('defaults') ? DEFAULT_WEIGHERS : [];
  // What is named wins over a default, wherever it stands.
  return [...new Map([...defaults.map((weigher) => [weigher.name, weigher] as const), ...named]).values()];
}

function weigherOf(choice: WeigherChoice, at: string, onFault: OnOwnFault): Weigher {
  if (typeof choice === 'function') {
    const name = nameOf(choice, `own-${at.replace('.', '-')}`);
    const weigh: Weigher['weigh'] = (candidate, part) => choice(candidate, part as RankedSpec);
    return watchedWeigher({ name, multiplier: 1, weigh }, 1, onFault);
  }
  const told: Exclude<WeigherChoice, string | WeigherFunction> = typeof choice === 'string' ? { name: choice } : choice;
  const name = checkedName(told, at);
  const { multiplier } = told;
  if (multiplier !== undefined && !(Number.isFinite(multiplier) && Math.abs(multiplier) <= MAX_MULTIPLIER)) {
    throw bad(`${at}.multiplier`, `must be a number from -${MAX_MULTIPLIER} to ${MAX_MULTIPLIER}`);
  }
  if ('weigh' in told) {
    if (typeof told.weigh !== 'function') throw bad(`${at}.weigh`, 'must be a function');
    checkOwn(told, FIELDS_OF_WEIGHER, at);
    return watchedWeigher(told as Weigher, multiplier ?? 1, onFault);
  }
  const more = name.startsWith('metric-') ? ['least', 'most'] : isPolicy(name) ? ['typical', 'scale'] : [];
  const fields = ['name', 'multiplier', ...more];
  refuseHalfOwn(told, 'weigh', fields, at);
  refuseUnknown(told, fields, at);
  const packing = packingWeigherOf(told, (field, what) => bad(`${at}.${field}`, what));
  const weigher = packing ?? (name.startsWith('metric-') ? metricOf(told, at) : namedWeigher(name));
  if (weigher === undefined) {
    const known = [...BUILT_IN_WEIGHERS.map((one) => one.name), ...PACKING_POLICIES].join(', ');
    throw bad(at, `is '${name}', which is no weigher; weighers are ${known}, free-<resource class>, metric-<name>`);
  }
  return multiplier === undefined ? weigher : { ...weigher, multiplier };
}

/** Whether hosts are picked by the packing policy to which all are the same: beside others it would undo what they say. */
function isByChance(choices: readonly WeigherChoice[]): boolean {
  const position = choices.findIndex(isChance);
  if (position === -1) return false;
  if (choices.length > 1) throw bad(`weighers.${position}`, "is 'random', which must be the only weigher");
  return true;
}

/** A multiplier of 0 switches it off. */
function isChance(choice: WeigherChoice): boolean {
  if (typeof choice !== 'object') return choice === 'random';
  return choice.name === 'random' && choice.multiplier !== 0 && !('weigh' in choice);
}

function namedWeigher(name: string): Weigher | undefined {
  const resourceClass = name.startsWith('free-') ? name.slice('free-'.length) : '';
  if (isResourceClass(resourceClass)) return free(resourceClass);
  return BUILT_IN_WEIGHERS.find((one) => one.name === name);
}

function metricOf(told: { name: string; multiplier?: number; least?: number; most?: number }, at: string): Weigher {
  const { name, least, most, multiplier } = told;
  const measured = name.slice('metric-'.length);
  if (!new RegExp(METRIC_PATTERN).test(measured)) {
    throw bad(at, `is '${name}', and no driver measures '${measured}': lower-case letters, digits and -, at most 32`);
  }
  for (const [end, value] of [
    ['least', least],
    ['most', most],
  ] as const) {
    if (!Number.isFinite(value)) throw bad(`${at}.${end}`, 'must be a number: an end of the scale of what is measured');
  }
  if ((least as number) >= (most as number)) throw bad(`${at}.most`, 'must be more than least');
  return metric(measured, { least: least as number, most: most as number }, multiplier);
}

function overridesOf({ all }: Aggregates, weighers: readonly Weigher[]): Map<string, ReadonlyMap<string, number>> {
  const overrides = new Map<string, ReadonlyMap<string, number>>();
  for (const [id, { multipliers }] of all) {
    if (multipliers === undefined) continue;
    for (const name of Object.keys(multipliers)) {
      if (weighers.some((weigher) => weigher.name === name)) continue;
      const field = `aggregates.${id}.multipliers.${name}`;
      throw new CellwrightError('bad-option', `'${field}' names no weigher that is in use`, { field });
    }
    overrides.set(id, new Map(Object.entries(multipliers)));
  }
  return overrides;
}

function listOf<T>(choices: readonly T[], what: string): readonly T[] {
  if (!Array.isArray(choices)) throw bad(what, 'must be a list');
  if (choices.length > MAX_CHOICES) throw bad(what, `must not have more than ${MAX_CHOICES} entries`);
  return choices;
}

/** Reads what a user's own object says of itself, which may run code of his. */
function read<T>(at: string, look: () => T): T {
  try {
    return look();
  } catch (error) {
    if (error instanceof CellwrightError) throw error;
    throw bad(at, `cannot be read: ${messageOf(error)}`);
  }
}

/** Checks what is said of a filter or weigher of one's own; an object of a class may have more, for itself. */
function checkOwn(own: object, types: Readonly<Record<string, string>>, at: string): void {
  for (const [field, type] of Object.entries(types)) {
    const told: unknown = own[field as keyof typeof own];
    if (told !== undefined && typeof told !== type) throw bad(`${at}.${field}`, `must be a ${type}`);
  }
  if (Object.getPrototypeOf(own) === Object.prototype) refuseUnknown(own, Object.keys(types), at);
}

/** What has functions is meant to be one's own: whoever misspelt its method learns nothing from the fields of what is built in. */
function refuseHalfOwn(told: object, method: 'refusal' | 'weigh', builtIn: readonly string[], at: string): void {
  const functions = namesIn(told).filter(
    (field) => !builtIn.includes(field) && typeof told[field as keyof typeof told] === 'function',
  );
  if (functions.length === 0) return;
  throw bad(
    `${at}.${method}`,
    `must be there, a function, where there are functions; there are ${functions.join(', ')}`,
  );
}

/** What an object has, with the methods of its class. */
function namesIn(told: object): string[] {
  const names = new Set(Object.keys(told));
  for (
    let one = Object.getPrototypeOf(told);
    one !== null && one !== Object.prototype;
    one = Object.getPrototypeOf(one)
  ) {
    for (const name of Object.getOwnPropertyNames(one)) if (name !== 'constructor') names.add(name);
  }
  return [...names];
}

/** A field that nobody reads is a field that is misspelt. */
function refuseUnknown(told: object, known: readonly string[], at: string): void {
  const unknown = Object.keys(told).find((field) => !known.includes(field));
  if (unknown !== undefined) throw bad(`${at}.${unknown}`, `is no field of it; there are ${known.join(', ')}`);
}

const isPolicy = (name: string): boolean => PACKING_POLICIES.some((one) => one === name);

function checkedName(told: unknown, at: string): string {
  const name = typeof told === 'object' && told !== null ? (told as { name?: unknown }).name : undefined;
  if (typeof name !== 'string') throw bad(at, 'must be a name, an object with a name, or a function');
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,319}$/.test(name)) {
    throw bad(`${at}.name`, 'must be letters, digits, - and _, at most 320 of them');
  }
  return name;
}

/** Explanations go by the name of a function, if it has one that can be told. */
function nameOf({ name }: { readonly name: string }, otherwise: string): string {
  const plain = name.replace(/^bound /, '');
  return /^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(plain) ? plain : otherwise;
}

function bad(at: string, what: string): CellwrightError {
  const field = `scheduler.${at}`;
  return new CellwrightError('bad-option', `'${field}' ${what}`, { field });
}
