// What a request asks for, in short: the same request sent again is told from another one of the same name.

import type { BuildFacts } from '../builds.ts';
import type { TreeConditions } from '../messages/common.ts';
import { listsAskedFor, type Origins, withoutOrigins } from '../messages/where.ts';
import { orderedText } from '../ordered-text.ts';
import { present } from '../present.ts';
import { fnv1a } from '../routing.ts';

/** Short texts, each the same for requests that ask for the same, in whatever order their fields came. */
export interface Fingerprints {
  /** Of all that is asked for, with the conditions that were made of it. */
  readonly asked: string;
  /** Of what the caller asks for, where it is known what conditions come from: an operator may have changed his since. */
  readonly wished?: string | undefined;
}

export function fingerprintsOf(
  facts: Omit<BuildFacts, 'instance'>,
  count: number,
  alternates: number,
  waitMs?: number,
): Fingerprints {
  const { spec, where, project, payload } = facts;
  const textOf = (spec: unknown, said: object | undefined) => {
    const asked: unknown[] = [count, alternates, spec, project, payload];
    const isSaid = said !== undefined && orderedText(said) !== '{}';
    if (isSaid || waitMs !== undefined) asked.push(isSaid ? said : undefined);
    if (waitMs !== undefined) asked.push(waitMs);
    return shortTextOf(asked, payload);
  };
  // Not every node says what conditions come from: what is asked for is the same.
  const said = withoutOrigins(where);
  const asked = textOf(spec, said);
  if (where?.origins === undefined) return { asked };
  const { tree, zones } = ownWords(spec.tree, where.origins);
  return { asked, wished: textOf({ ...spec, tree }, { ...said, ...zones }) };
}

export function isAskedAlike(one: Fingerprints, other: Fingerprints): boolean {
  if (one.wished !== undefined && other.wished !== undefined) return one.wished === other.wished;
  return one.asked === other.asked || (one.wished ?? one.asked) === (other.wished ?? other.asked);
}

/** Zones by their names, and no aggregates but those that the caller named. */
function ownWords({ memberOf = [], notMemberOf, ...others }: TreeConditions = {}, origins: Origins) {
  const { zones, avoidZones, avoidAggregates } = origins;
  const tree = {
    ...others,
    memberOf: listsAskedFor(memberOf, origins),
    notMemberOf: avoidAggregates?.map((place) => notMemberOf?.[place]),
  };
  return { tree, zones: present({ zones: zones?.names, avoidZones: avoidZones?.map(({ name }) => name) }) };
}

function shortTextOf(asked: readonly unknown[], payload: unknown): string {
  // Most requests ask for what others asked before, in the same order of fields.
  const key = JSON.stringify(asked);
  const known = fingerprints.get(key);
  if (known !== undefined) return known;
  // The driver gets a payload as it is.
  const textOf = (item: unknown) => (item === payload ? orderedText(item, true) : orderedText(eachOnce(item)));
  const text = `[${asked.map(textOf).join(',')}]`;
  const fingerprint = `${text.length}-${fnv1a(text)}`;
  if (key.length > MAX_KEPT_LENGTH) return fingerprint;
  if (fingerprints.size >= MAX_FINGERPRINTS) fingerprints.clear();
  fingerprints.set(key, fingerprint);
  return fingerprint;
}

/** As nodes of now leave out what a list has twice, and nodes of before did not. */
function eachOnce(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    if (value.every((item) => typeof item === 'string')) return [...new Set(value)];
    // A list in a list is the same in whatever order.
    const keyOf = (item: unknown) => orderedText(Array.isArray(item) ? item.toSorted() : item);
    return [...new Map(value.map(eachOnce).map((item) => [keyOf(item), item])).values()];
  }
  // Of these, which nodes of now pass on as they are, the text stays what it was in snapshots.
  const textStays = (key: string) => key === 'sameSubtree';
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, textStays(key) ? item : eachOnce(item)]));
}

/** The fingerprints worked out last, by what was asked. */
const fingerprints = new Map<string, string>();
const MAX_FINGERPRINTS = 1_024;
const MAX_KEPT_LENGTH = 2_048;
