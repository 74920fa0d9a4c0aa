// What an operator says of aggregates: the zone that one belongs to, the projects and the requests that it is kept for, and
// what is different for schedulers on its hosts. Providers say themselves which aggregates they are in.

import Type, { type Static } from 'typebox';
import { Id, Symbolic, Token } from '../actors/messages/common.ts';
import { append } from '../actors/multimap.ts';
import { noDataIn } from './codec.ts';
import { CellwrightError } from './errors.ts';
import { checkOf } from './schemas.ts';

const strict = { additionalProperties: false };
const MAX_AGGREGATES = 1_500;
/** A request carries along all that are closed to it. */
const MAX_KEPT = 256;
/** And by which traits: so many characters, in all aggregates together. */
const MAX_TRAITS_LENGTH = 65_536;

/** What an operator has to say of an aggregate, and so of the hosts in it. */
export const AggregateOptions = Type.Object(
  {
    /**
     * The availability zone that the hosts of the aggregate are in; several aggregates may make up one zone. A host should
     * be in one zone only: requests that name the default zone and another are not given hosts that are in a third too.
     */
    zone: Type.Optional(Token),
    /**
     * Only these projects may use its hosts; absent: everybody. They may use other hosts as well. Of a host in several
     * such aggregates, only those that all of them name may use it: to share hosts, name all projects in one aggregate.
     */
    projects: Type.Optional(Type.Array(Token, { minItems: 1, maxItems: 1_000 })),
    /**
     * These projects use no other hosts, but for those of other aggregates that say the same of them. With `projects` alone
     * they may use all hosts that are kept for nobody as well.
     */
    confines: Type.Optional(Type.Boolean()),
    /**
     * Only requests that require all of these traits, be it of a group or of the host itself, may use its hosts, so that
     * none that would do elsewhere takes what is rare. Of a host in several such aggregates, only those that require the
     * traits of each may use it. Which hosts have the traits is another matter: a request that requires them goes nowhere else.
     */
    traits: Type.Optional(Type.Array(Symbolic, { minItems: 1, maxItems: 64 })),
    /** Multipliers of weighers on its hosts, by name. Of a host in several aggregates the lowest one counts. */
    multipliers: Type.Optional(
      Type.Record(Type.String({ minLength: 1, maxLength: 320 }), Type.Number({ minimum: -1e9, maximum: 1e9 }), {
        maxProperties: 64,
      }),
    ),
    /** The filter `instance-limit` on its hosts. Of a host in several aggregates the lowest one counts. */
    mostInstances: Type.Optional(Type.Integer({ minimum: 0 })),
    /** The filter `build-limit` on its hosts. Of a host in several aggregates the lowest one counts. */
    mostBuilds: Type.Optional(Type.Integer({ minimum: 0 })),
  },
  strict,
);
export type AggregateOptions = Static<typeof AggregateOptions>;

const checkZone = checkOf(Token, 'the option defaultZone');
/** Checked as one of the options, so that what is wrong is told by its whole name. */
const check = checkOf(
  Type.Object({ aggregates: Type.Record(Id, AggregateOptions, { maxProperties: MAX_AGGREGATES, ...strict }) }),
  'the options object',
);

/** The aggregates of a deployment, as its parts need to know them. */
export interface Aggregates {
  /** The aggregates of each zone. */
  readonly zones: ReadonlyMap<string, readonly string[]>;
  /** The zone of the hosts that are in no aggregate of any zone, if it has a name. */
  readonly defaultZone: string | undefined;
  /** The aggregates that are kept for some projects, and for which. */
  readonly kept: ReadonlyMap<string, ReadonlySet<string>>;
  /** By project: the aggregates that it is confined to. */
  readonly confined: ReadonlyMap<string, readonly string[]>;
  /** Whether projects that are confined to none may ask for nothing. */
  readonly requiresConfinement: boolean;
  /** The aggregates that are kept for requests that require some traits, and which. */
  readonly reserved: ReadonlyMap<string, readonly string[]>;
  readonly all: ReadonlyMap<string, AggregateOptions>;
}

/**
 * @throws CellwrightError `bad-option` that names the field, such as `aggregates.ssd.zone`, `defaultZone` or
 * `requireConfinement`.
 */
