// One request as the handlers see it, and the answer as they give it. What all answers share is added in server.ts.

import { isUtf8 } from 'node:buffer';
import { type ApiOutcome, type ApiRefusal, MAX_LISTED } from '../../actors/messages/placement-api.ts';
import type { ProviderView } from '../../actors/placement/api/reads.ts';
import { isDeeperThan } from '../codec.ts';
import { messageOf } from '../errors.ts';
import type { Authority, Question } from './authority.ts';
import { faultOf, type Schema } from './json-schema.ts';
import { badRequest, CODES, notFound, Problem } from './problem.ts';
import type { Query } from './query.ts';

export interface Call {
  /** The minor microversion. */
  readonly minor: number;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Buffer;
  readonly authority: Authority;
}

export interface Reply {
  readonly status: 200 | 201 | 204;
  /** Absent: no body. */
  readonly body?: unknown;
  readonly location?: string;
  /**
   * Since 1.15 such an answer tells when its content changed last, ms since the epoch, 0 when that is not known; absent:
   * it never tells.
   */
  readonly changedAt?: number;
}

/** @throws Problem 400 when a list of a request has more than one message may name. */
export function refuseTooMany(list: readonly unknown[] | object, what: string): void {
  const count = Array.isArray(list) ? list.length : Object.keys(list).length;
  if (count > MAX_LISTED) throw badRequest(`At most ${MAX_LISTED} ${what} are taken at once, not ${count}`);
}

/** When the latest of some was changed, ms since the epoch; 0 of none. */
export function latestOf(all: readonly { readonly changedAt: number }[]): number {
  return all.reduce((latest, { changedAt }) => Math.max(latest, changedAt), 0);
}

/** How deep a body may be nested: far deeper than any that is right. */
const MAX_DEPTH = 64;

export type Handler = (call: Call) => Promise<Reply>;

/** The outcome, with its content typed: what each question is answered with is said in actors/placement/api/reads.ts. */
export async function asked<Content>(
  { authority }: Call,
  question: Question,
): Promise<{ ok: Content; refused?: undefined } | { ok?: undefined; refused: ApiRefusal }> {
  const outcome: ApiOutcome = await authority.ask(question);
  return 'refused' in outcome ? { refused: outcome.refused } : { ok: outcome.ok as Content };
}

/** The same of a question that is never refused. */
export async function told<Content>(call: Call, question: Question): Promise<Content> {
  const { ok, refused } = await asked<Content>(call, question);
  if (refused !== undefined) throw new Error(refused.message);
  return ok;
}

/** A named part of the path. */
export function param({ params }: Call, name: string): string {
  return params[name] ?? '';
}

/** The provider of the path, in its entirety. @throws Problem 404 when there is none. */
export async function providerShown(call: Call): Promise<ProviderView> {
  const id = param(call, 'uuid');
  const { ok, refused } = await asked<ProviderView>(call, { type: 'provider-show', id });
  if (refused === undefined) return ok;
  throw notFound(`No resource provider with uuid ${id} found: No resource provider with uuid ${id} found`);
}

/** @throws Problem 400 when the body is no JSON or not as the schema has it. */
export function bodyOf<Content>({ body: bytes }: Call, schema: Schema): Content {
  // Read all the same, two names that differ could become one.
  if (!isUtf8(bytes)) throw badRequest('Malformed JSON: the body is no UTF-8');
  const body = bytes.toString();
  let content: unknown;
  try {
    content = JSON.parse(body);
  } catch (error) {
    throw badRequest(`Malformed JSON: ${parserWords(body, error)}`);
  }
  if (isDeeperThan(MAX_DEPTH, content)) throw badRequest(`Malformed JSON: it is nested deeper than ${MAX_DEPTH}`);
  if (hasHalfCharacter(content)) throw badRequest('Malformed JSON: it has half a character');
  const fault = faultOf(content, schema);
  if (fault !== null) throw badRequest(`JSON does not validate: ${fault}`);
  return content as Content;
}

/** Which is no text, and cannot be sent. The value is shallow. */
function hasHalfCharacter(value: unknown): boolean {
  if (typeof value === 'string') return /\p{Surrogate}/u.test(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, one]) => hasHalfCharacter(key) || hasHalfCharacter(one));
}

/** The same for the body of a request to a provider: that there is none is told first. */
export async function bodyForProvider<Content>(call: Call, id: string, schema: Schema): Promise<Content> {
  try {
    return bodyOf(call, schema);
  } catch (error) {
    const { refused } = await asked(call, { type: 'provider-show', id });
    if (refused !== undefined) throw noSuchProvider(id);
    throw error;
  }
}

export function noSuchProvider(id: string) {
  return notFound(`No resource provider with uuid ${id} found`);
}

/** Of a provider that was changed since its aggregates or traits were read. */
export function generationChanged(refusal: ApiRefusal): Problem {
  const message = "Resource provider's generation already changed. Please update the generation and try again.";
  return new Problem(409, message, { code: CODES.concurrentUpdate, refusal });
}

/** As Python's parser words it, where that is simple to say. */
function parserWords(body: string, error: unknown): string {
  if (body.trim() === '') return 'Expecting value: line 1 column 1 (char 0)';
  return messageOf(error);
}
