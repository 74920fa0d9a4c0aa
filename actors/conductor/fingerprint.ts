// What a request asks for, in short: the same request sent again is told from another one of the same name.

import type { BuildFacts } from '../builds.ts';
import { withoutOrigins } from '../messages/where.ts';
import { orderedText } from '../ordered-text.ts';
import { fnv1a } from '../routing.ts';

/** A short text that is the same for requests that ask for the same, in whatever order their fields came. */
export function fingerprintOf(
  facts: Omit<BuildFacts, 'instance'>,
  count: number,
  alternates: number,
  waitMs?: number,
): string {
  const asked: unknown[] = [count, alternates, facts.spec, facts.project, facts.payload];
  // Not every node says what conditions come from: what is asked for is the same.
  const said = withoutOrigins(facts.where);
  const where = said === undefined || orderedText(said) === '{}' ? undefined : said;
  if (where !== undefined || waitMs !== undefined) asked.push(where);
  if (waitMs !== undefined) asked.push(waitMs);
  // Most requests ask for what others asked before, in the same order of fields.
  const key = JSON.stringify(asked);
  const known = fingerprints.get(key);
  if (known !== undefined) return known;
  // The driver gets a payload as it is.
  const text = `[${asked.map((item) => orderedText(item, item === facts.payload)).join(',')}]`;
  const fingerprint = `${text.length}-${fnv1a(text)}`;
  if (key.length > MAX_KEPT_LENGTH) return fingerprint;
  if (fingerprints.size >= MAX_FINGERPRINTS) fingerprints.clear();
  fingerprints.set(key, fingerprint);
  return fingerprint;
}

/** The fingerprints worked out last, by what was asked. */
const fingerprints = new Map<string, string>();
const MAX_FINGERPRINTS = 1_024;
const MAX_KEPT_LENGTH = 2_048;