export function aggregatesOf(
  options: Readonly<Record<string, AggregateOptions>> = {},
  defaultZone?: string,
  requiresConfinement = false,
): Aggregates {
  const fault = check({ aggregates: options });
  if (fault !== null) throw new CellwrightError('bad-option', fault.message, { field: fault.field ?? 'aggregates' });
  const wrong = noDataIn({ aggregates: options });
  if (wrong !== undefined) {
    const { field, kind } = wrong;
    throw new CellwrightError('bad-option', `'${field}' must be a plain object, not a ${kind}`, { field });
  }
  const zones = new Map<string, string[]>();
  const kept = new Map<string, ReadonlySet<string>>();
  const confined = new Map<string, string[]>();
  const reserved = new Map<string, readonly string[]>();
  for (const [id, { zone, projects, confines, traits }] of Object.entries(options)) {
    if (zone !== undefined) append(zones, zone, id);
    if (projects !== undefined) kept.set(id, new Set(projects));
    if (confines === true) {
      for (const project of new Set(confinable(id, projects))) append(confined, project, id);
    }
    if (traits !== undefined) reserved.set(id, [...new Set(traits)]);
  }
  if (defaultZone !== undefined) refuseDefaultZone(defaultZone, zones);
  if (requiresConfinement && confined.size === 0) {
    const message = 'the option requireConfinement would have every request refused: no aggregate confines a project';
    throw new CellwrightError('bad-option', message, { field: 'requireConfinement' });
  }
  const all = new Set([...kept.keys(), ...reserved.keys()]).size;
  if (all > MAX_KEPT) {
    const message = `the option aggregates keeps ${all} aggregates for projects or traits; it may keep ${MAX_KEPT}`;
    throw new CellwrightError('bad-option', message, { field: 'aggregates' });
  }
  const length = [...reserved.values()].flat().reduce((sum, trait) => sum + trait.length, 0);
  if (length > MAX_TRAITS_LENGTH) {
    const message = `the option aggregates has ${length} characters of traits in all; it may have ${MAX_TRAITS_LENGTH}`;
    throw new CellwrightError('bad-option', message, { field: 'aggregates' });
  }
  return { zones, defaultZone, kept, confined, requiresConfinement, reserved, all: new Map(Object.entries(options)) };
}

function confinable(id: string, projects: readonly string[] | undefined): readonly string[] {
  if (projects !== undefined) return projects;
  const field = `aggregates.${id}.confines`;
  throw new CellwrightError('bad-option', `'${field}' confines nobody without 'projects'`, { field });
}

function refuseDefaultZone(name: string, zones: Aggregates['zones']): void {
  const message =
    checkZone(name)?.message ??
    (zones.has(name) ? `the option defaultZone is '${name}', which is the zone of aggregates` : undefined);
  if (message !== undefined) throw new CellwrightError('bad-option', message, { field: 'defaultZone' });
}

/** An aggregate that a request may not use. */
export interface Closed {
  readonly id: string;
  /** It is kept for other projects. */
  readonly isOfOthers: boolean;
  /** Of one that is kept for requests that require some traits: those that the request does not require. */
  readonly traits: readonly string[];
}

/**
 * The aggregates that a request may not use: those kept for other projects, or for any where it names none, and those kept
 * for requests that require what it does not.
 */
export function closedTo(
  { kept, reserved }: Aggregates,
  project: string | undefined,
  required: ReadonlySet<string>,
): Closed[] {
  const closed = new Map<string, Closed>();
  for (const [id, projects] of kept)
    if (project === undefined || !projects.has(project)) closed.set(id, { id, isOfOthers: true, traits: [] });
  for (const [id, all] of reserved) {
    const traits = all.filter((trait) => !required.has(trait));
    if (traits.length > 0) closed.set(id, { id, isOfOthers: closed.has(id), traits });
  }
  return [...closed.values()];
}

/** The aggregates that are kept for requests that require some traits, and are not closed to one. */
export function openedBy(
  { reserved }: Aggregates,
  closed: readonly Closed[],
): { aggregate: string; traits: string[] }[] {
  const ids = new Set(closed.map(({ id }) => id));
  const opened = [...reserved].filter(([id]) => !ids.has(id));
  return opened.map(([aggregate, traits]) => ({ aggregate, traits: [...traits] }));
}
